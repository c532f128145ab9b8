// SPDX-License-Identifier: Apache-2.0
// What somebody at a terminal sees: lines that fit, colour where it is wanted, words that are completed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "on_terminal.h"
#include "run_program.h"

namespace wharf::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEscape = "\x1b[";
constexpr const char* kBadPrefix = "\x1b[1;31mwharf:\x1b[0m ";

/// Shown on a terminal of 80 columns, each ends with its exit code.
struct Command {
  std::vector<std::string> words;
  int exit_code = 0;
};

void expect_to_fit(const Command& command) {
  const Outcome outcome = on_terminal(command.words);
  const std::string text = shown(outcome.out);
  std::string line;
  for (const std::string& word : command.words) line += word + " ";
  EXPECT_EQ(outcome.exit_code, command.exit_code) << line << "\n" << text.substr(0, 2000);
  EXPECT_FALSE(text.empty()) << line;
  EXPECT_EQ(too_wide(text), "") << line;
}

// Whatever is quick: results, lists, and what goes to standard error.
TEST(Terminal, NoLineIsWiderThanIt) {
  const ScratchDirectory scratch;
  for (const Command& command : std::vector<Command>{
           {{"list"}},
           {{"list", "keys"}},
           {{"list", "litmus"}},
           {{"list", "stages"}},
           {{"list", "keys", "--values", "model.stack"}},
           {{"version"}},
           {{"doctor"}},
           {{"state", "--jetties", "8", "--hosts", "8"}},
           {{"check", "fetch-64-bytes"}},
           {{"check", "key-value-fat-tree"}},
           {{"check", "incast"}},
           {{"run", "fetch-64-bytes", "--out", scratch / "a", "--capture"}},
           {{"run", "fetch-64-bytes", "--out", scratch / "b", "--set", "model.link.delay=101ns"}},
           {{"run", "incast", "--out", scratch / "c", "--verbose"}},
           {{"run", "lossy-writes"}},
           {{"run", "key-value"}},
           {{"run", "key-value-fat-tree", "--verbose"}},
           {{"run", "key-value-incast"}},
           {{"run", "programs-side-by-side"}},
           {{"run", "rdmo-log"}},
           {{"run", "ring-all-reduce"}},
           {{"run", "ring-steps"}},
           {{"run", "few-flows", "--topo", "fat_tree:16"}, 3},
           {{"run", "--flows", "scenarios/few-flows.csv", "--topo", "fat_tree:16", "--set",
             "fabric.protocol=roce"}},
           {{"run", "--arrivals", "web_search", "--topo", "leaf_spine:32", "--set", "traffic.load=0.6",
             "--set", "traffic.flows=200"}},
           // The long remark, and refusals.
           {{"run", "--flows", "scenarios/few-flows.csv", "--topo", "fat_tree:16", "--set",
             "traffic.size=4MiB"}},
           {{"run", "fetch-64-bytes", "--set", "fabric.controller=swift"}, 3},
           {{"run", "fetch-64-bytes", "--set", "model.stack=ro"}, 3},
           {{"run", "nosuch"}, 3},
           {{"run", "incast", "--timeline"}, 2},
           {{"explain", "incast"}, 3},
           {{"explain", "fetch-64-bytes"}},
           {{"explain", "key-value-fat-tree"}},
           {{"sweep", "incast", "--vary", "run.seed=1,2"}},
           {{"sweep", "fetch-64-bytes", "--vary", "model.link.delay=50ns,100ns", "--verbose"}},
           {{"compare", scratch / "a", scratch / "b"}, 1},
           {{"dissect", scratch / "a/capture.pcapng"}},
           {{"dissect", "tests/data/captures/linux-soft-roce.pcap.xz", "--frame", "17"}},
           {{"dissect", "tests/data/captures/pcie-tlp.pcap", "--verbose"}},
           {{"litmus", "l02-acquire-flag", "--witness"}},
           {{"litmus", "l01-relaxed-reads", "nosuch"}, 3},
           {{"topo", "show", "fat_tree:16"}},
           {{"topo", "show", "fat_tree:16", "--ports"}},
           {{"study", "list"}},
           {{"study", "run", "openurma/table6"}},
           {{"chaos", "--seed", "17"}},
       })
    expect_to_fit(command);
}

