// SPDX-License-Identifier: Apache-2.0
// The contract's sides of the hardware NIC but for its queues: network, memory, time, control of segments and
// peers.
#include "engine/ub/hardware/hardware_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/ub/hardware/nic_state.h"
#include "wire/address_plan.h"
#include "wire/frame.h"

namespace wharf::hardware {

using engine::PostStatus;
using engine::QueueId;
using engine::QueueState;
using trace::Stage;
using verbs::CompletionStatus;

namespace {

constexpr std::uint32_t kEntryBytes = sizeof(RingEntry);
constexpr std::uint32_t kScratchBytes = 8 * kRequestsMost;

Error refuse(std::string message) { return input_error("hardware NIC: " + std::move(message)); }

}  // namespace

HardwareNic::HardwareNic(std::unique_ptr<State> state) : state_(std::move(state)) {}
HardwareNic::HardwareNic(HardwareNic&&) noexcept = default;
HardwareNic& HardwareNic::operator=(HardwareNic&&) noexcept = default;
HardwareNic::~HardwareNic() = default;

Result<HardwareNic> HardwareNic::create(const HardwareConfig& config, wire::PayloadPool& payloads) {
  const auto module = nic_module();
  if (!module) return module.error();
  if (config.cycle <= kTimeZero)
    return input_error("nic.rtl_cycle is not above 0, expected the period of a clock");
  return HardwareNic(std::make_unique<State>(config, payloads, **module, config.memory));
}

Bytes HardwareNic::memory_needed() {
  const auto module = nic_module();
  return Bytes{module.ok() ? std::uint64_t{(*module)->sizes.completions} * kEntryBytes + kScratchBytes : 0};
}

HardwareNic::State::State(const HardwareConfig& given, wire::PayloadPool& pool, const NicModule& module,
                          std::uint64_t memory)
    : config(given),
      payloads(pool),
      sizes(module.sizes),
      model(module.make(), DropModel{module.drop}),
      scratch(memory + std::uint64_t{sizes.completions} * kEntryBytes),
      bridge(memory, std::uint64_t{sizes.completions} * kEntryBytes),
      jetties(sizes.jetties),
      segments(sizes.segments) {
  inputs.ring_line = memory >> 6U;
  inputs.tx_ready = true;
  model->reset();
}

engine::Capabilities HardwareNic::capabilities_of(const NicSizes& sizes) {
  engine::Capabilities can;
  can.protocol = "ub";
  can.both_connect = true;
  can.immediate_bits = 64;
  can.mtu = sizes.mtu;
  // Choice: what a segment of the protocol holds; the NIC does not cut a request into several.
  can.max_message_bytes = can.max_send_bytes = 65536;
  can.max_scatter_entries = 1;
  can.max_inline_bytes = 16;
  can.services = 1U << static_cast<unsigned>(engine::ServiceMode::kDefault) |
                 1U << static_cast<unsigned>(engine::ServiceMode::kOrderedByInitiator);
  can.max_queues = sizes.jetties - 1;
  can.max_queue_depth = kRequestsMost;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<verbs::Verb>(number);
    if (!supports(verb)) continue;
    can.widths[static_cast<std::size_t>(number)] =
        verbs::is_atomic(verb) ? engine::kWidth8 : engine::kNoWidth;
  }
  return can;
}
engine::Capabilities HardwareNic::capabilities() const { return capabilities_of(state_->sizes); }

// --- Segments and peers
// ---------------------------------------------------------------------------------------------------

Result<verbs::SegmentToken> HardwareNic::register_segment(TimePs now, const verbs::SegmentConfig& config) {
  State& state = *state_;
  for (std::uint32_t index = 1; index < state.segments.size(); ++index) {
    if (state.segments[index].is_there) continue;
    state.segments[index] = {true, config};
    state.set_segment(index);
    state.wake(now);
    return verbs::SegmentToken{index, config.token_value};
  }
  return refuse(
      fmt::format("found {} segments already, expected room for one more", state.sizes.segments - 1));
}

Result<void> HardwareNic::deregister_segment(TimePs now, verbs::SegmentToken token) {
  State& state = *state_;
  if (token.id >= state.segments.size() || !state.segments[token.id].is_there)
    return refuse(fmt::format("found no segment {}", token.id));
  state.segments[token.id] = {};
  state.set_segment(token.id);
  state.wake(now);
  return {};
}

