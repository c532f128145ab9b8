// SPDX-License-Identifier: Apache-2.0
// Findings in the form that editors and terminals make clickable.
#include "house/finding.h"

namespace wharf::house {

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.file;
    if (finding.line != 0) text += ":" + std::to_string(finding.line);
    text += ": " + finding.message + "\n";
  }
  return text;
}

}  // namespace wharf::house
