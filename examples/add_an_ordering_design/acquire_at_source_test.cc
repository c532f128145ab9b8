// SPDX-License-Identifier: Apache-2.0
// The program of docs/guides/add-an-ordering-design.md: every interleaving first, then what the design costs.
#include "examples/add_an_ordering_design/acquire_at_source.h"
#include "base/line.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"

namespace wharf::example {
namespace {

using ordering::Kind;
using ordering::Label;
using ordering::Request;
using ordering::RlsqDesign;

constexpr LineNumber kFlag = 0;
constexpr LineNumber kData = 1;

Request read_of(LineNumber line, Label label) {
  Request request;
  request.label = label;
  request.number = line;
  request.line = line;
  return request;
}

// guide: begin
/// A device that reads the flag, then the data, and a host that writes the data, then the flag. PCIe and the
/// host do to reads whatever they may: those on the link are performed in any order.
struct World {
  AcquireAtSource device;
  std::vector<Request> on_link;
  std::vector<ordering::Response> on_way_back;
  std::array<int, 2> memory{};  ///< By line.
  std::array<int, 2> seen{};
  int host_writes = 0;  ///< Done: 1 the data, 2 the flag.
};

using Outcomes = std::set<std::pair<int, int>>;  ///< Flag, data.

void explore(const World& world, Outcomes& outcomes) {
  bool moved = false;
  const auto step = [&](const auto& act) {
    World next = world;
    act(next);
    explore(next, outcomes);
    moved = true;
  };
  if (world.host_writes < 2)
    step([](World& next) { next.memory[next.host_writes++ == 0 ? kData : kFlag] = 1; });
  if (world.device.front() != nullptr) step([](World& next) { next.on_link.push_back(next.device.take()); });
  for (std::ptrdiff_t i = 0; i < std::ssize(world.on_link); ++i) {
    step([i](World& next) {
      const Request read = next.on_link[static_cast<std::size_t>(i)];
      next.on_link.erase(next.on_link.begin() + i);
      next.seen[read.line] = next.memory[read.line];
      ordering::Response answer;
      answer.number = read.number;
      next.on_way_back.push_back(answer);
    });
  }
  for (std::ptrdiff_t i = 0; i < std::ssize(world.on_way_back); ++i) {
    step([i](World& next) {
      next.device.answered(next.on_way_back[static_cast<std::size_t>(i)]);
      next.on_way_back.erase(next.on_way_back.begin() + i);
    });
  }
  if (!moved) outcomes.insert({world.seen[kFlag], world.seen[kData]});
}
// guide: end

Outcomes outcomes_of(Label flag, Label data) {
  World world;
  world.device.accept(read_of(kFlag, flag));
  world.device.accept(read_of(kData, data));
  Outcomes outcomes;
  explore(world, outcomes);
  return outcomes;
}

// guide: begin
TEST(AcquireAtSource, DataBehindAFlagThatIsSetIsNeverStale) {
  EXPECT_EQ(outcomes_of(Label::kAcquire, Label::kRelaxed), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  // The same reads unlabelled, and the wrong one labelled: too weak, and found to be.
  EXPECT_TRUE(outcomes_of(Label::kRelaxed, Label::kRelaxed).contains({1, 0}));
  EXPECT_TRUE(outcomes_of(Label::kRelaxed, Label::kAcquire).contains({1, 0}));
}
// guide: end

TEST(AcquireAtSource, WaitsForTheWholeAcquireAndOnlyInItsDomain) {
  AcquireAtSource device;
  Request first = read_of(0, Label::kAcquire);
  first.is_last = false;
  Request second = read_of(1, Label::kAcquire);
  second.number = first.number;
  second.is_first = false;
  Request behind = read_of(2, Label::kRelaxed);
  Request other = read_of(3, Label::kRelaxed);
  other.domain.thread = 1;
  for (const Request& request : {first, second, behind, other}) device.accept(request);
  EXPECT_EQ(device.take().line, 0U);
  EXPECT_EQ(device.take().line, 1U);
  EXPECT_EQ(device.take().line, 3U);
  EXPECT_EQ(device.front(), nullptr);
  ordering::Response answer;
  answer.number = first.number;
  device.answered(answer);
  EXPECT_EQ(device.front(), nullptr);
  device.answered(answer);
  EXPECT_EQ(device.take().line, 2U);
  // A release waits for that read.
  Request release = read_of(4, Label::kRelease);
  release.kind = Kind::kWrite;
  device.accept(release);
  EXPECT_EQ(device.front(), nullptr);
  answer.number = behind.number;
  device.answered(answer);
  EXPECT_EQ(device.take().label, Label::kStrong);
  EXPECT_EQ(device.held(), 0U);
}

class Finish final : public sim::DmaClient {
 public:
  void dma_done(TimePs now, std::uint32_t, std::uint64_t, const std::array<std::uint64_t, 2>&) override {
    last = now;
  }
  TimePs last;
};

/// A flag and two items of two lines each, all in a core's cache: from the first request to the last answer.
std::int64_t get_ps(RlsqDesign design, sim::SourceOrdering source, bool acquires_at_source) {
  sim::CoherentConfig config;
  config.root_complex.queue.design = design;
  sim::Simulation simulation;
  auto host = sim::CoherentHost::create(simulation, config, 1, 1, 1);
  WHARF_CHECK(host.ok());
  const std::uint64_t base = (*host)->contents().allocate(kibibytes(4));
  const std::array<std::byte, 8> zero{};
  for (std::uint64_t line = 0; line < 5; ++line) {
    (*host)->core_cache(0).store(simulation.now(), line, base + line * 64, zero);
    simulation.run_until(simulation.now() + microseconds(1));
  }
  // guide: begin
  AcquireAtSourceLink link((*host)->root_complex());
  sim::RequestSink* const sink =
      acquires_at_source ? static_cast<sim::RequestSink*>(&link) : &(*host)->root_complex();
  sim::DmaEngine engine(simulation, *sink, {}, "nic");
  const std::uint32_t stream = engine.add_stream({0, 1}, source);
  // guide: end
  Finish finish;
  engine.connect(finish);
  const auto read = [&](std::uint64_t line, std::uint32_t bytes, Label label) {
    sim::DmaAccess access;
    access.label = access.first_label = access.last_label = label;
    access.address = base + line * 64;
    access.length = bytes;
    engine.start(simulation.now(), stream, access);
  };
  const TimePs begin = simulation.now();
  read(0, 8, Label::kAcquire);
  read(1, 128, Label::kRelaxed);
  read(3, 128, Label::kRelaxed);
  simulation.run_until(begin + milliseconds(1));
  return (finish.last - begin).ps;
}

// guide: begin
// A round trip is 1333 cycles of 333 ps. One for the flag, one for both items, whose four lines come 5 cycles
// apart. A device that orders whole messages needs a third round trip, and 3 ns before each but the first. A
// root complex that reads ahead needs one, and the time in which the requests leave.
TEST(AcquireAtSource, CostsOneRoundTripForEachAcquire) {
  constexpr std::int64_t kRound = 1333 * 333;
  EXPECT_EQ(get_ps(RlsqDesign::kBaseline, sim::SourceOrdering::kNone, true), 2 * kRound + 3 * 5 * 333);
  EXPECT_EQ(get_ps(RlsqDesign::kBaseline, sim::SourceOrdering::kMessage, false),
            3 * kRound + 2 * (5 * 333 + 3'000));
  EXPECT_LT(get_ps(RlsqDesign::kSpeculative, sim::SourceOrdering::kNone, false), kRound + 10'000);
}
// guide: end

}  // namespace
}  // namespace wharf::example
