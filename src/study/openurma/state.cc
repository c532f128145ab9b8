// SPDX-License-Identifier: Apache-2.0
// OpenURMA Tables 4 and 5 and Figure 13: bytes of NIC state. Every size is that of the record which the
// engines' context caches store and refill, so it cannot drift from what is simulated; which of its bytes
// hold a value that the engines keep, and which are only reserved, stands beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "engine/roce/memory_key_table.h"
#include "engine/roce/queue_pair.h"
#include "engine/ub/context_records.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

template <typename Record, typename Member>
constexpr std::size_t bytes_of(Member Record::*) {
  return sizeof(Member);
}
template <typename Record, typename... Members>
constexpr std::size_t bytes_of_all(Members Record::*... members) {
  return (bytes_of(members) + ...);
}

/// A published field and the bytes that the record here spends on it.
struct Field {
  std::string_view series;  ///< Record, as the reference file names it.
  std::string_view x;       ///< Field.
  std::size_t bytes;
  std::string_view note;
  std::size_t reserved = 0;  ///< Of `bytes`: part of the record, but no engine keeps a value there.
};

using Jetty = ub::JettyRecord;
using Full = ub::JettyFullRecord;
using Channel = ub::TpChannelRecord;
using Mr = ub::MrRecord;
using Pair = roce::QueuePairContext;

constexpr std::array<Field, 43> kFields{{
    {"Jetty MVP", "jetty_id", bytes_of(&Jetty::jetty_id), ""},
    {"Jetty MVP", "token_value", bytes_of(&Jetty::token), ""},
    {"Jetty MVP", "jfc_id", bytes_of(&Jetty::jfc_id), ""},
    {"Jetty MVP", "type", bytes_of(&Jetty::type), ""},
    {"Jetty MVP", "state", bytes_of(&Jetty::state), ""},
    {"Jetty MVP", "valid", bytes_of(&Jetty::valid), ""},
    {"Jetty MVP", "align pad", bytes_of(&Jetty::pad), "", bytes_of(&Jetty::pad)},
    {"Jetty MVP", "Total", sizeof(Jetty), ""},
    {"Jetty full", "+ base",
     bytes_of_all(&Full::jetty_id, &Full::token, &Full::jfc_id, &Full::type, &Full::state, &Full::valid),
     "the published base includes its 5 bytes of padding"},
    {"Jetty full", "+ sq/rq handle", bytes_of_all(&Full::send_queue, &Full::receive_queue), "",
     bytes_of_all(&Full::send_queue, &Full::receive_queue)},
    {"Jetty full", "+ jfae_id", bytes_of(&Full::event_queue), "", bytes_of(&Full::event_queue)},
    {"Jetty full", "+ public/owner", bytes_of(&Full::owner), "", bytes_of(&Full::owner)},
    {"Jetty full", "+ drain bookkeeping", bytes_of_all(&Full::pending_completions, &Full::drain_pointer),
     "two 16-bit numbers suffice", bytes_of_all(&Full::pending_completions, &Full::drain_pointer)},
    {"Jetty full", "+ exception mode", bytes_of(&Full::exception_mode), "", bytes_of(&Full::exception_mode)},
    {"Jetty full", "+ fault counter", bytes_of(&Full::fault_counter), "", bytes_of(&Full::fault_counter)},
    {"Jetty full", "+ mr_perm idx", bytes_of(&Full::permission_index), "", bytes_of(&Full::permission_index)},
    {"Jetty full", "+ group back-ptr", bytes_of(&Full::group), "", bytes_of(&Full::group)},
    {"Jetty full", "+ align", bytes_of(&Full::pad), "published as -3: what padding the base no longer needs",
     bytes_of(&Full::pad)},
    {"Jetty full", "Total", sizeof(Full), ""},
    {"TP Channel", "remote_cna", bytes_of(&Channel::remote_cna), ""},
    {"TP Channel", "local/remote tpn", bytes_of_all(&Channel::local_tpn, &Channel::remote_tpn), ""},
    {"TP Channel", "psn_next", bytes_of(&Channel::psn_next), ""},
    {"TP Channel", "tpmsn_next", bytes_of(&Channel::tpmsn_next), ""},
    {"TP Channel", "last_acked", bytes_of(&Channel::last_acked), ""},
    {"TP Channel", "flags", bytes_of_all(&Channel::utp_only, &Channel::valid), "",
     bytes_of(&Channel::utp_only)},
    {"TP Channel", "epsn", bytes_of(&Channel::expected_psn), ""},
    {"TP Channel", "emsn", bytes_of(&Channel::expected_msn), ""},
    {"TP Channel", "base_psn", bytes_of(&Channel::base_psn), ""},
    {"TP Channel", "sack_bitmap", bytes_of(&Channel::bitmap), ""},
    {"TP Channel", "max_rcv_psn", bytes_of(&Channel::max_received), ""},
    {"TP Channel", "mode flags", bytes_of_all(&Channel::ordered_by_lower_layer, &Channel::out_of_order), "",
     bytes_of(&Channel::ordered_by_lower_layer)},
    {"TP Channel", "align pad", bytes_of_all(&Channel::transmit_epoch, &Channel::receive_epoch),
     "holds the upper halves of the packet numbers"},
    {"TP Channel", "Total", sizeof(Channel), ""},
    {"MR record", "token_id", bytes_of(&Mr::token_id), ""},
    {"MR record", "token_value", bytes_of(&Mr::token_value), ""},
    {"MR record", "va_base", bytes_of(&Mr::va), ""},
    {"MR record", "hbm_offset", bytes_of(&Mr::offset), ""},
    {"MR record", "length", bytes_of(&Mr::length), ""},
    {"MR record", "perm+valid", bytes_of(&Mr::permissions), ""},
    {"MR record", "padding", bytes_of(&Mr::space), "holds the number of the address space"},
    {"MR record", "Total", sizeof(Mr), ""},
    {"Jetty Group", "8-member group", sizeof(ub::JettyGroupRecord), "its size is fixed, nothing uses it",
     sizeof(ub::JettyGroupRecord)},
    {"RoCE QP", "Total", sizeof(Pair), "a vendor's inclusive figure", bytes_of(&Pair::unmodelled)},
}};