Result<engine::ExchangeBlob> HardwareNic::export_queue(QueueId queue) const {
  const State& state = *state_;
  const Jetty* const jetty = state.find(queue);
  if (jetty == nullptr) return refuse(fmt::format("found no queue {}", queue));
  ub::QueueBlob blob;
  blob.host = state.config.host;
  blob.jetty = queue;
  blob.token = jetty->config.token;
  blob.mtu = state.sizes.mtu;
  blob.receive_window = state.sizes.window;
  blob.inbound_messages = state.sizes.responses;
  return ub::encode(blob);
}

Result<engine::PeerId> HardwareNic::connect(TimePs, QueueId queue, std::span<const std::byte> bytes) {
  State& state = *state_;
  if (state.find(queue) == nullptr) return refuse(fmt::format("found no queue {}", queue));
  const auto blob = ub::decode_queue_blob(bytes);
  if (!blob) return blob.error();
  if (state.has_peer && blob->host.number != state.peer_host.number)
    return refuse(
        fmt::format("found a second host, number {}, expected one peer: it has one channel, to host {}",
                    blob->host.number, state.peer_host.number));
  if (blob->host.number == state.config.host.number)
    return refuse("found its own host as a peer, expected another");
  if (blob->encapsulation != wire::UbEncapsulation::kUdp)
    return refuse("found another framing at the peer, expected ub.encapsulation = \"udp\" at both hosts");
  if (blob->service != engine::ServiceMode::kOrderedByInitiator)
    return refuse("found another service mode at the peer, expected ub.service = \"roi\" at both hosts");
  if (blob->transport != engine::TransportMode::kReliable)
    return refuse("found another transport at the peer, expected ub.transport = \"rtp\" at both hosts");
  if (blob->target != wire::TargetContextType::kJetty)
    return refuse("found a group at the peer, expected a jetty");
  if (blob->mtu < state.sizes.mtu)
    return refuse(
        fmt::format("found ub.mtu = {}B at the peer, expected at least {}B, the packets that it makes",
                    blob->mtu, state.sizes.mtu));
  if (blob->receive_window < state.sizes.window)
    return refuse(fmt::format("found ub.receive_window = {} at the peer, expected at least {}",
                              blob->receive_window, state.sizes.window));
  if (blob->inbound_messages < state.sizes.responses)
    return refuse(
        fmt::format("found ub.inbound_messages = {} at the peer, expected at least {}, the requests "
                    "that it has outstanding",
                    blob->inbound_messages, state.sizes.responses));
  if (blob->first_psn != 0 || blob->first_incarnation != 0 || !blob->failures.empty())
    return refuse(
        "found a channel that is not new, expected ub.first_psn = 0 and no earlier life at the peer");
  if (!state.has_peer) {
    state.has_peer = true;
    state.peer_host = blob->host;
    const wire::HostAddress own = state.config.host;
    const auto mac = [](wire::HostAddress host) {
      std::uint64_t value = 0;
      for (const auto byte : wire::mac_of(host)) value = value << 8U | static_cast<std::uint8_t>(byte);
      return value;
    };
    state.inputs.route = PortBits<224>()
                             .put(mac(own), 48)
                             .put(mac(blob->host), 48)
                             .put(wire::ipv4_of(own), 32)
                             .put(wire::ipv4_of(blob->host), 32)
                             .put(0xc000 + (own.number & 0x3fffU), 16)
                             .put(ub::tpn_toward(blob->host, 0), 24)
                             .put(ub::tpn_toward(own, 0), 24)
                             .words();
  }
  state.peers.push_back({true, queue, blob->jetty, blob->token});
  return static_cast<engine::PeerId>(state.peers.size() - 1);
}

Result<void> HardwareNic::disconnect(TimePs, QueueId queue, engine::PeerId peer) {
  State& state = *state_;
  if (peer >= state.peers.size() || !state.peers[peer].is_there || state.peers[peer].queue != queue)
    return refuse(fmt::format("found no peer {} of queue {}", peer, queue));
  state.peers[peer].is_there = false;
  return {};
}

Result<void> HardwareNic::forget_host(TimePs now, wire::HostAddress host) {
  State& state = *state_;
  if (!state.has_peer || host.number != state.peer_host.number) return {};
  state.give_up(now, CompletionStatus::kRetryExhausted);
  for (Peer& peer : state.peers) peer.is_there = false;
  state.has_peer = false;
  state.restart();
  state.wake(now);
  return {};
}

bool HardwareNic::poll_event(engine::AsyncEvent& event) {
  if (state_->events.empty()) return false;
  event = state_->events.front();
  state_->events.pop_front();
  return true;
}

