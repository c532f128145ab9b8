// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/context_store.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "trace/event.h"

namespace wharf::roce {

using engine::AccessKind;

namespace {

/// What traces call the record of a memory key; that of a queue pair goes by its number.
std::uint64_t key_record(std::uint32_t index) { return std::uint64_t{1} << 32U | index; }

}  // namespace

ContextStore::ContextStore(EngineCore& core)
    : core_(core), is_unlimited_(core.config.queue_cache_entries == 0 && core.config.key_cache_entries == 0) {
  const RoceConfig& config = core.config;
  if (config.queue_cache_entries > 0) queues_.emplace(config.queue_cache_entries);
  if (config.key_cache_entries > 0) keys_.emplace(config.key_cache_entries);
  if (is_unlimited()) return;
  core_.attention = true;
  packets_.reserve(config.deferred_packets);
  core_.port.keep_for_context(kAccessSlots);
  served_limit_ = kServedLimit;
  if (queues_) served_limit_ = std::min<std::size_t>(served_limit_, queues_->capacity());
  if (keys_) served_limit_ = std::min<std::size_t>(served_limit_, keys_->capacity());
}

// --- Deferral ---

void ContextStore::line_up(TimePs now, QueuePair& pair) {
  if (pair.cache.waiting) return;
  pair.cache.waiting = true;
  pair.cache.since = now;
  // A queue pair that was forgotten while it stood in line still has its place.
  if (!pair.cache.lined_up) {
    pair.cache.lined_up = true;
    waiting_.push_back(pair.id);
  }
  serve(now);
}

bool ContextStore::defer_packet(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  const std::uint32_t index = packets_.acquire();
  if (index == kNoSlot) return false;
  packets_[index] = {packet, now, kNoSlot};
  core_.pool->retain(packet.payload.buffer);
  ContextState& cache = pair.cache;
  if (cache.last_packet == kNoSlot) {
    cache.first_packet = index;
  } else {
    packets_[cache.last_packet].next = index;
  }
  cache.last_packet = index;
  line_up(now, pair);
  return true;
}

void ContextStore::defer_access(TimePs now, QueuePair& pair, AccessSlot& slot,
                                const engine::AccessResult& result) {
  results_[slot.access.id] = result;
  slot.next = kNoSlot;
  core_.pool->retain(result.data.buffer);
  ContextState& cache = pair.cache;
  if (cache.last_access == kNoSlot) {
    cache.first_access = slot.access.id;
  } else {
    core_.port.slot(cache.last_access).next = slot.access.id;
  }
  cache.last_access = slot.access.id;
  line_up(now, pair);
}

void ContextStore::defer_kick(TimePs now, QueuePair& pair) {
  pair.cache.kick = true;
  line_up(now, pair);
}

void ContextStore::defer_expiry(TimePs now, QueuePair& pair) {
  pair.cache.expired = true;
  line_up(now, pair);
}

void ContextStore::defer_flow(TimePs now, QueuePair& pair, Flow flow) {
  pair.cache.flow[static_cast<std::size_t>(flow)] = true;
  line_up(now, pair);
}

// --- Service ---

void ContextStore::serve(TimePs now) {
  while (!waiting_.empty() && writes_under_way_ < kWritesLimit) {
    std::size_t at = 0;
    while (at < served_limit_ && served_[at] != nullptr) ++at;
    if (at == served_limit_) return;
    QueuePair& pair = core_.queue(waiting_.front());
    waiting_.pop_front();
    pair.cache.lined_up = false;
    if (!pair.in_use || !pair.cache.waiting || pair.cache.served) continue;
    served_[at] = &pair;
    pair.cache.served = true;
    start(now, pair);
  }
}

// Asks for what the served queue pair lacks, one record at a time.
// What cannot be asked for yet is asked for when an access ends.
void ContextStore::start(TimePs now, QueuePair& pair) {
  ContextState& cache = pair.cache;
  if (cache.ready) return;
  // Every fetch displaces a record, which may have to be written first.
  const bool may_fetch = writes_under_way_ < kWritesLimit;
  if (!cache.resident) {
    if (may_fetch && !cache.fetching && cache.writing == 0) fetch_queue(now, pair);
    return;
  }
  if (!has_key(cache.needed_key)) {
    const bool coming = find_transfer(cache.needed_key) != nullptr;
    // Fetches of queue pairs that were forgotten may hold all entries.
    const bool has_entry = find_transfer(MemoryKeyTable::kNoRecord) != nullptr;
    if (may_fetch && !coming && has_entry && !key_write_under_way(cache.needed_key)) {
      fetch_key(now, pair);
    }
    return;
  }
  cache.needed_key = MemoryKeyTable::kNoRecord;
  cache.ready = true;
  ready_.push_back(pair.id);
}

QueuePair* ContextStore::next_ready(TimePs now) {
  while (!ready_.empty()) {
    QueuePair& pair = core_.queue(ready_.front());
    ready_.pop_front();
    pair.cache.ready = false;
    if (!pair.cache.served) continue;
    if (pair.cache.resident) return &pair;
    start(now, pair);  // Displaced by the control side meanwhile.
  }
  return nullptr;
}

AccessSlot* ContextStore::pop_access(QueuePair& pair) {
  ContextState& cache = pair.cache;
  if (cache.first_access == kNoSlot) return nullptr;
  AccessSlot& slot = core_.port.slot(cache.first_access);
  cache.first_access = slot.next;
  if (cache.first_access == kNoSlot) cache.last_access = kNoSlot;
  return &slot;
}

const wire::Packet* ContextStore::front_packet(const QueuePair& pair) const {
  return pair.cache.first_packet == kNoSlot ? nullptr : &packets_[pair.cache.first_packet].packet;
}

void ContextStore::pop_packet(TimePs now, QueuePair& pair) {
  ContextState& cache = pair.cache;
  const std::uint32_t index = cache.first_packet;
  DeferredPacket& deferred = packets_[index];
  cache.first_packet = deferred.next;
  if (cache.first_packet == kNoSlot) cache.last_packet = kNoSlot;
  if (core_.tracer != nullptr) {
    const wire::RoceOpcode opcode = deferred.packet.roce.bth.opcode;
    const bool is_answer =
        opcode >= wire::RoceOpcode::kRcReadResponseFirst && opcode <= wire::RoceOpcode::kRcAtomicAcknowledge;
    core_.tracer->span(deferred.packet.operation,
                       is_answer ? trace::Stage::kContextFetch : trace::Stage::kContextFetchTarget,
                       deferred.since, now, core_.config.host.number);
  }
  core_.pool->release(deferred.packet.payload.buffer);
  packets_.release(index);
}

void ContextStore::need_key(TimePs now, QueuePair& pair, std::uint32_t index) {
  pair.cache.needed_key = index;
  start(now, pair);
}

void ContextStore::finish(TimePs now, QueuePair& pair) {
  ContextState& cache = pair.cache;
  if (core_.tracer != nullptr) {
    core_.tracer->span(cache.operation, trace::Stage::kContextFetch, cache.since, now,
                       core_.config.host.number);
  }
  cache.operation = wire::OperationTag{};
  cache.waiting = false;
  cache.served = false;
  *std::find(served_.begin(), served_.end(), &pair) = nullptr;
  serve(now);
}

// --- Traffic ---

AccessSlot& ContextStore::open(AccessPurpose purpose, AccessKind kind, engine::QueueId queue,
                               std::uint32_t index, std::uint64_t address, std::uint32_t bytes) {
  AccessSlot& slot = core_.port.open(purpose, kind, queue, nullptr, index, kContextStream, false);
  slot.access.space = 0;
  slot.access.address = address;
  slot.access.length = bytes;
  slot.access.operation = {};
  return slot;
}

void ContextStore::fetch_queue(TimePs now, QueuePair& pair) {
  ++core_.counters.context_misses;
  core_.trace(now, trace::EventKind::kContextMiss, pair.id, {}, pair.id, 0);
  pair.cache.fetching = true;
  core_.port.issue(open(AccessPurpose::kFetchQueueContext, AccessKind::kFetchContext, pair.id, pair.id,
                        queue_address(pair.id), kQueueRecordBytes));
}

void ContextStore::fetch_key(TimePs now, const QueuePair& pair) {
  const std::uint32_t index = pair.cache.needed_key;
  ++core_.counters.context_misses;
  core_.trace(now, trace::EventKind::kContextMiss, pair.id, {}, key_record(index), 0);
  *find_transfer(MemoryKeyTable::kNoRecord) = {index, false};
  core_.port.issue(open(AccessPurpose::kFetchKeyRecord, AccessKind::kFetchContext, 0, index,
                        key_address(index), kKeyRecordBytes));
}

// Sends the bytes of an evicted record to memory and wipes the interface's copy.
void ContextStore::write_record(TimePs now, AccessPurpose purpose, engine::QueueId queue, std::uint32_t index,
                                std::uint64_t address, void* record, std::uint32_t bytes) {
  ++core_.counters.context_evictions;
  core_.trace(now, trace::EventKind::kContextEviction, queue, {},
              purpose == AccessPurpose::kWriteKeyRecord ? key_record(index) : index, 0);
  ++writes_under_way_;
  const wire::BufferId buffer = core_.pool->acquire(bytes);
  std::memcpy(core_.pool->data(buffer), record, bytes);
  std::memset(record, 0, bytes);
  AccessSlot& slot = open(purpose, AccessKind::kWriteContext, queue, index, address, bytes);
  slot.access.order = verbs::AccessOrder::kRelease;  // A record may be evicted twice in a row.
  slot.access.data = wire::bytes_payload(core_.pool->data(buffer), bytes, buffer);
  core_.port.issue(slot);
}

void ContextStore::insert_queue(TimePs now, QueuePair& pair) {
  if (!queues_) return;
  // Records that are being served stay: they become the newest.
  for (const QueuePair* served : served_) {
    if (served != nullptr) queues_->touch(served->id);
  }
  const LruIndex::Insertion insertion = queues_->insert(pair.id);
  if (!insertion.evicted) return;
  QueuePair& victim = core_.queue(static_cast<engine::QueueId>(insertion.evicted_key));
  victim.cache.resident = false;
  victim.cache.lost = false;
  ++victim.cache.writing;
  write_record(now, AccessPurpose::kWriteQueueContext, victim.id, victim.id, queue_address(victim.id),
               &victim.context, kQueueRecordBytes);
}

void ContextStore::insert_key(TimePs now, std::uint32_t index) {
  if (!keys_) return;
  for (const QueuePair* served : served_) {
    if (served != nullptr && served->cache.needed_key != MemoryKeyTable::kNoRecord) {
      keys_->touch(served->cache.needed_key);
    }
  }
  const LruIndex::Insertion insertion = keys_->insert(index);
  if (!insertion.evicted) return;
  const auto victim = static_cast<std::uint32_t>(insertion.evicted_key);
  key_writes_.push_back(victim);
  core_.keys.note_lost(victim, false);
  write_record(now, AccessPurpose::kWriteKeyRecord, 0, victim, key_address(victim),
               &core_.keys.record(victim), kKeyRecordBytes);
}

ContextStore::KeyTransfer* ContextStore::find_transfer(std::uint32_t index) {
  for (KeyTransfer& transfer : key_fetches_) {
    if (transfer.index == index) return &transfer;
  }
  return nullptr;
}

bool ContextStore::key_write_under_way(std::uint32_t index) const {
  for (std::size_t at = 0; at < key_writes_.size(); ++at) {
    if (key_writes_[at] == index) return true;
  }
  return false;
}

void ContextStore::access_done(TimePs now, AccessSlot& slot, const engine::AccessResult& result) {
  const std::uint32_t index = slot.position;
  const bool failed = result.status != engine::AccessStatus::kDone;
  // False: what memory gives is not the record.
  const auto take = [&](void* record, std::uint32_t bytes) {
    if (failed || result.data.length != bytes) return false;
    wire::fill(result.data, {static_cast<std::byte*>(record), bytes});
    return true;
  };
  if (slot.purpose == AccessPurpose::kFetchQueueContext) {
    QueuePair& pair = core_.queue(slot.access.queue);
    pair.cache.fetching = false;
    if (pair.cache.discard_fetch) {
      pair.cache.discard_fetch = false;
    } else {
      // The engine moves a queue pair without its record to the error state, see RoceEngine::catch_up().
      if (!pair.cache.lost && !take(&pair.context, kQueueRecordBytes)) {
        pair.cache.lost = true;
        ++core_.counters.contexts_lost;
      }
      insert_queue(now, pair);
      pair.cache.resident = true;
    }
  } else if (slot.purpose == AccessPurpose::kFetchKeyRecord) {
    KeyTransfer* transfer = find_transfer(index);
    WHARF_CHECK(transfer != nullptr);
    const bool discard = transfer->discard;
    *transfer = KeyTransfer{};
    if (!discard) {
      // Without its record, which stays wiped, a key is not valid.
      if (!core_.keys.is_lost(index) && !take(&core_.keys.record(index), kKeyRecordBytes))
        ++core_.counters.contexts_lost;
      insert_key(now, index);
    }
  } else if (slot.purpose == AccessPurpose::kWriteQueueContext) {
    ContextState& cache = core_.queue(slot.access.queue).cache;
    --cache.writing;
    if (failed && !cache.resident && !cache.lost) {
      cache.lost = true;
      ++core_.counters.contexts_lost;
    }
    --writes_under_way_;
  } else {
    // Evictions of one record finish in order; which entry goes does not matter.
    for (std::size_t left = key_writes_.size(); left > 0; --left) {
      const std::uint32_t written = key_writes_.front();
      key_writes_.pop_front();
      if (written == index) break;
      key_writes_.push_back(written);
    }
    if (failed && keys_->find(index) == kNoSlot && !core_.keys.is_lost(index)) {
      core_.keys.note_lost(index, true);
      ++core_.counters.contexts_lost;
    }
    --writes_under_way_;
  }
  for (QueuePair* served : served_) {
    if (served != nullptr) start(now, *served);
  }
  serve(now);
}

// --- Control side ---

// The control side may start accesses of its own, and free served places whose fetches are still under way.
void ContextStore::keep_room() {
  waiting_.reserve(core_.queues.size());
  ready_.reserve(core_.queues.size());
  // A record is fetched again only when its eviction has ended, so packets add each record once at most, and
  // each call of the control side one more.
  key_writes_.reserve(key_writes_.size() + core_.keys.size() + 1);
  // One more for the eviction that the control side starts itself.
  core_.port.reserve_for_context(kAccessSlots + 1);
  results_.resize(core_.port.places());
}

void ContextStore::adopt(TimePs now, QueuePair& pair) {
  if (is_unlimited()) return;
  keep_room();
  if (pair.cache.fetching) pair.cache.discard_fetch = true;
  if (queues_ && queues_->touch(pair.id) == kNoSlot) {
    const QueuePairContext kept = pair.context;
    insert_queue(now, pair);
    pair.context = kept;
  }
  pair.cache.resident = true;
  pair.cache.lost = false;
}

void ContextStore::adopt_key(TimePs now, std::uint32_t index) {
  if (!keys_) return;
  keep_room();
  if (KeyTransfer* transfer = find_transfer(index)) transfer->discard = true;
  if (keys_->touch(index) == kNoSlot) insert_key(now, index);
  core_.keys.note_lost(index, false);
}

void ContextStore::forget(TimePs now, QueuePair& pair) {
  while (AccessSlot* slot = pop_access(pair)) {
    core_.pool->release(answer(*slot).data.buffer);
    core_.close_access(*slot);
  }
  while (front_packet(pair) != nullptr) pop_packet(now, pair);
  for (QueuePair*& served : served_) {
    if (served == &pair) served = nullptr;
  }
  if (queues_) queues_->erase(pair.id);
  ContextState fresh;
  fresh.fetching = pair.cache.fetching;
  fresh.discard_fetch = pair.cache.fetching;
  fresh.writing = pair.cache.writing;
  fresh.lined_up = pair.cache.lined_up;
  fresh.ready = pair.cache.ready;
  pair.cache = fresh;
  if (is_unlimited()) return;
  keep_room();
  serve(now);
}

}  // namespace wharf::roce
