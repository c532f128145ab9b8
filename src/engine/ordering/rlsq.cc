// SPDX-License-Identifier: Apache-2.0
// The device's side of the queue: requests in, answers out. What happens between is in rlsq_memory.cc.
#include "engine/ordering/rlsq.h"

#include <algorithm>
#include <utility>

#include "engine/ordering/filled_pool.h"

namespace wharf::ordering {
namespace {

constexpr std::uint32_t kSizeMax = 16384;

}  // namespace

Result<Rlsq> Rlsq::create(const RlsqConfig& config) {
  const std::pair<const char*, std::uint32_t> sizes[] = {{"entries", config.entries},
                                                         {"trackers", config.trackers}};
  for (const auto& [key, value] : sizes) {
    if (value >= 1 && value <= kSizeMax) continue;
    return input_error("rlsq: " + std::string(key) + " = " + std::to_string(value) + ", expected 1 to " +
                       std::to_string(kSizeMax));
  }
  if (config.posted_reserve < 1 || config.posted_reserve > kSizeMax / 2) {
    return input_error("rlsq: posted_reserve = " + std::to_string(config.posted_reserve) +
                       ", expected 1 to " + std::to_string(kSizeMax / 2) +
                       " (posted writes must always get past reads that wait)");
  }
  return Rlsq(config);
}

Rlsq::Rlsq(const RlsqConfig& config)
    : config_(config),
      entries_(filled_pool<Entry>(config.entries + config.posted_reserve)),
      bytes_(config.entries + config.posted_reserve),
      operands_(config.entries + config.posted_reserve),
      order_(config.entries + config.posted_reserve, knows_domains(config.design)),
      trackers_(filled_pool<Tracker>(config.trackers + config.posted_reserve)),
      lines_(config.trackers + config.posted_reserve, config.trackers + config.posted_reserve),
      // A tracker has at most one read or own waiting, and one drop.
      requests_((config.trackers + config.posted_reserve) * 2),
      performs_(config.trackers + config.posted_reserve),
      answers_(config.entries + config.posted_reserve),
      written_(config.entries + config.posted_reserve),
      turns_((config.entries + config.posted_reserve) * 2) {
  for (int kind = 0; kind < kKindCount; ++kind) {
    for (int label = 0; label < kLabelCount; ++label) {
      Request request;
      request.kind = static_cast<Kind>(kind);
      request.label = static_cast<Label>(label);
      needs_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(label)] =
          order_needs(config.design, config.order, request);
    }
  }
}

bool Rlsq::can_accept(const Request& request) const {
  if (entries_.in_use() >= limit(request.kind, config_.entries)) return false;
  return trackers_.in_use() < limit(request.kind, config_.trackers) || lines_.contains(request.line);
}

bool Rlsq::accept(const Request& request) {
  if (entries_.in_use() >= limit(request.kind, config_.entries)) {
    ++statistics_.refused_for_entries;
    return false;
  }
  std::uint32_t slot = lines_.find(request.line);
  if (slot == kNoSlot) {
    if (trackers_.in_use() >= limit(request.kind, config_.trackers)) {
      ++statistics_.refused_for_trackers;
      return false;
    }
    slot = trackers_.acquire();
    trackers_[slot] = Tracker{};
    trackers_[slot].line = request.line;
    lines_.insert(request.line, slot);
    statistics_.trackers_max = std::max(statistics_.trackers_max, trackers_.in_use());
  }
  const Index entry = make_entry(request, slot);
  if (request.kind != Kind::kRead) {
    if (trackers_[slot].first == entry) {
      advance_writer(slot);
    } else {
      ++statistics_.waits_for_line;
    }
  } else if (is_active_read(entry)) {
    try_read(entry);
  } else {
    ++statistics_.waits_for_line;
  }
  settle();
  return true;
}

Rlsq::Index Rlsq::make_entry(const Request& request, std::uint32_t slot) {
  const auto index = static_cast<Index>(entries_.acquire());
  statistics_.entries_max = std::max(statistics_.entries_max, entries_.in_use());
  Tracker& tracker = trackers_[slot];
  const Label label = effective_label(config_.design, request.kind, request.label);
  const bool is_read = request.kind == Kind::kRead;
  // Field by field: a whole one would be made beside its place and copied.
  Entry& entry = entries_[index];
  entry.kind = request.kind;
  entry.state = EntryState::kHeld;
  // Ownership asked for ahead changes nothing that anybody sees, so legacy writes keep it in every design.
  entry.asks_early = is_speculative(config_.design) || (!is_read && is_legacy(label));
  entry.is_last = request.is_last;
  entry.label = request.label;
  entry.atomic = request.atomic;
  entry.earlier = tracker.last;
  entry.later = kNone;
  entry.tracker = slot;
  entry.tag = request.tag;
  entry.domain = request.domain;
  entry.number = request.number;
  entry.arrival = arrivals_++;
  entry.line = request.line;
  entry.mask = request.mask;
  const bool may_share = is_read && !is_strict(config_.design) && tracker.last != kNone;
  const Index same_line = may_share ? earlier_held_read(tracker, request) : kNone;
  (tracker.last == kNone ? tracker.first : entries_[tracker.last].later) = index;
  tracker.last = index;
  if (!is_read) ++tracker.writers;

  switch (request.kind) {
    case Kind::kRead:
      ++statistics_.reads;
      break;
    case Kind::kWrite:
      ++statistics_.writes;
      bytes_[index].line = request.bytes;
      break;
    case Kind::kAtomic:
      ++statistics_.atomics;
      operands_[index] = AtomicOperands{request.operand, request.compare};
      break;
  }
  const OrderNeeds& needs =
      needs_[static_cast<std::size_t>(request.kind)][static_cast<std::size_t>(request.label)];
  if (order_.add(index, needs, request, same_line) != 0) ++statistics_.waits_for_order;
  if (config_.answers_in_order && !request.is_posted()) answers_.push_back(index);
  return index;
}

// Two reads of a domain on one line never see its values in the wrong order: where the first may not take
// effect yet, the second waits for it.
Rlsq::Index Rlsq::earlier_held_read(const Tracker& tracker, const Request& request) const {
  for (Index at = tracker.last; at != kNone; at = entries_[at].earlier) {
    if (!(entries_[at].domain == request.domain)) continue;
    return is_writer(at) || is_turn_of(at) ? kNone : at;
  }
  return kNone;
}

bool Rlsq::next_response(Response& out) {
  Index index;
  if (!written_.empty()) {
    index = written_.front();
    written_.pop_front();
  } else {
    if (answers_.empty()) return false;
    index = answers_.front();
    if (entries_[index].state != EntryState::kDone) return false;
    answers_.pop_front();
  }
  fill_response(index, out);
  entries_.release(index);
  return true;
}

void Rlsq::fill_response(Index index, Response& out) const {
  const Entry& entry = entries_[index];
  out.kind = entry.kind;
  out.is_last = entry.is_last;
  out.tag = entry.tag;
  out.domain = entry.domain;
  out.number = entry.number;
  out.line = entry.line;
  out.mask = entry.mask;
  if (entry.kind == Kind::kRead) out.bytes = bytes_[index].line;
  if (entry.kind == Kind::kAtomic) out.old_value = operands_[index].operand;
}

bool Rlsq::is_idle() const { return entries_.in_use() == 0 && requests_.empty(); }

}  // namespace wharf::ordering
