// SPDX-License-Identifier: Apache-2.0
// Decodes the timeline and checks what Perfetto relies on.
#include "trace/timeline_sink.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "trace/decoded_timeline_test_support.h"
#include "trace/example_events_test_support.h"
#include "trace/perfetto_fields.h"

namespace wharf::trace {
namespace {

Decoded draw_example(Bytes budget = mebibytes(1)) {
  std::ostringstream file;
  TimelineSink sink(file, budget, {.verb = example_verb});
  Tracer tracer;
  tracer.attach(sink, TimelineSink::kMask);
  run_example(tracer);
  EXPECT_TRUE(sink.finish().ok());
  EXPECT_EQ(sink.bytes(), file.str().size());
  return decode(file.str());
}

const DecodedEvent* find_event(const Decoded& decoded, std::string_view name, int type,
                               std::size_t skip = 0) {
  for (const DecodedEvent& event : decoded.events) {
    if (event.name == name && event.type == type && skip-- == 0) return &event;
  }
  return nullptr;
}

TEST(TimelineSink, HostsAreProcessesAndStagesAreThreads) {
  const Decoded decoded = draw_example();
  EXPECT_EQ(decoded.cleared, 1U);
  std::map<std::string, std::set<std::string>> threads;
  std::set<std::int32_t> tids;
  for (const auto& [uuid, track] : decoded.tracks) {
    if (track.parent == 0) continue;
    const DecodedTrack& process = decoded.tracks.at(track.parent);
    EXPECT_EQ(process.pid, track.pid);
    EXPECT_TRUE(tids.insert(track.tid).second);
    threads[process.process_name].insert(track.thread_name);
  }
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_TRUE(threads["host 0"].contains("doorbell"));
  EXPECT_TRUE(threads["host 0"].contains("doorbell 2"));  // Two doorbells at one time.
  EXPECT_TRUE(threads["host 0"].contains("operations"));
  EXPECT_TRUE(threads["host 0"].contains("events"));
  EXPECT_EQ(threads["host 1"], (std::set<std::string>{"target_pcie_write", "wire_back"}));
}

TEST(TimelineSink, SpansKeepTheirPicosecondsAndFollowTheirOperation) {
  const Decoded decoded = draw_example();
  const DecodedEvent* transmit = find_event(decoded, "nic_transmit", perfetto::kSliceBegin);
  ASSERT_NE(transmit, nullptr);
  EXPECT_EQ(transmit->timestamp, 200U);
  EXPECT_EQ(transmit->arguments.at("begin_ps"), 200'000U);
  EXPECT_EQ(transmit->arguments.at("length_ps"), 27'954U);
  const std::uint64_t first = std::uint64_t{1} << 36U;
  EXPECT_EQ(transmit->flows, std::vector<std::uint64_t>{first});
  std::size_t on_flow = 0;
  for (const DecodedEvent& event : decoded.events) {
    on_flow += event.flows == std::vector<std::uint64_t>{first} ? 1 : 0;
  }
  EXPECT_EQ(on_flow, 8U + 1 + 3);  // Spans, the operation, loss, timeout and retransmission.
  const DecodedEvent* end = find_event(decoded, "operation_end", perfetto::kInstant);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->ended_flows, std::vector<std::uint64_t>{first});
  EXPECT_EQ(end->timestamp, 1382U);
}

TEST(TimelineSink, OperationsAreSlicesWithVerbAndStatus) {
  const Decoded decoded = draw_example();
  const DecodedEvent* write = find_event(decoded, "write 64 B", perfetto::kSliceBegin);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->arguments.at("length_ps"), 1'382'000U);
  EXPECT_FALSE(write->arguments.contains("value"));
  const DecodedEvent* read = find_event(decoded, "read 8 B", perfetto::kSliceBegin);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->arguments.at("value"), 9U);
}

TEST(TimelineSink, InstantsSayInWordsWhatHappenedAndToWhat) {
  std::ostringstream file;
  TimelineSink sink(file, kibibytes(16),
                    {.status = example_status,
                     .drop_reason = [](std::uint64_t) { return std::string_view("lost"); },
                     .async_event =
                         [](std::uint64_t kind) {
                           return kind == 1 ? std::string_view("peer_unreachable") : "queue_error";
                         }});
  sink.record({.kind = EventKind::kAsyncEvent, .begin = nanoseconds(5), .a = 1, .b = 3});
  sink.record({.kind = EventKind::kAsyncEvent, .begin = nanoseconds(6), .a = 0, .b = 0});
  sink.record({.kind = EventKind::kPacketDropped, .begin = nanoseconds(7), .a = 2});
  sink.record({.kind = EventKind::kLineLost, .begin = nanoseconds(8), .a = 64, .b = 9});
  sink.record({.kind = EventKind::kStateChange, .begin = nanoseconds(9), .a = 2, .b = 4});
  EXPECT_TRUE(sink.finish().ok());
  const Decoded decoded = decode(file.str());
  const DecodedEvent* unreachable = find_event(decoded, "async_event peer_unreachable", perfetto::kInstant);
  ASSERT_NE(unreachable, nullptr);
  EXPECT_EQ(unreachable->arguments.at("queue"), 3U);
  const DecodedEvent* error = find_event(decoded, "async_event queue_error", perfetto::kInstant);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->arguments.at("queue"), 0U) << "queue 0 is one like any other";
  const DecodedEvent* dropped = find_event(decoded, "packet_dropped lost", perfetto::kInstant);
  ASSERT_NE(dropped, nullptr);
  EXPECT_EQ(dropped->arguments.size(), 2U) << "begin_ps and the reason";
  const DecodedEvent* line = find_event(decoded, "line_lost retry_exhausted", perfetto::kInstant);
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->arguments.at("value"), 64U);
  const DecodedEvent* change = find_event(decoded, "state_change", perfetto::kInstant);
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->arguments.at("value"), 2U);
  EXPECT_EQ(change->arguments.at("to"), 4U);
}

