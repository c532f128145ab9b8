// SPDX-License-Identifier: Apache-2.0
// The states that an exploration has been in, by 128-bit fingerprints. Apart because it is a container.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wharf::sim {

/// Two states are taken for one when 128 bits agree; for a million states the chance is below 10^-26.
using StateFingerprint = std::array<std::uint64_t, 2>;

/// Of the bytes of a canonical state. Never zero in both words.
inline StateFingerprint fingerprint_of(std::span<const std::byte> state) {
  std::uint64_t one = 0x9E3779B97F4A7C15ULL ^ state.size();
  std::uint64_t other = 0xC2B2AE3D27D4EB4FULL;
  for (std::size_t at = 0; at < state.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, state.data() + at, state.size() - at < 8 ? state.size() - at : 8);
    one = (one ^ word) * 0xD6E8FEB86659FD93ULL;
    one ^= one >> 32U;
    other = (other + word) * 0xFF51AFD7ED558CCDULL;
    other ^= other >> 29U;
  }
  return {one, other | 1U};
}

class StateSet {
 public:
  StateSet() : slots_(std::size_t{1} << 12U) {}

  /// False when it was there.
  bool insert(StateFingerprint state) {
    if (2 * size_ >= slots_.size()) grow();
    if (!put(state)) return false;
    ++size_;
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  bool put(StateFingerprint state) {
    std::size_t at = state[0] & (slots_.size() - 1);
    while (slots_[at][1] != 0) {
      if (slots_[at] == state) return false;
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = state;
    return true;
  }
  void grow() {
    std::vector<StateFingerprint> old(2 * slots_.size());
    old.swap(slots_);
    for (const StateFingerprint& state : old) {
      if (state[1] != 0) put(state);
    }
  }

  std::vector<StateFingerprint> slots_;  ///< Second word 0: empty.
  std::size_t size_ = 0;
};

}  // namespace wharf::sim
