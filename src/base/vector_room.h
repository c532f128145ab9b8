// SPDX-License-Identifier: Apache-2.0
// Room made before anything changes, so that what follows cannot run out of memory halfway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wharf {

/// Makes room for one element more, growing by doubling as push_back() does; that does not throw afterwards.
template <typename T>
void make_room_for_one(std::vector<T>& in) {
  if (in.size() == in.capacity()) in.reserve(std::max<std::size_t>(1, 2 * in.size()));
}

}  // namespace wharf
