// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 26: latency against payload. The published model moves a message of any size as one packet
// and stores it whole at each pipeline; here messages are cut into packets of the MTU, and loads into lines.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "study/frame/three_steps.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

constexpr std::array<std::uint64_t, 7> kPayloads{8, 64, 256, 1024, 4096, 16384, 65536};
/// The largest packet of the accounting profile: larger messages are no longer one packet.
constexpr std::uint64_t kOnePacket = 4096;
constexpr double kTolerance = 0.01;
/// A published 8-byte load touches a new line every eighth time and moves 8 bytes; here a miss moves its
/// line.
constexpr double kLineTolerance = 0.02;

/// Fewer of the long transfers are enough: without contention each takes the same time.
std::uint64_t operations_for(std::uint64_t payload) { return payload >= 16384 ? 50 : 200; }

/// Loads of consecutive words: one miss per line.
RunRequest word_scan(std::string_view profile) {
  return {std::string(profile),
          std::string(kUbLoadStore),
          {"run.workload=sequential_scan", "run.access=load_store", "run.element_bytes=8B",
           "run.load_step=8B", "run.table_bytes=64KiB", "run.operations=1600"}};
}

/// Consecutive lines with as many misses in flight as the core allows: a copy of `payload` bytes by loads.
RunRequest line_copy(std::uint64_t payload, std::uint32_t misses) {
  VerbRun run{kMechanism, kUbLoadStore, "load"};
  run.operations = payload / 64;
  run.concurrency = static_cast<std::uint32_t>(std::min<std::uint64_t>(misses, run.operations));
  return request(run);
}

/// Time from the first start to the last end.
double whole_ns(const sim::RunReport& report) {
  return report.operations_per_second > 0
             ? static_cast<double>(report.program_operations) / report.operations_per_second * 1e9
             : 0;
}

/// One row: a direction, a stack and a payload.
struct Place {
  std::string_view direction;
  StackName stack;
  std::uint64_t payload;
  std::optional<std::size_t> accounting;
  std::optional<std::size_t> mechanism;
  bool copy = false;  ///< The mechanism's latency is that of a whole copy by loads.
};

/// The range declared for a 64-byte READ or load by Table 6, and what `payload` bytes add: one pass through a
/// pipeline of the profile's width, and at most a third more for headers, PCIe and the first packet that is
/// not yet overlapped.
struct Range {
  double least;
  double most;
};
Range declared(std::string_view stack, std::uint64_t payload, const sim::NicConfig& nic) {
  const double stream = as_nanoseconds(nic.cycle) * static_cast<double>(payload) / nic.bytes_per_cycle;
  const double first_packet =
      as_nanoseconds(nic.cycle) * static_cast<double>(std::min(payload, kOnePacket)) / nic.bytes_per_cycle;
  if (stack == kUbUrma) return {520 + stream, 800 + stream * 4 / 3 + first_packet};
  return {1700 + stream, 2400 + stream * 4 / 3 + first_packet};
}

class Figure26 {
 public:
  explicit Figure26(const StudyContext& context) : context_(context), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  void add_bulk_loads(Place& place);
  void add_transfers(Place& place);
  double mechanism_ns(const Place& place) const {
    return place.copy ? whole_ns(batch_[*place.mechanism]) : mean_ns(batch_[*place.mechanism]);
  }
  void judge_place(const Place& place, double paper);
  void draw(const Place& place, double paper);

  const StudyContext& context_;
  ReferenceTable published_;
  sim::HostConfig host_;
  RunBatch batch_;
  std::vector<Place> places_;
  Plot plot_{"payload",        "Bulk read, link 100 ns", "payload, bytes",        "latency, ns",
             PlotKind::kLines, AxisScale::kLogarithmic,  AxisScale::kLogarithmic, {}};
};

