// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/operation_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace wharf::sim {
namespace {

using Kind = LitmusToken::Kind;
using ordering::Label;

/// An instruction before its suffix, and who may have it.
struct Opcode {
  std::string_view name;
  LitmusAction action;
  bool host;
  bool device;
  bool has_register;
  int values;  ///< Per variable for writes, in all for atomics.
  AtomicKind atomic = AtomicKind::kFetchAdd;
};

constexpr std::array<Opcode, 14> kOpcodes{{
    {"R", LitmusAction::kRead, true, true, true, 0},
    {"W", LitmusAction::kWrite, true, true, false, 1},
    {"FAA", LitmusAction::kAtomic, true, true, true, 1},
    {"SWAP", LitmusAction::kAtomic, true, true, true, 1, AtomicKind::kSwap},
    {"CAS", LitmusAction::kAtomic, true, true, true, 2, AtomicKind::kCompareSwap},
    {"fence", LitmusAction::kFence, true, false, false, 0},
    {"wait", LitmusAction::kWait, false, true, false, 0},
    {"L", LitmusAction::kLocalRead, false, true, true, 0},
    {"S", LitmusAction::kLocalWrite, false, true, false, 1},
    {"MW", LitmusAction::kMmioStore, true, false, false, 1},
    {"MR", LitmusAction::kMmioLoad, true, false, true, 0},
    {"WC", LitmusAction::kCombining, true, false, false, 1},
    {"UC", LitmusAction::kUncached, true, false, false, 1},
    {"sfence", LitmusAction::kStoreFence, true, false, false, 0},
}};

struct Suffix {
  std::string_view name;
  Label label;
};
constexpr std::array<Suffix, 7> kSuffixes{{
    {"ro", Label::kRelaxedOrdering},
    {"ido", Label::kIdBased},
    {"rlx", Label::kRelaxed},
    {"acq", Label::kAcquire},
    {"rel", Label::kRelease},
    {"asc", Label::kAscending},
    {"rr", Label::kReadRelease},
}};

bool takes_label(const Opcode& opcode, bool is_device, Label label) {
  const bool is_read = opcode.action == LitmusAction::kRead || opcode.action == LitmusAction::kMmioLoad;
  const bool is_write = opcode.action == LitmusAction::kWrite || opcode.action == LitmusAction::kMmioStore;
  if (!is_device) return (is_read && label == Label::kAcquire) || (is_write && label == Label::kRelease);
  if (opcode.action == LitmusAction::kAtomic)
    return label != Label::kReadRelease && label != Label::kAscending;
  if (is_read) return label != Label::kRelease;
  return is_write && label != Label::kAcquire && label != Label::kReadRelease;
}

std::uint32_t register_of(LitmusAgent& agent, const std::string& name) {
  const auto found = std::find(agent.registers.begin(), agent.registers.end(), name);
  if (found != agent.registers.end()) return static_cast<std::uint32_t>(found - agent.registers.begin());
  agent.registers.push_back(name);
  return static_cast<std::uint32_t>(agent.registers.size() - 1);
}

/// What a variable would have to be for `action`; empty when it is that.
std::string_view misplaced(const LitmusVariable& variable, LitmusAction action, bool is_device) {
  if (action >= LitmusAction::kMmioStore) return variable.is_mmio ? "" : "a variable declared with mmio";
  if (action >= LitmusAction::kLocalRead)
    return variable.is_mmio || variable.is_peer ? "" : "a variable declared with mmio or peer";
  if (variable.is_mmio) return "a variable of host memory, not one declared with mmio";
  const bool may_be_peer = is_device && action != LitmusAction::kAtomic;
  return variable.is_peer && !may_be_peer ? "a variable of host memory, not one declared with peer" : "";
}

/// One cell. A class, so that its parts share what was read so far.
class OperationReader {
 public:
  OperationReader(LitmusTokenReader& in, const LitmusProgram& program, LitmusAgent& agent)
      : in_(in), program_(program), agent_(agent) {}

