// SPDX-License-Identifier: Apache-2.0
// The RoCE engine under drawn faults: nothing is lost, doubled or wrong.
#include "engine/roce/roce_engine.h"
#include "tests/chaos/chaos_world.h"
#include "tests/support/event_log.h"
#include "tests/support/wire_bytes.h"

namespace wharf::test {
namespace {

roce::RoceConfig draw_roce(std::uint64_t seed, ChaosOptions& options) {
  RandomStream random(seed, "chaos.roce");
  roce::RoceConfig config;
  config.seed = seed;
  config.path_mtu = std::vector<std::uint32_t>{256, 1024, 4096}[random.below(3)];
  config.window_packets = std::vector<std::uint32_t>{1, 8, 128}[random.below(3)];
  config.ack_timeout = static_cast<std::uint8_t>(2 + random.below(3));  // 16 to 66 us.
  config.backoff_limit = static_cast<std::uint8_t>(random.below(3));
  config.min_rnr_timer = static_cast<std::uint8_t>(1 + random.below(3));  // 10 to 30 us.
  config.max_read_atomic = static_cast<std::uint8_t>(1 + random.below(16));
  config.acknowledge_every_request = random.below(2) == 0;
  config.advertise_credits = random.below(3) == 0;
  config.receive_prefetch = static_cast<std::uint8_t>(random.below(2) * 4);
  config.unlimited_retries = !options.may_fail;
  config.retry_count = options.may_fail ? static_cast<std::uint8_t>(random.below(4)) : 7;
  config.queue_cache_entries = static_cast<std::uint32_t>(random.below(3));
  config.key_cache_entries = config.queue_cache_entries;
  config.transmit_ahead = 1U << random.below(6);
  if (random.below(2) == 1) config.recovery = roce::LossRecovery::kSelective;
  options.keeps_behind_gaps = config.recovery == roce::LossRecovery::kSelective;
  const bool bytes = random.below(2) == 1;
  if (bytes) options.pair.wire.transform = through_bytes;
  options.verbs = {verbs::Verb::kRead,    verbs::Verb::kWrite,   verbs::Verb::kWriteImm,
                   verbs::Verb::kSend,    verbs::Verb::kSendImm, verbs::Verb::kCompareSwap,
                   verbs::Verb::kFetchAdd};
  options.text +=
      ", mtu " + std::to_string(config.path_mtu) + ", window " + std::to_string(config.window_packets) +
      ", timeout code " + std::to_string(config.ack_timeout) + ", reads " +
      std::to_string(config.max_read_atomic) + ", retries " +
      (config.unlimited_retries ? "unlimited" : std::to_string(config.retry_count)) + ", credits " +
      std::to_string(config.advertise_credits) + ", " + roce::name(config.recovery) + ", context cache " +
      std::to_string(config.queue_cache_entries) + ", wire bytes " + std::to_string(bytes);
  return config;
}

bool run_seed(std::uint64_t seed, bool may_fail, std::uint64_t& errors) {
  ChaosOptions options = draw_chaos(seed, may_fail);
  const roce::RoceConfig config = draw_roce(seed, options);
  const std::string text = options.text;
  LastEvents last_events;
  Arena arena;
  ChaosWorld<roce::RoceEngine> world(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
    roce::RoceConfig own = config;
    own.tracer = &last_events.tracer;
    own.host = {host};
    return std::make_unique<roce::RoceEngine>(roce::RoceEngine::create(own, pool, arena).value());
  });
  const std::string failure = world.run();
  errors += world.errors();
  EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed << " (" << text << ")\n" << last_events.text();
  return failure.empty();
}

TEST(RoceChaos, EverythingCompletesOnceWithTheRightBytes) {
  std::uint64_t errors = 0;
  for_each_seed(200, [&](std::uint64_t seed) { return run_seed(seed, false, errors); });
}

TEST(RoceChaos, LimitedRetriesEndInSuccessOrTheSpecifiedError) {
  std::uint64_t errors = 0;
  for_each_seed(200, [&](std::uint64_t seed) { return run_seed(seed, true, errors); });
  const bool one_seed = std::getenv("WHARF_SEED") != nullptr;
  EXPECT_TRUE(one_seed || errors > 0);
}

}  // namespace
}  // namespace wharf::test
