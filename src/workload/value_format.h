// SPDX-License-Identifier: Apache-2.0
// How a value of the key-value store looks in memory: 32-bit checksum, 32-bit version, then the data. The
// checksum covers key, version and data, so half a value, or the value of another key, does not pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/fingerprint.h"
#include "workload/pattern.h"

namespace wharf::workload {

/// Over key, version and the bytes behind the first word. `value` is a multiple of 8 bytes, at least 8.
inline std::uint32_t value_checksum(std::span<const std::byte> value, std::uint64_t seed, std::uint64_t key,
                                    std::uint32_t version) {
  Fingerprint sum;
  sum.add(seed ^ key);
  sum.add(version);
  for (std::size_t at = 8; at < value.size(); at += 8) sum.add(load_le64(value.data() + at));
  return static_cast<std::uint32_t>(sum.value());
}

/// Fills `value` with the data that `key` has in `version`.
inline void write_value(std::span<std::byte> value, std::uint64_t seed, std::uint64_t key,
                        std::uint32_t version) {
  for (std::size_t at = 8; at < value.size(); at += 8)
    store_le64(value.data() + at, mix(seed ^ at, key, version));
  store_le64(value.data(), (std::uint64_t{version} << 32U) | value_checksum(value, seed, key, version));
}

/// The version that `value` holds, or nothing when it is not a whole value of `key`.
inline std::optional<std::uint32_t> read_value(std::span<const std::byte> value, std::uint64_t seed,
                                               std::uint64_t key) {
  const std::uint64_t head = load_le64(value.data());
  const auto version = static_cast<std::uint32_t>(head >> 32U);
  if (static_cast<std::uint32_t>(head) != value_checksum(value, seed, key, version)) return std::nullopt;
  return version;
}

}  // namespace wharf::workload
