// SPDX-License-Identifier: Apache-2.0
// wharf help [COMMAND...] and wharf version: what --help and --version print, and the manual pages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/manual_page.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

class HelpCommand : public Command {
 public:
  HelpCommand(Options root, const std::vector<std::unique_ptr<Command>>& commands)
      : root_(root), commands_(&commands) {}

  std::string_view name() const override { return "help"; }
  std::string_view summary() const override { return "Show how a command is used, or all of them."; }
  std::string_view examples() const override {
    return "  wharf help\n"
           "  wharf help run\n"
           "  wharf help study report\n"
           "  wharf help run --manual > wharf-run.1\n";
  }
  void declare(Options& app) override {
    app.add_option("command", path_, "A command, and a command of it").type_name("COMMAND");
    app.add_flag("--manual", manual_, "As the source of a manual page, for man");
    app.add_flag("--commands", names_, "Only the names of the commands, one on each line");
  }
  Result<ExitCode> run(const Console& console) override {
    if (names_) {
      std::string names;
      for (const Options& each : root_.commands()) names += each.name() + "\n";
      console.print(nlohmann::ordered_json{{"help", names}});
      console.print(std::string_view(names));
      return ExitCode::kDone;
    }
    Options at = root_;
    for (const std::string& word : path_) {
      const auto found = child(at, word);
      if (!found) return found.error();
      at = *found;
    }
    if (manual_ && path_.size() > 1) {
      return input_error(
          fmt::format("{}: found --manual for a part of a command, expected wharf help {} "
                      "--manual",
                      fmt::join(path_, " "), path_.front()));
    }
    const std::string text = !manual_        ? at.help()
                             : path_.empty() ? manual_page_of_all(root_)
                                             : manual_page(at, examples_of(path_.front()));
    console.print(nlohmann::ordered_json{{"help", text}});
    console.print(std::string_view(text));
    return ExitCode::kDone;
  }

 private:
  static Result<Options> child(const Options& parent, const std::string& word) {
    std::vector<std::string> names;
    for (const Options& each : parent.commands()) {
      if (each.name() == word) return each;
      names.push_back(each.name());
    }
    if (names.empty())
      return Error{ErrorKind::kUsage, fmt::format("{} has no commands, found {}", parent.name(), word)};
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto nearest = nearest_name(word, views);
    return Error{ErrorKind::kUsage,
                 fmt::format("there is no command {}, expected one of {}{}", word, fmt::join(names, ", "),
                             nearest ? fmt::format("; did you mean {}?", *nearest) : std::string())};
  }

  std::string_view examples_of(const std::string& name) const {
    for (const auto& command : *commands_) {
      if (command->name() == name) return command->examples();
    }
    return {};
  }

  Options root_;
  const std::vector<std::unique_ptr<Command>>* commands_;
  std::vector<std::string> path_;
  bool manual_ = false;
  bool names_ = false;
};

class VersionCommand : public Command {
 public:
  std::string_view name() const override { return "version"; }
  std::string_view summary() const override { return "Show the version, its commit and its compiler."; }
  std::string_view examples() const override {
    return "  wharf version\n"
           "  wharf version --json\n";
  }
  void declare(Options&) override {}
  Result<ExitCode> run(const Console& console) override {
    console.print(nlohmann::ordered_json{{"version", version()}, {"commit", commit()}});
    console.print(std::string(version_text()) + "\n");
    return ExitCode::kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_help_command(Options root,
                                           const std::vector<std::unique_ptr<Command>>& commands) {
  return std::make_unique<HelpCommand>(root, commands);
}

std::unique_ptr<Command> make_version_command() { return std::make_unique<VersionCommand>(); }

}  // namespace wharf::cli
