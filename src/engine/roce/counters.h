// SPDX-License-Identifier: Apache-2.0
// What a RoCE interface has counted: every reason to drop a packet has a counter of its own.
#pragma once

#include <cstdint>

namespace wharf::roce {

struct Counters {
  // Traffic.
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t requests_resent = 0;  ///< Request packets sent again.
  std::uint64_t acknowledgements_sent = 0;
  std::uint64_t acknowledgements_merged = 0;
  std::uint64_t naks_sent = 0;  ///< Without receiver-not-ready.
  std::uint64_t rnr_naks_sent = 0;

  // Recovery.
  std::uint64_t timeouts = 0;
  std::uint64_t sequence_naks_received = 0;
  std::uint64_t implied_naks = 0;  ///< Answers that skipped one and began a recovery.
  std::uint64_t rnr_naks_received = 0;
  std::uint64_t retries_exhausted = 0;
  std::uint64_t duplicate_requests = 0;
  std::uint64_t congestion_notifications = 0;       ///< CNPs received.
  std::uint64_t congestion_notifications_sent = 0;  ///< CNPs sent.

  // Packets dropped.
  std::uint64_t dropped_foreign = 0;  ///< Not RoCE.
  std::uint64_t dropped_unknown_opcode = 0;
  std::uint64_t dropped_version = 0;  ///< TVer is not 0.
  std::uint64_t dropped_unknown_queue = 0;
  std::uint64_t dropped_not_ready = 0;     ///< The queue pair is not in a state that receives.
  std::uint64_t dropped_wrong_source = 0;  ///< The sender is not the peer of the queue pair.
  std::uint64_t dropped_partition = 0;
  std::uint64_t dropped_out_of_order = 0;    ///< Beyond the expected PSN, after the one NAK.
  std::uint64_t dropped_stale_response = 0;  ///< Answers that nobody waits for any more.
  std::uint64_t dropped_duplicate = 0;       ///< Duplicates whose answer is under way or no longer known.
  std::uint64_t dropped_no_resources = 0;    ///< No slot for the access, the answer or the deferral.
  std::uint64_t dropped_oversized = 0;       ///< More payload than the path MTU, or a trimmed packet.

  std::uint64_t dropped_service = 0;    ///< Of another service than the queue pair's.
  std::uint64_t dropped_queue_key = 0;  ///< Datagrams with another Q_Key.
  // Of unreliable service, where nobody is told.
  std::uint64_t dropped_without_receive = 0;  ///< No receive entry was there.
  std::uint64_t dropped_refused = 0;          ///< Packets that a reliable connection answers with a NAK.
  std::uint64_t messages_cut = 0;             ///< Messages that began and did not end.

  // Context cache.
  std::uint64_t context_misses = 0;
  std::uint64_t context_evictions = 0;
  std::uint64_t contexts_lost = 0;  ///< Records that memory failed to keep.

  // Shared queues.
  std::uint64_t completions_dropped = 0;  ///< Their completion queue was full.
  std::uint64_t receive_entries_dropped =
      0;  ///< Of shared receive queues: lost, malformed, or with a bad key.

  std::uint64_t events_dropped = 0;  ///< Asynchronous events that nobody polled in time.
};

}  // namespace wharf::roce
