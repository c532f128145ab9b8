// SPDX-License-Identifier: Apache-2.0
// The UB engine under drawn faults, with Go-Back-N and selective recovery, and its load/store path.
#include <array>
#include <deque>
#include <optional>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "tests/chaos/chaos_world.h"

namespace wharf::test {
namespace {

using verbs::Verb;

constexpr std::uint64_t kContextRegion = std::uint64_t{1} << 50U;

ub::UbConfig draw_ub(std::uint64_t seed, ub::LossRecovery recovery, ChaosOptions& options) {
  RandomStream random(seed, "chaos.ub");
  ub::UbConfig config;
  config.recovery = recovery;
  config.fast_retransmit = random.below(2) == 1;
  config.mtu = std::vector<std::uint32_t>{256, 1024, 4096}[random.below(3)];
  config.send_window = 1U << random.below(9);
  config.retransmission.base = nanoseconds(25'600);
  config.retransmission.cap = microseconds(200);
  config.retransmission.attempts_max =
      options.may_fail ? 1 + static_cast<std::uint32_t>(random.below(3)) : reliability::kUnlimitedAttempts;
  config.min_rnr_timer = static_cast<std::uint8_t>(1 + random.below(3));
  config.acknowledge_every = 1 + static_cast<std::uint32_t>(random.below(3)) * 4;
  config.context_region = kContextRegion;
  config.first_psn = random.next_u32() & wire::kPsnMask;
  // A host has at most five records: one of each jetty, its channel and its segment.
  if (random.below(2) == 0) config.context_cache_entries = 1 + static_cast<std::uint32_t>(random.below(5));
  if (options.may_fail) config.err_timeout = static_cast<std::uint8_t>(7 + random.below(6));
  options.ordered_sends = false;
  options.keeps_behind_gaps = recovery == ub::LossRecovery::kSelective;
  options.verbs = {Verb::kRead,        Verb::kWrite,      Verb::kWriteImm,    Verb::kWriteNotify,
                   Verb::kSend,        Verb::kSendImm,    Verb::kCompareSwap, Verb::kSwap,
                   Verb::kAtomicStore, Verb::kAtomicLoad, Verb::kFetchAdd,    Verb::kFetchSub,
                   Verb::kFetchAnd,    Verb::kFetchOr,    Verb::kFetchXor};
  options.text += ", mtu " + std::to_string(config.mtu) + ", window " + std::to_string(config.send_window) +
                  ", fast " + std::to_string(config.fast_retransmit) + ", attempts " +
                  std::to_string(config.retransmission.attempts_max) + ", ack every " +
                  std::to_string(config.acknowledge_every) + ", context cache " +
                  std::to_string(config.context_cache_entries) + ", err_timeout " +
                  std::to_string(config.err_timeout);
  return config;
}

bool run_seed(std::uint64_t seed, bool may_fail, ub::LossRecovery recovery) {
  ChaosOptions options = draw_chaos(seed, may_fail);
  const ub::UbConfig config = draw_ub(seed, recovery, options);
  const std::string text = options.text;
  std::deque<Arena> arenas;
  ChaosWorld<ub::UbEngine> world(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
    ub::UbConfig own = config;
    own.host = {host};
    arenas.emplace_back();
    return std::make_unique<ub::UbEngine>(std::move(*ub::UbEngine::create(own, pool, arenas.back())));
  });
  const std::string failure = world.run();
  EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed << " (" << text << ")";
  return failure.empty();
}

TEST(UbChaos, EverythingCompletesOnceWithGoBackN) {
  for_each_seed(150, [&](std::uint64_t seed) { return run_seed(seed, false, ub::LossRecovery::kGoBackN); });
}

TEST(UbChaos, EverythingCompletesOnceWithSelectiveRecovery) {
  for_each_seed(150, [&](std::uint64_t seed) { return run_seed(seed, false, ub::LossRecovery::kSelective); });
}

TEST(UbChaos, LimitedRetriesEndInSuccessOrTheSpecifiedError) {
  for_each_seed(150, [&](std::uint64_t seed) {
    return run_seed(seed, true, seed % 2 == 0 ? ub::LossRecovery::kSelective : ub::LossRecovery::kGoBackN);
  });
}

// --- Loads and stores ---

/// One host loads and stores lines of the other's memory, each line with one operation at a time. A line must
/// always hold what the newest acknowledged store wrote: a late duplicate of an older store must not win.
class LoadStoreWorld {
 public:
  LoadStoreWorld(std::uint64_t seed, bool may_fail) : random_(seed, "chaos.load_store"), may_fail_(may_fail) {
    EnginePairOptions options = draw_chaos(seed, may_fail).pair;
    ub::UbConfig config;
    config.load_store_reissue = {.base = microseconds(4), .cap = microseconds(100)};
    config.load_store_reissue.attempts_max = may_fail ? 2 : reliability::kUnlimitedAttempts;
    config.load_store_slots = 1U << random_.below(7);
    pair_.emplace(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
      config.host = {host};
      arenas_.emplace_back();
      return std::make_unique<ub::UbEngine>(std::move(*ub::UbEngine::create(config, pool, arenas_.back())));
    });
    engine::QueueId queue[2];
    for (std::uint32_t host = 0; host < 2; ++host) {
      queue[host] = pair_->engine(host).create_queue(pair_->now(), {}).value();
      token_ =
          pair_->engine(host)
              .register_segment(pair_->now(), {.base = options.memory_base, .length = options.memory_bytes})
              .value();
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = pair_->engine(1 - host).export_queue(queue[1 - host]).value();
      peer_[host] = pair_->engine(host).connect(pair_->now(), queue[host], blob).value();
    }
    base_ = options.memory_base;
    pair_->on_load_store = [this](std::uint32_t, const verbs::LoadStoreResult& result) { take(result); };
  }

