// SPDX-License-Identifier: Apache-2.0
#include "trace/waterfall.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/golden_test_support.h"

namespace wharf::trace {
namespace {

struct Step {
  Stage stage;
  std::int64_t begin_ps;
  std::int64_t end_ps;
};

/// Draws an operation that starts at 5 us and takes `latency_ps`.
std::string draw(std::string_view title, std::int64_t latency_ps, const std::vector<Step>& steps,
                 const WaterfallOptions& options = {}) {
  const TimePs start = microseconds(5);
  Attribution attribution;
  const auto operation = attribution.begin(start);
  for (const Step& step : steps) {
    attribution.span(operation, step.stage, start + picoseconds(step.begin_ps),
                     start + picoseconds(step.end_ps));
  }
  const OperationPath& path = attribution.end(operation, start + picoseconds(latency_ps));
  return draw_waterfall(title, {attribution.last_spans(), attribution.last_begin(), path.latency}, options);
}

/// A read over PCIe whose response write overlaps with its completion write.
const std::vector<Step> kRead{
    {Stage::kLibraryPost, 0, 50'000},
    {Stage::kWorkRequestBuild, 50'000, 80'000},
    {Stage::kDoorbell, 80'000, 230'000},
    {Stage::kWorkRequestFetch, 230'000, 730'000},
    {Stage::kNicTransmit, 730'000, 757'954},
    {Stage::kWireForward, 757'954, 859'234},
    {Stage::kNicReceive, 859'234, 887'188},
    {Stage::kTargetPcieRead, 887'188, 1'387'188},
    {Stage::kTargetMemory, 1'387'188, 1'417'188},
    {Stage::kNicTransmitResponse, 1'417'188, 1'448'248},
    {Stage::kWireBack, 1'448'248, 1'550'808},
    {Stage::kNicReceiveResponse, 1'550'808, 1'578'762},
    {Stage::kResponseWrite, 1'578'762, 1'828'762},
    {Stage::kCompletionWrite, 1'581'000, 1'831'000},
    {Stage::kCompletionPoll, 1'831'000, 1'901'000},
    {Stage::kLibraryPoll, 1'901'000, 1'931'000},
};

/// A request over two links of a fabric, and one link that nobody has named.
TEST(Waterfall, SpansAtNamedPlacesHaveRowsOfTheirOwn) {
  Attribution attribution;
  const auto operation = attribution.begin(kTimeZero);
  const auto cross = [&](std::int64_t begin_ns, std::int64_t end_ns, Stage stage, Place place) {
    attribution.add(
        {operation, nanoseconds(begin_ns), nanoseconds(end_ns), nanoseconds(begin_ns), stage, place});
  };
  cross(0, 100, Stage::kWireForward, 1);
  cross(100, 150, Stage::kLinkQueue, 2);
  cross(150, 250, Stage::kWireForward, 2);
  cross(250, 400, Stage::kWireForward, 3);
  const OperationPath& path = attribution.end(operation, nanoseconds(400));
  const std::vector<std::string> places{"host0-leaf0", "leaf0-host1"};
  const std::string text =
      draw_waterfall("write", {attribution.last_spans(), attribution.last_begin(), path.latency, places},
                     {Glyphs::kAscii, 80});
  for (const char* row :
       {"wire_forward host0-leaf0       0.0    100.0", "link_queue leaf0-host1       100.0     50.0",
        "wire_forward leaf0-host1     150.0    100.0", "wire_forward                 250.0    150.0"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
  }
}

TEST(Waterfall, DrawsAReadWithItsOverlap) {
  expect_golden("trace/waterfall_read.txt", draw("roce_dma read 64 B", 1'931'000, kRead));
}

TEST(Waterfall, DrawsInAscii) {
  expect_golden("trace/waterfall_read_ascii.txt",
                draw("roce_dma read 64 B", 1'931'000, kRead, {.glyphs = Glyphs::kAscii}));
}

TEST(Waterfall, JoinsSpansOfOneStageAndShowsHoles) {
  std::vector<Step> steps{{Stage::kSubmitBus, 0, 30'000}};
  for (int packet = 0; packet < 4; ++packet) {
    steps.push_back({Stage::kNicTransmit, 30'000 + packet * 100'000, 110'000 + packet * 100'000});
    steps.push_back({Stage::kWireForward, 110'000 + packet * 100'000, 210'000 + packet * 100'000});
  }
  steps.push_back({Stage::kCompleteBus, 540'000, 570'000});
  expect_golden("trace/waterfall_holes.txt",
                draw("ub_urma write 4 KiB", 570'000, steps, {.glyphs = Glyphs::kAscii}));
}

TEST(Waterfall, LongOperationsAreInMicroseconds) {
  const std::string text = draw("loss", 3'000'000'000, {{Stage::kRetransmissionWait, 0, 3'000'000'000}});
  EXPECT_NE(text.find("loss: 3000.0 us"), std::string::npos) << text;
}

TEST(Waterfall, AnOperationWithoutSpansIsAllUnattributed) {
  const std::string text = draw("nothing", 100'000, {}, {.glyphs = Glyphs::kAscii});
  EXPECT_NE(text.find("UNATTRIBUTED"), std::string::npos);
  EXPECT_NE(text.find("? unattributed                       100.0 ns"), std::string::npos) << text;
}

std::size_t columns(std::string_view line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

RC_GTEST_PROP(Waterfall, NeverWiderThanAsked, ()) {
  const auto latency = *rc::gen::inRange<std::int64_t>(1, 900'000);
  std::vector<Step> steps;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    const auto begin = *rc::gen::inRange<std::int64_t>(0, 900'000);
    steps.push_back({static_cast<Stage>(*rc::gen::inRange(0, kStageCount)), begin,
                     begin + *rc::gen::inRange<std::int64_t>(1, 200'000)});
  }
  const int width = *rc::gen::inRange(60, 140);
  const std::string text = draw("any", latency, steps, {.columns = width});
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    RC_ASSERT(columns(std::string_view(text).substr(at, end - at)) <= static_cast<std::size_t>(width));
    at = end + 1;
  }
}

}  // namespace
}  // namespace wharf::trace