  Result<void> read() {
    made_.place = in_.front().place;
    const std::size_t from = in_.position();
    std::vector<LitmusToken> registers;
    std::vector<LitmusToken> first{in_.front()};
    if (in_.front().kind != Kind::kWord) return in_.unexpected("an instruction");
    in_.take();
    while (in_.front().is(",")) {
      in_.take();
      first.push_back(in_.take());
    }
    if (in_.front().is("=")) {
      in_.take();
      registers = first;
      if (in_.front().kind != Kind::kWord) return in_.unexpected("an instruction that reads");
      opcode_word_ = in_.take();
    } else {
      opcode_word_ = first.front();
      if (first.size() > 1) return in_.unexpected("\"=\"");
    }
    WHARF_TRY(opcode());
    if (opcode_->has_register != !registers.empty()) {
      return litmus_error(in_.file(), opcode_word_.place, opcode_word_.quoted(),
                          opcode_->has_register ? "REGISTER = before an instruction that reads"
                                                : "an instruction that reads after \"=\"");
    }
    const bool has_variables = opcode_->action != LitmusAction::kFence &&
                               opcode_->action != LitmusAction::kWait &&
                               opcode_->action != LitmusAction::kStoreFence;
    if (has_variables) {
      WHARF_TRY(variables());
      WHARF_TRY(values());
    }
    if (made_.action == LitmusAction::kFence && in_.front().kind == Kind::kWord) WHARF_TRY(sets());
    WHARF_TRY(root());
    for (const LitmusToken& token : registers) {
      if (token.kind != Kind::kWord)
        return litmus_error(in_.file(), token.place, token.quoted(), "the name of a register");
      const bool is_repeated =
          std::count_if(registers.begin(), registers.end(),
                        [&](const LitmusToken& each) { return each.text == token.text; }) > 1;
      if (is_repeated)
        return litmus_error(in_.file(), token.place, token.quoted(), "each register once in an instruction");
      made_.registers.push_back(register_of(agent_, token.text));
      if (agent_.registers.size() > kLitmusMaxRegisters)
        return litmus_error(in_.file(), token.place, token.quoted(),
                            fmt::format("at most {} registers in a column", kLitmusMaxRegisters));
    }
    if (opcode_->has_register && made_.registers.size() != made_.variables.size()) {
      return litmus_error(in_.file(), made_.place, fmt::format("{} registers", made_.registers.size()),
                          fmt::format("{}, one per variable", made_.variables.size()));
    }
    made_.text = words_since(from);
    agent_.operations.push_back(std::move(made_));
    return {};
  }

 private:
  Result<void> opcode() {
    const std::string_view word = opcode_word_.text;
    const std::size_t dot = word.find('.');
    const std::string_view stem = word.substr(0, dot);
    std::vector<std::string_view> names;
    for (const Opcode& each : kOpcodes) {
      if (!(agent_.is_device ? each.device : each.host)) continue;
      names.push_back(each.name);
      if (each.name == stem) opcode_ = &each;
    }
    if (opcode_ == nullptr) {
      // What the other kind of agent calls it.
      const std::string_view meant = stem == "wait" ? "fence" : stem == "fence" ? "wait" : stem;
      return litmus_error(in_.file(), opcode_word_.place, opcode_word_.quoted(),
                          fmt::format("an instruction of a {} ({})",
                                      agent_.is_device ? "device" : "host thread", fmt::join(names, ", ")),
                          meant, names);
    }
    made_.action = opcode_->action;
    made_.atomic = opcode_->atomic;
    if (dot == std::string_view::npos) return {};
    const std::string_view suffix = word.substr(dot + 1);
    std::vector<std::string_view> labels;
    for (const Suffix& each : kSuffixes) {
      if (!takes_label(*opcode_, agent_.is_device, each.label)) continue;
      labels.push_back(each.name);
      if (each.name == suffix) {
        made_.label = each.label;
        return {};
      }
    }
    return litmus_error(in_.file(), opcode_word_.place, fmt::format("label \"{}\"", suffix),
                        labels.empty() ? fmt::format("no label after {} here", stem)
                                       : fmt::format("one of {} after {}", fmt::join(labels, ", "), stem),
                        suffix, labels);
  }

