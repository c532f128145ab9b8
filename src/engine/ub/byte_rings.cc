// SPDX-License-Identifier: Apache-2.0
// Jetties whose rings are bytes in host memory: a driver writes entries and rings a doorbell, the engine
// fetches them. A request has its place in the send queue from the doorbell on, and says nothing before its
// entry has come. docs/engine-contract.md draws the entries.
#include "engine/byte_rings.h"

#include <algorithm>
#include <memory>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {

using engine::PostStatus;
using engine::QueueId;

namespace {

/// Fetches of one jetty's work entries that may be without an answer at a time. Choice: an interface has so
/// many buffers for them.
constexpr std::uint32_t kFetchesOpen = 4;

}  // namespace

// check_shared() has seen that there is room for it.
void Initiator::make_receive_ring(Jetty& made) {
  engine::QueueConfig& config = made.config;
  if (!made.has_byte_rings() || config.receive_queue != engine::kOwn) return;
  config.receive_queue = parts_.receive_queues
                             .create({.depth = config.receive_depth,
                                      .ring = config.receive_ring,
                                      .entries = engine::EntryFormat::kBytes,
                                      .space = config.space})
                             .value();
  made.own_receive_queue = true;
}

PostStatus Initiator::announce_work(std::uint32_t jetty_id, std::uint32_t count) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return PostStatus::kBadQueue;
  if (!owner->has_byte_rings()) return PostStatus::kUnsupported;
  if (owner->failed) return PostStatus::kBadQueue;
  if (count > owner->config.send_depth - owner->requests.size()) return PostStatus::kQueueFull;
  owner->hold_up();
  owner->completions_reserved += count;
  owner->others += count;
  for (std::uint32_t i = 0; i < count; ++i) owner->requests.emplace_back(verbs::WorkRequest{}, false);
  fetch_work(*owner, jetty_id);
  return PostStatus::kOk;
}

PostStatus Initiator::announce_receives(QueueId queue, std::uint32_t count) {
  if (const Jetty* owner = find(queue); owner != nullptr) {
    if (!owner->own_receive_queue) return PostStatus::kUnsupported;
    if (owner->failed) return PostStatus::kBadQueue;
    queue = owner->config.receive_queue;
  }
  const PostStatus status = parts_.receive_queues.announce(queue, count);
  if (status == PostStatus::kOk) fetch_shared_receives(queue);
  return status;
}

void Initiator::fetch_work(Jetty& owner, std::uint32_t jetty_id) {
  const std::uint32_t depth = owner.config.send_depth;
  const std::uint32_t stride = owner.config.send_entry_bytes;
  while (owner.fetch_next < owner.posted() && owner.fetches_open < kFetchesOpen) {
    // Back to back in memory: no fetch goes round the end of the ring.
    const auto place = static_cast<std::uint32_t>(owner.fetch_next & (depth - 1));
    const auto left = static_cast<std::uint32_t>(owner.posted() - owner.fetch_next);
    const std::uint32_t count = std::min({left, depth - place, engine::kWorkFetchMost});
    engine::Access& access =
        parts_.accesses.request(engine::AccessKind::kFetchWorkRequest, {.owner = AccessOwner::kWorkRequest,
                                                                        .object = jetty_id,
                                                                        .generation = owner.generation,
                                                                        .offset = count,
                                                                        .detail = owner.fetch_next});
    access.queue = jetty_id;
    access.stream = jetty_id;
    access.count = static_cast<std::uint8_t>(count);
    access.length = count * stride;
    access.space = owner.config.space;
    access.address = owner.config.send_ring + std::uint64_t{place} * stride;
    owner.fetch_next += count;
    ++owner.fetches_open;
  }
}

// The request takes the place that it has had since the doorbell.
void Initiator::read_entry(const Jetty& owner, const wire::Payload& bytes, PostedRequest& posted) {
  engine::WorkBytes work;
  posted.status = verbs::CompletionStatus::kLocalOperation;
  if (!work.read(bytes)) return;
  posted.id = work.request().id;
  if (check(owner, work.request()) != PostStatus::kOk) return;
  const wire::BufferId buffer = work.keep_inline(parts_.payloads);  // Until the request ends.
  const verbs::WorkRequest& request = work.request();
  std::destroy_at(&posted);
  std::construct_at(&posted, request, true);
  WHARF_CHECK(posted.inlined == (buffer != wire::kNoBuffer));
  posted.space = owner.config.space;
  if (!parts_.segments.resolve(request.local, request.local_count, posted.space)) {
    posted.status = verbs::CompletionStatus::kLocalAccess;
  }
}

}  // namespace wharf::ub
