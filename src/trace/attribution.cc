// SPDX-License-Identifier: Apache-2.0
#include "trace/attribution.h"

#include <utility>

#include "base/check.h"

namespace wharf::trace {
namespace {

/// Enough for every operation of one or two packets.
constexpr std::size_t kUsualSpans = 32;
constexpr std::size_t kUsualRests = 16;

std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }

}  // namespace

OperationPath& OperationPath::operator+=(const OperationPath& other) {
  latency += other.latency;
  unattributed += other.unattributed;
  for (std::size_t stage = 0; stage < critical.size(); ++stage) {
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

Attribution::Slot* Attribution::find(wire::OperationTag operation) {
  const auto slot_index = static_cast<std::uint32_t>(operation.value);
  if (slot_index >= slots_.size()) return nullptr;
  Slot& slot = slots_[slot_index];
  return slot.generation == static_cast<std::uint32_t>(operation.value >> 32U) ? &slot : nullptr;
}

void Attribution::span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end) {
  Slot* slot = find(operation);
  if (slot == nullptr || end <= begin) return;
  slot->spans.push_back({begin, end, stage, false});
}

void Attribution::rest(wire::OperationTag operation, Stage stage, TimePs at) {
  Slot* slot = find(operation);
  if (slot == nullptr || (!slot->rests.empty() && slot->rests.back().stage == stage)) return;
  slot->rests.push_back({at, stage});
}

void Attribution::claim_gap(const std::vector<Rest>& rests, TimePs from, TimePs to) {
  for (std::size_t at = rests.size(); at-- > 0 && from < to;) {
    if (rests[at].begin >= to) continue;
    const TimePs begin = max(rests[at].begin, from);
    path_.critical[index(rests[at].stage)] += to - begin;
    to = begin;
  }
  path_.unattributed += to - from;
}

const OperationPath& Attribution::end(wire::OperationTag operation, TimePs at) {
  Slot* slot = find(operation);
  WHARF_CHECK(slot != nullptr);
  ++slot->generation;  // Late spans of this operation are ignored from here on.
  free_.push_back(static_cast<std::uint32_t>(operation.value));
  std::swap(last_spans_, slot->spans);
  last_begin_ = slot->begin;

  path_ = OperationPath{};
  path_.latency = at - slot->begin;
  std::vector<Span>& spans = last_spans_;
  for (const Span& span : spans) {
    const TimePs begin = max(span.begin, slot->begin);
    const TimePs end = min(span.end, at);
    if (begin < end) path_.overlapped[index(span.stage)] += end - begin;
  }

  // Walk backwards. Spans mostly arrive in order, so the search usually stops at its first candidate.
  TimePs cursor = at;
  std::size_t next = spans.size();
  while (cursor > slot->begin) {
    std::size_t found = spans.size();
    for (std::size_t step = 0; step < spans.size(); ++step) {
      const std::size_t candidate = (next + spans.size() - 1 - step) % spans.size();
      const Span& span = spans[candidate];
      if (span.begin >= cursor || span.end <= slot->begin) continue;
      if (span.end == cursor) {
        found = candidate;
        break;
      }
      if (found == spans.size() || spans[found].end < min(span.end, cursor)) found = candidate;
    }
    if (found == spans.size()) {
      claim_gap(slot->rests, slot->begin, cursor);
      break;
    }
    Span& span = spans[found];
    const TimePs end = min(span.end, cursor);
    if (end < cursor) claim_gap(slot->rests, end, cursor);
    const TimePs begin = max(span.begin, slot->begin);
    path_.critical[index(span.stage)] += end - begin;
    path_.overlapped[index(span.stage)] -= end - begin;
    span.critical = true;
    cursor = begin;
    next = found;
  }
  return path_;
}

}  // namespace wharf::trace
