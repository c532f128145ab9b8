// SPDX-License-Identifier: Apache-2.0
// What a private cache answers to snoops, and its state for an explorer; the accesses of its core are in
// private_cache.cc.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "sim/coherence/coherence_mutation.h"
#include "sim/coherence/private_cache.h"

namespace wharf::sim {

void PrivateCache::snooped(const Message& message) {
  ++statistics_.snoops;
  const std::uint32_t place = lines_.find(message.line);
  if (place != CacheLines::kNoPlace && !lines_.is_reserved(place)) {
    snoop_copy(place, message);
    return;
  }
  const std::uint32_t miss = find_miss(message.line);
  if (miss != kNone && misses_[miss].wait != Wait::kPut) {
    snoop_miss(misses_[miss], message);
    return;
  }
  const std::uint32_t eviction = find_eviction(message.line);
  if (eviction != kNone) {
    snoop_eviction(evictions_[eviction], message);
  } else {
    answer_snoop(message.line, nullptr, false, false);
  }
}

void PrivateCache::snoop_copy(std::uint32_t place, const Message& message) {
  const LineBytes bytes = lines_.bytes(place);
  const bool is_dirty = lines_.state(place) == CopyState::kModified;
  if (message.kind == MessageKind::kInvalidate || message.kind == MessageKind::kFetchModified) {
    const bool stays =
        message.kind == MessageKind::kInvalidate && mutated(CoherenceMutation::kCopyOutlivesInvalidate);
    if (!stays) lose(place);
    ++statistics_.invalidations;
    const bool sends = message.kind == MessageKind::kFetchModified || message.wants_data;
    answer_snoop(message.line, sends ? &bytes : nullptr, is_dirty, false);
    return;
  }
  if (message.kind == MessageKind::kFetchShared) change(place, CopyState::kShared);
  answer_snoop(message.line, &bytes, is_dirty, true);
}

void PrivateCache::snoop_miss(Miss& miss, const Message& message) {
  const bool has_copy = miss.wait == Wait::kUpgrade;
  if (message.kind == MessageKind::kSupply) {
    answer_snoop(message.line, has_copy ? &lines_.bytes(miss.place) : nullptr, false, true);
  } else if (message.kind != MessageKind::kInvalidate) {
    WHARF_CHECK((!miss.has_snoop && miss.wait != Wait::kOnce) || !is_sound());
    ++statistics_.deferred_snoops;
    miss.has_snoop = true;
    miss.snoop = message.kind;
  } else {
    const LineBytes bytes = has_copy ? lines_.bytes(miss.place) : LineBytes{};
    if (has_copy) {
      ++statistics_.invalidations;
      change(miss.place, CopyState::kInvalid);
      lost_ = message.line;
      miss.wait = Wait::kModified;
    } else if (miss.wait == Wait::kShared && !mutated(CoherenceMutation::kOvertakenDataKept)) {
      miss.overtaken = true;
      miss.eligible = miss.count;
    }
    answer_snoop(message.line, has_copy && message.wants_data ? &bytes : nullptr, false, false);
  }
}

void PrivateCache::snoop_eviction(Eviction& eviction, const Message& message) {
  const bool forgets = mutated(CoherenceMutation::kSilentEvictionBuffer);
  const bool sends =
      !eviction.is_taken && !forgets && (message.kind != MessageKind::kInvalidate || message.wants_data);
  if (message.kind != MessageKind::kSupply && message.kind != MessageKind::kFetchOnce)
    eviction.is_taken = true;
  answer_snoop(message.line, sends ? &eviction.bytes : nullptr, eviction.state == CopyState::kModified,
               false);
}

void PrivateCache::answer_snoop(LineNumber line, const LineBytes* bytes, bool is_dirty, bool keeps_shared) {
  make_snoop_answer(responses_.emplace_back(), agent_, line, bytes, is_dirty, keeps_shared);
}

std::string_view PrivateCache::state_name(LineNumber line) const {
  const std::uint32_t index = find_miss(line);
  if (index != kNone) {
    const Miss& miss = misses_[index];
    switch (miss.wait) {
      case Wait::kPut:
        return "WP";
      case Wait::kShared:
        return miss.overtaken ? "ISI" : "IS";
      case Wait::kModified:
        return "IM";
      case Wait::kUpgrade:
        return "SM";
      case Wait::kOnce:
        return "IO";
      case Wait::kFree:
        break;
    }
  }
  const std::uint32_t slot = find_eviction(line);
  if (slot == kNone) return name_of(state(line));
  if (evictions_[slot].is_taken) return "T";
  static constexpr std::array<std::string_view, 4> kPutting = {"PI", "PS", "PE", "PM"};
  return kPutting[static_cast<std::size_t>(evictions_[slot].state)];
}

void PrivateCache::append_state(std::vector<std::byte>& state) const {
  lines_.append_state(state);
  const auto flags = [](bool one, bool other, bool third) {
    return static_cast<std::uint8_t>((one ? 1U : 0U) | (other ? 2U : 0U) | (third ? 4U : 0U));
  };
  // Registers and slots are named by their lines: which one a line got decides nothing.
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < misses_.size(); ++i) {
    if (misses_[i].wait != Wait::kFree) order.push_back(i);
  }
  std::ranges::sort(order, {}, [this](std::uint32_t i) { return misses_[i].line; });
  append_bytes(state, order.size());
  for (std::uint32_t index : order) {
    const Miss& miss = misses_[index];
    append_bytes(state, miss.line);
    append_bytes(state, miss.wait);
    append_bytes(state, flags(miss.overtaken, miss.is_uncached, miss.has_snoop));
    append_bytes(state, miss.snoop);
    append_bytes(state, miss.overtaken ? miss.eligible - miss.first : 0U);
    append_bytes(state, miss.count - miss.first);
    // Joining depends on the targets that were ever taken.
    append_bytes(state, miss.count);
    for (std::uint32_t i = miss.first; i < miss.count; ++i) {
      const Target& next = target(index, i);
      append_bytes(state, next.ticket);
      append_bytes(state, next.kind);
      append_bytes(state, next.offset);
      append_bytes(state, next.size);
      append_bytes(state, next.operation.kind);
      append_bytes(state, next.operation.operand);
      append_bytes(state, next.operation.compare);
      if (next.kind == TargetKind::kStore) append_bytes(state, next.bytes);
    }
  }
  order.clear();
  for (std::uint32_t i = 0; i < evictions_.size(); ++i) {
    if (evictions_[i].is_used) order.push_back(i);
  }
  std::ranges::sort(order, {}, [this](std::uint32_t i) { return evictions_[i].line; });
  append_bytes(state, order.size());
  for (std::uint32_t index : order) {
    const Eviction& eviction = evictions_[index];
    append_bytes(state, eviction.line);
    append_bytes(state, flags(eviction.is_taken, eviction.is_flush, false));
    append_bytes(state, eviction.state);
    append_bytes(state, eviction.ticket);
    if (!eviction.is_taken) append_bytes(state, eviction.bytes);
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) sim::append_state(state, requests_[i]);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < responses_.size(); ++i) sim::append_state(state, responses_[i]);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    append_bytes(state, answers_[i].ticket);
    append_bytes(state, answers_[i].size);
    append_bytes(state, answers_[i].bytes);
  }
}

}  // namespace wharf::sim
