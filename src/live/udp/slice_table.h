// SPDX-License-Identifier: Apache-2.0
// The memory of a server, cut into equal slices of whole pages: who has which, and by which key several
// sessions share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wharf::live {

inline constexpr std::uint64_t kPageBytes = 4096;

/// What a session finds in its slice.
enum class SliceContent : std::uint8_t {
  kZeros,  ///< Nothing of those who had it before.
  kKept,   ///< Whatever is there.
};

class SliceTable {
 public:
  /// `memory` begins with a page and has one for each of `count` slices at least.
  SliceTable(std::span<std::byte> memory, std::uint32_t count, SliceContent content);

  /// A slice that nobody has, under `key`, which no slice ever had; nothing when there is none. Zeroing costs
  /// in proportion to what was written there.
  std::optional<std::uint32_t> take(std::uint64_t key);
  /// The slice that somebody has under `key`, once more; nothing when there is none.
  std::optional<std::uint32_t> share(std::uint64_t key);
  /// Undoes one take() or share().
  void leave(std::uint32_t slice);

  std::uint64_t key(std::uint32_t slice) const { return slices_[slice].key; }
  std::uint64_t offset(std::uint32_t slice) const { return slice * slice_bytes(); }
  std::uint64_t slice_bytes() const { return memory_.size() / slices_.size() / kPageBytes * kPageBytes; }

 private:
  struct Slice {
    std::uint32_t sessions = 0;
    bool used_before = false;
    std::uint64_t key = 0;
  };

  std::span<std::byte> memory_;
  SliceContent content_;
  std::vector<Slice> slices_;
};

}  // namespace wharf::live
