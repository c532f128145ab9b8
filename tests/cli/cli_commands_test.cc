// SPDX-License-Identifier: Apache-2.0
// Every command and every exit code of the program.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <tuple>

#include "on_terminal.h"
#include "run_program.h"
#include "tests/support/sanitized.h"

namespace wharf::cli_test {
namespace {

constexpr const char* kFetch = "scenarios/fetch-64-bytes.toml";

void expect_refusal(const std::vector<std::string>& arguments, int exit_code, const std::string& text) {
  const Outcome outcome = wharf(arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  // One sentence.
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Cli, TheFirstScreenShowsWhatToTry) {
  const Outcome outcome = wharf({});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("wharf study run openurma/table6"), std::string::npos);
  EXPECT_NE(wharf({"--version"}).out.find("wharf 0."), std::string::npos);
}

constexpr std::array<const char*, 22> kCommands{
    "top",   "chaos",  "topo",  "run",     "sweep", "explain", "study",      "dissect",
    "state", "import", "check", "compare", "list",  "doctor",  "completion", "serve",
    "perf",  "litmus", "rdmo",  "urma",    "help",  "version"};

TEST(Cli, HelpOfEveryCommandBeginsWithExamplesAndFitsATerminal) {
  for (const char* command : kCommands) {
    const Outcome outcome = wharf({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << command;
    EXPECT_EQ(outcome.out.find("Examples:"), 0U) << command << "\n" << outcome.out;
    EXPECT_NE(outcome.out.find("--json"), std::string::npos) << command;
    EXPECT_EQ(too_wide(outcome.out), "") << command;
  }
  for (const char* nested : {"list", "run", "report"})
    EXPECT_EQ(too_wide(wharf({"study", nested, "--help"}).out), "");
  EXPECT_EQ(too_wide(wharf({}).out), "");
}

TEST(Cli, TheRootsHelpIsTheListOfCommands) {
  const Outcome outcome = wharf({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(too_wide(outcome.out), "");
  EXPECT_EQ(outcome.out.find("Examples:"), std::string::npos) << outcome.out;
  EXPECT_LT(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 40) << outcome.out;
  for (const char* command : kCommands)
    EXPECT_NE(outcome.out.find(std::string("\n  ") + command + " "), std::string::npos) << command;
}

/// The commands that --help of `command` shows, each on one line.
std::vector<std::string> examples_of(const std::string& command) {
  std::istringstream lines(wharf({command, "--help"}).out);
  std::vector<std::string> examples;
  bool goes_on = false;
  std::string line;
  std::getline(lines, line);  // "Examples:"
  while (std::getline(lines, line) && !line.empty()) {
    const bool broken = line.back() == '\\';
    if (broken) line.pop_back();
    if (goes_on) {
      examples.back() += line;
    } else {
      examples.push_back(line);
    }
    goes_on = broken;
  }
  return examples;
}

// In an empty folder, with nothing but the program: an example names what is shipped, or what one before it
// made.
TEST(Cli, EveryExampleOfTheHelpWorks) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch / "bin");
  std::filesystem::create_directories(scratch / "work");
  std::filesystem::create_directories(scratch / "home/.config/fish/completions");
  std::filesystem::create_symlink(WHARF_PROGRAM, scratch / "bin/wharf");
  const auto shell = [&](const std::string& line) {
    return run({"bash", "-c",
                "set -o pipefail; export PATH=" + (scratch / "bin") + ":$PATH HOME=" + (scratch / "home") +
                    "; cd " + (scratch / "work") + " && " + line});
  };
  std::size_t ran = 0;
  for (const char* command : kCommands) {
    const std::string name = command;
    if (name == "serve" || name == "perf" || name == "rdmo" || name == "top")
      continue;                     // Two processes: tests/live runs them.
    if (name == "chaos") continue;  // Minutes of drawn runs: cli_chaos_test.cc has a few.
    for (const std::string& example : examples_of(name)) {
      if (example.find("wharf") > 12) continue;                         // Another program's part of the tale.
      if (example.find("study report") != std::string::npos) continue;  // Every study, half a minute.
      const Outcome outcome = shell(example.substr(0, example.find('|')));  // jq may not be installed.
      EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.err;
      ++ran;
    }
  }
  EXPECT_GE(ran, 45U);
}

TEST(Cli, OutputThatIsLostIsExitCodeFour) {
  for (const char* arguments :
       {"list", "--help", "run scenarios/fetch-64-bytes.toml --json", "list keys", ""}) {
    const Outcome outcome =
        run({"bash", "-c", std::string(WHARF_PROGRAM) + " " + arguments + " > /dev/full"});
    EXPECT_EQ(outcome.exit_code, 4) << arguments;
    EXPECT_EQ(outcome.err, "wharf: standard output cannot be written: No space left on device\n")
        << arguments;
  }
}

TEST(Cli, AReaderThatGoesAwayIsNoError) {
  const Outcome outcome =
      run({"bash", "-c", std::string(WHARF_PROGRAM) + " list keys --json | true; echo ${PIPESTATUS[0]}"});
  EXPECT_EQ(outcome.out, "0\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Cli, UsageErrorsAreExitCodeTwo) {
  expect_refusal({"rnu"}, 2, "unknown command rnu");
  expect_refusal({"rnu"}, 2, "did you mean run?");
  expect_refusal({"run", kFetch, "--captrue"}, 2, "unknown option --captrue; did you mean --capture?");
  expect_refusal({"run"}, 2, "scenario");
  expect_refusal({"run", kFetch, "--capture"}, 2, "need --out DIR");
  expect_refusal({"state", "--jetties", "8"}, 2, "--hosts");
  expect_refusal({"compare", "one"}, 2, "second");
  expect_refusal({"study", "run"}, 2, "wharf study run: id is required; `wharf study run --help`");
  expect_refusal({"study", "rnu"}, 2, "wharf study: unknown command rnu, expected one of list, run, report");
  expect_refusal({"study", "rnu"}, 2, "did you mean run?");
  expect_refusal({"study"}, 2, "wharf study: no command given, expected one of list, run, report");
  expect_refusal({"study", "run", "--otu", "x"}, 2,
                 "wharf study run: unknown option --otu; did you mean --out?");
}

// No number wraps around, and none is refused with numbers that nobody can read.
TEST(Cli, NumbersAreWholeAndInTheirRange) {
  expect_refusal({"dissect", "x.pcap", "--port", "ub=9000", "--port", "roce=9000"}, 3,
                 "--port: found roce=9000, expected one protocol of port 9000");
  expect_refusal({"dissect", "x.pcap", "--frame", "0"}, 3, "--frame: found 0, expected at least 1");
  expect_refusal({"compare", "a", "b", "--limit", "0"}, 3, "--limit: found 0, expected at least 1");
  expect_refusal({"perf", "127.0.0.1", "--iterations", "0"}, 3, "--iterations: found 0, expected at least 1");
  expect_refusal({"perf", "127.0.0.1", "--tag", "-1"}, 3, "--tag: found -1, expected at least 0");
  expect_refusal({"chaos", "--seed", "-1"}, 3, "--seed: found -1, expected at least 0");
  expect_refusal({"chaos", "--show", "-1"}, 3, "--show: found -1, expected at least 0");
  expect_refusal({"chaos", "--jobs", "0"}, 3, "--jobs: found 0, expected 1 to 256");
  expect_refusal({"chaos", "--jobs", "two"}, 3, "--jobs: found two, expected a whole number");
  expect_refusal({"chaos", "--seed", "18446744073709551616"}, 3, "expected 0 to 18446744073709551615");
  expect_refusal({"explain", kFetch, "--operation", "-1"}, 3, "--operation: found -1, expected at least 0");
  expect_refusal({"import", "x", "--out", "y", "--skip", "-1"}, 3, "--skip: found -1, expected at least 0");
  expect_refusal({"rdmo", "target", "--id", "-1"}, 3, "--id: found -1, expected at least 0");
  expect_refusal({"rdmo", "call", "append", "x", "--expect", "-1"}, 3, "--expect: found -1");
}

TEST(Cli, WhatAFileNamesOrLacksIsSaid) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "trace.toml") << "[run]\nworkload = \"replay\"\ntrace = \"sort-number\"\n";
  expect_refusal({"run", scratch / "trace.toml"}, 3,
                 (scratch / "trace.toml") + ": run.trace is \"sort-number\", expected a trace file");
  expect_refusal({"run", scratch / "trace.toml"}, 3, "did you mean \"sort-numbers\"?");
  std::ofstream(scratch / "hosts.toml") << "[topology]\nfrom = \"star:4\"\n[run]\nworkload = \"verb_loop\"\n";
  expect_refusal({"run", scratch / "hosts.toml"}, 3, "or [hosts] that run the program");
  std::ofstream(scratch / "empty.toml") << "";
  expect_refusal({"run", kFetch, "--profile", scratch / "empty.toml"}, 3,
                 "is empty, expected a TOML file with");
  const Outcome litmus =
      run({"bash", "-c",
           "cd / && " + std::string(WHARF_PROGRAM) + " litmus tests/litmus/l02-acquire-flag.litmus"});
  EXPECT_EQ(litmus.exit_code, 0) << litmus.err;
}

// A wrong value is wrong input whoever notices it; a name that commands do not have is not understood.
TEST(Cli, WrongValuesHaveOneExitCode) {
  expect_refusal({"completion", "bahs"}, 3,
                 "found bahs, expected one of bash, zsh, fish; did you mean bash?");
  expect_refusal({"rdmo", "bench", "--workload", "lgo"}, 3, "did you mean log?");
  expect_refusal({"help", "rnu"}, 2, "did you mean run?");
  const ScratchDirectory scratch;
  std::ofstream(scratch / "file") << "mine";
  expect_refusal({"sweep", kFetch, "--vary", "run.seed=1,2", "--out", scratch / "file"}, 3,
                 "that is a file, expected a directory");
  expect_refusal({"chaos", "--seeds", "1", "--out", scratch / "file"}, 3, "that is a file, expected a");
  expect_refusal({"sweep", kFetch, "--vary", "run.seed=1,"}, 3, "ends in a comma, expected a value");
  expect_refusal({"sweep", kFetch, "--vary", "run.seed=1,1"}, 3, "found 1 twice, expected each value once");
  expect_refusal({"explain", ""}, 3, "found no name, expected a scenario file");
}

TEST(Cli, WrongInputIsExitCodeThree) {
  expect_refusal({"run", "scenarios/fetch-64-byte.toml"}, 3, "did you mean scenarios/fetch-64-bytes.toml?");
  expect_refusal({"run", kFetch, "--set", "run.paylod=64B"}, 3, "--set: unknown key run.paylod");
  expect_refusal({"run", kFetch, "--set", "model.link.delay=100"}, 3, "expected a time with a unit");
  expect_refusal({"run", kFetch, "--profile", "conectx7-class"}, 3, "did you mean \"connectx7-class\"?");
  expect_refusal({"run", kFetch, "--set", "model.stack=rocedma"}, 3, "did you mean \"roce_dma\"?");
  expect_refusal({"explain", kFetch, "--operation", "100000"}, 3, "expected --operation below that");
  expect_refusal({"list", "scenarois"}, 3, "did you mean scenarios?");
  expect_refusal({"study", "run", "openurma/tabel6"}, 3, "openurma/table6");
  expect_refusal({"study", "run", "openurma/table6", "--out", "out/none", "--captures"}, 3,
                 "--captures: openurma/table6 captures no link, expected ordering/figure5");
  expect_refusal({"sweep", kFetch, "--vary", "run.seed"}, 3, "expected key=a,b,c");
  expect_refusal({"compare", "src", "docs"}, 3, "has no summary.json");
}

TEST(Cli, ForeignAndTruncatedFilesAreRefusedWithTheirPlace) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "text.pcap") << "this is no capture at all, only text";
  expect_refusal({"dissect", scratch / "text.pcap"}, 3, "text.pcap");
  expect_refusal({"dissect", scratch / "absent.pcap"}, 3, "absent.pcap");
  std::ofstream(scratch / "bad.lackey") << "I  04001000,3\n L 1ffeff,8\n L zzz,8\n";
  expect_refusal({"import", scratch / "bad.lackey", "--out", scratch / "bad.wtrace"}, 3, "bad.lackey");
  EXPECT_FALSE(std::filesystem::exists(scratch / "bad.wtrace"));
  std::ofstream(scratch / "bad.toml") << "[run\n";
  expect_refusal({"run", scratch / "bad.toml"}, 3, "bad.toml:1");
  std::ofstream(scratch / "list.toml") << "[run]\nseed = [1, 2]\n";
  expect_refusal({"check", scratch / "list.toml"}, 3, "list.toml:2");
}

TEST(Cli, WhatTheMachineDoesNotAllowIsExitCodeFour) {
  expect_refusal({"run", kFetch, "--out", "/proc/wharf-result"}, 4, "cannot be written");
}

TEST(Cli, MemoryThatTheMachineDoesNotGiveIsExitCodeFour) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's shadow needs the address space that this test takes away";
  // A GiB of address space for a program that wants 16 GiB on each host: refused beforehand, and where it is
  // asked for.
  const auto run_with = [](const std::string& option) {
    return run({"bash", "-c",
                "ulimit -v 1048576; exec " + std::string(WHARF_PROGRAM) + " run " + kFetch +
                    " --set run.lines=268435456" + option});
  };
  const Outcome foreseen = run_with("");
  EXPECT_EQ(foreseen.exit_code, 4) << foreseen.err;
  EXPECT_NE(foreseen.err.find("needs about 16.0GiB of memory, and the limit of addresses"), std::string::npos)
      << foreseen.err;
  const Outcome tried = run_with(" --any-memory");
  EXPECT_EQ(tried.exit_code, 4) << tried.err;
  EXPECT_NE(tried.err.find("a simulated host needs 16GiB of memory: Cannot allocate memory"),
            std::string::npos)
      << tried.err;
}

