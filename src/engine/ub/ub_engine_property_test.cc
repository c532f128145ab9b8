// SPDX-License-Identifier: Apache-2.0
// A random mix of everything over a wire that loses, repeats, damages and reorders: each operation completes
// exactly once, with the right bytes, and nothing is left behind.
#include <map>
#include <optional>
#include <set>

#include "engine/congestion/caqm_packet.h"
#include "engine/ub/ub_engine.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::Verb;

struct Setting {
  const char* name;
  LossRecovery recovery;
  std::uint32_t mtu;
  std::uint32_t window;
  std::uint32_t cache;
  bool slow_memory;
  std::optional<congestion::ControllerConfig> congestion{};
  engine::ServiceMode service = engine::ServiceMode::kOrderedByInitiator;
};

/// One run: both hosts post a mix of verbs, each operation on its own 4 KiB of memory, and count with
/// fetch-and-add on a shared word.
class Mix {
 public:
  Mix(const Setting& setting, std::uint64_t seed, double percent)
      : random_(seed, "mix"), world_(config(setting, seed), options(setting, seed, percent), 2) {
    world_.pair().on_load_store = [this](std::uint32_t host, const verbs::LoadStoreResult& result) {
      if (expected_loads_.count({host, result.tag}) == 0) return;
      std::vector<std::byte> bytes(64);
      ASSERT_EQ(result.data.length, 64u);
      wire::fill(result.data, bytes);
      EXPECT_EQ(std::memcmp(bytes.data(), expected_loads_[{host, result.tag}].data(), 64), 0);
    };
  }

