// SPDX-License-Identifier: Apache-2.0
#include "trace/attribution.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace wharf::trace {
namespace {

/// Enough for every operation of one or two packets.
constexpr std::size_t kUsualSpans = 32;
constexpr std::size_t kUsualRests = 16;

std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
std::uint64_t bit(Stage stage) { return std::uint64_t{1} << static_cast<unsigned>(stage); }

}  // namespace

OperationPath& OperationPath::operator+=(const OperationPath& other) {
  latency += other.latency;
  unattributed += other.unattributed;
  stages |= other.stages;
  for (std::uint64_t left = other.stages; left != 0; left &= left - 1) {
    const auto stage = static_cast<std::size_t>(std::countr_zero(left));
    critical[stage] += other.critical[stage];
    overlapped[stage] += other.overlapped[stage];
  }
  return *this;
}

wire::OperationTag Attribution::begin(TimePs at) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
    slots_.back().spans.reserve(kUsualSpans);
    slots_.back().rests.reserve(kUsualRests);
    free_.reserve(slots_.capacity());
  }
  const std::uint32_t slot_index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[slot_index];
  ++slot.generation;
  slot.begin = at;
  slot.spans.clear();
  slot.rests.clear();
  return wire::OperationTag{(std::uint64_t{slot.generation} << 32U) | slot_index};
}

void Attribution::claim_gap(const std::vector<Rest>& rests, TimePs from, TimePs to) {
  for (std::size_t at = rests.size(); at-- > 0 && from < to;) {
    if (rests[at].begin >= to) continue;
    const TimePs begin = max(rests[at].begin, from);
    path_.critical[index(rests[at].stage)] += to - begin;
    path_.stages |= bit(rests[at].stage);
    to = begin;
  }
  path_.unattributed += to - from;
}

void Attribution::clear_path() {
  for (std::uint64_t left = path_.stages; left != 0; left &= left - 1) {
    const auto stage = static_cast<std::size_t>(std::countr_zero(left));
    path_.critical[stage] = path_.overlapped[stage] = kTimeZero;
  }
  path_.stages = 0;
  path_.unattributed = kTimeZero;
}

std::size_t Attribution::find_before(const std::vector<Span>& spans, TimePs begin, TimePs cursor,
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
  ++slot->generation;  // Late spans of this operation are ignored from here on.
  free_.push_back(static_cast<std::uint32_t>(operation.value));
  std::swap(last_spans_, slot->spans);
  last_begin_ = slot->begin;

  clear_path();
  path_.latency = at - slot->begin;
  std::vector<Span>& spans = last_spans_;
  const std::size_t count = spans.size();

  // Walk backwards. Mostly the spans form a chain in the order in which they were reported.
  TimePs cursor = at;
  std::size_t next = count;
  while (cursor > slot->begin) {
    const bool chained = next > 0 && spans[next - 1].end == cursor;
    const std::size_t found = chained ? next - 1 : find_before(spans, slot->begin, cursor, next);
    if (found == count) {
      claim_gap(slot->rests, slot->begin, cursor);
      break;
    }
    Span& span = spans[found];
    if (span.end < cursor) claim_gap(slot->rests, span.end, cursor);
    if (span.end > cursor) path_.overlapped[index(span.stage)] += min(span.end, at) - cursor;
    const TimePs begin = max(span.begin, slot->begin);
    path_.critical[index(span.stage)] += min(span.end, cursor) - begin;
    path_.stages |= bit(span.stage);
    span.critical = true;
    cursor = begin;
    next = found;
  }
  for (const Span& span : spans) {
    const TimePs begin = max(span.begin, slot->begin);
    const TimePs end = min(span.end, at);
    if (span.critical || begin >= end) continue;
    path_.overlapped[index(span.stage)] += end - begin;
    path_.stages |= bit(span.stage);
  }
  return path_;
}

}  // namespace wharf::trace
