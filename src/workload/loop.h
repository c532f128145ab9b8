// SPDX-License-Identifier: Apache-2.0
// When the operations of a program start: closed loop (the next one when a worker is free) or open loop
// (Poisson arrivals that wait for a worker). Every program counts and times its operations through this one
// class.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/histogram.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "verbs/operation_record.h"
#include "workload/choice.h"
#include "workload/violation.h"

namespace wharf::workload {

enum class Pacing : std::uint8_t {
  kClosed,  ///< Each worker starts its next operation when the last one ended (and the think time is over).
  kOpen,    ///< Operations arrive at random whether or not a worker is free.
};
inline constexpr std::array<Choice<Pacing>, 2> kPacingChoices{
    {{"closed", Pacing::kClosed}, {"open", Pacing::kOpen}}};

/// How many operations, and when.
struct LoopConfig {
  std::uint64_t operations =
      1000;  ///< Measured operations, all workers together. 0: until `duration` is over.
  std::uint64_t warmup_operations = 0;  ///< Run first; they count in no result but the program's own checks.
  TimePs duration = kTimeZero;    ///< No operation starts later than this after the warm-up. Zero: no limit.
  std::uint32_t concurrency = 1;  ///< Workers: coroutines that share one remote.
  Pacing pacing = Pacing::kClosed;
  TimePs think_time = kTimeZero;                ///< Closed loop: idle time between a worker's operations.
  std::uint64_t arrivals_per_second = 100'000;  ///< Open loop: mean arrival rate, all workers together.
};

/// Lists the keys of a LoopConfig to `keys`, which has the methods of the scenario binder.
template <typename Keys>
void bind_keys(LoopConfig& config, Keys& keys) {
  keys.integer("operations", config.operations,
               "measured operations, all workers together; 0: until `duration`");
  keys.integer("warmup_operations", config.warmup_operations, "operations before the measured ones");
  keys.time("duration", config.duration,
            "no operation starts later than this after the warm-up; 0ns: no limit");
  keys.integer("concurrency", config.concurrency, "workers (coroutines) that share one remote", 1, 65536);
  keys.choice("pacing", config.pacing, std::span<const Choice<Pacing>>(kPacingChoices),
              "closed loop, or open loop with Poisson arrivals that queue for a worker");
  keys.time("think_time", config.think_time, "closed loop: idle time of a worker between operations");
  keys.integer("arrivals_per_second", config.arrivals_per_second, "open loop: mean arrival rate, all workers",
               1, 1'000'000'000);
}

/// A refusal of a configuration: one sentence, to which the caller adds the place.
Error refuse(std::string_view key, std::uint64_t found, std::string_view expected);

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const LoopConfig& config) {
  if (config.operations == 0 && config.duration == kTimeZero) {
    return refuse("operations", 0, "at least 1 when there is no duration");
  }
  return {};
}

/// What every program reports. Times in picoseconds.
struct LoopResult {
  std::uint64_t operations = 0;         ///< Measured ones that ended well.
  std::uint64_t errors = 0;             ///< Operations that ended with another status; not in `latency`.
  std::uint64_t warmup_operations = 0;  ///< Ended well, not measured.
  verbs::CompletionStatus first_error = verbs::CompletionStatus::kSuccess;
  std::uint64_t bytes = 0;  ///< Payload bytes of the measured operations.
  TimePs begin = kNever;    ///< Arrival of the first measured operation.
  TimePs end = kTimeZero;   ///< End of the last measured operation.
  TimePs queued;            ///< Open loop: sum of the times from arrival to start.
  Histogram latency;        ///< From arrival to end, in picoseconds.
  Verdict verdict;          ///< What the program checked while it ran.
};

/// Hands out operations to workers. One per program instance; workers call take(), wait as told, do the
/// operation and call finish().
class Loop {
 public:
  /// One operation.
  struct Ticket {
    std::uint64_t number = 0;  ///< 0, 1, ... in order of arrival, warm-up included.
    TimePs arrived;
    TimePs wait;     ///< The worker sleeps this long before it starts.
    TimePs started;  ///< Set by start().
    bool measured = true;
  };

  /// `arrivals` is only used in open loop. `result` outlives the loop.
  Loop(const LoopConfig& config, RandomStream arrivals, LoopResult& result)
      : config_(config), arrivals_(arrivals), result_(result) {
    WHARF_CHECK(check(config).ok() && config.concurrency > 0 && config.arrivals_per_second > 0);
    mean_interval_ = seconds(1) / static_cast<std::int64_t>(config.arrivals_per_second);
  }

  /// The next operation, or false when there is none. In open loop the arrivals form one
  /// first-come-first-served queue of unlimited length: a worker that becomes free takes the oldest arrival,
  /// or waits for the next one to come. The queue needs no memory, because an arrival time is drawn when a
  /// worker asks for it.
  bool take(TimePs now, Ticket& ticket) {
    if (taken_ == 0) next_arrival_ = now;
    const std::uint64_t number = taken_;
    if (config_.operations != 0 && number >= config_.operations + config_.warmup_operations) return false;
    if (config_.pacing == Pacing::kOpen) {
      if (!drawn_) next_arrival_ += arrivals_.exponential(mean_interval_);
      drawn_ = true;
      ticket.arrived = next_arrival_;
    } else {
      ticket.arrived = number < config_.concurrency ? now : now + config_.think_time;
    }
    // The time is that of the measured operations: a warm-up may take longer than all of it.
    ticket.measured = number >= config_.warmup_operations;
    if (number == config_.warmup_operations) origin_ = number == 0 ? now : ticket.arrived;
    if (config_.duration != kTimeZero && ticket.measured && ticket.arrived - origin_ >= config_.duration)
      return false;
    drawn_ = false;
    ++taken_;
    ticket.number = number;
    ticket.wait = max(ticket.arrived - now, kTimeZero);
    return true;
  }

  /// Called by the worker when it starts the operation, after its wait.
  void start(TimePs now, Ticket& ticket) { ticket.started = max(now, ticket.arrived); }

  /// Counts an operation that ends now and hands it to the runtime's log. `bytes`: payload bytes it moved.
  template <typename C>
  void finish(C& core, std::string_view name, std::uint32_t worker, const Ticket& ticket, std::uint32_t bytes,
              verbs::CompletionStatus status) {
    finish_at(core.now(), core, name, worker, ticket, bytes, status);
  }
  /// The same for an operation that ended at `now`.
  template <typename C>
  void finish_at(TimePs now, C& core, std::string_view name, std::uint32_t worker, const Ticket& ticket,
                 std::uint32_t bytes, verbs::CompletionStatus status) {
    verbs::record_operation(core, {name, ticket.arrived, ticket.started, now, bytes, worker, status});
    if (status != verbs::CompletionStatus::kSuccess) [[unlikely]] {
      if (result_.errors++ == 0) result_.first_error = status;
      return;
    }
    if (!ticket.measured) {
      ++result_.warmup_operations;
      return;
    }
    ++result_.operations;
    result_.bytes += bytes;
    result_.begin = min(result_.begin, ticket.arrived);
    result_.end = max(result_.end, now);
    result_.queued += ticket.started - ticket.arrived;
    result_.latency.record((now - ticket.arrived).ps);
  }

  Verdict& verdict() { return result_.verdict; }

 private:
  const LoopConfig& config_;
  RandomStream arrivals_;
  LoopResult& result_;
  TimePs mean_interval_;
  TimePs origin_;        ///< Of the duration: when the first measured operation came.
  TimePs next_arrival_;  ///< Open loop: the arrival that the next take() hands out, once drawn_.
  bool drawn_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace wharf::workload
