// SPDX-License-Identifier: Apache-2.0
// The memory side of the queue: when lines are read, owned and written, and what snoops undo.
#include "base/check.h"
#include "engine/ordering/rlsq.h"

namespace wharf::ordering {

std::uint32_t Rlsq::tracker_of(LineNumber line) const {
  const std::uint32_t slot = lines_.find(line);
  WHARF_CHECK(slot != kNoSlot);
  return slot;
}

bool Rlsq::next_memory_request(MemoryRequest& out) {
  if (requests_.empty()) return false;
  const QueuedRequest& request = requests_.front();
  out = MemoryRequest{.operation = request.operation, .is_whole_line = false, .line = request.line};
  if (request.operation == MemoryOperation::kRead) {
    Tracker& tracker = trackers_[request.tracker];
    tracker.read = LineRead::kUnderWay;
    if (tracker.is_tracked) out.operation = MemoryOperation::kReadTracked;
  } else if (request.operation == MemoryOperation::kOwn) {
    Tracker& tracker = trackers_[request.tracker];
    tracker.ownership = LineOwnership::kUnderWay;
    const Entry& writer = entries_[tracker.first];
    out.is_whole_line = writer.kind == Kind::kWrite && writer.mask == kWholeLine;
  }
  requests_.pop_front();
  return true;
}

bool Rlsq::next_perform(Perform& out) {
  while (!performs_.empty()) {
    Tracker& tracker = trackers_[performs_.front()];
    performs_.pop_front();
    tracker.is_to_perform = false;
    // The ownership may have been lost since; then the line is here again when it is back.
    if (tracker.ownership != LineOwnership::kOwned) continue;
    tracker.ownership = LineOwnership::kPerforming;
    const Index index = tracker.first;
    const Entry& entry = entries_[index];
    tracker.keeps_ownership = entry.later != kNone && is_writer(entry.later);
    out.kind = entry.kind;
    out.keeps_ownership = tracker.keeps_ownership;
    out.line = entry.line;
    out.mask = entry.mask;
    if (entry.kind == Kind::kWrite) {
      out.bytes = bytes_[index].line;
    } else {
      out.atomic = entry.atomic;
      out.operand = operands_[index].operand;
      out.compare = operands_[index].compare;
    }
    return true;
  }
  return false;
}

void Rlsq::read_done(LineNumber line, const LineBytes& bytes) {
  const std::uint32_t slot = tracker_of(line);
  Tracker& tracker = trackers_[slot];
  WHARF_CHECK(tracker.read == LineRead::kUnderWay);
  tracker.read = LineRead::kNone;
  for (Index at = tracker.first; at != kNone;) {
    Entry& entry = entries_[at];
    const Index next = entry.later;
    if (entry.state == EntryState::kAgain) {
      entry.state = EntryState::kHeld;
    } else if (entry.state == EntryState::kSent) {
      bytes_[at].line = bytes;
      if (is_turn_of(at)) {
        complete(at);
      } else {
        entry.state = EntryState::kValue;
        ++tracker.values;
      }
    }
    at = next;
  }
  if (tracker.values == 0) advance_line(slot);
  settle();
}

void Rlsq::owned(LineNumber line) {
  const std::uint32_t slot = tracker_of(line);
  WHARF_CHECK(trackers_[slot].ownership == LineOwnership::kUnderWay);
  trackers_[slot].ownership = LineOwnership::kOwned;
  advance_writer(slot);
}

void Rlsq::performed(LineNumber line, const std::array<std::uint64_t, 2>& old_value) {
  const std::uint32_t slot = tracker_of(line);
  Tracker& tracker = trackers_[slot];
  WHARF_CHECK(tracker.ownership == LineOwnership::kPerforming);
  tracker.ownership = tracker.keeps_ownership ? LineOwnership::kOwned : LineOwnership::kNone;
  tracker.was_robbed = false;
  if (entries_[tracker.first].kind == Kind::kAtomic) operands_[tracker.first].operand = old_value;
  complete(tracker.first);
  advance_line(slot);
  settle();
}

SnoopResult Rlsq::snoop_invalidate(LineNumber line) {
  const std::uint32_t slot = lines_.find(line);
  if (slot == kNoSlot) return SnoopResult::kMiss;
  Tracker& tracker = trackers_[slot];
  if (tracker.ownership == LineOwnership::kOwned) return lose_ownership(slot);
  if (tracker.values != 0) return lose_values(slot);
  const bool is_watched = tracker.read == LineRead::kUnderWay && tracker.is_tracked && !tracker.is_stale;
  if (!is_watched || is_mutated(Mutation::kTrackingFromArrival)) return SnoopResult::kHit;
  // The invalidation has overtaken the data. Entries whose turn had come take effect before the write that
  // sent it; the others read again, once the answer is here: a line has one read under way at a time.
  tracker.is_stale = true;
  SnoopResult result = SnoopResult::kHit;
  for (Index at = tracker.first; at != kNone; at = entries_[at].later) {
    if (entries_[at].state != EntryState::kSent || is_turn_of(at)) continue;
    entries_[at].state = EntryState::kAgain;
    ++statistics_.squashed_reads;
    result = SnoopResult::kSquashed;
  }
  return result;
}

SnoopResult Rlsq::snoop_share(LineNumber line) {
  const std::uint32_t slot = lines_.find(line);
  if (slot == kNoSlot) return SnoopResult::kMiss;
  return trackers_[slot].ownership == LineOwnership::kOwned ? lose_ownership(slot) : SnoopResult::kHit;
}

SnoopResult Rlsq::lose_values(std::uint32_t slot) {
  if (is_mutated(Mutation::kMissedSquash)) return SnoopResult::kHit;
  Tracker& tracker = trackers_[slot];
  statistics_.squashed_reads += tracker.values;
  for (Index at = tracker.first; at != kNone; at = entries_[at].later) {
    if (entries_[at].state == EntryState::kValue) entries_[at].state = EntryState::kHeld;
  }
  tracker.values = 0;
  tracker.is_tracked = false;
  advance_line(slot);
  return SnoopResult::kSquashed;
}

// An ownership whose write may take effect is asked for again at once. One that was held ahead is not, before
// its turn comes: two queues that want the same line could take it from each other for ever.
SnoopResult Rlsq::lose_ownership(std::uint32_t slot) {
  if (is_mutated(Mutation::kLostOwnershipKept)) return SnoopResult::kHit;
  Tracker& tracker = trackers_[slot];
  tracker.ownership = LineOwnership::kNone;
  tracker.was_robbed = true;
  ++statistics_.squashed_writes;
  advance_writer(slot);
  return SnoopResult::kSquashed;
}

bool Rlsq::is_active_read(Index entry) const {
  if (trackers_[entries_[entry].tracker].writers == 0 || is_mutated(Mutation::kReadPassesOwnWrite))
    return true;
  for (Index at = entries_[entry].earlier; at != kNone; at = entries_[at].earlier) {
    if (is_writer(at)) return false;
  }
  return true;
}

/// The first of the line in state kValue; there is one.
Rlsq::Index Rlsq::entry_with_value(const Tracker& tracker) const {
  Index at = tracker.first;
  while (entries_[at].state != EntryState::kValue) at = entries_[at].later;
  return at;
}

/// Asks for the value of a held and active read, if it may and there is a way to.
void Rlsq::try_read(Index index) {
  Entry& entry = entries_[index];
  const bool is_turn = is_turn_of(index);
  if (!is_turn && !entry.asks_early) return;
  const std::uint32_t slot = entry.tracker;
  Tracker& tracker = trackers_[slot];
  if (tracker.values != 0) {
    // A value that is being watched is as good as a new one.
    ++statistics_.merged_reads;
    bytes_[index].line = bytes_[entry_with_value(tracker)].line;
    ++tracker.values;
    entry.state = EntryState::kValue;
    if (is_turn) turns_.push_back(index);
    return;
  }
  if (tracker.read == LineRead::kNone) {
    send_read(slot);
    tracker.is_tracked = !is_turn;
    entry.state = EntryState::kSent;
    return;
  }
  if (tracker.read == LineRead::kQueued) {
    tracker.is_tracked = tracker.is_tracked || !is_turn;
  } else if (!(tracker.is_tracked && !tracker.is_stale) && !is_mutated(Mutation::kMergedIntoOldRead)) {
    // Nobody watches the line on behalf of the read under way: it may have been ordered before something that
    // this entry, or the device that sent it, has already seen.
    ++statistics_.waits_for_line;
    return;
  }
  ++statistics_.merged_reads;
  entry.state = EntryState::kSent;
}

void Rlsq::send_read(std::uint32_t slot) {
  Tracker& tracker = trackers_[slot];
  tracker.read = LineRead::kQueued;
  tracker.is_stale = false;
  ++statistics_.memory_reads;
  requests_.push_back(QueuedRequest{MemoryOperation::kRead, slot, tracker.line});
}

/// For the write or atomic at the head of a line: asks for ownership, or has it performed.
void Rlsq::advance_writer(std::uint32_t slot) {
  Tracker& tracker = trackers_[slot];
  const bool is_turn = is_turn_of(tracker.first);
  if (tracker.ownership == LineOwnership::kOwned) {
    if (!is_turn || tracker.is_to_perform) return;
    tracker.is_to_perform = true;
    performs_.push_back(slot);
    return;
  }
  if (tracker.ownership != LineOwnership::kNone) return;
  if (!is_turn && (tracker.was_robbed || !entries_[tracker.first].asks_early)) return;
  tracker.ownership = LineOwnership::kQueued;
  requests_.push_back(QueuedRequest{MemoryOperation::kOwn, slot, tracker.line});
}

/// After something of the line has ended: goes on with what stands at its head, or forgets it.
void Rlsq::advance_line(std::uint32_t slot) {
  Tracker& tracker = trackers_[slot];
  bool drops = false;
  if (tracker.is_tracked && tracker.read == LineRead::kNone) {
    // No value is held any more, so no snoop is wanted. One that has come already has ended the tracking.
    tracker.is_tracked = false;
    drops = !tracker.is_stale;
  }
  const bool is_write_next = tracker.first != kNone && is_writer(tracker.first);
  // Before the drop: an agent that asks for ownership need not tell its home that it is a sharer no more.
  if (is_write_next) advance_writer(slot);
  if (drops) requests_.push_back(QueuedRequest{MemoryOperation::kDrop, slot, tracker.line});
  if (tracker.first == kNone) {
    lines_.erase(tracker.line);
    trackers_.release(slot);
  } else if (!is_write_next) {
    for (Index at = tracker.first; at != kNone && !is_writer(at); at = entries_[at].later) {
      if (entries_[at].state == EntryState::kHeld) try_read(at);
    }
  }
}

void Rlsq::turn_came(Index index) {
  const Entry& entry = entries_[index];
  const std::uint32_t slot = entry.tracker;
  if (is_writer(index)) {
    if (trackers_[slot].first == index) advance_writer(slot);
    return;
  }
  if (entry.state == EntryState::kHeld) {
    if (is_active_read(index)) try_read(index);
  } else if (entry.state == EntryState::kValue) {
    const bool was_last_value = --trackers_[slot].values == 0;
    complete(index);
    if (was_last_value) advance_line(slot);
  }
}

/// The entry has taken effect: it leaves its line and the order, and its answer may leave.
void Rlsq::complete(Index index) {
  Entry& entry = entries_[index];
  Tracker& tracker = trackers_[entry.tracker];
  (entry.earlier == kNone ? tracker.first : entries_[entry.earlier].later) = entry.later;
  (entry.later == kNone ? tracker.last : entries_[entry.later].earlier) = entry.earlier;
  if (entry.kind != Kind::kRead) --tracker.writers;
  entry.state = EntryState::kDone;
  if (entry.kind == Kind::kWrite) {
    written_.push_back(index);
  } else if (!config_.answers_in_order) {
    answers_.push_back(index);
  }
  order_.complete(index, [this](Index woken) { turns_.push_back(woken); });
}

void Rlsq::settle() {
  while (!turns_.empty()) {
    const Index index = turns_.front();
    turns_.pop_front();
    turn_came(index);
  }
}

}  // namespace wharf::ordering
