// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_random.h"

#include <sys/random.h>

namespace wharf {

Result<std::uint64_t> kernel_random() {
  std::uint64_t value = 0;
  // Eight bytes come whole, or not at all.
  if (::getrandom(&value, sizeof value, 0) != sizeof value)
    return Error{ErrorKind::kEnvironment, "the system gives no random numbers"};
  return value;
}

}  // namespace wharf
