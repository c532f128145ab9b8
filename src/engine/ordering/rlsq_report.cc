// SPDX-License-Identifier: Apache-2.0
// What the queue tells about itself: its state for an explorer, and who waits for whom for a person.
#include <algorithm>

#include "engine/ordering/names.h"
#include "engine/ordering/rlsq.h"

namespace wharf::ordering {
namespace {

template <typename Value>
void put(std::vector<std::byte>& state, Value value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  state.insert(state.end(), from, from + sizeof value);
}

void put_bytes(std::vector<std::byte>& state, const LineBytes& bytes) {
  state.insert(state.end(), bytes.begin(), bytes.end());
}

std::string hexadecimal(std::uint64_t value) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[value & 15U]);
    value >>= 4U;
  } while (value != 0);
  return "0x" + text;
}

}  // namespace

std::vector<Rlsq::Index> Rlsq::entries_by_arrival() const {
  std::vector<Index> order;
  for (std::uint32_t index = 0; index < entries_.extent(); ++index) {
    if (entries_.is_used(index)) order.push_back(static_cast<Index>(index));
  }
  std::sort(order.begin(), order.end(),
            [this](Index left, Index right) { return entries_[left].arrival < entries_[right].arrival; });
  return order;
}

void Rlsq::append_state(std::vector<std::byte>& state) const {
  const std::vector<Index> order = entries_by_arrival();
  const auto rank_of = [&order](Index entry) {
    return static_cast<std::uint16_t>(std::find(order.begin(), order.end(), entry) - order.begin());
  };
  put(state, static_cast<std::uint16_t>(order.size()));
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Index index = order[rank];
    const Entry& entry = entries_[index];
    // A request is named by the rank of its oldest entry.
    const auto oldest = std::find_if(order.begin(), order.end(), [&](Index other) {
      return entries_[other].domain == entry.domain && entries_[other].number == entry.number;
    });
    put(state, static_cast<std::uint16_t>(oldest - order.begin()));
    put(state, entry.kind);
    put(state, entry.label);
    put(state, entry.state);
    put(state, static_cast<std::uint8_t>(entry.is_last));
    put(state, entry.domain.key());
    put(state, entry.tag);
    put(state, entry.line);
    put(state, entry.mask);
    const bool is_done = entry.state == EntryState::kDone;
    if (!is_done) {
      put(state, order_.waiting(index));
      const OrderLists::Continuation continuation = order_.continuation(index);
      put(state, continuation.domain_key);
      put(state, static_cast<std::uint8_t>((continuation.is_unfinished ? 1U : 0U) |
                                           (continuation.is_this ? 2U : 0U)));
    }
    if (entry.kind == Kind::kAtomic) {
      put(state, entry.atomic);
      put(state, operands_[index]);
    } else if ((entry.kind == Kind::kWrite) != is_done) {
      put_bytes(state, bytes_[index].line);
    }
    if (is_done || trackers_[entry.tracker].first != index) continue;
    const Tracker& tracker = trackers_[entry.tracker];
    put(state, tracker.read);
    put(state, tracker.ownership);
    // Flags that nothing will look at before they are set anew do not count.
    const bool is_stale = tracker.read == LineRead::kUnderWay && tracker.is_stale;
    const bool keeps = tracker.ownership == LineOwnership::kPerforming && tracker.keeps_ownership;
    put(state, static_cast<std::uint8_t>((tracker.is_tracked ? 1U : 0U) | (is_stale ? 2U : 0U) |
                                         (tracker.was_robbed ? 4U : 0U) | (tracker.is_to_perform ? 8U : 0U) |
                                         (keeps ? 16U : 0U)));
    if (tracker.values != 0) put_bytes(state, bytes_[entry_with_value(tracker)].line);
  }
  put(state, static_cast<std::uint16_t>(requests_.size()));
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    put(state, requests_[i].operation);
    put(state, requests_[i].line);
  }
  put(state, static_cast<std::uint16_t>(performs_.size()));
  for (std::size_t i = 0; i < performs_.size(); ++i) put(state, trackers_[performs_[i]].line);
  put(state, static_cast<std::uint16_t>(answers_.size()));
  for (std::size_t i = 0; i < answers_.size(); ++i) put(state, rank_of(answers_[i]));
  put(state, static_cast<std::uint16_t>(written_.size()));
  for (std::size_t i = 0; i < written_.size(); ++i) put(state, rank_of(written_[i]));
}

std::string Rlsq::reason(Index index) const {
  const Entry& entry = entries_[index];
  const Tracker& tracker = trackers_[entry.tracker];
  const auto describe = [this](Index other) {
    const Entry& blocker = entries_[other];
    return std::string(name(blocker.label)) + " " + std::string(name(blocker.kind)) + " " +
           std::to_string(blocker.number) + " of line " + hexadecimal(blocker.line);
  };
  std::string text;
  const OrderClasses waiting = order_.waiting(index);
  Index named = kNone;
  for (unsigned c = 0; c < kOrderClassCount; ++c) {
    if ((waiting & (1U << c)) == 0) continue;
    const Index blocker = order_.blocker(index, static_cast<OrderClass>(c));
    if (blocker == named) continue;
    named = blocker;
    text += (text.empty() ? "waits for " : ", for ") + describe(blocker);
  }
  const auto and_then = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (entry.kind == Kind::kRead) {
    if (entry.state == EntryState::kSent) and_then("its line is being read");
    if (entry.state == EntryState::kAgain) and_then("its line is being read and must be read again");
    if (entry.state == EntryState::kValue) and_then("has a value");
    if (entry.state == EntryState::kHeld && is_turn_of(index)) {
      and_then(is_active_read(index) ? "waits for a read of its line"
                                     : "waits for " + describe(tracker.first));
    }
    return text;
  }
  if (tracker.first != index) {
    and_then("its line is in use by " + describe(tracker.first));
    return text;
  }
  switch (tracker.ownership) {
    case LineOwnership::kNone:
      and_then("owns nothing");
      break;
    case LineOwnership::kQueued:
    case LineOwnership::kUnderWay:
      and_then("asks for its line");
      break;
    case LineOwnership::kOwned:
      and_then("owns its line");
      break;
    case LineOwnership::kPerforming:
      and_then("is being performed");
      break;
  }
  return text;
}

void Rlsq::who_waits(std::vector<std::string>& lines) const {
  for (const Index index : entries_by_arrival()) {
    const Entry& entry = entries_[index];
    const std::string who = "requester " + std::to_string(entry.domain.requester) + " thread " +
                            std::to_string(entry.domain.thread) + ", " + std::string(name(entry.label)) +
                            " " + std::string(name(entry.kind)) + " " + std::to_string(entry.number) +
                            " of line " + hexadecimal(entry.line);
    lines.push_back(who + ": " +
                    (entry.state == EntryState::kDone ? "its answer is not taken" : reason(index)));
  }
}

}  // namespace wharf::ordering
