// SPDX-License-Identifier: Apache-2.0
#include "sim/world/ordered_sink.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

namespace wharf::sim {
namespace {

using ::testing::ElementsAre;

/// Keeps when and where; what a packet carries must be there when it is handed on.
class Seen final : public trace::Sink {
 public:
  explicit Seen(const wire::PayloadPool& pool) : pool_(pool) {}
  void record(const trace::TraceEvent& event) override {
    times.push_back(event.begin.ps / 1000);
    hosts.push_back(event.host);
    if (event.packet != nullptr && event.packet->payload.buffer != wire::kNoBuffer)
      carried.push_back(static_cast<int>(pool_.data(event.packet->payload.buffer)[0]));
  }
  std::vector<std::int64_t> times;
  std::vector<std::uint32_t> hosts;
  std::vector<int> carried;

 private:
  const wire::PayloadPool& pool_;
};

class Ordering : public ::testing::Test {
 protected:
  Ordering() {
    sink_.add(near_, near_clock_);
    sink_.add(far_, far_clock_);
  }
  void leaves(trace::Tracer& tracer, std::uint32_t host, TimePs at, int carried = 0) {
    wire::Packet packet;
    if (carried != 0) {
      packet.payload.buffer = pool_.acquire(1);
      packet.payload.length = 1;
      pool_.data(packet.payload.buffer)[0] = static_cast<std::byte>(carried);
    }
    tracer.emit({.kind = trace::EventKind::kPacketSent, .host = host, .begin = at, .packet = &packet});
    pool_.release(packet.payload.buffer);
  }

  wire::PayloadPool pool_;
  Seen seen_{pool_};
  OrderedSink sink_{seen_, trace::kAllEvents, pool_, 8};
  trace::Tracer near_;
  trace::Tracer far_;
  TimePs near_clock_ = kTimeZero;
  TimePs far_clock_ = kTimeZero;
};

// A host gives packets to its link ahead of their time.
TEST_F(Ordering, PacketsComeByTheTimeAtWhichTheyLeaveNotByThatOfTheirReport) {
  near_clock_ = nanoseconds(10);
  leaves(near_, 0, nanoseconds(90));
  leaves(near_, 0, nanoseconds(30));
  far_clock_ = nanoseconds(60);
  leaves(far_, 1, nanoseconds(60));
  sink_.flush(kNever);
  EXPECT_THAT(seen_.times, ElementsAre(30, 60, 90));
  EXPECT_THAT(seen_.hosts, ElementsAre(0, 1, 0));
}

TEST_F(Ordering, WhatIsYetToHappenWaitsForWhatMayComeBeforeIt) {
  leaves(near_, 0, nanoseconds(50), 5);
  leaves(near_, 0, nanoseconds(120), 12);
  sink_.flush(nanoseconds(100));
  EXPECT_THAT(seen_.times, ElementsAre(50));
  EXPECT_EQ(pool_.in_use(), 1U);  // What waits keeps its payload.
  leaves(far_, 1, nanoseconds(110), 11);
  leaves(far_, 1, nanoseconds(220), 22);
  sink_.flush(nanoseconds(200));
  EXPECT_THAT(seen_.times, ElementsAre(50, 110, 120));
  sink_.flush(kNever);
  EXPECT_THAT(seen_.times, ElementsAre(50, 110, 120, 220));
  EXPECT_THAT(seen_.carried, ElementsAre(5, 11, 12, 22));
  EXPECT_EQ(pool_.in_use(), 0U);
}

// Everything else happens when it is reported; of one instant the earlier source comes first.
TEST_F(Ordering, OtherEventsComeByTheClockOfTheirHost) {
  far_clock_ = near_clock_ = nanoseconds(40);
  far_.emit({.kind = trace::EventKind::kSpan, .host = 1, .begin = nanoseconds(7), .end = nanoseconds(40)});
  near_.emit({.kind = trace::EventKind::kSpan, .host = 0, .begin = nanoseconds(9), .end = nanoseconds(40)});
  leaves(near_, 0, nanoseconds(20));
  sink_.flush(kNever);
  EXPECT_THAT(seen_.times, ElementsAre(20, 9, 7));
}

}  // namespace
}  // namespace wharf::sim
