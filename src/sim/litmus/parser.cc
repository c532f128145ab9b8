// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/nearest_name.h"
#include "sim/litmus/operation_parser.h"
#include "sim/litmus/token_reader.h"

namespace wharf::sim {
namespace {

using Kind = LitmusToken::Kind;

class Parser {
 public:
  explicit Parser(LitmusTokenReader reader) : in_(std::move(reader)) {}

  Result<LitmusProgram> parse();

 private:
  Result<void> settings();
  Result<void> variables();
  Result<void> variable(const LitmusVariable& where);
  Result<void> agents();
  Result<void> rows();
  Result<void> cell(LitmusAgent& agent);
  void find_devices();
  Result<void> outcome();
  Result<void> judgements(LitmusOutcome& outcome);
  Result<std::uint32_t> condition(LitmusCondition& condition, int level, std::uint32_t depth = 0);
  Result<std::uint32_t> atom(LitmusCondition& condition);
  Result<void> check_design(LitmusDesign design, LitmusPlace place);

  LitmusTokenReader in_;
  LitmusProgram program_;
  std::size_t request_lines_ = 0;  ///< Of all devices.
};

Result<LitmusProgram> Parser::parse() {
  WHARF_TRY(in_.word("litmus"));
  if (in_.front().kind != Kind::kWord) return in_.unexpected("the name of the program");
  program_.name = in_.take().text;
  if (in_.front().kind == Kind::kText) program_.description = in_.take().text;
  WHARF_TRY(settings());
  WHARF_TRY(variables());
  WHARF_TRY(agents());
  WHARF_TRY(rows());
  if (program_.settings.queue && !program_.uses_mmio())
    return in_.unexpected(
        "an MMIO instruction before this, because rlsq.design is the queue beside a design for MMIO");
  while (in_.front().kind != Kind::kEnd) WHARF_TRY(outcome());
  return std::move(program_);
}

Result<void> Parser::settings() {
  LitmusSettingsReader reader(in_, program_.settings);
  while (in_.front().is_word("set")) {
    in_.take();
    WHARF_TRY(reader.read());
  }
  return reader.finish();
}

// { x=0; [y=0; z=1]; mmio d=0; peer e=0 }: each variable a line of its own, those in brackets share one.
Result<void> Parser::variables() {
  WHARF_TRY(in_.sign("{"));
  // Lines of host memory and of the device's window start at 1: an address of 0 would hide mistakes.
  std::uint64_t line = 1;
  std::uint64_t mmio_line = 1;
  std::uint64_t peer_line = kLitmusPeerLine;
  while (!in_.front().is("}")) {
    const LitmusToken before = in_.front();
    LitmusVariable where;
    const bool is_second = in_.front().is_word("mmio.2");
    where.is_mmio = is_second || in_.front().is_word("mmio");
    where.device = is_second ? 1 : 0;
    where.is_peer = in_.front().is_word("peer");
    if (where.is_peer && program_.settings.on_chip_bus)
      return in_.unexpected("no peer device beside bus on_chip, which has no switch");
    if (where.is_mmio || where.is_peer) in_.take();
    std::uint64_t& next = where.is_mmio ? mmio_line : where.is_peer ? peer_line : line;
    where.address = next++ * kLineBytes;
    if (in_.front().is("[")) {
      const LitmusPlace place = in_.take().place;
      if (in_.front().is("]")) return in_.unexpected("a variable between [ and ]");
      const std::uint64_t end = where.address + kLineBytes;
      while (!in_.front().is("]")) {
        if (where.address == end)
          return litmus_error(in_.file(), place, "more than 8 variables", "8 words of one line at most");
        WHARF_TRY(variable(where));
        where.address += kLitmusWordBytes;
        if (in_.front().is(";")) in_.take();
      }
      in_.take();
    } else {
      WHARF_TRY(variable(where));
    }
    if (in_.front().is(";")) {
      in_.take();
    } else if (!in_.front().is("}")) {
      // Two words without a sign: the first was meant to say where the variable is.
      const bool are_words = in_.front().kind == Kind::kWord && before.kind == Kind::kWord;
      const std::vector<std::string_view> places{"mmio", "mmio.2", "peer"};
      if (are_words && nearest_name(before.text, places))
        return litmus_error(in_.file(), before.place, before.quoted(), "mmio, mmio.2, peer or a variable",
                            before.text, places);
      return in_.unexpected("\";\" or \"}\"");
    }
  }
  in_.take();
  return {};
}

Result<void> Parser::variable(const LitmusVariable& where) {
  if (in_.front().kind != Kind::kWord) return in_.unexpected("the name of a variable");
  if (program_.variables.size() == kLitmusMaxVariables)
    return in_.unexpected(fmt::format("at most {} variables", kLitmusMaxVariables));
  LitmusVariable made = where;
  made.name = in_.front().text;
  for (const LitmusVariable& other : program_.variables) {
    if (other.name == made.name) return in_.unexpected("a name that is not taken yet");
  }
  in_.take();
  if (in_.front().is("=")) {
    in_.take();
    if (in_.front().kind != Kind::kNumber) return in_.unexpected("a number");
    made.initial = in_.take().number;
  }
  program_.variables.push_back(std::move(made));
  return {};
}

// host P | device D | device D.1 | device E @2 ;
Result<void> Parser::agents() {
  std::map<std::string, std::uint32_t> requesters;
  std::map<std::string, std::uint32_t> threads;
  for (;;) {
    LitmusAgent agent;
    if (!in_.front().is_word("host") && !in_.front().is_word("device"))
      return in_.unknown("host or device", {"host", "device"});
    if (program_.agents.size() == kLitmusMaxAgents)
      return in_.unexpected(fmt::format("at most {} columns", kLitmusMaxAgents));
    agent.is_device = in_.take().text == "device";
    if (in_.front().kind != Kind::kWord) return in_.unexpected("the name of an agent");
    for (const LitmusAgent& other : program_.agents) {
      if (other.name == in_.front().text) return in_.unexpected("a name that is not taken yet");
    }
    agent.name = in_.take().text;
    if (agent.is_device) {
      // D, D.1 and D.2 are threads of one device: what stands before the dot names it.
      const std::string device = agent.name.substr(0, agent.name.find('.'));
      agent.requester = requesters.emplace(device, requesters.size()).first->second;
      agent.thread = threads[device]++;
      WHARF_TRY(read_litmus_root(in_, agent.root));
    }
    program_.agents.push_back(std::move(agent));
    if (in_.front().is(";")) break;
    WHARF_TRY(in_.sign("|"));
  }
  in_.take();
  return {};
}

Result<void> Parser::rows() {
  while (!in_.front().is_word("exists") && !in_.front().is_word("forall") && in_.front().kind != Kind::kEnd) {
    const std::vector<std::string_view> questions{"exists", "forall"};
    if (in_.second().is("(") && nearest_name(in_.front().text, questions))
      return in_.unknown("an instruction, exists or forall", questions);
    std::size_t column = 0;
    for (;;) {
      if (column == program_.agents.size())
        return in_.unexpected(fmt::format("\";\" after {} columns", program_.agents.size()));
      if (!in_.front().is("|") && !in_.front().is(";")) WHARF_TRY(cell(program_.agents[column]));
      ++column;
      if (in_.front().is(";")) break;
      if (!in_.front().is("|"))
        return in_.unexpected(column == program_.agents.size()
                                  ? std::string("\";\" after the last column")
                                  : std::string("\"|\" before the next column, or \";\""));
      in_.take();
    }
    in_.take();
  }
  std::uint32_t first = 0;
  for (LitmusAgent& agent : program_.agents) {
    agent.first_register = first;
    first += static_cast<std::uint32_t>(agent.registers.size());
  }
  find_devices();
  return {};
}

Result<void> Parser::cell(LitmusAgent& agent) {
  if (agent.operations.size() == kLitmusMaxInstructions)
    return in_.unexpected(fmt::format("at most {} instructions in a column", kLitmusMaxInstructions));
  const LitmusToken first = in_.front();
  WHARF_TRY(read_litmus_operation(in_, program_, agent));
  const LitmusOperation& made = agent.operations.back();
  if (agent.is_device && is_request(made.action)) request_lines_ += made.lines();
  if (request_lines_ > kLitmusMaxRequestLines) {
    return litmus_error(
        in_.file(), first.place, first.quoted(),
        fmt::format("at most {} lines in the requests of all devices together", kLitmusMaxRequestLines));
  }
  return {};
}

// A device whose columns look at or set registers of the second one, and none of the first, is the second
// one.
void Parser::find_devices() {
  std::map<std::uint32_t, std::array<bool, 2>> has;
  for (const LitmusAgent& agent : program_.agents) {
    for (const LitmusOperation& operation : agent.operations) {
      const bool is_own =
          operation.action == LitmusAction::kLocalRead || operation.action == LitmusAction::kLocalWrite;
      if (!is_own || !program_.variables[operation.variables[0]].is_mmio) continue;
      has[agent.requester][program_.variables[operation.variables[0]].device] = true;
    }
  }
  for (LitmusAgent& agent : program_.agents) {
    const auto found = has.find(agent.requester);
    const bool is_second = found != has.end() && found->second[1] && !found->second[0];
    if (agent.is_device && is_second) agent.registers_of = 1;
  }
}

Result<void> Parser::outcome() {
  if (!in_.front().is_word("exists") && !in_.front().is_word("forall"))
    return in_.unknown("exists or forall", {"exists", "forall"});
  LitmusOutcome made;
  made.place = in_.front().place;
  made.is_forall = in_.take().text == "forall";
  const std::size_t from = in_.position();
  const auto root = condition(made.condition, 0);
  if (!root) return root.error();
  made.condition.root = *root;
  made.condition.text = in_.text_since(from);
  if (made.is_forall) {
    made.condition.nodes.push_back({LitmusCondition::Kind::kNot, 0, 0, *root, 0});
    made.condition.root = static_cast<std::uint32_t>(made.condition.nodes.size() - 1);
  }
  WHARF_TRY(judgements(made));
  program_.outcomes.push_back(std::move(made));
  return {};
}

Result<void> Parser::judgements(LitmusOutcome& outcome) {
  static const std::vector<std::string_view> kClasses{"forbidden", "allowed", "required"};
  const std::vector<std::string_view> designs(litmus_design_names().begin(), litmus_design_names().end());
  while (in_.front().kind != Kind::kEnd && !in_.front().is_word("exists") && !in_.front().is_word("forall")) {
    const auto found = std::find(kClasses.begin(), kClasses.end(), in_.front().text);
    if (found == kClasses.end()) return in_.unknown("forbidden, allowed or required", kClasses);
    const auto what = static_cast<LitmusClass>(found - kClasses.begin());
    in_.take();
    for (;;) {
      const auto design = parse_litmus_design(in_.front().text);
      if (!design) return in_.unknown("the name of a design", designs);
      if (outcome.judgement(*design) != nullptr) return in_.unexpected("each design once");
      WHARF_TRY(check_design(*design, in_.front().place));
      outcome.judgements.push_back({*design, what});
      in_.take();
      if (!in_.front().is(",")) break;
      in_.take();
    }
  }
  return {};
}

Result<void> Parser::check_design(LitmusDesign design, LitmusPlace place) {
  const std::string expected = program_.why_not(design);
  if (expected.empty()) return {};
  return litmus_error(in_.file(), place, fmt::format("\"{}\"", name(design)), expected);
}

// Level 0 reads \/, level 1 reads /\, level 2 reads ~, parentheses and atoms.
Result<std::uint32_t> Parser::condition(LitmusCondition& condition, int level, std::uint32_t depth) {
  using Node = LitmusCondition::Kind;
  const auto add = [&](Node kind, std::uint32_t left, std::uint32_t right) {
    condition.nodes.push_back({kind, 0, 0, left, right});
    return static_cast<std::uint32_t>(condition.nodes.size() - 1);
  };
  if (level < 2) {
    auto left = this->condition(condition, level + 1, depth);
    while (left && in_.front().is(level == 0 ? "\\/" : "/\\")) {
      in_.take();
      const auto right = this->condition(condition, level + 1, depth);
      if (!right) return right;
      left = add(level == 0 ? Node::kOr : Node::kAnd, *left, *right);
    }
    return left;
  }
  if ((in_.front().is("~") || in_.front().is("(")) && depth == kLitmusMaxDepth)
    return in_.unexpected(fmt::format("parentheses and ~ at most {} deep", kLitmusMaxDepth));
  if (in_.front().is("~")) {
    in_.take();
    const auto inner = this->condition(condition, 2, depth + 1);
    if (!inner) return inner;
    return add(Node::kNot, *inner, 0);
  }
  if (in_.front().is("(")) {
    in_.take();
    auto inner = this->condition(condition, 0, depth + 1);
    if (!inner) return inner;
    if (!in_.front().is(")")) return in_.unexpected("\")\", /\\ or \\/");
    in_.take();
    return inner;
  }
  return atom(condition);
}

// D:r0=1 or x=1.
Result<std::uint32_t> Parser::atom(LitmusCondition& condition) {
  if (in_.front().kind != Kind::kWord) return in_.unexpected("AGENT:REGISTER=NUMBER or VARIABLE=NUMBER");
  LitmusCondition::Node node;
  const LitmusToken first = in_.take();
  if (in_.front().is(":")) {
    in_.take();
    const LitmusAgent* agent = nullptr;
    std::vector<std::string_view> names;
    for (const LitmusAgent& each : program_.agents) {
      names.push_back(each.name);
      if (each.name == first.text) agent = &each;
    }
    if (agent == nullptr)
      return litmus_error(in_.file(), first.place, first.quoted(),
                          fmt::format("an agent of this program ({})", fmt::join(names, ", ")), first.text,
                          names);
    if (agent->registers.empty())
      return in_.unexpected(fmt::format("another agent, because {} has no register", agent->name));
    const std::vector<std::string_view> registers(agent->registers.begin(), agent->registers.end());
    const auto found = std::find(registers.begin(), registers.end(), in_.front().text);
    if (found == registers.end())
      return in_.unknown(fmt::format("a register of {} ({})", agent->name, fmt::join(registers, ", ")),
                         registers);
    node.kind = LitmusCondition::Kind::kRegister;
    node.index = agent->first_register + static_cast<std::uint32_t>(found - registers.begin());
    in_.take();
  } else {
    const auto variable = find_litmus_variable(in_, program_, first);
    if (!variable) return variable.error();
    node.kind = LitmusCondition::Kind::kMemory;
    node.index = *variable;
  }
  if (!in_.front().is("=")) return in_.unexpected("\"=\"");
  in_.take();
  if (in_.front().kind != Kind::kNumber) return in_.unexpected("a number");
  node.value = in_.take().number;
  condition.nodes.push_back(node);
  return static_cast<std::uint32_t>(condition.nodes.size() - 1);
}

}  // namespace

Result<LitmusProgram> parse_litmus(std::string_view file, std::string_view text) {
  auto tokens = cut_litmus_tokens(file, text);
  if (!tokens) return tokens.error();
  return Parser(LitmusTokenReader(file, text, std::move(*tokens))).parse();
}

}  // namespace wharf::sim
