// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/simulation.h"

#include "base/random.h"
#include "sim/kernel/in_order_source.h"

namespace wharf::sim {
namespace {

/// Writes down what it handles, and sends follow-ups to a random component.
class Walker : public Component {
 public:
  Walker(Simulation& simulation, std::uint64_t index) : simulation_(simulation), random_(1, "walker") {
    random_ = random_.substream(index);
  }
  void handle(const Event& event) override {
    times.push_back(simulation_.now());
    EXPECT_EQ(event.time, simulation_.now());
    const auto target = static_cast<std::uint32_t>(random_.below(simulation_.component_count()));
    simulation_.schedule(simulation_.now() + nanoseconds(static_cast<std::int64_t>(random_.below(3))),
                         ComponentId{target}, id(), 1, event.argument + 1);
  }
  std::vector<TimePs> times;

 private:
  Simulation& simulation_;
  RandomStream random_;
};

std::uint64_t walk(std::uint64_t slice, std::uint32_t first_argument) {
  Simulation simulation;
  std::vector<std::unique_ptr<Walker>> walkers;
  for (std::uint64_t i = 0; i < 10; ++i) {
    walkers.push_back(std::make_unique<Walker>(simulation, i));
    simulation.add(*walkers.back(), "walker");
  }
  for (const auto& walker : walkers)
    simulation.schedule(kTimeZero, walker->id(), walker->id(), 0, first_argument);
  while (simulation.events_executed() < 5'000) {
    EXPECT_EQ(simulation.run_for_events(slice).end, RunEnd::kBudgetSpent);
  }
  EXPECT_EQ(simulation.events_pending(), 10U);
  return simulation.fingerprint();
}

TEST(Simulation, FingerprintRepeatsAndNotices) {
  EXPECT_EQ(walk(5'000, 0), walk(5'000, 0));
  EXPECT_EQ(walk(5'000, 0), walk(10, 0));  // Slices change nothing.
  EXPECT_NE(walk(5'000, 0), walk(5'000, 1));
}

class Recorder : public Component {
 public:
  explicit Recorder(std::vector<std::string>& log) : log_(log) {}
  void handle(const Event& event) override {
    log_.push_back(std::to_string(id().value) + "<" + std::to_string(event.source().value) + ":" +
                   std::to_string(event.argument));
  }

 private:
  std::vector<std::string>& log_;
};

TEST(Simulation, EqualTimesFollowTheKeyNotTheInsertion) {
  std::vector<std::string> log;
  Simulation simulation;
  Recorder a(log);
  Recorder b(log);
  simulation.add(a, "a");
  simulation.add(b, "b");
  const TimePs at = nanoseconds(1);
  simulation.schedule(at, b.id(), b.id(), 0, 1);
  simulation.schedule(at, b.id(), a.id(), 0, 2);
  simulation.schedule(at, a.id(), b.id(), 0, 3);
  simulation.schedule(at, a.id(), a.id(), 0, 4);
  simulation.schedule(at, a.id(), a.id(), 0, 5);
  EXPECT_EQ(simulation.run_until(at).end, RunEnd::kDrained);
  EXPECT_EQ(log, (std::vector<std::string>{"0<0:4", "0<0:5", "0<1:3", "1<0:2", "1<1:1"}));
}

TEST(Simulation, RunUntilIncludesItsEnd) {
  std::vector<std::string> log;
  Simulation simulation;
  Recorder a(log);
  simulation.add(a, "a");
  for (const std::int64_t at : {10, 20, 30}) {
    simulation.schedule(nanoseconds(at), a.id(), a.id(), 0, static_cast<std::uint32_t>(at));
  }
  RunResult result = simulation.run_until(nanoseconds(20));
  EXPECT_EQ(result.end, RunEnd::kTimeReached);
  EXPECT_EQ(result.events, 2U);
  EXPECT_EQ(simulation.now(), nanoseconds(20));
  EXPECT_EQ(simulation.run_until(nanoseconds(25)).events, 0U);
  EXPECT_EQ(simulation.now(), nanoseconds(25));
  EXPECT_DEATH(simulation.schedule(nanoseconds(24), a.id(), a.id(), 0, 0), "invariant broken");
  EXPECT_DEATH(simulation.schedule(kNever, a.id(), a.id(), 0, 0), "invariant broken");
  EXPECT_TRUE(simulation.step());
  EXPECT_FALSE(simulation.step());
  EXPECT_EQ(simulation.now(), nanoseconds(30));
  result = simulation.run_until(seconds(1));
  EXPECT_EQ(result.end, RunEnd::kDrained);
  EXPECT_EQ(simulation.now(), nanoseconds(30));
  EXPECT_EQ(simulation.events_executed(), 3U);
}

class Stopper : public Component {
 public:
  explicit Stopper(Simulation& simulation) : simulation_(simulation) {}
  void handle(const Event&) override { simulation_.stop(); }
  void describe_waiting(std::vector<std::string>& lines) const override {
    lines.push_back("waits for a token");
  }

 private:
  Simulation& simulation_;
};

TEST(Simulation, StopReturnsAfterTheEventAndTheRunGoesOn) {
  Simulation simulation;
  Stopper stopper(simulation);
  simulation.add(stopper, "core0");
  for (int i = 0; i < 3; ++i) simulation.schedule(nanoseconds(i), stopper.id(), stopper.id(), 0, 0);
  for (int i = 0; i < 3; ++i) {
    const RunResult result = simulation.run_until(kNever);
    EXPECT_EQ(result.end, RunEnd::kStopped);
    EXPECT_EQ(result.events, 1U);
  }
  EXPECT_EQ(simulation.run_until(kNever).end, RunEnd::kDrained);
}

TEST(Simulation, StallReportNamesWhoWaits) {
  std::vector<std::string> log;
  Simulation simulation;
  Recorder idle(log);
  Stopper stopper(simulation);
  simulation.add(idle, "idle");
  simulation.add(stopper, "core0");
  EXPECT_EQ(simulation.stall_report().waiting, (std::vector<std::string>{"core0: waits for a token"}));
}

/// Takes values from two in-order sources and checks their times.
class Sink : public Component {
 public:
  explicit Sink(Simulation& simulation) : simulation_(simulation) {}
  void connect() {
    for (std::uint32_t i = 0; i < 2; ++i) sources.emplace_back(simulation_, id(), id(), 7, i, 4);
  }
  void handle(const Event& event) override {
    EXPECT_EQ(event.kind, 7);
    taken.emplace_back(simulation_.now(), sources[event.argument].take());
  }
  std::vector<InOrderSource<int>> sources;
  std::vector<std::pair<TimePs, int>> taken;

 private:
  Simulation& simulation_;
};

TEST(InOrderSource, OnlyTheHeadIsPending) {
  Simulation simulation;
  Sink sink(simulation);
  simulation.add(sink, "sink");
  sink.connect();
  for (int i = 0; i < 100; ++i) {
    sink.sources[0].push(nanoseconds(10 * (i / 2)), i);
    sink.sources[1].push(nanoseconds(10 * i + 5), 1'000 + i);
  }
  EXPECT_EQ(simulation.events_pending(), 2U);
  EXPECT_EQ(sink.sources[0].last_time(), nanoseconds(490));
  EXPECT_DEATH(sink.sources[0].push(nanoseconds(489), 0), "invariant broken");
  simulation.run_until(kNever);
  ASSERT_EQ(sink.taken.size(), 200U);
  int next_first = 0;
  int next_second = 1'000;
  for (const auto& [at, value] : sink.taken) {
    if (value < 1'000) {
      EXPECT_EQ(value, next_first++);
      EXPECT_EQ(at, nanoseconds(10 * (value / 2)));
    } else {
      EXPECT_EQ(value, next_second++);
      EXPECT_EQ(at, nanoseconds(10 * (value - 1'000) + 5));
    }
  }
  EXPECT_TRUE(sink.sources[0].empty());
}

}  // namespace
}  // namespace wharf::sim
