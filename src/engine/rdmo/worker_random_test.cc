// SPDX-License-Identifier: Apache-2.0
// Drawn requests, drawn orders of memory, drawn faults; then a reader that wrote nothing looks at the logs.
// What a log shows is whole at every moment; at the end everything that was answered is there once, in each
// connection's order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

constexpr std::uint64_t kLogBytes = 4096;
/// In no record: their numbers and lengths avoid it.
constexpr std::byte kNobodys{0xff};
constexpr std::uint32_t kLogs = 3;
constexpr std::uint64_t kTargetBytes = kLogs * kLogBytes + 1024;  // The last part is for scatters.

/// A record: its number, its length, then bytes that follow from both.
std::string record(std::uint32_t number, std::uint32_t length) {
  std::string text(length, '\0');
  const std::uint32_t first = number << 8U | 'R';  // No record begins with a zero, as holes do.
  std::memcpy(text.data(), &first, 4);
  std::memcpy(text.data() + 4, &length, 4);
  for (std::uint32_t i = 8; i < length; ++i) text[i] = static_cast<char>('a' + (number + i) % 26);
  return text;
}

struct Sent {
  std::uint32_t connection = 0;  ///< peer * targets + target.
  std::uint32_t log = 0;
  std::uint32_t target = 0;
  std::uint32_t length = 0;
  bool extended = false;
  std::optional<RdmoStatus> status;
  std::uint64_t place = 0;
  bool must_be_there = false;  ///< A flush behind it was answered.
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : draw_(seed, "rdmo worker"), world_(draw_config()) {
    world_.direct = direct_;
    faults_ = draw_.below(3) == 0;
    for (std::uint32_t target = 0; target < 2; ++target) {
      world_.add_target(kTargetBytes);
      std::fill(world_.targets[target].bytes.begin(), world_.targets[target].bytes.end(), kNobodys);
      for (std::uint32_t log = 0; log < kLogs; ++log)
        world_.targets[target].set_word(cell(target, log), cell(target, log) + 8);
      keys_.push_back(world_.add_memory(target));
    }
    for (std::uint32_t peer = 0; peer < 3; ++peer) {
      peers_.push_back(world_.connect(0, "initiator" + std::to_string(peer)));
      EXPECT_EQ(world_.connect(1, "initiator" + std::to_string(peer)), peers_.back());
    }
    extended_ = {true, draw_.below(2) == 0, false};
    world_.twice = draw_.below(4) == 0;
  }

