// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "wharf/version.h"

namespace wharf::cli {
namespace {

constexpr std::string_view kExitCodes =
    ".SH \"EXIT STATUS\"\n"
    ".TP\n.B 0\nDone, and everything that was judged holds.\n"
    ".TP\n.B 1\nA judged result fails: an expectation, a study, a comparison.\n"
    ".TP\n.B 2\nThe command line cannot be understood.\n"
    ".TP\n.B 3\nSomething that it names, or what is in it, is wrong.\n"
    ".TP\n.B 4\nThe environment lacks something: a file system, a port, memory.\n"
    ".TP\n.B 5\nThe run stalled or timed out.\n"
    ".TP\n.B 6\nA bug of wharf.\n"
    ".TP\n.B 130\nInterrupted.\n";

constexpr std::string_view kColor =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nIf it holds anything: no colour, unless --color always asks for it.\n"
    ".TP\n.B TERM\n\"dumb\": likewise.\n";

constexpr std::string_view kData =
    ".SH FILES\n"
    "Profiles, scenarios, studies, traces and litmus programs are found by name.\n"
    "They are looked for in this order, and the first that has the name wins:\n"
    ".TP\n.B WHARF_DATA\nIf this variable is set: in the folder that it names, and nowhere else.\n"
    ".TP\n.B the working folder\nIf it holds the folders profiles, scenarios and studies.\n"
    ".TP\n.I $XDG_DATA_HOME/wharf\nBy default ~/.local/share/wharf: what a user adds or replaces.\n"
    ".TP\n.I ../share/wharf\nBeside the folder of the program, or else the source tree that it lies in.\n"
    ".TP\n.I wharf\nIn each folder of XDG_DATA_DIRS, by default /usr/local/share and /usr/share.\n"
    ".PP\nA path that exists is always taken as it is.\n"
    ".PP\nThe pages about protocols, scenarios and files lie in\n.I ../share/doc/wharf\nbeside the folder of "
    "the "
    "program, README.md and docs first.\n";

/// `text` as roff prints it.
std::string roff(std::string_view text) {
  std::string out;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    starts_line = c == '\n';
  }
  return out;
}

std::string title(const std::string& name, std::string_view summary) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH \"{}\" 1 \"\" \"wharf {}\" \"User commands\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                     version(), roff(name), roff(summary));
}

/// "[-o,--out DIR]" or "scenario".
std::string in_synopsis(const OptionText& option) {
  std::string text = option.names;
  if (!option.is_argument && !option.takes.empty()) text += " " + option.takes;
  if (option.is_repeated) text += "...";
  return option.is_required ? text : "[" + text + "]";
}

std::string synopsis(const std::string& name, const Options& command) {
  std::string out = fmt::format(".B {}\n", roff(name));
  for (const bool argument : {false, true}) {
    for (const OptionText& option : command.texts()) {
      if (option.is_argument == argument) out += roff(in_synopsis(option)) + "\n";
    }
  }
  if (!command.commands().empty()) out += ".I COMMAND\n";
  return out;
}

std::string entries(const Options& command) {
  std::string out;
  for (const OptionText& option : command.texts()) {
    out += fmt::format(".TP\n\\fB{}\\fR{}{}\n{}\n", roff(option.names), option.takes.empty() ? "" : " ",
                       option.takes.empty() ? "" : "\\fI" + roff(option.takes) + "\\fR", roff(option.text));
  }
  return out;
}

std::string list_of(const std::vector<Options>& commands, std::string_view prefix) {
  std::string out;
  for (const Options& each : commands)
    out += fmt::format(".TP\n.B {}{}\n{}\n", prefix, roff(each.name()), roff(each.summary()));
  return out;
}

}  // namespace

std::string manual_page_of_all(const Options& root) {
  return title("wharf", "remote memory, from the wire to the nanosecond") +
         ".SH SYNOPSIS\n.B wharf\n.I COMMAND\n[ARGUMENT...]\n"
         ".SH DESCRIPTION\n"
         "wharf runs the protocols of remote memory in a deterministic simulator of hosts and fabrics, and "
         "live between processes.\n"
         "Each command has a page of its own, such as\n.BR wharf\\-run (1).\n"
         ".SH COMMANDS\n" +
         list_of(root.commands(), "wharf ") + std::string(kData) + std::string(kColor) +
         std::string(kExitCodes) +
         ".SH \"SEE ALSO\"\n.BR wharf\\-run (1),\n.BR wharf\\-list (1),\n.BR wharf\\-help (1)\n";
}

std::string manual_page(const Options& command, std::string_view examples) {
  const std::string name = "wharf-" + command.name();
  std::string out = title(name, command.summary()) + ".SH SYNOPSIS\n" +
                    synopsis("wharf " + command.name(), command) + ".SH DESCRIPTION\n" +
                    roff(command.summary()) + "\n";
  if (!examples.empty()) out += ".SH EXAMPLES\n.nf\n" + roff(examples) + ".fi\n";
  out += ".SH OPTIONS\n" + entries(command);
  for (const Options& nested : command.commands()) {
    const std::string whole = "wharf " + command.name() + " " + nested.name();
    out +=
        fmt::format(".SH \"{}\"\n{}\n.PP\n{}", roff(whole), roff(nested.summary()), synopsis(whole, nested)) +
        entries(nested);
  }
  return out + std::string(kExitCodes) + std::string(kColor) + ".SH \"SEE ALSO\"\n.BR wharf (1)\n";
}

}  // namespace wharf::cli
