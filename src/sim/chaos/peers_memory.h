// SPDX-License-Identifier: Apache-2.0
// The memory of a host in a run of peers, and beside it what every byte of it must be: whoever grants nothing
// finds nothing changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "engine/contract.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

class PeersMemory {
 public:
  static constexpr std::uint64_t kBase = 0x10'0000;

  PeersMemory(std::uint64_t bytes, TimePs delay, wire::PayloadPool& payloads)
      : delay_(delay), payloads_(&payloads), bytes_(bytes), expected_(bytes), certain_(bytes / 8, 1) {
    renew();
  }

  /// The host has started anew: nothing is under way, and everything is as at first.
  void renew() {
    under_way_.clear();
    std::fill(bytes_.begin(), bytes_.end(), std::byte{0xa5});
    expected_ = bytes_;
    std::fill(certain_.begin(), certain_.end(), 1);
  }

  std::span<std::byte> at(std::uint64_t address, std::uint64_t length) {
    WHARF_CHECK(covers(address, length));
    return {bytes_.data() + (address - kBase), length};
  }
  /// What [address, address + length) must hold.
  std::span<std::byte> expected(std::uint64_t address, std::uint64_t length) {
    WHARF_CHECK(covers(address, length));
    return {expected_.data() + (address - kBase), length};
  }
  bool is_as_expected(std::uint64_t address, std::uint64_t length) {
    return std::memcmp(at(address, length).data(), expected(address, length).data(), length) == 0;
  }
  /// Whether anybody may rely on the words there. They are multiples of 8.
  void set_certain(std::uint64_t address, std::uint64_t length, bool certain) {
    const auto first = certain_.begin() + static_cast<std::ptrdiff_t>((address - kBase) / 8);
    std::fill(first, first + static_cast<std::ptrdiff_t>(length / 8), certain ? 1 : 0);
  }
  /// The first certain word that is not what it must be.
  std::optional<std::uint64_t> first_changed() const {
    for (std::size_t word = 0; word < certain_.size(); ++word) {
      if (certain_[word] != 0 && std::memcmp(&bytes_[word * 8], &expected_[word * 8], 8) != 0)
        return kBase + word * 8;
    }
    return std::nullopt;
  }

  // As the engine's driver sees it.
  bool begin(TimePs now, const engine::Access& access, engine::AccessResult& result) {
    if (delay_ == kTimeZero) {
      result = perform(access);
      return true;
    }
    under_way_.emplace_back(now + delay_, access);
    return false;
  }
  void reclaim(const engine::AccessResult& result) { payloads_->release(result.data.buffer); }

  TimePs next_time() const { return under_way_.empty() ? kNever : under_way_.front().first; }
  /// Performs the access of next_time(); the caller reclaims the result.
  engine::AccessId take(engine::AccessResult& result) {
    const engine::Access access = under_way_.front().second;
    under_way_.pop_front();
    result = perform(access);
    return access.id;
  }

 private:
  bool covers(std::uint64_t address, std::uint64_t length) const {
    return address >= kBase && length <= bytes_.size() && address - kBase <= bytes_.size() - length;
  }

  engine::AccessResult perform(const engine::Access& access) {
    using engine::AccessKind;
    engine::AccessResult result;
    const bool data = access.kind == AccessKind::kRead || access.kind == AccessKind::kWrite;
    if ((data && !covers(access.address, access.length)) ||
        (access.kind == AccessKind::kAtomic && !covers(access.address, access.width))) {
      result.status = engine::AccessStatus::kFault;
      return result;
    }
    if (access.kind == AccessKind::kRead && access.length > 0) {
      const wire::BufferId buffer = payloads_->acquire(access.length);
      std::memcpy(payloads_->data(buffer), at(access.address, access.length).data(), access.length);
      result.data = wire::bytes_payload(payloads_->data(buffer), access.length, buffer);
    } else if (access.kind == AccessKind::kWrite) {
      wire::fill(access.data, at(access.address, access.length));
    } else if (access.kind == AccessKind::kAtomic) {
      std::memcpy(result.old_value.data(), at(access.address, access.width).data(), access.width);
      const std::uint64_t sum = result.old_value[0] + access.operand[0];
      // Nobody asks for anything but fetch_add of 8 bytes; a liar may, and may ruin its own grant.
      std::memcpy(at(access.address, access.width).data(), &sum, std::min<std::size_t>(access.width, 8));
    }
    return result;
  }

  TimePs delay_;
  wire::PayloadPool* payloads_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> expected_;
  std::vector<std::uint8_t> certain_;  ///< One for each 8 bytes.
  std::deque<std::pair<TimePs, engine::Access>> under_way_;
};

}  // namespace wharf::sim
