// SPDX-License-Identifier: Apache-2.0
// The only source that includes CLI11.
#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/nearest_name.h"
#include "report/wrapped_text.h"

namespace wharf::cli {

/// What a whole number may be; its option's range() narrows it.
struct WholeNumberBounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t type_most = 0;  ///< All that the variable has room for.
};

namespace {

/// Where the text about an option or command begins.
constexpr std::size_t kTextColumn = 26;

constexpr std::string_view kNoValue = "found no value, expected one";

/// What the option takes, in one word; CLI11 appends what its checks say.
std::string word_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  return type.substr(0, type.find(':'));
}

bool takes_many(const CLI::Option* option) {
  return option->get_expected_max() == CLI::detail::expected_max_vector_size;
}

/// The help of a program and of its commands, in lines of at most 80 columns; the examples are as wide as
/// they are written.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kTextColumn); }

  void set_examples(const CLI::App* app, std::string_view examples) {
    if (!examples.empty()) examples_[app] = examples;
  }

  std::string make_description(const CLI::App* app) const override {
    std::string out;
    if (const auto found = examples_.find(app); found != examples_.end())
      out += fmt::format("Examples:\n{}\n", found->second);
    for (const std::string& line : report::wrap(app->get_description(), report::kTerminalColumns))
      out += line + "\n";
    return out;
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    std::string out;
    while (!usage.empty() && usage.back() == '\n') usage.pop_back();
    for (const std::string& line : report::wrap(usage, report::kTerminalColumns - 2))
      out += (out.empty() ? "" : "  ") + line + "\n";
    return out;
  }

  /// Of a nested command the options that it understands because the one above has them.
  std::string make_footer(const CLI::App* app) const override {
    const CLI::App* const above = app->get_parent();
    if (above == nullptr || above->get_parent() == nullptr) return CLI::Formatter::make_footer(app);
    const auto options = above->get_options([above](const CLI::Option* option) {
      return option->nonpositional() && option != above->get_help_ptr();
    });
    const std::string group = make_group("Options of all commands beside it", false, options);
    return group.substr(group.find_first_not_of('\n'));
  }

  std::string make_subcommand(const CLI::App* app) const override {
    return entry(app->get_name(), app->get_description());
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }

  /// What the option takes, in one word; its text says ranges and what goes together.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";  // A flag.
    return " " + word_of(option) + (takes_many(option) ? " ..." : "");
  }

 private:
  static std::string entry(const std::string& name, const std::string& text) {
    const std::string indent(kTextColumn, ' ');
    std::string out;
    std::string head;
    for (const std::string& line : report::wrap(name, report::kTerminalColumns - 4)) {
      if (!head.empty()) out += head + "\n";
      head = (head.empty() ? "  " : "    ") + line;
    }
    if (text.empty()) return out + head + "\n";
    if (head.size() + 1 >= kTextColumn) {
      out += head + "\n";
      head.clear();
    }
    for (const std::string& line : report::wrap(text, report::kTerminalColumns - kTextColumn)) {
      out += head + std::string(kTextColumn - head.size(), ' ') + line + "\n";
      head.clear();
    }
    return out;
  }

  std::map<const CLI::App*, std::string> examples_;
};

/// Of `text`, what an option with `bounds` refuses; empty when it takes it. CLI11 itself takes "-1" for a
/// number without a sign.
std::string refusal_of(const std::string& text, const WholeNumberBounds& bounds) {
  const bool negative = text.starts_with('-');
  const std::string digits = negative ? text.substr(1) : text;
  char* end = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(digits.c_str(), &end, 0);
  const bool too_long = errno == ERANGE;
  if (digits.empty() || digits.front() < '0' || digits.front() > '9' || *end != '\0')
    return fmt::format("found {}, expected a whole number", text);
  if (!too_long && (!negative || number == 0) && number >= bounds.least && number <= bounds.most) return "";
  const bool too_small = !too_long && (negative || number < bounds.least);
  return bounds.most == bounds.type_most && (negative || too_small)
             ? fmt::format("found {}, expected at least {}", text, bounds.least)
             : fmt::format("found {}, expected {} to {}", text, bounds.least, bounds.most);
}

Option whole_number(CLI::Option* option, std::uint64_t most) {
  auto bounds = std::make_shared<WholeNumberBounds>(WholeNumberBounds{0, most, most});
  option->check(CLI::Validator([bounds](const std::string& text) { return refusal_of(text, *bounds); }, ""));
  return Option(option, std::move(bounds));
}

