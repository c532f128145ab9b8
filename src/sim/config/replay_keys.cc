// SPDX-License-Identifier: Apache-2.0
#include "sim/config/replay_keys.h"

#include <array>
#include <charconv>
#include <string_view>

namespace wharf::sim {
namespace {

constexpr std::array<Choice<PlacementRule>, 6> kPlacements{{
    {"none", PlacementRule::kNone},
    {"all", PlacementRule::kAll},
    {"heap", PlacementRule::kHeap},
    {"stack", PlacementRule::kStack},
    {"ranges", PlacementRule::kRanges},
    {"fraction", PlacementRule::kFraction},
}};
constexpr std::array<Choice<PlacementGranule>, 2> kGranules{{
    {"page", PlacementGranule::kPage},
    {"line", PlacementGranule::kLine},
}};
constexpr std::array<Choice<MissOverlap>, 3> kOverlaps{{
    {"none", MissOverlap::kNone},
    {"stores", MissOverlap::kStores},
    {"all", MissOverlap::kAll},
}};
constexpr std::array<Choice<FarMemory>, 2> kFarMemories{{
    {"lines", FarMemory::kLines},
    {"paged", FarMemory::kPaged},
}};
constexpr std::array<Choice<PageReadRule>, 2> kPageReads{{
    {"critical_page_first", PageReadRule::kCriticalPageFirst},
    {"whole_window", PageReadRule::kWholeWindow},
}};
constexpr std::array<Choice<PageWriteBackRule>, 2> kPageWriteBacks{{
    {"dirty_pages", PageWriteBackRule::kDirtyPages},
    {"none", PageWriteBackRule::kNone},
}};

/// Reads "0x1000-0x2000,0x8000-0x9000" (hexadecimal, end exclusive).
bool parse_ranges(std::string_view text, std::vector<AddressRange>& out) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const auto dash = part.find('-');
    if (dash == std::string_view::npos) return false;
    AddressRange range;
    const auto read = [](std::string_view digits, std::uint64_t& value) {
      if (digits.starts_with("0x")) digits.remove_prefix(2);
      const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      return status == std::errc{} && end == digits.data() + digits.size();
    };
    if (!read(part.substr(0, dash), range.first) || !read(part.substr(dash + 1), range.end)) return false;
    if (range.first >= range.end) return false;
    out.push_back(range);
  }
  return !out.empty();
}

}  // namespace

void bind_replay_run(Binder& binder, ReplayConfig& replay, bool active) {
  const Binder::Section section(binder, "", active, "only with run.workload = \"replay\"");
  binder.text("trace", replay.trace,
              "the recorded memory trace: lackey text, plain or compressed, or wharf's binary form");
  binder.choice<PlacementRule>("remote", replay.placement.rule, kPlacements,
                               "which addresses lie on the other machine");
  {
    const Binder::Section ranges(binder, "", replay.placement.rule == PlacementRule::kRanges,
                                 "only with run.remote = \"ranges\"");
    std::string text;
    binder.text("ranges", text, "remote address ranges, as 0x1000-0x2000,0x8000-0x9000 (end exclusive)");
    if (!text.empty() && !parse_ranges(text, replay.placement.ranges)) {
      binder.refuse_last(
          "hexadecimal ranges such as 0x1000-0x2000,0x8000-0x9000, each with its end above its begin");
    }
  }
  {
    const Binder::Section fraction(binder, "", replay.placement.rule == PlacementRule::kFraction,
                                   "only with run.remote = \"fraction\"");
    binder.probability("fraction", replay.placement.fraction, "share of all granules that is remote");
    binder.choice<PlacementGranule>("granule", replay.placement.granule, kGranules,
                                    "what the fraction is drawn by");
  }
  binder.integer("warm_up_accesses", replay.core.warm_up_accesses, "accesses replayed but not counted");
  binder.probability("warm_up", replay.warm_up_fraction,
                     "share of the trace that is replayed but not counted; binary traces only");
}

void bind_replay_model(Binder& binder, ReplayConfig& replay, bool active) {
  {
    const Binder::Section section(binder, "replay", active, "only with run.workload = \"replay\"");
    binder.integer("core_hertz", replay.core.core_hertz, "clock of the core", 1'000'000, 100'000'000'000);
    binder.integer("cycles_per_1000_instructions", replay.core.cycles_per_1000_instructions,
                   "without the time that memory takes", 0, 1'000'000);
    binder.choice<MissOverlap>("overlap", replay.core.overlap, kOverlaps,
                               "what may go on while a miss is under way");
    binder.integer("write_slots", replay.core.write_slots, "lines or stores being written at a time", 3, 64);
    {
      const Binder::Section window(binder, "", replay.core.overlap == MissOverlap::kAll,
                                   "only with model.replay.overlap = \"all\"");
      binder.integer("window_instructions", replay.core.window_instructions, "instruction window", 1,
                     1'000'000);
    }
    binder.choice<FarMemory>("far_memory", replay.far_memory, kFarMemories,
                             "whether far memory is reached by lines or by paging");
  }
  const Binder::Section section(binder, "paging", active && replay.far_memory == FarMemory::kPaged,
                                "only with model.replay.far_memory = \"paged\"");
  binder.time("fault_cost", replay.paging.fault_cost, "kernel time of a fault before the transfer starts");
  binder.integer("resident_pages", replay.paging.resident_pages, "local frames of 4 KiB", 2,
                 std::int64_t{1} << 26);
  binder.integer("window_pages", replay.paging.window_pages, "the demanded page and those fetched after it",
                 1, 64);
  {
    const Binder::Section several(binder, "", replay.paging.window_pages > 1,
                                  "only with model.paging.window_pages above 1");
    binder.choice<PageReadRule>("read", replay.paging.read, kPageReads,
                                "in which order a window's pages arrive");
  }
  binder.choice<PageWriteBackRule>("write_back", replay.paging.write_back, kPageWriteBacks,
                                   "whether evicted dirty pages are written back");
  binder.integer("outstanding_writes", replay.paging.outstanding_writes, "pages being written back at a time",
                 1, 4096);
}

}  // namespace wharf::sim
