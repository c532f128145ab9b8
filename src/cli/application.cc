// SPDX-License-Identifier: Apache-2.0
#include "cli/application.h"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/version.h"

namespace wharf::cli {
namespace {

constexpr std::string_view kFirstScreen =
    "wharf: remote memory, from the wire to the nanosecond\n"
    "\n"
    "Five things to try:\n"
    "  wharf study run openurma/table6              a published table, judged\n"
    "  wharf explain scenarios/fetch-64-bytes.toml  where the nanoseconds go\n"
    "  wharf run --collective ring_all_reduce --topo fat_tree:16\n"
    "                                               sixteen hosts on a fabric\n"
    "  wharf litmus tests/litmus/l02-acquire-flag.litmus --witness\n"
    "                                               what a device may see\n"
    "  wharf list                                   everything there is\n"
    "\n"
    "`wharf --help` shows every command, `wharf COMMAND --help` one of them.\n";

/// Everything that starts with '-' in `app`, for the nearest name of a mistyped option.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string nearest_of(const std::string& wrong, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(wrong, views);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

/// The innermost command that the parse reached.
const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "wharf", "wharf run", "wharf study run", ...: the command line up to `app`.
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

ExitCode usage(const Console& console, const std::string& text) {
  console.error(text);
  return ExitCode::kUsage;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// One sentence for a command line that CLI11 refused.
ExitCode explain_parse_error(const CLI::App& root, const CLI::ParseError& failure, const Console& console) {
  const CLI::App& at = innermost(root);
  const std::string command = full_name(at);
  const std::vector<std::string> rest = root.remaining(true);  // Of every level that the parse reached.
  const std::vector<std::string> names = command_names(at);
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr;
  if (extras || (!names.empty() && !rest.empty())) {
    const std::string wrong = rest.empty() ? std::string(failure.what()) : rest.front();
    if (!wrong.empty() && wrong.front() == '-') {
      return usage(console, fmt::format("{}: unknown option {}{}", command, wrong,
                                        nearest_of(wrong, option_names(at))));
    }
    if (!names.empty()) {
      return usage(console, fmt::format("{}: unknown command {}, expected one of {}{}", command, wrong,
                                        fmt::join(names, ", "), nearest_of(wrong, names)));
    }
    return usage(console, fmt::format("{}: unexpected argument {}; `{} --help` shows what it takes", command,
                                      wrong, command));
  }
  if (!names.empty()) {
    return usage(console,
                 fmt::format("{}: no command given, expected one of {}", command, fmt::join(names, ", ")));
  }
  std::string text = failure.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return usage(console, fmt::format("{}: {}; `{} --help` shows what it takes", command, text, command));
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

/// The arguments as one line that a shell reads back.
std::string command_line(int argc, const char* const* argv) {
  std::string line = "wharf";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./:,%@") == std::string_view::npos;
    line += ' ';
    if (!plain) line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    if (!plain) line += '\'';
  }
  return line;
}

/// A broken invariant has printed its message; the exit code says that the bug is ours.
void on_abort(int) { ::_exit(static_cast<int>(ExitCode::kBug)); }

ExitCode run_parsed(int argc, const char* const* argv, Console& console) {
  CLI::App root("Remote memory, from the wire to the nanosecond.", "wharf");
  const auto help = std::make_shared<HelpFormatter>();
  root.formatter(help);
  root.set_version_flag("--version", std::string(version_text()));
  root.require_subcommand(0, 1);

  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_sweep_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_study_command());
  commands.push_back(make_litmus_command());
  commands.push_back(make_topo_command());
  commands.push_back(make_dissect_command());
  commands.push_back(make_state_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_check_command());
  commands.push_back(make_import_command());
  commands.push_back(make_serve_command());
  commands.push_back(make_perf_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_list_command());
  commands.push_back(make_completion_command(root));

  std::vector<CLI::App*> apps;
  for (const auto& command : commands) {
    CLI::App* app = root.add_subcommand(std::string(command->name()), std::string(command->summary()));
    app->footer("");
    app->add_flag("--json", console.json, "One JSON document on standard output");
    app->add_flag("-q,--quiet", console.quiet, "No progress and no remarks");
    command->declare(*app);
    help->set_examples(*app, command->examples());
    for (const CLI::App* nested : app->get_subcommands([](const CLI::App*) { return true; }))
      help->set_examples(*nested, examples_with(command->examples(), full_name(*nested)));
    apps.push_back(app);
  }

  if (argc < 2) {
    console.print(kFirstScreen);
    return ExitCode::kDone;
  }
  try {  // CLI11 reports through exceptions; none passes this point.
    root.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::ParseError& failure) {
    const bool unknown_command = !command_names(innermost(root)).empty() && !root.remaining(true).empty();
    if (failure.get_exit_code() == 0 && !unknown_command) {  // --help, --version
      std::ostringstream text;
      root.exit(failure, text, text);
      const std::string shown = text.str();
      console.write(shown);
      return ExitCode::kDone;
    }
    return explain_parse_error(root, failure, console);
  }
  for (std::size_t index = 0; index < apps.size(); ++index) {
    if (!apps[index]->parsed()) continue;
    Result<ExitCode> result = commands[index]->run(console);
    if (result) return *result;
    console.error(result.error().message);
    return exit_code_of(result.error().kind);
  }
  return usage(console, "wharf: no command given, expected one of " +
                            fmt::format("{}", fmt::join(command_names(root), ", ")));
}

/// The exit code of a command that ended with `code`, once all that it printed has left the program. A reader
/// that went away (such as head) has had enough; any other reason that output was lost is told.
ExitCode finish_output(const Console& console, ExitCode code) {
  errno = 0;
  const bool flushed = std::fflush(console.out) == 0;
  const int reason = flushed ? console.write_error : errno;
  if ((flushed && std::ferror(console.out) == 0) || reason == EPIPE) return code;
  console.error(fmt::format("standard output cannot be written: {}",
                            reason == 0 ? "the write failed" : std::strerror(reason)));
  return ExitCode::kEnvironment;
}

}  // namespace

int run_application(int argc, const char* const* argv) {
  std::signal(SIGABRT, on_abort);
  std::signal(SIGPIPE, SIG_IGN);
  install_interrupt_handler();
  try {
    Console console;
    console.command = command_line(argc, argv);
    const ExitCode code = run_parsed(argc, argv, console);
    return static_cast<int>(finish_output(console, code));
  } catch (const std::bad_alloc&) {
    std::fputs("wharf: out of memory\n", stderr);
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "wharf: a bug of ours: %s; please report it with the command line\n",
                 failure.what());
    return static_cast<int>(ExitCode::kBug);
  }
}

}  // namespace wharf::cli
