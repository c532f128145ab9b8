// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/private_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "sim/coherence/coherence_mutation.h"

namespace wharf::sim {

namespace {

constexpr LineNumber line_number(std::uint64_t address) { return address / kLineBytes; }
constexpr std::uint8_t offset_in_line(std::uint64_t address) {
  return static_cast<std::uint8_t>(address % kLineBytes);
}

bool lies_in_line(std::uint64_t address, std::size_t size) {
  return size >= 1 && size <= kLineBytes && offset_in_line(address) + size <= kLineBytes;
}

}  // namespace

PrivateCache::PrivateCache(AgentId agent, const PrivateCacheConfig& config)
    : agent_(agent), config_(config), lines_(config.lines), credits_(config.credits) {
  WHARF_CHECK(agent < kMaxAgents && config.misses >= 1 && config.targets >= 1 && config.evictions >= 1);
  WHARF_CHECK(config.credits >= 1);
  misses_.resize(config.misses);
  targets_.resize(std::size_t{config.misses} * config.targets);
  evictions_.resize(config.evictions);
  requests_.reserve(config.misses + config.evictions);
  // The answers to the snoops of one input: a fetch that waited, or the one that came.
  responses_.reserve(config.misses + 4);
  answers_.reserve(targets_.size() + config.evictions);
}

CacheOutcome PrivateCache::load(Ticket ticket, std::uint64_t address, std::uint32_t size, std::byte* value) {
  WHARF_CHECK(lies_in_line(address, size));
  lost_.reset();
  const LineNumber line = line_number(address);
  const std::uint32_t place = lines_.find(line);
  if (place != CacheLines::kNoPlace && !lines_.is_reserved(place)) [[likely]] {
    const std::byte* from = lines_.bytes(place).data() + offset_in_line(address);
    std::memcpy(value, from, size);
    if (observer_ != nullptr) {
      observer_->load_performed(agent_, ticket, line, offset_in_line(address), {from, size});
    }
    return hit(place);
  }
  Target target;
  target.ticket = ticket;
  target.offset = offset_in_line(address);
  target.size = static_cast<std::uint8_t>(size);
  return start_miss(line, place, target, false);
}

CacheOutcome PrivateCache::load_uncached(Ticket ticket, std::uint64_t address, std::uint32_t size,
                                         std::byte* value) {
  WHARF_CHECK(lies_in_line(address, size));
  lost_.reset();
  Target target;
  target.ticket = ticket;
  target.offset = offset_in_line(address);
  target.size = static_cast<std::uint8_t>(size);
  LineBytes found;
  const CacheOutcome outcome = access(line_number(address), target, true, found);
  if (outcome <= CacheOutcome::kLevel2) std::memcpy(value, found.data(), size);
  return outcome;
}

CacheOutcome PrivateCache::store(Ticket ticket, std::uint64_t address, std::span<const std::byte> value) {
  WHARF_CHECK(lies_in_line(address, value.size()));
  lost_.reset();
  const LineNumber line = line_number(address);
  const std::uint32_t place = lines_.find(line);
  if (place != CacheLines::kNoPlace && !lines_.is_reserved(place) &&
      lines_.state(place) >= CopyState::kExclusive) {
    if (lines_.state(place) != CopyState::kModified) change(place, CopyState::kModified);
    std::memcpy(lines_.bytes(place).data() + offset_in_line(address), value.data(), value.size());
    stored(line, offset_in_line(address), value);
    return hit(place);
  }
  Target target;
  target.ticket = ticket;
  target.kind = TargetKind::kStore;
  target.offset = offset_in_line(address);
  target.size = static_cast<std::uint8_t>(value.size());
  std::memcpy(target.bytes.data(), value.data(), value.size());
  return start_miss(line, place, target, false);
}

CacheOutcome PrivateCache::atomic(Ticket ticket, std::uint64_t address, std::uint32_t size,
                                  const AtomicOperation& operation, std::uint64_t& old) {
  WHARF_CHECK(size <= 8 && std::has_single_bit(size) && address % size == 0);
  lost_.reset();
  Target target;
  target.ticket = ticket;
  target.kind = TargetKind::kAtomic;
  target.offset = offset_in_line(address);
  target.size = static_cast<std::uint8_t>(size);
  target.operation = operation;
  LineBytes found{};
  const CacheOutcome outcome = access(line_number(address), target, false, found);
  if (outcome <= CacheOutcome::kLevel2) {
    old = 0;
    std::memcpy(&old, found.data(), size);
  }
  return outcome;
}

CacheOutcome PrivateCache::flush(Ticket ticket, LineNumber line) {
  lost_.reset();
  if (find_miss(line) != kNone) return refuse();
  std::uint32_t slot = find_eviction(line);
  if (slot == kNone) {
    const std::uint32_t place = lines_.find(line);
    if (place == CacheLines::kNoPlace) return CacheOutcome::kLevel1;
    const auto free = std::ranges::find(evictions_, false, &Eviction::is_used);
    if (free == evictions_.end()) return refuse();
    slot = static_cast<std::uint32_t>(free - evictions_.begin());
    evict(place, slot);
  }
  if (evictions_[slot].is_flush) return refuse();
  evictions_[slot].is_flush = true;
  evictions_[slot].ticket = ticket;
  return CacheOutcome::kPending;
}

std::uint32_t PrivateCache::find_miss(LineNumber line) const {
  for (std::uint32_t i = 0; i < misses_.size(); ++i) {
    if (misses_[i].wait != Wait::kFree && misses_[i].line == line) return i;
  }
  return kNone;
}

std::uint32_t PrivateCache::find_eviction(LineNumber line) const {
  for (std::uint32_t i = 0; i < evictions_.size(); ++i) {
    if (evictions_[i].is_used && evictions_[i].line == line) return i;
  }
  return kNone;
}

CacheOutcome PrivateCache::refuse() {
  ++statistics_.refusals;
  return CacheOutcome::kRefused;
}

CacheOutcome PrivateCache::hit(std::uint32_t place) {
  if (lines_.use(place)) {
    ++statistics_.level1_hits;
    return CacheOutcome::kLevel1;
  }
  ++statistics_.level2_hits;
  return CacheOutcome::kLevel2;
}

CacheOutcome PrivateCache::access(LineNumber line, const Target& target, bool is_uncached, LineBytes& found) {
  const std::uint32_t place = lines_.find(line);
  if (place != CacheLines::kNoPlace && !lines_.is_reserved(place) &&
      (target.kind == TargetKind::kLoad || lines_.state(place) != CopyState::kShared)) {
    perform(target, line, place, lines_.bytes(place), found);
    return hit(place);
  }
  return start_miss(line, place, target, is_uncached);
}

CacheOutcome PrivateCache::start_miss(LineNumber line, std::uint32_t place, const Target& target,
                                      bool is_uncached) {
  const std::uint32_t known = find_miss(line);
  if (known != kNone) return join(known, target);
  const auto free = std::ranges::find(misses_, Wait::kFree, &Miss::wait);
  if (free == misses_.end()) return refuse();
  if (place == CacheLines::kNoPlace && !is_uncached && !make_room(line, place)) return refuse();
  ++statistics_.misses;
  if (observer_ != nullptr && target.kind == TargetKind::kLoad)
    observer_->load_issued(agent_, target.ticket, line);
  Miss& miss = *free;
  miss = Miss{};
  miss.line = line;
  miss.is_uncached = is_uncached;
  miss.place = place;
  miss.count = 1;
  this->target(static_cast<std::uint32_t>(free - misses_.begin()), 0) = target;
  if (place != CacheLines::kNoPlace) lines_.set_reserved(place, true);
  if (find_eviction(line) != kNone) {
    miss.wait = Wait::kPut;
  } else {
    ask(miss);
  }
  return CacheOutcome::kPending;
}

CacheOutcome PrivateCache::join(std::uint32_t index, const Target& target) {
  Miss& miss = misses_[index];
  if (miss.count == config_.targets) return refuse();
  // A line that is not going to be kept has no place in which to write it.
  if (miss.is_uncached && target.kind != TargetKind::kLoad) return refuse();
  ++statistics_.joins;
  if (observer_ != nullptr && target.kind == TargetKind::kLoad) {
    observer_->load_issued(agent_, target.ticket, miss.line);
  }
  this->target(index, miss.count++) = target;
  return CacheOutcome::kPending;
}

/// Reserves a place for `line`, evicting another line where it must.
bool PrivateCache::make_room(LineNumber line, std::uint32_t& place) {
  place = lines_.candidate(line);
  if (place == CacheLines::kNoPlace) return false;
  if (!lines_.is_free(place)) {
    const auto free = std::ranges::find(evictions_, false, &Eviction::is_used);
    if (free == evictions_.end()) return false;
    ++statistics_.evictions;
    evict(place, static_cast<std::uint32_t>(free - evictions_.begin()));
  }
  lines_.reserve(place, line);
  return true;
}

void PrivateCache::evict(std::uint32_t place, std::uint32_t slot) {
  Eviction& eviction = evictions_[slot];
  eviction.line = lines_.line_at(place);
  eviction.state = lines_.state(place);
  eviction.bytes = lines_.bytes(place);
  eviction.is_used = true;
  eviction.is_taken = false;
  eviction.is_flush = false;
  eviction.ticket = 0;
  lose(place);
  if (eviction.state == CopyState::kModified) {
    ++statistics_.write_backs;
    send(eviction.line, MessageKind::kPutModified, &eviction.bytes);
  } else {
    send(eviction.line,
         eviction.state == CopyState::kShared ? MessageKind::kPutShared : MessageKind::kPutClean, nullptr);
  }
}

/// Sends the request for the targets that are left.
void PrivateCache::ask(Miss& miss) {
  const auto index = static_cast<std::uint32_t>(&miss - misses_.data());
  bool writes = false;
  for (std::uint32_t i = miss.first; i < miss.count; ++i)
    writes |= target(index, i).kind != TargetKind::kLoad;
  MessageKind kind = MessageKind::kGetShared;
  miss.wait = Wait::kShared;
  if (miss.is_uncached) {
    miss.wait = Wait::kOnce;
    kind = MessageKind::kReadOnce;
  } else if (writes && lines_.state(miss.place) == CopyState::kShared) {
    miss.wait = Wait::kUpgrade;
    kind = MessageKind::kUpgrade;
    ++statistics_.upgrades;
  } else if (writes) {
    miss.wait = Wait::kModified;
    kind = MessageKind::kGetModified;
  }
  send(miss.line, kind, nullptr);
}

/// Performs one access on `bytes`; `found` gets what was loaded. Writes need a place.
void PrivateCache::perform(const Target& target, LineNumber line, std::uint32_t place, LineBytes& bytes,
                           LineBytes& found) {
  std::byte* at = bytes.data() + target.offset;
  if (target.kind != TargetKind::kStore) std::memcpy(found.data(), at, target.size);
  if (target.kind == TargetKind::kLoad) {
    if (observer_ != nullptr) {
      observer_->load_performed(agent_, target.ticket, line, target.offset, {at, target.size});
    }
    return;
  }
  if (lines_.state(place) != CopyState::kModified) change(place, CopyState::kModified);
  if (target.kind == TargetKind::kStore) {
    std::memcpy(at, target.bytes.data(), target.size);
  } else {
    std::uint64_t old = 0;
    std::memcpy(&old, at, target.size);
    const std::uint64_t result = result_of(target.operation, old);
    std::memcpy(at, &result, target.size);
  }
  stored(line, target.offset, {at, target.size});
}

void PrivateCache::stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes) {
  if (observer_ != nullptr) observer_->store_performed(agent_, line, offset, bytes);
  if (mirror_ != nullptr) mirror_->stored(line, offset, bytes);
}

