// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: its commands, its --help, and what one line of it asks for.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace wharf::cli {

/// What a line asks for.
struct ParsedLine {
  enum class Kind : std::uint8_t {
    kCommand,  ///< Run the command of that index.
    kText,     ///< Show `text`: --help or --version.
    kRefused,  ///< `text` is one sentence that tells why the line is not understood.
    kWrong,    ///< The same, of an option's value.
  };
  Kind kind = Kind::kRefused;
  std::size_t command = 0;  ///< In the order of add_command().
  std::string text;
};

class CommandLine {
 public:
  /// `version`: what --version prints.
  CommandLine(const std::string& name, const std::string& summary, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// What is above the commands; its nested commands are those of add_command().
  Options root();
  Options add_command(const std::string& name, const std::string& summary);
  /// Lines to copy, shown before everything else in the help of `command`; those of a nested command in its
  /// own, too.
  void set_examples(const Options& command, std::string_view examples);
  /// Fills the variables of the options that the line has.
  ParsedLine parse(int argc, const char* const* argv);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace wharf::cli
