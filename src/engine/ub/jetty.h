// SPDX-License-Identifier: Apache-2.0
// One jetty: its send, receive and completion queues, and the ordering state of its requests.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/index_list.h"
#include "base/ring.h"
#include "base/time.h"
#include "engine/contract.h"
#include "engine/ub/context_records.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"

namespace wharf::ub {

/// "No request": posting numbers count up from zero and never reach it.
inline constexpr std::uint64_t kNoRequest = ~std::uint64_t{0};

/// JettyRecord::state.
enum class JettyState : std::uint8_t { kReset = 0, kReady = 1, kSuspended = 2, kError = 3 };

/// A work request from post() until its turn to be reported has passed.
struct PostedRequest {
  PostedRequest() = default;
  PostedRequest(const verbs::WorkRequest& posted, bool in_hand) : request(posted), entry_present(in_hand) {}

  verbs::WorkRequest request;
  bool entry_present = false;  ///< The engine has its work-queue entry.
  bool admitted = false;       ///< Its turn has come; ordering state counts it.
  bool parked = false;         ///< Strong order: waits for earlier requests, later ones may pass it.
  bool done = false;
  bool reported = false;      ///< Its completion was written, or none was wanted.
  bool failed = false;        ///< No further segments are issued.
  bool in_numbering = false;  ///< One of its segments waits for packet numbers.
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  std::uint32_t issued = 0;  ///< Message bytes that have been cut into segments.
  bool issued_all = false;
  std::uint32_t segments_open = 0;              ///< Transactions without an outcome.
  std::uint64_t ordered_previous = kNoRequest;  ///< Neighbours among unfinished relaxed and strong requests.
  std::uint64_t ordered_next = kNoRequest;
  std::array<std::uint64_t, 2> atomic_result{};
  TimePs waiting_since = kNever;
};

/// A completion record that the host is writing or that waits for poll().
struct PendingCompletion {
  verbs::Completion completion;
  bool visible = false;
};

struct Jetty {
  JettyRecord record;  ///< In the context cache.
  bool used = false;
  bool failed = false;  ///< Its record is lost: nothing is posted, sent or received any more.
  std::uint32_t generation = 0;
  engine::QueueConfig config;

  // Send side: posting numbers head <= cursor <= posted, ring[number & mask].
  Ring<PostedRequest> requests;  ///< requests[0] has the posting number `head`.
  std::uint64_t head = 0;
  std::uint64_t cursor = 0;                 ///< The next request whose turn it is.
  std::uint64_t report_next = 0;            ///< The next in-order request to report.
  std::uint64_t ordered_head = kNoRequest;  ///< Oldest unfinished relaxed or strong request.
  std::uint64_t ordered_tail = kNoRequest;
  std::uint32_t reads_unfinished = 0;  ///< Admitted reads and atomics without an outcome (fence).
  bool advance_deferred = false;       ///< A step for it waits for the context cache.
  bool advance_listed = false;         ///< Its next request is to be looked at when the engine settles.

  // TASSN space: transactions[tassn & (size - 1)] is the pool index of the segment, or kNoSlot.
  std::vector<std::uint32_t> transactions;
  std::uint64_t tassn_next = 0;
  std::uint64_t tassn_oldest = 0;  ///< No segment below it is open.

  // Receive side.
  Ring<verbs::ReceiveRequest> receives;
  std::uint64_t receive_head = 0;  ///< Entries taken so far.

  // Completions: written in this order, shown in this order.
  Ring<PendingCompletion> completions;
  std::uint64_t completion_head = 0;
  std::uint32_t completions_reserved =
      0;                ///< Requests and entries that may still produce a record, and unread records.
  bool listed = false;  ///< In the engine's list of queues with records to poll.

  std::uint64_t posted() const { return head + requests.size(); }
  PostedRequest& posted_request(std::uint64_t number) {
    return requests[static_cast<std::size_t>(number - head)];
  }
};

}  // namespace wharf::ub
