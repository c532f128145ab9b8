// SPDX-License-Identifier: Apache-2.0
// Acknowledgements of the PDS: ACK, and ACK_CC and ACK_CCX with SACK and congestion state. [UE 1.0 3.5.10,
// 3.5.12; congestion state 3.6.13, 3.6.14]
//
//   ACK      0-1 prologue | 2-3 ack_psn_offset or probe_opaque | 4-7 cack_psn | 8-9 spdcid | 10-11 dpdcid
//   ACK_CC   | 12 cc_type 4 cc_flags 4 | 13 mpr | 14-15 sack_psn_offset | 16-23 sack_bitmap | 24-31 state
//   ACK_CCX  | 24-39 state
//   NSCC     service_time 16, restore_cwnd 1, rcv_cwnd_pend 7, rcvd_bytes 24, ooo_count 16
//   CREDIT   credit 24, reserved 24, ooo_count 16
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/uet_prologue.h"
#include "wire/uet_psn.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetAckBytes = 12;
inline constexpr std::uint32_t kUetAckCcBytes = 32;
/// Choice: 40 as the reference provider and Wireshark have it; another source says 32.
inline constexpr std::uint32_t kUetAckCcxBytes = 40;

struct UetAck {
  UetPsn cumulative_psn = 0;            ///< CACK_PSN. Ignored when the ACK answers a Probe.
  std::uint16_t source_pdcid = 0;       ///< The acknowledging end's.
  std::uint16_t destination_pdcid = 0;  ///< The request sender's.
  std::int16_t ack_psn_offset = 0;      ///< ACK_PSN - CACK_PSN; the answered Probe's opaque value with P.

  /// ACK_PSN: the packet that triggered the ACK and that the SES response belongs to.
  UetPsn ack_psn() const { return uet_psn_add(cumulative_psn, ack_psn_offset); }
  /// With P: the value copied from the Probe.
  std::uint16_t probe_opaque() const { return static_cast<std::uint16_t>(ack_psn_offset); }
};
static_assert(sizeof(UetAck) == 12);

/// Bytes 2..11.
inline void encode(const UetAck& ack, std::byte* at) {
  store_be16(at + 2, static_cast<std::uint16_t>(ack.ack_psn_offset));
  store_be32(at + 4, ack.cumulative_psn);
  store_be32(at + 8, (std::uint32_t{ack.source_pdcid} << 16U) | ack.destination_pdcid);
}
inline UetAck decode_uet_ack(const std::byte* at) {
  UetAck ack;
  ack.ack_psn_offset = static_cast<std::int16_t>(load_be16(at + 2));
  ack.cumulative_psn = load_be32(at + 4);
  ack.source_pdcid = load_be16(at + 8);
  ack.destination_pdcid = load_be16(at + 10);
  return ack;
}

/// How the congestion state of an ACK reads. 2..15 are reserved or proprietary: their state is kept as bits.
enum class UetCcType : std::uint8_t { kNscc = 0, kCredit = 1 };

/// MPR counts in this many PSNs.
inline constexpr std::uint32_t kUetMprUnit = 128;
/// Unit of service_time, in picoseconds: 128 ns.
inline constexpr std::uint64_t kUetServiceTimeUnitPs = 128'000;
/// Unit of rcvd_bytes and of credits. (Credits by choice: the simulator of the UEC counts so.)
inline constexpr std::uint32_t kUetByteUnit = 256;

/// `bytes` in units of 256, rounded up, modulo 2^24: rcvd_bytes.
constexpr std::uint32_t uet_byte_units(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + (kUetByteUnit - 1)) / kUetByteUnit) & 0xff'ffffU;
}