/// Bytes of `field`, or of the whole record when it is a total, in which the engines keep a value.
std::size_t used_bytes(const Field& field) {
  std::size_t reserved = field.reserved;
  if (field.x == "Total") {
    for (const Field& part : kFields) {
      if (part.series == field.series && part.x != "Total") reserved += part.reserved;
    }
  }
  return field.bytes - reserved;
}
const Field& total_of(std::string_view series) {
  return *std::find_if(kFields.begin(), kFields.end(), [series](const Field& field) {
    return field.series == series && (field.x == "Total" || series == "Jetty Group");
  });
}

/// One point of the state scaling: endpoints per host and hosts.
struct Scale {
  std::uint64_t jetties;
  std::uint64_t hosts;
};

std::uint64_t ub_bytes(Scale at, std::size_t jetty_bytes) {
  return at.jetties * (jetty_bytes + sizeof(Mr)) + at.hosts * sizeof(Channel);
}
std::uint64_t roce_bytes(Scale at) {
  return at.jetties * at.hosts * sizeof(Pair) + at.jetties * sizeof(roce::MemoryKeyRecord);
}
/// RoCE with one queue pair per host that all endpoints share, as XRC and dynamically connected transports
/// do.
std::uint64_t roce_shared_bytes(Scale at) {
  return at.hosts * sizeof(Pair) + at.jetties * sizeof(roce::MemoryKeyRecord);
}

std::string place(Scale at) { return fmt::format("({},{})", at.jetties, at.hosts); }

Json scale_row(Scale at) {
  const std::uint64_t small = ub_bytes(at, sizeof(Jetty));
  return {{"jetties", at.jetties},
          {"hosts", at.hosts},
          {"ub_bytes", small},
          {"ub_full_bytes", ub_bytes(at, sizeof(Full))},
          {"roce_bytes", roce_bytes(at)},
          {"roce_shared_bytes", roce_shared_bytes(at)},
          {"ratio", static_cast<double>(roce_bytes(at)) / static_cast<double>(small)}};
}

