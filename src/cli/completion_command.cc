// SPDX-License-Identifier: Apache-2.0
// wharf completion SHELL: a completion script made from the option tree itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"

namespace wharf::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What may follow `wharf NAME`: nested commands, then options.
std::string words_after(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* nested : commands_of(app)) words.push_back(nested->get_name());
  const auto options = options_of(app);
  words.insert(words.end(), options.begin(), options.end());
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_script(const CLI::App& root) {
  std::string cases;
  for (const CLI::App* command : commands_of(root)) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), words_after(*command));
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

std::string zsh_script(const CLI::App& root) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(root);
}

std::string fish_script(const CLI::App& root) {
  std::string out = "complete -c wharf -f -n __fish_use_subcommand\n";
  for (const CLI::App* command : commands_of(root)) {
    out += fmt::format("complete -c wharf -n __fish_use_subcommand -a {}\n", command->get_name());
    for (const CLI::App* nested : commands_of(*command)) {
      out += fmt::format("complete -c wharf -n '__fish_seen_subcommand_from {}' -a {}\n", command->get_name(),
                         nested->get_name());
    }
    for (const std::string& option : options_of(*command)) {
      out += fmt::format("complete -c wharf -n '__fish_seen_subcommand_from {}' -l {}\n", command->get_name(),
                         option.substr(2));
    }
  }
  return out;
}

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(const CLI::App& root) : root_(root) {}

  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override { return "Print a shell completion script."; }
  std::string_view examples() const override {
    return "  source <(wharf completion bash)\n"
           "  wharf completion fish > ~/.config/fish/completions/wharf.fish\n";
  }
  void declare(CLI::App& app) override {
    app.add_option("shell", shell_, "bash, zsh or fish")
        ->type_name("bash|zsh|fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
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
  const CLI::App& root_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command(const CLI::App& root) {
  return std::make_unique<CompletionCommand>(root);
}

}  // namespace wharf::cli
