// SPDX-License-Identifier: Apache-2.0
#include "workload/connection_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text_lines.h"

namespace wharf::workload {
namespace {

constexpr std::uint64_t kIdMax = 0xffff'ffff;
constexpr std::uint64_t kSizeMax = 0x7fff'ffff;
/// Microseconds; TimePs holds a hundred times more.
constexpr std::uint64_t kStartMax = 86'400'000'000;
constexpr std::uint32_t kFirstUnnamedId = 1'000'000'001;

bool begins_body(std::string_view token) {
  return token.find("->") != std::string_view::npos || token == "trigger" || token == "failure";
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& name, const ConnectionMatrixOptions& options)
      : lines_(text, name), options_(options) {
    list_.name = name;
  }

  Result<FlowList> read() {
    bool body = false;
    while (lines_.next()) {
      if (lines_.blank()) continue;
      if (!body && !begins_body(lines_[0].text)) {
        WHARF_TRY(header_line());
        continue;
      }
      if (!body) WHARF_TRY(end_header());
      body = true;
      WHARF_TRY(body_line());
    }
    if (!body) WHARF_TRY(end_header());
    WHARF_TRY(check_counts());
    WHARF_TRY(resolve_triggers());
    add_remarks();
    return std::move(list_);
  }

 private:
  struct Count {
    std::string_view word;
    std::uint64_t value = 0;
    std::uint32_t line = 0;
    std::uint32_t column = 1;  ///< Of the value.
  };
  /// A trigger as a connection names it, with the place of the name.
  struct Reference {
    std::uint64_t id = 0;
    std::uint32_t flow = 0;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool starts = false;    ///< Else the flow activates it,
    bool received = false;  ///< when all of it has arrived.
  };

  Result<void> header_line() {
    if (lines_[0].text.starts_with('#')) return {};
    for (Count& count : counts_) {
      if (lines_[0].text != count.word) continue;
      if (lines_.size() < 2)
        return lines_.refuse_end(fmt::format("found no value, expected {} N", count.word));
      const std::uint64_t high = count.word == "Nodes" ? kFlowHostsMax : kFlowsMax;
      const auto value = lines_.integer(lines_[1], fmt::format("a value of {}", count.word), 0, high);
      if (!value) return value.error();
      if (count.line != 0)
        return lines_.refuse(
            lines_[0], fmt::format("found {} again, expected it once (the first is in line {})", count.word,
                                   count.line));
      if (lines_.size() > 2) return lines_.refuse_token(lines_[2], "the end of the line after one value");
      count.value = *value;
      count.line = lines_.number();
      count.column = lines_[1].column;
      return {};
    }
    if (ignored_line_ == 0) {
      ignored_line_ = lines_.number();
      ignored_word_ = lines_[0].text;
    }
    ++ignored_lines_;
    return {};
  }

  /// Why lines may be missing: the format takes what it does not know for a line of its header.
  std::string ignored_hint() const {
    return ignored_line_ == 0 ? std::string()
                              : fmt::format("; line {}, which begins with {}, is none of the format's",
                                            ignored_line_, quoted_token(ignored_word_));
  }

  Result<void> end_header() {
    if (nodes().line == 0 || nodes().value == 0) {
      return input_error(fmt::format("{}:{}:1: found {}, expected Nodes N with N at least 1", lines_.name(),
                                     nodes().line == 0 ? std::max(lines_.number(), 1U) : nodes().line,
                                     nodes().line == 0 ? "no Nodes line in the header" : "Nodes 0") +
                         ignored_hint());
    }
    list_.hosts = static_cast<std::uint32_t>(nodes().value);
    list_.hosts_line = nodes().line;
    list_.hosts_column = nodes().column;
    return {};
  }

  Result<void> body_line() {
    const TextToken& first = lines_[0];
    if (first.text == "trigger") return trigger_line();
    if (first.text == "failure") return failure_line();
    if (first.text.find("->") != std::string_view::npos) return connection_line();
    return lines_.refuse_token(first,
                               first.text.starts_with('#')
                                   ? "a connection, trigger or failure (comments end with the header)"
                                   : "a connection A->B, trigger or failure",
                               {"trigger", "failure"});
  }

  /// The token behind lines_[at], which is the keyword.
  Result<std::uint64_t> value_after(std::size_t at, std::string_view what, std::uint64_t low,
                                    std::uint64_t high) const {
    if (at + 1 >= lines_.size()) return lines_.refuse_end(fmt::format("found nothing, expected {}", what));
    return lines_.integer(lines_[at + 1], what, low, high);
  }

