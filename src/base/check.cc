// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace wharf {

void check_failed(const char* what, std::source_location where) {
  std::fprintf(stderr, "%s:%u: invariant broken: %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), what);
  std::abort();
}

}  // namespace wharf
