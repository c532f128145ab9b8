// SPDX-License-Identifier: Apache-2.0
// A fuzzer's input as a tape that decides what happens next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wharf {

/// The input, byte by byte; zeros when it ends.
class InputBytes {
 public:
  InputBytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  /// The next byte as a number to calculate with.
  std::uint32_t number() { return byte(); }
  /// Low byte first, whatever order a compiler evaluates in: an input means the same to every build.
  std::uint32_t word() {
    const std::uint32_t low = byte();
    return low | (std::uint32_t{byte()} << 8U);
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace wharf
