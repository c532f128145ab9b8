// SPDX-License-Identifier: Apache-2.0
// Fetching ahead what the next packet will touch: for owners of many engines, whose records have left the
// cache since they last worked. Nothing happens but that. Always inline: see base/prefetch.h.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/prefetch.h"
#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

/// Three steps, some time apart: each relies on what the one before has fetched.
struct Prefetch {
  using Root = EngineParts;
  /// Records of outstanding packets that are fetched, the newest ones.
  static constexpr UetPsn kMostEntries = 64;
  static const Root& root(const UetEngine& engine) { return engine.parts(); }

  /// The engine itself, as far as packets look at it.
  [[gnu::always_inline]] static void first(const EngineParts& parts) {
    // Configuration, accesses and the list of outbound messages.
    prefetch_lines<3 * kFetchedBytes, true>(&parts);
    prefetch_lines<sizeof(parts.inbound) + sizeof(void*)>(&parts.inbound);
    __builtin_prefetch(&parts.endpoints.last_, 1);
    __builtin_prefetch(&parts.initiator.retries_);
    prefetch_lines<kFetchedBytes>(&parts.rudi.answers_);
    prefetch_lines<4 * kFetchedBytes>(&parts.cms);
    prefetch_lines<Pds::kHotBytes>(&parts.pds);
    prefetch_lines<2 * kFetchedBytes>(&parts.counters);
    __builtin_prefetch(&parts.inbound_messages, 1);
    __builtin_prefetch(&parts.target);
  }

  /// The records of the flows that were last at work, and the places that the next packet will take.
  [[gnu::always_inline]] static void second(const EngineParts& parts) {
    const Pds& pds = parts.pds;
    if (const Pdc* sender = pds.recent_sender_; sender != nullptr) {
      prefetch_lines<kFetchedBytes, true>(sender);
      prefetch_lines<sizeof(sender->tx)>(&sender->tx);
    }
    if (const Pdc* receiver = pds.recent_receiver_; receiver != nullptr) {
      prefetch_lines<kFetchedBytes, true>(receiver);
      prefetch_lines<sizeof(receiver->rx)>(&receiver->rx);
    }
    prefetch_object(parts.cms.recent_);
    __builtin_prefetch(pds.pdcs_.data());
    __builtin_prefetch(parts.cms.contexts_.data());
    pds.timers_.prefetch();
    parts.cms.timers_.prefetch();
    pds.acknowledgements_.prefetch();
    parts.accesses.prefetch();
    parts.inbound.prefetch();
    parts.regions.prefetch();
    parts.endpoints.prefetch();
  }

  /// What these refer to.
  [[gnu::always_inline]] static void third(const EngineParts& parts) {
    if (const Pdc* sender = parts.pds.recent_sender_; sender != nullptr && sender->tx.ring != nullptr) {
      const PdcSend& tx = sender->tx;
      // Acknowledgements look all over what is outstanding.
      constexpr UetPsn kPerFetch = kFetchedBytes / sizeof(SendEntry);
      const UetPsn end = tx.next + std::min<UetPsn>(kPerFetch, tx.mask);
      const UetPsn from = end - tx.una > kMostEntries ? end - kMostEntries : tx.una;
      for (UetPsn psn = from; psn != end; psn += std::min(kPerFetch, end - psn))
        __builtin_prefetch(&tx.at(psn), 1);
      if (tx.message_head != kNoSlot)
        prefetch_lines<2 * kFetchedBytes, true>(&parts.outbound[tx.message_head]);
      if (parts.cms.recent_ != nullptr) parts.cms.recent_->paths.prefetch();
    }
    if (const Pdc* receiver = parts.pds.recent_receiver_;
        receiver != nullptr && receiver->rx.received != nullptr) {
      const PdcReceive& rx = receiver->rx;
      __builtin_prefetch(&rx.word(rx.received, rx.expected), 1);
      __builtin_prefetch(&rx.word(rx.finished, rx.expected), 1);
      // What comes before the copy of the first request.
      if (rx.messages != kNoSlot) prefetch_lines<kFetchedBytes>(&parts.inbound_messages[rx.messages]);
    }
  }
};

}  // namespace wharf::uet
