// SPDX-License-Identifier: Apache-2.0
// `cmake --install`: the tree works after it was moved, names no folder of its build, and other projects
// build against it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "run_program.h"

#ifndef WHARF_PYTHON
#define WHARF_PYTHON ""  // The package is not built.
#endif

namespace wharf::cli_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPython = WHARF_PYTHON;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// One installed tree for all tests, in another place than it was installed to.
class Install : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchDirectory;
    std::vector<const char*> components{"program", "development"};
    if (kPython[0] != '\0') components.push_back("python");
    for (const char* component : components) {
      const Outcome outcome = run({"cmake", "--install", WHARF_BUILD, "--strip", "--prefix",
                                   *scratch_ / "first", "--component", component});
      ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    }
    fs::rename(*scratch_ / "first", *scratch_ / "moved-to");
    fs::create_directories(*scratch_ / "empty");
  }
  static void TearDownTestSuite() { delete scratch_; }

  static fs::path tree() { return *scratch_ / "moved-to"; }
  /// A line of a shell in an empty folder, with nothing in the environment but the installed program.
  static Outcome there(const std::string& line) {
    return run({"env", "-i", "PATH=" + (tree() / "bin").string() + ":/usr/bin:/bin", "LC_ALL=C.UTF-8",
                "HOME=" + (*scratch_ / "home"), "CXX=g++", "bash", "-c",
                "cd " + (*scratch_ / "empty") + " && " + line});
  }

  static ScratchDirectory* scratch_;
};
ScratchDirectory* Install::scratch_ = nullptr;

TEST_F(Install, EveryKindOfDataIsFoundByName) {
  for (const char* line :
       {"wharf explain fetch-64-bytes", "wharf check scenarios/incast.toml", "wharf run incast",
        "wharf run fetch-64-bytes --profile connectx7-class", "wharf litmus l02-acquire-flag --witness",
        "wharf study run openurma/table6 --brief", "wharf check sqlite-remote-heap",
        "wharf list profiles --names", "wharf doctor", "wharf version", "wharf help run",
        "wharf state --hosts 2 --jetties 8"}) {
    const Outcome outcome = there(line);
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.out, "") << line;
  }
  EXPECT_TRUE(fs::is_empty(*scratch_ / "empty"));
}

// In no package; installed by itself where it has been built.
TEST_F(Install, TheHardwareNicIsFoundWhereItWasPut) {
  const std::string run_it =
      "wharf run fetch-64-bytes --set model.stack=ub_urma --set model.nic.implementation=rtl";
  const Outcome without = there(run_it);
  EXPECT_EQ(without.exit_code, 4) << without.err;
  const fs::path module = fs::path("lib/wharf-rtl") / "libwharf_ub_nic_rtl.so";
  EXPECT_THAT(without.err, HasSubstr((fs::canonical(tree()) / module).string()));
  if (!fs::exists(WHARF_BUILD / module)) GTEST_SKIP() << "no hardware NIC has been built: ./dev rtl nic";
  const Outcome install = run(
      {"cmake", "--install", WHARF_BUILD, "--strip", "--prefix", tree().string(), "--component", "hardware"});
  ASSERT_EQ(install.exit_code, 0) << install.err;
  const Outcome with = there(run_it);
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_THAT(there("wharf doctor").out, HasSubstr("hosts of simulations can have the NIC of rtl/"));
  fs::remove_all(tree() / "lib/wharf-rtl");
}

// Neither the text of assertions nor what debuggers read.
TEST_F(Install, NothingNamesTheFolderItWasBuiltIn) {
  const std::string source = fs::current_path().string();
  for (const auto& entry : fs::recursive_directory_iterator(tree())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(text_of(entry.path()).find(source), std::string::npos) << entry.path();
  }
}

TEST_F(Install, EveryCommandHasAManualPage) {
  std::istringstream names(there("wharf help --commands").out);
  int pages = 0;
  for (std::string name; std::getline(names, name); ++pages) {
    const std::string page = text_of(tree() / "share/man/man1" / ("wharf-" + name + ".1"));
    EXPECT_THAT(page, HasSubstr(".SH EXAMPLES")) << name;
    EXPECT_THAT(page, HasSubstr("wharf " + name)) << name;
  }
  EXPECT_GE(pages, 19);
  EXPECT_THAT(text_of(tree() / "share/man/man1/wharf.1"), HasSubstr("XDG_DATA_HOME"));
}

