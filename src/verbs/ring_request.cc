// SPDX-License-Identifier: Apache-2.0
#include "verbs/ring_request.h"

#include <algorithm>

namespace wharf::verbs {
namespace {

// The bytes outlive any renumbering of verbs and statuses: change the conversion then, not the numbers.
static_assert(static_cast<int>(Verb::kRead) == static_cast<int>(wire::RingOpcode::kRead));
static_assert(static_cast<int>(Verb::kWriteNotify) == static_cast<int>(wire::RingOpcode::kWriteNotify));
static_assert(static_cast<int>(Verb::kSendInvalidate) == static_cast<int>(wire::RingOpcode::kSendInvalidate));
static_assert(static_cast<int>(Verb::kCompareSwap) == static_cast<int>(wire::RingOpcode::kCompareSwap));
static_assert(static_cast<int>(Verb::kFetchXor) == static_cast<int>(wire::RingOpcode::kFetchXor));
static_assert(static_cast<int>(CompletionStatus::kFlushed) == 11 &&
              static_cast<int>(CompletionStatus::kCancelled) == 14);

wire::RingPiece to_piece(const ScatterEntry& entry) { return {entry.address, entry.length, entry.key}; }
ScatterEntry to_scatter(const wire::RingPiece& piece) { return {piece.address, piece.length, piece.key}; }
wire::RingToken to_token(SegmentToken token) { return {token.id, token.value}; }
SegmentToken to_token(wire::RingToken token) { return {token.id, token.value}; }

}  // namespace

std::optional<wire::WorkEntry> to_entry(const WorkRequest& request) {
  const bool is_inline = request.inline_data.kind != wire::PayloadKind::kNone;
  const bool plain = !is_load_store(request.verb) && !request.tagged && !request.remote_complete &&
                     request.delivery == Delivery::kDefault &&
                     request.atomic_function == AtomicFunction::kOfVerb;
  if (!plain || request.local_count > wire::kLongWorkPieces) return std::nullopt;
  if (is_inline && (request.inline_data.length > wire::kRingInlineBytes || !carries_payload(request.verb) ||
                    request.verb == Verb::kWriteNotify)) {
    return std::nullopt;
  }
  wire::WorkEntry entry;
  entry.id = request.id;
  entry.opcode = static_cast<wire::RingOpcode>(request.verb);
  entry.signaled = request.signaled;
  entry.fence = request.fence;
  entry.solicited = request.solicited;
  entry.completion_in_order = request.completion_in_order;
  entry.order = static_cast<std::uint8_t>(request.order);
  entry.hint = request.hint;
  entry.peer = request.peer;
  entry.remote_address = request.remote.address;
  entry.remote = to_token(request.remote.token);
  if (is_atomic(request.verb)) {
    entry.width = request.width;
    entry.operand = request.operand;
    entry.compare = request.compare;
  } else {
    entry.length = request.length;
    entry.immediate = request.immediate;
    entry.invalidate = to_token(request.invalidate);
    entry.notify_address = request.notify.address;
    entry.notify = to_token(request.notify.token);
  }
  if (is_inline) {
    entry.is_inline = true;
    wire::fill(request.inline_data, entry.inline_data);
  } else {
    entry.piece_count = request.local_count;
    for (std::size_t i = 0; i < request.local_count; ++i) entry.pieces[i] = to_piece(request.local[i]);
  }
  entry.is_long = needs_long_entry(entry);
  return entry;
}

WorkRequest to_request(const wire::WorkEntry& entry) {
  WorkRequest request;
  request.id = entry.id;
  request.verb = static_cast<Verb>(entry.opcode);
  request.order = static_cast<OrderTag>(entry.order);
  request.signaled = entry.signaled;
  request.fence = entry.fence;
  request.solicited = entry.solicited;
  request.completion_in_order = entry.completion_in_order;
  request.hint = entry.hint;
  request.peer = entry.peer;
  request.remote = {entry.remote_address, to_token(entry.remote)};
  if (is_atomic(request.verb)) {
    request.width = entry.width;
    request.length = entry.width;
    request.operand = entry.operand;
    request.compare = entry.compare;
  } else {
    request.length = entry.length;
    request.immediate = entry.immediate;
    request.invalidate = to_token(entry.invalidate);
    request.notify = {entry.notify_address, to_token(entry.notify)};
  }
  if (entry.is_inline) {
    request.inline_data = wire::bytes_payload(std::span(entry.inline_data).first(entry.length));
  } else {
    request.local_count = entry.piece_count;
    for (std::size_t i = 0; i < entry.piece_count; ++i) request.local[i] = to_scatter(entry.pieces[i]);
  }
  return request;
}

std::optional<wire::ReceiveEntry> to_entry(const ReceiveRequest& request) {
  if (request.tagged || request.from_one_sender || request.local_count > wire::kReceivePieces)
    return std::nullopt;
  wire::ReceiveEntry entry;
  entry.id = request.id;
  entry.piece_count = request.local_count;
  for (std::size_t i = 0; i < request.local_count; ++i) entry.pieces[i] = to_piece(request.local[i]);
  return entry;
}

ReceiveRequest to_request(const wire::ReceiveEntry& entry) {
  ReceiveRequest request;
  request.id = entry.id;
  request.local_count = entry.piece_count;
  for (std::size_t i = 0; i < entry.piece_count; ++i) request.local[i] = to_scatter(entry.pieces[i]);
  return request;
}

wire::CompletionEntry to_entry(const Completion& completion, bool lap) {
  wire::CompletionEntry entry;
  entry.id = completion.id;
  entry.status = static_cast<std::uint8_t>(completion.status);
  entry.is_receive = completion.kind == CompletionKind::kReceive;
  entry.has_immediate = completion.has_immediate;
  entry.solicited = completion.solicited;
  entry.opcode = static_cast<wire::RingOpcode>(completion.verb);
  entry.length = completion.length;
  entry.queue = completion.queue;
  entry.remote_host = completion.remote_host;
  entry.remote_queue = completion.remote_queue;
  entry.immediate = completion.immediate;
  entry.atomic_result = completion.atomic_result;
  entry.lap = lap;
  return entry;
}

Completion to_completion(const wire::CompletionEntry& entry) {
  Completion completion;
  completion.id = entry.id;
  completion.status = static_cast<CompletionStatus>(entry.status);
  completion.kind = entry.is_receive ? CompletionKind::kReceive : CompletionKind::kSend;
  completion.verb = static_cast<Verb>(entry.opcode);
  completion.has_immediate = entry.has_immediate;
  completion.solicited = entry.solicited;
  completion.length = entry.length;
  completion.queue = entry.queue;
  completion.remote_host = entry.remote_host;
  completion.remote_queue = entry.remote_queue;
  completion.immediate = entry.immediate;
  completion.atomic_result = entry.atomic_result;
  return completion;
}

}  // namespace wharf::verbs