  std::string options() const {
    const WorkerConfig& config = world_.worker.config();
    return fmt::format(
        "direct {}, faults {}, coalesce {} B {} ps, writes {}, cells {}, window {}, publish {} ps, shared "
        "{}, "
        "rate {}, read back {}, twice {}",
        direct_, faults_, config.coalesce_bytes, config.coalesce_delay.ps, config.writes_max,
        config.cells_max, config.window, config.publish_delay.ps, config.holding == CellHolding::kShared,
        config.requests_per_second_max, config.read_back, world_.twice);
  }
  void run(std::uint32_t steps) {
    for (std::uint32_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    heal();
    if (!::testing::Test::HasFailure()) judge();
  }

 private:
  WorkerConfig draw_config() {
    WorkerConfig config = WorkerWorld::small_config();
    config.coalesce_bytes = static_cast<std::uint32_t>(16 + draw_.below(300));
    config.writes_max = static_cast<std::uint32_t>(2 + draw_.below(20));
    config.cells_max = static_cast<std::uint32_t>(1 + draw_.below(7));
    config.window = static_cast<std::uint32_t>(1 + draw_.below(20));
    if (draw_.below(3) == 0) config.coalesce_delay = nanoseconds(500);
    if (draw_.below(3) == 0) config.publish_delay = nanoseconds(900);
    if (draw_.below(4) == 0) config.requests_per_second_max = 5'000'000;
    config.read_back = draw_.below(2) == 0;
    config.holding = draw_.below(4) == 0 ? CellHolding::kShared : CellHolding::kSole;
    direct_ = draw_.below(2) == 0;
    return config;
  }
  std::uint64_t cell(std::uint32_t target, std::uint32_t log) const {
    return world_.targets[target].base + log * kLogBytes;
  }

  void step() {
    world_.now = world_.now + nanoseconds(static_cast<std::int64_t>(draw_.below(200)));
    if (world_.worker.deadline() <= world_.now) world_.worker.expire(world_.now);
    world_.drain_outputs();
    hear();
    const std::uint64_t choice = draw_.below(20);
    if (choice < 9) return append();
    if (choice == 9) return flush();
    if (choice == 10) return scatter();
    if (choice == 11 && faults_ && draw_.below(6) == 0) return fault();
    if (choice < 19) return memory();
    TestTarget& target = world_.targets[draw_.below(2)];
    if (!target.late.empty()) target.show_any(draw_.below(target.late.size()));
    look();
  }

  void memory() {
    if (!world_.actions.empty() && draw_.below(2) == 0) return world_.act();
    if (world_.pending.empty()) return;
    const std::size_t index = draw_.below(world_.pending.size());
    const AccessKind kind = world_.pending[index].kind;
    // Data is lost now and then; what a cell says is not, for then the whole log would be.
    const bool data = kind == AccessKind::kWrite;
    if (faults_ && data && draw_.below(40) == 0) {
      world_.answer(index, AccessStatus::kMemoryFailed);
    } else {
      world_.answer(index);
    }
    hear();
  }

  void append() {
    const auto peer = static_cast<std::uint32_t>(draw_.below(peers_.size()));
    const auto target = static_cast<std::uint32_t>(draw_.below(2));
    const auto log = static_cast<std::uint32_t>(draw_.below(kLogs));
    auto length = static_cast<std::uint32_t>(8 + draw_.below(draw_.below(8) == 0 ? 400 : 40));
    if ((length & 0xffU) == 0xffU) ++length;
    if (sent_.size() >= 0xff) return;
    const bool rendezvous = draw_.below(6) == 0;
    const auto number = static_cast<std::uint32_t>(sent_.size());
    Sent each{peer * 2 + target, log, target, length, extended_[peer], {}, 0, false};
    if (gone_.contains(peer)) return;
    const std::string text = record(number, length);
    const bool fence = draw_.below(10) == 0;
    const std::uint64_t handle = world_.next_handle;
    if (each.extended) {
      if (in_flight_[each.connection] >= world_.worker.config().window) return;
      wire::RdmoExtendedRequest request =
          WorkerWorld::extended_append(target, cell(target, log), keys_[target]);
      request.cookie = number;
      if (fence) request.flags |= wire::RdmoFlag::kFence;
      ++in_flight_[each.connection];
      sent_.push_back(each);
      world_.ask(peers_[peer], request, text, rendezvous);
    } else {
      sent_.push_back(each);
      if (world_.append(peers_[peer], target, cell(target, log), keys_[target], text, fence, rendezvous) ==
          Taken::kNoRoom) {
        sent_.pop_back();
        world_.payloads.erase(handle);
        return;
      }
    }
    if (faults_ && rendezvous && draw_.below(10) == 0) world_.lost_payloads.push_back(handle);
  }

  void flush() {
    const auto peer = static_cast<std::uint32_t>(draw_.below(peers_.size()));
    const auto target = static_cast<std::uint32_t>(draw_.below(2));
    if (gone_.contains(peer)) return;
    const std::uint32_t connection = peer * 2 + target;
    const std::uint64_t id = (std::uint64_t{1} << 40U) | flushes_.size();
    flushes_.push_back({connection, sent_.size()});
    if (extended_[peer]) {
      if (in_flight_[connection] >= world_.worker.config().window) {
        flushes_.pop_back();
        return;
      }
      ++in_flight_[connection];
      world_.ask(peers_[peer], WorkerWorld::extended_flush(target, id));
    } else if (world_.flush(peers_[peer], target, id) == Taken::kNoRoom) {
      flushes_.pop_back();
    }
  }

  void scatter() {
    const auto peer = static_cast<std::uint32_t>(draw_.below(peers_.size()));
    const auto target = static_cast<std::uint32_t>(draw_.below(2));
    if (gone_.contains(peer) || !extended_[peer]) return;
    if (in_flight_[peer * 2 + target] >= world_.worker.config().window) return;
    std::string payload;
    const std::uint64_t count = draw_.below(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::array<std::byte, wire::kRdmoEntryBytes> head{};
      const auto length = static_cast<std::uint16_t>(draw_.below(30));
      const std::uint64_t place = cell(target, kLogs) + draw_.below(1024 - 30);
      encode(wire::RdmoEntry{place, keys_[target], length}, head.data());
      payload.append(reinterpret_cast<const char*>(head.data()), head.size());
      payload.append(length, 'S');
    }
    wire::RdmoExtendedRequest request;
    request.operation = Operation::kScatter;
    request.client = 100 + target;
    request.cookie = (std::uint64_t{1} << 41U) | (peer * 2 + target);
    request.count = count;
    ++in_flight_[peer * 2 + target];
    world_.ask(peers_[peer], request, payload, draw_.below(3) == 0);
  }

  void fault() {
    const std::uint64_t choice = draw_.below(2);
    if (choice == 0) {
      const auto peer = static_cast<std::uint32_t>(draw_.below(peers_.size()));
      if (gone_.size() + 1 >= peers_.size() || !gone_.insert(peer).second) return;
      for (const Access& access : world_.pending) {
        if (access.payload != 0 && access.data == nullptr) world_.lost_payloads.push_back(access.payload);
      }
      world_.worker.peer_lost(world_.now, peers_[peer]);
      world_.drain_outputs();
    } else if (!lost_.contains(1)) {
      lost_.insert(1);
      world_.targets[1].lost = true;
    }
  }

  void hear() {
    for (; heard_ < world_.heard.size(); ++heard_) {
      const Heard& each = world_.heard[heard_];
      if (each.extended && each.answer.operation == Operation::kCredit) continue;
      const std::uint64_t id = each.extended ? each.answer.cookie : each.flush_id;
      if (id >> 40U == 1) {
        const auto [connection, before] = flushes_[id & 0xff'ffff'ffffU];
        if (each.extended) --in_flight_[connection];
        if (each.extended && each.answer.status != RdmoStatus::kDone) continue;
        check_flushed(connection, before);
      } else if (each.extended && id >> 41U == 0) {
        Sent& sent = sent_[id];
        if (sent.status.has_value()) {
          // Of a connection that is gone nothing is remembered: whatever comes is refused, and nothing done.
          const bool gone = world_.twice && each.answer.status == RdmoStatus::kUnknownClient;
          EXPECT_TRUE(gone && sent.status == each.answer.status)
              << "answered twice: " << wire::name(*sent.status) << ", " << wire::name(each.answer.status);
          continue;
        }
        sent.status = each.answer.status;
        sent.place = each.answer.place;
        --in_flight_[sent.connection];
      } else {
        --in_flight_[static_cast<std::uint32_t>(id & 0xffU)];  // A scatter.
      }
    }
  }

  /// A flush of the connection was answered: all of its earlier appends that did not fail are shown.
  void check_flushed(std::uint32_t connection, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) {
      Sent& sent = sent_[i];
      if (sent.connection != connection) continue;
      if (sent.extended) {
        ASSERT_TRUE(sent.status.has_value()) << "a fenced flush overtook append " << i;
        if (*sent.status != RdmoStatus::kDone) continue;
        const std::uint64_t tail = world_.targets[sent.target].word(cell(sent.target, sent.log));
        EXPECT_GE(tail, sent.place + sent.length) << "append " << i << " is not shown after its flush";
      }
      sent.must_be_there = true;
    }
  }