  std::string run() {
    issue_more();
    const RunEnd end =
        pair_->run_until([this] { return !failure_.empty() || done_ == kOperations; }, seconds(100));
    if (failure_.empty() && end != RunEnd::kDone) failure_ = "stalled:\n" + pair_->waiting_report();
    pair_->run_until_idle(seconds(200));
    for (std::size_t at = 0; failure_.empty() && at < lines_.size(); ++at) {
      if (!lines_[at].doubtful && !holds(at)) failure_ = "an acknowledged store was overwritten";
    }
    if (failure_.empty() && pair_->pool().in_use() != 0) failure_ = "payload buffers leaked";
    return failure_;
  }

 private:
  static constexpr std::uint32_t kOperations = 400;
  static constexpr std::size_t kLines = 24;

  struct Line {
    std::uint32_t pattern = 0;  ///< 0: zero bytes.
    std::uint32_t next_pattern = 0;
    bool busy = false;
    bool store = false;
    bool doubtful = false;
  };

  std::uint64_t address(std::size_t line) const { return base_ + 64 * line; }
  wire::Payload content(std::size_t line) const {
    static const std::array<std::byte, 64> kZero{};
    if (lines_[line].pattern == 0) return wire::bytes_payload(kZero);
    return wire::pattern_payload(lines_[line].pattern, 0, 64);
  }
  bool holds(std::size_t line) {
    return wire::payload_equal(content(line), wire::bytes_payload(pair_->memory(1).at(address(line), 64)));
  }

  void issue_more() {
    for (int attempt = 0; attempt < 16 && issued_ < kOperations; ++attempt) {
      const std::size_t at = random_.below(kLines);
      Line& line = lines_[at];
      if (line.busy || line.doubtful) continue;
      verbs::LoadStore request;
      request.tag = static_cast<std::uint32_t>(at);
      line.store = random_.below(2) == 0;
      request.verb = line.store ? Verb::kStore : Verb::kLoad;
      request.peer = peer_[0];
      request.remote = {address(at), token_};
      if (line.store) {
        line.next_pattern = ++last_pattern_;
        request.data = wire::pattern_payload(line.next_pattern, 0, 64);
      }
      line.busy = true;
      if (pair_->issue(0, request) != engine::PostStatus::kOk) {
        line.busy = false;
        return;
      }
      ++issued_;
    }
  }

  void take(const verbs::LoadStoreResult& result) {
    Line& line = lines_[result.tag];
    if (!line.busy) {
      failure_ = "a load or store ended twice";
      return;
    }
    line.busy = false;
    ++done_;
    if (result.status != verbs::CompletionStatus::kSuccess) {
      if (!may_fail_) failure_ = "a load or store failed";
      if (line.store) line.doubtful = true;
    } else if (line.store) {
      line.pattern = line.next_pattern;
      if (!holds(result.tag)) failure_ = "an acknowledged store is not in memory";
    } else if (!wire::payload_equal(content(result.tag), result.data)) {
      failure_ = "a load returned old or wrong bytes";
    }
    issue_more();
    if (done_ == issued_ && issued_ < kOperations) done_ = issued_ = kOperations;  // Every line is in doubt.
  }

  RandomStream random_;
  bool may_fail_;
  std::deque<Arena> arenas_;
  std::optional<EnginePair<ub::UbEngine>> pair_;
  verbs::SegmentToken token_;
  verbs::PeerId peer_[2] = {};
  std::uint64_t base_ = 0;
  std::array<Line, kLines> lines_{};
  std::uint32_t issued_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t last_pattern_ = 0;
  std::string failure_;
};

TEST(UbChaos, LoadsAndStoresNeverGoBackInTime) {
  for (const bool may_fail : {false, true}) {
    for_each_seed(100, [&](std::uint64_t seed) {
      const std::string failure = LoadStoreWorld(seed, may_fail).run();
      EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed << ", limited attempts " << may_fail;
      return failure.empty();
    });
  }
}

}  // namespace
}  // namespace wharf::test
