// SPDX-License-Identifier: Apache-2.0
// Writes the canonical state of a machine of the MMIO path as bytes. Apart because all of them share it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wharf::ordering {

/// Appends to a state; the reader's knowledge of the machine's configuration gives the bytes their meaning.
class MmioStateWriter {
 public:
  explicit MmioStateWriter(std::vector<std::byte>& out) : out_(out) {}

  /// Appends `value`, least significant byte first.
  template <std::unsigned_integral Value>
  void put(Value value) {
    for (std::size_t byte = 0; byte < sizeof(Value); ++byte) {
      out_.push_back(static_cast<std::byte>((std::uint64_t{value} >> (8U * byte)) & 0xFFU));
    }
  }
  /// Appends `bytes` as they are; their number must follow from what was appended before.
  void put(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace wharf::ordering
