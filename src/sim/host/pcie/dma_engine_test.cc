// SPDX-License-Identifier: Apache-2.0
// What a device's own order makes its lines wait for. The other end of the link keeps what it gets and
// answers when the test says so.
#include "sim/host/pcie/dma_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/host/pcie/keeping_sink_test_support.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePs kIssue = nanoseconds(10);

class Rig : public DmaClient {
 public:
  explicit Rig(const DmaConfig& config = {.issue = kIssue}) : engine(simulation, sink, config, "dma") {
    engine.connect(*this);
  }
  void dma_done(TimePs now, std::uint32_t, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override {
    done.push_back({ticket, now});
    last_old = old_value[0];
  }
  void dma_sent(TimePs now, std::uint32_t, std::uint64_t ticket) override { sent.push_back({ticket, now}); }

  std::uint32_t stream(SourceOrdering ordering) { return engine.add_stream({}, ordering); }
  void read(std::uint32_t stream, std::uint64_t address, std::uint32_t length) {
    engine.start(kTimeZero, stream, {.ticket = address, .address = address, .length = length});
  }
  /// The lines that left by `until`, in order, as their numbers.
  std::vector<std::uint64_t> lines(TimePs until) {
    simulation.run_until(until + picoseconds(1));
    std::vector<std::uint64_t> out;
    for (const ordering::Request& request : sink.requests) out.push_back(request.line);
    return out;
  }

  Simulation simulation;
  KeepingSink sink;
  DmaEngine engine;
  std::vector<std::pair<std::uint64_t, TimePs>> done;
  std::vector<std::pair<std::uint64_t, TimePs>> sent;
  std::uint64_t last_old = 0;
};

// The ends of an access lie where they lie; only its first and last lines may have labels of their own.
TEST(DmaEngine, AnAccessIsCutAtItsLines) {
  Rig rig;
  std::array<std::byte, 130> bytes{};
  rig.engine.start(kTimeZero, rig.stream(SourceOrdering::kNone),
                   {.first_label = ordering::Label::kAcquire,
                    .last_label = ordering::Label::kRelease,
                    .ticket = 7,
                    .address = 640 + 60,
                    .length = 130,
                    .bytes = bytes.data()});
  EXPECT_THAT(rig.lines(kTimeZero), ElementsAre(10, 11, 12));
  EXPECT_EQ(rig.sink.requests[0].mask, ordering::byte_mask(60, 4));
  EXPECT_EQ(rig.sink.requests[1].mask, ordering::byte_mask(0, 64));
  EXPECT_EQ(rig.sink.requests[2].mask, ordering::byte_mask(0, 62));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.sink.requests[i].is_first, i == 0);
    EXPECT_EQ(rig.sink.requests[i].is_last, i == 2);
    EXPECT_EQ(rig.sink.requests[i].number, rig.sink.requests[0].number);
  }
  EXPECT_EQ(rig.sink.requests[0].label, ordering::Label::kAcquire);
  EXPECT_EQ(rig.sink.requests[1].label, ordering::Label::kStrong);
  EXPECT_EQ(rig.sink.requests[2].label, ordering::Label::kRelease);
  // Complete with its last answer, whichever that is.
  for (const std::size_t which : {2U, 0U, 1U}) {
    EXPECT_THAT(rig.done, IsEmpty());
    rig.sink.answer(nanoseconds(50), which);
  }
  EXPECT_THAT(rig.done, ElementsAre(std::pair(7U, nanoseconds(50))));
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(700 + i)) << i;
}

TEST(DmaEngine, WithoutAnOrderNothingWaitsForAnAnswer) {
  Rig rig;
  const std::uint32_t stream = rig.stream(SourceOrdering::kNone);
  rig.read(stream, 0, 128);
  rig.read(stream, 640, 64);
  EXPECT_THAT(rig.lines(kIssue - picoseconds(2)), ElementsAre(0, 1));
  EXPECT_THAT(rig.lines(kIssue), ElementsAre(0, 1, 10));
}

// The next access begins one issue after the one before is complete.
TEST(DmaEngine, AnOrderOfMessagesWaitsForTheWholeOne) {
  Rig rig;
  const std::uint32_t stream = rig.stream(SourceOrdering::kMessage);
  rig.read(stream, 0, 128);
  rig.read(stream, 640, 128);
  EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0, 1));
  rig.sink.answer(nanoseconds(100), 1);
  EXPECT_THAT(rig.lines(nanoseconds(200)), ElementsAre(0, 1));
  rig.sink.answer(nanoseconds(200), 0);
  EXPECT_THAT(rig.lines(nanoseconds(200) + kIssue - picoseconds(2)), ElementsAre(0, 1));
  EXPECT_THAT(rig.lines(nanoseconds(200) + kIssue), ElementsAre(0, 1, 10, 11));
}