  /// Whatever a cell shows is there: a reader that trusts it finds no byte that nobody wrote.
  void look() {
    if (world_.worker.config().holding == CellHolding::kShared) return;  // Shows places before their data.
    for (std::uint32_t target = 0; target < 2; ++target) {
      for (std::uint32_t log = 0; log < kLogs; ++log) {
        const std::uint64_t begin = cell(target, log) + 8;
        const std::uint64_t tail = world_.targets[target].word(cell(target, log));
        ASSERT_GE(tail, begin);
        ASSERT_LE(tail, world_.targets[target].base + kTargetBytes);
        const std::string shown = world_.targets[target].text(begin, tail - begin);
        ASSERT_EQ(shown.find(static_cast<char>(kNobodys)), std::string::npos)
            << "the tail shows bytes that have not landed";
      }
    }
  }

  void heal() {
    for (int round = 0; round < 50; ++round) {
      world_.run();
      hear();
      if (world_.worker.held() == 0 && world_.pending.empty() && world_.actions.empty()) break;
      world_.now = world_.now + microseconds(1);
      world_.worker.expire(world_.now);
    }
    std::vector<std::string> lines;
    world_.worker.describe_waiting(lines);
    EXPECT_THAT(lines, ::testing::IsEmpty());
    EXPECT_EQ(world_.worker.held(), 0U);
    EXPECT_TRUE(world_.payloads.empty()) << "a payload was never released";
    wire::RdmoCommand dereg;  // Writes everything back.
    dereg.type = wire::RdmoCommandType::kMrDeregister;
    for (std::uint32_t target = 0; target < 2; ++target) {
      if (lost_.contains(target) && world_.worker.targets() < 2) continue;
      dereg.key = keys_[target];
      world_.command(dereg, target);
      world_.targets[target].show_all();
    }
    world_.worker.describe_waiting(lines);
    EXPECT_THAT(lines, ::testing::IsEmpty());
    EXPECT_EQ(world_.worker.cells(), 0U);
  }

