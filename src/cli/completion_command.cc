// SPDX-License-Identifier: Apache-2.0
// wharf completion SHELL: a completion script made from the option tree itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace wharf::cli {
namespace {

/// What may follow `wharf NAME`: nested commands, then options.
std::string words_after(const Options& app) {
  std::vector<std::string> words;
  for (const Options& nested : app.commands()) words.push_back(nested.name());
  const auto options = app.option_names();
  words.insert(words.end(), options.begin(), options.end());
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_script(const Options& root) {
  std::string cases;
  for (const Options& command : root.commands()) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name(), words_after(command));
  }
  return fmt::format(
      "_wharf() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "    *) words=\"{}\" ;;\n"
      "  esac\n"
      "  [ \"$COMP_CWORD\" -eq 1 ] && words=\"{}\"\n"
      "  if [[ \"$current\" == -* || \"$COMP_CWORD\" -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _wharf wharf\n",
      cases, words_after(root), words_after(root));
}

std::string zsh_script(const Options& root) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(root);
}

std::string fish_script(const Options& root) {
  std::string out = "complete -c wharf -f -n __fish_use_subcommand\n";
  for (const Options& command : root.commands()) {
    out += fmt::format("complete -c wharf -n __fish_use_subcommand -a {}\n", command.name());
    for (const Options& nested : command.commands()) {
      out += fmt::format("complete -c wharf -n '__fish_seen_subcommand_from {}' -a {}\n", command.name(),
                         nested.name());
    }
    for (const std::string& option : command.option_names()) {
      out += fmt::format("complete -c wharf -n '__fish_seen_subcommand_from {}' -l {}\n", command.name(),
                         option.substr(2));
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
    console.print(script);
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
