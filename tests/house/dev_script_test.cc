// SPDX-License-Identifier: Apache-2.0
// What ./dev says without building anything: its help lists every soak, and what it does not know it refuses.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::house {
namespace {

struct Answer {
  int code = -1;
  std::string text;
};

Answer answer_of(const std::string& command) {
  Answer answer;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return answer;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) answer.text += static_cast<char>(c);
  const int status = ::pclose(pipe);
  answer.code = status < 0 ? -1 : (status >> 8) & 0xff;
  return answer;
}

/// The fields of tests/soaks.txt, line by line.
std::vector<std::vector<std::string>> soaks() {
  std::ifstream in("tests/soaks.txt");
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> fields{""};
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line.compare(at, 3, " | ") == 0) {
        fields.emplace_back();
        at += 2;
      } else {
        fields.back() += line[at];
      }
    }
    lines.push_back(fields);
  }
  return lines;
}

TEST(DevScript, HelpListsEverySoakWithItsSentence) {
  const Answer help = answer_of("./dev help");
  EXPECT_EQ(help.code, 0);
  const auto lines = soaks();
  EXPECT_GE(lines.size(), 5U);
  for (const auto& fields : lines) {
    ASSERT_EQ(fields.size(), 4U) << "NAME | TARGET | COMMAND | SENTENCE: " << fields[0];
    EXPECT_THAT(fields[0], ::testing::MatchesRegex("[a-z0-9-]+"));
    EXPECT_EQ(fields[2].find('|'), std::string::npos)
        << "a command with a pipe would be split: " << fields[2];
    EXPECT_THAT(help.text, ::testing::HasSubstr("  " + fields[0]));
    EXPECT_THAT(help.text, ::testing::HasSubstr(fields[3]));
  }
}

TEST(DevScript, WhatItDoesNotKnowIsRefusedWithWhatThereIs) {
  const Answer command = answer_of("./dev sook");
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.text, ::testing::HasSubstr("no such command: 'sook'"));
  const Answer soak = answer_of("./dev soak nothing");
  EXPECT_EQ(soak.code, 2);
  EXPECT_THAT(soak.text, ::testing::HasSubstr("soak: no 'nothing'; there is: "));
  for (const auto& fields : soaks()) EXPECT_THAT(soak.text, ::testing::HasSubstr(fields[0]));
}

// An argument that a command does not know ends it before it installs, builds or runs anything.
TEST(DevScript, ArgumentsAreRefusedBeforeAnythingIsBuilt) {
  struct Case {
    const char* command;
    const char* sentence;
  };
  constexpr std::array<Case, 23> kCases{{
      {"package --nosuch", "package: no argument '--nosuch'; it takes none here"},
      {"economy --nosuch", "economy: no option '--nosuch'; there is --check, --update"},
      {"economy --check --update", "economy: '--update' beside '--check'; it takes one option"},
      {"build --nosuch", "build: no option '--nosuch'; there is --each, --grouped, --cost"},
      {"build --each --cost", "build: '--cost' beside '--each'; it takes one option"},
      {"lint --nosuch", "lint: no option '--nosuch'; there is --all"},
      {"demo --nosuch", "demo: no argument '--nosuch'; it takes none here"},
      {"fmt --nosuch", "fmt: no argument '--nosuch'; it takes none here"},
      {"ci --nosuch", "ci: no argument '--nosuch'; it takes none here"},
      {"setup --nosuch", "setup: no such command: --nosuch (./dev help lists them)"},
      {"setup fmt --nosuch", "setup: no argument '--nosuch'; it takes none here"},
      {"bench --nosuch", "bench: no benchmark has '--nosuch' in its name"},
      {"bench kernel --nosuch", "bench: no argument '--nosuch'; it takes none here"},
      {"fuzz --nosuch", "fuzz: no target '--nosuch'; there is: "},
      {"fuzz canary --nosuch", "fuzz: '--nosuch' is no number of seconds"},
      {"fuzz 3 --nosuch", "fuzz: no argument '--nosuch'; it takes none here"},
      {"plant --nosuch", "plant: no option '--nosuch'; there is check, and a part of the names of faults"},
      {"plant check --nosuch", "plant: '--nosuch' beside 'check'; it takes one option"},
      {"soak --nosuch", "soak: no '--nosuch'; there is: "},
      {"soak fuzz --nosuch", "soak: no argument '--nosuch'; it takes none here"},
      {"help --nosuch", "help: no argument '--nosuch'; it takes none here"},
      {"test --nosuch", "test: ctest has no option '--nosuch'; there is "},
      {"test -R wire --nosuch=1", "test: ctest has no option '--nosuch'; there is "},
  }};
  for (const Case& each : kCases) {
    const Answer answer = answer_of(std::string("./dev ") + each.command);
    EXPECT_EQ(answer.code, 2) << each.command;
    EXPECT_THAT(answer.text, ::testing::StartsWith(std::string("dev: ") + each.sentence)) << each.command;
    EXPECT_EQ(std::count(answer.text.begin(), answer.text.end(), '\n'), 1) << each.command;
  }
}

// What Ninja says is told without a terminal as it is, but for its own status.
TEST(DevScript, ProgressPassesWarningsOnAndKeepsTheStatusToItself) {
  const Answer shown = answer_of(
      "bash -c 'eval \"$(sed -n \"/^span()/,/^}/p;/^show_progress()/,/^}/p\" dev)\"; "
      "printf \"%s\\n\" \"ninja: Entering directory x\" \"@1/2@Building CXX object src/a/CMakeFiles/b.o\" "
      "\"a.cc:1: warning: odd\" | show_progress | cat'");
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.text, "a.cc:1: warning: odd\n");
}

}  // namespace
}  // namespace wharf::house
