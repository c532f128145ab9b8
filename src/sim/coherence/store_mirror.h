// SPDX-License-Identifier: Apache-2.0
// Who hears of every store in the instant in which it is performed. Since at most one agent may write a line
// at a time, whoever applies them in this order has the newest bytes of all lines, wherever the copies are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/coherence/message.h"

namespace wharf::sim {

class StoreMirror {
 public:
  virtual ~StoreMirror() = default;
  /// Bytes [offset, offset + bytes.size()) of `line` are these now.
  virtual void stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace wharf::sim
