// SPDX-License-Identifier: Apache-2.0
#include "trace/attribution.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace wharf::trace {
namespace {

/// Enough spans, and rests, for every operation of one or two packets.
constexpr std::uint32_t kUsualRoom = 32;

std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
/// Never 0, which no tag has.
void next_generation(std::uint32_t& generation) {
  constexpr std::uint32_t kLast = (1U << 28U) - 1;
  generation = generation == kLast ? 1 : generation + 1;
}
std::uint64_t bit(Stage stage) { return std::uint64_t{1} << static_cast<unsigned>(stage); }

/// The order of spans within an operation: as they became known; among those of one instant an order that
/// does not depend on who was asked first.
bool reported_later(const Attribution::Span& a, const Attribution::Span& b) {
  if (a.reported != b.reported) return a.reported > b.reported;
  if (a.end != b.end) return a.end > b.end;
  if (a.begin != b.begin) return a.begin > b.begin;
  if (a.stage != b.stage) return a.stage > b.stage;
  return a.place > b.place;
}

/// Doubles the room of a list.
template <typename T>
void enlarge(std::unique_ptr<T[]>& list, std::uint32_t& room) {
  const std::uint32_t larger = room == 0 ? kUsualRoom : 2 * room;
  auto moved = std::make_unique<T[]>(larger);
  std::copy_n(list.get(), room, moved.get());
  list = std::move(moved);
  room = larger;
}

}  // namespace

OperationPath& OperationPath::operator+=(const OperationPath& other) {
  latency += other.latency;
  unattributed += other.unattributed;
  stages |= other.stages;
  for (std::uint64_t left = other.stages; left != 0; left &= left - 1) {
    const auto stage = static_cast<std::size_t>(std::countr_zero(left));
    critical[stage] += other.critical[stage];
  }
  overlapped_stages |= other.overlapped_stages;
  for (std::uint64_t left = other.overlapped_stages; left != 0; left &= left - 1) {
    const auto stage = static_cast<std::size_t>(std::countr_zero(left));
    overlapped[stage] += other.overlapped[stage];
  }
  return *this;
}

Attribution::Attribution(std::uint32_t owner) : owner_(owner) {
  WHARF_CHECK(owner <= 0xffffU);
  enlarge(last_spans_, last_span_room_);
  enlarge_table();
}

void Attribution::enlarge_table() {
  const std::size_t old_count = slots_.size();
  const std::size_t count = old_count == 0 ? 16 : 2 * old_count;
  WHARF_CHECK(count <= std::size_t{1} << kSlotBits);
  slots_.resize(count);
  free_.reserve(count);
  for (std::size_t index = count; index-- > old_count;) {
    enlarge(slots_[index].spans, slots_[index].span_room);
    enlarge(slots_[index].rests, slots_[index].rest_room);
    free_.push_back(static_cast<std::uint32_t>(index));
  }
  table_ = slots_.data();
  slot_mask_ = static_cast<std::uint32_t>(count - 1);
}

wire::OperationTag Attribution::begin(TimePs at) {
  if (free_.empty()) [[unlikely]]
    enlarge_table();
  const std::uint32_t slot_index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[slot_index];
  next_generation(slot.generation);
  slot.begin = at;
  slot.finished = kNever;
  slot.span_count = 0;
  slot.rest_count = 0;
  return wire::OperationTag{(std::uint64_t{slot.generation} << kGenerationShift) |
                            (std::uint64_t{owner_} << kSlotBits) | slot_index};
}

void Attribution::add(const ForeignSpan& foreign) {
  Slot* slot = find(foreign.operation);
  if (slot == nullptr || foreign.reported > slot->finished) return;
  if (foreign.end == kNever) {
    if (slot->rest_count == slot->rest_room) enlarge(slot->rests, slot->rest_room);
    std::uint32_t at = slot->rest_count++;
    const auto later = [&](const Rest& rest) {
      return rest.begin != foreign.begin ? rest.begin > foreign.begin : rest.stage > foreign.stage;
    };
    for (; at > 0 && later(slot->rests[at - 1]); --at) slot->rests[at] = slot->rests[at - 1];
    slot->rests[at] = {foreign.begin, foreign.stage};
    return;
  }
  if (foreign.end <= foreign.begin) return;
  if (slot->span_count == slot->span_room) enlarge(slot->spans, slot->span_room);
  const Span added{foreign.begin, foreign.end, foreign.reported, foreign.stage, false, foreign.place};
  std::uint32_t at = slot->span_count++;
  for (; at > 0 && reported_later(slot->spans[at - 1], added); --at) slot->spans[at] = slot->spans[at - 1];
  slot->spans[at] = added;
}

void Attribution::span_with_growth(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end,
                                   TimePs reported) {
  Slot& slot = *find(operation);
  enlarge(slot.spans, slot.span_room);
  span(operation, stage, begin, end, reported);
}

