// SPDX-License-Identifier: Apache-2.0
#include "trace/text_sink.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/golden_test_support.h"
#include "trace/example_events_test_support.h"
#include "trace/ring_sink.h"

namespace wharf::trace {
namespace {

TEST(TextSink, WritesOneReadableLinePerEvent) {
  std::ostringstream text;
  TextSink sink(text, {.verb = example_verb, .status = example_status});
  Tracer tracer;
  tracer.attach(sink, kAllEvents);
  run_example(tracer);
  expect_golden("trace/example_events.txt", text.str());
}

TEST(TextSink, PrintsNumbersWhenNobodyGaveWords) {
  std::ostringstream text;
  TextSink sink(text);
  sink.record(
      {.kind = EventKind::kOperationBegin, .begin = picoseconds(1), .operation = {5}, .a = 3, .b = 64});
  EXPECT_EQ(text.str(), "         0.001 ns  host 0  component 0  op 5:0  operation_begin verb 3, 64 bytes\n");
}

TEST(EventText, EveryKindHasAName) {
  for (int i = 0; i < kEventKindCount; ++i) EXPECT_NE(name(static_cast<EventKind>(i)), "unknown") << i;
}

TEST(EventText, TimesAreExact) {
  EXPECT_EQ(nanoseconds_text(picoseconds(27'954)), "27.954");
  EXPECT_EQ(nanoseconds_text(picoseconds(-5)), "-0.005");
  EXPECT_EQ(nanoseconds_text(kNever), "never");
}

TEST(RingSink, KeepsTheLastEventsOldestFirst) {
  RingSink ring(3);
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.text(), "");
  for (std::uint64_t i = 0; i < 5; ++i) ring.record({.kind = EventKind::kTimeout, .a = i});
  EXPECT_EQ(ring.size(), 3U);
  EXPECT_EQ(ring.recorded(), 5U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(ring[i].a, i + 2);
}

TEST(RingSink, DescribesPacketsThatAreGone) {
  RingSink ring(8);
  {
    const wire::Packet packet = example_roce_write(9);
    ring.record({.kind = EventKind::kPacketSent, .packet = &packet});
  }
  EXPECT_EQ(ring[0].packet, nullptr);
  EXPECT_NE(ring.text().find("psn 9"), std::string::npos) << ring.text();
}

}  // namespace
}  // namespace wharf::trace