TEST(Terminal, AMeasurementFits) {
  Running server({WHARF_PROGRAM, "serve", "--json", "--listen", "127.0.0.1:0"});
  const auto address = nlohmann::json::parse(server.first_line()).at("address").get<std::string>();
  expect_to_fit({{"perf", address, "--verb", "fetch_add", "--iterations", "100000"}});
}

// What a program reads is one line, however long.
TEST(Terminal, LinesForProgramsAreWhole) {
  const Outcome outcome = wharf({"run", "fetch-64-bytes", "--set", "fabric.controller=swift"});
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_GT(outcome.err.size(), 81U);
  const Outcome frames = wharf({"dissect", "tests/data/captures/pcie-tlp.pcap"});
  EXPECT_NE(too_wide(frames.out), "");
}

TEST(Terminal, VerdictsTitlesAndErrorsAreColoured) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "fails.toml") << "[fabric]\nprotocol = \"roce\"\n[traffic]\n"
                                           "collective = \"ring_all_reduce\"\nsize = \"64KiB\"\n"
                                           "[topology]\nfrom = \"fat_tree:16\"\n"
                                           "[[expect]]\nvalue = \"goodput_gbps\"\nmin = 100000\n"
                                           "[[expect]]\nvalue = \"failed\"\nmax = 0\n";
  const Outcome outcome = on_terminal({"run", scratch / "fails.toml"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[1;31mNO\x1b[0m"));
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[32myes\x1b[0m"));
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[1mexpectation "));
  EXPECT_THAT(outcome.out, HasSubstr(kBadPrefix));
  const Outcome litmus = on_terminal({"litmus", "l02-acquire-flag"});
  EXPECT_THAT(litmus.out, HasSubstr("\x1b[32m1 of 1 programs behave as stated"));
  EXPECT_THAT(litmus.out, HasSubstr("\x1b[32mok: "));
  EXPECT_THAT(on_terminal({"study", "run", "openurma/table6"}).out, HasSubstr("\x1b[32mpass\x1b[0m "));
  // What is shown is the same without.
  EXPECT_EQ(shown(on_terminal({"list", "stages"}).out), wharf({"list", "stages"}).out);
}

TEST(Terminal, ColourIsLeftOutWhereItIsNotWanted) {
  const std::vector<std::string> command{"run", "incast"};
  const auto with = [&command](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    return more;
  };
  EXPECT_THAT(on_terminal(command).out, HasSubstr(kEscape));
  EXPECT_THAT(on_terminal(command, 80, {"NO_COLOR="}).out, HasSubstr(kEscape)) << "an empty one says nothing";
  EXPECT_THAT(on_terminal(command, 80, {"NO_COLOR=0"}).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_terminal(command, 80, {"TERM=dumb"}).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_terminal(with({"--color", "never"})).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_terminal(with({"--color", "always"}), 80, {"NO_COLOR=1"}).out, HasSubstr(kEscape));
  EXPECT_THAT(on_terminal(with({"--color", "always", "--json"})).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(wharf(command).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(wharf(with({"--color", "always"})).out, HasSubstr(kEscape));
  const ScratchDirectory scratch;
  const Outcome page =
      on_terminal(with({"--html", scratch / "page.html", "--out", scratch / "out", "--color", "always"}));
  EXPECT_EQ(page.exit_code, 0) << page.out;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch / "")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, Not(HasSubstr(kEscape))) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5U);
  EXPECT_EQ(wharf(with({"--color", "blue"})).exit_code, 3);
}

TEST(Terminal, ASeedIsShortForItsKey) {
  for (const char* scenario : {"key-value", "permutation"}) {
    const auto by_key = wharf({"run", scenario, "--set", "run.seed=7", "--json"}).json();
    const auto by_option = wharf({"run", scenario, "--seed", "7", "--json"}).json();
    EXPECT_EQ(by_option["seed"], 7) << scenario;
    EXPECT_EQ(by_option, by_key) << scenario;
    EXPECT_TRUE(by_option["goodput_gbps"].is_number()) << scenario;
  }
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"explain", "fetch-64-bytes"},
           {"check", "incast"},
           {"sweep", "fetch-64-bytes", "--vary", "model.link.delay=50ns"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--seed", "7"});
    EXPECT_EQ(wharf(words).exit_code, 0) << command[0];
    words.insert(words.end(), {"--set", "run.seed=7"});
    const Outcome twice = wharf(words);
    EXPECT_EQ(twice.exit_code, 3) << command[0];
    EXPECT_EQ(twice.err, "wharf: --seed and --set run.seed are both given, expected one of them\n");
  }
  EXPECT_EQ(wharf({"sweep", "fetch-64-bytes", "--seed", "7", "--vary", "run.seed=1,2"}).err,
            "wharf: --seed and --vary run.seed are both given, expected one of them\n");
  EXPECT_EQ(wharf({"run", "incast", "--seed", "-1"}).exit_code, 3);
}

TEST(Terminal, VerboseSaysWhatIsReadAndWhere) {
  const Outcome flows = wharf({"run", "incast", "--verbose", "--seed", "3"});
  for (const char* what :
       {"wharf: scenario incast is ", "scenarios/incast.toml\n", "profiles are looked for in ",
        "profile ultra-ethernet is ", "the command line sets run.seed=3\n",
        "flows: 8 flows over 16 hosts and 20 switches, seed 3\n", "derived: base round trip 14"})
    EXPECT_THAT(flows.err, HasSubstr(what));
  const Outcome programs = wharf({"check", "fetch-64-bytes", "-v"});
  for (const char* what : {"scenario fetch-64-bytes is ", "profile connectx7-class is ",
                           "programs: pointer_chase over ub_ldst, seed 1"})
    EXPECT_THAT(programs.err, HasSubstr(what));
  EXPECT_EQ(wharf({"run", "incast", "-v", "-q"}).exit_code, 2);
  const Outcome other = wharf({"list", "-v"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err, "wharf list: unknown option -v, an option of run, sweep, explain, dissect, check\n");
}

TEST(Terminal, RunsOfFlowsNameWhatShowsThem) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", "incast", "--timeline"}, {"explain", "incast"}}) {
    const Outcome outcome = wharf(command);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("--set observe.period=1us"));
    EXPECT_THAT(outcome.err, HasSubstr("--html"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

/// What bash completes behind `words`, the last of which is being typed.
std::string completed(const std::vector<std::string>& words) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink(WHARF_PROGRAM, scratch / "wharf");
  std::string line =
      "export PATH=" + (scratch / "") + ":$PATH; source <(wharf completion bash); COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  line += ") COMP_CWORD=" + std::to_string(words.size() - 1) +
          "; _wharf; [[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\\n' \"${COMPREPLY[@]}\"";
  return run({"bash", "-c", line}).out;
}

// Where `=` breaks words, as it does by default, and where it does not.
TEST(Terminal, ValuesOfKeysAreCompleted) {
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "model.stack", "=", "ro"}), "roce_bf\nroce_dma\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "model.stack=ro"}),
            "model.stack=roce_bf\nmodel.stack=roce_dma\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "=", "model.stack", "=", "ue"}), "uet\n");
  EXPECT_EQ(completed({"wharf", "sweep", "x", "--vary", "model.stack", "=", "uet,ub_l"}), "uet,ub_ldst\n");
  EXPECT_EQ(completed({"wharf", "sweep", "x", "--vary", "fabric.trimming", "="}), "true\nfalse\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "program.log.workload", "=", "bulk_w"}), "bulk_write\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "group.a.model.stack", "=", "ue"}), "uet\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--set", "model.profile", "=", "connectx7"}),
            "connectx7-class\n");
  EXPECT_EQ(completed({"wharf", "run", "x", "--wire", "=", "by"}), "bytes\n");
  EXPECT_EQ(completed({"wharf", "study", "run", "x", "--set", "model.link.dela"}), "model.link.delay=\n");
  EXPECT_THAT(completed({"wharf", "run", "x", "--se"}), HasSubstr("--seed"));
}

}  // namespace
}  // namespace wharf::cli_test