/// The published values are exact in the artifact and rounded in the paper.
Result<void> judge_scale(const ReferenceTable& published, Scale at, StudyResult& result) {
  struct Expectation {
    std::string_view series;
    std::uint64_t bytes;
  };
  for (const Expectation& each : {Expectation{"OpenURMA MVP", ub_bytes(at, sizeof(Jetty))},
                                  Expectation{"OpenURMA full", ub_bytes(at, sizeof(Full))}}) {
    const auto value = published.at(each.series, place(at));
    if (!value) return value.error();
    result.checks.push_back(
        within(fmt::format("{} {}", each.series, place(at)), static_cast<double>(each.bytes), *value, 0));
  }
  return {};
}

/// The points of Figure 13, on whose diagonal Table 5 lies.
constexpr std::array<std::uint64_t, 5> kCounts{1, 8, 64, 256, 1024};

double ratio(std::uint64_t roce, std::uint64_t ub) {
  return static_cast<double>(roce) / static_cast<double>(ub);
}

std::string sharing_sentence() {
  const Scale most{kCounts.back(), kCounts.back()};
  double least_ratio = 1e12;
  double most_ratio = 0;
  for (const std::uint64_t count : kCounts) {
    for (const Scale& at : {Scale{1, count}, Scale{count, 1}}) {
      const double each = ratio(roce_bytes(at), ub_bytes(at, sizeof(Jetty)));
      least_ratio = std::min(least_ratio, each);
      most_ratio = std::max(most_ratio, each);
    }
  }
  return fmt::format(
      "At {} endpoints and as many hosts the ratio is {:.0f}; it compares state per pair of endpoint and "
      "host with "
      "state per endpoint plus state per host. With queue pairs that all endpoints of a host share, RoCE "
      "would hold "
      "{:.1f} times as much as UB, and with one endpoint or one host the ratio is {:.1f} to {:.1f}.",
      most.jetties, ratio(roce_bytes(most), ub_bytes(most, sizeof(Jetty))),
      ratio(roce_shared_bytes(most), ub_bytes(most, sizeof(Jetty))), least_ratio, most_ratio);
}

/// Which bytes of the records are in use, and what follows for the sums.
std::string reserved_sentence() {
  std::string text;
  for (const std::string_view series :
       {"Jetty MVP", "Jetty full", "TP Channel", "MR record", "Jetty Group", "RoCE QP"}) {
    const Field& total = total_of(series);
    text += fmt::format("{}{} {} of {}", text.empty() ? "" : ", ", series, used_bytes(total), total.bytes);
  }
  return fmt::format(
      "Bytes in which the engines keep a value: {}. The rest is reserved, as the published records and the "
      "vendor's "
      "figure have it, and counts in every sum on both sides.",
      text);
}

std::string records_sentence() {
  return "Both sides count context records alone, which is what a context cache holds; packets in flight, "
         "reorder and "
         "retransmission slots and queues come on top and are listed by `wharf state`.";
}

}  // namespace

Result<StudyResult> table4(const StudyContext& context) {
  const auto published = reference(context, "T4_state_fields.csv");
  if (!published) return published.error();
  StudyResult result;
  result.columns = {{"record", "record", 0}, {"field", "field", 0},         {"paper_bytes", "published B", 0},
                    {"bytes", "here B", 0},  {"used_bytes", "in use B", 0}, {"note", "note", 0}};
  std::size_t differing = 0;
  for (const Field& field : kFields) {
    const auto paper = published->find(field.series, field.x);
    result.rows.push_back({{"record", field.series},
                           {"field", field.x},
                           {"paper_bytes", json_or_null(paper)},
                           {"bytes", field.bytes},
                           {"used_bytes", used_bytes(field)},
                           {"note", field.note}});
    if (paper && *paper != static_cast<double>(field.bytes)) ++differing;
    const bool total = field.x == "Total" || field.x == "8-member group";
    if (total && paper) {
      result.checks.push_back(
          within(fmt::format("{} {}", field.series, field.x), static_cast<double>(field.bytes), *paper, 0));
    }
  }
  result.sentences = {
      fmt::format("Here every size is that of a member of the record which a context cache stores and "
                  "refills. {} of {} rows differ from the published ones.",
                  differing, kFields.size()),
      reserved_sentence(), records_sentence()};
  return result;
}

