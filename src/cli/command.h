// SPDX-License-Identifier: Apache-2.0
// One command of the program: its options and what it does. Each lives in a file of its own, NAME_command.cc.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/options.h"

namespace wharf::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  /// One line for the list of commands.
  virtual std::string_view summary() const = 0;
  /// Lines to copy, shown first in --help.
  virtual std::string_view examples() const = 0;
  /// Declares options and nested commands.
  virtual void declare(Options& app) = 0;
  /// Runs after a successful parse.
  virtual Result<ExitCode> run(const Console& console) = 0;
};

std::unique_ptr<Command> make_chaos_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_completion_command(Options root);
std::unique_ptr<Command> make_dissect_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_explain_command();
/// `commands`: all of them, this one included, when it runs.
std::unique_ptr<Command> make_help_command(Options root,
                                           const std::vector<std::unique_ptr<Command>>& commands);
std::unique_ptr<Command> make_import_command();
std::unique_ptr<Command> make_list_command();
std::unique_ptr<Command> make_litmus_command();
std::unique_ptr<Command> make_perf_command();
std::unique_ptr<Command> make_rdmo_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_state_command();
std::unique_ptr<Command> make_study_command();
std::unique_ptr<Command> make_sweep_command();
std::unique_ptr<Command> make_top_command();
std::unique_ptr<Command> make_topo_command();
std::unique_ptr<Command> make_urma_command();
std::unique_ptr<Command> make_version_command();

}  // namespace wharf::cli