void Attribution::rest_with_growth(wire::OperationTag operation, Stage stage, TimePs at) {
  Slot& slot = *find(operation);
  enlarge(slot.rests, slot.rest_room);
  rest(operation, stage, at);
}

void Attribution::claim_gap(std::span<const Rest> rests, TimePs from, TimePs to) {
  for (std::size_t at = rests.size(); at-- > 0 && from < to;) {
    if (rests[at].begin >= to) continue;
    const TimePs begin = max(rests[at].begin, from);
    path_.critical[index(rests[at].stage)] += to - begin;
    path_.stages |= bit(rests[at].stage);
    last_rests_.push_back({begin, to, begin, rests[at].stage, true, 0});
    to = begin;
  }
  path_.unattributed += to - from;
}

void Attribution::clear_path() {
  for (std::uint64_t left = path_.stages; left != 0; left &= left - 1)
    path_.critical[static_cast<std::size_t>(std::countr_zero(left))] = kTimeZero;
  for (std::uint64_t left = path_.overlapped_stages; left != 0; left &= left - 1)
    path_.overlapped[static_cast<std::size_t>(std::countr_zero(left))] = kTimeZero;
  path_.stages = 0;
  path_.overlapped_stages = 0;
  path_.unattributed = kTimeZero;
}

std::size_t Attribution::find_before(std::span<const Span> spans, TimePs begin, TimePs cursor,
                                     std::size_t next) const {
  const std::size_t count = spans.size();
  std::size_t found = count;
  std::size_t candidate = next;
  for (std::size_t step = 0; step < count; ++step) {
    candidate = candidate == 0 ? count - 1 : candidate - 1;
    const Span& span = spans[candidate];
    if (span.begin >= cursor || span.end <= begin) continue;
    if (span.end == cursor) return candidate;
    if (found == count || spans[found].end < min(span.end, cursor)) found = candidate;
  }
  return found;
}

const OperationPath& Attribution::end(wire::OperationTag operation, TimePs at) {
  Slot* slot = find(operation);
  WHARF_CHECK(slot != nullptr);
  next_generation(slot->generation);  // Late spans of this operation are ignored from here on.
  free_.push_back(static_cast<std::uint32_t>(operation.value) & ((1U << kSlotBits) - 1));
  std::swap(last_spans_, slot->spans);
  std::swap(last_span_room_, slot->span_room);
  last_span_count_ = slot->span_count;
  last_begin_ = slot->begin;

  clear_path();
  last_rests_.clear();
  path_.latency = at - slot->begin;
  const std::span<Span> spans{last_spans_.get(), last_span_count_};
  const std::span<const Rest> rests{slot->rests.get(), slot->rest_count};
  const std::size_t count = spans.size();

  // Walk backwards. Mostly the spans form a chain in the order in which they were reported: first as long as
  // they do.
  TimePs cursor = at;
  std::size_t next = count;
  std::uint64_t stages = 0;
  std::uint64_t overlapped = 0;
  const TimePs operation_begin = slot->begin;
  for (Span* span = spans.data() + count; next > 0; --next) {
    --span;
    if (span->end != cursor || span->begin < operation_begin) break;
    path_.critical[index(span->stage)] += cursor - span->begin;
    stages |= bit(span->stage);
    span->critical = true;
    cursor = span->begin;
  }
  std::size_t critical = count - next;
  while (cursor > operation_begin) {
    const bool chained = next > 0 && spans[next - 1].end == cursor;
    const std::size_t found = chained ? next - 1 : find_before(spans, operation_begin, cursor, next);
    if (found == count) {
      claim_gap(rests, operation_begin, cursor);
      break;
    }
    Span& span = spans[found];
    const TimePs begin = max(span.begin, operation_begin);
    TimePs end = span.end;
    if (!chained) {
      if (end < cursor) claim_gap(rests, end, cursor);
      if (end > cursor) {
        path_.overlapped[index(span.stage)] += min(end, at) - cursor;
        overlapped |= bit(span.stage);
        end = cursor;
      }
    }
    path_.critical[index(span.stage)] += end - begin;
    stages |= bit(span.stage);
    critical += span.critical ? 0U : 1U;
    span.critical = true;
    cursor = begin;
    next = found;
  }
  // What is left overlapped; mostly there is nothing.
  for (std::size_t i = 0; i < count && critical < count; ++i) {
    const Span& span = spans[i];
    const TimePs begin = max(span.begin, operation_begin);
    const TimePs end = min(span.end, at);
    if (span.critical || begin >= end) continue;
    path_.overlapped[index(span.stage)] += end - begin;
    overlapped |= bit(span.stage);
  }
  path_.stages |= stages | overlapped;
  path_.overlapped_stages = overlapped;
  return path_;
}

}  // namespace wharf::trace
