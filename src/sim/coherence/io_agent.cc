// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/io_agent.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "sim/coherence/coherence_mutation.h"

namespace wharf::sim {

IoAgent::IoAgent(AgentId agent, const IoAgentConfig& config)
    : agent_(agent), drops_(config.drops), credits_(config.credits) {
  WHARF_CHECK(agent < kMaxAgents && config.operations >= 1 && config.lines >= 1 && config.credits >= 1);
  index_ = SlotIndex(config.lines, config.lines);
  lines_.resize(config.lines);
  free_lines_.resize(config.lines);
  std::iota(free_lines_.rbegin(), free_lines_.rend(), 0U);
  operations_.resize(config.operations);
  free_operations_.resize(config.operations);
  std::iota(free_operations_.rbegin(), free_operations_.rend(), 0U);
  // Answered operations whose events were not taken yet, those that wait, and a snoop.
  events_.reserve(std::size_t{config.operations} * 2 + 2);
  // A line has at most the put of its former use, a request of its present one and the put that ends that
  // unsent.
  requests_.reserve(std::size_t{config.lines} * 3 + 2);
  responses_.reserve(4);
}

IoAgent::Line* IoAgent::find(LineNumber line) {
  const std::uint32_t at = index_.find(line);
  return at == kNoSlot ? nullptr : &lines_[at];
}

const IoAgent::Line* IoAgent::find(LineNumber line) const {
  const std::uint32_t at = index_.find(line);
  return at == kNoSlot ? nullptr : &lines_[at];
}

bool IoAgent::has_room(LineNumber line) const {
  const std::size_t waiting = operations_.size() - free_operations_.size();
  return !free_operations_.empty() && events_.size() + waiting < operations_.size() * 2 &&
         (!free_lines_.empty() || index_.contains(line));
}

void IoAgent::read(IoTag tag, LineNumber line, bool is_tracked) {
  ++(is_tracked ? statistics_.tracked_reads : statistics_.reads);
  if (observer_ != nullptr) observer_->load_issued(agent_, tag, line);
  add_operation(line, is_tracked ? OperationKind::kTrackedRead : OperationKind::kRead, tag);
}

void IoAgent::own(IoTag tag, LineNumber line, bool whole_line) {
  ++statistics_.owns;
  add_operation(line, whole_line ? OperationKind::kOwnWhole : OperationKind::kOwn, tag);
}

void IoAgent::add_operation(LineNumber line, OperationKind kind, IoTag tag) {
  WHARF_CHECK(!free_operations_.empty());
  Line* entry = find(line);
  if (entry == nullptr) {
    WHARF_CHECK(!free_lines_.empty());
    const std::uint32_t at = free_lines_.back();
    free_lines_.pop_back();
    index_.insert(line, at);
    entry = &lines_[at];
    // All but the bytes, which mean nothing without has_bytes: most lines are only read.
    entry->line = line;
    entry->flight = Flight::kNone;
    entry->hold = Hold::kNone;
    entry->has_bytes = entry->is_modified = entry->was_invalidated = entry->has_snoop = entry->is_tracked =
        false;
    entry->snoop = MessageKind::kFetchOnce;
    entry->granted = 0;
    entry->first = entry->last = kNone;
  }
  const std::uint32_t slot = free_operations_.back();
  free_operations_.pop_back();
  operations_[slot] = Operation{kind, tag, kNone};
  (entry->first == kNone ? entry->first : operations_[entry->last].next) = slot;
  entry->last = slot;
  advance(*entry);
}

/// Takes the first waiting operation of a line out; its tag.
IoTag IoAgent::end_operation(Line& entry) {
  const std::uint32_t slot = entry.first;
  entry.first = operations_[slot].next;
  if (entry.first == kNone) entry.last = kNone;
  free_operations_.push_back(slot);
  return operations_[slot].tag;
}

void IoAgent::advance(Line& entry) {
  while (entry.first != kNone && entry.flight == Flight::kNone && start(entry)) {
  }
}

/// Answers the first waiting operation (true) or asks the home for what it needs.
bool IoAgent::start(Line& entry) {
  const OperationKind kind = operations_[entry.first].kind;
  const bool is_read = kind == OperationKind::kRead || kind == OperationKind::kTrackedRead;
  if (entry.hold == Hold::kOwned) {
    if (!entry.has_bytes && kind != OperationKind::kOwnWhole) return false;
    if (is_read) {
      ++statistics_.local_reads;
      if (kind == OperationKind::kTrackedRead) entry.is_tracked = true;
      answer_read(entry, entry.bytes, kind == OperationKind::kTrackedRead);
    } else {
      Queued& queued = events_.emplace_back();
      queued.event.kind = IoEvent::Kind::kOwned;
      queued.event.line = entry.line;
      queued.event.tag = end_operation(entry);
      ++entry.granted;
    }
    return true;
  }
  // Bytes on their way home may be taken at any time without this agent being told.
  if (entry.hold != Hold::kNone) return false;
  entry.was_invalidated = false;
  switch (kind) {
    case OperationKind::kRead:
      entry.flight = Flight::kRead;
      send(entry.line, MessageKind::kReadOnce, nullptr, false);
      break;
    case OperationKind::kTrackedRead:
      entry.flight = Flight::kTrackedRead;
      send(entry.line, MessageKind::kGetTracked, nullptr, false);
      break;
    case OperationKind::kOwn:
      entry.flight = Flight::kOwn;
      send(entry.line, MessageKind::kGetModified, nullptr, false);
      break;
    case OperationKind::kOwnWhole:
      entry.flight = Flight::kOwn;
      send(entry.line, MessageKind::kWriteLine, nullptr, false);
      break;
  }
  return false;
}

void IoAgent::answer_read(Line& entry, const LineBytes& bytes, bool is_tracked) {
  Queued& queued = events_.emplace_back();
  queued.event.kind = IoEvent::Kind::kRead;
  queued.event.is_tracked = is_tracked;
  queued.event.line = entry.line;
  queued.event.bytes = bytes;
  queued.event.tag = end_operation(entry);
  if (observer_ != nullptr) observer_->load_performed(agent_, queued.event.tag, entry.line, 0, bytes);
}

bool IoAgent::is_owned(LineNumber line) const {
  const Line* entry = find(line);
  return entry != nullptr && entry->hold == Hold::kOwned && entry->granted > 0;
}

const LineBytes* IoAgent::owned_bytes(LineNumber line) const {
  const Line* entry = find(line);
  return entry != nullptr && entry->hold == Hold::kOwned && entry->has_bytes ? &entry->bytes : nullptr;
}

void IoAgent::perform_write(LineNumber line, const LineBytes& bytes, ByteMask mask, bool keeps_ownership) {
  Line* entry = find(line);
  WHARF_CHECK(entry != nullptr && entry->hold == Hold::kOwned && entry->granted > 0);
  WHARF_CHECK(entry->has_bytes || mask == kWholeLineMask);
  ++statistics_.writes;
  if (mask == kWholeLineMask) {
    entry->bytes = bytes;
  } else {
    for (std::uint32_t i = 0; i < kLineBytes; ++i) {
      if (((mask >> i) & 1U) != 0) entry->bytes[i] = bytes[i];
    }
  }
  entry->has_bytes = true;
  entry->is_modified = true;
  if (observer_ != nullptr) observer_->store_performed(agent_, line, 0, entry->bytes);
  if (mirror_ != nullptr) {
    for (ByteMask left = mask; left != 0;) {
      const int first = std::countr_zero(left);
      const int length = std::countr_one(left >> first);
      mirror_->stored(line, static_cast<std::uint32_t>(first),
                      {entry->bytes.data() + first, static_cast<std::size_t>(length)});
      if (first + length == kLineBytes) break;
      left = left >> (first + length) << (first + length);
    }
  }
  if (keeps_ownership) {
    // Reads that waited for the bytes of a whole line have them now.
    advance(*entry);
  } else {
    release(line);
  }
}

void IoAgent::release(LineNumber line) {
  Line* entry = find(line);
  WHARF_CHECK(entry != nullptr && entry->hold == Hold::kOwned && entry->granted > 0);
  --entry->granted;
  advance(*entry);
  if (entry->granted == 0) go_home(*entry);
}

void IoAgent::go_home(Line& entry) {
  entry.hold = Hold::kGoingHome;
  observe_copy(entry);
  send(entry.line, entry.is_modified ? MessageKind::kPutModified : MessageKind::kPutClean,
       entry.is_modified ? &entry.bytes : nullptr, entry.is_tracked);
}

void IoAgent::drop_tracking(LineNumber line) {
  Line* entry = find(line);
  if (entry == nullptr) return;
  for (std::uint32_t at = entry->first; at != kNone; at = operations_[at].next) {
    if (at == entry->first && entry->flight != Flight::kNone) continue;
    if (operations_[at].kind == OperationKind::kTrackedRead) operations_[at].kind = OperationKind::kRead;
  }
  const bool is_in_flight = entry->flight == Flight::kTrackedRead && !entry->was_invalidated;
  if (!entry->is_tracked && !is_in_flight) return;
  ++statistics_.drops;
  entry->is_tracked = false;
  entry->was_invalidated |= is_in_flight;
  observe_copy(*entry);
  // An owner is no sharer; the put that ends the ownership will not ask to stay one.
  if (entry->flight != Flight::kOwn && entry->hold != Hold::kOwned && drops_ != DropNotice::kSilent) {
    send(line, drops_ == DropNotice::kAnswered ? MessageKind::kPutShared : MessageKind::kDropShared, nullptr,
         false);
  }
  leave_if_unused(*entry);
}

void IoAgent::receive(const Message& message) {
  if (class_of(message.kind) == MessageClass::kSnoop) {
    snooped(message);
    return;
  }
  ++credits_;
  if (message.kind == MessageKind::kPutDone && message.answers == MessageKind::kPutShared) return;
  Line* entry = find(message.line);
  WHARF_CHECK(entry != nullptr);
  if (message.kind == MessageKind::kPutDone) {
    WHARF_CHECK(entry->hold == Hold::kGoingHome || entry->hold == Hold::kTaken);
    entry->hold = Hold::kNone;
    entry->has_bytes = false;
    entry->is_modified = false;
    advance(*entry);
  } else {
    granted(*entry, message);
  }
  leave_if_unused(*entry);
}

void IoAgent::granted(Line& entry, const Message& message) {
  const Flight flight = entry.flight;
  entry.flight = Flight::kNone;
  if (flight == Flight::kOwn) {
    entry.hold = Hold::kOwned;
    entry.has_bytes = message.has_data;
    // Memory may lack what came along.
    entry.is_modified = message.has_data;
    if (message.has_data) entry.bytes = message.data;
    observe_copy(entry);
  } else {
    bool is_tracked = flight == Flight::kTrackedRead && !entry.was_invalidated;
    if (flight == Flight::kTrackedRead && mutated(CoherenceMutation::kUntrackedAnswer)) is_tracked = true;
    entry.is_tracked |= is_tracked;
    answer_read(entry, message.data, is_tracked);
    observe_copy(entry);
  }
  advance(entry);
  if (entry.has_snoop) {
    entry.has_snoop = false;
    fetched(entry, entry.snoop);
  }
}

void IoAgent::snooped(const Message& message) {
  ++statistics_.snoops;
  Line* entry = find(message.line);
  if (message.kind == MessageKind::kSupply) {
    answer_snoop(message.line, nullptr, false, true);
    return;
  }
  if (message.kind != MessageKind::kInvalidate) {
    WHARF_CHECK((entry != nullptr && (entry->flight == Flight::kOwn || entry->hold != Hold::kNone)) ||
                !is_sound());
    if (entry != nullptr) {
      fetched(*entry, message.kind);
    } else {
      answer_snoop(message.line, nullptr, false, false);
    }
    return;
  }
  const bool is_reading =
      entry != nullptr && (entry->flight == Flight::kRead || entry->flight == Flight::kTrackedRead);
  if (entry == nullptr || (!entry->is_tracked && !is_reading)) {
    ++statistics_.spurious_invalidations;
  } else {
    ++statistics_.invalidations;
    if (is_reading) ++statistics_.flight_invalidations;
  }
  if (entry != nullptr) {
    if (is_reading && !entry->is_tracked && mutated(CoherenceMutation::kHiddenFlightSnoop)) {
      answer_snoop(message.line, nullptr, false, false);
      return;
    }
    entry->is_tracked = false;
    entry->was_invalidated |= is_reading;
    if (entry->hold == Hold::kGoingHome) entry->hold = Hold::kTaken;
    observe_copy(*entry);
  }
  announce(IoEvent::Kind::kInvalidated, message.line, message.kind);
}

/// The home takes the line, or a copy of it, from its owner.
void IoAgent::fetched(Line& entry, MessageKind snoop) {
  if (entry.flight == Flight::kOwn) {
    entry.has_snoop = true;
    entry.snoop = snoop;
    return;
  }
  const bool takes_ownership = entry.hold == Hold::kOwned && snoop != MessageKind::kFetchOnce;
  if (snoop == MessageKind::kFetchModified && (takes_ownership || entry.is_tracked)) {
    announce(IoEvent::Kind::kInvalidated, entry.line, snoop);
  } else if (takes_ownership) {
    announce(IoEvent::Kind::kDowngraded, entry.line, snoop);
  } else {
    answer_fetch(entry, snoop);
  }
}

void IoAgent::answer_fetch(Line& entry, MessageKind snoop) {
  const bool is_here = entry.hold == Hold::kOwned || entry.hold == Hold::kGoingHome;
  const bool sends = is_here && entry.has_bytes;
  if (snoop == MessageKind::kFetchModified) entry.is_tracked = false;
  const LineBytes bytes = entry.bytes;
  const bool is_dirty = entry.is_modified;
  if (snoop != MessageKind::kFetchOnce) {
    if (entry.hold == Hold::kOwned) {
      if (entry.granted > 0) ++statistics_.stolen_ownerships;
      entry.hold = Hold::kNone;
      entry.granted = 0;
      entry.has_bytes = false;
      entry.is_modified = false;
    } else if (entry.hold == Hold::kGoingHome) {
      entry.hold = Hold::kTaken;
    }
    observe_copy(entry);
  }
  answer_snoop(entry.line, sends ? &bytes : nullptr, is_dirty, entry.is_tracked);
  advance(entry);
}

void IoAgent::announce(IoEvent::Kind kind, LineNumber line, MessageKind snoop) {
  Queued& queued = events_.emplace_back();
  queued.event.kind = kind;
  queued.event.line = line;
  queued.is_snoop = true;
  queued.snoop = snoop;
}

bool IoAgent::next_event(IoEvent& out) {
  if (events_.empty()) return false;
  const Queued& queued = events_.front();
  out = queued.event;
  const bool is_snoop = queued.is_snoop;
  const MessageKind snoop = queued.snoop;
  events_.pop_front();
  if (!is_snoop) return true;
  Line* entry = find(out.line);
  if (snoop == MessageKind::kInvalidate || entry == nullptr) {
    answer_snoop(out.line, nullptr, false, false);
  } else {
    answer_fetch(*entry, snoop);
  }
  if (entry != nullptr) leave_if_unused(*entry);
  return true;
}

void IoAgent::answer_snoop(LineNumber line, const LineBytes* bytes, bool is_dirty, bool keeps_shared) {
  make_snoop_answer(responses_.emplace_back(), agent_, line, bytes, is_dirty, keeps_shared);
}

void IoAgent::send(LineNumber line, MessageKind kind, const LineBytes* bytes, bool keeps_shared) {
  Message& request = requests_.emplace_back();
  make_request(request, agent_, line, kind, bytes);
  request.keeps_shared = keeps_shared;
}

bool IoAgent::next_request(Message& out) {
  const Message* const first = first_request();
  if (first == nullptr) return false;
  out = *first;
  first_request_taken();
  return true;
}

bool IoAgent::next_response(Message& out) {
  if (responses_.empty()) return false;
  out = responses_.front();
  responses_.pop_front();
  return true;
}

bool IoAgent::is_tracked(LineNumber line) const {
  const Line* entry = find(line);
  return entry != nullptr && entry->is_tracked;
}

const LineBytes* IoAgent::modified_bytes(LineNumber line) const {
  const Line* entry = find(line);
  if (entry == nullptr || !entry->is_modified) return nullptr;
  return entry->hold == Hold::kOwned || entry->hold == Hold::kGoingHome ? &entry->bytes : nullptr;
}

bool IoAgent::is_idle() const {
  return free_lines_.size() == lines_.size() && events_.empty() && requests_.empty() && responses_.empty();
}

/// Tells the observer what this agent may do with the line: an owner may write it, a tracked line counts as
/// shared.
void IoAgent::observe_copy(const Line& entry) {
  if (observer_ == nullptr) return;
  CopyState state = entry.is_tracked ? CopyState::kShared : CopyState::kInvalid;
  if (entry.hold == Hold::kOwned) state = CopyState::kModified;
  observer_->copy_changed(agent_, entry.line, state);
}

void IoAgent::leave_if_unused(Line& entry) {
  if (entry.first != kNone || entry.flight != Flight::kNone || entry.hold != Hold::kNone || entry.is_tracked)
    return;
  free_lines_.push_back(static_cast<std::uint32_t>(&entry - lines_.data()));
  index_.erase(entry.line);
}

void IoAgent::append_state(std::vector<std::byte>& state) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    if (index_.find(lines_[i].line) == i) order.push_back(i);
  }
  std::ranges::sort(order, {}, [this](std::uint32_t i) { return lines_[i].line; });
  append_bytes(state, order.size());
  for (std::uint32_t i : order) {
    const Line& entry = lines_[i];
    append_bytes(state, entry.line);
    append_bytes(state, entry.flight);
    append_bytes(state, entry.hold);
    append_bytes(state, entry.has_snoop ? entry.snoop : MessageKind::kData);
    append_bytes(state, entry.granted);
    const bool is_reading = entry.flight == Flight::kRead || entry.flight == Flight::kTrackedRead;
    const auto flags = static_cast<std::uint8_t>((entry.has_bytes ? 1U : 0U) | (entry.is_modified ? 2U : 0U) |
                                                 (is_reading && entry.was_invalidated ? 4U : 0U) |
                                                 (entry.is_tracked ? 8U : 0U));
    append_bytes(state, flags);
    if (entry.has_bytes && entry.hold != Hold::kTaken) append_bytes(state, entry.bytes);
    for (std::uint32_t at = entry.first; at != kNone; at = operations_[at].next) {
      append_bytes(state, operations_[at].kind);
      append_bytes(state, operations_[at].tag);
    }
    append_bytes(state, std::uint8_t{0xFF});
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    append_bytes(state, events_[i].event.kind);
    append_bytes(state, events_[i].event.tag);
    append_bytes(state, events_[i].event.line);
    append_bytes(state, events_[i].event.bytes);
    append_bytes(state, events_[i].snoop);
  }
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < requests_.size(); ++i) sim::append_state(state, requests_[i]);
  append_bytes(state, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < responses_.size(); ++i) sim::append_state(state, responses_[i]);
}

}  // namespace wharf::sim