  Result<std::uint32_t> host(std::string_view digits, std::uint32_t column) const {
    const auto value = lines_.integer({digits, column}, fmt::format("a node below Nodes {}", list_.hosts), 0,
                                      std::uint64_t{list_.hosts} - 1);
    if (!value) return value.error();
    return static_cast<std::uint32_t>(*value);
  }

  Result<void> connection_line() {
    const TextToken& pair = lines_[0];
    const std::size_t arrow = pair.text.find("->");
    const auto source = host(pair.text.substr(0, arrow), 1);
    if (!source) return source.error();
    const auto destination = host(pair.text.substr(arrow + 2), static_cast<std::uint32_t>(arrow + 3));
    if (!destination) return destination.error();
    if (*source == *destination) return lines_.refuse_token(pair, "two different nodes");
    if (list_.flows.size() >= kFlowsMax)
      return lines_.refuse(pair, fmt::format("found more than {} connections", kFlowsMax));

    Flow flow;
    flow.line = lines_.number();
    flow.source = *source;
    flow.destination = *destination;
    const auto number = static_cast<std::uint32_t>(list_.flows.size());
    std::uint32_t seen = 0;
    const auto once = [&](std::size_t at, std::uint32_t bit) -> Result<void> {
      if ((seen & bit) != 0) return lines_.refuse_token(lines_[at], "each attribute once");
      seen |= bit;
      return {};
    };
    bool message = false;
    for (std::size_t i = 1; i < lines_.size(); i += 2) {
      const std::string_view word = lines_[i].text;
      if (word == "id") {
        WHARF_TRY(once(i, kId));
        if ((seen & kTrigger) != 0) return lines_.refuse_token(lines_[i], "id before trigger on the line");
        const auto value = value_after(i, "a flow id", 1, kIdMax);
        if (!value) return value.error();
        flow.id = static_cast<std::uint32_t>(*value);
      } else if (word == "start") {
        WHARF_TRY(once(i, kStart));
        const auto value = start_after(i);
        if (!value) return value.error();
        flow.start = *value;
      } else if (word == "size") {
        WHARF_TRY(once(i, kSize));
        const auto value = value_after(i, "a size in bytes", 1, kSizeMax);
        if (!value) return value.error();
        flow.bytes = *value;
      } else if (word == "prio") {
        WHARF_TRY(once(i, kPriority));
        const auto value = value_after(i, "a priority", 0, kSizeMax);
        if (!value) return value.error();
        if (priority_line_ == 0) priority_line_ = lines_.number();
      } else if (word == "trigger" || word == "send_done_trigger" || word == "recv_done_trigger") {
        WHARF_TRY(once(i, word == "trigger" ? kTrigger : word == "send_done_trigger" ? kSent : kReceived));
        const auto value = value_after(i, "a trigger id", 1, kIdMax);
        if (!value) return value.error();
        if (word == "recv_done_trigger" && receive_line_ == 0) receive_line_ = lines_.number();
        references_.push_back({*value, number, lines_.number(), lines_[i + 1].column, word == "trigger",
                               word == "recv_done_trigger"});
        if (word == "recv_done_trigger" && !options_.connection_reuse)
          silent_.push_back(references_.size() - 1);
      } else if (word == "msg") {
        WHARF_TRY(once(i, kMessage));
        if (!options_.connection_reuse)
          return lines_.refuse_token(lines_[i],
                                     "no messages on shared connections unless connection reuse is on "
                                     "(fabric.connection_reuse)");
        message = true;
        if (i + 1 >= lines_.size() || lines_[i + 1].text.empty() || lines_[i + 1].text[0] < '0' ||
            lines_[i + 1].text[0] > '9') {
          --i;  // Without a number.
          continue;
        }
        const auto value = value_after(i, "a message id", 1, kIdMax);
        if (!value) return value.error();
      } else {
        return lines_.refuse_token(
            lines_[i],
            "id, msg, start, trigger, size, send_done_trigger, recv_done_trigger or prio of a connection",
            {"id", "msg", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio"});
      }
    }
    if (((seen & kStart) != 0) == ((seen & kTrigger) != 0)) {
      return lines_.refuse_end((seen & kStart) != 0
                                   ? "found both start and trigger, expected exactly one of them"
                                   : "found neither start nor trigger, expected one of them");
    }
    if ((seen & kSize) == 0) return lines_.refuse_end("found no size, expected size BYTES");
    WHARF_TRY(identify(flow, message));
    list_.flows.push_back(flow);
    return {};
  }

  /// Decimal microseconds, cut to whole ones.
  Result<TimePs> start_after(std::size_t at) {
    if (at + 1 >= lines_.size()) return lines_.refuse_end("found nothing, expected a start in microseconds");
    const TextToken& token = lines_[at + 1];
    const std::size_t point = token.text.find('.');
    const std::string_view fraction = point == std::string_view::npos ? "" : token.text.substr(point + 1);
    const bool digits =
        std::all_of(fraction.begin(), fraction.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto whole =
        lines_.integer({token.text.substr(0, point), token.column}, "a start in microseconds", 0, kStartMax);
    if (!whole || !digits) return lines_.refuse_token(token, "a start in microseconds, such as 12 or 12.5");
    if (fraction.find_first_not_of('0') != std::string_view::npos && cut_line_ == 0)
      cut_line_ = lines_.number();
    return microseconds(static_cast<std::int64_t>(*whole));
  }

  Result<void> identify(Flow& flow, bool message) {
    if (flow.id == 0) {
      flow.id = next_unnamed_id_;
      next_unnamed_id_ += 2;
      return {};
    }
    const auto [known, fresh] = by_id_.try_emplace(flow.id, list_.flows.size());
    if (fresh) return {};
    if (!message)
      return lines_.refuse(lines_[0], fmt::format("found flow id {} again, expected each id once", flow.id));
    flow.source = list_.flows[known->second].source;
    flow.destination = list_.flows[known->second].destination;
    return {};
  }

  Result<void> trigger_line() {
    Trigger trigger;
    std::optional<TriggerKind> kind;
    bool counted = false;
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      const std::string_view word = lines_[i].text;
      if (word == "id" || word == "count") {
        if (word == "id" ? trigger.id != 0 : counted) return lines_.refuse_token(lines_[i], "each word once");
        const auto value = value_after(i, word == "id" ? "a trigger id" : "a count", 1, kIdMax);
        if (!value) return value.error();
        if (word == "id") {
          trigger.id = static_cast<std::uint32_t>(*value);
        } else {
          trigger.count = static_cast<std::uint32_t>(*value);
          counted = true;
        }
        ++i;
        continue;
      }
      if (kind.has_value() || (word != "oneshot" && word != "multishot" && word != "barrier"))
        return lines_.refuse_token(lines_[i], "id N, one of oneshot, multishot and barrier, or count N",
                                   {"id", "oneshot", "multishot", "barrier", "count"});
      kind = word == "oneshot"     ? TriggerKind::kOneShot
             : word == "multishot" ? TriggerKind::kMultiShot
                                   : TriggerKind::kBarrier;
    }
    if (trigger.id == 0) return lines_.refuse_end("found no id, expected trigger id N");
    if (!kind) return lines_.refuse_end("found no kind, expected oneshot, multishot or barrier");
    if (*kind == TriggerKind::kBarrier && !counted)
      return lines_.refuse_end("found a barrier without count, expected count N");
    trigger.kind = *kind;
    const auto [known, fresh] = triggers_.try_emplace(trigger.id, list_.triggers.size());
    if (!fresh)
      return lines_.refuse(lines_[0],
                           fmt::format("found trigger {} again, expected each id once", trigger.id));
    list_.triggers.push_back(trigger);
    return {};
  }

  Result<void> failure_line() {
    constexpr std::string_view kForm = "failure switch_type AGG switch_id N link_id N";
    constexpr std::string_view kWords[3] = {"switch_type", "switch_id", "link_id"};
    LinkFailure failure;
    failure.line = lines_.number();
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t at = 1 + 2 * i;
      if (at + 1 >= lines_.size()) return lines_.refuse_end(fmt::format("found the end, expected {}", kForm));
      if (lines_[at].text != kWords[i]) return lines_.refuse_token(lines_[at], kForm, {kWords[i]});
      if (i == 0) {
        if (lines_[at + 1].text == "TOR" || lines_[at + 1].text == "CORE")
          return lines_.refuse_token(lines_[at + 1], "AGG, the only kind whose failures the format defines");
        if (lines_[at + 1].text != "AGG") return lines_.refuse_token(lines_[at + 1], "AGG", {"AGG"});
        continue;
      }
      const auto value =
          lines_.integer(lines_[at + 1], fmt::format("a value of {}", kWords[i]), 0, kFlowHostsMax);
      if (!value) return value.error();
      (i == 1 ? failure.switch_id : failure.link_id) = static_cast<std::uint32_t>(*value);
      (i == 1 ? failure.switch_column : failure.link_column) = lines_[at + 1].column;
    }
    if (lines_.size() > 7) return lines_.refuse_token(lines_[7], "the end of the line");
    list_.failures.push_back(failure);
    return {};
  }

  Result<void> check_counts() const {
    const std::uint64_t found[4] = {0, list_.flows.size(), list_.triggers.size(), list_.failures.size()};
    for (std::size_t i = 1; i < 4; ++i) {
      if (counts_[i].value == found[i]) continue;
      return input_error(fmt::format("{}:{}:1: found {} {}, expected {} as the lines of the file are{}",
                                     lines_.name(), std::max(counts_[i].line, 1U), counts_[i].word,
                                     counts_[i].line == 0 ? "absent (0)" : std::to_string(counts_[i].value),
                                     found[i], ignored_hint()));
    }
    return {};
  }

  Result<void> resolve_triggers() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::vector<std::uint32_t> activators(list_.triggers.size(), 0);
    std::size_t next_silent = 0;
    for (std::size_t r = 0; r < references_.size(); ++r) {
      const Reference& reference = references_[r];
      const auto known = triggers_.find(reference.id);
      if (known == triggers_.end()) {
        return input_error(fmt::format("{}:{}:{}: found trigger {}, expected one that a trigger line defines",
                                       lines_.name(), reference.line, reference.column, reference.id));
      }
      const auto index = static_cast<std::uint32_t>(known->second);
      if (next_silent < silent_.size() && silent_[next_silent] == r) {
        ++next_silent;
        continue;
      }
      if (reference.starts) {
        list_.flows[reference.flow].trigger = index;
        continue;
      }
      if (++activators[index] > 1 && list_.triggers[index].kind == TriggerKind::kOneShot) {
        return input_error(
            fmt::format("{}:{}:{}: found a second flow that activates oneshot trigger {}, expected "
                        "one, or a barrier",
                        lines_.name(), reference.line, reference.column, reference.id));
      }
      edges.emplace_back(reference.flow, reference.received ? index | kOnReceipt : index);
    }
    set_activations(list_, std::move(edges));
    return {};
  }