  Result<void> variables() {
    for (;;) {
      const LitmusToken token = in_.front();
      const auto variable = find_litmus_variable(in_, program_, token);
      if (!variable) return variable.error();
      const LitmusVariable& found = program_.variables[*variable];
      const std::string_view wanted = misplaced(found, made_.action, agent_.is_device);
      if (!wanted.empty()) return in_.unexpected(wanted);
      if (made_.variables.empty()) {
        made_.line_begins.push_back(0);
      } else {
        WHARF_TRY(one_more(program_.variables[made_.variables.back()], found));
      }
      made_.variables.push_back(*variable);
      in_.take();
      if (!in_.front().is(",")) return {};
      in_.take();
    }
  }

  /// `next` is accessed together with `before`.
  Result<void> one_more(const LitmusVariable& before, const LitmusVariable& next) {
    const bool takes_several =
        made_.action == LitmusAction::kWrite || (agent_.is_device && made_.action == LitmusAction::kRead);
    if (!takes_several || next.is_peer)
      return in_.unexpected(
          "one variable; only reads of devices and writes take several, those of a peer device do not");
    const std::uint64_t line = before.address / kLineBytes;
    if (!agent_.is_device) {
      if (next.address != before.address + kLitmusWordBytes || next.address / kLineBytes != line)
        return in_.unexpected("the variable behind the one before it in its line");
      return {};
    }
    if (next.address <= before.address || next.address / kLineBytes > line + 1)
      return in_.unexpected("a variable behind the one before it in its line, or one in the line after");
    if (next.address / kLineBytes > line && made_.line_begins.size() == kLitmusMaxLines)
      return in_.unexpected(fmt::format("at most {} lines in a request", kLitmusMaxLines));
    if (next.address / kLineBytes > line)
      made_.line_begins.push_back(static_cast<std::uint32_t>(made_.variables.size()));
    return {};
  }

  // fence rw,w: what comes before it, and what comes behind.
  Result<void> sets() {
    WHARF_TRY(set(made_.predecessors));
    WHARF_TRY(in_.sign(","));
    return set(made_.successors);
  }
  Result<void> set(ordering::FenceSet& made) {
    made = {};
    if (in_.front().kind != Kind::kWord) return in_.unexpected("letters of i, o, r and w");
    for (const char letter : in_.front().text) {
      bool* const one = letter == 'i'   ? &made.device_input
                        : letter == 'o' ? &made.device_output
                        : letter == 'r' ? &made.memory_reads
                        : letter == 'w' ? &made.memory_writes
                                        : nullptr;
      if (one == nullptr || *one) return in_.unexpected("letters of i, o, r and w, each once");
      *one = true;
    }
    in_.take();
    return {};
  }

  Result<void> root() {
    made_.root = agent_.root;
    if (!in_.front().is("@")) return {};
    const bool has_root =
        agent_.is_device && is_request(made_.action) && !program_.variables[made_.variables[0]].is_peer;
    if (!has_root) return in_.unexpected("@ only after requests of devices on host memory");
    return read_litmus_root(in_, made_.root);
  }

  Result<void> values() {
    const std::size_t wanted = static_cast<std::size_t>(opcode_->values) *
                               (made_.action == LitmusAction::kAtomic ? 1 : made_.variables.size());
    for (std::size_t i = 0; i < wanted; ++i) {
      if (i > 0 && in_.front().is(",")) in_.take();
      if (in_.front().kind != Kind::kNumber) return in_.unexpected("a number");
      made_.values.push_back(in_.take().number);
    }
    // Written as in herd: first what is compared, then what is stored.
    if (made_.atomic == AtomicKind::kCompareSwap && made_.action == LitmusAction::kAtomic)
      std::swap(made_.values[0], made_.values[1]);
    return {};
  }

