// SPDX-License-Identifier: Apache-2.0
// A host whose flows are held back by any controller of engine/congestion and by nothing else: packets of one
// size, an answer for each, nothing sent twice. What a controller does to a fabric, without a protocol around
// it; for fabrics that lose nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/caqm_switch.h"
#include "sim/fabric/fabric_host.h"
#include "sim/fabric/fabric_state.h"

namespace wharf::sim {

/// What all hosts of a run have in common.
struct ControlledTraffic {
  congestion::ControllerConfig controller;  ///< Of every flow; checked.
  std::uint16_t payload_bytes = 4096;       ///< Of a full packet: what counts toward windows.
  std::uint16_t header_bytes = 102;         ///< Beside it on links.
  std::uint16_t answer_bytes = 84;          ///< Of answers and notifications on links.
  /// Marks come back as notifications of their own, at most one per flow in so long, as in RoCEv2; kTimeZero:
  /// each answer says whether its packet was marked.
  TimePs notification_spacing{};
};

struct ControlledFlow {
  std::uint32_t number = 0;  ///< Among all flows of the run.
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  TimePs start{};
};

class ControlledHost {
 public:
  struct Body {
    enum class Kind : std::uint8_t { kData, kAnswer, kNotification };
    std::uint32_t source = 0;
    std::uint32_t flow = 0;   ///< Its number.
    std::uint32_t place = 0;  ///< Among the flows of its source.
    std::uint32_t bytes = 0;  ///< Payload, of data or of what is answered.
    TimePs sent;
    congestion::CaqmFields caqm;
    Kind kind = Kind::kData;
    bool marked = false;
  };

  /// `traffic` and `context` outlive the host.
  ControlledHost(std::uint32_t host, const ControlledTraffic& traffic, PartitionContext& context)
      : traffic_(&traffic), context_(&context), host_(host) {}

  /// Before the run.
  void add(const ControlledFlow& flow) {
    flows_.push_back({flow, congestion::AnyController::create(traffic_->controller).value()});
  }

  bool transmit(TimePs now, std::uint32_t /*port*/, ClassMask allowed, Body& body, PacketHead& head) {
    if (!answers_.empty() && (allowed & (1U << kAnswerClass)) != 0) {
      const Answer answer = answers_.front();
      answers_.pop_front();
      body = answer.body;
      head.destination = answer.to;
      head.flow = body.flow;
      head.bytes = traffic_->answer_bytes;
      head.traffic_class = kAnswerClass;
      return true;
    }
    if ((allowed & (1U << kDataClass)) == 0) return false;
    wake_ = kNever;
    for (std::uint32_t tried = 0; tried < flows_.size(); ++tried) {
      const std::uint32_t place = next_;
      next_ = next_ + 1 == flows_.size() ? 0 : next_ + 1;
      if (may_send(now, flows_[place])) {
        send(now, place, body, head);
        return true;
      }
    }
    return false;
  }

  void receive(TimePs now, std::uint32_t /*port*/, Body& body, const PacketHead& head) {
    if (body.kind == Body::Kind::kData) {
      answer(now, body, (head.flags & kHeadMarked) != 0);
      return;
    }
    State& state = flows_[body.place];
    congestion::Acknowledgement told;
    if (body.kind == Body::Kind::kAnswer) {
      told.confirmed = {1, body.bytes};
      told.round_trip = now - body.sent;
      told.granted = body.caqm.increase;
      told.granted_bytes = body.caqm.increase ? body.caqm.hint_bytes : 0;
      state.confirmed += body.bytes;
    }
    told.marked = body.marked || body.caqm.congestion ? 1 : 0;
    state.controller.on_acknowledgement(now, told);
    if (body.kind == Body::Kind::kAnswer && state.confirmed == state.flow.bytes) {
      state.end = now;
      ++context_->finished;
    }
  }

  void expire(TimePs now) {
    if (wake_ <= now) wake_ = kNever;
    for (State& state : flows_) {
      if (state.controller.deadline() <= now) state.controller.expire(now);
    }
  }
  TimePs deadline() const {
    TimePs earliest = wake_;
    for (const State& state : flows_) earliest = min(earliest, state.controller.deadline());
    return earliest;
  }