TEST(Cli, AStalledRunIsExitCodeFiveAndNamesWhoWaits) {
  const Outcome outcome =
      wharf({"run", kFetch, "--set", "model.stack=ub_urma", "--set", "model.faults.loss=1", "--set",
             "model.ub.rto_attempts=unlimited", "--set", "run.time_limit=2ms"});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_NE(outcome.err.find("the run stalled; run.time_limit of 2ms was reached"), std::string::npos)
      << outcome.err;
}

TEST(Cli, AnInterruptIsExitCode130AndLeavesAPartialResult) {
  const ScratchDirectory scratch;
  Running running({WHARF_PROGRAM, "run", kFetch, "--set", "run.operations=1000000000", "--set",
                   "run.time_limit=100000s", "--out", scratch / "out"});
  // The first heartbeat: the run is under way.
  EXPECT_NE(running.first_error_line(), "");
  running.signal(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  std::ifstream manifest(scratch / "out/manifest.json");
  ASSERT_TRUE(manifest.good());
  const auto parsed = nlohmann::json::parse(manifest, nullptr, false);
  EXPECT_EQ(parsed["partial"], true);
  EXPECT_EQ(parsed["end"], "interrupted");
}

// Whatever it does at that time; here it waits for the flows of a fabric, which nobody writes.
TEST(Cli, AnInterruptEndsACheckAtOnce) {
  const ScratchDirectory scratch;
  const std::string flows = scratch / "flows.cm";
  ASSERT_EQ(::mkfifo(flows.c_str(), 0600), 0);
  Running running({WHARF_PROGRAM, "check", "scenarios/permutation.toml", "--set", "traffic.cm=" + flows});
  const int writer = ::open(flows.c_str(), O_WRONLY);  // Returns when it reads.
  ASSERT_GE(writer, 0);
  running.signal(SIGINT);
  // Without an end of its own it would wait for that of the flows.
  pollfd reader{writer, POLLOUT, 0};
  for (int i = 0; i < 200 && (reader.revents & POLLERR) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::poll(&reader, 1, 0);
  }
  ::close(writer);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err, "wharf: interrupted; the cost was not estimated\n");
}

