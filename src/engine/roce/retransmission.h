// SPDX-License-Identifier: Apache-2.0
// Loss recovery of a queue pair: the retransmission timer with its back-off, retry counts, receiver-not-ready
// waits, and Go-Back-N: everything from the oldest unanswered PSN is sent again, reading memory again. [IBTA
// vol 1 9.7.5, 9.7.6]
#pragma once

#include <optional>

#include "base/time.h"
#include "engine/congestion/controller.h"
#include "engine/roce/engine_core.h"
#include "wire/psn.h"

namespace wharf::roce {

class CongestionControl;
class Requester;

class Retransmission {
 public:
  Retransmission(EngineCore& core, CongestionControl& congestion) : core_(core), congestion_(congestion) {}
  /// The two halves know each other; called once.
  void attach(Requester& requester) { requester_ = &requester; }

  /// A request packet left, from `psn` on, perhaps not for the first time: the timer runs unless it does
  /// already.
  void note_sent(TimePs now, QueuePair& pair, Psn psn, bool again) {
    if (pair.context.requester.timeout_at != kNever) return;
    if (pair.round_trip && !again) pair.round_trip->begin(psn, now);
    start_timer(now, pair);
  }
  /// The oldest unanswered PSN moved on: counters are refilled and the timer is pushed forward. `answered`
  /// when a plain ACK for that PSN says so.
  void note_progress(TimePs now, QueuePair& pair, std::optional<Psn> answered = {});

  /// NAK sequence error; the caller has acknowledged everything before the PSN of the NAK.
  void sequence_nak(TimePs now, QueuePair& pair);
  /// An answer skipped an outstanding READ or atomic, or part of a READ's data.
  void implied_nak(TimePs now, QueuePair& pair);
  /// RNR NAK for the oldest unanswered PSN.
  void receiver_not_ready(TimePs now, QueuePair& pair, std::uint8_t timer_code);

  // Selective repeat.
  /// `psn` is missing at the far end, or its answer here. For the oldest one that costs a retry: false when
  /// none is left, and the request has failed.
  bool note_missing(TimePs now, QueuePair& pair, Psn psn);
  /// A packet was sent again, from `psn` on.
  void note_resent(TimePs now, QueuePair& pair, Psn psn);
  /// RNR NAK for `psn`; true when a wait begins.
  bool refuse_selective(TimePs now, QueuePair& pair, Psn psn, std::uint8_t timer_code);

  /// The deadline of `pair` has passed.
  void expire(TimePs now, QueuePair& pair);

  /// Takes the sending position back to the oldest unanswered PSN.
  void go_back(QueuePair& pair);

  /// Switches the timers off and forgets what is in flight, on entering the error state.
  void stop(QueuePair& pair);

 private:
  bool spend_retry(TimePs now, QueuePair& pair);
  /// One more retry of a receiver that was not ready; false when none is left, and the request has failed.
  bool spend_refusal(TimePs now, QueuePair& pair);
  void begin_wait(TimePs now, QueuePair& pair, std::uint8_t timer_code);
  void end_wait(TimePs now, QueuePair& pair);
  void tell_missing(TimePs now, QueuePair& pair, Psn psn, congestion::LossCause cause);
  void recover(TimePs now, QueuePair& pair, congestion::LossCause cause);
  void start_timer(TimePs now, QueuePair& pair);
  void follow_round_trip(TimePs now, QueuePair& pair);
  void stamp_loss(TimePs now, QueuePair& pair);

  EngineCore& core_;
  CongestionControl& congestion_;
  Requester* requester_ = nullptr;
};

}  // namespace wharf::roce
