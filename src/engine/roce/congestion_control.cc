// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/congestion_control.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "engine/roce/requester.h"

namespace wharf::roce {
namespace {

constexpr std::array kRequestsFirst{Flow::kRequests, Flow::kAnswers};
constexpr std::array kAnswersFirst{Flow::kAnswers, Flow::kRequests};

std::uint32_t flight_places(const RoceConfig& config) { return std::bit_ceil(config.window_packets); }

}  // namespace

CongestionControl::CongestionControl(EngineCore& core) : core_(core) {
  const RoceConfig& config = core.config;
  core.is_paced = config.congestion.has_value() || config.min_time_between_cnps > kTimeZero;
  // check() has seen the controller's configuration, which stays where it is.
  if (config.congestion) fresh_ = congestion::AnyController::create(*config.congestion).value();
  // Choice: a message asks for an acknowledgement every 64 packets. When so many take longer than a quarter
  // of the time-out at the present rate, each asks, so that a slow queue is not taken for a lossy one.
  if (config.ack_timeout != 0) patience_ = ack_timeout_duration(config.ack_timeout) / 256;
}

// --- Control side ---

void CongestionControl::add_queue(QueueId id) {
  if (fresh_) {
    WHARF_CHECK(id == senders_.size());
    senders_.emplace_back(*fresh_);
    const std::uint32_t places = flight_places(core_.config);
    senders_.back().flights.attach(core_.arena->make_span<Flight>(places).data(), places);
    wakes_.reserve(id + 1);
  }
  if (core_.config.min_time_between_cnps > kTimeZero) {
    WHARF_CHECK(id == receivers_.size());
    receivers_.emplace_back();
    owing_.reserve(receivers_.size());
  }
}

void CongestionControl::connect(const QueuePair& pair, wire::HostAddress peer) {
  if (fresh_) senders_[pair.id].peer = peer;
}

void CongestionControl::restart(const QueuePair& pair) {
  if (!receivers_.empty()) {
    Receiver& receiver = receivers_[pair.id];
    receiver.pacer = congestion::NotificationPacer{};
    receiver.owes = false;
  }
  if (!fresh_) return;
  Sender& sender = senders_[pair.id];
  sender.controller = *fresh_;
  sender.flights.clear();
  sender.asking = sender.unasked = 0;
  sender.windowed = false;
  // The engine lists a flow again that still has something to say, such as a NAK.
  sender.parked = {kNotParked, kNotParked};
  sender.parked_since = {kNever, kNever};
  sender.peer.reset();
  sender.round_trip = kNever;
  wakes_.set(pair.id, kNever);
}

// --- Who may go ---

// A closed window opens for one packet when nothing in flight asks for an answer: it does, and so the window
// never stays closed.
bool CongestionControl::permits(const Sender& sender, const QueuePair& pair) const {
  const std::uint64_t bytes = pair.transmit.empty() ? 0 : pair.transmit.front().payload.length;
  return sender.asking == 0 || sender.controller.permits(bytes);
}

bool CongestionControl::may_go(TimePs now, const Sender& sender, const QueuePair& pair, Flow flow) const {
  if (sender.controller.next_send() > now) return false;
  // Choice: what is sent again has left the window, and waits for the rate alone: a window that has shrunk
  // below what waits behind the gap would never open.
  if (flow == Flow::kRequests && pair.selective != nullptr && Requester::is_repair_next(pair)) return true;
  return flow == Flow::kAnswers || permits(sender, pair);
}

bool CongestionControl::hold(TimePs now, const QueuePair& pair, Flow flow, std::size_t send_class) {
  if (kSendClasses[send_class] == wire::TrafficClass::kAcknowledgement) return false;
  Sender& sender = senders_[pair.id];
  if (may_go(now, sender, pair, flow)) return false;
  const auto at = static_cast<std::size_t>(flow);
  if (sender.parked_since[at] == kNever) sender.parked_since[at] = now;
  sender.parked[at] = static_cast<std::uint8_t>(send_class);
  settle(now, pair, sender);
  return true;
}

void CongestionControl::resume(QueueId id, Sender& sender, Flow flow) {
  std::uint8_t& parked = sender.parked[static_cast<std::size_t>(flow)];
  if (parked == kNotParked) return;
  core_.list_flow(core_.queue(id), flow, parked);
  parked = kNotParked;
}

void CongestionControl::settle(TimePs now, const QueuePair& pair, Sender& sender) {
  const TimePs next = sender.controller.next_send();
  TimePs wake = sender.controller.deadline();
  // One rate serves both flows in turn: who waits longer goes first.
  const bool answers_first = sender.parked_since[1] < sender.parked_since[0];
  for (const Flow flow : answers_first ? kAnswersFirst : kRequestsFirst) {
    if (!sender.waits(flow)) continue;
    if (may_go(now, sender, pair, flow)) {
      resume(pair.id, sender, flow);
    } else if (next > now) {
      wake = min(wake, next);
    }
  }
  wakes_.set(pair.id, wake);
}

void CongestionControl::expire(TimePs now) {
  while (wakes_.earliest() <= now) {
    const QueueId id = wakes_.earliest_owner();
    senders_[id].controller.expire(now);
    settle(now, core_.queue(id), senders_[id]);
  }
}

// --- What the controller is told ---

void CongestionControl::tell_sent(TimePs now, const QueuePair& pair, Flow flow, wire::Packet& packet) {
  Sender& sender = senders_[pair.id];
  congestion::AnyController& controller = sender.controller;
  TimePs& since = sender.parked_since[static_cast<std::size_t>(flow)];
  if (since != kNever && core_.tracer != nullptr) {
    core_.tracer->span(packet.operation, trace::Stage::kWindowWait, since, now, core_.config.host.number);
  }
  since = kNever;
  congestion::Departure departure;
  departure.window_bytes = packet.payload.length;
  departure.wire_bytes = wire::frame_bytes(packet);
  departure.retransmission = packet.traffic_class == wire::TrafficClass::kRetransmission;
  const congestion::PacketRequest request = controller.on_send(now, departure);
  if (flow == Flow::kAnswers) {
    // Choice: nobody acknowledges READ data, so it leaves the window at once, as no sign of anything.
    controller.on_loss(now, {{1, departure.window_bytes}, congestion::LossCause::kRefused});
  } else if (departure.retransmission && pair.selective != nullptr) {
    tell_resent(now, sender, packet, packet.payload.length);
  } else {
    const bool closed = !controller.permits(departure.window_bytes);
    sender.windowed = sender.windowed || closed;
    const auto under_way = sender.flights.size() + 1;
    // Choice: under a window an answer is wanted for every half of what is in flight, so that it opens before
    // it is used up.
    const bool due = sender.windowed && 2 * (sender.unasked + 1) >= under_way;
    bool& asks = packet.roce.bth.acknowledge_request;
    asks = asks || closed || due || request.acknowledge || controller.next_send() - now > patience_;
    sender.unasked = asks ? 0 : sender.unasked + 1;
    sender.asking += asks ? 1U : 0U;
    Flight& flight = sender.flights.push_stale();
    // The answer to a repeated packet may be to its first copy.
    flight.left = departure.retransmission ? kNever : now;
    flight.psn = packet.roce.bth.psn;
    flight.bytes = static_cast<std::uint16_t>(packet.payload.length);
    flight.asks = asks;
    flight.lost = false;
  }
  settle(now, pair, sender);
}

void CongestionControl::tell_resent(TimePs now, Sender& sender, const wire::Packet& packet,
                                    std::uint32_t bytes) {
  Flight* const flight = find_flight(sender, packet.roce.bth.psn);
  if (flight == nullptr || !flight->lost) {
    // One that had not been missed, such as a READ of which another part is asked for again.
    sender.controller.on_loss(now, {{1, bytes}, congestion::LossCause::kRefused});
    return;
  }
  flight->lost = false;
  flight->left = kNever;
  flight->bytes = static_cast<std::uint16_t>(bytes);
  flight->asks = true;
  ++sender.asking;
}

// The flights lie by PSN; one may be a READ, which takes many.
CongestionControl::Flight* CongestionControl::find_flight(Sender& sender, Psn psn) {
  Position first = sender.flights.head();
  std::uint32_t count = sender.flights.size();
  if (count == 0 || wire::psn_after(sender.flights.front().psn, psn)) return nullptr;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (wire::psn_after(sender.flights[first + half].psn, psn)) {
      count = half;
    } else {
      first += half;
      count -= half;
    }
  }
  return &sender.flights[first];
}