  std::string words_since(std::size_t from) const { return in_.text_since(from, " "); }

  LitmusTokenReader& in_;
  const LitmusProgram& program_;
  LitmusAgent& agent_;
  LitmusOperation made_;
  LitmusToken opcode_word_;
  const Opcode* opcode_ = nullptr;
};

struct Setting {
  std::string_view name;
  std::vector<std::string_view> words;  ///< Empty: a number.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::function<void(LitmusSettings&, std::uint64_t)> put;  ///< A number, or the place of the word.
};

const std::vector<Setting>& all_settings() {
  const auto number = [](std::string_view name, std::uint64_t low, std::uint64_t high,
                         std::uint32_t LitmusSettings::*field, bool is_rob) {
    return Setting{name, {}, low, high, [field, is_rob](LitmusSettings& settings, std::uint64_t value) {
                     settings.*field = static_cast<std::uint32_t>(value);
                     settings.sets_rob = settings.sets_rob || is_rob;
                   }};
  };
  static const std::vector<Setting> kSettings{
      {"bus",
       {"pcie", "on_chip"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) { settings.on_chip_bus = value == 1; }},
      number("rlsq.entries", 1, 64, &LitmusSettings::entries, false),
      number("rlsq.trackers", 1, 64, &LitmusSettings::trackers, false),
      number("rlsq.posted_reserve", 1, 64, &LitmusSettings::posted_reserve, false),
      {"rlsq.design",
       {"baseline", "release_acquire", "thread_specific", "speculative", "strict_blocking",
        "strict_speculative"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.queue = static_cast<ordering::RlsqDesign>(value);
       }},
      {"order.write_before_annotated_read",
       {"no", "yes"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.order.write_before_annotated_read = value == 1;
       }},
      {"order.release_before_acquire",
       {"no", "yes"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.order.release_before_acquire = value == 1;
       }},
      number("host.store_buffer", 1, 16, &LitmusSettings::store_buffer, false),
      number("host.cache_lines", 1, 64, &LitmusSettings::cache_lines, false),
      number("host.combining_buffers", 1, 64, &LitmusSettings::combining_buffers, false),
      number("directory.entries", 1, 64, &LitmusSettings::directory_entries, false),
      number("rob.entries", 1, 64, &LitmusSettings::rob_entries, true),
      number("rob.window", 1, 128, &LitmusSettings::rob_window, true),
      number("rob.number_bits", 2, 16, &LitmusSettings::number_bits, true),
      {"rob.numbers",
       {"operation", "epoch"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.numbers =
             value == 0 ? ordering::NumberingScheme::kPerOperation : ordering::NumberingScheme::kEpochCount;
         settings.sets_rob = true;
       }},
      {"rob.counters",
       {"thread", "device"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.counters =
             value == 0 ? ordering::CounterScope::kThread : ordering::CounterScope::kThreadAndDevice;
         settings.sets_rob = true;
       }},
      {"rob.reach",
       {"one", "all"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.reach = value == 0 ? ordering::OrderReach::kOneDevice : ordering::OrderReach::kAllDevices;
         settings.sets_rob = true;
       }},
      {"rob.rule",
       {"strict", "refined"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.rob_rule = value == 0 ? ordering::ReleaseRule::kStrict : ordering::ReleaseRule::kRefined;
         settings.sets_rob = true;
       }},
      {"rob.overflow",
       {"report", "hold"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.rob_overflow = value == 0 ? ordering::RobOverflow::kReport : ordering::RobOverflow::kHold;
         settings.sets_rob = true;
       }},
      {"rob.shared_network",
       {"no", "yes"},
       0,
       1,
       [](LitmusSettings& settings, std::uint64_t value) {
         settings.rob_shared_network = value == 1;
         settings.sets_rob = true;
       }},
  };
  return kSettings;
}

}  // namespace

Result<void> read_litmus_operation(LitmusTokenReader& in, const LitmusProgram& program, LitmusAgent& agent) {
  return OperationReader(in, program, agent).read();
}