void HardwareNic::describe_waiting(std::vector<std::string>& lines) const {
  const State& state = *state_;
  for (QueueId queue = 1; queue < state.jetties.size(); ++queue) {
    const Jetty& jetty = state.jetties[queue];
    if (jetty.requests.empty()) continue;
    lines.push_back(
        fmt::format("queue {} of the hardware NIC: {} requests wait, {} of them before its doorbell{}", queue,
                    jetty.requests.size(), jetty.requests.size() - jetty.rung,
                    state.has_failed ? "; its channel has given up" : ""));
  }
}

// --- Network
// ---------------------------------------------------------------------------------------------------

void HardwareNic::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  State& state = *state_;
  state.now = now;
  if (packet.protocol != wire::Protocol::kUb || packet.ub.encapsulation != wire::UbEncapsulation::kUdp ||
      packet.trim != wire::TrimState::kWhole) {
    ++state.frames_refused;
    return;
  }
  std::vector<std::byte> frame(wire::encoded_bytes(packet));
  frame.resize(wire::encode(packet, frame));
  const wire::UbPacket& ub = packet.ub;
  if (ub.transaction == wire::UbTransaction::kRequest) {
    Served* known = state.served_of(ub.request.requester_id, ub.request.tassn);
    if (known == nullptr) {
      constexpr std::size_t kServed = 256;
      if (state.served.size() == kServed) state.served.pop_back();
      state.served.emplace_front();
      known = &state.served.front();
      known->requester = ub.request.requester_id;
      known->number = ub.request.tassn;
    }
    known->operation = packet.operation;
    const std::uint32_t layout = wire::ta_layout(ub.request.opcode);
    known->address = (layout & wire::kTaAddress) != 0 ? ub.extension.maetah.address : 0;
    known->length = std::max(ub.extension.maetah.length, packet.payload.length);
    known->takes_receive =
        ub.request.opcode == wire::TaOpcode::kSend || ub.request.opcode == wire::TaOpcode::kSendImmediate;
    known->mark = now;
  } else if (ub.transaction == wire::UbTransaction::kResponse) {
    if (OpenRequest* own = state.own_of(ub.response.requester_id, ub.response.tassn)) own->mark = now;
  }
  state.heard.push_back(std::move(frame));
  state.wake(now);
}

bool HardwareNic::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& packet) {
  State& state = *state_;
  state.now = now;
  while (!state.frames.empty() && state.bridge.done_before(state.frames.front().after)) {
    const Frame& frame = state.frames.front();
    packet = wire::ub_packet();
    if (wire::decode(frame.bytes, wire::LinkType::kEthernet, packet) != wire::DropReason::kNone) {
      ++state.frames_refused;
      state.frames.pop_front();
      continue;
    }
    if ((allowed & wire::mask_of(packet.traffic_class)) == 0) return false;
    if (const std::uint32_t length = packet.payload.length; length > 0) {
      const wire::BufferId buffer = state.payloads.acquire(length);
      wire::fill(packet.payload, {state.payloads.data(buffer), length});
      packet.payload = wire::bytes_payload(state.payloads.data(buffer), length, buffer);
    }
    const wire::UbPacket& ub = packet.ub;
    if (ub.transaction == wire::UbTransaction::kRequest) {
      if (OpenRequest* own = state.own_of(ub.request.requester_id, ub.request.tassn)) {
        packet.operation = own->request.operation;
        state.span(packet.operation, Stage::kNicTransmit, own->mark, now);
      }
    } else if (ub.transaction == wire::UbTransaction::kResponse) {
      if (Served* served = state.served_of(ub.response.requester_id, ub.response.tassn)) {
        packet.operation = served->operation;
        state.span(packet.operation, Stage::kNicTransmitResponse, served->mark, now);
      }
    }
    state.frames.pop_front();
    if (!state.inputs.tx_ready) state.wake(now);
    return true;
  }
  return false;
}

// --- Memory
// ---------------------------------------------------------------------------------------------------

