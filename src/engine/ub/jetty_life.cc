// SPDX-License-Identifier: Apache-2.0
// A jetty's life beside its requests: the state that it is in, faults of the transport, standing still, and
// going on. [URMA API, jetty states, exception modes, drain]
#include <fmt/format.h>

#include <algorithm>

#include "engine/ub/engine_parts.h"
#include "engine/ub/initiator.h"

namespace wharf::ub {

using engine::FaultMode;
using verbs::CompletionStatus;

namespace {

Result<void> expect_state(const Jetty* owner, std::uint32_t jetty_id, JettyState expected) {
  if (owner == nullptr) return input_error(fmt::format("jetty {}: no such queue", jetty_id));
  if (owner->state == expected) return {};
  return input_error(
      fmt::format("jetty {}: it is {}, expected it {}", jetty_id, name(owner->state), name(expected)));
}

}  // namespace

void Initiator::step(Jetty& owner, std::uint32_t jetty_id, JettyEvent event) {
  const std::optional<JettyState> next = next_state(owner.state, event);
  WHARF_CHECK(next.has_value());
  owner.state = *next;
  if (*next != JettyState::kReset) describe(owner, jetty_id, *next);
}

// Only requests that will not be answered count: what the target refuses is the request's own affair.
void Initiator::note_fault(Jetty& owner, std::uint32_t jetty_id, CompletionStatus status) {
  if (owner.config.on_fault == FaultMode::kRequestAlone || owner.failed || owner.dying) return;
  if (status != CompletionStatus::kRetryExhausted && status != CompletionStatus::kReceiverNotReady) return;
  owner.failed = true;  // Nothing is begun meanwhile.
  owner.fault_pending = true;
  owner.hold_up();
  if (owner.advance_listed) return;
  owner.advance_listed = true;
  advance_.push_back(jetty_id);
  parts_.attention |= kUnsettled;
}

void Initiator::apply_fault(TimePs now, Jetty& owner, std::uint32_t jetty_id) {
  owner.fault_pending = false;
  if (!owner.used || owner.state != JettyState::kReady) return;
  if (owner.config.on_fault == FaultMode::kSuspend) {
    parts_.raise({engine::AsyncEventKind::kQueueSuspended, jetty_id});
    begin_to_drain(owner, jetty_id);
  } else {
    parts_.raise({engine::AsyncEventKind::kQueueError, jetty_id});
    flush(now, jetty_id);
  }
}

Result<void> Initiator::set_patience(std::uint32_t jetty_id, const JettyPatience& patience) {
  Jetty* const owner = find(jetty_id);
  if (owner == nullptr) return input_error(fmt::format("jetty {}: no such queue", jetty_id));
  if (patience.rnr_retry > kRnrRetryForever || patience.err_timeout > 31 || patience.min_rnr_timer > 31) {
    return input_error(fmt::format(
        "jetty {}: found rnr_retry {}, err_timeout {} and min_rnr_timer {}, expected at "
        "most {}, 31 and 31",
        jetty_id, patience.rnr_retry, patience.err_timeout, patience.min_rnr_timer, kRnrRetryForever));
  }
  owner->patience = patience;
  if (answers_awaited_ > 0) answer_deadline_ = kTimeZero;  // Those that wait may wait for less now.
  return {};
}

void Initiator::begin_to_drain(Jetty& owner, std::uint32_t jetty_id) {
  owner.failed = true;
  owner.hold_up();
  step(owner, jetty_id, JettyEvent::kSuspend);
  owner.draining = true;
  // The short ways do not look whether they end the last one.
  for (std::uint64_t number = owner.head(); number < owner.posted(); ++number)
    owner.set_apart(owner.posted_request(number));
  for (const std::uint32_t segment : owner.transactions) {
    if (segment != kNoSlot) transactions_[segment].plain_answer = PlainAnswer::kNone;
  }
  report(owner, jetty_id);
  stand_still(owner, jetty_id);
}

/// Nothing that was begun is left to be reported.
bool Initiator::stands_still(Jetty& owner) {
  for (std::uint64_t number = owner.head(); number < owner.posted(); ++number) {
    const PostedRequest& posted = owner.posted_request(number);
    if (posted.begun() && !posted.reported) return false;
  }
  return true;
}

/// The jetty may stand still now, without a completion that could say so.
void Initiator::stand_still(Jetty& owner, std::uint32_t jetty_id) {
  if (owner.draining && stands_still(owner)) mark_drained(owner, jetty_id, nullptr);
}

/// `last`: the completion that says so, or null: one is made for it.
void Initiator::mark_drained(Jetty& owner, std::uint32_t jetty_id, PendingCompletion* last) {
  owner.draining = false;
  if (!owner.config.drain_marks) return;
  const bool suspended = owner.suspended();
  if (last == nullptr && !owner.shares(false) &&
      owner.completions_reserved > owner.config.send_depth + owner.config.receive_depth) {
    // The record for it has not been read since it was used last: the newest one says it instead.
    last = &owner.completions.back();
  }
  if (last == nullptr) {
    // Beside the records that requests and entries have reserved: one who drains has room for one more.
    ++owner.completions_reserved;
    PendingCompletion& made = add_completion(owner, jetty_id, false, {}, jetty_id);
    made.status = suspended ? CompletionStatus::kSuspendDone : CompletionStatus::kFlushDone;
    last = &made;
  }
  last->drain = suspended ? verbs::DrainMark::kSuspendDone : verbs::DrainMark::kFlushDone;
  parts_.raise({engine::AsyncEventKind::kQueueDrained, jetty_id});
}

Result<void> Initiator::suspend(std::uint32_t jetty_id) {
  Jetty* const owner = find(jetty_id);
  WHARF_TRY(expect_state(owner, jetty_id, JettyState::kReady));
  begin_to_drain(*owner, jetty_id);
  return {};
}

Result<void> Initiator::resume(TimePs now, std::uint32_t jetty_id) {
  Jetty* const owner = find(jetty_id);
  WHARF_TRY(expect_state(owner, jetty_id, JettyState::kSuspended));
  owner->failed = false;
  owner->draining = false;
  step(*owner, jetty_id, JettyEvent::kResume);
  owner->report_next = owner->head();  // What was passed over is reported when it ends.
  report(*owner, jetty_id);
  release_strong(now, *owner, jetty_id);
  want_advance(*owner, jetty_id);
  return {};
}

Result<std::size_t> Initiator::take_back(TimePs now, std::uint32_t jetty_id,
                                         std::span<verbs::Completion> out) {
  Jetty* const owner = find(jetty_id);
  WHARF_TRY(expect_state(owner, jetty_id, JettyState::kSuspended));
  if (owner->draining || !stands_still(*owner)) return std::size_t{0};
  std::size_t count = 0;
  for (std::uint64_t number = owner->head(); number < owner->posted() && count < out.size();) {
    PostedRequest& posted = owner->posted_request(number);
    if (!posted.done) {
      verbs::Completion& given = out[count++];
      given = verbs::Completion{};
      given.id = posted.id;
      given.status = CompletionStatus::kUnhandled;
      given.verb = posted.verb;
      given.length = verbs::is_atomic(posted.verb) ? posted.width : posted.length;
      given.queue = jetty_id;
      given.operation = posted.operation;
      // It ends without a record.
      if (!posted.admitted) {
        posted.order =
            verbs::OrderTag::kNone;  // It is in no list of ordered requests, and counted by no fence.
        if (reads_or_atomic(posted.verb)) ++owner->reads_unfinished;
      }
      posted.status = CompletionStatus::kSuccess;
      posted.signaled = posted.parked = false;
      posted.entry_present = posted.admitted = posted.issued_all = true;
      owner->report_next = std::min(owner->report_next, number);  // It was passed over.
      finish_request(now, *owner, jetty_id, number);
    }
    number = std::max(number + 1, owner->head());
  }
  return count;
}

}  // namespace wharf::ub