/// Performs the waiting targets below `limit` in order, up to the first write where the copy may not be
/// written.
void PrivateCache::serve(std::uint32_t index, std::uint32_t place, LineBytes& bytes, std::uint32_t limit) {
  Miss& miss = misses_[index];
  const bool may_write = place != CacheLines::kNoPlace && lines_.state(place) >= CopyState::kExclusive;
  for (; miss.first < std::min(miss.count, limit); ++miss.first) {
    const Target& next = target(index, miss.first);
    if (next.kind != TargetKind::kLoad && !may_write) return;
    CacheAnswer& answer = answers_.emplace_back();
    answer.ticket = next.ticket;
    answer.size = next.kind == TargetKind::kStore ? 0 : next.size;
    perform(next, miss.line, place, bytes, answer.bytes);
  }
}

void PrivateCache::receive(const Message& message) {
  lost_.reset();
  if (class_of(message.kind) == MessageClass::kSnoop) {
    snooped(message);
    return;
  }
  ++credits_;
  if (message.kind == MessageKind::kPutDone) {
    put_done(message);
  } else {
    granted(message);
  }
}

void PrivateCache::granted(const Message& message) {
  const std::uint32_t index = find_miss(message.line);
  WHARF_CHECK(index != kNone);
  Miss& miss = misses_[index];
  const std::uint32_t place = miss.place;
  WHARF_CHECK(message.kind != MessageKind::kUpgradeDone || miss.wait == Wait::kUpgrade || !is_sound());
  LineBytes passing = message.data;
  if (message.kind == MessageKind::kData && message.grant == Grant::kOnce) {
    // Nobody tells when these bytes become stale: only the load for which they were asked may use them.
    serve(index, CacheLines::kNoPlace, passing, miss.first + 1);
  } else if (message.kind == MessageKind::kData && message.grant == Grant::kShared && miss.overtaken) {
    ++statistics_.overtaken_data;
    const bool serves_late = mutated(CoherenceMutation::kLateLoadServed);
    serve(index, CacheLines::kNoPlace, passing, serves_late ? miss.count : miss.eligible);
  } else {
    if (message.has_data) lines_.bytes(place) = message.data;
    if (message.kind == MessageKind::kUpgradeDone || message.grant == Grant::kModified) {
      change(place, CopyState::kModified);
    } else {
      change(place, message.grant == Grant::kExclusive ? CopyState::kExclusive : CopyState::kShared);
    }
    lines_.use(place);
    serve(index, place, lines_.bytes(place), miss.count);
  }
  const bool has_snoop = miss.has_snoop;
  Message snoop;
  snoop.line = message.line;
  snoop.kind = miss.snoop;
  end_or_repeat(miss);
  if (has_snoop && !mutated(CoherenceMutation::kForgottenDeferredSnoop)) snoop_copy(place, snoop);
}