// A broken invariant ends in abort(); whatever raises the signal, the exit code says that the bug is ours.
TEST(Cli, ABugOfOursIsExitCodeSix) {
  Running running({WHARF_PROGRAM, "run", kFetch, "--set", "run.operations=1000000000", "--set",
                   "run.time_limit=100000s"});
  EXPECT_NE(running.first_error_line(), "") << "no heartbeat";
  running.signal(SIGABRT);
  EXPECT_EQ(running.wait().exit_code, 6);
}

TEST(Cli, AFailedExpectationIsExitCodeOne) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "wish.toml")
      << "[model]\nstack = \"roce_dma\"\n[run]\nworkload = \"verb_loop\"\n"
         "operations = 5\n[[expect]]\nvalue = \"verbs.read.latency_ns.mean\"\nmax = 100\n";
  const Outcome outcome = wharf({"run", scratch / "wish.toml"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("NO"), std::string::npos);
  std::ofstream(scratch / "typo.toml") << "[run]\nworkload = \"verb_loop\"\noperations = 5\n[[expect]]\n"
                                          "value = \"verbs.raed.latency_ns.mean\"\nmax = 100\n";
  const Outcome typo = wharf({"run", scratch / "typo.toml"});
  EXPECT_EQ(typo.exit_code, 3);
  EXPECT_NE(typo.err.find("did you mean \"verbs.read.latency_ns.mean\"?"), std::string::npos) << typo.err;
}

