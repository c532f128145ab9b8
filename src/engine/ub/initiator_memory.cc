// SPDX-License-Identifier: Apache-2.0
// The initiator: local memory that is its owner's again while requests that name it are under way.
// [URMA API, unregister a segment; jetty states]
#include "engine/ub/engine_parts.h"
#include "engine/ub/initiator.h"

namespace wharf::ub {

using verbs::CompletionStatus;

bool Initiator::lies_in(const PostedRequest& posted, const SegmentRange& segment) const {
  if (posted.inlined || posted.local_count == 0 || posted.key == 0) return false;
  if (posted.key != PostedRequest::kManyKeys && posted.key != PostedRequest::short_key(segment.token_id))
    return false;
  // Neither which of several segments a piece names is kept, nor all of a TokenID: the pieces themselves say
  // it, where segments do not overlap.
  if (posted.space != segment.space) return false;
  for (std::uint8_t i = 0; i < posted.local_count; ++i) {
    if (segment.holds(posted.local.address[i])) return true;
  }
  return false;
}

void Initiator::revoke(TimePs now, const SegmentRange& gone) {
  bool any = false;
  for (const auto& owner : jetties_) {
    for (std::uint64_t number = owner->head(); number < owner->posted(); ++number) {
      PostedRequest& posted = owner->posted_request(number);
      if (posted.done || !lies_in(posted, gone)) continue;
      // It ends when its turn comes, or with the last of its segments.
      owner->set_apart(posted);
      owner->hold_up();
      if (posted.status == CompletionStatus::kSuccess) posted.status = CompletionStatus::kLocalAccess;
      posted.local_count = 0;
      any = true;
    }
  }
  if (!any) return;
  for (std::uint32_t index = 0; index < transactions_.extent(); ++index) {
    if (!transactions_[index].in_use()) continue;
    Transaction& transaction = transactions_[index];
    const PostedRequest& posted = jetty(transaction.jetty).posted_request(transaction.request);
    if (posted.muted || posted.inlined || posted.local_count != 0 || posted.key == 0) continue;
    transaction.plain_answer = PlainAnswer::kNone;
    if (transaction.status == CompletionStatus::kSuccess) transaction.status = CompletionStatus::kLocalAccess;
    withdraw(now, index, CompletionStatus::kLocalAccess);
  }
}

void Initiator::withdraw(TimePs now, std::uint32_t index, CompletionStatus status) {
  Transaction& transaction = transactions_[index];
  Jetty& owner = jetty(transaction.jetty);
  if (transaction.state == TransactionState::kSending || transaction.state == TransactionState::kAwaiting) {
    if (!owner.posted_request(transaction.request).inlined &&
        parts_.tp.let_data_go(transaction.channel, index))
      fetch_failed(index, engine::AccessStatus::kFault);
    return;
  }
  if (transaction.state != TransactionState::kBackoff) return;
  backoff_.set(index, kNever);  // It need not be sent again.
  transaction.status = status;
  if (is_sequenced(owner.config.service) &&
      parts_.tp.channel(transaction.channel).state == ChannelState::kReady) {
    disconnect_sequence(now, index);
    return;
  }
  transaction.answered = true;
  transaction.state = TransactionState::kAwaiting;
  try_finish(now, index);
}

}  // namespace wharf::ub
