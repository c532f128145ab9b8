// SPDX-License-Identifier: Apache-2.0
// What the tests of commands about many hosts share: files that a run has left, and refusals.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "run_program.h"

namespace wharf::cli_test {

inline std::string content(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The program ends with `exit_code`, says `text` among others, and prints no result.
inline void expect_refusal(const std::vector<std::string>& arguments, int exit_code,
                           const std::string& text) {
  const Outcome outcome = wharf(arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_THAT(outcome.err, testing::HasSubstr(text));
  EXPECT_EQ(outcome.out, "");
}

}  // namespace wharf::cli_test
