// SPDX-License-Identifier: Apache-2.0
// The two profiles as constants, and one-line ways to run a single operation, for the tests of two hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "sim/two_hosts/two_hosts.h"
#include "verbs/task.h"

namespace wharf::sim::testing {

/// profiles/connectx7-class.toml.
inline HostConfig connectx7_class() {
  HostConfig config;
  config.cache.l1 = {{512, 8}, nanoseconds(1)};
  config.cache.l2 = {{8192, 16}, nanoseconds(5)};
  config.cache.llc = {{32768, 16}, nanoseconds(17)};
  config.memory.rate = gigabits_per_second(2458);
  config.bus.rate = gigabits_per_second(1024);
  config.pcie.rate = gigabits_per_second(504);
  return config;
}

/// profiles/openurma-serial.toml: the same costs, added one after another.
inline HostConfig openurma_serial() {
  HostConfig config = connectx7_class();
  config.time.rounding = StageRounding::kWholeNanoseconds;
  config.cache.llc = {{0, 0}, nanoseconds(17)};
  config.cache.miss_detection = nanoseconds(70);
  config.memory.rate = {};
  config.bus.rate = {};
  config.pcie.rate = {};
  config.pcie.posted_credits = 0;
  config.pcie.posted_writes = PostedWriteRule::kBlocking;
  config.nic.cut_through = false;
  config.nic.charged_bytes = ChargeRule::kPayload;
  config.nic.receive_entries = ReceiveEntryRule::kPrefetched;
  config.nic.payload_fetch = PayloadFetchRule::kWithEntry;
  config.nic.atomic_result = AtomicResultRule::kCompletion;
  config.nic.send_notify_crossing = true;
  return config;
}

inline TwoHostsConfig mechanism(Stack stack) {
  TwoHostsConfig config;
  config.stack = stack;
  config.host = connectx7_class();
  return config;
}

inline TwoHostsConfig accounting(Stack stack) {
  TwoHostsConfig config;
  config.stack = stack;
  config.host = openurma_serial();
  config.link.charged_bytes = ChargeRule::kPayload;
  return config;
}

/// Two hosts with one connected pair of queues, 1 MiB exposed by each, and a local buffer on each.
struct Pair {
  explicit Pair(const TwoHostsConfig& config, std::uint32_t depth = 128) {
    auto made = TwoHosts::create(config);
    if (!made) check_failed(made.error().message.c_str(), std::source_location::current());
    two = std::move(made).value();
    near_segment = two->expose(1, mebibytes(1)).value();
    far_segment = two->expose(0, mebibytes(1)).value();
    const RemotePair pair = two->connect(near_segment, far_segment, depth).value();
    near = pair.near;
    far = pair.far;
    near_buffer = two->host(0).core().allocate(mebibytes(1));
    far_buffer = two->host(1).core().allocate(mebibytes(1));
  }
  /// Runs `program` on host 0 to its end; a program on host 1 may have been spawned before.
  void run(verbs::Task<void> program) {
    two->host(0).core().spawn(std::move(program));
    two->run();
    if (!two->programs_ended()) {
      std::string all = "stalled:";
      for (const std::string& line : two->describe_waiting()) all += "\n  " + line;
      check_failed(all.c_str(), std::source_location::current());
    }
  }
  std::unique_ptr<TwoHosts> two;
  verbs::RemoteSegment near_segment, far_segment;
  SimRemote* near = nullptr;
  SimRemote* far = nullptr;
  std::uint64_t near_buffer = 0;
  std::uint64_t far_buffer = 0;
};

/// What an operation of one packet needs.
struct OneOperation {
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint32_t bytes = 64;
};

inline verbs::Task<void> do_once(Pair& pair, OneOperation operation, verbs::CompletionStatus& status) {
  using verbs::Verb;
  SimRemote& remote = *pair.near;
  const verbs::RemoteAddress target = pair.near_segment.at(4096);
  if (operation.verb == Verb::kLoad) {
    status = (co_await remote.load(target, 8)).status;
  } else if (operation.verb == Verb::kStore) {
    status = co_await remote.store(target, 8, 42);
  } else if (operation.verb == Verb::kRead) {
    status = (co_await remote.read(pair.near_buffer, target, operation.bytes)).status;
  } else if (operation.verb == Verb::kWrite) {
    status = (co_await remote.write(pair.near_buffer, target, operation.bytes)).status;
  } else if (operation.verb == Verb::kSend) {
    status = (co_await remote.send(pair.near_buffer, operation.bytes)).status;
  } else if (operation.verb == Verb::kFetchAdd) {
    status = (co_await remote.fetch_add(target, 1)).status;
  } else {
    status = (co_await remote.compare_swap(target, 0, 1)).status;
  }
}

inline verbs::Task<void> receive_once(Pair& pair, std::uint32_t bytes) {
  (void)co_await pair.far->receive(pair.far_buffer, bytes);
}

/// Latency of one operation on an idle system whose contexts and caches are cold or warm as the configuration
/// has them; every picosecond of it is accounted for.
inline TimePs latency_of(const TwoHostsConfig& config, OneOperation operation,
                         trace::OperationPath* path = nullptr) {
  Pair pair(config);
  if (verbs::consumes_receive_entry(operation.verb)) {
    pair.two->host(1).core().spawn(receive_once(pair, operation.bytes));
    pair.two->run(microseconds(20));  // The receive entry is posted long before.
  }
  verbs::CompletionStatus status = verbs::CompletionStatus::kFlushed;
  pair.run(do_once(pair, operation, status));
  EXPECT_EQ(status, verbs::CompletionStatus::kSuccess);
  const OperationTotals& totals = pair.two->log().totals(operation.verb);
  EXPECT_EQ(totals.count, 1U);
  EXPECT_EQ(totals.path.unattributed, kTimeZero);
  EXPECT_EQ(totals.path.latency, totals.latency_max);
  TimePs sum;
  for (const TimePs stage : totals.path.critical) sum += stage;
  EXPECT_EQ(sum, totals.path.latency);
  if (path != nullptr) *path = totals.path;
  return totals.latency_max;
}

}  // namespace wharf::sim::testing
