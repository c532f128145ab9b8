// SPDX-License-Identifier: Apache-2.0
// What a chaos run of two engines is made of, as its seed draws it, and which seeds a test runs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "engine/queues.h"
#include "tests/support/engine_pair.h"
#include "verbs/verb.h"

namespace wharf::test {

/// What one run is made of; drawn from the seed by draw() and by each protocol.
struct ChaosOptions {
  std::uint64_t seed = 1;
  std::uint32_t queues = 2;       ///< Connected queues between the two hosts.
  std::uint32_t operations = 60;  ///< Per host and queue.
  std::uint32_t concurrency = 8;  ///< Outstanding per host and queue.
  std::uint32_t longest = 3000;   ///< Bytes of a message.
  bool may_fail = false;          ///< Retries are limited: an operation may end in an error.
  bool ordered_sends = true;      ///< Messages arrive in posting order.
  bool doorbells = false;         ///< Work requests are announced and fetched.
  bool order_tags = false;        ///< Requests carry drawn order tags, and some complete out of order.
  /// A receiver keeps packets that arrived behind a gap, for ever when its peer has given up.
  bool keeps_behind_gaps = false;
  engine::QueueConfig queue_config;
  EnginePairOptions pair;
  std::vector<verbs::Verb> verbs;  ///< To draw from.
  std::string text;                ///< What was drawn, for the message of a failure.
};

/// The part of the options that every protocol shares.
inline ChaosOptions draw_chaos(std::uint64_t seed, bool may_fail) {
  RandomStream random(seed, "chaos.options");
  ChaosOptions options;
  options.seed = seed;
  options.may_fail = may_fail;
  options.queues = 1 + static_cast<std::uint32_t>(random.below(3));
  options.concurrency = 1 + static_cast<std::uint32_t>(random.below(16));
  options.longest = std::vector<std::uint32_t>{64, 1000, 6000, 20000}[random.below(4)];
  options.doorbells = random.below(2) == 1;
  options.queue_config.receive_ring = random.below(2) == 1 ? 0x1000 : 0;
  options.pair.seed = seed;
  options.pair.memory_bytes = 4U << 20U;
  options.pair.wire.loss = Probability::from(0.05);
  options.pair.wire.duplicate = Probability::from(0.01 * static_cast<double>(random.below(6)));
  options.pair.wire.reorder = Probability::from(0.02 * static_cast<double>(random.below(6)));
  options.pair.wire.corrupt = Probability::from(0.01 * static_cast<double>(random.below(3)));
  options.pair.wire.jitter = nanoseconds(static_cast<std::int64_t>(random.below(3)) * 100);
  if (random.below(2) == 1) {
    options.pair.access_shortest = nanoseconds(20);
    options.pair.access_longest = nanoseconds(20 + static_cast<std::int64_t>(random.below(1500)));
  }
  if (random.below(2) == 1) options.pair.packet_interval = nanoseconds(50);
  options.text = "queues " + std::to_string(options.queues) + ", concurrency " +
                 std::to_string(options.concurrency) + ", longest " + std::to_string(options.longest) +
                 ", doorbells " + std::to_string(options.doorbells) + ", receive fetch " +
                 std::to_string(options.queue_config.receive_ring != 0) + ", access up to " +
                 std::to_string(options.pair.access_longest.ps / 1000) + " ns";
  return options;
}

/// Runs `run(seed)` for the seeds of this run: WHARF_SEED alone, or 1 .. WHARF_SEEDS (default `slice`).
inline void for_each_seed(std::uint64_t slice, const std::function<bool(std::uint64_t)>& run) {
  if (const char* one = std::getenv("WHARF_SEED")) {
    run(std::strtoull(one, nullptr, 10));
    return;
  }
  if (const char* count = std::getenv("WHARF_SEEDS")) slice = std::strtoull(count, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= slice; ++seed) {
    if (!run(seed)) return;
  }
}

}  // namespace wharf::test
