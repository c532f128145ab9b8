// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 26: latency against payload. The published model moves a message of any size as one packet
// and stores it whole at each pipeline; here messages are cut into packets of the MTU, and loads into lines.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "study/openurma.h"

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

}  // namespace

Result<StudyResult> figure26(const StudyContext& context) {
  const auto published = reference(context, "F26_payload.csv");
  if (!published) return published.error();
  const auto parameters = load_request(context, {std::string(kMechanism), "", {}});
  if (!parameters) return parameters.error();
  const sim::HostConfig& host = parameters->config.host;

  RunBatch batch(context);
  std::vector<Place> places;
  for (const std::string_view direction : {"bulk_read", "bulk_write"}) {
    const bool reads = direction == "bulk_read";
    for (const StackName& stack : kStacks) {
      for (const std::uint64_t payload : kPayloads) {
        Place place{direction, stack, payload, std::nullopt, std::nullopt};
        if (reads && stack.key == kUbLoadStore) {
          if (payload == 8) {
            place.accounting = batch.add(word_scan(kAccounting));
            place.mechanism = batch.add(word_scan(kMechanism));
          } else if (payload == 64) {
            place.accounting = batch.add(request({kAccounting, stack.key, "load"}));
            place.mechanism = batch.add(request({kMechanism, stack.key, "load"}));
          } else {
            place.mechanism = batch.add(line_copy(payload, host.core.outstanding_misses));
            place.copy = true;
          }
        } else {
          const bool entry_fetched = reads && stack.key == kRoceBlueFlame && payload > host.nic.inline_limit;
          VerbRun run{later_accounting(stack.key), entry_fetched ? kRoceDma : stack.key,
                      reads ? "read" : "write", payload, operations_for(payload)};
          place.accounting = batch.add(request(run));
          run.profile = kMechanism;
          run.stack = stack.key;
          place.mechanism = batch.add(request(run));
        }
        if (place.accounting && place.mechanism) batch.compare(*place.accounting, *place.mechanism);
        places.push_back(place);
      }
    }
  }
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {{"workload", "workload", 0},
                    {"stack", "stack", 0},
                    {"payload_bytes", "payload B", 0},
                    {"paper_ns", "published ns", 1},
                    {"accounting_ns", "accounting ns", 1},
                    {"mechanism_ns", "mechanism ns", 1},
                    {"mechanism_deviation_percent", "off by %", 1}};
  Plot plot{
      "payload", "Bulk read, link 100 ns", "payload, bytes", "latency, ns", PlotKind::kLines, true, true, {}};
  const auto mechanism_of = [&batch](const Place& place) {
    return place.copy ? whole_ns(batch[*place.mechanism]) : mean_ns(batch[*place.mechanism]);
  };
  for (const Place& place : places) {
    const std::string series = fmt::format("{} {}", place.direction, place.stack.artifact);
    const auto paper = published->at(series, fmt::format("{}", place.payload));
    if (!paper) return paper.error();
    const double mechanism_ns = mechanism_of(place);
    Json row{{"workload", place.direction},
             {"stack", place.stack.key},
             {"payload_bytes", place.payload},
             {"paper_ns", *paper},
             {"accounting_ns", nullptr},
             {"mechanism_ns", mechanism_ns},
             {"mechanism_deviation_percent", deviation_percent(mechanism_ns, *paper)}};
    const std::string what = fmt::format("{} {} {} B", place.direction, place.stack.key, place.payload);
    if (place.accounting) {
      const double accounting_ns = mean_ns(batch[*place.accounting]);
      row["accounting_ns"] = accounting_ns;
      const bool words =
          place.stack.key == kUbLoadStore && place.direction == "bulk_read" && place.payload == 8;
      if (place.payload <= kOnePacket) {
        result.checks.push_back(within(what, accounting_ns, *paper, words ? kLineTolerance : kTolerance));
      }
    }
    if (place.direction == "bulk_read") {
      if ((place.stack.key == kUbUrma || place.stack.key == kRoceDma) && place.payload >= 64) {
        const Range range = declared(place.stack.key, place.payload, host.nic);
        result.checks.push_back(between(what, mechanism_ns, range.least, range.most));
      }
      const std::string name(place.stack.key);
      if (place.payload == kPayloads.front()) {
        plot.series.push_back({"published " + name, {}});
        plot.series.push_back({"mechanism " + name, {}});
      }
      const auto x = static_cast<double>(place.payload);
      plot.series[plot.series.size() - 2].points.push_back({x, *paper, ""});
      plot.series.back().points.push_back({x, mechanism_ns, ""});
    }
    result.rows.push_back(std::move(row));
  }
  result.plots = {plot};

  const auto mechanism_at = [&](std::string_view stack, std::uint64_t payload) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& each) {
      return each.direction == "bulk_read" && each.stack.key == stack && each.payload == payload;
    });
    return mechanism_of(*place);
  };
  const auto spread = published->at("max spread at 16-64 KB", "");
  const auto published_load = published->at("bulk_read ub_loadstore", "65536");
  const auto published_dma = published->at("bulk_read roce_dma", "65536");
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
                  kOnePacket, 65536 / 64, host.core.outstanding_misses, mechanism_at(kUbLoadStore, 65536))};
  result.rules = {
      {"model.stack", "roce_dma above nic.inline_limit", "roce_bf",
       "the published BlueFlame READ has its entry fetched when it asks for more than an entry could hold"}};
  WHARF_TRY(conclude(batch, result));
  return result;
}

}  // namespace wharf::study::openurma