/// SACK and congestion state of ACK_CC and ACK_CCX.
struct UetAckCongestion {
  std::uint64_t sack_bitmap =
      0;  ///< Bit i (least significant is 0): SACK_BASE + i was received. 0: not known.
  /// State bits of types other than kNscc and kCredit, most significant first; the second word is ACK_CCX's,
  /// whatever its type.
  std::uint64_t state = 0;
  std::uint64_t state_extension = 0;
  /// kNscc: rcvd_bytes, kCredit: credit. Cumulative, 24 bits, unit 256 B.
  std::uint32_t byte_units = 0;
  std::uint16_t service_time = 0;     ///< kNscc: time from packet to ACK in units of 128 ns.
  std::uint16_t out_of_order = 0;     ///< ooo_count: packets received above CACK_PSN.
  std::int16_t sack_psn_offset = 0;   ///< SACK_BASE - CACK_PSN.
  std::uint8_t receiver_penalty = 0;  ///< kNscc: rcv_cwnd_pend, 0..127.
  bool restore_window = false;        ///< kNscc: restore_cwnd.
  std::uint8_t mpr = 0;               ///< Maximum PSN range in units of 128; 0: no information.
  UetCcType type = UetCcType::kNscc;  ///< 4 bits.
  std::uint8_t flags = 0;             ///< cc_flags, 4 bits.

  UetPsn sack_base(UetPsn cumulative_psn) const { return uet_psn_add(cumulative_psn, sack_psn_offset); }
};
static_assert(sizeof(UetAckCongestion) == 40);

/// Bytes 12..31. ACK_CCX adds encode_state_extension().
inline void encode(const UetAckCongestion& cc, std::byte* at) {
  std::uint64_t state = cc.state;
  if (cc.type == UetCcType::kNscc)
    state = (std::uint64_t{cc.service_time} << 48U) | (cc.restore_window ? std::uint64_t{1} << 47U : 0U) |
            (std::uint64_t{cc.receiver_penalty & 0x7fU} << 40U) |
            (std::uint64_t{cc.byte_units & 0xff'ffffU} << 16U) | cc.out_of_order;
  else if (cc.type == UetCcType::kCredit)
    state = (std::uint64_t{cc.byte_units & 0xff'ffffU} << 40U) | cc.out_of_order;
  store_be32(at + 12, (static_cast<std::uint32_t>(cc.type) << 28U) | ((cc.flags & 15U) << 24U) |
                          (std::uint32_t{cc.mpr} << 16U) | static_cast<std::uint16_t>(cc.sack_psn_offset));
  store_be64(at + 16, cc.sack_bitmap);
  store_be64(at + 24, state);
}
inline UetAckCongestion decode_uet_ack_congestion(const std::byte* at) {
  const std::uint32_t word = load_be32(at + 12);
  const std::uint64_t state = load_be64(at + 24);
  UetAckCongestion cc;
  cc.type = static_cast<UetCcType>(word >> 28U);
  cc.flags = static_cast<std::uint8_t>((word >> 24U) & 15U);
  cc.mpr = static_cast<std::uint8_t>(word >> 16U);
  cc.sack_psn_offset = static_cast<std::int16_t>(word);
  cc.sack_bitmap = load_be64(at + 16);
  if (cc.type == UetCcType::kNscc) {
    cc.service_time = static_cast<std::uint16_t>(state >> 48U);
    cc.restore_window = ((state >> 47U) & 1U) != 0;
    cc.receiver_penalty = static_cast<std::uint8_t>((state >> 40U) & 0x7fU);
    cc.byte_units = static_cast<std::uint32_t>(state >> 16U) & 0xff'ffffU;
    cc.out_of_order = static_cast<std::uint16_t>(state);
  } else if (cc.type == UetCcType::kCredit) {
    cc.byte_units = static_cast<std::uint32_t>(state >> 40U);
    cc.out_of_order = static_cast<std::uint16_t>(state);
  } else {
    cc.state = state;
  }
  return cc;
}

/// Bytes 32..39 of ACK_CCX.
inline void encode_state_extension(const UetAckCongestion& cc, std::byte* at) {
  store_be64(at + 32, cc.state_extension);
}
inline void decode_state_extension(const std::byte* at, UetAckCongestion& cc) {
  cc.state_extension = load_be64(at + 32);
}

}  // namespace wharf::wire
