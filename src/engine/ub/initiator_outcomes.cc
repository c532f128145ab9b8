// SPDX-License-Identifier: Apache-2.0
// The initiator, outcome: transactions that finish, back off or are given up, and what that sets free.
// [UB-Base 2.0.1 7.3, 7.4]
#include "engine/reliability/receiver_not_ready.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/initiator.h"

namespace wharf::ub {

using verbs::CompletionStatus;

[[gnu::noinline]] void Initiator::try_finish(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  if (!transaction.answered || transaction.packets_unconfirmed > 0 || transaction.writes_open > 0 ||
      transaction.steps_deferred > 0 || transaction.state != TransactionState::kAwaiting) {
    return;
  }
  bool again = transaction.status == CompletionStatus::kSuccess &&
               transaction.answer_status != wire::UbResponseStatus::kSuccess;
  if (again && jetty(transaction.jetty).posted_request(transaction.request).muted) {
    transaction.status = CompletionStatus::kFlushed;  // Nobody waits for it any more.
    again = false;
  }
  const bool given_up = !again && (transaction.answer_status == wire::UbResponseStatus::kReceiverNotReady ||
                                   transaction.answer_status == wire::UbResponseStatus::kPageFault);
  if (again) {
    back_off(now, index);
  } else if (given_up && is_sequenced(jetty(transaction.jetty).config.service) &&
             parts_.tp.channel(transaction.channel).state == ChannelState::kReady) {
    disconnect_sequence(now, index);
  } else {
    finish(now, index);
  }
}

// [UB-Base 2.0.1 7.2, Disconnect_SCID] Choice: a target that keeps order waits for every number, so that of a
// request that is given up is sent once more, with nothing to execute. Its answer ends the request.
void Initiator::disconnect_sequence(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  uncount(transaction);
  ++parts_.counters.sequences_filled;
  transaction.opcode = wire::TaOpcode::kDisconnectScid;
  transaction.state = TransactionState::kQueued;
  transaction.answered = false;
  transaction.answer_status = wire::UbResponseStatus::kSuccess;
  transaction.received = 0;
  transaction.length = 0;
  transaction.packets_numbered = 0;
  transaction.waiting_since = now;
  jetty(transaction.jetty).posted_request(transaction.request).in_numbering = true;
  parts_.tp.enqueue_request(transaction.channel, index);
}

// Its place is as good as new.
void Initiator::release(Jetty& owner, std::uint32_t index) {
  Transaction& ended = transactions_[index];
  WHARF_CHECK(ended.in_use());
  const std::uint32_t generation = ended.generation + 1;
  copy_whole(ended, kFreshTransaction);
  ended.generation = generation;
  transactions_.release(index);
  segment_room_.give(owner.segments_held);
}

void Initiator::uncount(Transaction& transaction) {
  if (!transaction.counted) return;
  transaction.counted = false;
  transaction.plain_answer = PlainAnswer::kNone;  // The short ways count it themselves when it ends.
  TpChannel& channel = parts_.tp.channel(transaction.channel);
  // Over CTP the place of its number may have been waited for, too.
  if (channel.requests_open-- >= channel.requests_max || channel.kind == ChannelKind::kCompact)
    parts_.tp.touch(transaction.channel);
}

void Initiator::back_off(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  Jetty& owner = jetty(transaction.jetty);
  owner.set_apart(owner.posted_request(transaction.request));
  transaction.plain_answer = PlainAnswer::kNone;
  uncount(transaction);
  std::uint8_t code = transaction.answer_info;
  if (transaction.answer_status == wire::UbResponseStatus::kPageFault) {
    code = parts_.config.page_fault_timer;
    ++transaction.page_fault_retries;
    ++parts_.counters.page_fault_retries;
  } else {
    if (transaction.not_ready_retries < 255) ++transaction.not_ready_retries;
    ++parts_.counters.receiver_not_ready_retries;
  }
  transaction.state = TransactionState::kBackoff;
  transaction.answered = false;
  transaction.answer_status = wire::UbResponseStatus::kSuccess;
  transaction.received = 0;
  transaction.packets_numbered = 0;
  transaction.waiting_since = now;
  backoff_.set(index, now + reliability::receiver_not_ready_delay(code));
}

void Initiator::expire(TimePs now) {
  while (backoff_.earliest() <= now) {
    const std::uint32_t index = backoff_.earliest_owner();
    backoff_.set(index, kNever);
    Transaction& transaction = transactions_[index];
    parts_.span(operation_of(index), trace::Stage::kReceiverBackoff, transaction.waiting_since, now);
    transaction.waiting_since = now;
    transaction.state = TransactionState::kQueued;
    jetty(transaction.jetty).posted_request(transaction.request).in_numbering = true;
    parts_.tp.enqueue_request(transaction.channel, index);
  }
  if (answer_deadline_ <= now) time_out_answers(now);
}

void Initiator::time_out_answers(TimePs now) {
  answer_deadline_ = kNever;
  for (std::uint32_t index = 0; index < transactions_.extent(); ++index) {
    if (!transactions_[index].in_use() || transactions_[index].confirmed_at == kNever) continue;
    Transaction& transaction = transactions_[index];
    const TimePs due =
        transaction.confirmed_at + error_timeout(jetty(transaction.jetty).patience.err_timeout);
    if (due > now) {
      answer_deadline_ = min(answer_deadline_, due);
      continue;
    }
    ++parts_.counters.answers_timed_out;
    stop_awaiting(transaction);
    transaction.answered = true;
    if (transaction.status == CompletionStatus::kSuccess)
      transaction.status = CompletionStatus::kRetryExhausted;
    try_finish(now, index);
  }
}

/// The usual case of finish(): the only segment of the oldest request ended well, and the queue keeps its
/// completion. False: it is not that case, and nothing was done.
[[gnu::flatten]] inline bool Initiator::finish_oldest(std::uint32_t index) {
  Transaction& ended = transactions_[index];
  const std::uint32_t jetty_id = ended.jetty;
  Jetty& owner = jetty(jetty_id);
  if (ended.request != owner.head() || owner.report_next != owner.head() || owner.cursor <= owner.head() ||
      ended.status != CompletionStatus::kSuccess || owner.dying || owner.shares(false)) {
    return false;
  }
  const PostedRequest& posted = owner.requests.front();
  if (posted.segments_open != 1 || posted.status != CompletionStatus::kSuccess || posted.inlined ||
      posted.order != verbs::OrderTag::kNone || !posted.issued_all || !posted.completion_in_order ||
      !posted.signaled || posted.muted || posted.failed) {
    return false;
  }
  uncount(ended);
  owner.forget_segment(ended.tassn);
  PendingCompletion& completion = add_completion(owner, jetty_id, false, posted.operation, jetty_id);
  completion.id = posted.id;
  completion.verb = posted.verb;
  completion.length = posted.length;
  completion.operation = posted.operation;
  if (reads_or_atomic(posted.verb)) {
    --owner.reads_unfinished;
    if (verbs::is_atomic(posted.verb)) {
      completion.length = posted.width;
      completion.value = posted.atomic_result();
    }
  }
  owner.pop_request();
  ++owner.report_next;
  if (!owner.requests.empty() &&
      (owner.requests.front().done || !owner.requests.front().completion_in_order)) {
    report(owner, jetty_id);
  }
  want_advance(owner, jetty_id);
  release(owner, index);
  return true;
}

[[gnu::noinline]] void Initiator::finish(TimePs now, std::uint32_t index) {
  if (finish_oldest(index)) return;
  Transaction& ended = transactions_[index];
  uncount(ended);
  const std::uint32_t jetty_id = ended.jetty;
  Jetty& owner = jetty(jetty_id);
  owner.forget_segment(ended.tassn);
  PostedRequest& posted = owner.posted_request(ended.request);
  --posted.segments_open;
  if (ended.status != CompletionStatus::kSuccess) {
    if (posted.status == CompletionStatus::kSuccess) posted.status = ended.status;
    posted.failed = true;
  }
  if (posted.segments_open == 0 && (posted.issued_all || posted.failed))
    finish_request(now, owner, jetty_id, ended.request);
  want_advance(owner, jetty_id);
  release(owner, index);
  if (owner.dying) [[unlikely]]
    retire(now, jetty_id);
}

void Initiator::finish_request(TimePs now, Jetty& owner, std::uint32_t jetty_id, std::uint64_t number) {
  PostedRequest& posted = owner.posted_request(number);
  posted.done = true;
  if (posted.status != CompletionStatus::kSuccess) note_fault(owner, jetty_id, posted.status);
  owner.set_apart(posted);
  if (posted.inlined) {
    parts_.payloads.release(posted.inline_data.buffer);
    posted.inlined = false;
    posted.local_count = 0;
  }
  if (reads_or_atomic(posted.verb)) --owner.reads_unfinished;
  if (posted.order != verbs::OrderTag::kNone && owner.holds_strong_back()) {
    unlink_ordered(owner, number);
    release_strong(now, owner, jetty_id);
  }
  if (!posted.completion_in_order) push_completion(owner, jetty_id, posted);
  if (posted.completion_in_order && number == owner.report_next && number == owner.head() &&
      number < owner.cursor && !owner.suspended()) {
    // The usual case of report(): the oldest of all has ended.
    push_completion(owner, jetty_id, posted);
    owner.pop_request();
    ++owner.report_next;
    if (!owner.requests.empty() &&
        (owner.requests.front().done || !owner.requests.front().completion_in_order)) {
      report(owner, jetty_id);
    }
  } else {
    report(owner, jetty_id);
  }
  want_advance(owner, jetty_id);
}

void Initiator::unlink_ordered(Jetty& owner, std::uint64_t number) {
  const PostedRequest& posted = owner.posted_request(number);
  const std::uint16_t before = posted.ordered_before;
  const std::uint16_t behind = posted.ordered_behind;
  const auto joined = static_cast<std::uint16_t>(before == 0 || behind == 0 ? 0 : before + behind);
  if (before == 0) {
    owner.ordered_head = behind == 0 ? kNoRequest : number + behind;
  } else {
    owner.posted_request(number - before).ordered_behind = joined;
  }
  if (behind == 0) {
    owner.ordered_tail = before == 0 ? kNoRequest : number - before;
  } else {
    owner.posted_request(number + behind).ordered_before = joined;
  }
}

void Initiator::release_strong(TimePs now, Jetty& owner, std::uint32_t jetty_id) {
  if (owner.ordered_head == kNoRequest) return;
  PostedRequest& strong = owner.posted_request(owner.ordered_head);
  if (!strong.parked) return;
  strong.parked = false;
  parts_.span(strong.operation, trace::Stage::kOrderWait, strong.waiting_since, now);
  strong.waiting_since = kNever;
  want_advance(owner, jetty_id);
}

void Initiator::channel_failed(TimePs now, std::uint32_t channel) {
  for (verbs::PeerId id = 0; id < peers_.size(); ++id) {
    if (peers_[id].used && peers_[id].channel == channel) {
      parts_.raise({engine::AsyncEventKind::kPeerUnreachable, peers_[id].queue, id});
    }
  }
  for (std::uint32_t index = 0; index < transactions_.extent(); ++index) {
    if (!transactions_[index].in_use() || transactions_[index].channel != channel) continue;
    Transaction& transaction = transactions_[index];
    if (transaction.status == CompletionStatus::kSuccess &&
        !(transaction.answered && transaction.answer_status == wire::UbResponseStatus::kSuccess)) {
      transaction.status = CompletionStatus::kRetryExhausted;
    }
    backoff_.set(index, kNever);
    stop_awaiting(transaction);
    uncount(transaction);
    transaction.answered = true;
    transaction.state = TransactionState::kAwaiting;
    jetty(transaction.jetty).posted_request(transaction.request).in_numbering = false;
    try_finish(now, index);
  }
}

}  // namespace wharf::ub