bool HardwareNic::next_access(engine::Access& access) {
  State& state = *state_;
  if (!state.bridge.next_access(access)) return false;
  if (access.kind == engine::AccessKind::kWriteCompletion) {
    const std::uint32_t slot = load_le32(access.data.bytes) & 0xffffU;
    const bool is_receive = (std::to_integer<unsigned>(access.data.bytes[14]) & 1U) != 0;
    access.queue = load_le32(access.data.bytes + 4);
    if (!is_receive && slot < state.requests.size()) {
      OpenRequest& own = state.requests[slot];
      access.operation = own.request.operation;
      state.span(access.operation, Stage::kNicReceiveResponse, own.mark, state.now);
    }
    return true;
  }
  const bool is_read = access.kind == engine::AccessKind::kRead;
  if (is_read) {
    const auto [from, to] = state.known_of(access.address);
    if (from == to) {  // Of a request that was flushed meanwhile.
      engine::AccessResult nothing;
      state.bridge.narrow(access, access.address, access.address);
      (void)state.bridge.done(access.id, nothing);
      return next_access(access);
    }
    state.bridge.narrow(access, from, to);
  }
  if (OpenRequest* own = state.own_at(access.address, access.length)) {
    access.queue = own->queue;
    access.operation = own->request.operation;
    state.span(access.operation, is_read ? Stage::kNicTransmit : Stage::kNicReceiveResponse, own->mark,
               state.now);
    // What an atomic has found is in the completion, too.
    if (!is_read && verbs::is_atomic(own->request.verb) && access.length == 8)
      own->completion.atomic_result[0] = load_le64(access.data.bytes);
    return true;
  }
  access.at_target = true;
  if (Served* served = state.served_at(access.address, access.length)) {
    access.operation = served->operation;
    state.span(access.operation, Stage::kNicReceive, served->mark, state.now);
  }
  return true;
}

void HardwareNic::access_done(TimePs now, engine::AccessId id, const engine::AccessResult& result) {
  State& state = *state_;
  state.now = now;
  const auto done = state.bridge.done(id, result);
  if (!done) return;
  if (OpenRequest* own = state.own_at(done->address, done->length)) {
    own->mark = now;
  } else if (Served* served = state.served_at(done->address, done->length)) {
    served->mark = now;
  }
  if (done->failed && !done->entry) {
    // Its memory port has no way to say so: what there is ends.
    for (QueueId queue = 1; queue < state.jetties.size(); ++queue) {
      if (state.jetties[queue].state != QueueState::kReady) continue;
      (void)fail_queue(now, queue);
      state.report(engine::AsyncEventKind::kQueueError, queue, verbs::kNoPeer);
    }
  }
  if (done->entry) {
    if (done->failed) state.report(engine::AsyncEventKind::kCompletionError, 0, verbs::kNoPeer);
    state.completed(*done->entry);
  }
  state.wake(now);
}

// --- Time
// ---------------------------------------------------------------------------------------------------

TimePs HardwareNic::deadline() const { return state_->is_awake() ? state_->next_edge : kNever; }

void HardwareNic::expire(TimePs now) {
  State& state = *state_;
  state.now = now;
  while (state.is_awake() && state.next_edge <= now) state.cycle(state.next_edge);
}

bool HardwareNic::State::has_input() const {
  return !settings.empty() || !doorbells.empty() || !posts.empty() || consumed > 0 || !heard.empty() ||
         bridge.has_answer() || (outputs.memory_valid && bridge.has_room() && !inputs.memory_ready);
}

void HardwareNic::State::wake(TimePs at) {
  if (!is_awake()) {
    // Edges stand at multiples of the period; the one of this instant may be still to come.
    const std::int64_t period = config.cycle.ps;
    const TimePs edge = picoseconds((at.ps + period - 1) / period * period);
    next_edge = max(next_edge, edge);
  }
  quiet = 0;
}

