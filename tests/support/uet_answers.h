// SPDX-License-Identifier: Apache-2.0
// Acknowledgements and refusals that a test makes by hand, for the first PDC between the two hosts of a
// world.
#pragma once

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {

/// An ACK_CC of host 1 for the PDC that host 0 opened: CACK, and the PSN that it answers.
inline wire::Packet acknowledgement_of(World& world, wire::UetPsn cumulative) {
  const Pdc& pdc = world.engine(1).parts().pds.pdc(0);
  wire::Packet out = wire::uet_packet();
  out.source = {1};
  out.destination = {0};
  wire::UetAck& ack = wire::use_ack(out.uet);
  ack.source_pdcid = pdc.local_id;
  ack.destination_pdcid = pdc.peer_id;
  ack.cumulative_psn = cumulative;
  wire::use_ack_congestion(out.uet);
  return out;
}

/// A NACK of host 1 to it.
inline wire::Packet refusal_of(World& world, wire::UetNackCode code, wire::UetPsn psn,
                               std::uint16_t source_pdcid = 0) {
  wire::Packet out = wire::uet_packet();
  out.source = {1};
  out.destination = {0};
  wire::UetNack& nack = wire::use_nack(out.uet, code);
  nack.psn = psn;
  nack.source_pdcid = source_pdcid;
  nack.destination_pdcid = world.engine(0).parts().pds.pdc(0).local_id;
  return out;
}

}  // namespace wharf::uet