Result<void> read_litmus_root(LitmusTokenReader& in, std::uint8_t& root) {
  if (!in.front().is("@")) return {};
  in.take();
  const LitmusToken& number = in.front();
  if (number.kind != Kind::kNumber || number.number < 1 || number.number > kLitmusMaxRoots)
    return in.unexpected(fmt::format("the number of a root complex, 1 to {}", kLitmusMaxRoots));
  root = static_cast<std::uint8_t>(in.take().number - 1);
  return {};
}

Result<void> LitmusSettingsReader::read() {
  std::vector<std::string_view> names;
  const Setting* setting = nullptr;
  for (const Setting& each : all_settings()) {
    names.push_back(each.name);
    if (each.name == in_.front().text) setting = &each;
  }
  if (setting == nullptr) return in_.unknown("the name of a setting", names);
  if (std::any_of(given_.begin(), given_.end(),
                  [&](const Given& given) { return given.name == setting->name; }))
    return in_.unexpected("each setting once");
  const LitmusToken name = in_.take();
  const LitmusToken& value = in_.front();
  given_.push_back({name.text, value});
  if (setting->words.empty()) {
    if (value.kind != Kind::kNumber || value.number < setting->low || value.number > setting->high)
      return in_.unexpected(fmt::format("a number from {} to {}", setting->low, setting->high));
    setting->put(settings_, in_.take().number);
  } else {
    const auto word = std::find(setting->words.begin(), setting->words.end(), value.text);
    if (word == setting->words.end())
      return in_.unknown(fmt::format("{}", fmt::join(setting->words, " or ")), setting->words);
    setting->put(settings_, static_cast<std::uint64_t>(word - setting->words.begin()));
    in_.take();
  }
  if (settings_.on_chip_bus && settings_.sets_rob)
    return litmus_error(in_.file(), name.place, name.quoted(),
                        "no rob.* setting beside bus on_chip, where no MMIO reorder buffer applies");
  return {};
}

Result<void> LitmusSettingsReader::fit(std::string_view name, std::uint32_t& size, std::uint32_t most) const {
  const auto given =
      std::find_if(given_.begin(), given_.end(), [name](const Given& each) { return each.name == name; });
  if (given == given_.end()) size = std::min(size, most);
  if (size <= most) return {};
  return litmus_error(
      in_.file(), given->value.place, fmt::format("{} {}", name, size),
      fmt::format("at most {}, {} of what rob.number_bits {} can number", most,
                  most == 1U << (settings_.number_bits - 1U) ? "half" : "a quarter", settings_.number_bits));
}

Result<void> LitmusSettingsReader::finish() {
  const std::uint32_t half = 1U << (settings_.number_bits - 1U);
  const bool are_epochs = settings_.numbers == ordering::NumberingScheme::kEpochCount;
  WHARF_TRY(fit("rob.window", settings_.rob_window, are_epochs ? half / 2 : half));
  WHARF_TRY(fit("rob.entries", settings_.rob_entries, half));
  if (std::has_single_bit(settings_.rob_entries)) return {};
  const auto given = std::find_if(given_.begin(), given_.end(),
                                  [](const Given& each) { return each.name == "rob.entries"; });
  return litmus_error(in_.file(), given->value.place, given->value.quoted(), "a power of two");
}

Result<std::uint32_t> find_litmus_variable(const LitmusTokenReader& in, const LitmusProgram& program,
                                           const LitmusToken& token) {
  const auto found = std::find_if(program.variables.begin(), program.variables.end(),
                                  [&token](const LitmusVariable& each) { return each.name == token.text; });
  if (token.kind == Kind::kWord && found != program.variables.end())
    return static_cast<std::uint32_t>(found - program.variables.begin());
  std::vector<std::string_view> names;
  for (const LitmusVariable& each : program.variables) names.push_back(each.name);
  return litmus_error(in.file(), token.place, token.quoted(),
                      fmt::format("a variable of this program ({})", fmt::join(names, ", ")), token.text,
                      names);
}

}  // namespace wharf::sim
