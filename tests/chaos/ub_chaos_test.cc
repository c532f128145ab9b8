// SPDX-License-Identifier: Apache-2.0
// The UB engine under drawn faults, with Go-Back-N and selective recovery, and its load/store path.
#include <array>
#include <cstring>
#include <deque>
#include <optional>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "tests/chaos/chaos_world.h"
#include "tests/support/event_log.h"
#include "tests/support/wire_bytes.h"

namespace wharf::test {
namespace {

using verbs::Verb;

constexpr std::uint64_t kContextRegion = std::uint64_t{1} << 50U;

/// UB has no check of its own: what the frame check would drop is dropped here.
bool through_bytes_undamaged(wire::Packet& packet, bool damaged, RandomStream& random,
                             wire::PayloadPool& pool) {
  return !damaged && through_bytes(packet, false, random, pool);
}

ub::UbConfig draw_ub(std::uint64_t seed, ub::LossRecovery recovery, ChaosOptions& options) {
  RandomStream random(seed, "chaos.ub");
  ub::UbConfig config;
  config.recovery = recovery;
  config.fast_retransmit = random.below(2) == 1;
  config.mtu = std::vector<std::uint32_t>{256, 1024, 4096}[random.below(3)];
  config.encapsulation =
      std::vector{wire::UbEncapsulation::kUdp, wire::UbEncapsulation::kIpOnLink,
                  wire::UbEncapsulation::kCna24OnLink, wire::UbEncapsulation::kRawEthernet}[random.below(4)];
  const bool openurma = config.encapsulation == wire::UbEncapsulation::kRawEthernet;
  if (openurma) config.mtu = 256;
  const bool bytes = random.below(2) == 1;
  if (bytes) options.pair.wire.transform = through_bytes_undamaged;
  config.inbound_messages = std::vector<std::uint32_t>{1, 2, 8, 1024}[random.below(4)];
  config.parked_packets = std::vector<std::uint32_t>{1, 4, 2048}[random.below(3)];
  options.order_tags = random.below(2) == 1;
  config.send_window = 1U << random.below(9);
  config.retransmission.base = nanoseconds(25'600);
  config.retransmission.cap = microseconds(200);
  config.retransmission.attempts_max =
      options.may_fail ? 1 + static_cast<std::uint32_t>(random.below(3)) : reliability::kUnlimitedAttempts;
  config.min_rnr_timer = static_cast<std::uint8_t>(1 + random.below(3));
  config.acknowledge_every = 1 + static_cast<std::uint32_t>(random.below(3)) * 4;
  config.context_region = kContextRegion;
  config.first_psn = random.next_u32() & wire::kPsnMask;
  // A host has few records: one of each jetty, its channel, its segment and those that are invalidated.
  if (random.below(2) == 0) config.context_cache_entries = 1 + static_cast<std::uint32_t>(random.below(5));
  if (options.may_fail) config.err_timeout = static_cast<std::uint8_t>(7 + random.below(6));
  options.ordered_sends = false;
  options.keeps_behind_gaps = recovery == ub::LossRecovery::kSelective;
  options.verbs = {Verb::kRead,        Verb::kWrite,      Verb::kWriteImm,       Verb::kWriteNotify,
                   Verb::kSend,        Verb::kSendImm,    Verb::kSendInvalidate, Verb::kSwap,
                   Verb::kAtomicStore, Verb::kAtomicLoad, Verb::kFetchAdd,       Verb::kFetchSub,
                   Verb::kFetchAnd,    Verb::kFetchOr,    Verb::kFetchXor};
  if (!openurma) options.verbs.push_back(Verb::kCompareSwap);  // P2 has no room for its operands.
  options.text += ", encapsulation " + std::to_string(static_cast<int>(config.encapsulation)) +
                  ", wire bytes " + std::to_string(bytes) + ", inbound messages " +
                  std::to_string(config.inbound_messages) + ", parked packets " +
                  std::to_string(config.parked_packets) + ", order tags " +
                  std::to_string(options.order_tags);
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
  LastEvents last_events;
  std::deque<Arena> arenas;
  ChaosWorld<ub::UbEngine> world(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
    ub::UbConfig own = config;
    own.tracer = &last_events.tracer;
    own.host = {host};
    arenas.emplace_back();
    return std::make_unique<ub::UbEngine>(std::move(*ub::UbEngine::create(own, pool, arenas.back())));
  });
  const std::string failure = world.run();
  EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed << " (" << text << ")\n" << last_events.text();
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
  LoadStoreWorld(std::uint64_t seed, bool may_fail, std::uint32_t operations)
      : random_(seed, "chaos.load_store"), may_fail_(may_fail), operations_(operations) {
    EnginePairOptions options = draw_chaos(seed, may_fail).pair;
    ub::UbConfig config;
    config.load_store_reissue = {.base = microseconds(4), .cap = microseconds(100)};
    config.load_store_reissue.attempts_max = may_fail ? 2 : reliability::kUnlimitedAttempts;
    config.load_store_slots = 1U << random_.below(7);
    config.load_store_services = 1U << random_.below(8);
    if (random_.below(2) == 1) options.wire.transform = through_bytes_undamaged;
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
        pair_->run_until([this] { return !failure_.empty() || done_ == operations_; }, seconds(100));
    if (failure_.empty() && end != RunEnd::kDone) failure_ = "stalled:\n" + pair_->waiting_report();
    pair_->run_until_idle(seconds(200));
    for (std::size_t at = 0; failure_.empty() && at < lines_.size(); ++at) {
      if (!lines_[at].doubtful && !holds(at)) failure_ = "an acknowledged store was overwritten";
    }
    if (failure_.empty() && pair_->pool().in_use() != 0) failure_ = "payload buffers leaked";
    return failure_;
  }

 private:
  static constexpr std::size_t kLines = 24;

  struct Line {
    std::array<std::byte, 64> bytes{};
    std::array<std::byte, 64> next_bytes{};
    bool busy = false;
    bool store = false;
    bool doubtful = false;
  };

  std::uint64_t address(std::size_t line) const { return base_ + 64 * line; }
  wire::Payload content(std::size_t line) const { return wire::bytes_payload(lines_[line].bytes); }
  bool holds(std::size_t line) {
    return wire::payload_equal(content(line), wire::bytes_payload(pair_->memory(1).at(address(line), 64)));
  }

  void issue_more() {
    for (int attempt = 0; attempt < 16 && issued_ < operations_; ++attempt) {
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
        request.data = wire::pattern_payload(++last_pattern_, 0, 64);
        if (random_.below(3) == 0) request.byte_mask = random_.next_u64();
        line.next_bytes = line.bytes;
        for (std::uint32_t at_byte = 0; at_byte < 64; ++at_byte) {
          if ((request.byte_mask >> at_byte & 1U) == 0) continue;
          line.next_bytes[at_byte] = wire::pattern_byte(last_pattern_, at_byte);
        }
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
      line.bytes = line.next_bytes;
      if (!holds(result.tag)) failure_ = "an acknowledged store is not in memory";
    } else if (!wire::payload_equal(content(result.tag), result.data)) {
      failure_ = "a load returned old or wrong bytes";
    }
    issue_more();
    if (done_ == issued_ && issued_ < operations_) done_ = issued_ = operations_;  // Every line is in doubt.
  }

  RandomStream random_;
  bool may_fail_;
  std::uint32_t operations_;
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
      const std::string failure = LoadStoreWorld(seed, may_fail, 1000).run();
      EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed << ", limited attempts " << may_fail;
      return failure.empty();
    });
  }
}

