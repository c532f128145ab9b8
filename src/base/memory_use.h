// SPDX-License-Identifier: Apache-2.0
// One line of an object's own account of the memory that it holds.
#pragma once

#include <cstdint>
#include <string_view>

namespace wharf {

/// `count` objects of one kind and the bytes that they occupy together: the structs themselves and the heap
/// and arena memory behind them, free places of a pool included; without what the allocator adds.
struct MemoryUse {
  std::string_view object;  ///< "jetty", "tp_channel", ...; static text.
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

}  // namespace wharf
