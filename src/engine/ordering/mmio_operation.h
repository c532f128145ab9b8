// SPDX-License-Identifier: Apache-2.0
// One access of a core to device memory, as it travels from the core to the device. Apart because the core,
// the reorder buffer and the device's reorder unit pass it on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/ordering/mmio_state.h"
#include "engine/ordering/request.h"

namespace wharf::ordering {

/// Instructions of "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), 4.2, and
/// those of today's x86 processors.
enum class MmioKind : std::uint8_t {
  kStore,                ///< Remote store without any order against other operations.
  kRelease,              ///< Remote store after every earlier memory operation of its thread.
  kLoad,                 ///< Remote load without any order.
  kAcquire,              ///< Remote load; every later memory operation of its thread waits for it.
  kWriteCombiningStore,  ///< Store to write-combining memory: merges, leaves in any order.
  kUncachedStore,        ///< Store to uncached memory: leaves in program order.
  kUncachedLoad,         ///< Load from uncached memory: the core waits for it.
};

/// True for the four proposed instructions, which carry a number.
constexpr bool is_numbered(MmioKind kind) {
  return kind == MmioKind::kStore || kind == MmioKind::kRelease || kind == MmioKind::kLoad ||
         kind == MmioKind::kAcquire;
}
/// True when the operation asks the device for bytes: a non-posted request.
constexpr bool is_load(MmioKind kind) {
  return kind == MmioKind::kLoad || kind == MmioKind::kAcquire || kind == MmioKind::kUncachedLoad;
}

/// One operation of at most a line; it does not cross a 64-byte boundary.
struct MmioOperation {
  std::uint64_t address = 0;  ///< First byte, in the device's window.
  std::uint32_t number = 0;   ///< Sequence number modulo the width of the sequencer; of numbered kinds only.
  /// Every operation of the same domain below this number must have been handed on before this one. Equal to
  /// `number` for a release; the number at the last fence otherwise.
  std::uint32_t ordered_after = 0;
  std::uint32_t tag = 0;     ///< The issuer's own name of it; a load's answer carries it.
  std::uint16_t thread = 0;  ///< Hardware thread; part of the number at the reorder buffer.
  std::uint16_t device = 0;  ///< Target device, 0 where there is one.
  MmioKind kind = MmioKind::kStore;
  std::uint8_t length = 0;  ///< Bytes, 1 to 64.
  std::array<std::byte, kLineBytes> data{};

  std::span<const std::byte> bytes() const { return std::span(data).first(length); }
  std::uint64_t line() const { return address & ~std::uint64_t{kLineBytes - 1}; }

  bool operator==(const MmioOperation&) const = default;
};

/// An operation of `kind` that stores `bytes` (1 to 64, within a line) at `address`.
inline MmioOperation mmio_store(MmioKind kind, std::uint64_t address, std::span<const std::byte> bytes) {
  WHARF_CHECK(!bytes.empty() && (address % kLineBytes) + bytes.size() <= kLineBytes);
  MmioOperation operation;
  operation.kind = kind;
  operation.address = address;
  operation.length = static_cast<std::uint8_t>(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) operation.data[i] = bytes[i];
  return operation;
}

/// Appends what decides the future of `operation`. Numbers are written as distances from `base`, the number
/// that the reorder buffer waits for in the operation's domain (MmioRob::next_number), so that two states
/// which differ by a shift of all numbers are one. `mask` is 2^width - 1.
inline void append_state(std::vector<std::byte>& out, const MmioOperation& operation, std::uint32_t base,
                         std::uint32_t mask) {
  MmioStateWriter writer(out);
  writer.put(static_cast<std::uint8_t>(operation.kind));
  writer.put(operation.thread);
  writer.put(operation.device);
  writer.put(operation.address);
  writer.put(operation.tag);
  writer.put(operation.length);
  const bool numbered = is_numbered(operation.kind);
  writer.put(numbered ? (operation.number - base) & mask : 0U);
  writer.put(numbered ? (operation.ordered_after - base) & mask : 0U);
  if (!is_load(operation.kind)) writer.put(operation.bytes());
}

}  // namespace wharf::ordering