void HardwareNic::State::cycle(TimePs at) {
  now = at;
  // Settings first: what is asked for afterwards may need them.
  inputs.open_valid = inputs.segment_valid = inputs.doorbell_valid = inputs.post_valid = false;
  inputs.rx_valid = false;
  const bool is_set = settings.empty();
  if (!is_set) {
    const Setting& setting = settings.front();
    inputs.segment_valid = setting.is_segment;
    inputs.open_valid = !setting.is_segment;
    inputs.segment_index = inputs.open_jetty = setting.index;
    inputs.open_value = setting.value;
    inputs.open_token = setting.token;
    inputs.segment = setting.segment;
    settings.pop_front();
  } else {
    if (!doorbells.empty()) {
      inputs.doorbell_valid = true;
      inputs.doorbell_jetty = requests[doorbells.front()].queue;
      inputs.doorbell = doorbell_of(doorbells.front());
    }
    if (!posts.empty()) {
      const OpenReceive& receive = receives[posts.front()];
      inputs.post_valid = true;
      inputs.post_jetty = receive.queue;
      inputs.post = PortBits<128>()
                        .put(receive.address, 64)
                        .put(receive.capacity, 32)
                        .put(tag_of(posts.front(), receive.generation), 32)
                        .words();
    }
    if (!heard.empty()) {
      const std::vector<std::byte>& frame = heard.front();
      Line line{};
      const std::size_t count = std::min(sizeof(Line), frame.size() - heard_at);
      std::memcpy(line.data(), &frame[heard_at], count);
      put_line(line, inputs.rx_data.data());
      inputs.rx_valid = true;
      inputs.rx_bytes = static_cast<std::uint32_t>(count);
      inputs.rx_last = heard_at + count == frame.size();
    }
  }
  inputs.consumed = consumed > 0;
  inputs.memory_ready = bridge.has_room();
  inputs.answer_valid = bridge.has_answer();
  if (inputs.answer_valid) {
    const MemoryBridge::Answer answer = bridge.take_answer();
    inputs.answer_tag = answer.tag;
    put_line(answer.line, inputs.answer_data.data());
  }
  constexpr std::size_t kFrames = 4;  // That wait for the link; more wait in the NIC.
  inputs.tx_ready = frames.size() < kFrames;
  const bool had_failed = outputs.failed;
  model->settle(inputs, outputs);

  bool moves = !is_set || inputs.rx_valid || inputs.consumed || inputs.answer_valid;
  if (inputs.consumed) --consumed;
  if (inputs.doorbell_valid && outputs.doorbell_ready) {
    moves = true;
    const std::uint32_t slot = doorbells.front();
    doorbells.pop_front();
    OpenRequest& request = requests[slot];
    if (outputs.doorbell_refused) {
      end(slot, CompletionStatus::kUnsupportedOpcode, 0);
    } else {
      Jetty& jetty = jetties[request.queue];
      jetty.by_number[jetty.number++ % jetty.by_number.size()] = slot;
    }
  }
  if (inputs.post_valid && outputs.post_ready) {
    moves = true;
    posts.pop_front();
  }
  if (inputs.rx_valid) {
    heard_at += inputs.rx_bytes;
    if (inputs.rx_last) {
      heard.pop_front();
      heard_at = 0;
    }
  }
  if (outputs.memory_valid && inputs.memory_ready) {
    moves = true;
    bridge.take(outputs.memory);
  }
  if (outputs.tx_valid && inputs.tx_ready) {
    moves = true;
    const Line line = line_of(outputs.tx_data.data());
    leaving.insert(leaving.end(), line.begin(), line.begin() + outputs.tx_bytes);
    if (outputs.tx_last) {
      frames.push_back({std::move(leaving), bridge.writes_taken()});
      leaving.clear();
    }
  }
  model->tick();
  ++cycles;
  quiet = moves ? 0 : quiet + 1;
  next_edge = at + config.cycle;
  if (outputs.failed && !had_failed) {
    has_failed = true;
    give_up(at, CompletionStatus::kRetryExhausted);
    report(engine::AsyncEventKind::kPeerUnreachable, 0, verbs::kNoPeer);
  }
  ring();
}

void HardwareNic::State::restart() {
  bridge.reset();
  settings.clear();
  doorbells.clear();
  posts.clear();
  heard.clear();
  heard_at = 0;
  leaving.clear();
  frames.clear();
  served.clear();
  consumed = 0;
  has_failed = false;
  outputs = {};
  model->reset();
  for (QueueId queue = 1; queue < jetties.size(); ++queue) {
    Jetty& jetty = jetties[queue];
    jetty.rung = jetty.posted = jetty.in_nic = 0;
    jetty.number = 0;
    if (jetty.state == QueueState::kReady) set_open(queue, true);
  }
  for (std::uint32_t index = 1; index < segments.size(); ++index) {
    if (segments[index].is_there) set_segment(index);
  }
  ring();
}

std::span<const std::string_view> HardwareNic::counter_names() {
  // The clock's, then those of nic_counters_t, its last field first.
  static constexpr std::array<std::string_view, 18> kNames{
      "cycles",           "not_ready_received", "not_ready_sent",
      "receives_refused", "completions_lost",   "went_back",
      "dropped_response", "requests_refused",   "dropped_acknowledgement",
      "packets_deferred", "packets_ahead",      "packets_duplicate",
      "packets_unknown",  "packets_malformed",  "frames_without_room",
      "frames_foreign",   "doorbells_refused",  "responses_forgotten"};
  return kNames;
}

std::vector<engine::NamedCounter> HardwareNic::counters() const {
  const std::span<const std::string_view> names = counter_names();
  std::vector<engine::NamedCounter> all{{std::string(names[0]), state_->cycles}};
  for (std::size_t i = 1; i < names.size(); ++i)
    all.push_back({std::string(names[i]), state_->outputs.counters[i - 1]});
  return all;
}

}  // namespace wharf::hardware
