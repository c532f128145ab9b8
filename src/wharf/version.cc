// SPDX-License-Identifier: Apache-2.0
#include "wharf/version.h"

namespace wharf {

std::string_view version() { return WHARF_VERSION; }
std::string_view commit() { return WHARF_COMMIT; }
std::string_view version_text() {
  return "wharf " WHARF_VERSION " (commit " WHARF_COMMIT ", g++ " __VERSION__ ")";
}

}  // namespace wharf
