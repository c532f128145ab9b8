// SPDX-License-Identifier: Apache-2.0
// Tests that compare text with a file under tests/golden/. WHARF_ACCEPT=1 in the environment rewrites the
// file instead; the difference is then reviewed with the change that caused it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace wharf {

/// Fails unless the file `name` under tests/golden/ holds exactly `text`. Tests run in the project's root
/// folder.
inline void expect_golden(std::string_view name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path("tests/golden") / name;
  const char* accept = std::getenv("WHARF_ACCEPT");
  if (accept != nullptr && std::string_view(accept) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out << text;
    EXPECT_TRUE(out.good()) << path << " could not be written";
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in.good()) << path << " is missing: run with WHARF_ACCEPT=1 from the project's root to make it";
  std::ostringstream found;
  found << in.rdbuf();
  EXPECT_EQ(found.str(), text) << path << " differs: if the change is meant, run with WHARF_ACCEPT=1";
}

}  // namespace wharf