std::string nearest_of(const std::string& wrong, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(wrong, views);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

/// The innermost command that the parse reached.
CLI::App& innermost(CLI::App& root) {
  CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "wharf", "wharf run", "wharf study run", ...: the command line up to `app`.
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> command_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const Options& command : Options(&app).commands()) names.push_back(command.name());
  return names;
}

/// Which commands have the option that another one was given; nothing where none has.
std::string commands_with(CLI::App& root, const std::string& wrong) {
  const std::string name = wrong.substr(0, wrong.find('='));
  std::vector<std::string> having;
  for (CLI::App* const command : root.get_subcommands([](CLI::App*) { return true; })) {
    const auto named = [&name](const CLI::Option* option) { return option->check_name(name); };
    if (!command->get_options(named).empty()) having.push_back(command->get_name());
  }
  return having.empty() ? std::string() : fmt::format(", an option of {}", fmt::join(having, ", "));
}

/// One sentence for a command line that CLI11 refused.
std::string sentence_about(CLI::App& root, const CLI::ParseError& failure) {
  CLI::App& at = innermost(root);
  const std::string command = full_name(at);
  const std::vector<std::string> rest = root.remaining(true);  // Of every level that the parse reached.
  const std::vector<std::string> names = command_names(at);
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr;
  if (extras || (!names.empty() && !rest.empty())) {
    const std::string wrong = rest.empty() ? std::string(failure.what()) : rest.front();
    if (!wrong.empty() && wrong.front() == '-') {
      std::string meant = nearest_of(wrong, Options(&at).option_names());
      if (meant.empty()) meant = commands_with(root, wrong);
      return fmt::format("{}: unknown option {}{}", command, wrong, meant);
    }
    if (!names.empty()) {
      return fmt::format("{}: unknown command {}, expected one of {}{}", command, wrong,
                         fmt::join(names, ", "), nearest_of(wrong, names));
    }
    return fmt::format("{}: unexpected argument {}; `{} --help` shows what it takes", command, wrong,
                       command);
  }
  if (!names.empty())
    return fmt::format("{}: no command given, expected one of {}", command, fmt::join(names, ", "));
  std::string text = failure.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fmt::format("{}: {}; `{} --help` shows what it takes", command, text, command);
}

/// Of a value that is there: none at all is a missing argument.
bool is_about_a_value(const CLI::ParseError& failure) {
  if (std::string_view(failure.what()).ends_with(kNoValue)) return false;
  return dynamic_cast<const CLI::ValidationError*>(&failure) != nullptr ||
         dynamic_cast<const CLI::ConversionError*>(&failure) != nullptr;
}

/// Of `examples`, the lines for the nested command that `line` begins with, continuations included.
std::string examples_with(std::string_view examples, const std::string& line) {
  std::string found;
  bool takes = false;
  while (!examples.empty()) {
    const std::size_t end = std::min(examples.find('\n'), examples.size() - 1) + 1;
    const std::string_view one = examples.substr(0, end);
    examples.remove_prefix(end);
    if (!one.starts_with("      ")) takes = one.starts_with("  " + line);
    if (takes) found += one;
  }
  return found;
}

}  // namespace

