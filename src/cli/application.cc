// SPDX-License-Identifier: Apache-2.0
#include "cli/application.h"

#include <fmt/format.h>

#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "report/result_directory.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

constexpr std::string_view kFirstScreen =
    "wharf: remote memory, from the wire to the nanosecond\n"
    "\n"
    "Five things to try:\n"
    "  wharf study run openurma/table6              a published table, judged\n"
    "  wharf explain fetch-64-bytes                 where the nanoseconds go\n"
    "  wharf run --collective ring_all_reduce --topo fat_tree:16\n"
    "                                               sixteen hosts on a fabric\n"
    "  wharf litmus l02-acquire-flag --witness      what a device may see\n"
    "  wharf list                                   everything there is\n"
    "\n"
    "`wharf help` shows every command, `wharf help COMMAND` one of them.\n";

/// The arguments as one line that a shell reads back; without --html FILE unless `with_page`.
std::string command_line(int argc, const char* const* argv, bool with_page) {
  std::string line = "wharf";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!with_page && (word == "--html" || word.starts_with("--html="))) {
      if (word == "--html") ++i;
      continue;
    }
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

/// Kept for the end: with no memory left, folders cannot be removed.
constinit std::unique_ptr<std::array<char, 1U << 20U>> last_memory;

/// The stack of the first thread grows when it is touched, and ends the program when there are no addresses
/// for it: what the end takes is touched at the start.
[[gnu::noinline]] void touch_stack() {
  constexpr std::size_t kPage = 4096;
  std::array<volatile char, 128 * kPage> room;
  for (std::size_t i = 0; i < room.size(); i += kPage) room[i] = 0;
}

/// One sentence, whoever found that there is no more.
void say_out_of_memory() {
  last_memory.reset();
  std::fputs(
      "wharf: out of memory: the machine, its control group or `ulimit -v` gives no more, expected fewer "
      "hosts, "
      "smaller regions (run.*) or more memory\n",
      stderr);
}

/// What ends a thread, a program's coroutine or a function that may not throw ends here. Of several threads
/// that find no memory the first one speaks.
void on_terminate() {
  static std::atomic_flag speaks;
  while (speaks.test_and_set()) ::pause();
  if (const std::exception_ptr failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::bad_alloc&) {
      say_out_of_memory();
      report::remove_unfinished_results();
      ::_exit(static_cast<int>(ExitCode::kEnvironment));
    } catch (const std::exception& other) {
      std::fprintf(stderr, "wharf: a bug of ours: %s; please report it with the command line\n",
                   other.what());
    } catch (...) {
    }
  }
  std::abort();
}

ExitCode run_parsed(int argc, const char* const* argv, Console& console) {
  CommandLine line("wharf", "Remote memory, from the wire to the nanosecond.", std::string(version_text()));
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_sweep_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_study_command());
  commands.push_back(make_chaos_command());
  commands.push_back(make_litmus_command());
  commands.push_back(make_topo_command());
  commands.push_back(make_dissect_command());
  commands.push_back(make_state_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_check_command());
  commands.push_back(make_import_command());
  commands.push_back(make_serve_command());
  commands.push_back(make_perf_command());
  commands.push_back(make_top_command());
  commands.push_back(make_rdmo_command());
  commands.push_back(make_urma_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_list_command());
  commands.push_back(make_completion_command(line.root()));
  commands.push_back(make_help_command(line.root(), commands));
  commands.push_back(make_version_command());

  for (const auto& command : commands) {
    Options options = line.add_command(std::string(command->name()), std::string(command->summary()));
    options.add_flag("--json", console.json, "One JSON document on standard output");
    options.add_flag("-q,--quiet", console.quiet, "No progress and no remarks");
    options
        .add_option(
            "--color", console.color,
            "Colour verdicts, titles and errors: auto (on a terminal, unless NO_COLOR is set), always "
            "or never")
        .type_name("auto|always|never")
        .one_of({"auto", "always", "never"});
    command->declare(options);
    line.set_examples(options, command->examples());
  }

  if (argc < 2) {
    console.print(kFirstScreen);
    return ExitCode::kDone;
  }
  const ParsedLine parsed = line.parse(argc, argv);
  switch (parsed.kind) {
    case ParsedLine::Kind::kText:
      console.write(parsed.text);
      return ExitCode::kDone;
    case ParsedLine::Kind::kRefused:
      console.error(parsed.text);
      return ExitCode::kUsage;
    case ParsedLine::Kind::kWrong:
      console.error(parsed.text);
      return ExitCode::kInput;
    case ParsedLine::Kind::kCommand:
      break;
  }
  Result<ExitCode> result = commands[parsed.command]->run(console);
  if (result) return *result;
  console.error(result.error().message);
  return exit_code_of(result.error().kind);
}

/// The exit code of a command that ended with `code`, once all that it printed has left the program. A reader
/// that went away (such as head) has had enough; any other reason that output was lost is told.
ExitCode finish_output(const Console& console, ExitCode code) {
  const UncutWrites whole;
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
  std::set_terminate(on_terminate);
  std::signal(SIGPIPE, SIG_IGN);
  install_interrupt_handler();
  try {
    touch_stack();
    last_memory = std::make_unique<std::array<char, 1U << 20U>>();
    Console console;
    console.command = command_line(argc, argv, true);
    console.command_of_page = command_line(argc, argv, false);
    const ExitCode code = run_parsed(argc, argv, console);
    const int ended = static_cast<int>(finish_output(console, code));
    if (leaves_at_end()) ::_exit(ended);
    return ended;
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "wharf: a bug of ours: %s; please report it with the command line\n",
                 failure.what());
    return static_cast<int>(ExitCode::kBug);
  }
}

}  // namespace wharf::cli