TEST_F(Install, LinksOfThePagesLeadSomewhere) {
  const fs::path pages = tree() / "share/doc/wharf";
  std::vector<fs::path> files{pages / "README.md", pages / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(pages / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  EXPECT_GT(files.size(), 50U);
  const std::regex link("\\]\\(([^)#: ]+)(#[^)]*)?\\)");
  int links = 0;
  for (const fs::path& file : files) {
    const std::string text = text_of(file);
    for (std::sregex_iterator at(text.begin(), text.end(), link); at != std::sregex_iterator(); ++at, ++links)
      EXPECT_TRUE(fs::exists(file.parent_path() / (*at)[1].str())) << file << " links " << (*at)[1];
  }
  EXPECT_GT(links, 200);
  EXPECT_THAT(text_of(tree() / "share/man/man1/wharf.1"), HasSubstr("share/doc/wharf"));
}

/// Debian's Wireshark looks into its folder under /usr and into a user's, which leads to the installed one
/// here. Scripts of the former are not told where they are, which is as if another script had read them.
TEST_F(Install, WiresharkFindsTheDissectors) {
  if (there("command -v tshark").exit_code != 0) GTEST_SKIP() << "tshark is not installed";
  const std::string read =
      " -r '" + (fs::current_path() / "tests/data/captures/pcie-tlp.pcap").string() + "'";
  const std::string script = (tree() / "share/wharf/wireshark/pcie_tlp.lua").string();
  const Outcome outcome = there("mkdir -p ~/.local/lib/wireshark && ln -s '" + (tree() / "lib").string() +
                                "'/*/wireshark/plugins ~/.local/lib/wireshark/plugins && tshark -n" + read +
                                " && rm -r ~/.local/lib && echo \"dofile('" + script +
                                "')\" > ../other.lua && tshark -n -X lua_script:../other.lua" + read);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string line = "Cpl, UR, byte count 64, lower address 0x0, tag 171";
  const std::size_t first = outcome.out.find(line);
  ASSERT_NE(first, std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(line, first + 1), std::string::npos) << outcome.out << outcome.err;
}

TEST_F(Install, CompletionKnowsValues) {
  const auto complete = [](const std::string& words, int at) {
    return there("source '" + (tree() / "share/bash-completion/completions/wharf").string() +
                 "' && COMP_WORDS=(" + words + ") COMP_CWORD=" + std::to_string(at) +
                 " && { _wharf; printf '%s\\n' \"${COMPREPLY[@]}\"; }")
        .out;
  };
  EXPECT_EQ(complete("wharf expl", 1), "explain\n");
  EXPECT_EQ(complete("wharf run fetch", 2), "fetch-64-bytes\n");
  EXPECT_EQ(complete("wharf run x --profile connectx7", 4), "connectx7-class\n");
  EXPECT_EQ(complete("wharf run x --set model.link.del", 4), "model.link.delay=\n");
  EXPECT_EQ(complete("wharf study run openurma/table6", 3), "openurma/table6\n");
  EXPECT_EQ(complete("wharf litmus l02", 2), "l02-acquire-flag\n");
  EXPECT_EQ(complete("wharf completion f", 2), "fish\n");
  EXPECT_THAT(complete("wharf run --capt", 2), HasSubstr("--capture"));
}

TEST_F(Install, AUsersOwnProfileIsFoundBeforeTheShippedOnes) {
  const fs::path own = *scratch_ / "home/.local/share/wharf/profiles";
  fs::create_directories(own);
  std::ofstream(own / "slow.toml")
      << "# Slower.\nextends = \"connectx7-class\"\n[pcie]\nread_round_trip = \"2us\"\n";
  const Outcome outcome = there(
      "wharf explain fetch-64-bytes --profile slow --set model.stack=roce_dma && wharf list profiles "
      "--names");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(slow)"));
  EXPECT_THAT(outcome.out, HasSubstr("\nslow\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nconnectx7-class\n"));
  fs::remove_all(own);
}

TEST_F(Install, AMistypedNameIsToldWithTheNearest) {
  EXPECT_THAT(there("wharf run fetch-64-byte").err, HasSubstr("did you mean fetch-64-bytes?"));
  EXPECT_THAT(there("wharf run scenarios/incst.toml").err, HasSubstr("did you mean scenarios/incast.toml?"));
  EXPECT_THAT(there("wharf run scenarios/0123456789012345678901234567.toml").err,
              Not(HasSubstr("did you mean")));
  EXPECT_THAT(there("wharf litmus l02-aquire-flag").err, HasSubstr("did you mean l02-acquire-flag?"));
}

TEST_F(Install, AnOutsideProjectBuildsWithCMakeAndWithPkgConfig) {
  const std::string project = (fs::current_path() / "examples/use_as_a_library").string();
  const std::string data = "WHARF_DATA='" + (tree() / "share/wharf").string() + "' ";
  const Outcome cmake =
      there("cmake -G Ninja -S " + project + " -B ../outside -DCMAKE_PREFIX_PATH='" + tree().string() +
            "' && cmake --build ../outside && " + data + "../outside/two_stacks");
  EXPECT_EQ(cmake.exit_code, 0) << cmake.out << cmake.err;
  EXPECT_THAT(cmake.out, HasSubstr("\nub_urma: "));
  const Outcome plain = there("export PKG_CONFIG_PATH='" + (tree() / "lib/pkgconfig").string() +
                              "' && g++ -std=c++20 " + project +
                              "/two_stacks.cc \"-I$(pkg-config --variable=includedir wharf)\" "
                              "\"-L$(pkg-config --variable=libdir wharf)\" " +
                              "$(pkg-config --libs-only-l wharf) -o ../plain && " + data + "../plain");
  EXPECT_EQ(plain.exit_code, 0) << plain.out << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("roce_dma: "));
}

TEST_F(Install, ThePythonPackageFindsItsDataAndTheProgram) {
  if (kPython[0] == '\0') GTEST_SKIP() << "the Python package is not built (python3-dev, pybind11-dev)";
  const std::string python =
      "PYTHONPATH='" + (tree() / "lib/python3/dist-packages").string() + "' " + kPython;
  const Outcome outcome = there(python +
                                " -Bc \"import wharf; print(wharf.run('fetch-64-bytes').fingerprint); "
                                "print(wharf.command('run', 'fetch-64-bytes')['fingerprint']); "
                                "print('incast' in wharf.names('scenarios'), wharf.__file__)\"");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string ours;
  std::string theirs;
  std::string rest;
  std::getline(lines, ours);
  std::getline(lines, theirs);
  std::getline(lines, rest);
  EXPECT_NE(ours, "");
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(rest, "True " + (tree() / "lib/python3/dist-packages/wharf/__init__.py").string());
}

// What it has of other libraries must not meet what other modules have of them.
TEST_F(Install, ThePythonModuleExportsNothingButItsBeginning) {
  if (kPython[0] == '\0') GTEST_SKIP() << "the Python package is not built (python3-dev, pybind11-dev)";
  const Outcome outcome = there("nm -D --defined-only '" +
                                (tree() / "lib/python3/dist-packages/wharf").string() + "'/_wharf.*.so");
  EXPECT_THAT(outcome.out, HasSubstr(" T PyInit__wharf\n"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
}

TEST_F(Install, ADestinationFolderIsHonoured) {
  const Outcome outcome = run({"env", "DESTDIR=" + (*scratch_ / "stage"), "cmake", "--install", WHARF_BUILD,
                               "--prefix", "/opt/wharf", "--component", "program"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(*scratch_ / "stage/opt/wharf/bin/wharf"));
  EXPECT_TRUE(fs::exists(*scratch_ / "stage/opt/wharf/share/man/man1/wharf.1"));
  EXPECT_FALSE(fs::exists("/opt/wharf/bin/wharf"));
  // Nothing lies elsewhere, and the same is there as without the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(*scratch_ / "stage"), fs::directory_iterator()), 1);
  for (const auto& entry : fs::recursive_directory_iterator(tree() / "share/doc/wharf")) {
    const fs::path beside = fs::relative(entry.path(), tree());
    EXPECT_TRUE(fs::exists(*scratch_ / "stage/opt/wharf" / beside)) << beside;
  }
}

}  // namespace
}  // namespace wharf::cli_test
