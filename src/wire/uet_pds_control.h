// SPDX-License-Identifier: Apache-2.0
// Control packets (CP) of the PDS, which manage a PDC without any SES header. [UE 1.0 3.5.16]
//
//   0-1 prologue with ctl_type | 2-3 probe_opaque or reserved | 4-7 psn | 8-9 spdcid | 10-11 dpdcid, or with
//   SYN pdc_info 4 psn_offset 12 | 12-15 payload
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/uet_pds_request.h"
#include "wire/uet_prologue.h"
#include "wire/uet_psn.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetControlBytes = 16;

struct UetControl {
  UetPsn psn = 0;             ///< Consumed by NOOP, Close Command, Negotiation; asked for by ACK Request.
  std::uint32_t payload = 0;  ///< By control type; see UetControlType.
  std::uint16_t source_pdcid = 0;
  std::uint16_t destination_pdcid = 0;  ///< With SYN the word that uet_syn_word() makes.
  std::uint16_t probe_opaque = 0;       ///< Probe: copied into its answer. 0 otherwise.

  /// With SYN: the first PSN of the PDC.
  UetPsn start_psn() const { return psn - (destination_pdcid & 0xfffU); }
  /// With SYN: whether the target shall use its pool of reserved PDCs.
  bool use_reserved_pdc() const {
    return (destination_pdcid & (kUetUseReservedPdc | kUetUseReservedPdcOther)) != 0;
  }
};
static_assert(sizeof(UetControl) == 16);

/// Whether the PSN of a control packet counts in the sequence, so that it is acknowledged and sent again.
constexpr bool uet_control_consumes_psn(UetControlType type) {
  return type == UetControlType::kNoop || type == UetControlType::kCloseCommand ||
         type == UetControlType::kNegotiation;
}

/// Bytes 2..15.
inline void encode(const UetControl& control, std::byte* at) {
  store_be16(at + 2, control.probe_opaque);
  store_be32(at + 4, control.psn);
  store_be32(at + 8, (std::uint32_t{control.source_pdcid} << 16U) | control.destination_pdcid);
  store_be32(at + 12, control.payload);
}
inline UetControl decode_uet_control(const std::byte* at) {
  UetControl control;
  control.probe_opaque = load_be16(at + 2);
  control.psn = load_be32(at + 4);
  control.source_pdcid = load_be16(at + 8);
  control.destination_pdcid = load_be16(at + 10);
  control.payload = load_be32(at + 12);
  return control;
}

}  // namespace wharf::wire
