// SPDX-License-Identifier: Apache-2.0
// Programs outside of the tree are built against what `cmake --install` puts somewhere, with pkg-config and
// with CMake, and run: a worker, an owner and a client in C; all three in one process in C++.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

/// What `script` printed; it ran in a shell, in the root of the tree.
std::string output_of(const std::string& script) {
  std::string text;
  std::FILE* pipe = ::popen(("exec 2>&1; set -eu\n" + script).c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::array<char, 4096> part;
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), got);
  const int status = ::pclose(pipe);
  if (status != 0) text += "exit " + std::to_string(status);
  return text;
}

class InstalledRdmo : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new std::string(::testing::TempDir() + "wharf_rdmo_installed_" + std::to_string(::getpid()));
    EXPECT_EQ(output_of("cmake --install " WHARF_BUILD_FOLDER " --component rdmo --prefix " + *folder_ +
                        " > /dev/null"),
              "");
    // What is installed may be moved.
    EXPECT_EQ(output_of("mv " + *folder_ + " " + *folder_ + "_moved"), "");
    *folder_ += "_moved";
  }
  static void TearDownTestSuite() {
    output_of("rm -rf " + *folder_);
    delete folder_;
  }
  static std::string libraries() { return *folder_ + "/" WHARF_LIBRARY_DIRECTORY; }
  static std::string environment() {
    return "export PKG_CONFIG_PATH=" + libraries() + "/pkgconfig LD_LIBRARY_PATH=" + libraries() + "\n";
  }
  static std::string* folder_;
};
std::string* InstalledRdmo::folder_ = nullptr;

TEST_F(InstalledRdmo, AProgramInCIsBuiltWithPkgConfigAndSharesALog) {
  const std::string program = *folder_ + "/rdmo_log";
  EXPECT_EQ(output_of(environment() +
                      "cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror examples/rdmo_log/rdmo_log.c "
                      "-o " +
                      program + " $(pkg-config --cflags --libs wharf_rdmo)"),
            "");
  // Each says where it is in its first line; the last client's records are visible when it ends.
  const std::string text =
      output_of(environment() + "cd " + *folder_ + "; mkfifo worker owner\n" + "RDMO_WORKER=127.0.0.1:0 " +
                program + " work > worker & worker=$!\n" +
                "exec 3< worker; read -r line <&3; export RDMO_WORKER=127.0.0.1:${line##* }\n" +
                "RDMO_TARGET=127.0.0.1:0 " + program + " own > owner & owner=$!\n" +
                "exec 4< owner; read -r line <&4; export RDMO_TARGET=127.0.0.1:${line##* }\n" + program +
                " add 'a record;' 'and another;'\n" + program + " add 'the end'\n" +
                "kill $owner; wait $owner; wait $worker; cat <&4");
  EXPECT_EQ(text,
            "record 0: done, at 8\nrecord 1: done, at 17\nrecord 0: done, at 29\n"
            "a record;and another;the end");
}

TEST_F(InstalledRdmo, AProgramInCppIsBuiltWithCMakeAndRuns) {
  EXPECT_EQ(output_of(environment() + "cmake -S examples/rdmo_log -B " + *folder_ +
                      "/build -DCMAKE_PREFIX_PATH=" + *folder_ + " > " + *folder_ + "/log && cmake --build " +
                      *folder_ + "/build >> " + *folder_ + "/log || cat " + *folder_ + "/log\n" + *folder_ +
                      "/build/rdmo_log_cpp"),
            "ONE two \n");
}

TEST_F(InstalledRdmo, WhatIsWrongIsSaidInASentence) {
  const std::string program = *folder_ + "/rdmo_log";
  const std::string text =
      output_of(environment() + "RDMO_TARGET=nowhere:0:0 " + program + " add x || true\n" +
                "RDMO_TARGET=127.0.0.1:1 " + program + " add x || true\n" + program + " frobnicate || true");
  EXPECT_NE(text.find("rdmo_log: initiator: target: "), std::string::npos) << text;
  EXPECT_NE(text.find("usage: rdmo_log work"), std::string::npos) << text;
}

}  // namespace
