// SPDX-License-Identifier: Apache-2.0
// What --help prints: the examples of a command first, and nothing wider than a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

namespace wharf::cli {

/// The help of a program and of its commands, in lines of at most 80 columns; the examples are as wide as
/// they are written.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  /// Lines to copy, shown before everything else in the help of `app`.
  void set_examples(const CLI::App& app, std::string_view examples) {
    if (!examples.empty()) examples_[&app] = examples;
  }

  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  /// What the option takes, in one word; its text says ranges and what goes together.
  std::string make_option_opts(const CLI::Option* option) const override;

 private:
  std::string entry(const std::string& name, const std::string& text) const;

  std::map<const CLI::App*, std::string> examples_;
};

}  // namespace wharf::cli