Result<StudyResult> table5(const StudyContext& context) {
  const auto published = reference(context, "T5_F13_state_scaling.csv");
  if (!published) return published.error();
  StudyResult result;
  result.columns = {{"jetties", "endpoints", 0},         {"hosts", "hosts", 0},
                    {"paper_ub_bytes", "paper UB B", 0}, {"ub_bytes", "UB B", 0},
                    {"ub_full_bytes", "UB full B", 0},   {"paper_roce_bytes", "paper RoCE B", 0},
                    {"roce_bytes", "RoCE B", 0},         {"roce_shared_bytes", "RoCE shared B", 0},
                    {"paper_ratio", "paper ratio", 1},   {"ratio", "ratio", 1}};
  for (const std::uint64_t n : kCounts) {
    const Scale at{n, n};
    Json row = scale_row(at);
    row["paper_ub_bytes"] = json_or_null(published->find("OpenURMA", place(at)));
    row["paper_ratio"] = json_or_null(published->find("ratio", place(at)));
    // The paper rounds RoCE, the artifact's exact row of the same name comes later in the file.
    const auto roce = published->series("OpenRoCE");
    for (const ReferenceValue& value : roce) {
      if (value.x != place(at)) continue;
      const double tolerance = value.kind == "paper-table" ? 0.01 : 0;
      if (value.kind == "paper-table") row["paper_roce_bytes"] = value.value;
      result.checks.push_back(within(fmt::format("OpenRoCE {}, {}", place(at), value.kind),
                                     static_cast<double>(roce_bytes(at)), value.value, tolerance));
    }
    WHARF_TRY(judge_scale(*published, at, result));
    result.rows.push_back(std::move(row));
  }
  result.sentences = {sharing_sentence(), reserved_sentence(), records_sentence()};
  return result;
}

Result<StudyResult> figure13(const StudyContext& context) {
  const auto published = reference(context, "T5_F13_state_scaling.csv");
  if (!published) return published.error();
  StudyResult result;
  result.columns = {{"jetties", "endpoints", 0}, {"hosts", "hosts", 0},
                    {"ub_bytes", "UB B", 0},     {"ub_full_bytes", "UB full B", 0},
                    {"roce_bytes", "RoCE B", 0}, {"roce_shared_bytes", "RoCE shared B", 0},
                    {"ratio", "ratio", 1}};
  Plot plot{"state",
            "NIC state, as many endpoints as hosts",
            "endpoints = hosts",
            "bytes",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {{"UB", {}}, {"UB, full records", {}}, {"RoCE", {}}, {"RoCE, shared queue pairs", {}}}};
  for (const std::uint64_t jetties : kCounts) {
    for (const std::uint64_t hosts : kCounts) {
      const Scale at{jetties, hosts};
      const Json row = scale_row(at);
      result.rows.push_back(row);
      WHARF_TRY(judge_scale(*published, at, result));
      if (jetties != hosts) continue;
      const auto x = static_cast<double>(jetties);
      plot.series[0].points.push_back({x, row["ub_bytes"].get<double>(), ""});
      plot.series[1].points.push_back({x, row["ub_full_bytes"].get<double>(), ""});
      plot.series[2].points.push_back({x, row["roce_bytes"].get<double>(), ""});
      plot.series[3].points.push_back({x, row["roce_shared_bytes"].get<double>(), ""});
    }
  }
  result.plots = {plot};
  result.sentences = {sharing_sentence(), reserved_sentence(), records_sentence()};
  return result;
}

}  // namespace wharf::study::openurma
