// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/context_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {

ContextStore::ContextStore(EngineParts& parts)
    : parts_(parts), capacity_(parts.config.context_cache_entries) {
  if (capacity_ != 0) cached_.emplace(capacity_);
}

Result<void> ContextStore::reserve(ContextKey key) {
  if (capacity_ == 0) return {};
  if (key.index >= parts_.config.context_records_max) {
    return input_error(
        fmt::format("ub.context_records_max: {} records of one kind are in use, expected at most {}",
                    key.index + 1, parts_.config.context_records_max));
  }
  auto& table = entries_[static_cast<std::size_t>(key.kind)];
  if (key.index >= table.size()) table.resize(key.index + 1);
  std::size_t records = 0;
  for (const auto& kind : entries_) records += kind.size();
  wanted_.reserve(records);
  // Every step that can wait: one of each jetty, two of each channel, and those of packets, messages and
  // services.
  const UbConfig& config = parts_.config;
  const auto channels =
      static_cast<std::uint32_t>(entries_[static_cast<std::size_t>(ContextKind::kTpChannel)].size());
  const std::uint64_t packets =
      config.parked_packets +
      SharedRoom::with_shares_inside(config.parked_packets, kParkedShare, kParkedCommon).fit(channels);
  const std::uint64_t messages =
      SharedRoom(config.inbound_messages, kMessageShare, kMessagesCommon).fit(channels);
  const std::uint64_t steps = records + channels + packets + messages + config.load_store_services;
  deferred_.grow(static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, 1U << 30U)));
  return {};
}

void ContextStore::add(ContextKey key) {
  if (capacity_ == 0) return;
  Entry& record = entry(key);
  record.dirty = true;
  record.lost = false;
  // Two transfers of one place in memory could pass each other.
  if (record.in_flight) {
    record.place = Place::kHeld;
  } else {
    settle_in(key);
  }
}

void ContextStore::settle_in(ContextKey key) {
  if (cached_->size() + fetching_ < capacity_) {
    cached_->insert(pack(key));
    entry(key).place = Place::kCache;
  } else {
    write_back(key);
  }
}

void ContextStore::remove(TimePs now, ContextKey key) {
  if (capacity_ == 0) return;
  Entry& record = entry(key);
  if (record.place == Place::kCache) cached_->erase(pack(key));
  if (record.place == Place::kFetching) --fetching_;
  record.place = Place::kNone;
  run_waiters(now, key);
}

bool ContextStore::acquire_limited(ContextKey key) {
  Entry& record = entry(key);
  if (record.place == Place::kNone || record.place == Place::kHeld) return true;
  if (record.place == Place::kCache && (record.waiters.empty() || running_ == pack(key))) {
    cached_->touch(pack(key));
    return true;
  }
  return false;
}

void ContextStore::defer(ContextKey key, const DeferredWork& work, wire::OperationTag operation,
                         bool at_target) {
  const std::uint32_t index = deferred_.acquire();
  WHARF_CHECK(index != kNoSlot);  // reserve() made room.
  deferred_[index] = work;
  Entry& record = entry(key);
  if (record.waiters.empty()) {
    record.operation = operation;
    record.at_target = at_target;
  }
  record.waiters.push(deferred_, index, &DeferredWork::next);
  want(key);
}

void ContextStore::want(ContextKey key) {
  Entry& record = entry(key);
  if (record.wanted || record.place == Place::kFetching || record.place == Place::kCache) return;
  record.wanted = true;
  wanted_.push_back(pack(key));
}

void ContextStore::start_fetches(TimePs now) {
  for (std::size_t left = wanted_.size(); left > 0; --left) {
    const ContextKey key = unpack(wanted_.front());
    Entry& record = entry(key);
    wanted_.pop_front();
    record.wanted = false;
    if (record.place != Place::kMemory) {
      if (record.place == Place::kWriting) want(key);  // Its bytes are still on their way out.
      continue;
    }
    if (cached_->size() + fetching_ >= capacity_) {
      if (cached_->size() == 0) {
        want(key);  // All places belong to records on their way in.
        continue;
      }
      const ContextKey victim = unpack(cached_->oldest_key());
      cached_->erase(pack(victim));
      ++parts_.counters.context_evictions;
      parts_.trace(now, trace::EventKind::kContextEviction, victim.index, pack(victim), 0);
      write_back(victim);
    }
    fetch(now, key);
  }
}

std::uint64_t ContextStore::address(ContextKey key) const {
  const std::uint64_t table = static_cast<std::uint64_t>(key.kind) * parts_.config.context_records_max;
  return parts_.config.context_region + (table + key.index) * kContextStride;
}

void ContextStore::fetch(TimePs now, ContextKey key) {
  Entry& record = entry(key);
  record.place = Place::kFetching;
  record.in_flight = true;
  ++fetching_;
  ++parts_.counters.context_fetches;
  parts_.trace(now, trace::EventKind::kContextMiss, key.index, pack(key), 0);
  engine::Access& access = parts_.accesses.request(engine::AccessKind::kFetchContext,
                                                   {.owner = AccessOwner::kContext, .detail = pack(key)});
  access.at_target = record.at_target;
  access.operation = record.operation;
  access.length = parts_.context_bytes(key.kind);
  access.address = address(key);
}

void ContextStore::write_back(ContextKey key) {
  Entry& record = entry(key);
  if (!record.dirty) {
    parts_.wipe_context(key);
    record.place = Place::kMemory;
    return;
  }
  record.dirty = false;
  record.lost = false;
  record.place = Place::kWriting;
  record.in_flight = true;
  const wire::BufferId buffer = parts_.payloads.acquire(parts_.context_bytes(key.kind));
  parts_.encode_context(key, parts_.payloads.data(buffer));
  parts_.wipe_context(key);
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWriteContext,
                              {.owner = AccessOwner::kContext, .detail = pack(key), .buffer = buffer});
  access.length = parts_.context_bytes(key.kind);
  access.address = address(key);
  access.data = wire::bytes_payload(parts_.payloads.data(buffer), access.length, buffer);
}

void ContextStore::access_done(TimePs now, std::uint64_t detail, const engine::AccessResult& result) {
  const ContextKey key = unpack(detail);
  Entry& record = entry(key);
  record.in_flight = false;
  const bool failed = result.status != engine::AccessStatus::kDone;
  if (record.place == Place::kHeld) {
    settle_in(key);
    return;
  }
  if (record.place == Place::kWriting) {
    record.place = Place::kMemory;
    record.lost = failed;
    if (!record.waiters.empty()) want(key);
    return;
  }
  if (record.place != Place::kFetching) return;  // The record was removed meanwhile.
  --fetching_;
  std::array<std::byte, kContextStride> bytes{};
  const std::uint32_t length = parts_.context_bytes(key.kind);
  if (failed || record.lost) {
    parts_.lose_context(now, key);
    // What memory holds is not the record: the one that takes its place has to be written when it leaves.
    record.lost = false;
    record.dirty = true;
  } else {
    wire::fill(result.data, std::span(bytes).first(length));
    parts_.decode_context(key, bytes.data());
  }
  record.place = Place::kCache;
  cached_->insert(pack(key));
  run_waiters(now, key);
}

void ContextStore::run_waiters(TimePs now, ContextKey key) {
  const std::uint64_t outer = running_;
  running_ = pack(key);
  while (!entry(key).waiters.empty()) {
    const std::uint32_t index = entry(key).waiters.pop(deferred_, &DeferredWork::next);
    const DeferredWork work = deferred_[index];
    deferred_.release(index);
    parts_.resume(now, work);
  }
  running_ = outer;
}

}  // namespace wharf::ub
