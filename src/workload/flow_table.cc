// SPDX-License-Identifier: Apache-2.0
#include "workload/flow_table.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text_lines.h"
#include "base/units.h"

namespace wharf::workload {
namespace {

enum Column : std::uint8_t { kSource, kDestination, kBytes, kStart, kOperation, kPriority, kAfter, kColumns };
constexpr std::array<std::string_view, kColumns> kNames{"src", "dst",      "bytes", "start_ns",
                                                        "op",  "priority", "after"};

class TableReader {
 public:
  TableReader(std::string_view text, const std::string& name) : lines_(text, name, ',') { list_.name = name; }

  Result<FlowList> read() {
    if (!lines_.next())
      return input_error(
          fmt::format("{}:1:1: the file is empty, expected a line with the columns "
                      "src,dst,bytes,start_ns",
                      lines_.name()));
    WHARF_TRY(columns());
    while (lines_.next()) {
      if (lines_.blank()) continue;
      WHARF_TRY(row());
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const Edge& edge : edges_) {
      if (edge.row > list_.flows.size())
        return input_error(fmt::format("{}:{}:{}: found {}, expected one of the {} rows", lines_.name(),
                                       edge.line, edge.column, edge.row, list_.flows.size()));
      edges.emplace_back(edge.row - 1, edge.trigger);
    }
    set_activations(list_, std::move(edges));
    return std::move(list_);
  }

 private:
  /// A trigger that waits for the flow of a row, and where the table says so.
  struct Edge {
    std::uint32_t row;
    std::uint32_t trigger;
    std::uint32_t line;
    std::uint32_t column;
  };

  Result<void> columns() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      std::size_t column = 0;
      while (column < kColumns && kNames[column] != lines_[i].text) ++column;
      if (column == kColumns)
        return lines_.refuse_token(
            lines_[i], "a column",
            {kNames[0], kNames[1], kNames[2], kNames[3], kNames[4], kNames[5], kNames[6]});
      if (place_[column] != kAbsent) return lines_.refuse_token(lines_[i], "each column once");
      place_[column] = i;
    }
    for (std::size_t column = 0; column <= kStart; ++column) {
      if (place_[column] == kAbsent)
        return lines_.refuse_end(
            fmt::format("found no column {}, expected src,dst,bytes,start_ns", kNames[column]));
    }
    width_ = lines_.size();
    return {};
  }

  /// Its field in this row, or null when it is absent or empty.
  const TextToken* field(Column column) const {
    if (place_[column] == kAbsent || place_[column] >= lines_.size()) return nullptr;
    const TextToken& token = lines_[place_[column]];
    return token.text.empty() ? nullptr : &token;
  }

  Result<std::uint64_t> required(Column column, std::string_view what, std::uint64_t low,
                                 std::uint64_t high) const {
    const TextToken* token = field(column);
    if (token == nullptr)
      return lines_.refuse_end(fmt::format("found no {}, expected {}", kNames[column], what));
    return lines_.integer(*token, what, low, high);
  }

  Result<void> row() {
    // A line that ends in a comma has an empty last field.
    if (lines_.size() > width_)
      return lines_.refuse_token(lines_[width_], fmt::format("{} fields as the first line has", width_));
    if (list_.flows.size() >= kFlowsMax)
      return lines_.refuse(lines_[0], fmt::format("found more than {} flows", kFlowsMax));
    Flow flow;
    const auto source = required(kSource, "a host", 0, kFlowHostsMax - 1);
    if (!source) return source.error();
    const auto destination = required(kDestination, "a host", 0, kFlowHostsMax - 1);
    if (!destination) return destination.error();
    const auto bytes = required(kBytes, "a size in bytes", 1, kFlowBytesMax);
    if (!bytes) return bytes.error();
    if (*source == *destination) return lines_.refuse_token(*field(kDestination), "another host than src");
    flow.source = static_cast<std::uint32_t>(*source);
    flow.destination = static_cast<std::uint32_t>(*destination);
    flow.bytes = *bytes;
    flow.line = lines_.number();
    const TextToken* start = field(kStart);
    if (start == nullptr) return lines_.refuse_end("found no start_ns, expected nanoseconds");
    const auto time = parse_time(std::string(start->text) + "ns");
    if (!time) return lines_.refuse_token(*start, "nanoseconds, such as 1500 or 0.25");
    flow.start = *time;
    if (const TextToken* operation = field(kOperation)) {
      if (operation->text == "write") {
        flow.verb = verbs::Verb::kWrite;
      } else if (operation->text == "read") {
        flow.verb = verbs::Verb::kRead;
      } else if (operation->text == "send") {
        flow.verb = verbs::Verb::kSend;
      } else {
        return lines_.refuse_token(*operation, "write, read or send", {"write", "read", "send"});
      }
    }
    if (const TextToken* priority = field(kPriority)) {
      // Traffic classes are the protocol's to choose here: data, retransmissions, acknowledgements and
      // control.
      if (priority->text != "0") {
        return lines_.refuse_token(*priority, "priority 0: all flows share the traffic class of data");
      }
    }
    flow.id = static_cast<std::uint32_t>(list_.flows.size() + 1);
    if (const TextToken* token = field(kAfter)) WHARF_TRY(after(*token, flow));
    list_.flows.push_back(flow);
    return {};
  }

  Result<void> after(const TextToken& token, Flow& flow) {
    flow.trigger = static_cast<std::uint32_t>(list_.triggers.size());
    std::uint32_t count = 0;
    for (std::size_t first = 0; first <= token.text.size();) {
      const std::size_t last = std::min(token.text.find(';', first), token.text.size());
      const TextToken one{token.text.substr(first, last - first),
                          token.column + static_cast<std::uint32_t>(first)};
      const auto row = lines_.integer(one, "the row of a flow", 1, kFlowsMax);
      if (!row) return row.error();
      if (*row == flow.id) return lines_.refuse_token(one, "another row than its own");
      edges_.push_back({static_cast<std::uint32_t>(*row), flow.trigger, lines_.number(), one.column});
      ++count;
      first = last + 1;
    }
    list_.triggers.push_back({flow.id, TriggerKind::kBarrier, count});
    return {};
  }

  static constexpr std::size_t kAbsent = 99;

  TextLines lines_;
  FlowList list_;
  std::array<std::size_t, kColumns> place_{kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent};
  std::size_t width_ = 0;
  std::vector<Edge> edges_;
};

}  // namespace

Result<FlowList> read_flow_table(std::string_view text, const std::string& name) {
  return TableReader(text, name).read();
}

}  // namespace wharf::workload