void PrivateCache::end_or_repeat(Miss& miss) {
  if (miss.first < miss.count) {
    const bool was_kept = !miss.is_uncached && lines_.state(miss.place) == CopyState::kShared;
    if (!was_kept) ++statistics_.repeated_requests;
    miss.overtaken = false;
    miss.has_snoop = false;
    ask(miss);
    return;
  }
  miss.wait = Wait::kFree;
  if (miss.place == CacheLines::kNoPlace) return;
  if (lines_.state(miss.place) == CopyState::kInvalid) {
    lines_.erase(miss.place);
  } else {
    lines_.set_reserved(miss.place, false);
  }
}

void PrivateCache::put_done(const Message& message) {
  const std::uint32_t slot = find_eviction(message.line);
  WHARF_CHECK(slot != kNone);
  Eviction& eviction = evictions_[slot];
  eviction.is_used = false;
  if (eviction.is_flush) answers_.push_back(CacheAnswer{eviction.ticket, 0, {}});
  const std::uint32_t waiting = find_miss(message.line);
  if (waiting != kNone) ask(misses_[waiting]);
}

void PrivateCache::change(std::uint32_t place, CopyState state) {
  lines_.set_state(place, state);
  if (observer_ != nullptr) observer_->copy_changed(agent_, lines_.line_at(place), state);
}