  void remark(std::uint32_t line, std::string_view text) {
    if (line != 0) list_.remarks.push_back(fmt::format("{}:{}: {}", lines_.name(), line, text));
  }

  void add_remarks() {
    const std::string more =
        ignored_lines_ > 1 ? fmt::format(" and {} more header lines", ignored_lines_ - 1) : "";
    remark(ignored_line_,
           fmt::format("the format ignores the header line {}{}", quoted_token(ignored_word_), more));
    remark(cut_line_, "the format cuts start to whole microseconds");
    remark(priority_line_, "prio has no influence in this format");
    if (!options_.connection_reuse)
      remark(receive_line_, "recv_done_trigger never fires in this format without connection reuse");
  }

  Count& nodes() { return counts_[0]; }

  static constexpr std::uint32_t kId = 1, kStart = 2, kSize = 4, kPriority = 8, kTrigger = 16, kSent = 32,
                                 kReceived = 64, kMessage = 128;

  TextLines lines_;
  ConnectionMatrixOptions options_;
  FlowList list_;
  Count counts_[4] = {{"Nodes"}, {"Connections"}, {"Triggers"}, {"Failures"}};
  std::unordered_map<std::uint64_t, std::size_t> by_id_;     ///< Only looked up, never walked.
  std::unordered_map<std::uint64_t, std::size_t> triggers_;  ///< Likewise.
  std::vector<Reference> references_;
  std::vector<std::size_t> silent_;  ///< References that never fire.
  std::uint32_t next_unnamed_id_ = kFirstUnnamedId;
  std::uint32_t ignored_line_ = 0;
  std::uint32_t ignored_lines_ = 0;
  std::string ignored_word_;
  std::uint32_t cut_line_ = 0;
  std::uint32_t priority_line_ = 0;
  std::uint32_t receive_line_ = 0;
};

}  // namespace

Result<FlowList> read_connection_matrix(std::string_view text, const std::string& name,
                                        const ConnectionMatrixOptions& options) {
  return MatrixReader(text, name, options).read();
}

}  // namespace wharf::workload
