// SPDX-License-Identifier: Apache-2.0
// wharf completion SHELL: a completion script made from the option tree itself. Options complete as words;
// what an option or argument takes completes by the word that --help has for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace wharf::cli {
namespace {

/// What `wharf list WHAT --names` completes.
struct ListedValue {
  std::string_view takes;
  std::string_view list;
};
constexpr std::array<ListedValue, 6> kListed{{
    {"SCENARIO", "scenarios"},
    {"PROFILE", "profiles"},
    {"STUDY", "studies"},
    {"PROGRAM", "litmus"},
    {"KEY=VALUE", "keys"},
    {"KEY=A,B,...", "keys"},
}};

/// "list scenarios", "words bash zsh fish", or "files".
std::string values_of(const std::string& takes) {
  for (const ListedValue& each : kListed) {
    if (each.takes == takes) return fmt::format("list {}", each.list);
  }
  if (takes.find('|') != std::string::npos) {
    std::string words = takes;
    std::replace(words.begin(), words.end(), '|', ' ');
    return "words " + words;
  }
  return "files";
}

/// One level of the command line: "run", or "study run".
struct Level {
  std::string path;
  std::string words;      ///< Nested commands and options.
  std::string arguments;  ///< values_of() the first argument; empty: there is none.
  std::vector<OptionText> options;
};

std::vector<std::string> long_names(const OptionText& option) {
  std::vector<std::string> names;
  std::string_view rest = option.names;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (rest.starts_with('-')) names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return names;
}

/// `above`: the command that `command` is nested in, whose options it understands.
Level level_of(const Options& command, const std::string& path, const Options* above = nullptr) {
  Level level{path, "", "", command.texts()};
  std::vector<std::string> words;
  for (const Options& nested : command.commands()) words.push_back(nested.name());
  for (const std::string& name : command.option_names()) words.push_back(name);
  if (above != nullptr) {
    for (const std::string& name : above->option_names())
      if (std::ranges::find(words, name) == words.end()) words.push_back(name);
  }
  level.words = fmt::format("{}", fmt::join(words, " "));
  for (const OptionText& option : level.options) {
    if (option.is_argument && level.arguments.empty()) level.arguments = values_of(option.takes);
  }
  return level;
}

std::vector<Level> levels_of(const Options& root) {
  std::vector<Level> levels;
  for (const Options& command : root.commands()) {
    levels.push_back(level_of(command, command.name()));
    for (const Options& nested : command.commands())
      levels.push_back(level_of(nested, command.name() + " " + nested.name(), &command));
  }
  return levels;
}

std::string first_words(const Options& root) {
  std::vector<std::string> words;
  for (const Options& command : root.commands()) words.push_back(command.name());
  for (const std::string& name : root.option_names()) words.push_back(name);
  return fmt::format("{}", fmt::join(words, " "));
}

/// KEY=VALUE is one word, or three where `=` breaks words (COMP_WORDBREAKS): then what is completed is the
/// value alone.
constexpr std::string_view kBashValue =
    "  local key='' glued=''\n"
    "  if [[ $current == '=' ]]; then\n"
    "    key=$previous current='' previous=${COMP_WORDS[COMP_CWORD-2]}\n"
    "  elif [[ $previous == '=' ]] && ((COMP_CWORD > 3)); then\n"
    "    key=${COMP_WORDS[COMP_CWORD-2]} previous=${COMP_WORDS[COMP_CWORD-3]}\n"
    "    [[ $previous == '=' ]] && previous=${COMP_WORDS[COMP_CWORD-4]}\n"
    "  elif [[ $previous == -* && $current != -* && $current == *=* ]]; then\n"
    "    key=${current%%=*} glued=$key= current=${current#*=}\n"
    "  fi\n"
    "  [[ $key == -* ]] && previous=$key key=''\n";  // --option=value

constexpr std::string_view kBashTail =
    "  if [[ -n $taken || ( -n $arguments && $current != -* ) ]]; then\n"
    "    local values=${taken:-$arguments}\n"
    "    case $values in\n"
    "      'list keys')\n"
    "        compopt -o nospace 2>/dev/null\n"
    "        if [[ -n $key ]]; then\n"
    "          local before=''\n"
    "          [[ $current == *,* ]] && before=${current%,*},\n"
    "          COMPREPLY=($(compgen -P \"$glued$before\" -W \"$(wharf list keys --values \"$key\" "
    "2>/dev/null)\" \\\n"
    "            -- \"${current##*,}\"))\n"
    "        else\n"
    "          COMPREPLY=($(compgen -S = -W \"$(wharf list keys --names 2>/dev/null)\" -- \"$current\"))\n"
    "        fi\n"
    "        return ;;\n"
    "      list*)\n"
    "        COMPREPLY=($(compgen -W \"$(wharf $values --names 2>/dev/null)\" -- \"$current\")\n"
    "          $(compgen -f -- \"$current\")) ;;\n"
    "      words*) COMPREPLY=($(compgen -W \"${values#words}\" -- \"$current\")) ;;\n"
    "      *) COMPREPLY=($(compgen -P \"$glued\" -f -- \"$current\")) ;;\n"
    "    esac\n"
    "    [[ -n $taken ]] && return\n"
    "  fi\n"
    "  COMPREPLY+=($(compgen -W \"$words\" -- \"$current\"))\n"
    "}\n"
    "complete -o filenames -F _wharf wharf\n";

std::string bash_script(const Options& root) {
  std::string cases;
  std::string taken;
  for (const Level& level : levels_of(root)) {
    cases +=
        fmt::format("    '{0}'{1}) words='{2}' arguments='{3}' ;;\n", level.path,
                    level.path.find(' ') == std::string::npos ? "' '*" : "", level.words, level.arguments);
    for (const OptionText& option : level.options) {
      if (option.is_argument || option.takes.empty()) continue;
      for (const std::string& name : long_names(option))
        taken += fmt::format("    '{}{} {}') taken='{}' ;;\n", level.path,
                             level.path.find(' ') == std::string::npos ? " '*'" : "", name,
                             values_of(option.takes));
    }
  }
  // The longer path is tried first: "study run" before "study".
  std::string ordered;
  for (const bool nested : {true, false}) {
    std::string_view rest = cases;
    while (!rest.empty()) {
      const auto end = rest.find('\n') + 1;
      const std::string_view line = rest.substr(0, end);
      if ((line.find("'' '*") == std::string_view::npos) == nested) ordered += line;
      rest.remove_prefix(end);
    }
  }
  return fmt::format(
             "_wharf() {{\n"
             "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
             "  local command=${{COMP_WORDS[1]}} nested=${{COMP_WORDS[2]}} words='' arguments='' taken=''\n"
             "  COMPREPLY=()\n"
             "  if ((COMP_CWORD == 1)); then\n"
             "    COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n"
             "    return\n"
             "  fi\n"
             "  ((COMP_CWORD > 2)) || nested=''\n"
             "{}"
             "  case \"$command $nested\" in\n{}  esac\n"
             "  case \"$command $nested $previous\" in\n{}  esac\n",
             first_words(root), kBashValue, ordered, taken) +
         std::string(kBashTail);
}

std::string zsh_script(const Options& root) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(root);
}

