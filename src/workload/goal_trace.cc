// SPDX-License-Identifier: Apache-2.0
#include "workload/goal_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/nearest_name.h"
#include "base/text_lines.h"

namespace wharf::workload {
namespace {

constexpr std::size_t kLabelLongest = 256;
constexpr std::uint64_t kTagMax = 0xffff'ffff;
constexpr std::uint64_t kStreamMax = kRankCpusMax - 1;

struct Token {
  std::string_view text{};  ///< Empty: the text has ended.
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-';
}

class Tokens {
 public:
  Tokens(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  /// Words, and the marks `{`, `}`, `:`, `;` alone. Any other byte is a token of its own.
  Result<Token> next() {
    WHARF_TRY(skip_space());
    Token token{{}, line_, column()};
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin && at_ < text_.size()) ++at_;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  Error refuse(const Token& at, std::string_view message) const {
    return input_error(fmt::format("{}:{}:{}: {}", name_, at.line, at.column, message));
  }
  Error refuse_token(const Token& at, std::string_view expected,
                     std::span<const std::string_view> names = {}) const {
    const auto nearest = at.text.empty() ? std::nullopt : nearest_name(at.text, names);
    return refuse(at, fmt::format("found {}, expected {}{}",
                                  at.text.empty() ? "the end of the file" : quoted_token(at.text), expected,
                                  nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }

 private:
  std::uint32_t column() const { return static_cast<std::uint32_t>(at_ - line_begin_ + 1); }
  void new_line() {
    ++line_;
    line_begin_ = at_ + 1;
  }

  Result<void> skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        new_line();
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (text_.substr(at_, 2) == "/*") {
        const Token begin{text_.substr(at_, 2), line_, column()};
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return refuse(begin, "found /* without */, expected its end");
        for (; at_ < end + 1; ++at_) {
          if (text_[at_] == '\n') new_line();
        }
      } else if (c != ' ' && c != '\t' && c != '\r') {
        break;
      }
    }
    return {};
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

/// One end of a message.
struct End {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t tag = 0;
  std::uint32_t order = 0;  ///< Among those of its rank.
  std::uint32_t op = 0;
  std::uint64_t bytes = 0;
  std::uint32_t column = 0;
  std::uint8_t nic = 0;

  auto stream() const { return std::tie(source, destination, tag); }
  auto key() const { return std::tie(source, destination, tag, order); }
};

class GoalReader {
 public:
  GoalReader(std::string_view text, const std::string& name) : tokens_(text, name) { list_.name = name; }

  Result<FlowList> read() {
    WHARF_TRY(advance());
    WHARF_TRY(keyword("num_ranks"));
    auto ranks = integer("a number of ranks", 1, kFlowHostsMax);
    if (!ranks) return ranks.error();
    ranks_ = static_cast<std::uint32_t>(*ranks);
    sections_.resize(ranks_);
    while (!at_.text.empty()) WHARF_TRY(section());
    WHARF_TRY(join_sections());
    WHARF_TRY(match());
    list_.hosts = ranks_;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) program().hosts.push_back(rank);
    WHARF_TRY(check_runs_to_end(program(), list_.name));
    return std::move(list_);
  }

 private:
  /// What one rank does, while operations are counted within the rank.
  struct Section {
    std::uint32_t line = 0;  ///< 0: not there yet.
    std::vector<RankOp> ops{};
    std::vector<End> ends{};  ///< Of the messages in `ops`, in their order.
    std::vector<Requirement> requirements{};
  };
  /// A requirement whose labels may be defined further on.
  struct Pending {
    Token op;
    Token before;
    bool on_start = false;
  };

  RankProgram& program() { return list_.ranks; }

  Result<void> advance() {
    auto token = tokens_.next();
    if (!token) return token.error();
    at_ = *token;
    return {};
  }
  Result<void> keyword(std::string_view word) {
    if (at_.text != word) return tokens_.refuse_token(at_, word, std::array{word});
    return advance();
  }
  /// A mark or word that may be absent.
  Result<bool> skip(std::string_view word) {
    if (at_.text != word) return false;
    WHARF_TRY(advance());
    return true;
  }

  Result<std::uint64_t> integer(std::string_view what, std::uint64_t low, std::uint64_t high,
                                std::string_view unit = "") {
    std::uint64_t value = 0;
    std::string_view digits = at_.text;
    const bool has_unit = digits.size() > unit.size() && digits.ends_with(unit);
    if (has_unit) digits.remove_suffix(unit.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
    if (!has_unit || !whole || value < low || value > high) {
      return tokens_.refuse_token(
          at_, fmt::format("{}, an integer from {}{} to {}{}", what, low, unit, high, unit));
    }
    WHARF_TRY(advance());
    return value;
  }

  Result<void> section() {
    WHARF_TRY(keyword("rank"));
    const Token number = at_;
    const auto rank = integer(fmt::format("a rank below num_ranks {}", ranks_), 0, ranks_ - 1);
    if (!rank) return rank.error();
    Section& section = sections_[*rank];
    if (section.line != 0) {
      return tokens_.refuse_token(number, fmt::format("each rank once: it stands in line {}", section.line));
    }
    section.line = number.line;
    WHARF_TRY(keyword("{"));
    labels_ = {};  // One of many labels keeps the room of all.
    names_.clear();
    pending_.clear();
    calc_ = {};
    while (at_.text != "}") WHARF_TRY(statement(static_cast<std::uint32_t>(*rank), section));
    for (const Pending& each : pending_) {
      const auto op = find(each.op);
      if (!op) return op.error();
      const auto before = find(each.before);
      if (!before) return before.error();
      if (*op == *before) return tokens_.refuse_token(each.before, "another label than its own");
      section.requirements.push_back({*op, *before, each.on_start});
    }
    return advance();
  }

  Result<std::uint32_t> find(const Token& label) const {
    const auto found = labels_.find(label.text);
    if (found == labels_.end()) {
      // The nearest of a million names, or of one of a thousand letters, takes longer to find than it is
      // worth.
      constexpr std::size_t kNamesCompared = 1000;
      if (label.text.size() > kLabelLongest || names_.size() > kNamesCompared)
        return tokens_.refuse_token(label, "a label of this rank");
      return tokens_.refuse_token(label, "a label of this rank", names_);
    }
    return found->second;
  }

  Result<void> statement(std::uint32_t rank, Section& section) {
    static constexpr std::array<std::string_view, 3> kVerbs{"send", "recv", "calc"};
    static constexpr std::array<std::string_view, 5> kWords{"send", "recv", "calc", "requires", "irequires"};
    const Token first = at_;
    const bool verb = std::find(kVerbs.begin(), kVerbs.end(), first.text) != kVerbs.end();
    if (!verb && (first.text.empty() || !is_word(first.text.front())))
      return tokens_.refuse_token(first, "send, recv, calc, a label, or }");
    WHARF_TRY(advance());
    if (verb && at_.text != ":") {
      WHARF_TRY(operation(rank, section, first));
    } else if (at_.text == ":") {
      WHARF_TRY(label(section, first));
      WHARF_TRY(advance());
      const Token word = at_;
      if (std::find(kVerbs.begin(), kVerbs.end(), word.text) == kVerbs.end())
        return tokens_.refuse_token(word, "send, recv or calc", kVerbs);
      WHARF_TRY(advance());
      WHARF_TRY(operation(rank, section, word));
    } else if (at_.text == "requires" || at_.text == "irequires") {
      const bool on_start = at_.text == "irequires";
      WHARF_TRY(advance());
      if (at_.text.empty() || !is_word(at_.text.front())) return tokens_.refuse_token(at_, "a label");
      if (++requirements_ > kRequirementsMax)
        return tokens_.refuse(first, fmt::format("found more than {} requirements", kRequirementsMax));
      pending_.push_back({first, at_, on_start});
      WHARF_TRY(advance());
    } else if (at_.text.empty() || !is_word(at_.text.front())) {
      return tokens_.refuse_token(
          at_, fmt::format("a colon, requires or irequires after {}", quoted_token(first.text)));
    } else if (const auto nearest = nearest_name(at_.text, std::span(kWords).subspan(3))) {
      return tokens_.refuse_token(at_, "a colon, requires or irequires", std::span(kWords).subspan(3));
    } else {
      return tokens_.refuse_token(first, "send, recv, calc, a label, or }", kWords);
    }
    const auto ended = skip(";");
    return ended ? Result<void>() : Result<void>(ended.error());
  }

  Result<void> label(const Section& section, const Token& token) {
    if (token.text.size() > kLabelLongest)
      return tokens_.refuse(token, fmt::format("found a label of {} characters, expected at most {}",
                                               token.text.size(), kLabelLongest));
    const auto own = static_cast<std::uint32_t>(section.ops.size());
    const auto [place, fresh] = labels_.emplace(token.text, own);
    if (!fresh) {
      return tokens_.refuse_token(
          token, fmt::format("each label once: it stands in line {}", section.ops[place->second].line));
    }
    names_.push_back(token.text);
    return {};
  }

  Result<void> operation(std::uint32_t rank, Section& section, const Token& verb) {
    if (++operations_ > kRankOpsMax)
      return tokens_.refuse(verb, fmt::format("found more than {} operations", kRankOpsMax));
    RankOp op;
    op.line = verb.line;
    if (verb.text == "calc") {
      const auto time = integer("nanoseconds", 0, static_cast<std::uint64_t>(kRankCalcMax / nanoseconds(1)));
      if (!time) return time.error();
      op.time = nanoseconds(static_cast<std::int64_t>(*time));
      calc_ += op.time;
      if (calc_ > kRankCalcMax) {
        return tokens_.refuse(verb, fmt::format("found more than {} s of calc in rank {}, expected less",
                                                kRankCalcMax / seconds(1), rank));
      }
      WHARF_TRY(streams(op, nullptr));
      section.ops.push_back(op);
      return {};
    }
    const bool sends = verb.text == "send";
    op.kind = sends ? RankOpKind::kSend : RankOpKind::kReceive;
    End end;
    const auto bytes = integer("a size in bytes such as 1024b", 0, kFlowBytesMax, "b");
    if (!bytes) return bytes.error();
    end.bytes = *bytes;
    WHARF_TRY(keyword(sends ? "to" : "from"));
    const Token where = at_;
    const auto other = integer(fmt::format("a rank below num_ranks {}", ranks_), 0, ranks_ - 1);
    if (!other) return other.error();
    if (*other == rank) return tokens_.refuse_token(where, "another rank than its own");
    end.source = sends ? rank : static_cast<std::uint32_t>(*other);
    end.destination = sends ? static_cast<std::uint32_t>(*other) : rank;
    end.op = static_cast<std::uint32_t>(section.ops.size());
    end.column = verb.column;
    WHARF_TRY(streams(op, &end));
    section.ops.push_back(op);
    section.ends.push_back(end);
    return {};
  }

  /// What may follow: tag, cpu and nic, each once.
  Result<void> streams(RankOp& op, End* end) {
    bool tag = false, cpu = false, nic = false;
    for (;;) {
      const Token word = at_;
      bool* given = word.text == "cpu"                     ? &cpu
                    : end != nullptr && word.text == "tag" ? &tag
                    : end != nullptr && word.text == "nic" ? &nic
                                                           : nullptr;
      if (given == nullptr) return {};
      if (*given) return tokens_.refuse_token(word, fmt::format("{} once", word.text));
      *given = true;
      WHARF_TRY(advance());
      const auto value = given == &tag ? integer("a tag", 0, kTagMax)
                                       : integer(fmt::format("a {}", word.text), 0, kStreamMax);
      if (!value) return value.error();
      if (given == &tag) end->tag = static_cast<std::uint32_t>(*value);
      if (given == &cpu) op.cpu = static_cast<std::uint8_t>(*value);
      if (given == &nic) end->nic = static_cast<std::uint8_t>(*value);
    }
  }

  /// Gives the messages of a rank the order in which its requirements let them start; where those say
  /// nothing, and for operations in a ring, that of the text.
  static void put_in_order(Section& section) {
    std::vector<std::vector<std::uint32_t>> next(section.requirements.empty() ? 0 : section.ops.size());
    std::vector<std::uint32_t> needs(section.ops.size(), 0);
    for (const Requirement& each : section.requirements) {
      next[each.before].push_back(each.op);
      ++needs[each.op];
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t op = 0; op < section.ops.size(); ++op) {
      if (needs[op] == 0) ready.push(op);
    }
    std::vector<std::uint32_t> order(section.ops.size(), static_cast<std::uint32_t>(section.ops.size()));
    for (std::uint32_t turn = 0; !ready.empty(); ++turn) {
      const std::uint32_t op = ready.top();
      ready.pop();
      order[op] = turn;
      if (next.empty()) continue;
      for (const std::uint32_t each : next[op]) {
        if (--needs[each] == 0) ready.push(each);
      }
    }
    for (End& end : section.ends) end.order = order[end.op];
  }

  Result<void> join_sections() {
    std::vector<Requirement> requirements;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      Section& section = sections_[rank];
      if (section.line == 0)
        return tokens_.refuse(
            at_, fmt::format("found no rank {}, expected each below num_ranks {}", rank, ranks_));
      put_in_order(section);
      const auto first = static_cast<std::uint32_t>(program().ops.size());
      program().first.push_back(first);
      for (End end : section.ends) {
        end.op += first;
        (section.ops[end.op - first].kind == RankOpKind::kSend ? sends_ : receives_).push_back(end);
      }
      program().ops.insert(program().ops.end(), section.ops.begin(), section.ops.end());
      for (const Requirement& each : section.requirements)
        requirements.push_back({each.op + first, each.before + first, each.on_start});
      section = {};
    }
    program().first.push_back(static_cast<std::uint32_t>(program().ops.size()));
    set_requirements(program(), requirements);
    return {};
  }

  Error refuse_end(const End& end, std::string_view message) const {
    return tokens_.refuse({{}, list_.ranks.ops[end.op].line, end.column}, message);
  }

  /// `lonely` has no partner among `others`, sorted.
  Error refuse_lonely(const End& lonely, bool is_send, const std::vector<End>& others) const {
    const auto first = std::partition_point(others.begin(), others.end(), [&](const End& other) {
      return std::tie(other.source, other.destination) < std::tie(lonely.source, lonely.destination);
    });
    // The nearest is one of another tag between the same ranks.
    std::string near;
    if (first != others.end() && first->source == lonely.source && first->destination == lonely.destination) {
      const End* nearest = &*first;
      const auto distance = [&](const End& other) {
        return other.tag > lonely.tag ? other.tag - lonely.tag : lonely.tag - other.tag;
      };
      for (auto each = first;
           each != others.end() && each->source == lonely.source && each->destination == lonely.destination;
           ++each) {
        if (distance(*each) < distance(*nearest)) nearest = &*each;
      }
      near = fmt::format("; the nearest is in line {} with tag {}", list_.ranks.ops[nearest->op].line,
                         nearest->tag);
    }
    return refuse_end(
        lonely, is_send ? fmt::format("found a send to rank {} with tag {} that rank {} does not receive, "
                                      "expected a recv for each send{}",
                                      lonely.destination, lonely.tag, lonely.destination, near)
                        : fmt::format("found a recv from rank {} with tag {} that rank {} does not send, "
                                      "expected a send for each recv{}",
                                      lonely.source, lonely.tag, lonely.source, near));
  }

  Result<void> match() {
    const auto by_key = [](const End& a, const End& b) { return a.key() < b.key(); };
    // Flows are numbered as their sends stand in the text; equal keys are operations in a ring.
    std::vector<std::uint32_t> flow_of(program().ops.size(), 0);
    for (std::uint32_t i = 0; i < sends_.size(); ++i) flow_of[sends_[i].op] = i;
    std::vector<Flow> flows(sends_.size());
    program().messages.resize(sends_.size());
    std::stable_sort(sends_.begin(), sends_.end(), by_key);
    std::stable_sort(receives_.begin(), receives_.end(), by_key);
    for (std::size_t i = 0; i < std::max(sends_.size(), receives_.size()); ++i) {
      if (i >= sends_.size() || (i < receives_.size() && receives_[i].stream() < sends_[i].stream()))
        return refuse_lonely(receives_[i], false, sends_);
      if (i >= receives_.size() || sends_[i].stream() < receives_[i].stream())
        return refuse_lonely(sends_[i], true, receives_);
      const End& send = sends_[i];
      const End& receive = receives_[i];
      if (send.bytes > receive.bytes) {
        return refuse_end(receive,
                          fmt::format("found a recv of {}b, expected at least the {}b of its send in "
                                      "line {}",
                                      receive.bytes, send.bytes, program().ops[send.op].line));
      }
      const std::uint32_t number = flow_of[send.op];
      Flow& flow = flows[number];
      flow.id = number + 1;
      flow.source = send.source;
      flow.destination = send.destination;
      flow.bytes = std::max<std::uint64_t>(send.bytes, 1);
      flow.line = program().ops[send.op].line;
      flow.connection = send.nic;
      program().ops[send.op].message = number;
      program().ops[receive.op].message = number;
      program().messages[number] = {send.op, receive.op};
    }
    list_.flows = std::move(flows);
    return {};
  }

  Tokens tokens_;
  Token at_;
  FlowList list_;
  std::uint32_t ranks_ = 0;
  std::vector<Section> sections_;
  std::uint32_t operations_ = 0;
  std::uint32_t requirements_ = 0;
  TimePs calc_{};
  std::unordered_map<std::string_view, std::uint32_t> labels_;  ///< Of this rank, to its operations.
  std::vector<std::string_view> names_;
  std::vector<Pending> pending_;
  std::vector<End> sends_;
  std::vector<End> receives_;
};

}  // namespace

Result<FlowList> read_goal_trace(std::string_view text, const std::string& name) {
  return GoalReader(text, name).read();
}

void move_ranks(FlowList& list, const std::vector<std::uint32_t>& hosts) {
  for (Flow& flow : list.flows) {
    flow.source = hosts[flow.source];
    flow.destination = hosts[flow.destination];
  }
  list.ranks.hosts = hosts;
}

}  // namespace wharf::workload