TEST(DmaEngine, AnOrderOfLinesWaitsForEachLine) {
  Rig rig;
  const std::uint32_t stream = rig.stream(SourceOrdering::kLine);
  rig.read(stream, 0, 128);
  rig.read(stream, 640, 64);
  EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0));
  rig.sink.answer(nanoseconds(100), 0);
  EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0, 1));
  EXPECT_THAT(rig.lines(nanoseconds(200)), ElementsAre(0, 1));
  rig.sink.answer(nanoseconds(200), 1);
  EXPECT_THAT(rig.lines(nanoseconds(200) + kIssue), ElementsAre(0, 1, 10));
}

// What belongs to the access before it needs no issue of its own where that one is waited for.
TEST(DmaEngine, AnAccessThatBelongsToTheOneBeforeFollowsAtOnce) {
  for (const SourceOrdering ordering : {SourceOrdering::kMessage, SourceOrdering::kLine}) {
    Rig rig;
    const std::uint32_t stream = rig.stream(ordering);
    rig.read(stream, 0, 64);
    rig.engine.start(kTimeZero, stream, {.with_previous = true, .address = 640, .length = 64});
    EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0));
    rig.sink.answer(nanoseconds(100), 0);
    EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0, 10));
  }
}

TEST(DmaEngine, StreamsShareAnIssueSlotOrHaveTheirOwn) {
  for (const bool shared : {false, true}) {
    for (const SourceOrdering ordering : {SourceOrdering::kNone, SourceOrdering::kMessage}) {
      Rig rig({.issue = kIssue, .shared_issue = shared});
      const std::uint32_t one = rig.stream(ordering);
      const std::uint32_t other = rig.stream(ordering);
      rig.read(one, 0, 64);
      rig.read(other, 640, 64);
      const auto at_once = rig.lines(kIssue - picoseconds(2));
      EXPECT_EQ(at_once.size(), shared ? 1U : 2U);
      EXPECT_THAT(rig.lines(kIssue), ElementsAre(0, 10));
    }
  }
}

// One line of each stream in turn, as the link is free.
TEST(DmaEngine, StreamsTakeTurnsOnTheLink) {
  Rig rig;
  rig.sink.gap = nanoseconds(1);
  const std::uint32_t one = rig.stream(SourceOrdering::kNone);
  const std::uint32_t other = rig.stream(SourceOrdering::kNone);
  rig.read(one, 0, 192);
  rig.read(other, 640, 192);
  EXPECT_THAT(rig.lines(nanoseconds(5)), ElementsAre(0, 10, 1, 11, 2, 12));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(rig.sink.at[i], nanoseconds(static_cast<std::int64_t>(i)));
}

TEST(DmaEngine, WithoutACreditALineWaits) {
  Rig rig;
  rig.sink.credits = 1;
  const std::uint32_t stream = rig.stream(SourceOrdering::kNone);
  rig.read(stream, 0, 192);
  EXPECT_THAT(rig.lines(nanoseconds(100)), ElementsAre(0));
  rig.sink.give_credits(nanoseconds(100), 1);
  EXPECT_THAT(rig.lines(nanoseconds(200)), ElementsAre(0, 1));
  rig.sink.give_credits(nanoseconds(200), 1);
  EXPECT_THAT(rig.lines(nanoseconds(200)), ElementsAre(0, 1, 2));
}

// A write is sent with its last line, and done when that is performed; an atomic brings what was there.
TEST(DmaEngine, WritesAreSentAndAtomicsBringTheOldValue) {
  Rig rig;
  const std::uint32_t stream = rig.stream(SourceOrdering::kNone);
  std::array<std::byte, 128> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  rig.engine.start(
      kTimeZero, stream,
      {.kind = ordering::Kind::kWrite, .ticket = 1, .address = 0, .length = 128, .bytes = bytes.data()});
  rig.engine.start(kTimeZero, stream,
                   {.kind = ordering::Kind::kAtomic, .ticket = 2, .address = 640, .length = 8});
  EXPECT_THAT(rig.lines(kIssue), ElementsAre(0, 1, 10));
  EXPECT_EQ(rig.sink.requests[1].bytes[5], std::byte{69});
  EXPECT_THAT(rig.sent, ElementsAre(std::pair(1U, kTimeZero)));
  EXPECT_THAT(rig.done, IsEmpty());
  rig.sink.answer(nanoseconds(50), 2);
  EXPECT_EQ(rig.last_old, 2U);
  rig.sink.answer(nanoseconds(60), 0);
  rig.sink.answer(nanoseconds(70), 1);
  EXPECT_THAT(rig.done, ElementsAre(std::pair(2U, nanoseconds(50)), std::pair(1U, nanoseconds(70))));
}

}  // namespace
}  // namespace wharf::sim
