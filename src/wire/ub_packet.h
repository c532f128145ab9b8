// SPDX-License-Identifier: Apache-2.0
// The parsed header stack of one Unified Bus packet. Which headers are present follows from a few fields
// (encapsulation, transport, opcodes, TV_EN, MT_EN), so a packet cannot claim a header that its opcodes do
// not have.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "wire/ub_nth.h"
#include "wire/ub_ta_extension.h"
#include "wire/ub_tah.h"
#include "wire/ub_tp_extension.h"
#include "wire/ub_tph.h"

namespace wharf::wire {

/// The three self-consistent sets of layouts in public code.
enum class UbProfile : std::uint8_t {
  kP1Rtp,       ///< Specification-native reliable transport: RTPH, 8-byte transaction headers.
  kP2OpenUrma,  ///< Bit-compatible with OpenURMA: 12-byte NTH, 16-byte transaction headers.
  kP3Compact,   ///< CTP and load/store on native links.
};

/// What stands between the link and the UB transport header.
enum class UbEncapsulation : std::uint8_t {
  kUdp,           ///< Ethernet, IP, UDP 4792 (UBoE). P1; RTPH or UTPH, told apart by TPOpcode, or CTPH with
                  ///< compact entities (is_compact_behind_udp()).
  kIpOnLink,      ///< LPH, IP-based NTH, IP, UDP. P1; the same.
  kCna24OnLink,   ///< LPH, CNA24 NTH. P1; any transport.
  kCna16OnLink,   ///< LPH, CNA16 NTH. P3; CTPH or bypass with full transaction headers.
  kMemoryOnLink,  ///< LPH config 9, CNA16 NTH. P3; CTPH or bypass with compact transaction headers.
  kRawEthernet,   ///< Ethernet 0x88B5, OpenURMA NTH. P2; RTPH, UTPH or bypass.
};

constexpr UbProfile profile(UbEncapsulation encapsulation) {
  switch (encapsulation) {
    case UbEncapsulation::kUdp:
    case UbEncapsulation::kIpOnLink:
    case UbEncapsulation::kCna24OnLink:
      return UbProfile::kP1Rtp;
    case UbEncapsulation::kRawEthernet:
      return UbProfile::kP2OpenUrma;
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      return UbProfile::kP3Compact;
  }
  return UbProfile::kP1Rtp;
}

enum class UbTransport : std::uint8_t { kRtp, kUtp, kCtp, kBypass };

/// Which base transaction header the packet has.
enum class UbTransaction : std::uint8_t { kNone, kRequest, kResponse };

/// Partition and entity headers after RTPH, UTPH or CTPH.
enum class UbEntities : std::uint8_t {
  kNone,     ///< CTPH: a compact transaction header follows at once.
  kFull,     ///< UPIH 32 and EIDH 256 bit. The entity ids are those of the address plan for source and
             ///< destination.
  kCompact,  ///< CTPH only: UPIH 16 and EIDH 40 bit.
};

/// Parsed headers of one packet. Addresses, entropy and traffic class live in Packet.
///
/// Headers of CTP packets: a full transaction header follows compact or full entities on CNA links; a compact
/// one follows when there are none, and always on memory links. (Choice: public stacks disagree after NLP 2.)
struct UbPacket {
  UbPacket() : rtph(), request(), extension() {}

  UbEncapsulation encapsulation = UbEncapsulation::kUdp;
  UbTransport transport = UbTransport::kRtp;
  UbTransaction transaction = UbTransaction::kNone;
  bool management = false;           ///< NTH.Mgmt.
  bool operator_tag = false;         ///< kUdp: an OPtag with CC and NPI stands before the IP header.
  bool per_packet_balance = false;   ///< LPH.LBMode: the switch sprays.
  bool shortest_paths_only = false;  ///< LPH.RoutingPolicy.
  /// CC, in NTH or OPtag. Without either (kUdp without operator_tag) it does not travel.
  CongestionField cc;
  std::uint32_t partition = 0;            ///< NPI, 25 bits: kIpOnLink, or kUdp with operator_tag.
  std::uint32_t transport_partition = 0;  ///< UPI: 32 bits with kFull entities, 15 with kCompact.
  /// Far from `transport`: a compiler that tests both with one load stalls on their stores.
  UbEntities entities = UbEntities::kNone;

  /// CTPH and its companions.
  struct Ctp {
    CompactEidh entities;
    CtpOpcode opcode = CtpOpcode::kData;
  };
  union {
    Rtph rtph;  ///< kRtp; kUtp uses `last` alone.
    Ctp ctp;    ///< kCtp.
  };
  union {
    Btah request;   ///< transaction == kRequest.
    Atah response;  ///< transaction == kResponse.
  };

  /// Extensions of acknowledgements, by rtph.opcode. Bitmaps of up to 256 bits are in `sack_bitmap`; longer
  /// ones are the packet's payload (an acknowledgement has no other). Use sack_bitmap() of packet.h to read
  /// either.
  struct AckExtension {
    Cetph cetph;
    Saetph saetph;
    Cnpetph cnp;
    std::array<std::uint8_t, 32> sack_bitmap;
  };
  /// Extensions of requests, by request.opcode.
  struct RequestExtension {
    RequestExtension() : operands() {}

    Maetah maetah;                   ///< In compact form when the transaction header is compact.
    std::uint32_t token_value = 0;   ///< TVETAH, when request.token_value_present.
    Mtetah mtetah;                   ///< Send class and Write_imm, or request.target_present.
    std::uint8_t affinity_hint = 0;  ///< Compact MAETAH only.
    bool strong_order = false;       ///< Compact MAETAH only.
    union {
      AtomicOperands operands;
      Notify notify;
      Invalidate invalidate;
      MessageExtension message;
      std::uint64_t immediate;
    };
  };
  union {
    RequestExtension extension;  ///< transaction == kRequest.
    AckExtension ack;            ///< RTP acknowledgements and CNP.
  };
};
static_assert(std::is_trivially_copyable_v<UbPacket>);
static_assert(sizeof(UbPacket) <= 160);

/// Whether transaction headers of this packet are the 4-byte compact ones.
constexpr bool compact_transaction(const UbPacket& packet) {
  return packet.encapsulation == UbEncapsulation::kMemoryOnLink ||
         (packet.transport == UbTransport::kCtp && packet.entities == UbEntities::kNone);
}

/// Whether RTPH.TPOpcode announces each extension. In profile P2 a CNP carries CETPH instead of CNPETPH.
constexpr bool has_cetph(const UbPacket& packet) {
  return packet.transport == UbTransport::kRtp &&
         (packet.rtph.opcode == TpOpcode::kAckCetph || packet.rtph.opcode == TpOpcode::kSackCetph ||
          (packet.rtph.opcode == TpOpcode::kCnp && profile(packet.encapsulation) == UbProfile::kP2OpenUrma));
}
constexpr bool has_saetph(const UbPacket& packet) {
  return packet.transport == UbTransport::kRtp &&
         (packet.rtph.opcode == TpOpcode::kSack || packet.rtph.opcode == TpOpcode::kSackCetph);
}
constexpr bool has_cnpetph(const UbPacket& packet) {
  return (packet.transport == UbTransport::kRtp && packet.rtph.opcode == TpOpcode::kCnp &&
          profile(packet.encapsulation) != UbProfile::kP2OpenUrma) ||
         (packet.transport == UbTransport::kCtp && packet.ctp.opcode == CtpOpcode::kCnp);
}

}  // namespace wharf::wire
