// SPDX-License-Identifier: Apache-2.0
// PDS headers that carry SES requests and data: RUD and ROD requests with and without CC fields, and the
// headers of RUDI and UUD, which need no PDC. [UE 1.0 3.5.10, 3.5.11]
//
//   RUD, ROD  0-1 prologue | 2-3 clear_psn_offset | 4-7 psn | 8-9 spdcid | 10-11 dpdcid, or with SYN pdc_info
//   4
//             psn_offset 12
//   ... CC    | 12 ccc_id | 13-15 credit_target
//   RUDI      0-1 prologue | 2-3 reserved | 4-7 pkt_id
//   UUD       0-1 prologue | 2-3 reserved
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/uet_prologue.h"
#include "wire/uet_psn.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetRequestBytes = 12;
inline constexpr std::uint32_t kUetCcRequestBytes = 16;
inline constexpr std::uint32_t kUetRudiBytes = 8;
inline constexpr std::uint32_t kUetUudBytes = 4;

/// PSNs that fit psn_offset: at most this many may be sent before the first acknowledgement.
inline constexpr std::uint32_t kUetSynPsnMax = 4096;
/// USE_RSV_PDC of pdc_info. Choice: sources disagree between these two bits of the 16-bit word; the first is
/// sent, either is understood.
inline constexpr std::uint16_t kUetUseReservedPdc = 0x1000;
inline constexpr std::uint16_t kUetUseReservedPdcOther = 0x8000;

struct UetRequest {
  UetPsn psn = 0;
  std::uint32_t credit_target = 0;      ///< 24 bits: cumulative credit demand, unit 256 B. CC types only.
  std::uint16_t source_pdcid = 0;       ///< The sender's own; never 0.
  std::uint16_t destination_pdcid = 0;  ///< The peer's; with SYN the word that uet_syn_word() makes.
  std::int16_t clear_psn_offset = 0;    ///< CLEAR_PSN - psn; never positive.
  std::uint8_t ccc_id = 0;              ///< Congestion control context at the source. CC types only.

  UetPsn clear_psn() const { return uet_psn_add(psn, clear_psn_offset); }
  /// With SYN: the first PSN of the PDC.
  UetPsn start_psn() const { return psn - (destination_pdcid & 0xfffU); }
  /// With SYN: whether the target shall use its pool of reserved PDCs.
  bool use_reserved_pdc() const {
    return (destination_pdcid & (kUetUseReservedPdc | kUetUseReservedPdcOther)) != 0;
  }
};
static_assert(sizeof(UetRequest) == 16);

/// What stands in the place of the peer's PDCID while SYN is set: `psn_offset` = psn - Start_PSN, 0..4095.
constexpr std::uint16_t uet_syn_word(std::uint32_t psn_offset, bool use_reserved_pdc = false) {
  return static_cast<std::uint16_t>((psn_offset & 0xfffU) | (use_reserved_pdc ? kUetUseReservedPdc : 0U));
}

/// Bytes 2..11. The prologue stands before them.
inline void encode(const UetRequest& request, std::byte* at) {
  store_be16(at + 2, static_cast<std::uint16_t>(request.clear_psn_offset));
  store_be32(at + 4, request.psn);
  store_be32(at + 8, (std::uint32_t{request.source_pdcid} << 16U) | request.destination_pdcid);
}
inline UetRequest decode_uet_request(const std::byte* at) {
  UetRequest request;
  request.clear_psn_offset = static_cast<std::int16_t>(load_be16(at + 2));
  request.psn = load_be32(at + 4);
  request.source_pdcid = load_be16(at + 8);
  request.destination_pdcid = load_be16(at + 10);
  return request;
}

/// Bytes 12..15 of the CC types.
inline void encode_request_cc(const UetRequest& request, std::byte* at) {
  store_be32(at + 12, (std::uint32_t{request.ccc_id} << 24U) | (request.credit_target & 0xff'ffffU));
}
inline void decode_request_cc(const std::byte* at, UetRequest& request) {
  const std::uint32_t word = load_be32(at + 12);
  request.ccc_id = static_cast<std::uint8_t>(word >> 24U);
  request.credit_target = word & 0xff'ffffU;
}

/// RUDI request and response: the packet is named by a number of the source.
struct UetRudi {
  std::uint32_t packet_id = 0;
};

/// Bytes 2..7.
inline void encode(const UetRudi& rudi, std::byte* at) {
  store_be16(at + 2, 0);
  store_be32(at + 4, rudi.packet_id);
}
inline UetRudi decode_uet_rudi(const std::byte* at) { return UetRudi{load_be32(at + 4)}; }

}  // namespace wharf::wire
