// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace wharf {

// Not through stderr: objects that name a variable of another library fit into programs only, not into the
// Python package (docs/decisions/0080).
void check_failed(const char* what, std::source_location where) {
  ::dprintf(STDERR_FILENO, "%s:%u: invariant broken: %s\n", where.file_name(),
            static_cast<unsigned>(where.line()), what);
  std::abort();
}

}  // namespace wharf