  void judge() {
    std::set<std::uint32_t> found;
    for (std::uint32_t target = 0; target < 2; ++target) {
      if (lost_.contains(target)) continue;
      for (std::uint32_t log = 0; log < kLogs; ++log) read_log(target, log, found);
    }
    for (std::uint32_t i = 0; i < sent_.size(); ++i) {
      const Sent& sent = sent_[i];
      if (lost_.contains(sent.target)) continue;
      const bool done = sent.extended && sent.status == RdmoStatus::kDone;
      if (sent.extended && sent.status.has_value() && !done) {
        EXPECT_FALSE(found.contains(i)) << "refused, and there";
      }
      if (done) {
        EXPECT_TRUE(found.contains(i)) << "answered, and not there: " << i;
      }
      if (!faults_ && sent.must_be_there) {
        EXPECT_TRUE(found.contains(i) || refused(sent)) << "flushed, and not there";
      }
    }
  }

  static bool refused(const Sent& sent) {
    return sent.status.has_value() && sent.status != RdmoStatus::kDone;
  }

  void read_log(std::uint32_t target, std::uint32_t log, std::set<std::uint32_t>& found) {
    std::uint64_t at = cell(target, log) + 8;
    const std::uint64_t tail = world_.targets[target].word(cell(target, log));
    std::map<std::uint32_t, std::uint32_t> last;  // By connection.
    while (at < tail) {
      std::uint32_t number = 0;
      std::uint32_t length = 0;
      std::memcpy(&number, world_.targets[target].at(at), 4);
      std::memcpy(&length, world_.targets[target].at(at) + 4, 4);
      if ((number & 0xffU) == 0) {  // A hole, filled with zeros.
        EXPECT_TRUE(faults_);
        ++at;
        continue;
      }
      number >>= 8U;
      ASSERT_LT(number, sent_.size());
      const Sent& sent = sent_[number];
      ASSERT_EQ(length, sent.length);
      ASSERT_EQ(world_.targets[target].text(at, length), record(number, length)) << "torn";
      EXPECT_TRUE(sent.target == target && sent.log == log);
      EXPECT_TRUE(found.insert(number).second) << "twice";
      if (sent.extended && sent.status == RdmoStatus::kDone) {
        EXPECT_EQ(sent.place, at);
      }
      const auto [before, first] = last.try_emplace(sent.connection, number);
      if (!first) {
        EXPECT_LT(before->second, number) << "out of its connection's order";
        before->second = number;
      }
      at += length;
    }
  }

  RandomStream draw_;
  bool direct_ = true;
  WorkerWorld world_;
  bool faults_ = false;
  std::vector<std::uint64_t> keys_;
  std::vector<PeerId> peers_;
  std::vector<bool> extended_;
  std::vector<Sent> sent_;
  std::vector<std::pair<std::uint32_t, std::size_t>> flushes_;
  std::map<std::uint32_t, std::uint32_t> in_flight_;
  std::set<std::uint32_t> gone_;
  std::set<std::uint32_t> lost_;
  std::size_t heard_ = 0;
};

TEST(WorkerRandom, ReadersFindWhatWasAnswered) {
  const char* runs = std::getenv("WHARF_RDMO_RUNS");
  const char* only = std::getenv("WHARF_RDMO_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  const std::uint64_t seeds = only != nullptr   ? first
                              : runs == nullptr ? 300
                                                : std::strtoull(runs, nullptr, 10);
  for (std::uint64_t seed = first; seed <= seeds && !HasFailure(); ++seed) {
    RandomRun run(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, run.options()));
    run.run(400);
  }
}

}  // namespace
}  // namespace wharf::rdmo