Result<void> Figure26::run() {
  auto published = reference(context_, "F26_payload.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  const auto parameters = load_request(context_, {std::string(kMechanism), "", {}});
  if (!parameters) return parameters.error();
  host_ = parameters->config.host;
  for (const std::string_view direction : {"bulk_read", "bulk_write"}) {
    for (const StackName& stack : kStacks) {
      for (const std::uint64_t payload : kPayloads) {
        Place place{direction, stack, payload, std::nullopt, std::nullopt};
        if (direction == "bulk_read" && stack.key == kUbLoadStore) {
          add_bulk_loads(place);
        } else {
          add_transfers(place);
        }
        if (place.accounting && place.mechanism) batch_.compare(*place.accounting, *place.mechanism);
        places_.push_back(place);
      }
    }
  }
  return batch_.run();
}

void Figure26::add_bulk_loads(Place& place) {
  if (place.payload == 8) {
    place.accounting = batch_.add(word_scan(kAccounting));
    place.mechanism = batch_.add(word_scan(kMechanism));
  } else if (place.payload == 64) {
    place.accounting = batch_.add(request({kAccounting, place.stack.key, "load"}));
    place.mechanism = batch_.add(request({kMechanism, place.stack.key, "load"}));
  } else {
    place.mechanism = batch_.add(line_copy(place.payload, host_.core.outstanding_misses));
    place.copy = true;
  }
}

void Figure26::add_transfers(Place& place) {
  const bool reads = place.direction == "bulk_read";
  const std::string_view stack = place.stack.key;
  const bool entry_fetched = reads && stack == kRoceBlueFlame && place.payload > host_.nic.inline_limit;
  VerbRun run{later_accounting(stack), entry_fetched ? kRoceDma : stack, reads ? "read" : "write",
              place.payload, operations_for(place.payload)};
  place.accounting = batch_.add(request(run));
  run.profile = kMechanism;
  run.stack = stack;
  place.mechanism = batch_.add(request(run));
}

Result<void> Figure26::judge() {
  result.columns = {{"workload", "workload", 0},
                    {"stack", "stack", 0},
                    {"payload_bytes", "payload B", 0},
                    {"paper_ns", "published ns", 1},
                    {"accounting_ns", "accounting ns", 1},
                    {"mechanism_ns", "mechanism ns", 1},
                    {"mechanism_deviation_percent", "off by %", 1}};
  for (const Place& place : places_) {
    const std::string series = fmt::format("{} {}", place.direction, place.stack.artifact);
    const auto paper = published_.at(series, fmt::format("{}", place.payload));
    if (!paper) return paper.error();
    judge_place(place, *paper);
    if (place.direction == "bulk_read") draw(place, *paper);
  }
  result.plots = {plot_};
  return {};
}

void Figure26::judge_place(const Place& place, double paper) {
  const std::string_view stack = place.stack.key;
  const bool reads = place.direction == "bulk_read";
  Json row{{"workload", place.direction},
           {"stack", stack},
           {"payload_bytes", place.payload},
           {"paper_ns", paper},
           {"accounting_ns", nullptr},
           {"mechanism_ns", mechanism_ns(place)},
           {"mechanism_deviation_percent", deviation_percent(mechanism_ns(place), paper)}};
  const std::string what = fmt::format("{} {} {} B", place.direction, stack, place.payload);
  if (place.accounting) {
    const double accounting_ns = mean_ns(batch_[*place.accounting]);
    row["accounting_ns"] = accounting_ns;
    const bool words = stack == kUbLoadStore && reads && place.payload == 8;
    if (place.payload <= kOnePacket) {
      result.checks.push_back(within(what, accounting_ns, paper, words ? kLineTolerance : kTolerance));
    }
  }
  if (reads && (stack == kUbUrma || stack == kRoceDma) && place.payload >= 64) {
    const Range range = declared(stack, place.payload, host_.nic);
    result.checks.push_back(between(what, mechanism_ns(place), range.least, range.most));
  }
  result.rows.push_back(std::move(row));
}

void Figure26::draw(const Place& place, double paper) {
  const std::string name(place.stack.key);
  if (place.payload == kPayloads.front()) {
    plot_.series.push_back(published_series(name));
    plot_.series.push_back(mechanism_series(name));
  }
  const auto x = static_cast<double>(place.payload);
  plot_.series[plot_.series.size() - 2].points.push_back({x, paper, ""});
  plot_.series.back().points.push_back({x, mechanism_ns(place), ""});
}

Result<void> Figure26::tell() {
  const auto mechanism_at = [this](std::string_view stack, std::uint64_t payload) {
    const auto place = std::find_if(places_.begin(), places_.end(), [&](const Place& each) {
      return each.direction == "bulk_read" && each.stack.key == stack && each.payload == payload;
    });
    return mechanism_ns(*place);
  };
  const auto spread = published_.at("max spread at 16-64 KB", "");
  const auto published_load = published_.at("bulk_read ub_loadstore", "65536");
  const auto published_dma = published_.at("bulk_read roce_dma", "65536");
  if (!spread) return spread.error();
  if (!published_load) return published_load.error();
  if (!published_dma) return published_dma.error();
  const double urma = mechanism_at(kUbUrma, 65536);
  const double dma = mechanism_at(kRoceDma, 65536);
  result.sentences = {
      fmt::format(
          "The text lets all stacks meet within {:.0f} % at 16 to 64 KiB; its own result files are {:.0f} % "
          "apart at "
          "64 KiB, where the 32-byte pipeline, not the link, sets the pace. By mechanism packets stream, so "
          "64 KiB "
          "take {:.0f} ns (URMA) and {:.0f} ns (RoCE DMA) instead of {:.0f}, and stay {:.0f} % apart: the "
          "difference of the first byte does not shrink.",
          *spread, deviation_percent(*published_dma, *published_load), urma, dma, *published_dma,
          deviation_percent(dma, urma)),
      fmt::format("The accounting reproduces messages of one packet (up to {} B); beyond, it has no "
                  "counterpart in packets, and "
                  "its column shows the same serial rules applied to packets of the MTU. A load of more than "
                  "one line does "
                  "not exist: published, it costs one round trip; here 64 KiB are {} loads, {} at a time, "
                  "and take {:.0f} ns.",
                  kOnePacket, 65536 / 64, host_.core.outstanding_misses, mechanism_at(kUbLoadStore, 65536))};
  result.rules = {
      {"model.stack", "roce_dma above nic.inline_limit", "roce_bf",
       "the published BlueFlame READ has its entry fetched when it asks for more than an entry could hold"}};
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure26(const StudyContext& context) { return in_three_steps<Figure26>(context); }

}  // namespace wharf::study::openurma
