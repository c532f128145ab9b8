// SPDX-License-Identifier: Apache-2.0
// A heap on huge pages, for work that walks over the records of thousands of objects.
#pragma once

#include <cstddef>

namespace wharf {

/// Tells the allocator that about `bytes` of small objects are going to be made: it reserves addresses for
/// them in one piece and asks the system for huge pages there, so that a packet's walk through a host's
/// records does not spend its time on address translation. Memory is taken when it is touched, as ever. Does
/// nothing below 4 MiB, or where the C library or the system knows no such thing.
void expect_large_heap(std::size_t bytes);

}  // namespace wharf
