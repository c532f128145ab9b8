// SPDX-License-Identifier: Apache-2.0
// One broken rule, and how a list of them is printed: what every house check returns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wharf::house {

/// One place where a rule of the tree is broken.
struct Finding {
  std::string file;      ///< Relative to the root of the tree.
  std::size_t line = 0;  ///< From 1; 0 when the whole file is meant.
  std::string message;   ///< What was found and what is expected.
};

/// One finding per line, as "file:line: message".
std::string to_text(const std::vector<Finding>& findings);

}  // namespace wharf::house
