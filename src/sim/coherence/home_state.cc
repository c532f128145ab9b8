// SPDX-License-Identifier: Apache-2.0
// The state of a home for an explorer. Apart because no timed host needs it.
#include <algorithm>

#include "sim/coherence/home.h"

namespace wharf::sim {

void Home::append_transaction(std::vector<std::byte>& state, const Transaction& transaction) const {
  sim::append_state(state, transaction.request);
  append_bytes(state, transaction.phase);
  if (transaction.phase == Phase::kQueued) return;
  append_bytes(state, transaction.unsent);
  append_bytes(state, transaction.awaited);
  append_bytes(state, transaction.snoop);
  append_bytes(state, transaction.reply);
  append_bytes(state, transaction.supplier);
  const auto flags =
      static_cast<std::uint8_t>((transaction.needs_data ? 1U : 0U) | (transaction.has_data ? 2U : 0U) |
                                (transaction.is_dirty ? 4U : 0U) | (transaction.keeps_shared ? 8U : 0U) |
                                (transaction.memory_busy ? 16U : 0U) | (transaction.is_answered ? 32U : 0U));
  append_bytes(state, flags);
  if (transaction.has_data) append_bytes(state, transaction.is_zero ? LineBytes{} : transaction.request.data);
}

void Home::append_state(std::vector<std::byte>& state) const {
  std::vector<std::uint32_t> heads;
  for (std::uint32_t slot = 0; slot < transactions_.size(); ++slot) {
    const Phase phase = transactions_[slot].phase;
    if (phase != Phase::kFree && phase != Phase::kQueued) heads.push_back(slot);
  }
  std::ranges::sort(heads, {}, [this](std::uint32_t slot) { return transactions_[slot].request.line; });
  append_bytes(state, heads.size());
  for (std::uint32_t slot : heads) {
    append_bytes(state, static_cast<std::uint8_t>(is_recall(slot) ? 1 : 0));
    // A recall names the request that it is for.
    append_bytes(state, is_recall(slot) ? transactions_[slot - slots_].request.line : LineNumber{0});
    for (std::uint32_t at = slot; at != kNone; at = transactions_[at].next)
      append_transaction(state, transactions_[at]);
    append_bytes(state, std::uint8_t{0xFF});
  }
  for (std::uint32_t slot : way_waiters_) append_bytes(state, transactions_[slot].request.line);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < snoops_.size(); ++i)
    append_bytes(state, transactions_[snoops_[i]].request.line);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < memory_.size(); ++i)
    append_bytes(state, transactions_[memory_[i]].request.line);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < responses_.size(); ++i) sim::append_state(state, responses_[i]);
  append_bytes(state, std::uint8_t{0xFF});
  directory_.append_state(state);
}

}  // namespace wharf::sim
