// SPDX-License-Identifier: Apache-2.0
// How a command declares its options. Handles to a parser that command_line.cc alone includes: the parser
// takes longer to compile than all commands together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wharf::cli {

struct WholeNumberBounds;

/// One option or argument of a command. A handle: copies name the same option, which lives as long as the
/// command line. What the setters refuse is an error of the command line, told by the parser.
class Option {
 public:
  Option() = default;
  explicit Option(CLI::Option* option, std::shared_ptr<WholeNumberBounds> bounds = nullptr)
      : option_(option), bounds_(std::move(bounds)) {}

  /// How --help calls what the option takes: "FILE", "N", "KEY=VALUE".
  Option& type_name(const std::string& name);
  Option& required(bool needed = true);
  /// Takes one value each time it is given, however many the variable has room for.
  Option& one_value_each();
  /// May be given without a value, and repeatedly.
  Option& value_optional();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

  // What a value may be; each is checked while the line is parsed.
  Option& range(int least, int most);
  Option& range(std::uint64_t least, std::uint64_t most);
  Option& range(double least, double most);
  Option& positive();
  Option& not_negative();
  Option& one_of(const std::vector<std::string>& values);
  /// Refuses an empty word, as a shell gives for a variable that is not set.
  Option& not_empty();

  /// Whether the command line has it.
  bool given() const;

 private:
  CLI::Option* option_ = nullptr;
  std::shared_ptr<WholeNumberBounds> bounds_;  ///< Of an option that takes a whole number.
};

/// What --help says of one option or argument.
struct OptionText {
  std::string names;  ///< "-o,--out", or "scenario" for an argument.
  std::string takes;  ///< "FILE", "bash|zsh|fish"; empty for a flag.
  std::string text;
  bool is_argument = false;
  bool is_required = false;
  bool is_repeated = false;
};

/// One command: declares options and nested commands. A handle, as Option is. The variables that an option
/// fills must outlive the parse; an option that is not given leaves its variable alone.
class Options {
 public:
  Options() = default;
  explicit Options(CLI::App* app) : app_(app) {}

  /// `names`: "-o,--out" for an option, "file" for an argument.
  Option add_option(const std::string& names, std::string& value, const std::string& text);
  Option add_option(const std::string& names, std::vector<std::string>& value, const std::string& text);
  Option add_option(const std::string& names, int& value, const std::string& text);
  Option add_option(const std::string& names, std::uint32_t& value, const std::string& text);
  Option add_option(const std::string& names, std::uint64_t& value, const std::string& text);
  Option add_option(const std::string& names, double& value, const std::string& text);
  Option add_flag(const std::string& names, bool& value, const std::string& text);
  /// An option that has been declared.
  Option option(const std::string& name);

  /// A nested command, which understands the options of this one too. Once there is one, the command line
  /// must name one.
  Options add_nested(const std::string& name, const std::string& summary);
  /// Whether the command line names this command.
  bool given() const;

  std::string name() const;
  std::string summary() const;
  /// What --help prints.
  std::string help() const;
  /// Its options and arguments, in the order of their declaration.
  std::vector<OptionText> texts() const;
  /// Commands below this one, in the order of their declaration.
  std::vector<Options> commands() const;
  /// Every option that is no argument, long names alone: "--out".
  std::vector<std::string> option_names() const;

 private:
  friend class CommandLine;

  CLI::App* app_ = nullptr;
};

}  // namespace wharf::cli
