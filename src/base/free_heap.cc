// SPDX-License-Identifier: Apache-2.0
#include "base/free_heap.h"

#include <malloc.h>

namespace wharf {

void return_free_heap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace wharf
