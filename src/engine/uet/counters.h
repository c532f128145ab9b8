// SPDX-License-Identifier: Apache-2.0
// What a UET engine counts: its traffic, its repairs, and one counter for each reason why a packet can be
// dropped or refused.
#pragma once

#include <array>
#include <cstdint>

namespace wharf::uet {

struct UetCounters {
  // Traffic.
  std::uint64_t packets_sent = 0;      ///< All of them.
  std::uint64_t packets_received = 0;  ///< All that receive() saw.
  std::uint64_t requests_sent = 0;     ///< Data packets with a PSN, first transmissions.
  std::uint64_t acknowledgements_sent = 0;
  std::uint64_t nacks_sent = 0;
  std::uint64_t control_packets_sent = 0;  ///< All of them, also
  std::uint64_t credits_sent = 0;          ///< Credit CPs and
  std::uint64_t credit_requests_sent = 0;  ///< Credit Request CPs.
  std::uint64_t datagrams_sent = 0;        ///< UUD.
  std::uint64_t rudi_requests_sent = 0;    ///< First transmissions.
  std::uint64_t acknowledgements_received = 0;
  std::uint64_t nacks_received = 0;
  std::uint64_t completions = 0;

  // Repairs.
  std::uint64_t packets_retransmitted = 0;
  std::uint64_t timeouts = 0;           ///< Packets whose RTO expired.
  std::uint64_t ack_requests_sent = 0;  ///< CP instead of data the peer is known to have.
  std::uint64_t tail_probes_sent = 0;
  std::uint64_t losses_inferred = 0;  ///< Packets sent again before their RTO, without a NACK.
  std::uint64_t trimmed_received = 0;
  std::uint64_t marked_received = 0;      ///< Requests that arrived ECN-marked.
  std::uint64_t duplicates_dropped = 0;   ///< Without RETX: the network repeated a packet.
  std::uint64_t duplicates_answered = 0;  ///< With RETX.
  std::uint64_t messages_retried = 0;     ///< Restarted after RC_NO_MATCH, RC_DISABLED...
  std::uint64_t messages_deferred = 0;    ///< Parked until the target asks for them.
  std::uint64_t clear_commands_sent = 0;
  std::uint64_t clear_requests_sent = 0;

  // PDCs.
  std::uint64_t pdcs_opened = 0;    ///< By this engine.
  std::uint64_t pdcs_accepted = 0;  ///< Opened by others.
  std::uint64_t pdcs_closed = 0;    ///< With a handshake.
  std::uint64_t pdcs_failed = 0;    ///< In error.

  // Requests of others refused with a return code, by code.
  std::array<std::uint64_t, 64> refused_return_code{};

  // Packets dropped, one reason each.
  std::uint64_t dropped_foreign = 0;          ///< Not UET, or not for this host.
  std::uint64_t dropped_secured = 0;          ///< TSS header, and no key is configured.
  std::uint64_t dropped_type = 0;             ///< Reserved type, control type or next header.
  std::uint64_t dropped_malformed = 0;        ///< Headers that contradict one another.
  std::uint64_t dropped_unknown_pdc = 0;      ///< ACK, NACK or CP for no PDC of ours.
  std::uint64_t dropped_out_of_window = 0;    ///< Also answered with a NACK.
  std::uint64_t dropped_out_of_order = 0;     ///< ROD: behind a gap.
  std::uint64_t dropped_acknowledgement = 0;  ///< It confirms what was never sent.
  std::uint64_t dropped_nack = 0;      ///< It names nothing outstanding, or a transmission that was repeated.
  std::uint64_t dropped_response = 0;  ///< It answers nothing outstanding.
  std::uint64_t dropped_trimmed = 0;   ///< Trimmed ACKs, RUDI and datagrams.
  std::uint64_t dropped_no_room = 0;   ///< Datagrams and idempotent requests without resources; answers that
                                       ///< nothing let leave.

  std::uint64_t completions_dropped = 0;  ///< Their completion queue was full.
  std::uint64_t events_dropped = 0;       ///< Asynchronous events that nobody polled in time.
};

}  // namespace wharf::uet
