// SPDX-License-Identifier: Apache-2.0
// What a UB engine counts: its traffic, its repairs, and one counter for each reason why a packet can be
// dropped.
#pragma once

#include <cstdint>

namespace wharf::ub {

struct UbCounters {
  std::uint64_t completions_dropped = 0;      ///< Their completion queue was full.
  std::uint64_t receive_entries_dropped = 0;  ///< Of shared receive queues: not read, or with a bad key.
  // Traffic.
  std::uint64_t packets_sent = 0;                     ///< All of them, repeated ones included.
  std::uint64_t packets_received = 0;                 ///< All that receive() saw.
  std::uint64_t data_packets_sent = 0;                ///< Packets with a PSN, first transmissions.
  std::uint64_t acknowledgements_sent = 0;            ///< TPACK.
  std::uint64_t selective_acknowledgements_sent = 0;  ///< TPSACK.
  std::uint64_t negative_acknowledgements_sent = 0;   ///< TPNAK.
  std::uint64_t datagrams_received = 0;               ///< UTP, of hosts that are connected.
  std::uint64_t compact_requests_received = 0;        ///< CTP, in the order of their TASSNs.
  std::uint64_t turns_waited = 0;  ///< Strong requests that the target held back (ROT, ROL).
  std::uint64_t completions = 0;

  // Repairs.
  std::uint64_t packets_retransmitted = 0;
  std::uint64_t timeouts = 0;         ///< RTO expiries.
  std::uint64_t channels_failed = 0;  ///< Retries toward a host were exhausted, or its record was lost.
  std::uint64_t duplicates = 0;       ///< Packets seen before.
  std::uint64_t receiver_not_ready_sent = 0;
  std::uint64_t receiver_not_ready_retries = 0;
  std::uint64_t page_fault_retries = 0;
  std::uint64_t answers_timed_out = 0;  ///< Segments given up although the peer has all their packets (RTP),
                                        ///< or they have left (CTP).
  std::uint64_t sequence_gaps = 0;      ///< CTP: TASSNs that never came; what they named is lost.
  std::uint64_t context_fetches = 0;    ///< Misses of the context cache.
  std::uint64_t context_evictions = 0;
  std::uint64_t sequences_filled =
      0;                             ///< Numbers of requests given up that were sent for the target's order.
  std::uint64_t contexts_lost = 0;   ///< Records that memory failed to keep.
  std::uint64_t events_dropped = 0;  ///< Asynchronous events that nobody polled in time.

  // Requests of others refused with a status.
  std::uint64_t refused_access = 0;  ///< Token, rights or range.
  std::uint64_t refused_opcode = 0;
  std::uint64_t refused_length = 0;
  std::uint64_t refused_jetty = 0;     ///< No such jetty, or not ready.
  std::uint64_t refused_sequence = 0;  ///< A number that its context has used, or cannot have reached.

  // Load/store path.
  std::uint64_t load_store_issued = 0;
  std::uint64_t load_store_reissued = 0;
  std::uint64_t load_store_probes = 0;        ///< Own loads that ask whether a silent host is back.
  std::uint64_t load_store_expired = 0;       ///< Gave up.
  std::uint64_t load_store_late_answers = 0;  ///< Answers to nothing outstanding: dropped.
  std::uint64_t load_store_replays = 0;       ///< Repeated stores answered from the replay record.

  // Packets dropped, one reason each.
  std::uint64_t dropped_foreign = 0;  ///< Not UB, or not for this host.
  std::uint64_t dropped_trimmed = 0;
  std::uint64_t dropped_transport = 0;      ///< CTP without compact entity ids and full transaction headers.
  std::uint64_t dropped_encapsulation = 0;  ///< Another profile than the engine's.
  std::uint64_t dropped_unknown_channel =
      0;  ///< No channel to that host, or wrong TPNs or entity ids, or the channel failed.
  std::uint64_t dropped_tp_opcode = 0;
  std::uint64_t dropped_out_of_order = 0;  ///< Go-Back-N: behind a gap.
  std::uint64_t dropped_beyond_window = 0;
  std::uint64_t dropped_sequence = 0;  ///< CTP: a TASSN that was seen, or that later ones have overtaken.
  std::uint64_t dropped_no_room = 0;   ///< Not acknowledged, so that the peer sends it again.
  std::uint64_t dropped_no_shared_room =
      0;                                ///< Likewise: beyond the peer's own share, and the rest is taken.
  std::uint64_t dropped_malformed = 0;  ///< Headers that contradict one another.
  std::uint64_t dropped_acknowledgement = 0;        ///< It confirms what was never sent.
  std::uint64_t dropped_stale_acknowledgement = 0;  ///< It confirms nothing new.
  std::uint64_t dropped_response = 0;               ///< It answers nothing outstanding.
};

/// What congestion control of TP channels counts, apart because most runs have none.
struct CongestionCounters {
  std::uint64_t notifications_sent = 0;      ///< CNPs.
  std::uint64_t notifications_received = 0;  ///< CNPs that a controller heard of.
  std::uint64_t echoes_refused = 0;          ///< CETPHs that claim more bytes than were sent.
};

}  // namespace wharf::ub
