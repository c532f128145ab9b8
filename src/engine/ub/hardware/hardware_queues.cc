// SPDX-License-Identifier: Apache-2.0
// The driver before the hardware NIC: queues, requests and receives, what becomes of their completions.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "engine/ub/hardware/hardware_nic.h"
#include "engine/ub/hardware/nic_state.h"
#include "wire/ub_opcode.h"

namespace wharf::hardware {

using engine::PostStatus;
using engine::QueueEvent;
using engine::QueueId;
using engine::QueueState;
using verbs::CompletionStatus;
using verbs::Verb;

namespace {

Error refuse(std::string message) { return input_error("hardware NIC: " + std::move(message)); }

/// The low bits of an opcode. Atomics are numbered alike, from compare-and-swap on.
std::uint32_t operation_of(Verb verb) {
  if (verb == Verb::kSend) return 0;
  if (verb == Verb::kSendImm) return 1;
  if (verb == Verb::kWrite) return 3;
  if (verb == Verb::kWriteImm) return 4;
  if (verb == Verb::kRead) return 6;
  return 7 + static_cast<std::uint32_t>(verb) - static_cast<std::uint32_t>(Verb::kCompareSwap);
}

/// The ring has the numbers of URMA, which are those of wharf but for poison.
CompletionStatus status_of(std::byte code) {
  constexpr std::byte kPoison{16};
  if (code == kPoison) return CompletionStatus::kRemotePoison;
  return code <= static_cast<std::byte>(CompletionStatus::kRemotePoison) ? static_cast<CompletionStatus>(code)
                                                                         : CompletionStatus::kRemoteOperation;
}

}  // namespace

Jetty* HardwareNic::State::find(QueueId queue) {
  if (queue == 0 || queue >= jetties.size() || jetties[queue].state == QueueState::kGone) return nullptr;
  return &jetties[queue];
}
const Jetty* HardwareNic::State::find(QueueId queue) const { return const_cast<State*>(this)->find(queue); }

// --- Control
// ---------------------------------------------------------------------------------------------------

Result<QueueId> HardwareNic::create_queue(TimePs now, const engine::QueueConfig& config) {
  State& state = *state_;
  const engine::QueueConfig plain;
  if (config.entries != engine::EntryFormat::kObjects) return refuse("found rings of bytes, expected none");
  if (config.send_completions != plain.send_completions ||
      config.receive_completions != plain.receive_completions ||
      config.receive_queue != plain.receive_queue || config.group != plain.group)
    return refuse("found a queue that shares, expected one with completions and receives of its own");
  if (!capabilities().serves(config.service))
    return refuse(fmt::format("found service mode {}, expected roi", engine::name(config.service)));
  if (config.public_id != 0 || config.drain_marks || config.on_fault != engine::FaultMode::kRequestAlone)
    return refuse("found a public number, drain marks or a fault mode, expected none of them");
  for (QueueId queue = 1; queue < state.jetties.size(); ++queue) {
    Jetty& jetty = state.jetties[queue];
    if (jetty.state != QueueState::kGone) continue;
    jetty = {};
    jetty.state = QueueState::kReady;
    jetty.config = config;
    state.set_open(queue, true);
    state.wake(now);
    return queue;
  }
  return refuse(fmt::format("found {} queues already, expected room for one more", state.jetties.size() - 1));
}

Result<void> HardwareNic::destroy_queue(TimePs now, QueueId queue) {
  State& state = *state_;
  Jetty* const jetty = state.find(queue);
  if (jetty == nullptr) return refuse(fmt::format("found no queue {}", queue));
  state.flush(queue, CompletionStatus::kFlushed, true);
  state.set_open(queue, false);
  for (Peer& peer : state.peers) {
    if (peer.queue == queue) peer.is_there = false;
  }
  jetty->shown.clear();
  jetty->state = QueueState::kGone;
  state.wake(now);
  return {};
}

QueueState HardwareNic::queue_state(QueueId queue) const {
  const Jetty* const jetty = state_->find(queue);
  return jetty == nullptr ? QueueState::kGone : jetty->state;
}

Result<void> HardwareNic::fail_queue(TimePs now, QueueId queue) {
  State& state = *state_;
  Jetty* const jetty = state.find(queue);
  const auto next = engine::next_state(queue_state(queue), QueueEvent::kFail, false);
  if (jetty == nullptr || !next) return refuse(fmt::format("found no queue {} that could fail", queue));
  if (jetty->state == *next) return {};
  state.flush(queue, CompletionStatus::kFlushed, true);
  jetty->state = *next;
  state.set_open(queue, false);
  state.wake(now);
  return {};
}

Result<void> HardwareNic::reset_queue(TimePs now, QueueId queue) {
  State& state = *state_;
  Jetty* const jetty = state.find(queue);
  const auto next = engine::next_state(queue_state(queue), QueueEvent::kReset, false);
  if (jetty == nullptr || !next) return refuse(fmt::format("found no queue {} in error", queue));
  jetty->state = *next;
  state.set_open(queue, true);
  state.wake(now);
  return {};
}

void HardwareNic::State::set_open(QueueId queue, bool open) {
  Setting setting;
  setting.index = queue;
  setting.value = open;
  setting.token = jetties[queue].config.token;
  settings.push_back(setting);
}

void HardwareNic::State::set_segment(std::uint32_t index) {
  const Segment& segment = segments[index];
  const verbs::AccessRights rights = segment.is_there ? segment.config.rights : verbs::AccessRights{};
  Setting setting;
  setting.is_segment = true;
  setting.index = index;
  setting.segment = PortBits<148>()
                        .put(segment.config.check_value ? 1 : 0, 1)
                        .put(rights.remote_read ? 1 : 0, 1)
                        .put(rights.remote_write ? 1 : 0, 1)
                        .put(rights.remote_atomic ? 1 : 0, 1)
                        .put(segment.config.token_value, 32)
                        .put(segment.config.base, 64)
                        .put(segment.config.length, 48)
                        .words();
  settings.push_back(setting);
}

void HardwareNic::State::report(engine::AsyncEventKind kind, QueueId queue, engine::PeerId peer) {
  constexpr std::size_t kEvents = 64;
  if (events.size() == kEvents) events.pop_front();
  events.push_back({kind, queue, peer});
}

// --- Requests
// ---------------------------------------------------------------------------------------------------

PostStatus HardwareNic::post(TimePs now, QueueId queue, const verbs::WorkRequest& request,
                             engine::Submission submission) {
  State& state = *state_;
  state.now = now;
  Jetty* const jetty = state.find(queue);
  if (jetty == nullptr || jetty->state != QueueState::kReady) return PostStatus::kBadQueue;
  if (!supports(request.verb) || submission != engine::Submission::kInHand) return PostStatus::kUnsupported;
  const bool is_atomic = verbs::is_atomic(request.verb);
  const bool has_peer = request.peer < state.peers.size() && state.peers[request.peer].is_there;
  if (!has_peer || request.local_count > 1 || request.length > capabilities().max_message_bytes ||
      request.tagged || request.solicited || request.remote_complete ||
      request.delivery != verbs::Delivery::kDefault ||
      request.atomic_function != verbs::AtomicFunction::kOfVerb || (is_atomic && request.width != 8) ||
      request.local[0].key != 0)
    return PostStatus::kBadRequest;
  const bool is_given = request.inline_data.kind != wire::PayloadKind::kNone;
  const bool is_inline = is_given && request.length <= capabilities().max_inline_bytes;
  if (request.length > 0 && !is_atomic && request.local_count == 0 && !is_inline)
    return PostStatus::kBadRequest;
  if (jetty->requests.size() >= jetty->config.send_depth) return PostStatus::kQueueFull;
  if (state.free_requests.empty()) {
    if (state.requests.size() == kRequestsMost) return PostStatus::kQueueFull;
    state.free_requests.push_back(static_cast<std::uint32_t>(state.requests.size()));
    state.requests.emplace_back();
  }
  const std::uint32_t slot = state.free_requests.back();
  state.free_requests.pop_back();
  OpenRequest& open = state.requests[slot];
  const auto generation = static_cast<std::uint16_t>(open.generation + 1);
  open = {};
  open.is_open = true;
  open.generation = generation;
  open.queue = queue;
  open.request = request;
  open.request.inline_data = {};
  open.is_inline = is_inline;
  open.local = request.local_count > 0 ? request.local[0].address : 0;
  // A result has to go somewhere.
  if (is_atomic && request.local_count == 0) open.local = state.scratch + std::uint64_t{slot} * 8;
  if (is_inline) wire::fill(request.inline_data, {open.data.data(), request.length});
  if (is_atomic) {
    store_be64(open.data.data(), request.operand[0]);
    store_be64(&open.data[8], request.compare[0]);
  }
  open.mark = now;
  open.completion.id = request.id;
  open.completion.verb = request.verb;
  open.completion.queue = queue;
  open.completion.operation = request.operation;
  jetty->requests.push_back(slot);
  if (state.has_failed) {
    state.end(slot, CompletionStatus::kRetryExhausted, 0);
    return PostStatus::kOk;
  }
  state.ring();
  state.wake(now);
  return PostStatus::kOk;
}

/// Offers the NIC what it has places for.
void HardwareNic::State::ring() {
  for (QueueId queue = 1; queue < jetties.size(); ++queue) {
    Jetty& jetty = jetties[queue];
    while (jetty.rung < jetty.requests.size() && jetty.in_nic < sizes.queue_depth) {
      const std::uint32_t slot = jetty.requests[jetty.rung++];
      if (requests[slot].has_ended) continue;
      requests[slot].in_nic = true;
      ++jetty.in_nic;
      doorbells.push_back(slot);
    }
    while (jetty.posted < jetty.receives.size() && jetty.posted < sizes.receive_depth)
      posts.push_back(jetty.receives[jetty.posted++]);
  }
}

std::array<std::uint32_t, 15> HardwareNic::State::doorbell_of(std::uint32_t slot) const {
  const OpenRequest& open = requests[slot];
  const verbs::WorkRequest& request = open.request;
  const Peer& peer = peers[request.peer];
  const bool is_send = verbs::is_send(request.verb);
  return PortBits<464>()
      .put(operation_of(request.verb), 4)
      .put(open.is_inline ? 1 : 0, 1)
      .put(static_cast<std::uint64_t>(request.order), 2)
      .put(request.fence ? 1 : 0, 1)
      .put(peer.jetty, 20)
      .put(request.remote.address, 64)
      .put(request.remote.token.id, 20)
      .put(is_send ? peer.token : request.remote.token.value, 32)
      .put(verbs::is_atomic(request.verb) ? 8 : request.length, 32)
      .put(open.local, 64)
      .put(request.immediate, 64)
      .put(load_be64(open.data.data()), 64)
      .put(load_be64(&open.data[8]), 64)
      .put(tag_of(slot, open.generation), 32)
      .words();
}

void HardwareNic::State::end(std::uint32_t slot, CompletionStatus status, std::uint32_t length) {
  OpenRequest& open = requests[slot];
  open.has_ended = true;
  open.completion.status = status;
  open.completion.length = length;
  Jetty& jetty = jetties[open.queue];
  if (std::exchange(open.in_nic, false)) --jetty.in_nic;
  // One that need not wait is shown at once; the others when all before them have ended that are in order.
  if (!open.request.completion_in_order) {
    if (!open.completion.ok() || open.request.signaled) show(open.queue, open.completion);
    open.request.signaled = false;
    open.completion.status = CompletionStatus::kSuccess;
  }
  while (!jetty.requests.empty() && requests[jetty.requests.front()].has_ended) {
    const std::uint32_t first = jetty.requests.front();
    const OpenRequest& ended = requests[first];
    if (!ended.completion.ok() || ended.request.signaled) show(ended.queue, ended.completion);
    jetty.requests.pop_front();
    if (jetty.rung > 0) --jetty.rung;
    release(first);
  }
}

void HardwareNic::State::release(std::uint32_t slot) {
  requests[slot].is_open = false;
  free_requests.push_back(slot);
}

void HardwareNic::State::show(QueueId queue, const verbs::Completion& completion) {
  Jetty& jetty = jetties[queue];
  jetty.shown.push_back(completion);
  if (!std::exchange(jetty.is_listed, true)) completed_queues.push_back(queue);
}

void HardwareNic::State::flush(QueueId queue, CompletionStatus requests_end, bool receives_too) {
  Jetty& jetty = jetties[queue];
  const auto is_of = [&](std::uint32_t slot) { return requests[slot].queue == queue; };
  doorbells.erase(std::remove_if(doorbells.begin(), doorbells.end(), is_of), doorbells.end());
  const std::deque<std::uint32_t> open = jetty.requests;
  for (const std::uint32_t slot : open) {
    if (!requests[slot].has_ended) end(slot, requests_end, 0);
  }
  jetty.number = 0;  // A jetty that is opened anew counts anew.
  if (!receives_too) return;
  const auto is_its = [&](std::uint32_t slot) { return receives[slot].queue == queue; };
  posts.erase(std::remove_if(posts.begin(), posts.end(), is_its), posts.end());
  for (const std::uint32_t slot : jetty.receives) {
    verbs::Completion completion;
    completion.id = receives[slot].id;
    completion.status = requests_end;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = Verb::kSend;
    completion.queue = queue;
    show(queue, completion);
    receives[slot].is_open = false;
    free_receives.push_back(slot);
  }
  jetty.receives.clear();
  jetty.posted = 0;
}

void HardwareNic::State::give_up(TimePs, CompletionStatus status) {
  for (QueueId queue = 1; queue < jetties.size(); ++queue) flush(queue, status, false);
}

// --- Receives
// ---------------------------------------------------------------------------------------------------

PostStatus HardwareNic::post_receive(TimePs now, QueueId queue, const verbs::ReceiveRequest& receive) {
  State& state = *state_;
  state.now = now;
  Jetty* const jetty = state.find(queue);
  if (jetty == nullptr || jetty->state != QueueState::kReady) return PostStatus::kBadQueue;
  if (receive.local_count > 1 || receive.tagged || receive.from_one_sender || receive.local[0].key != 0)
    return PostStatus::kBadRequest;
  if (jetty->receives.size() >= jetty->config.receive_depth) return PostStatus::kQueueFull;
  if (state.free_receives.empty()) {
    state.free_receives.push_back(static_cast<std::uint32_t>(state.receives.size()));
    state.receives.emplace_back();
  }
  const std::uint32_t slot = state.free_receives.back();
  state.free_receives.pop_back();
  OpenReceive& open = state.receives[slot];
  open.is_open = true;
  ++open.generation;
  open.queue = queue;
  open.id = receive.id;
  open.address = receive.local_count > 0 ? receive.local[0].address : 0;
  open.capacity = receive.local_count > 0 ? receive.local[0].length : 0;
  jetty->receives.push_back(slot);
  state.ring();
  state.wake(now);
  return PostStatus::kOk;
}

Result<void> HardwareNic::cancel_receive(TimePs, QueueId queue, std::uint64_t id) {
  State& state = *state_;
  Jetty* const jetty = state.find(queue);
  if (jetty == nullptr) return refuse(fmt::format("found no queue {}", queue));
  // Those that the NIC has cannot be taken back: it may have given them to a message.
  for (std::size_t at = jetty->posted; at < jetty->receives.size(); ++at) {
    const std::uint32_t slot = jetty->receives[at];
    if (state.receives[slot].id != id) continue;
    jetty->receives.erase(jetty->receives.begin() + static_cast<std::ptrdiff_t>(at));
    state.receives[slot].is_open = false;
    state.free_receives.push_back(slot);
    verbs::Completion completion;
    completion.id = id;
    completion.status = CompletionStatus::kCancelled;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = Verb::kSend;
    completion.queue = queue;
    state.show(queue, completion);
    return {};
  }
  return refuse(fmt::format("found no receive {} that the NIC does not have", id));
}

// --- Completions
// ---------------------------------------------------------------------------------------------------

/// Tag, jetty and length as words, status, operation, flags, lap; immediate; remote jetty.
void HardwareNic::State::completed(const RingEntry& entry) {
  ++consumed;
  const std::uint32_t tag = load_le32(entry.data());
  const std::uint32_t slot = tag & 0xffffU;
  const std::uint32_t length = load_le32(&entry[8]);
  const unsigned flags = std::to_integer<unsigned>(entry[14]);
  if ((flags & 1U) == 0) {
    // One of a queue that has been flushed meanwhile is nobody's.
    if (slot >= requests.size() || !requests[slot].is_open || requests[slot].has_ended ||
        tag_of(slot, requests[slot].generation) != tag)
      return;
    end(slot, status_of(entry[12]), length);
    return;
  }
  if (slot >= receives.size() || !receives[slot].is_open || tag_of(slot, receives[slot].generation) != tag)
    return;
  const OpenReceive& receive = receives[slot];
  verbs::Completion completion;
  completion.id = receive.id;
  completion.status = status_of(entry[12]);
  completion.kind = verbs::CompletionKind::kReceive;
  switch (std::to_integer<unsigned>(entry[13])) {
    case 1:
      completion.verb = Verb::kSendImm;
      break;
    case 4:
      completion.verb = Verb::kWriteImm;
      break;
    default:
      completion.verb = Verb::kSend;
  }
  completion.has_immediate = (flags & 2U) != 0;
  completion.immediate = completion.has_immediate ? load_le64(&entry[16]) : 0;
  completion.length = length;
  completion.queue = receive.queue;
  completion.remote_host = peer_host.number;
  completion.remote_queue = load_le32(&entry[24]);
  Jetty& jetty = jetties[receive.queue];
  const auto at = std::find(jetty.receives.begin(), jetty.receives.end(), slot);
  if (at != jetty.receives.end()) {
    jetty.receives.erase(at);
    if (jetty.posted > 0) --jetty.posted;
  }
  receives[slot].is_open = false;
  free_receives.push_back(slot);
  show(completion.queue, completion);
}

bool HardwareNic::poll(QueueId queue, verbs::Completion& completion) {
  if (queue >= state_->jetties.size()) return false;
  std::deque<verbs::Completion>& shown = state_->jetties[queue].shown;
  if (shown.empty()) return false;
  completion = shown.front();
  shown.pop_front();
  return true;
}

bool HardwareNic::next_completed_queue(QueueId& queue) {
  State& state = *state_;
  while (!state.completed_queues.empty()) {
    queue = state.completed_queues.front();
    if (!state.jetties[queue].shown.empty()) return true;
    state.jetties[queue].is_listed = false;
    state.completed_queues.pop_front();
  }
  return false;
}

// --- The account of operations
// ---------------------------------------------------------------------------------------------------

void HardwareNic::State::span(wire::OperationTag operation, trace::Stage stage, TimePs& mark, TimePs at) {
  if (config.tracer != nullptr && at > mark)
    config.tracer->span(operation, stage, mark, at, config.host.number);
  mark = max(mark, at);
}

OpenRequest* HardwareNic::State::own_at(std::uint64_t address, std::uint32_t size) {
  for (OpenRequest& open : requests) {
    if (!open.in_nic || open.is_inline) continue;
    const std::uint64_t length = verbs::is_atomic(open.request.verb) ? 8 : open.request.length;
    if (length > 0 && address + size > open.local && address < open.local + length) return &open;
  }
  return nullptr;
}

Served* HardwareNic::State::served_at(std::uint64_t address, std::uint32_t size) {
  for (Served& each : served) {
    if (each.takes_receive || (address + size > each.address && address < each.address + each.length))
      return &each;
  }
  return nullptr;
}

std::pair<std::uint64_t, std::uint64_t> HardwareNic::State::known_of(std::uint64_t line) const {
  std::uint64_t from = line + sizeof(Line), to = line;
  const auto add = [&](std::uint64_t address, std::uint64_t length) {
    if (length == 0 || address >= line + sizeof(Line) || address + length <= line) return;
    from = std::min(from, std::max(address, line));
    to = std::max(to, std::min(address + length, line + sizeof(Line)));
  };
  for (const OpenRequest& open : requests) {
    if (open.in_nic && !open.is_inline)
      add(open.local, verbs::is_atomic(open.request.verb) ? 8 : open.request.length);
  }
  for (const Segment& segment : segments) {
    if (segment.is_there) add(segment.config.base, segment.config.length);
  }
  if (from >= to) return {line, line};
  return {from, to};
}

OpenRequest* HardwareNic::State::own_of(std::uint32_t jetty, std::uint16_t number) {
  if (jetty >= jetties.size()) return nullptr;
  const std::uint32_t slot = jetties[jetty].by_number[number % jetties[jetty].by_number.size()];
  return slot < requests.size() && requests[slot].in_nic && requests[slot].queue == jetty ? &requests[slot]
                                                                                          : nullptr;
}

Served* HardwareNic::State::served_of(std::uint32_t requester, std::uint16_t number) {
  for (Served& each : served) {
    if (each.requester == requester && each.number == number) return &each;
  }
  return nullptr;
}

}  // namespace wharf::hardware
