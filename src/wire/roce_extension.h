// SPDX-License-Identifier: Apache-2.0
// The extension headers that follow a BTH. All are big-endian. [IBTA vol 1 9.3; flush: IBTA vol 1 1.6, 9.3.9]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/psn.h"

namespace wharf::wire {

/// RETH, 16 bytes: what an RDMA operation addresses. `length` is that of the whole message.
struct Reth {
  std::uint64_t address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;
};
inline constexpr std::uint32_t kRethBytes = 16;

inline void encode(const Reth& reth, std::byte* at) {
  store_be64(at, reth.address);
  store_be32(at + 8, reth.remote_key);
  store_be32(at + 12, reth.length);
}
inline Reth decode_reth(const std::byte* at) {
  return Reth{load_be64(at), load_be32(at + 8), load_be32(at + 12)};
}

/// The class of an AETH syndrome, bits 6:5.
enum class AethClass : std::uint8_t { kAck = 0, kReceiverNotReady = 1, kReserved = 2, kNak = 3 };

/// The error code of a NAK, bits 4:0 of its syndrome.
enum class NakCode : std::uint8_t {
  kSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccess = 2,
  kRemoteOperation = 3,
  kInvalidRdRequest = 4,
};

/// AETH, 4 bytes: syndrome 1, MSN 3.
struct Aeth {
  std::uint8_t syndrome = 0x1f;
  Psn msn = 0;

  AethClass syndrome_class() const { return static_cast<AethClass>((syndrome >> 5U) & 3U); }
  /// Credit code of an ACK, timer code of an RNR NAK, NakCode of a NAK.
  std::uint8_t value() const { return syndrome & 0x1fU; }
};
inline constexpr std::uint32_t kAethBytes = 4;
/// An ACK that does not use end-to-end credits.
inline constexpr std::uint8_t kAckUnlimited = 0x1f;

constexpr std::uint8_t rnr_syndrome(std::uint8_t timer_code) {
  return static_cast<std::uint8_t>(0x20U | (timer_code & 0x1fU));
}
constexpr std::uint8_t nak_syndrome(NakCode code) {
  return static_cast<std::uint8_t>(0x60U | static_cast<std::uint8_t>(code));
}

inline void encode(const Aeth& aeth, std::byte* at) {
  store_be32(at, (std::uint32_t{aeth.syndrome} << 24U) | (aeth.msn & kPsnMask));
}
inline Aeth decode_aeth(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  return Aeth{static_cast<std::uint8_t>(word >> 24U), word & kPsnMask};
}

/// AtomicETH, 28 bytes. Fetch-and-add uses `swap_or_add` alone.
struct AtomicEth {
  std::uint64_t address = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint32_t remote_key = 0;
};
inline constexpr std::uint32_t kAtomicEthBytes = 28;

inline void encode(const AtomicEth& atomic, std::byte* at) {
  store_be64(at, atomic.address);
  store_be32(at + 8, atomic.remote_key);
  store_be64(at + 12, atomic.swap_or_add);
  store_be64(at + 20, atomic.compare);
}
inline AtomicEth decode_atomic_eth(const std::byte* at) {
  return AtomicEth{load_be64(at), load_be64(at + 12), load_be64(at + 20), load_be32(at + 8)};
}

/// AtomicAckETH, 8 bytes: the value before the operation.
inline constexpr std::uint32_t kAtomicAckEthBytes = 8;
/// ImmDt, 4 bytes, opaque; kept here as the big-endian number. IETH, 4 bytes: the key to invalidate.
inline constexpr std::uint32_t kImmediateBytes = 4;
inline constexpr std::uint32_t kIethBytes = 4;

/// DETH, 8 bytes: datagrams. Q_Key 4, reserved 1, source QP 3.
struct Deth {
  std::uint32_t queue_key = 0;
  std::uint32_t source_queue_pair = 0;  ///< 24 bits.
};
inline constexpr std::uint32_t kDethBytes = 8;

inline void encode(const Deth& deth, std::byte* at) {
  store_be32(at, deth.queue_key);
  store_be32(at + 4, deth.source_queue_pair & 0xff'ffffU);
}
inline Deth decode_deth(const std::byte* at) { return Deth{load_be32(at), load_be32(at + 4) & 0xff'ffffU}; }

/// FETH, 4 bytes: which placement a FLUSH asks for.
struct Feth {
  std::uint8_t placement = 0;    ///< Placement type, bits 3:0: 1 global visibility, 2 persistence.
  std::uint8_t selectivity = 0;  ///< Bits 5:4: 0 memory range, 1 whole region.
};
inline constexpr std::uint32_t kFethBytes = 4;

inline void encode(const Feth& feth, std::byte* at) {
  store_be32(at, (feth.placement & 15U) | ((feth.selectivity & 3U) << 4U));
}
inline Feth decode_feth(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  return Feth{static_cast<std::uint8_t>(word & 15U), static_cast<std::uint8_t>((word >> 4U) & 3U)};
}

/// A CNP carries 16 zero bytes after its BTH.
inline constexpr std::uint32_t kCnpReservedBytes = 16;
/// The invariant CRC ends every RoCEv2 packet.
inline constexpr std::uint32_t kIcrcBytes = 4;

}  // namespace wharf::wire