constexpr std::string_view kFishKeys =
    "function __wharf_keys\n"
    "  set -l token (commandline -ct)\n"
    "  if string match -q '*=*' -- $token\n"
    "    set -l before (string replace -r '[^=,]*$' '' -- $token)\n"
    "    for value in (wharf list keys --values (string replace -r '=.*' '' -- $token) 2>/dev/null)\n"
    "      echo $before$value\n"
    "    end\n"
    "  else\n"
    "    for key in (wharf list keys --names 2>/dev/null)\n"
    "      echo $key=\n"
    "    end\n"
    "  end\n"
    "end\n";

std::string fish_values(const std::string& values) {
  if (values == "list keys") return " -f -a '(__wharf_keys)'";
  if (values.starts_with("list ")) return fmt::format(" -a '(wharf {} --names 2>/dev/null)'", values);
  if (values.starts_with("words ")) return fmt::format(" -f -a '{}'", values.substr(6));
  return "";
}

std::string fish_script(const Options& root) {
  std::string out(kFishKeys);
  for (const Options& command : root.commands()) {
    out += fmt::format("complete -c wharf -f -n __fish_use_subcommand -a {} -d '{}'\n", command.name(),
                       command.summary());
  }
  for (const Level& level : levels_of(root)) {
    std::string when;
    std::string_view rest = level.path;
    while (!rest.empty()) {
      const auto space = rest.find(' ');
      when += fmt::format("{}__fish_seen_subcommand_from {}", when.empty() ? "" : "; and ",
                          rest.substr(0, space));
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    }
    const std::string head = fmt::format("complete -c wharf -n '{}'", when);
    const std::string first = level.words.substr(0, level.words.find(" --"));
    if (!first.starts_with("--") && !first.empty()) out += fmt::format("{} -f -a '{}'\n", head, first);
    if (!level.arguments.empty() && level.arguments != "files")
      out += head + fish_values(level.arguments) + "\n";
    for (const OptionText& option : level.options) {
      for (const std::string& name : long_names(option)) {
        if (!name.starts_with("--")) continue;
        out += fmt::format("{} -l {}{}\n", head, name.substr(2),
                           option.takes.empty() ? "" : " -r" + fish_values(values_of(option.takes)));
      }
    }
  }
  return out;
}

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(Options root) : root_(root) {}

  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override { return "Print a shell completion script."; }
  std::string_view examples() const override {
    return "  source <(wharf completion bash)\n"
           "  mkdir -p ~/.config/fish/completions\n"
           "  wharf completion fish > ~/.config/fish/completions/wharf.fish\n";
  }
  void declare(Options& app) override {
    app.add_option("shell", shell_, "bash, zsh or fish")
        .type_name("bash|zsh|fish")
        .required()
        .one_of({"bash", "zsh", "fish"});
  }
  Result<ExitCode> run(const Console& console) override {
    const std::string script = shell_ == "bash"  ? bash_script(root_)
                               : shell_ == "zsh" ? zsh_script(root_)
                                                 : fish_script(root_);
    console.print(std::string_view(script));
    console.print(nlohmann::ordered_json{{"shell", shell_}, {"script", script}});
    return ExitCode::kDone;
  }

 private:
  Options root_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command(Options root) {
  return std::make_unique<CompletionCommand>(root);
}

}  // namespace wharf::cli
