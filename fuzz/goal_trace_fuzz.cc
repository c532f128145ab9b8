// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of GOAL traces: it refuses with a sentence that begins with the file's name, or
// gives a program that runs to its end, here over a network that takes a nanosecond for each message.
// LINK: wharf_workload
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "workload/goal_trace.h"
#include "workload/rank_run.h"

namespace {

using wharf::TimePs;
using wharf::workload::RankProgram;
using wharf::workload::RankRun;

/// Goes from instant to instant until nobody wants any more.
void run(const RankProgram& program) {
  std::vector<RankRun> ranks;
  for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) ranks.emplace_back(program, rank);
  std::vector<std::uint32_t> under_way;
  for (TimePs now{}; now != wharf::kNever;) {
    for (const std::uint32_t flow : std::exchange(under_way, {})) {
      ranks[program.rank_of(program.messages[flow].receive)].received(now, flow);
      ranks[program.rank_of(program.messages[flow].send)].sent(now, flow);
    }
    TimePs next = wharf::kNever;
    for (RankRun& rank : ranks) {
      rank.advance(now);
      under_way.insert(under_way.end(), rank.starting().begin(), rank.starting().end());
      rank.starting().clear();
      next = wharf::min(next, rank.next_time());
    }
    if (!under_way.empty() && now < wharf::kNever - wharf::nanoseconds(2))
      next = wharf::min(next, now + wharf::nanoseconds(1));
    WHARF_CHECK(next == wharf::kNever || next > now);
    if (next == wharf::kNever - wharf::picoseconds(1)) return;  // Past all that time can say.
    now = next;
  }
  for (const RankRun& rank : ranks) WHARF_CHECK(rank.done() && rank.finish() != wharf::kNever);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list =
      wharf::workload::read_goal_trace({reinterpret_cast<const char*>(data), size}, "fuzz.goal");
  if (!list) {
    WHARF_CHECK(list.error().message.starts_with("fuzz.goal:"));
    WHARF_CHECK(list.error().message.find('\n') == std::string::npos);
    return 0;
  }
  WHARF_CHECK(list->ranks.messages.size() == list->flows.size());
  for (const wharf::workload::Flow& flow : list->flows) {
    WHARF_CHECK(flow.source != flow.destination && flow.destination < list->ranks.ranks());
    WHARF_CHECK(flow.bytes > 0 && flow.bytes <= wharf::workload::kFlowBytesMax);
  }
  if (list->ranks.ranks() <= 64) run(list->ranks);
  return 0;
}
