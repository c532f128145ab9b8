// SPDX-License-Identifier: Apache-2.0
// `wharf urma show` as a user runs it: what the library beside the program says of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

namespace wharf {
namespace {

using cli_test::Outcome;

/// `wharf urma` on a machine with these devices.
Outcome urma(const std::string& devices, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"env", "WHARF_URMA_DEVICES=" + devices, WHARF_PROGRAM, "urma"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return cli_test::run(command);
}

constexpr const char* kTwo = "left=127.0.0.1,right=127.0.0.2+127.0.0.3";

TEST(UrmaShow, ALineForEachDevice) {
  const Outcome shown = urma(kTwo, {"show"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::ContainsRegex("left +UB +::ffff:127.0.0.1 +1 +ACTIVE +MTU_"));
  EXPECT_THAT(shown.out, testing::ContainsRegex("right +UB +::ffff:127.0.0.2 +2 +ACTIVE"));
}

TEST(UrmaShow, OneDeviceWithAllThatItCanDo) {
  const Outcome shown = urma(kTwo, {"show", "right"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* line : {"eids 1 +index 1, eid ::ffff:127.0.0.3", "trans_modes +RM, RC, UM",
                           "max_jfc_depth +65536", "atomics +cas, swap", "rc_orders +OT, OL", "active_speed"})
    EXPECT_THAT(shown.out, testing::ContainsRegex(line));
  EXPECT_THAT(shown.out, testing::Not(testing::HasSubstr("left")));
}

TEST(UrmaShow, AllOfItAsData) {
  const auto shown = urma(kTwo, {"show", "--json"}).json();
  ASSERT_EQ(shown["devices"].size(), 2U);
  EXPECT_THAT(shown["library"].get<std::string>(), testing::HasSubstr("liburma.so.0"));
  const auto& right = shown["devices"][1];
  EXPECT_EQ(right["name"], "right");
  EXPECT_EQ(right["eids"][1]["eid"], "::ffff:127.0.0.3");
  EXPECT_GE(right["limits"]["max_jetty"], 1024);
  EXPECT_EQ(right["ports"][0]["state"], "ACTIVE");
  EXPECT_EQ(right["priorities"].size(), 16U);
  EXPECT_EQ(shown["devices"][0]["reserved_jetty_ids"][0], 1);
}

TEST(UrmaShow, SaysWhatIsWrong) {
  const Outcome unknown = urma(kTwo, {"show", "lefd"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, testing::HasSubstr("no device lefd, expected left or right; did you mean left?"));
  const Outcome no_interface = urma("nowhere0", {"show"});
  EXPECT_EQ(no_interface.exit_code, 4);
  EXPECT_THAT(no_interface.err, testing::HasSubstr("WHARF_URMA_DEVICES is nowhere0"));
  const Outcome no_library = urma(kTwo, {"show", "--library", "/nowhere/liburma.so.0"});
  EXPECT_EQ(no_library.exit_code, 4);
  EXPECT_THAT(no_library.err, testing::HasSubstr("/nowhere/liburma.so.0"));
  const Outcome other = urma(kTwo, {"show", "--library", "libc.so.6"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, testing::HasSubstr("without URMA's calls"));
  EXPECT_EQ(urma(kTwo, {}).exit_code, 2);
}

}  // namespace
}  // namespace wharf
