// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/retransmission.h"

#include <algorithm>

#include "engine/reliability/receiver_not_ready.h"
#include "engine/roce/congestion_control.h"
#include "engine/roce/requester.h"

namespace wharf::roce {

namespace {

/// The timeouts of a queue pair that follows its round trips.
reliability::RetransmissionRule adaptive_rule(const RoceConfig& config, const QueuePair& pair) {
  const std::uint8_t ack_timeout = pair.attributes.ack_timeout;
  reliability::RetransmissionRule rule;
  rule.base = ack_timeout_duration(ack_timeout);
  rule.cap = picoseconds(std::int64_t{4'096'000} << std::min(ack_timeout + config.backoff_limit, 40));
  // One that was made shorter since is its own floor.
  rule.floor = min(config.timeout_floor, rule.base);
  return rule;
}

}  // namespace

// One packet is timed at a time: the first one where nothing was under way (note_sent), else the next new one
// that leaves.
void Retransmission::follow_round_trip(TimePs now, QueuePair& pair) {
  const RequesterContext& requester = pair.context.requester;
  reliability::RoundTripEstimate& round_trip = *pair.round_trip;
  if (round_trip.timing() &&
      wire::psn_after(requester.unacknowledged, static_cast<Psn>(round_trip.number()))) {
    round_trip.answered(adaptive_rule(core_.config, pair), now);
  } else if (requester.backoff > 0) {
    round_trip.keep(adaptive_rule(core_.config, pair), requester.backoff);
  }
  if (!round_trip.timing() && requester.unacknowledged != requester.highest_sent)
    round_trip.begin(requester.highest_sent, now);
}

void Retransmission::start_timer(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  requester.timer_started = now;
  const std::uint8_t code = pair.attributes.ack_timeout;
  // Code 0 switches the timer off. [IBTA vol 1 9.7.6.1.3]
  // Choice: code and back-off together stop at 2^40, about 52 days, the range of TimePs.
  const int exponent = std::min(code + requester.backoff, 40);
  requester.timeout_at = code == 0 ? kNever : now + picoseconds(std::int64_t{4'096'000} << exponent);
  if (pair.round_trip && code != 0)
    requester.timeout_at =
        now + adaptive_rule(core_.config, pair).timeout(requester.backoff, pair.round_trip->first());
  core_.update_timer(pair);
}

void Retransmission::note_progress(TimePs now, QueuePair& pair, std::optional<Psn> answered) {
  RequesterContext& requester = pair.context.requester;
  congestion_.on_confirmed(now, pair, answered);
  // An answer to the first transmission of what is being sent again: go on behind it.
  if (wire::psn_after(requester.unacknowledged, requester.sent)) go_back(pair);
  requester.retries_left = pair.attributes.retry_count;
  requester.rnr_left = pair.attributes.rnr_retry;
  if (pair.round_trip) follow_round_trip(now, pair);
  requester.backoff = 0;
  if (requester.recovering && wire::psn_after(requester.unacknowledged, requester.recovery_psn)) {
    requester.recovering = false;
  }
  if (requester.unacknowledged == requester.sent) {
    requester.timeout_at = kNever;
    core_.update_timer(pair);
  } else if (requester.rnr_until == kNever) {
    start_timer(now, pair);
  }
}

void Retransmission::stop(QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  requester.timeout_at = kNever;
  requester.rnr_until = kNever;
  requester.recovering = false;
  core_.update_timer(pair);
  congestion_.restart(pair);
}

// True when another try is allowed; otherwise the oldest request has failed.
bool Retransmission::spend_retry(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  if (core_.config.unlimited_retries) return true;
  if (requester.retries_left > 0) {
    --requester.retries_left;
    return true;
  }
  ++core_.counters.retries_exhausted;
  core_.push_event(engine::AsyncEventKind::kPeerUnreachable, pair);
  requester_->fail(now, pair, verbs::CompletionStatus::kRetryExhausted);
  return false;
}

// [IBTA vol 1 9.7.5.1.1: Go-Back-N from the oldest unacknowledged PSN, in order, with the original PSNs]
void Retransmission::go_back(QueuePair& pair) {
  requester_->discard_prepared(pair);
  RequesterContext& requester = pair.context.requester;
  requester.next = requester.unacknowledged;
  requester.sent = requester.unacknowledged;
  requester.sending = pair.send.head();
  requester.limited_outstanding = false;
  requester.packet = 0;
  if (requester.sending == requester.assigned) return;  // Nothing that was started is left.
  requester.packet =
      static_cast<std::uint32_t>(wire::psn_difference(requester.unacknowledged, pair.send.front().first_psn));
}

void Retransmission::recover(TimePs now, QueuePair& pair, congestion::LossCause cause) {
  RequesterContext& requester = pair.context.requester;
  requester.recovering = true;
  requester.recovery_psn = requester.unacknowledged;
  core_.trace(
      now, trace::EventKind::kRetransmission, pair.id, pair.send.front().operation, requester.unacknowledged,
      static_cast<std::uint64_t>(wire::psn_difference(requester.highest_sent, requester.unacknowledged)));
  go_back(pair);
  if (pair.round_trip) pair.round_trip->ambiguous();
  congestion_.on_lost(now, pair, cause);
  requester.timeout_at = kNever;
  core_.update_timer(pair);
  core_.kick(pair);
}

// Time from the last sign of life until the loss was noticed, for every request that waited through it.
void Retransmission::stamp_loss(TimePs now, QueuePair& pair) {
  if (core_.tracer == nullptr || !core_.tracer->wants_spans()) return;
  const RequesterContext& requester = pair.context.requester;
  for (Position at = pair.send.head(); at != requester.assigned; ++at) {
    core_.tracer->span(pair.send[at].operation, trace::Stage::kRetransmissionWait, requester.timer_started,
                       now, core_.config.host.number);
  }
}

void Retransmission::sequence_nak(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  ++core_.counters.sequence_naks_received;
  // One retry episode at a time: repeats of the NAK are ignored until the oldest PSN moves or the timer
  // fires. A NAK drawn by packets behind a receiver-not-ready one must not shorten that wait. [Linux rdma_rxe
  // behaviour]
  if (requester.rnr_until != kNever) return;
  if (requester.recovering && requester.recovery_psn == requester.unacknowledged) return;
  if (requester.unacknowledged == requester.sent) return;
  stamp_loss(now, pair);
  if (spend_retry(now, pair)) recover(now, pair, congestion::LossCause::kGap);
}

void Retransmission::implied_nak(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  if (requester.rnr_until != kNever) return;
  if (requester.recovering && requester.recovery_psn == requester.unacknowledged) return;
  if (requester.unacknowledged == requester.sent) return;
  ++core_.counters.implied_naks;
  stamp_loss(now, pair);
  if (spend_retry(now, pair)) recover(now, pair, congestion::LossCause::kGap);
}

void Retransmission::receiver_not_ready(TimePs now, QueuePair& pair, std::uint8_t timer_code) {
  RequesterContext& requester = pair.context.requester;
  ++core_.counters.rnr_naks_received;
  if (requester.rnr_until != kNever || !spend_refusal(now, pair)) return;
  recover(now, pair, congestion::LossCause::kRefused);
  begin_wait(now, pair, timer_code);
}

bool Retransmission::spend_refusal(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  // 7 is infinite. [IBTA vol 1 9.7.5.2.8]
  if (pair.attributes.rnr_retry == 7 || core_.config.unlimited_retries) return true;
  if (requester.rnr_left == 0) {
    requester_->fail(now, pair, verbs::CompletionStatus::kReceiverNotReady);
    return false;
  }
  --requester.rnr_left;
  return true;
}

void Retransmission::begin_wait(TimePs now, QueuePair& pair, std::uint8_t timer_code) {
  RequesterContext& requester = pair.context.requester;
  requester.rnr_until = now + reliability::receiver_not_ready_delay(timer_code);
  if (core_.tracer != nullptr) {
    core_.tracer->span(pair.send.front().operation, trace::Stage::kReceiverBackoff, now, requester.rnr_until,
                       core_.config.host.number);
  }
  core_.update_timer(pair);
}

// --- Selective repeat ---

void Retransmission::tell_missing(TimePs now, QueuePair& pair, Psn psn, congestion::LossCause cause) {
  core_.trace(now, trace::EventKind::kRetransmission, pair.id, pair.send.front().operation, psn, 1);
  if (pair.round_trip) pair.round_trip->ambiguous();
  congestion_.on_missing(now, pair, psn, cause);
}

bool Retransmission::note_missing(TimePs now, QueuePair& pair, Psn psn) {
  if (psn == Requester::oldest_missing(pair)) {
    stamp_loss(now, pair);
    if (!spend_retry(now, pair)) return false;
  }
  tell_missing(now, pair, psn, congestion::LossCause::kGap);
  return true;
}

void Retransmission::note_resent(TimePs now, QueuePair& pair, Psn psn) {
  if (psn == Requester::oldest_missing(pair) || pair.context.requester.timeout_at == kNever)
    start_timer(now, pair);
}

bool Retransmission::refuse_selective(TimePs now, QueuePair& pair, Psn psn, std::uint8_t timer_code) {
  RequesterContext& requester = pair.context.requester;
  ++core_.counters.rnr_naks_received;
  if (requester.rnr_until != kNever) return false;
  if (psn == requester.unacknowledged && !spend_refusal(now, pair)) return false;
  tell_missing(now, pair, psn, congestion::LossCause::kRefused);
  requester_->put_back_prepared(pair);
  requester.limited_outstanding = false;
  requester.timeout_at = kNever;
  begin_wait(now, pair, timer_code);
  return true;
}

void Retransmission::end_wait(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  requester.rnr_until = kNever;
  requester.recovering = false;  // From here on a sequence NAK is news.
  if (pair.selective != nullptr) {
    Requester::end_refusal(pair);
    if (requester.unacknowledged != requester.sent) start_timer(now, pair);
  }
  core_.update_timer(pair);
  core_.kick(pair);
}

void Retransmission::expire(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  if (requester.rnr_until <= now) end_wait(now, pair);
  if (requester.timeout_at > now) {
    core_.update_timer(pair);
    return;
  }
  requester.timeout_at = kNever;
  core_.update_timer(pair);
  if (requester.unacknowledged == requester.sent) return;
  // What is about to be sent again has not been given its time yet.
  if (pair.selective != nullptr && pair.selective->repairs.is_queued(Requester::oldest_missing(pair)))
    return start_timer(now, pair);
  ++core_.counters.timeouts;
  core_.trace(now, trace::EventKind::kTimeout, pair.id, pair.send.front().operation,
              static_cast<std::uint64_t>(pair.attributes.retry_count - requester.retries_left) + 1, 0);
  stamp_loss(now, pair);
  if (!spend_retry(now, pair)) return;
  const std::uint8_t backoff = requester.backoff;
  // One that adapts needs a step from what it has learnt to what is configured.
  const std::uint8_t limit =
      pair.round_trip ? std::max<std::uint8_t>(1, core_.config.backoff_limit) : core_.config.backoff_limit;
  if (backoff < limit) requester.backoff = static_cast<std::uint8_t>(backoff + 1);
  if (pair.selective == nullptr) return recover(now, pair, congestion::LossCause::kTimeout);
  tell_missing(now, pair, Requester::oldest_missing(pair), congestion::LossCause::kTimeout);
  Requester::repair_oldest(pair);
  start_timer(now, pair);
  core_.kick(pair);
}

}  // namespace wharf::roce