  /// What switches with C-AQM look at.
  static std::optional<congestion::CaqmFields> caqm_fields(const Body& body, std::uint32_t /*mtu*/) {
    if (body.kind != Body::Kind::kData) return std::nullopt;
    return body.caqm;
  }
  static void answer_caqm(Body& body, const congestion::CaqmFields& fields) { body.caqm = fields; }

  // Observation, by place among the host's flows.
  std::uint32_t flow_count() const { return static_cast<std::uint32_t>(flows_.size()); }
  const ControlledFlow& flow(std::uint32_t place) const { return flows_[place].flow; }
  const congestion::AnyController& controller(std::uint32_t place) const { return flows_[place].controller; }
  std::uint64_t confirmed(std::uint32_t place) const { return flows_[place].confirmed; }
  TimePs end(std::uint32_t place) const { return flows_[place].end; }  ///< kNever: not yet.
  std::uint64_t notifications() const { return notifications_; }       ///< Sent.

 private:
  static constexpr std::uint8_t kAnswerClass = 1;
  static constexpr std::uint8_t kDataClass = 4;

  struct State {
    ControlledFlow flow;
    congestion::AnyController controller;
    std::uint64_t sent = 0;
    std::uint64_t confirmed = 0;
    TimePs end = kNever;
  };
  struct Answer {
    Body body;
    std::uint32_t to = 0;
  };

  std::uint32_t next_bytes(const State& state) const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(traffic_->payload_bytes, state.flow.bytes - state.sent));
  }

  /// Notes when to look again if time alone is missing.
  bool may_send(TimePs now, const State& state) {
    if (state.sent == state.flow.bytes) return false;
    const TimePs at = max(state.flow.start, state.controller.next_send());
    if (!state.controller.permits(next_bytes(state))) return false;
    if (at <= now) return true;
    wake_ = min(wake_, at);
    return false;
  }

  void send(TimePs now, std::uint32_t place, Body& body, PacketHead& head) {
    State& state = flows_[place];
    const std::uint32_t bytes = next_bytes(state);
    state.sent += bytes;
    const auto asked =
        state.controller.on_send(now, {.window_bytes = bytes,
                                       .wire_bytes = bytes + std::uint64_t{traffic_->header_bytes},
                                       .backlog_bytes = state.flow.bytes - state.sent});
    body = {};
    body.source = host_;
    body.flow = state.flow.number;
    body.place = place;
    body.bytes = bytes;
    body.sent = now;
    body.caqm.increase = asked.grant;
    body.caqm.hint_bytes = asked.grant_bytes;
    head.destination = state.flow.destination;
    head.flow = state.flow.number * 2654435761U;
    head.bytes = static_cast<std::uint16_t>(bytes + traffic_->header_bytes);
    head.traffic_class = kDataClass;
    head.flags = kHeadEcnCapable;
  }

  void answer(TimePs now, const Body& data, bool marked) {
    Answer answer{data, data.source};
    answer.body.kind = Body::Kind::kAnswer;
    answer.body.marked = marked && traffic_->notification_spacing == kTimeZero;
    answers_.push_back(answer);
    if (!marked || traffic_->notification_spacing == kTimeZero) return;
    if (pacers_.size() <= data.flow) pacers_.resize(data.flow + 1);
    if (!pacers_[data.flow].on_marked(now, traffic_->notification_spacing)) return;
    ++notifications_;
    answer.body.kind = Body::Kind::kNotification;
    answer.body.marked = true;
    answers_.push_back(answer);
  }

  const ControlledTraffic* traffic_;
  PartitionContext* context_;
  std::vector<State> flows_;
  std::deque<Answer> answers_;
  std::vector<congestion::NotificationPacer> pacers_;  ///< By flow number.
  TimePs wake_{};                                      ///< When something may leave; see may_send().
  std::uint64_t notifications_ = 0;
  std::uint32_t host_;
  std::uint32_t next_ = 0;
};
static_assert(FabricHost<ControlledHost>);

}  // namespace wharf::sim
