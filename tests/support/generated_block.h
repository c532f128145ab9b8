// SPDX-License-Identifier: Apache-2.0
// Holds a part of a document to what the code says: tables that are generated stand between two marks.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace wharf::test {

/// Fails unless `document` (a path from the project's root) has exactly `text` between the lines
/// "<!-- generated: NAME -->" and "<!-- end of generated: NAME -->". WHARF_ACCEPT=1 in the environment
/// rewrites that part instead.
inline void expect_generated_block(const std::string& document, const std::string& name,
                                   const std::string& text) {
  std::ifstream in(document, std::ios::binary);
  ASSERT_TRUE(in.good()) << document << " is missing";
  std::ostringstream read;
  read << in.rdbuf();
  const std::string whole = read.str();
  const std::string begin = "<!-- generated: " + name + " -->\n";
  const std::string end = "<!-- end of generated: " + name + " -->\n";
  const std::size_t mark = whole.find(begin);
  ASSERT_NE(mark, std::string::npos) << document << " has no line " << begin;
  const std::size_t from = mark + begin.size();
  const std::size_t to = whole.find(end, from);
  ASSERT_NE(to, std::string::npos) << document << ": " << begin << "has no end";
  const char* accept = std::getenv("WHARF_ACCEPT");
  if (accept != nullptr && std::string_view(accept) == "1") {
    std::ofstream out(document, std::ios::binary);
    out << whole.substr(0, from) << text << whole.substr(to);
    EXPECT_TRUE(out.good()) << document << " could not be written";
    return;
  }
  EXPECT_EQ(whole.substr(from, to - from), text)
      << document << ": \"" << name
      << "\" differs from the code: if the change is meant, run with WHARF_ACCEPT=1";
}

}  // namespace wharf::test