  void run(int operations) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (int i = 0; i < operations + 1; ++i) post_receive(host, i);
    }
    for (int i = 0; i < operations; ++i) {
      const std::uint32_t host = static_cast<std::uint32_t>(random_.below(2));
      if (random_.below(5) == 0) {
        issue(host);
      } else {
        post(host, i);
      }
      if (random_.below(3) == 0)
        world_.pair().run_to(world_.now() + nanoseconds(static_cast<std::int64_t>(random_.below(3000))));
    }
    world_.run();
    check();
  }

 private:
  static constexpr std::uint32_t kPiece = 8192;
  static constexpr std::uint64_t kCounter = World::kBase;

  struct Expected {
    std::uint32_t from_host;
    std::uint64_t from;
    std::uint32_t to_host;
    std::uint64_t to;
    std::uint32_t length;
  };

  static UbConfig config(const Setting& setting, std::uint64_t seed) {
    UbConfig made;
    made.recovery = setting.recovery;
    made.service = setting.service;
    made.mtu = setting.mtu;
    made.segment_bytes = 4 * setting.mtu;
    made.send_window = setting.window;
    made.receive_window = std::max(64u, setting.window);
    made.first_psn = wire::kPsnMask - static_cast<std::uint32_t>(seed % 40);
    made.retransmission = {
        .base = microseconds(10), .cap = microseconds(200), .attempts_max = reliability::kUnlimitedAttempts};
    made.load_store_reissue = made.retransmission;
    made.min_rnr_timer = 1;
    made.acknowledge_every = 1 + static_cast<std::uint32_t>(seed % 3);
    made.context_cache_entries = setting.cache;
    made.congestion = setting.congestion;
    made.min_time_between_cnps = microseconds(5);
    return made;
  }
  static test::EnginePairOptions options(const Setting& setting, std::uint64_t seed, double percent) {
    test::EnginePairOptions made = faulty(seed, percent);
    if (setting.slow_memory) {
      made.access_shortest = nanoseconds(50);
      made.access_longest = nanoseconds(900);
      made.wire.jitter = nanoseconds(300);
    }
    if (setting.congestion) made.wire.transform = by_a_switch;
    return made;
  }

  /// Marks some packets, and refuses growth to others.
  static bool by_a_switch(wire::Packet& packet, bool damaged, RandomStream& random, wire::PayloadPool&) {
    const std::uint64_t draw = random.below(10);
    if (draw < 2) wire::mark_congestion(packet);
    if (draw == 2 && congestion::carries_caqm(packet)) congestion::write_caqm(packet, {});
    return !damaged;
  }

  /// The next unused piece of memory of `host`.
  std::uint64_t piece(std::uint32_t host) {
    const std::uint64_t at = World::kBase + kPiece * (1 + pieces_[host]++);
    EXPECT_LE(at + kPiece, World::kBase + World::kSize);
    return at;
  }
  void randomize(std::uint32_t host, std::uint64_t address, std::uint32_t length) {
    auto bytes = world_.pair().memory(host).at(address, length);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random_.next_u32());
  }

  void post_receive(std::uint32_t host, int i) {
    verbs::ReceiveRequest receive{.id = static_cast<std::uint64_t>(i)};
    receive.local_count = 1;
    receive.local[0] = {World::kBase + kPiece * 70 + static_cast<std::uint64_t>(i) * 600, 600};
    for (std::size_t queue = 0; queue < 2; ++queue) {
      if (i % 2 == static_cast<int>(queue))
        world_.pair().post_receive(host, world_.queue(host, queue), receive);
    }
  }

  void post(std::uint32_t host, int i) {
    static constexpr Verb kVerbs[] = {Verb::kRead, Verb::kWrite,   Verb::kWriteImm, Verb::kWriteNotify,
                                      Verb::kSend, Verb::kSendImm, Verb::kFetchAdd, Verb::kFetchAdd};
    const std::uint32_t other = 1 - host;
    const std::size_t queue = random_.below(2);
    verbs::WorkRequest request;
    request.id = static_cast<std::uint64_t>(i);
    request.verb = kVerbs[random_.below(8)];
    request.peer = world_.peer(host, queue);
    request.order = static_cast<verbs::OrderTag>(random_.below(3));
    request.fence = random_.below(8) == 0;
    request.completion_in_order = random_.below(4) != 0;
    if (verbs::is_atomic(request.verb)) {
      request.remote = {kCounter, world_.token(other)};
      request.operand[0] = 1;
      ++added_[other];
      posted_.insert({host, request.id});
      counting_.insert({host, request.id});
      EXPECT_EQ(world_.pair().post(host, world_.queue(host, queue), request), engine::PostStatus::kOk);
      return;
    }
    const bool send = verbs::is_send(request.verb);
    request.length = static_cast<std::uint32_t>(random_.below(send ? 600 : kPiece - 64));
    const std::uint64_t local = piece(host);
    const std::uint64_t remote = piece(other);
    request.local_count = 2;
    request.local[0] = {local, request.length / 3};
    request.local[1] = {local + request.length / 3, request.length - request.length / 3};
    request.remote = {remote, world_.token(other)};
    request.immediate = local;
    if (request.verb == Verb::kRead) {
      randomize(other, remote, request.length);
      expected_.push_back({other, remote, host, local, request.length});
    } else {
      randomize(host, local, request.length);
      if (!send) expected_.push_back({host, local, other, remote, request.length});
      if (request.verb == Verb::kWriteNotify) {
        request.notify = {remote + kPiece - 8, world_.token(other)};
        notified_.push_back({other, remote + kPiece - 8, local});
      }
      if (request.verb == Verb::kSendImm) sent_.insert({local, request.length});
      if (verbs::consumes_receive_entry(request.verb)) ++receives_[other];
    }
    posted_.insert({host, request.id});
    const auto how = random_.below(2) == 0 ? engine::Submission::kInHand : engine::Submission::kDoorbell;
    EXPECT_EQ(world_.pair().post(host, world_.queue(host, queue), request, how), engine::PostStatus::kOk);
  }

  void issue(std::uint32_t host) {
    const std::uint32_t other = 1 - host;
    verbs::LoadStore access;
    access.tag = next_tag_++;
    access.peer = world_.peer(host);
    access.remote = {World::kBase + kPiece * 60 + host * 4096 + random_.below(8) * 64, world_.token(other)};
    std::vector<std::byte>& line = lines_[{host, access.remote.address}];
    if (line.empty()) line.resize(64);
    // One access per line at a time, as a core keeps it; the line is free again as soon as the answer is
    // there, however many copies of the request are still under way.
    world_.pair().run_until(
        [&] { return world_.pair().host(host).load_store_results.size() == issued_[host]; });
    if (random_.below(2) == 0) {
      access.verb = Verb::kLoad;
      expected_loads_[{host, access.tag}] = line;
    } else {
      access.verb = Verb::kStore;
      access.data = wire::pattern_payload(access.tag, 0, 64);
      wire::fill(access.data, line);
    }
    ++issued_[host];
    EXPECT_EQ(world_.pair().issue(host, access), engine::PostStatus::kOk);
  }

  void check() {
    std::set<std::uint64_t> old_values[2];
    for (std::uint32_t host = 0; host < 2; ++host) {
      std::uint32_t received = 0;
      for (const auto& completion : world_.pair().host(host).completions) {
        EXPECT_TRUE(completion.ok()) << verbs::name(completion.verb) << " " << verbs::name(completion.status);
        if (completion.kind == verbs::CompletionKind::kReceive) {
          ++received;
          if (completion.verb != Verb::kSendImm) continue;
          const auto found = sent_.find(completion.immediate);
          ASSERT_NE(found, sent_.end());
          EXPECT_EQ(completion.length, found->second);
          const std::uint64_t at = World::kBase + kPiece * 70 + completion.id * 600;
          EXPECT_EQ(std::memcmp(world_.pair().memory(host).at(at, completion.length).data(),
                                world_.pair().memory(1 - host).at(found->first, completion.length).data(),
                                completion.length),
                    0);
          sent_.erase(found);
          continue;
        }
        EXPECT_EQ(posted_.erase({host, completion.id}), 1u) << "completed twice";
        if (counting_.count({host, completion.id}) != 0) {
          EXPECT_TRUE(old_values[1 - host].insert(completion.atomic_result[0]).second);
        }
      }
      EXPECT_EQ(received, receives_[host]);
      EXPECT_EQ(world_.pair().memory(host).load64(kCounter), added_[host]);
      EXPECT_EQ(world_.pair().host(host).load_store_results.size(), issued_[host]);
      for (const auto& result : world_.pair().host(host).load_store_results) {
        EXPECT_EQ(result.status, verbs::CompletionStatus::kSuccess);
      }
    }
    EXPECT_TRUE(posted_.empty()) << world_.pair().waiting_report();
    EXPECT_TRUE(sent_.empty());
    for (const Expected& one : expected_) {
      EXPECT_EQ(std::memcmp(world_.pair().memory(one.from_host).at(one.from, one.length).data(),
                            world_.pair().memory(one.to_host).at(one.to, one.length).data(), one.length),
                0);
    }
    for (const auto& [host, address, value] : notified_) {
      EXPECT_EQ(world_.pair().memory(host).load64(address), value);
    }
    for (const auto& [where, line] : lines_) {
      EXPECT_EQ(
          std::memcmp(world_.pair().memory(1 - where.first).at(where.second, 64).data(), line.data(), 64), 0);
    }
    EXPECT_EQ(world_.pair().pool().in_use(), 0u);
    for (std::uint32_t host = 0; host < 2; ++host) {
      EXPECT_EQ(world_.engine(host).congestion_trace({1 - host}).in_flight, 0u);
      EXPECT_EQ(world_.engine(host).congestion_counters().echoes_refused, 0u);
    }
    std::vector<std::string> waiting;
    world_.engine(0).describe_waiting(waiting);
    world_.engine(1).describe_waiting(waiting);
    EXPECT_TRUE(waiting.empty()) << waiting.front();
  }

  RandomStream random_;
  World world_;
  std::uint32_t pieces_[2] = {};
  std::uint64_t added_[2] = {};
  std::uint32_t receives_[2] = {};
  std::size_t issued_[2] = {};
  std::uint32_t next_tag_ = 1;
  std::set<std::pair<std::uint32_t, std::uint64_t>> posted_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> counting_;
  std::map<std::uint64_t, std::uint32_t> sent_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::byte>> expected_loads_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::byte>> lines_;
  std::vector<Expected> expected_;
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> notified_;
};