// --- Option
// -------------------------------------------------------------------------------------------------------

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required(bool needed) {
  option_->required(needed);
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::value_optional() {
  option_->expected(0, 1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::range(int least, int most) {
  WHARF_CHECK(least >= 0);
  return range(static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most));
}

Option& Option::range(std::uint64_t least, std::uint64_t most) {
  WHARF_CHECK(bounds_ != nullptr);
  bounds_->least = least;
  bounds_->most = most;
  return *this;
}

Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::positive() {
  WHARF_CHECK(bounds_ != nullptr);
  bounds_->least = 1;
  return *this;
}

Option& Option::not_negative() {
  const auto refusal = [](const std::string& text) {
    return text.starts_with('-') ? fmt::format("found {}, expected at least 0", text) : std::string();
  };
  option_->check(CLI::Validator(refusal, ""));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  const auto refusal = [values](const std::string& text) {
    if (std::find(values.begin(), values.end(), text) != values.end()) return std::string();
    return fmt::format("found {}, expected one of {}{}", text, fmt::join(values, ", "),
                       nearest_of(text, values));
  };
  option_->check(CLI::Validator(refusal, ""));
  return *this;
}

Option& Option::not_empty() {
  const auto refusal = [](const std::string& text) {
    return std::string(text.empty() ? kNoValue : std::string_view());
  };
  option_->check(CLI::Validator(refusal, ""));
  return *this;
}

bool Option::given() const { return option_->count() != 0; }

// --- Options
// ------------------------------------------------------------------------------------------------------

Option Options::add_option(const std::string& names, std::string& value, const std::string& text) {
  return Option(app_->add_option(names, value, text));
}

Option Options::add_option(const std::string& names, std::vector<std::string>& value,
                           const std::string& text) {
  return Option(app_->add_option(names, value, text));
}

Option Options::add_option(const std::string& names, int& value, const std::string& text) {
  return whole_number(app_->add_option(names, value, text), std::numeric_limits<int>::max());
}

Option Options::add_option(const std::string& names, std::uint32_t& value, const std::string& text) {
  return whole_number(app_->add_option(names, value, text), std::numeric_limits<std::uint32_t>::max());
}

Option Options::add_option(const std::string& names, std::uint64_t& value, const std::string& text) {
  return whole_number(app_->add_option(names, value, text), std::numeric_limits<std::uint64_t>::max());
}

Option Options::add_option(const std::string& names, double& value, const std::string& text) {
  return Option(app_->add_option(names, value, text));
}

Option Options::add_flag(const std::string& names, bool& value, const std::string& text) {
  return Option(app_->add_flag(names, value, text));
}

Option Options::option(const std::string& name) { return Option(app_->get_option(name)); }

Options Options::add_nested(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  CLI::App* const nested = app_->add_subcommand(name, summary);
  nested->fallthrough();
  return Options(nested);
}

bool Options::given() const { return app_->parsed(); }

std::string Options::name() const { return app_->get_name(); }

std::vector<Options> Options::commands() const {
  std::vector<Options> commands;
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; }))
    commands.emplace_back(command);
  return commands;
}

std::string Options::summary() const { return app_->get_description(); }

std::string Options::help() const {
  return app_->get_formatter()->make_help(app_, full_name(*app_), CLI::AppFormatMode::Normal);
}

std::vector<OptionText> Options::texts() const {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    const bool is_flag = option->get_type_size() == 0;
    texts.push_back({.names = option->get_name(option->get_positional(), true),
                     .takes = is_flag ? std::string() : word_of(option),
                     .text = option->get_description(),
                     .is_argument = option->get_positional(),
                     .is_required = option->get_required(),
                     .is_repeated = !is_flag && takes_many(option)});
  }
  return texts;
}

std::vector<std::string> Options::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// --- CommandLine
// --------------------------------------------------------------------------------------------------

struct CommandLine::Parts {
  Parts(const std::string& name, const std::string& summary) : root(summary, name) {}

  CLI::App root;
  std::shared_ptr<HelpFormatter> help = std::make_shared<HelpFormatter>();
  std::vector<CLI::App*> commands;
};

CommandLine::CommandLine(const std::string& name, const std::string& summary, const std::string& version)
    : parts_(std::make_unique<Parts>(name, summary)) {
  parts_->root.formatter(parts_->help);
  parts_->root.set_version_flag("--version", version);
  parts_->root.require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

Options CommandLine::root() { return Options(&parts_->root); }

Options CommandLine::add_command(const std::string& name, const std::string& summary) {
  CLI::App* const command = parts_->root.add_subcommand(name, summary);
  command->footer("");
  parts_->commands.push_back(command);
  return Options(command);
}

void CommandLine::set_examples(const Options& command, std::string_view examples) {
  parts_->help->set_examples(command.app_, examples);
  for (const Options& nested : command.commands())
    parts_->help->set_examples(nested.app_, examples_with(examples, full_name(*nested.app_)));
}

ParsedLine CommandLine::parse(int argc, const char* const* argv) {
  CLI::App& root = parts_->root;
  try {  // CLI11 reports through exceptions; none passes this point.
    root.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::ParseError& failure) {
    const bool unknown_command = !command_names(innermost(root)).empty() && !root.remaining(true).empty();
    if (failure.get_exit_code() != 0 || unknown_command)
      return {is_about_a_value(failure) ? ParsedLine::Kind::kWrong : ParsedLine::Kind::kRefused, 0,
              sentence_about(root, failure)};
    std::ostringstream text;  // --help, --version
    root.exit(failure, text, text);
    return {ParsedLine::Kind::kText, 0, text.str()};
  }
  for (std::size_t index = 0; index < parts_->commands.size(); ++index)
    if (parts_->commands[index]->parsed()) return {ParsedLine::Kind::kCommand, index, {}};
  return {ParsedLine::Kind::kRefused, 0,
          fmt::format("{}: no command given, expected one of {}", root.get_name(),
                      fmt::join(command_names(root), ", "))};
}

}  // namespace wharf::cli