// TASSNs come round.
TEST(UbChaos, LoadsAndStoresNeverGoBackInTimeThroughAllTheirNumbers) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::string failure = LoadStoreWorld(seed, false, 70'000).run();
    ASSERT_EQ(failure, "") << "seed " << seed;
  }
}

// --- Hosts that lose one another and connect again ---

/// Four hosts write to, read from and count at one another while links go dark, channels fail, hosts connect
/// again and segments come and go. Every request ends once; what ended well is in memory.
class ReconnectWorld {
 public:
  explicit ReconnectWorld(std::uint64_t seed) : random_(seed, "chaos.reconnect") {
    EnginePairOptions options = draw_chaos(seed, true).pair;
    options.hosts = kHosts;
    ub::UbConfig config;
    config.mtu = 256;
    config.first_psn = random_.next_u32() & wire::kPsnMask;
    config.recovery = random_.below(2) == 0 ? ub::LossRecovery::kGoBackN : ub::LossRecovery::kSelective;
    config.retransmission = {.base = microseconds(20),
                             .attempts_max = 3 + static_cast<std::uint32_t>(random_.below(3))};
    config.err_timeout = 13;
    config.inbound_messages = 1U << random_.below(6);
    config.parked_packets = 16U << random_.below(6);
    config.context_region = kContextRegion;
    if (random_.below(2) == 0)
      config.context_cache_entries = 1 + static_cast<std::uint32_t>(random_.below(6));
    if (random_.below(2) == 0) options.wire.transform = through_bytes_undamaged;
    options.wire.drop_if = [this](const wire::Packet& packet) {
      return dark_[packet.source.number][packet.destination.number];
    };
    pair_.emplace(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
      config.host = {host};
      arenas_.emplace_back();
      return std::make_unique<ub::UbEngine>(std::move(*ub::UbEngine::create(config, pool, arenas_.back())));
    });
    base_ = options.memory_base;
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      queue_[host] = pair_->engine(host).create_queue(pair_->now(), {.send_depth = 64}).value();
      segment_[host] = add_segment(host);
    }
    for (std::uint32_t a = 0; a < kHosts; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) connect(a, b);
    }
    pair_->on_completion = [this](std::uint32_t host, const verbs::Completion& completion) {
      take(host, completion);
    };
  }

  std::string run() {
    for (int round = 0; round < 60 && failure_.empty(); ++round) {
      const auto a = static_cast<std::uint32_t>(random_.below(kHosts));
      const auto b = (a + 1 + static_cast<std::uint32_t>(random_.below(kHosts - 1))) % kHosts;
      switch (random_.below(6)) {
        case 0:
          dark_[a][b] = true;
          if (random_.below(2) == 0) dark_[b][a] = true;
          break;
        case 1:
        case 2:
          dark_[a][b] = dark_[b][a] = false;
          connect(a, b);
          break;
        case 3:
          if (!pair_->engine(a).deregister_segment(pair_->now(), segment_[a]).ok())
            failure_ = "a segment is gone";
          segment_[a] = add_segment(a);
          pair_->drain(a);
          break;
        default:
          break;
      }
      for (int i = 0; i < 12; ++i) post();
      pair_->run_to(pair_->now() + nanoseconds(static_cast<std::int64_t>(random_.below(60'000))));
    }
    for (auto& row : dark_) row.fill(false);
    if (pair_->run_until_idle(seconds(100)) != RunEnd::kDone) failure_ = "never comes to rest";
    // Whatever happened, both ends connect again and everything works.
    for (std::uint32_t a = 0; a < kHosts; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) connect(a, b);
    }
    pair_->wire().options().loss = {};
    pair_->wire().options().corrupt = {};
    pair_->run_until_idle(seconds(200));
    must_succeed_ = true;
    for (int i = 0; i < 60; ++i) post();
    if (pair_->run_until_idle(seconds(300)) != RunEnd::kDone) failure_ = "never comes to rest at the end";
    if (!failure_.empty()) return failure_;
    if (!open_.empty())
      return std::to_string(open_.size()) + " requests never ended:\n" + pair_->waiting_report();
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      const std::uint64_t counted = pair_->memory(host).load64(base_);
      if (counted < sure_[host] || counted > sure_[host] + doubtful_[host]) return "a counter is wrong";
    }
    if (wins_ == 0) return "nothing ever succeeded";
    for (std::uint32_t host = 0; host < kHosts; ++host) pair_->host(host).engine.reset();
    if (pair_->pool().in_use() != 0) return "payload buffers leaked";
    return "";
  }
  std::uint64_t errors() const { return errors_; }

 private:
  static constexpr std::uint32_t kHosts = 4;
  static constexpr std::uint32_t kCellBytes = 2048;
  static constexpr std::uint32_t kCells = 400;

  struct Operation {
    std::uint32_t host = 0;
    std::uint32_t target = 0;
    Verb verb = Verb::kWrite;
    std::uint32_t cell = 0;
    std::uint32_t length = 0;
    std::uint32_t pattern = 0;
  };

  std::uint64_t cell(std::uint32_t index) const { return base_ + 64 + std::uint64_t{index} * kCellBytes; }
  verbs::SegmentToken add_segment(std::uint32_t host) {
    return pair_->engine(host)
        .register_segment(pair_->now(),
                          {.base = base_, .length = 1U << 20U, .token_value = random_.next_u32()})
        .value();
  }
  void connect(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t ends[2] = {a, b};
    engine::ExchangeBlob blob[2];
    for (int end = 0; end < 2; ++end)
      blob[end] = pair_->engine(ends[end]).export_queue(queue_[ends[end]]).value();
    const int first = static_cast<int>(random_.below(2));
    for (const int end : {first, 1 - first}) {
      peer_[ends[end]][ends[1 - end]] =
          pair_->engine(ends[end]).connect(pair_->now(), queue_[ends[end]], blob[1 - end]).value();
      pair_->drain(ends[end]);
    }
  }

  void post() {
    Operation made;
    made.host = static_cast<std::uint32_t>(random_.below(kHosts));
    made.target = (made.host + 1 + static_cast<std::uint32_t>(random_.below(kHosts - 1))) % kHosts;
    made.verb = std::vector{Verb::kWrite, Verb::kRead, Verb::kFetchAdd}[random_.below(3)];
    made.cell = next_cell_++ % kCells;
    if (busy_[made.cell]) return;
    made.length = 1 + static_cast<std::uint32_t>(random_.below(kCellBytes));
    made.pattern = ++last_id_;
    verbs::WorkRequest request;
    request.id = last_id_;
    request.verb = made.verb;
    request.peer = peer_[made.host][made.target];
    request.order = static_cast<verbs::OrderTag>(random_.below(3));
    request.remote = {cell(made.cell), segment_[made.target]};
    if (made.verb == Verb::kFetchAdd) {
      request.remote.address = base_;
      request.width = 8;
      request.operand[0] = 1;
    } else {
      request.length = made.length;
      request.local_count = 1;
      request.local[0] = {cell(made.cell), made.length};
      const std::uint32_t source = made.verb == Verb::kWrite ? made.host : made.target;
      wire::fill(wire::pattern_payload(made.pattern, 0, made.length),
                 pair_->memory(source).at(cell(made.cell), made.length));
    }
    open_[request.id] = made;
    busy_[made.cell] = true;
    if (pair_->post(made.host, queue_[made.host], request) == engine::PostStatus::kOk) return;
    open_.erase(request.id);
    busy_[made.cell] = false;
  }

  void take(std::uint32_t host, const verbs::Completion& completion) {
    const auto found = open_.find(completion.id);
    if (found == open_.end() || found->second.host != host) {
      failure_ = "a request ended twice, or nobody posted it";
      return;
    }
    const Operation operation = found->second;
    open_.erase(found);
    if (!completion.ok()) {
      ++errors_;
      if (must_succeed_)
        failure_ = std::string("after all was mended: ") + std::string(verbs::name(completion.status));
      if (operation.verb == Verb::kFetchAdd) {
        ++doubtful_[operation.target];
        busy_[operation.cell] = false;
      }
      return;  // Its cell is in doubt and not used again: copies may still be placed.
    }
    busy_[operation.cell] = false;
    ++wins_;
    if (operation.verb == Verb::kFetchAdd) {
      ++sure_[operation.target];
      return;
    }
    const std::uint32_t placed = operation.verb == Verb::kWrite ? operation.target : operation.host;
    if (!wire::payload_equal(
            wire::pattern_payload(operation.pattern, 0, operation.length),
            wire::bytes_payload(pair_->memory(placed).at(cell(operation.cell), operation.length)))) {
      failure_ = std::string(verbs::name(operation.verb)) + " ended well with wrong bytes";
    }
  }

  RandomStream random_;
  std::deque<Arena> arenas_;
  std::optional<EnginePair<ub::UbEngine>> pair_;
  std::uint64_t base_ = 0;
  engine::QueueId queue_[kHosts] = {};
  verbs::PeerId peer_[kHosts][kHosts] = {};
  verbs::SegmentToken segment_[kHosts];
  std::array<std::array<bool, kHosts>, kHosts> dark_{};
  std::array<bool, kCells> busy_{};
  std::map<std::uint64_t, Operation> open_;
  std::uint64_t sure_[kHosts] = {};
  std::uint64_t doubtful_[kHosts] = {};
  std::uint32_t next_cell_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t wins_ = 0;
  bool must_succeed_ = false;
  std::string failure_;
};

TEST(UbChaos, HostsThatConnectAgainAndDeregisterUnderWay) {
  std::uint64_t errors = 0;
  for_each_seed(100, [&](std::uint64_t seed) {
    ReconnectWorld world(seed);
    const std::string failure = world.run();
    errors += world.errors();
    EXPECT_EQ(failure, "") << "replay with WHARF_SEED=" << seed;
    return failure.empty();
  });
  EXPECT_GT(errors, 0u);
}

}  // namespace
}  // namespace wharf::test