class UbMix : public ::testing::TestWithParam<Setting> {};

TEST_P(UbMix, CompletesExactlyOnceWithTheRightBytes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Mix mix(GetParam(), seed, seed % 3 == 0 ? 0 : 5);
    mix.run(50);
    if (HasFailure()) return;
  }
}

// A channel's window or rate is small enough here to hold packets back in every one.
INSTANTIATE_TEST_SUITE_P(
    Controlled, UbMix,
    ::testing::Values(
        Setting{"caqm", LossRecovery::kSelective, 1024, 1024, 0, false,
                congestion::CaqmConfig{.initial_packets = 1, .initial_rtt = microseconds(1)}},
        Setting{"caqm_go_back_n_one_context", LossRecovery::kGoBackN, 512, 64, 1, true,
                congestion::CaqmConfig{.initial_packets = 2}},
        Setting{"ldcp_slow", LossRecovery::kSelective, 512, 64, 0, true,
                congestion::LdcpConfig{.initial_window = 4096, .window_limit = 8192}},
        Setting{"dcqcn_two_contexts", LossRecovery::kSelective, 512, 64, 2, false,
                congestion::DcqcnConfig{.link = gigabits_per_second(5), .rpg_min_rate = {100'000'000}}},
        Setting{"dcqcn_go_back_n", LossRecovery::kGoBackN, 1024, 64, 0, true,
                congestion::DcqcnConfig{.link = gigabits_per_second(5), .rpg_min_rate = {100'000'000}}},
        Setting{"swift_crawls", LossRecovery::kSelective, 512, 64, 0, true,
                congestion::SwiftConfig{.base_target = nanoseconds(300),
                                        .hop_scale = kTimeZero,
                                        .flow_scale_range = kTimeZero,
                                        .window_min = 20'000,
                                        .initial_window = 65'536,
                                        .initial_rtt = microseconds(2)}},
        Setting{"one_packet", LossRecovery::kSelective, 1024, 1024, 0, false,
                congestion::ConstantWindowConfig{.packets = 1}}),
    [](const auto& each) { return each.param.name; });

