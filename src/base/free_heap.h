// SPDX-License-Identifier: Apache-2.0
// Memory that the allocator keeps although nobody has it any more.
#pragma once

namespace wharf {

/// Gives the system back what the allocator keeps of freed memory. For work of many parts, each of which is
/// large: a part that follows takes fresh pages as it touches them, where its tables would have lain on pages
/// that others left, touched or not. Does nothing where the C library knows no such thing.
void return_free_heap();

}  // namespace wharf