void PrivateCache::lose(std::uint32_t place) {
  lost_ = lines_.line_at(place);
  change(place, CopyState::kInvalid);
  lines_.erase(place);
}

void PrivateCache::send(LineNumber line, MessageKind kind, const LineBytes* bytes) {
  make_request(requests_.emplace_back(), agent_, line, kind, bytes);
}

bool PrivateCache::next_request(Message& out) {
  if (requests_.empty() || credits_ == 0) return false;
  --credits_;
  out = requests_.front();
  requests_.pop_front();
  return true;
}

bool PrivateCache::next_response(Message& out) {
  if (responses_.empty()) return false;
  out = responses_.front();
  responses_.pop_front();
  return true;
}

bool PrivateCache::next_answer(CacheAnswer& out) {
  if (answers_.empty()) return false;
  out = answers_.front();
  answers_.pop_front();
  return true;
}

CopyState PrivateCache::state(LineNumber line) const {
  const std::uint32_t place = lines_.find(line);
  return place == CacheLines::kNoPlace ? CopyState::kInvalid : lines_.state(place);
}

const LineBytes* PrivateCache::modified_bytes(LineNumber line) const {
  const std::uint32_t place = lines_.find(line);
  if (place != CacheLines::kNoPlace && lines_.state(place) == CopyState::kModified)
    return &lines_.bytes(place);
  const std::uint32_t slot = find_eviction(line);
  if (slot == kNone) return nullptr;
  const Eviction& eviction = evictions_[slot];
  return eviction.state == CopyState::kModified && !eviction.is_taken ? &eviction.bytes : nullptr;
}

bool PrivateCache::is_idle() const {
  return std::ranges::all_of(misses_, [](const Miss& miss) { return miss.wait == Wait::kFree; }) &&
         std::ranges::none_of(evictions_, &Eviction::is_used) && requests_.empty() && responses_.empty() &&
         answers_.empty();
}

}  // namespace wharf::sim