constexpr auto kRot = engine::ServiceMode::kOrderedByTarget;
constexpr auto kRol = engine::ServiceMode::kOrderedByTransport;
INSTANTIATE_TEST_SUITE_P(
    ServiceModes, UbMix,
    ::testing::Values(
        Setting{"rot", LossRecovery::kSelective, 1024, 1024, 0, true, {}, kRot},
        Setting{"rot_go_back_n_one_context", LossRecovery::kGoBackN, 512, 64, 1, true, {}, kRot},
        Setting{"rol", LossRecovery::kSelective, 1024, 1024, 0, true, {}, kRol},
        Setting{"rol_narrow_two_contexts", LossRecovery::kSelective, 256, 8, 2, true, {}, kRol},
        Setting{"rol_go_back_n", LossRecovery::kGoBackN, 512, 64, 0, true, {}, kRol},
        Setting{"rol_caqm", LossRecovery::kSelective, 1024, 1024, 0, false,
                congestion::CaqmConfig{.initial_packets = 1, .initial_rtt = microseconds(1)}, kRol}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Settings, UbMix,
    ::testing::Values(Setting{"selective", LossRecovery::kSelective, 1024, 1024, 0, false},
                      Setting{"go_back_n", LossRecovery::kGoBackN, 1024, 1024, 0, false},
                      Setting{"selective_narrow", LossRecovery::kSelective, 256, 4, 0, true},
                      Setting{"go_back_n_narrow", LossRecovery::kGoBackN, 256, 8, 0, true},
                      Setting{"selective_one_context", LossRecovery::kSelective, 512, 64, 1, false},
                      Setting{"selective_two_contexts_slow", LossRecovery::kSelective, 512, 64, 2, true},
                      Setting{"go_back_n_one_context", LossRecovery::kGoBackN, 512, 64, 1, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace wharf::ub