void CongestionControl::on_missing(TimePs now, const QueuePair& pair, Psn psn, congestion::LossCause cause) {
  if (!fresh_) return;
  Sender& sender = senders_[pair.id];
  Flight* const flight = find_flight(sender, psn);
  if (flight == nullptr || flight->lost) return;
  flight->lost = true;
  sender.asking -= flight->asks ? 1U : 0U;
  congestion::Loss loss;
  loss.cause = cause;
  loss.lost = {1, flight->bytes};
  sender.controller.on_loss(now, loss);
  settle(now, pair, sender);
}

void CongestionControl::tell_confirmed(TimePs now, const QueuePair& pair, std::optional<Psn> answered) {
  Sender& sender = senders_[pair.id];
  congestion::Acknowledgement told;
  while (!sender.flights.empty()) {
    const Flight& flight = sender.flights.front();
    if (!wire::psn_before(flight.psn, pair.context.requester.unacknowledged)) break;
    ++told.confirmed.packets;
    told.confirmed.bytes += flight.bytes;
    if (flight.lost) {  // It had arrived after all.
      ++told.restored.packets;
      told.restored.bytes += flight.bytes;
    } else {
      sender.asking -= flight.asks ? 1U : 0U;
    }
    if (answered == flight.psn && flight.left != kNever) told.round_trip = now - flight.left;
    sender.flights.pop();
  }
  // What was taken for lost before is not news to the controller.
  if (told.confirmed.packets == 0) return;
  if (told.round_trip != kNever) {
    sender.round_trip = told.round_trip;
    sender.sampled_at = now;
  }
  sender.controller.on_acknowledgement(now, told);
  settle(now, pair, sender);
}

