// SPDX-License-Identifier: Apache-2.0
// What one side of a perftest run does with its queue pair between the exchanges, as programs on a live host,
// and what it can prove about the bytes that come.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/histogram.h"
#include "base/time.h"
#include "engine/roce/roce_engine.h"
#include "live/perftest/test_kind.h"
#include "live/udp/live_host.h"
#include "live/udp/live_remote.h"
#include "live/udp/roce_live.h"
#include "verbs/task.h"

namespace wharf::live {

struct TrafficConfig {
  TestKind kind;
  bool server = false;
  std::uint32_t bytes = 2;
  std::uint64_t iterations = 1000;
  std::uint32_t depth = 128;  ///< Requests in flight (bandwidth), and receive entries.
};

struct TrafficResult {
  Histogram latency;             ///< Picoseconds; ping-pong: half of each round trip, as perftest counts.
  std::uint64_t operations = 0;  ///< Requests of this side that ended well.
  std::uint64_t arrivals = 0;    ///< Messages of the peer.
  TimePs begin = kNever;
  TimePs end = kTimeZero;
  std::uint64_t checks = 0;
  std::uint64_t violations = 0;
  std::string first_violation;
};

/// What messages and memory to be read consist of, but for the last byte of some. perftest's are as they are.
constexpr std::byte payload_byte(std::size_t at) { return static_cast<std::byte>(at * 7 + 1); }

/// One run. Lives longer than the host's programs run.
class Traffic {
 public:
  /// `target` is where the peer's messages land: the first `config.bytes`, or in turn all of it. `source` is
  /// where this side's come from.
  Traffic(const TrafficConfig& config, LiveHost<roce::RoceEngine>& host, LiveRemote<roce::RoceEngine>& remote,
          std::span<std::byte> target, std::span<std::byte> source);
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  /// Receive entries, before the peer may send.
  void post_receives();
  /// Starts this side's part; a side that only answers has none.
  void start();
  /// Goes on when what a program waits for in memory is there. True if it did.
  bool look();
  /// Every program of this side has ended.
  bool finished() const { return host_.core().finished(); }
  /// The peer has had all that it waits for: nothing is missing but acknowledgements, which a peer that is
  /// gone will not repeat.
  bool only_acknowledgements_missing() const;
  const TrafficResult& result() const { return result_; }
  /// Judges what a side that only answers can know at the end.
  void judge();

 private:
  using Host = LiveHost<roce::RoceEngine>;

  /// Suspends a program until look() finds that so many messages have come.
  class Arrived {
   public:
    Arrived(Traffic& traffic, std::uint64_t count) : traffic_(traffic), count_(count) {}
    bool await_ready() const { return traffic_.has_come(count_); }
    void await_suspend(std::coroutine_handle<> handle) {
      traffic_.waiter_ = handle;
      traffic_.awaited_ = count_;
    }
    void await_resume() const {}

   private:
    Traffic& traffic_;
    std::uint64_t count_;
  };

  verbs::Task<void> ping_pong();
  verbs::Task<void> one_by_one();
  verbs::Task<void> stream();
  verbs::Task<void> receiver();
  LiveRemote<roce::RoceEngine>::Operation request();
  bool take(const verbs::Completion& completion);
  bool has_come(std::uint64_t count);
  void expect(bool holds, const std::string& otherwise);
  std::uint8_t last_byte() const;

  TrafficConfig config_;
  Host& host_;
  LiveRemote<roce::RoceEngine>& remote_;
  std::span<std::byte> target_;
  std::span<std::byte> source_;
  TrafficResult result_;
  std::uint64_t started_ = 0;
  std::uint64_t seen_ = 0;  ///< Messages of the peer that a ping-pong has waited for.
  std::uint64_t receives_posted_ = 0;
  std::uint64_t operand_ = 1;
  std::uint64_t word_ = 0;  ///< Atomics: what the next one must find.
  std::coroutine_handle<> waiter_;
  std::uint64_t awaited_ = 0;
};

}  // namespace wharf::live
