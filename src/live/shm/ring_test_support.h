// SPDX-License-Identifier: Apache-2.0
// A ring in memory that processes of a test share, and frames that say what they must hold.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "live/shm/frame_ring.h"

namespace wharf::live {

/// Shared with processes that are forked later.
class TestRing {
 public:
  explicit TestRing(std::uint32_t cells) : bytes_(kControl + cells * kRingCellBytes) {
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    WHARF_CHECK(at != MAP_FAILED);
    memory_ = static_cast<std::byte*>(at);
    ring = {reinterpret_cast<FrameRingControl*>(memory_), memory_ + kControl, cells};
  }
  TestRing(const TestRing&) = delete;
  TestRing& operator=(const TestRing&) = delete;
  ~TestRing() { ::munmap(memory_, bytes_); }

  void set_head(std::uint32_t cell, std::uint64_t word) {
    std::memcpy(ring.cells + cell * kRingCellBytes, &word, sizeof word);
  }

  FrameRing ring;

 private:
  static constexpr std::size_t kControl = 4096;
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

/// The head of a frame at `position`, or with another kind, as the ring's page has it.
constexpr std::uint64_t ring_head(std::uint64_t position, std::uint64_t length, std::uint64_t kind = 1) {
  return (position & 0xffff'ffffU) | 0x8000'0000U | length << 32U | kind << 56U;
}

/// The frame with this number: 1 to 600 bytes that follow from it.
inline std::vector<std::byte> numbered_frame(std::uint64_t number) {
  std::vector<std::byte> frame(1 + number * 37 % 600);
  for (std::size_t at = 0; at < frame.size(); ++at) frame[at] = static_cast<std::byte>(number * 31 + at);
  return frame;
}

/// Whether `frame` is the one with this number.
inline bool is_numbered(const FrameRingReader::Frame& frame, std::uint64_t number) {
  const std::vector<std::byte> expected = numbered_frame(number);
  return frame.service == static_cast<std::uint8_t>(number) && frame.bytes.size() == expected.size() &&
         std::memcmp(frame.bytes.data(), expected.data(), expected.size()) == 0;
}

}  // namespace wharf::live