TEST(Cli, KeysWithoutInfluenceAreReported) {
  const Outcome outcome = wharf({"run", kFetch, "--set", "model.pcie.mmio_write=1us"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("model.pcie.mmio_write (--set) had no influence"), std::string::npos)
      << outcome.err;
}

TEST(Cli, JsonIsOneDocumentAndQuietMeansQuiet) {
  const Outcome outcome = wharf({"run", kFetch, "--json", "--quiet", "--set", "model.pcie.mmio_write=1us"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const auto json = outcome.json();
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["verbs"]["load"]["count"], 200);
  EXPECT_EQ(json["verbs"]["load"]["unattributed_ns"], 0.0);
}

TEST(Cli, StateCountsTheContextRecords) {
  const auto json = wharf({"state", "--jetties", "1024", "--hosts", "1024", "--json"}).json();
  EXPECT_EQ(json["ub"]["total_bytes"], 110'592);
  EXPECT_EQ(json["ub_full"]["total_bytes"], 139'264);
  EXPECT_EQ(json["roce"]["total_bytes"], 536'903'680);
}

TEST(Cli, StateListsWhatLiveEnginesHold) {
  const auto json = wharf({"state", "--jetties", "8", "--hosts", "8", "--json"}).json();
  for (const auto& [engine, object, count, accounting] :
       {std::tuple{"ub_measured", "jetty", 64, 6'912}, std::tuple{"ub_measured", "tp_channel", 64, 6'912},
        std::tuple{"ub_measured", "segment", 64, 6'912},
        std::tuple{"roce_measured", "queue_pair", 4096, 2'099'200},
        std::tuple{"roce_measured", "memory_key", 64, 2'099'200}}) {
    const auto& part = json[engine];
    EXPECT_EQ(part["hosts"], 64);
    EXPECT_EQ(part["accounting_bytes"], accounting);
    std::uint64_t total = 0;
    bool listed = false;
    for (const auto& row : part["objects"]) {
      total += row["bytes"].get<std::uint64_t>();
      if (row["object"] != object) continue;
      listed = true;
      EXPECT_EQ(row["count"], count) << object;
      EXPECT_GT(row["bytes_each"], 20.0) << object;
    }
    EXPECT_TRUE(listed) << object;
    EXPECT_EQ(part["total_bytes"], total);
    EXPECT_GT(total, accounting);
  }
  EXPECT_NE(wharf({"state", "--jetties", "8", "--hosts", "8"}).out.find("UB live engine, 64 x 64"),
            std::string::npos);
}

TEST(Cli, DissectReadsTheCaptureOfARealPeer) {
  const Outcome outcome = wharf({"dissect", "tests/data/captures/linux-soft-roce.pcap.xz", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  const auto json = outcome.json();
  EXPECT_EQ(json["frame_count"], 781);
  EXPECT_EQ(json["decoded"], 516);
  EXPECT_EQ(json["malformed"], 0);
  EXPECT_EQ(json["icrc_bad"], 0);
  EXPECT_EQ(json["not_reencoded"], 0);
  EXPECT_NE(wharf({"dissect", "tests/data/captures/linux-soft-roce.pcap.xz", "--verbose"}).out.find("BTH"),
            std::string::npos);
  expect_refusal({"dissect", "tests/data/captures/linux-soft-roce.pcap.xz", "--frame", "782"}, 3,
                 "781 frames");
}

TEST(Cli, DissectReadsPcie) {
  const auto json = wharf({"dissect", "tests/data/captures/pcie-tlp.pcap", "--frame", "9", "--json"}).json();
  EXPECT_EQ(json["frame_count"], 21);
  EXPECT_EQ(json["decoded"], 21);
  EXPECT_EQ(json["not_reencoded"], 0);
  EXPECT_EQ(json["frames"][0]["summary"], "PCIe MRd, 64 bytes at 0x1000, tag 171, acquire, thread 7");
  EXPECT_NE(json["frames"][0]["fields"].dump().find("order as proposed"), std::string::npos);
}

TEST(Cli, ImportWritesATraceThatReplays) {
  const ScratchDirectory scratch;
  {
    std::ofstream trace(scratch / "walk.lackey");
    for (int i = 0; i < 3000; ++i) trace << "I  04001000,3\n L " << std::hex << 0x10000 + 64 * i << ",8\n";
  }
  const Outcome imported =
      wharf({"import", scratch / "walk.lackey", "--out", scratch / "walk.wtrace", "--json"});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.json()["accesses"], 3000);
  expect_refusal({"import", scratch / "walk.lackey", "--out", scratch / "walk.wtrace"}, 3, "--force");
  for (const char* stack : {"ub_ldst", "ub_urma", "roce_bf", "roce_dma", "uet"}) {
    std::ofstream(scratch / "walk.toml")
        << "[run]\nworkload = \"replay\"\ntrace = \"walk.wtrace\"\nremote = \"all\"\n";
    const Outcome replayed =
        wharf({"run", scratch / "walk.toml", "--json", "--set", std::string("model.stack=") + stack});
    EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
    EXPECT_EQ(replayed.json()["replay"]["remote_loads"], 3000) << stack;
    EXPECT_GT(replayed.json()["replay"]["slow_down"], 1.0) << stack;
  }
}

TEST(Cli, AnInterruptedImportWritesNothing) {
  const ScratchDirectory scratch;
  // Whoever writes to a program that has left gets an error, not a signal.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(::mkfifo((scratch / "slow.lackey").c_str(), 0600), 0);
  Running running({WHARF_PROGRAM, "import", scratch / "slow.lackey", "--out", scratch / "slow.wtrace"});
  {
    // The program reads while this writes: an interrupt in between meets it at work.
    std::ofstream trace(scratch / "slow.lackey");
    std::string lines;
    for (int i = 0; i < 20'000; ++i) lines += " L 04000000,8\n";
    for (int round = 0; round < 10; ++round) trace << lines;
    trace.flush();
    running.signal(SIGINT);
    for (int round = 0; round < 10; ++round) trace << lines;
  }
  std::signal(SIGPIPE, before);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted after"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "slow.wtrace"));
}

TEST(Cli, ExplainDrawsOperationsThatTheLogDoesNotKeep) {
  const Outcome kept = wharf({"explain", kFetch, "--operation", "50"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  for (const char* limit : {"0", "10"}) {
    const Outcome outcome = wharf(
        {"explain", kFetch, "--operation", "50", "--set", std::string("run.record_operations=") + limit});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, kept.out) << limit;
  }
  expect_refusal({"explain", kFetch, "--operation", "200", "--set", "run.record_operations=0"}, 3,
                 "has 200 operations");
}

TEST(Cli, ASweepTakesNoRunOfAnotherForItsOwn) {
  const ScratchDirectory scratch;
  const auto sweep = [&](const std::string& values, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"sweep", kFetch,         "--vary", "model.link.delay=" + values,
                                       "--out", scratch / "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  ASSERT_EQ(wharf(sweep("50ns,100ns")).exit_code, 0);
  expect_refusal(
      sweep("500ns,900ns"), 3,
      "run 0 there is of 50ns, in this sweep it is of 500ns, expected the same sweep or a new directory");
  expect_refusal(sweep("50ns"), 3, "holds a run 1, but this sweep has 1 runs");
  expect_refusal(sweep("50ns,100ns", {"--set", "run.seed=9"}), 3,
                 "run 0 there is of another scenario, --set");
  expect_refusal(sweep("50ns,100ns", {"--profile", "openurma-serial"}), 3,
                 "of another scenario, --set, profile");
  // More values behind those that are there are the same sweep, grown.
  const Outcome grown = wharf(sweep("50ns,100ns,1us", {"--json"}));
  EXPECT_EQ(grown.exit_code, 0) << grown.err;
  EXPECT_EQ(grown.json()["runs"].size(), 3U);
  EXPECT_NE(grown.err.find("2 of 3 runs are in"), std::string::npos) << grown.err;
}

TEST(Cli, AResumedSweepStillJudgesWhatIsStored) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "wish.toml")
      << "[model]\nstack = \"roce_dma\"\n[run]\nworkload = \"verb_loop\"\noperations = 5\n"
         "[[expect]]\nvalue = \"verbs.read.latency_ns.mean\"\nmax = 2000\n";
  const std::vector<std::string> sweep{
      "sweep", scratch / "wish.toml", "--vary", "model.link.delay=100ns,500ns", "--out", scratch / "out"};
  for (int round = 0; round < 2; ++round) {
    const Outcome outcome = wharf(sweep);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("run 1 ("), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("run 0 ("), std::string::npos) << outcome.err;
  }
}

TEST(Cli, ASweepSetsEachKeyOnce) {
  expect_refusal({"sweep", kFetch, "--vary", "run.seed=1,2", "--vary", "run.seed=3"}, 3,
                 "--vary run.seed is given twice");
  expect_refusal({"sweep", kFetch, "--vary", "run.seed=1,2", "--set", "run.seed=3"}, 3,
                 "--set run.seed and --vary run.seed are both given");
}

TEST(Cli, OutputsAreTriedBeforeTheWork) {
  const auto begin = std::chrono::steady_clock::now();
  expect_refusal({"study", "report", "--out", "/proc/wharf/page.html"}, 4, "cannot be written");
  expect_refusal({"study", "run", "openurma/figure25", "--out", "/proc/wharf"}, 4, "cannot be written");
  expect_refusal({"study", "report", "--out", "/tmp"}, 3, "expected the file name of the page");
  // Every study takes half a minute, Figure 25 some seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(Cli, AFailedExpectationIsToldOnBothStreams) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "wish.toml")
      << "[run]\nworkload = \"verb_loop\"\noperations = 5\n[[expect]]\nvalue = \"verbs.read.count\"\nequals "
         "= 5\n"
         "[[expect]]\nvalue = \"verbs.read.latency_ns.mean\"\nmax = 100\nsource = \"a wish\"\n";
  const Outcome outcome = wharf({"run", scratch / "wish.toml", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("wish.toml:7: verbs.read.latency_ns.mean is "), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("expected at most 100 (a wish)"), std::string::npos) << outcome.err;
  const auto expectations = outcome.json()["expectations"];
  ASSERT_EQ(expectations.size(), 2U);
  EXPECT_EQ(expectations[0]["holds"], true);
  EXPECT_EQ(expectations[1]["holds"], false);
  EXPECT_EQ(expectations[1]["most"], 100.0);
}

TEST(Cli, CheckFindsWhatTheRunWouldFind) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "replay.toml")
      << "[run]\nworkload = \"replay\"\ntrace = \"absent.wtrace\"\nremote = \"all\"\n";
  expect_refusal({"check", scratch / "replay.toml"}, 3, "absent.wtrace");
  std::ofstream(scratch / "typo.toml") << "[run]\nworkload = \"verb_loop\"\n[[expect]]\n"
                                          "value = \"verbs.raed.latency_ns.mean\"\nmax = 100\n";
  for (const char* command : {"check", "run", "explain"})
    expect_refusal({command, scratch / "typo.toml"}, 3, "did you mean \"verbs.read.latency_ns.mean\"?");
}

TEST(Cli, TheManifestTellsCommandAndInputs) {
  const ScratchDirectory scratch;
  ASSERT_EQ(wharf({"run", "scenarios/sort-infiniswap.toml", "--out", scratch / "it's", "--set", "run.seed=3"})
                .exit_code,
            0);
  const auto manifest = nlohmann::json::parse(std::ifstream(scratch / "it's/manifest.json"), nullptr, false);
  EXPECT_EQ(manifest["command"], "wharf run scenarios/sort-infiniswap.toml --out '" + (scratch / "it") +
                                     "'\\''s' --set run.seed=3");
  ASSERT_EQ(manifest["profile_hashes"].size(), 2U) << manifest;
  for (const auto& hash : manifest["profile_hashes"]) EXPECT_EQ(hash.get<std::string>().size(), 18U);
  EXPECT_EQ(manifest["trace_hash"].get<std::string>().size(), 18U);
}

TEST(Cli, TheShippedDataIsFoundOrMissedAloud) {
  const ScratchDirectory scratch;
  const auto there = [&](const std::string& line) {
    return run({"bash", "-c", "cd " + (scratch / "") + " && " + line});
  };
  // Somebody else's folder of that name is not ours.
  std::filesystem::create_directories(scratch / "profiles");
  std::ofstream(scratch / "fetch.toml") << "[run]\nworkload = \"verb_loop\"\noperations = 5\n";
  const Outcome shadowed = there(std::string(WHARF_PROGRAM) + " run fetch.toml --profile connectx7-class");
  EXPECT_EQ(shadowed.exit_code, 0) << shadowed.err;
  const Outcome missing = there("WHARF_DATA=/nope " + std::string(WHARF_PROGRAM) + " list");
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("WHARF_DATA is /nope, which has no folder scenarios"), std::string::npos)
      << missing.err;
  const Outcome run_missing = there("WHARF_DATA=/nope " + std::string(WHARF_PROGRAM) + " run incast");
  EXPECT_EQ(run_missing.exit_code, 4);
  EXPECT_EQ(run_missing.err, missing.err);
  expect_refusal({"run", kFetch, "--profile", "../profiles/fastswop"}, 3, "there is no profile");
  // A path is a profile as well as a name, and beside the scenario that names it.
  std::ofstream(scratch / "near.toml") << "extends = \"connectx7-class\"\n[link]\ndelay = \"7us\"\n";
  std::ofstream(scratch / "uses.toml")
      << "[model]\nprofile = \"near.toml\"\n[run]\nworkload = \"verb_loop\"\n"
         "operations = 5\n";
  const Outcome beside = wharf({"run", scratch / "uses.toml", "--json"});
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_GT(beside.json()["program"]["latency_ns"]["mean"].get<double>(), 14000);
  const Outcome by_path =
      there(std::string(WHARF_PROGRAM) + " run fetch-64-bytes --profile ./near.toml --json");
  EXPECT_EQ(by_path.exit_code, 0) << by_path.err;
  EXPECT_GT(by_path.json()["program"]["latency_ns"]["mean"].get<double>(), 14000);
}

/// The text between a line that contains `begin` and the next that contains `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto first = text.find('\n', text.find(begin)) + 1;
  return text.substr(first, text.find(end, first) - first);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Cli, TheDemoFitsATerminal) {
  std::string shown;
  std::istringstream lines(between(text_of("dev"), "show_demo() {", "\n}"));
  for (std::string line; std::getline(lines, line);) {
    const std::string program = "\"$kRelease/bin/wharf\"";
    const auto at = line.find(program);
    ASSERT_NE(at, std::string::npos) << line;
    const Outcome outcome = run({"bash", "-c", line.replace(at, program.size(), WHARF_PROGRAM)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    shown += outcome.out;
  }
  EXPECT_EQ(too_wide(shown), "");
  EXPECT_NE(shown.find("load of 8 B over ub_ldst (connectx7-class): 444.4 ns"), std::string::npos) << shown;
}

TEST(Cli, DamageBehindTheFrameCheckNeedsRealFrames) {
  const std::vector<std::string> damaged{"run", "scenarios/lossy-roce-reads.toml", "--set",
                                         "model.faults.corruption_past_check=1%"};
  EXPECT_EQ(wharf(damaged).exit_code, 3);
  std::vector<std::string> bytes = damaged;
  bytes.insert(bytes.end(), {"--wire", "bytes", "--verify"});
  const Outcome outcome = wharf(bytes);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("has the same history"), std::string::npos) << outcome.err;
}

TEST(Cli, SweepStoresEveryCombinationAndGoesOnWhereItStopped) {
  const ScratchDirectory scratch;
  const std::vector<std::string> sweep{"sweep",  kFetch,
                                       "--vary", "model.link.delay=50ns,100ns,200ns",
                                       "--vary", "model.stack=ub_ldst,roce_dma",
                                       "--out",  scratch / "out",
                                       "--json"};
  const Outcome first = wharf(sweep);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.json()["runs"].size(), 6U);
  EXPECT_TRUE(std::filesystem::exists(scratch / "out/results.sqlite"));
  const Outcome again = wharf(sweep);
  EXPECT_EQ(again.json()["runs"], first.json()["runs"]) << "a finished sweep shows every row";
  EXPECT_NE(again.err.find("6 of 6 runs are in"), std::string::npos) << again.err;
}

TEST(Cli, CompareSeesWhatDiffers) {
  const ScratchDirectory scratch;
  EXPECT_EQ(wharf({"run", kFetch, "--out", scratch / "a"}).exit_code, 0);
  EXPECT_EQ(wharf({"run", kFetch, "--out", scratch / "b", "--set", "model.link.delay=101ns"}).exit_code, 0);
  EXPECT_EQ(wharf({"compare", scratch / "a", scratch / "a"}).exit_code, 0);
  EXPECT_EQ(wharf({"compare", scratch / "a", scratch / "b"}).exit_code, 1);
  expect_refusal({"run", kFetch, "--out", scratch / "a"}, 3, "--force replaces it");
  EXPECT_EQ(wharf({"run", kFetch, "--out", scratch / "a", "--force"}).exit_code, 0);
}

TEST(Cli, ListDoctorCheckAndCompletionAnswer) {
  EXPECT_NE(wharf({"list"}).out.find("\nfetch-64-bytes "), std::string::npos);
  EXPECT_GT(wharf({"list", "keys", "--json"}).json()["keys"].size(), 100U);
  const Outcome doctor = wharf({"doctor", "--json"});
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
  EXPECT_NE(doctor.out.find("\"UCX\""), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find("\"hardware NIC\""), std::string::npos) << doctor.out;
  const auto checked = wharf({"check", kFetch, "--json"}).json();
  EXPECT_EQ(checked["valid"], true);
  EXPECT_EQ(checked["estimate"]["operations"], 200);
  EXPECT_GT(checked["estimate"]["sample"]["event_ns"], 0.0);
  const ScratchDirectory scratch;
  for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_EQ(wharf({"completion", shell}).exit_code, 0);
  std::ofstream(scratch / "completion.bash") << wharf({"completion", "bash"}).out;
  EXPECT_EQ(run({"bash", "-n", scratch / "completion.bash"}).exit_code, 0);
}

// The module is no part of the program: without it, or with something else in its place, nothing runs.
TEST(Cli, AHostWithoutTheHardwareThatItAsksForIsRefused) {
  const std::string keys = " --set model.stack=ub_urma --set model.nic.implementation=rtl";
  for (const auto& [file, found] :
       {std::pair{"/nowhere/nic.so", "no such file"}, std::pair{kFetch, "invalid ELF header"},
        std::pair{"tests/cli", "annot read file data"}}) {
    const auto with = [&](const std::string& line) {
      return run({"bash", "-c", "WHARF_UB_NIC_RTL=" + std::string(file) + " " + WHARF_PROGRAM + " " + line});
    };
    for (const char* command : {"run ", "check ", "explain "}) {
      const Outcome outcome = with(command + std::string(kFetch) + keys);
      EXPECT_EQ(outcome.exit_code, 4) << command << outcome.err;
      EXPECT_EQ(outcome.out, "");
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
      for (const char* part : {"model.nic.implementation is \"rtl\", but ", file, found, "./dev rtl nic"})
        EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
    }
    const Outcome doctor = with("doctor --json");
    EXPECT_EQ(doctor.exit_code, 0) << doctor.err;
    const auto told = doctor.json();
    for (const auto& finding : told["findings"]) {
      if (finding["what"] != "hardware NIC") continue;
      EXPECT_EQ(finding["works"], false);
      EXPECT_NE(finding["detail"].get<std::string>().find("./dev rtl nic"), std::string::npos) << finding;
    }
  }
}

TEST(Cli, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(wharf({"help"}).out, wharf({"--help"}).out);
  EXPECT_EQ(wharf({"help", "study", "run"}).out, wharf({"study", "run", "--help"}).out);
  EXPECT_EQ(wharf({"version"}).out, wharf({"--version"}).out);
  EXPECT_EQ(wharf({"help", "run", "--manual"}).out.find(".TH \"WHARF\\-RUN\" 1"), 0U);
  expect_refusal({"help", "rnu"}, 2, "did you mean run?");
}

// The completion script is made from what the parser takes, a hidden option too.
TEST(Cli, EveryOptionThatTheParserTakesIsInItsHelp) {
  const std::string script = wharf({"completion", "bash"}).out;
  const std::regex level("\\n    '([a-z ]+)'(?:' '\\*)?\\) words='([^']*)'");
  std::size_t levels = 0;
  for (std::sregex_iterator at(script.begin(), script.end(), level); at != std::sregex_iterator(); ++at) {
    std::vector<std::string> command;
    std::istringstream names((*at)[1]);
    for (std::string name; names >> name;) command.push_back(name);
    command.emplace_back("--help");
    const std::string help = wharf(command).out;
    std::istringstream words((*at)[2]);
    std::size_t options = 0;
    for (std::string word; words >> word;) {
      if (!word.starts_with("--")) continue;
      ++options;
      // At the beginning of its entry.
      EXPECT_TRUE(std::regex_search(help, std::regex("\n  (-[A-Za-z],)?" + word + "[ ,\n]")))
          << (*at)[1] << " takes " << word;
    }
    EXPECT_GE(options, 3U) << (*at)[1];  // --help, --json, --quiet
    ++levels;
  }
  EXPECT_GE(levels, 25U);
}

// One sentence that blames the option which was given, and names what was meant.
TEST(Cli, RefusalsNameWhatWasMeant) {
  expect_refusal({"sweep", kFetch, "--vary", "run.opertions=1,2"}, 3, "--vary: unknown key run.opertions");
  expect_refusal({"sweep", kFetch, "--vary", "model.link.delay=1,2"}, 3, "--vary: model.link.delay is \"1\"");
  expect_refusal({"run", kFetch, "--set", "model.link.loss=1%"}, 3, "did you mean model.faults.loss?");
  expect_refusal({"run", kFetch, "--set", "model.link.dealy=1us"}, 3, "did you mean model.link.delay?");
  expect_refusal({"run", kFetch, "--set", "model.link.rate=-400Gbps"}, 3,
                 "expected a rate that is not negative, such as \"400Gbps\"");
  expect_refusal({"run", "incast", "--set", "traffic.size=512kb"}, 3, "did you mean \"512KB\"?");
  expect_refusal({"run", kFetch, "--set", "run.seed=1", "--set", "run.seed=2"}, 3,
                 "--set run.seed is given twice, with 1 and 2");
  expect_refusal({"run", "incast", "--set", "run.seed=1", "--set", "run.seed=2"}, 3, "is given twice");
  expect_refusal({"run", "incast", "--set", "fabric.flow_control=pause"}, 3, "beside fabric.trimming = true");
  const Outcome no_trims = wharf({"run", "pause", "--set", "fabric.trimming=true"});
  EXPECT_EQ(no_trims.exit_code, 0);
  EXPECT_NE(no_trims.err.find("fabric.trimming"), std::string::npos) << no_trims.err;
}

TEST(Cli, ADocumentOrAPatternSelectsItsStudies) {
  const auto studies = [](const std::string& name) {
    return wharf({"study", "run", name, "--json"}).json()["studies"];
  };
  EXPECT_EQ(studies("openurma/table[46]").size(), 2U);
  EXPECT_EQ(studies("mmio/figure*").size(), 3U);
  EXPECT_EQ(studies("openurma/table6")[0]["holds"], true);
  EXPECT_GT(studies("openurma/table6")[0]["checks"].size(), 0U);
  expect_refusal({"study", "run", "openurmo"}, 3, "did you mean openurma?");
}

// What was published says nothing about other values.
TEST(Cli, StudiesRunWithOtherValues) {
  const Outcome own = wharf({"study", "run", "openurma/table6", "--json"});
  const Outcome other = wharf({"study", "run", "openurma/table6", "--set", "model.link.delay=5us", "--json"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_FALSE(own.json().contains("overrides"));
  EXPECT_EQ(other.json()["overrides"]["set"][0], "model.link.delay=5us");
  EXPECT_NE(other.json()["studies"][0]["rows"], own.json()["studies"][0]["rows"]);
  EXPECT_EQ(other.json()["studies"][0]["holds"], false);
  EXPECT_NE(other.err.find("the published values judge nothing"), std::string::npos) << other.err;
  expect_refusal({"study", "run", "openurma/table6", "--set", "model.link.delai=5us"}, 3, "did you mean");
  expect_refusal({"study", "run", "openurma/table6", "--set", "run.seed=1", "--set", "run.seed=2"}, 3,
                 "is given twice");
}

// One bad file is told, the others are explored.
TEST(Cli, LitmusGoesOnBehindABadFile) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "bad.litmus") << "nonsense\n";
  std::ofstream(scratch / "worse.litmus") << "more of it\n";
  const Outcome outcome = wharf(
      {"litmus", scratch / "bad.litmus", "l02-acquire-flag", scratch / "worse.litmus", "l01-relaxed-reads"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("bad.litmus:1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("worse.litmus:1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("2 of 2 programs behave as stated"), std::string::npos) << outcome.out;
}

// Studies that have ended are judged and written; the one under way is given up.
TEST(Cli, AnInterruptedReportKeepsWhatIsDone) {
  const ScratchDirectory scratch;
  Running report(
      {"bash", "-c",
       "exec " + std::string(WHARF_PROGRAM) + " study report --json --out " + (scratch / "page.html")});
  while (std::filesystem::is_empty(scratch / "")) std::this_thread::yield();  // Until it has begun.
  report.signal(SIGINT);
  const Outcome outcome = report.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted after"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.json()["partial"], true);
  EXPECT_NE(text_of(scratch / "page.html").find("PARTIAL"), std::string::npos);
}

TEST(Cli, EveryDocumentSaysItsSchema) {
  const ScratchDirectory scratch;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", "fetch-64-bytes", "--out", scratch / "two"},
                                             {"run", "incast", "--out", scratch / "many"},
                                             {"check", "fetch-64-bytes"},
                                             {"check", "incast"},
                                             {"explain", "fetch-64-bytes"},
                                             {"sweep", "fetch-64-bytes", "--vary", "run.seed=1,2"},
                                             {"study", "list"},
                                             {"study", "run", "openurma/table6"},
                                             {"litmus", "l02-acquire-flag"},
                                             {"topo", "show", "fat_tree:16"},
                                             {"topo", "show", "fat_tree:16", "--ports"},
                                             {"state", "--jetties", "8", "--hosts", "8"},
                                             {"compare", scratch / "two", scratch / "two"},
                                             {"list"},
                                             {"doctor"},
                                             {"version"},
                                             {"help", "run"},
                                             {"completion", "bash"}}) {
    std::vector<std::string> words = command;
    words.push_back("--json");
    const Outcome outcome = wharf(words);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << "\n" << outcome.err;
    ASSERT_TRUE(outcome.json().is_object()) << command[0];
    EXPECT_EQ(outcome.json()["schema_version"], 1) << command[0];
  }
  for (const char* file :
       {"two/summary.json", "two/manifest.json", "many/summary.json", "many/manifest.json"})
    EXPECT_EQ(nlohmann::json::parse(text_of(scratch / file))["schema_version"], 1) << file;
}

}  // namespace
}  // namespace wharf::cli_test