TEST(TimelineSink, ProcessAndThreadIdsAreUniqueWhateverHostsAreCalled) {
  std::ostringstream file;
  TimelineSink sink(file, kibibytes(64));
  // Ids that follow from the numbers of hosts would meet: thread ids count up from a million.
  for (const std::uint32_t host : {0U, 1'000'256U, 1'000'512U, 0xffff'ffffU, 7U}) {
    sink.record({.kind = EventKind::kSpan, .host = host, .begin = nanoseconds(0), .end = nanoseconds(5)});
  }
  EXPECT_TRUE(sink.finish().ok());
  std::set<std::int32_t> ids;
  const Decoded decoded = decode(file.str());
  EXPECT_EQ(decoded.tracks.size(), 10U);
  for (const auto& [uuid, track] : decoded.tracks) {
    const std::int32_t id = track.parent == 0 ? track.pid : track.tid;
    EXPECT_GT(id, 0);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

/// On each track every begin has its end, and slices do not overlap.
void expect_slices_pair(const Decoded& decoded) {
  std::map<std::uint64_t, std::vector<const DecodedEvent*>> by_track;
  for (const DecodedEvent& event : decoded.events) {
    if (event.type != perfetto::kInstant) by_track[event.track].push_back(&event);
  }
  for (const auto& [track, events] : by_track) {
    ASSERT_EQ(events.size() % 2, 0U);
    std::uint64_t reached = 0;
    for (std::size_t i = 0; i < events.size(); i += 2) {
      EXPECT_EQ(events[i]->type, perfetto::kSliceBegin);
      EXPECT_EQ(events[i + 1]->type, perfetto::kSliceEnd);
      EXPECT_GE(events[i]->timestamp, reached);
      EXPECT_GE(events[i + 1]->timestamp, events[i]->timestamp);
      reached = events[i + 1]->timestamp;
    }
  }
}

TEST(TimelineSink, ExampleSlicesPair) { expect_slices_pair(draw_example()); }

RC_GTEST_PROP(TimelineSink, AnySpansPairWithoutOverlap, ()) {
  std::ostringstream file;
  TimelineSink sink(file, mebibytes(4));
  const int count = *rc::gen::inRange(0, 200);
  for (int i = 0; i < count; ++i) {
    const auto begin = *rc::gen::inRange<std::int64_t>(0, 2'000'000);
    sink.record({.kind = EventKind::kSpan,
                 .stage = static_cast<Stage>(*rc::gen::inRange(0, 3)),
                 .host = *rc::gen::inRange<std::uint16_t>(0, 3),
                 .begin = picoseconds(begin),
                 .end = picoseconds(begin + *rc::gen::inRange<std::int64_t>(1, 100'000)),
                 .operation = {7}});
  }
  RC_ASSERT(sink.finish().ok());
  const Decoded decoded = decode(file.str());
  RC_ASSERT(decoded.events.size() == 2 * static_cast<std::size_t>(count));
  expect_slices_pair(decoded);
}

TEST(TimelineSink, StaysWithinItsBudgetAndSaysWhereItWasCut) {
  for (const std::uint64_t budget : {16U, 17U, 20U, 64U}) {
    std::ostringstream file;
    TimelineSink sink(file, kibibytes(budget));
    for (int i = 0; i < 10'000; ++i) {
      sink.record({.kind = EventKind::kSpan,
                   .stage = Stage::kWireForward,
                   .host = static_cast<std::uint16_t>(i % 7),
                   .begin = nanoseconds(i * 10),
                   .end = nanoseconds(i * 10 + 100)});
    }
    EXPECT_TRUE(sink.finish().ok());
    EXPECT_LE(file.str().size(), budget * 1024);
    EXPECT_GT(file.str().size(), budget * 1024 * 3 / 4);
    const Decoded decoded = decode(file.str());
    expect_slices_pair(decoded);
    const std::size_t drawn = decoded.events.size() / 2;
    EXPECT_EQ(drawn + sink.left_out(), 10'000U);
    const DecodedEvent& note = decoded.events.back();
    EXPECT_EQ(note.timestamp, drawn * 10);
    EXPECT_EQ(sink.cut_at(), nanoseconds(static_cast<std::int64_t>(drawn) * 10));
    EXPECT_EQ(note.name, "CUT: " + std::to_string(sink.left_out()) +
                             " events from here on did not fit into " + std::to_string(budget) + "KiB");
  }
}

TEST(TimelineSink, TooManySlicesAtOneTimeAreCountedNotDrawn) {
  std::ostringstream file;
  TimelineSink sink(file, mebibytes(4));
  for (int i = 0; i < 300; ++i) {
    sink.record(
        {.kind = EventKind::kSpan, .begin = nanoseconds(0), .end = nanoseconds(100), .operation = {1}});
  }
  EXPECT_TRUE(sink.finish().ok());
  EXPECT_EQ(sink.left_out(), 300U - 256U);
  EXPECT_EQ(decode(file.str()).events.back().name, "44 events were left out: too many at one time");
}

TEST(TimelineSink, EndsWithoutABeginAndUntaggedOperationsDrawNothing) {
  std::ostringstream file;
  TimelineSink sink(file, kibibytes(16));
  sink.record({.kind = EventKind::kOperationEnd, .begin = nanoseconds(5), .operation = {9}});
  sink.record({.kind = EventKind::kOperationBegin, .begin = nanoseconds(5)});
  sink.record({.kind = EventKind::kOperationEnd, .begin = nanoseconds(9)});
  EXPECT_TRUE(sink.finish().ok());
  EXPECT_TRUE(decode(file.str()).events.empty());
  EXPECT_EQ(sink.left_out(), 0U);
}

TEST(TimelineSink, AFileThatCannotBeWrittenIsAnError) {
  std::ofstream nowhere;
  TimelineSink sink(nowhere, kibibytes(16));
  const Result<void> finished = sink.finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace wharf::trace