void CongestionControl::on_lost(TimePs now, const QueuePair& pair, congestion::LossCause cause) {
  if (!fresh_) return;
  Sender& sender = senders_[pair.id];
  congestion::Loss loss;
  loss.cause = cause;
  for (; !sender.flights.empty(); sender.flights.pop()) {
    ++loss.lost.packets;
    loss.lost.bytes += sender.flights.front().bytes;
  }
  sender.asking = sender.unasked = 0;
  if (loss.lost.packets == 0) return;
  sender.controller.on_loss(now, loss);
  settle(now, pair, sender);
}

void CongestionControl::on_notified(TimePs now, const QueuePair& pair) {
  if (!fresh_) return;
  Sender& sender = senders_[pair.id];
  congestion::Acknowledgement told;
  told.marked = 1;
  sender.controller.on_acknowledgement(now, told);
  settle(now, pair, sender);
}

// --- Notification point ---

void CongestionControl::on_marked(TimePs now, const QueuePair& pair) {
  if (receivers_.empty()) return;
  Receiver& receiver = receivers_[pair.id];
  if (!receiver.pacer.on_marked(now, core_.config.min_time_between_cnps)) return;
  // Kept here: the context may be evicted before the packet can leave.
  const QueuePairContext& context = pair.context;
  receiver.owes = true;
  receiver.partition_key = context.partition_key;
  receiver.entropy = context.entropy;
  receiver.peer = {context.remote_host};
  receiver.queue_number = context.remote_queue_number;
  if (receiver.lined_up) return;
  receiver.lined_up = true;
  owing_.push_back(pair.id);
}

bool CongestionControl::take_notification(wire::Packet& out) {
  while (!owing_.empty()) {
    Receiver& receiver = receivers_[owing_.front()];
    owing_.pop_front();
    receiver.lined_up = false;
    if (!receiver.owes) continue;
    receiver.owes = false;
    out = wire::roce_packet();
    out.traffic_class = wire::TrafficClass::kControl;
    out.mark = wire::CongestionMark::kCapable;
    out.ip_version = core_.config.ip_version;
    out.entropy = receiver.entropy;
    out.source = core_.config.host;
    out.destination = receiver.peer;
    // [IBTA vol 1 A17.9.3: BECN is set, the PSN is 0, 16 zero bytes follow]
    out.roce.bth.opcode = wire::RoceOpcode::kCnp;
    out.roce.bth.backward_congestion = true;
    out.roce.bth.partition_key = receiver.partition_key;
    out.roce.bth.destination_queue_pair = receiver.queue_number;
    ++core_.counters.congestion_notifications_sent;
    return true;
  }
  return false;
}

// --- Observation ---

void CongestionControl::add_to(congestion::SenderTrace& sum, const Sender& sender, TimePs& newest) {
  const std::uint64_t window = sender.controller.window();
  if (window != congestion::SenderTrace::kNoWindow) {
    sum.window = sum.window == congestion::SenderTrace::kNoWindow ? window : sum.window + window;
  }
  if (const auto* dcqcn = sender.controller.as<congestion::DcqcnSender>()) {
    sum.rate.value += dcqcn->rate().value;
  }
  sum.in_flight += sender.flights.size();
  if (sender.round_trip != kNever && (sum.round_trip == kNever || sender.sampled_at > newest)) {
    sum.round_trip = sender.round_trip;
    newest = sender.sampled_at;
  }
}

congestion::SenderTrace CongestionControl::trace(wire::HostAddress peer) const {
  congestion::SenderTrace sum;
  TimePs newest;
  for (const Sender& sender : senders_) {
    if (sender.peer == peer) add_to(sum, sender, newest);
  }
  return sum;
}

congestion::SenderTrace CongestionControl::trace_queue(QueueId queue) const {
  congestion::SenderTrace trace;
  TimePs newest;
  if (queue < senders_.size()) add_to(trace, senders_[queue], newest);
  return trace;
}

std::size_t CongestionControl::bytes_held() const {
  std::size_t bytes = senders_.capacity() * sizeof(Sender) + receivers_.capacity() * sizeof(Receiver) +
                      owing_.bytes_held() + wakes_.bytes_held();
  for (const Sender& sender : senders_) bytes += sender.flights.capacity() * sizeof(Flight);
  return bytes;
}

std::size_t CongestionControl::bytes_per_queue(const RoceConfig& config) {
  std::size_t bytes = 0;
  if (config.congestion) bytes += sizeof(Sender) + flight_places(config) * sizeof(Flight);
  if (config.min_time_between_cnps > kTimeZero) bytes += sizeof(Receiver);
  return bytes;
}

}  // namespace wharf::roce
