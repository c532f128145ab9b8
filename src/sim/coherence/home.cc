// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/home.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/check.h"
#include "sim/coherence/coherence_mutation.h"

namespace wharf::sim {

Home::Home(HomeConfig config)
    : write_back_places_(config.write_back_places),
      suppliers_(config.suppliers),
      directory_(config.directory_sets, config.directory_ways),
      credits_(std::move(config.credits)) {
  WHARF_CHECK(!credits_.empty() && credits_.size() <= kMaxAgents);
  WHARF_CHECK(std::ranges::all_of(credits_, [](std::uint32_t credits) { return credits >= 1; }));
  // Answered transactions that still write to memory keep their slots.
  slots_ = std::accumulate(credits_.begin(), credits_.end(), write_back_places_);
  transactions_.resize(std::size_t{slots_} * 2);
  free_.resize(slots_);
  std::iota(free_.rbegin(), free_.rend(), 0U);
  lines_ = SlotIndex(std::size_t{slots_} * 2, slots_);
  way_waiters_.reserve(slots_);
  ready_.reserve(std::size_t{slots_} * 2);
  snoops_.reserve(std::size_t{slots_} * 2);
  memory_.reserve(std::size_t{slots_} * 2);
  responses_.reserve(slots_);
}

void Home::receive(const Message& message) {
  if (message.kind == MessageKind::kDropShared) {
    drop_sharer(message);
    return;
  }
  if (class_of(message.kind) == MessageClass::kRequest) {
    accept_request(message);
  } else {
    accept_answer(message);
  }
  run_ready();
}

void Home::reset(Transaction& transaction) {
  static constexpr Transaction kNew{};
  static_assert(std::is_standard_layout_v<Transaction> && std::is_trivially_copyable_v<Transaction>);
  std::memcpy(static_cast<void*>(&transaction), &kNew,
              offsetof(Transaction, request) + offsetof(Message, data));
}

void Home::accept_request(const Message& message) {
  WHARF_CHECK(message.agent < credits_.size() && credits_[message.agent] > 0);
  --credits_[message.agent];
  ++statistics_.requests;
  WHARF_CHECK(!free_.empty());
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  ++active_;
  Transaction& transaction = transactions_[slot];
  reset(transaction);
  copy_message(transaction.request, message);
  const std::uint32_t first = lines_.find(message.line);
  if (first == kNoSlot) {
    lines_.insert(message.line, slot);
    ready_.push_back(slot);
    return;
  }
  ++statistics_.queued;
  transaction.phase = Phase::kQueued;
  Transaction& head = transactions_[first];
  (head.last == kNone ? head.next : transactions_[head.last].next) = slot;
  head.last = slot;
}

void Home::drop_sharer(const Message& message) {
  const std::uint32_t place =
      lines_.contains(message.line) ? Directory::kNoPlace : directory_.find(message.line);
  const bool is_sharer = place != Directory::kNoPlace && !directory_.is_owned(place) &&
                         (directory_.holders(place) & agent_bit(message.agent)) != 0;
  if (!is_sharer) {
    ++statistics_.late_drops;
    return;
  }
  ++statistics_.drops;
  const std::uint64_t left = directory_.holders(place) & ~agent_bit(message.agent);
  if (left != 0) {
    directory_.set(place, left, false);
    return;
  }
  directory_.erase(place);
  if (way_waiters_.empty()) return;
  serve_way_waiter(message.line, kNone, kNone);
  run_ready();
}

void Home::accept_answer(const Message& message) {
  const std::uint32_t first = lines_.find(message.line);
  const bool is_awaited = first != kNoSlot && (transactions_[first].awaited & ~transactions_[first].unsent &
                                               agent_bit(message.agent)) != 0;
  WHARF_CHECK(is_awaited || !is_sound());
  if (!is_awaited) return;
  Transaction& transaction = transactions_[first];
  transaction.awaited &= ~agent_bit(message.agent);
  transaction.keeps_shared |= message.keeps_shared;
  if (message.has_data && (message.is_dirty || transaction.needs_data)) {
    transaction.request.data = message.data;
    transaction.has_data = true;
    transaction.is_zero = false;
    transaction.is_dirty = message.is_dirty;
    if (transaction.needs_data) ++statistics_.cache_supplies;
  }
  advance(first);
}

void Home::memory_done(LineNumber line, const LineBytes* data) {
  const std::uint32_t slot = lines_.find(line);
  WHARF_CHECK(slot != kNoSlot && transactions_[slot].memory_busy);
  Transaction& transaction = transactions_[slot];
  transaction.memory_busy = false;
  if (transaction.phase == Phase::kGathering) {
    transaction.has_data = true;
    transaction.is_zero = data == nullptr;
    if (data != nullptr) transaction.request.data = *data;
    advance(slot);
  } else {
    if (transaction.is_answered) {
      --writing_back_;
    } else if (!is_recall(slot)) {
      reply(transaction);
    }
    finish(slot);
  }
  run_ready();
}

void Home::run_ready() {
  while (!ready_.empty()) {
    const std::uint32_t slot = ready_.front();
    ready_.pop_front();
    start(slot);
  }
}

void Home::start(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  const MessageKind kind = transaction.request.kind;
  if (transaction.place == Directory::kNoPlace) transaction.place = directory_.find(transaction.request.line);
  const bool needs_place = !is_put(kind) && kind != MessageKind::kReadOnce;
  if (needs_place && transaction.place == Directory::kNoPlace && !make_place(slot)) return;
  transaction.phase = Phase::kGathering;
  if (is_put(kind)) {
    start_put(slot);
  } else if (kind == MessageKind::kGetShared || kind == MessageKind::kGetTracked ||
             kind == MessageKind::kReadOnce) {
    start_read(slot);
  } else {
    start_exclusive(slot);
  }
}

bool Home::make_place(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  const LineNumber line = transaction.request.line;
  transaction.place = directory_.insert(line);
  if (transaction.place != Directory::kNoPlace) return true;
  transaction.phase = Phase::kWaitingForWay;
  const std::uint32_t victim =
      directory_.victim(line, [this](LineNumber candidate) { return !lines_.contains(candidate); });
  if (victim == Directory::kNoPlace) {
    ++statistics_.way_waits;
    way_waiters_.push_back(slot);
  } else {
    lines_.insert(directory_.line_at(victim), slot + slots_);
    begin_recall(slot, victim, kNone, kNone);
  }
  return false;
}

/// For request `slot`; `first` to `last` wait for the line of the entry `victim`.
void Home::begin_recall(std::uint32_t slot, std::uint32_t victim, std::uint32_t first, std::uint32_t last) {
  ++statistics_.recalls;
  const std::uint32_t recall = slot + slots_;
  Transaction& transaction = transactions_[recall];
  reset(transaction);
  transaction.request.line = directory_.line_at(victim);
  transaction.request.kind = transactions_[slot].request.kind;
  transaction.request.agent = transactions_[slot].request.agent;
  transaction.next = first;
  transaction.last = last;
  transaction.place = victim;
  transaction.phase = Phase::kGathering;
  const std::uint64_t holders =
      mutated(CoherenceMutation::kForgottenBackInvalidation) ? 0 : directory_.holders(victim);
  send_snoops(recall, directory_.is_owned(victim) ? MessageKind::kFetchModified : MessageKind::kInvalidate,
              holders);
}

void Home::start_put(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  const Message& put = transaction.request;
  const std::uint32_t place = transaction.place;
  const std::uint64_t holders = place == Directory::kNoPlace ? 0 : directory_.holders(place);
  const bool is_shared_put = put.kind == MessageKind::kPutShared;
  const bool gives_up = (holders & agent_bit(put.agent)) != 0 && directory_.is_owned(place) == !is_shared_put;
  transaction.reply = MessageKind::kPutDone;
  if (!gives_up) {
    ++statistics_.stale_puts;
  } else {
    const std::uint64_t left = put.keeps_shared ? holders : holders & ~agent_bit(put.agent);
    directory_.set(place, left, false);
    if (left == 0) directory_.erase(place);
    transaction.is_dirty = put.kind == MessageKind::kPutModified;
  }
  reply_and_write_back(slot);
}

void Home::start_read(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  transaction.needs_data = true;
  const std::uint32_t place = transaction.place;
  if (place != Directory::kNoPlace) {
    const bool is_once = transaction.request.kind == MessageKind::kReadOnce;
    directory_.touch(place);
    const std::uint64_t holders = directory_.holders(place);
    if (directory_.is_owned(place)) {
      WHARF_CHECK(holders != agent_bit(transaction.request.agent) || !is_sound());
      send_snoops(slot, is_once ? MessageKind::kFetchOnce : MessageKind::kFetchShared, holders);
      return;
    }
    const AgentId supplier = pick_supplier(holders & ~agent_bit(transaction.request.agent));
    if (supplier != kMaxAgents) {
      send_snoops(slot, MessageKind::kSupply, agent_bit(supplier));
      return;
    }
  }
  advance(slot);
}

void Home::start_exclusive(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  const std::uint32_t place = transaction.place;
  const std::uint64_t self = agent_bit(transaction.request.agent);
  const MessageKind kind = transaction.request.kind;
  const bool is_owned = directory_.is_owned(place);
  const std::uint64_t holders = directory_.holders(place);
  directory_.touch(place);
  WHARF_CHECK(!is_owned || holders != self || !is_sound());
  const bool has_copy = kind == MessageKind::kUpgrade && ((!is_owned && (holders & self) != 0) ||
                                                          mutated(CoherenceMutation::kUpgradeWithoutCopy));
  if (kind == MessageKind::kUpgrade && !has_copy) ++statistics_.lost_upgrades;
  transaction.reply = has_copy ? MessageKind::kUpgradeDone : MessageKind::kData;
  transaction.needs_data = kind != MessageKind::kWriteLine && !has_copy;
  const std::uint64_t others = holders & ~self;
  if (!is_owned && transaction.needs_data) transaction.supplier = pick_supplier(others);
  // Memory is read while the copies are invalidated, unless one of them brings the bytes.
  if (!is_owned && transaction.needs_data && transaction.supplier == kMaxAgents) access_memory(slot);
  send_snoops(slot, is_owned ? MessageKind::kFetchModified : MessageKind::kInvalidate, others);
}

void Home::send_snoops(std::uint32_t slot, MessageKind kind, std::uint64_t agents) {
  Transaction& transaction = transactions_[slot];
  transaction.snoop = kind;
  transaction.unsent = transaction.awaited = agents;
  if (agents == 0) {
    advance(slot);
    return;
  }
  const auto count = static_cast<std::uint64_t>(std::popcount(agents));
  statistics_.snoops += count;
  if (kind == MessageKind::kInvalidate || kind == MessageKind::kFetchModified)
    statistics_.invalidations += count;
  snoops_.push_back(slot);
}

AgentId Home::pick_supplier(std::uint64_t agents) const {
  const std::uint64_t able = agents & suppliers_;
  return able == 0 ? AgentId{kMaxAgents} : static_cast<AgentId>(std::countr_zero(able));
}

void Home::access_memory(std::uint32_t slot) {
  transactions_[slot].memory_busy = true;
  memory_.push_back(slot);
}

void Home::advance(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  if (transaction.awaited != 0 || transaction.memory_busy) return;
  if (transaction.needs_data && !transaction.has_data) {
    access_memory(slot);
  } else {
    complete(slot);
  }
}

void Home::complete(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  if (is_recall(slot)) {
    if (mutated(CoherenceMutation::kDroppedDirtyRecall)) transaction.is_dirty = false;
  } else if (transaction.request.kind == MessageKind::kReadOnce) {
    transaction.is_dirty = false;  // The owner still has them.
  } else if (transaction.request.kind == MessageKind::kGetShared ||
             transaction.request.kind == MessageKind::kGetTracked) {
    complete_read(transaction);
  } else {
    complete_exclusive(transaction);
  }
  reply_and_write_back(slot);
}

void Home::complete_read(Transaction& transaction) {
  const std::uint32_t place = transaction.place;
  std::uint64_t holders = directory_.holders(place);
  if (directory_.is_owned(place) && !transaction.keeps_shared) holders = 0;
  const bool is_exclusive = holders == 0 && transaction.request.kind == MessageKind::kGetShared;
  // Bytes that came from an owner are written back below, so that an exclusive copy of them is clean.
  transaction.grant = is_exclusive ? Grant::kExclusive : Grant::kShared;
  if (holders == 0 || !mutated(CoherenceMutation::kForgottenSharer))
    holders |= agent_bit(transaction.request.agent);
  directory_.set(place, holders, is_exclusive);
  if (mutated(CoherenceMutation::kDroppedDirtyShare)) transaction.is_dirty = false;
}

void Home::complete_exclusive(Transaction& transaction) {
  directory_.set(transaction.place, agent_bit(transaction.request.agent), true);
  transaction.grant = Grant::kModified;
  transaction.is_dirty = false;  // The new owner answers for the bytes.
}

void Home::reply(Transaction& transaction) {
  const Message& request = transaction.request;
  ++credits_[request.agent];
  Message& answer = responses_.emplace_back();
  answer.line = request.line;
  answer.kind = transaction.reply;
  answer.agent = request.agent;
  if (transaction.reply == MessageKind::kData) {
    answer.grant = transaction.grant;
    answer.has_data = transaction.has_data;
    if (transaction.has_data && !transaction.is_zero) answer.data = request.data;
  } else if (transaction.reply == MessageKind::kPutDone) {
    answer.answers = request.kind;
  }
}

void Home::reply_and_write_back(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  if (!transaction.is_dirty) {
    if (!is_recall(slot)) reply(transaction);
    finish(slot);
    return;
  }
  if (!is_recall(slot) && writing_back_ < write_back_places_) {
    reply(transaction);
    transaction.is_answered = true;
    ++writing_back_;
  }
  transaction.phase = Phase::kWritingBack;
  access_memory(slot);
}

void Home::finish(std::uint32_t slot) {
  Transaction& transaction = transactions_[slot];
  const LineNumber line = transaction.request.line;
  const std::uint32_t first = transaction.next;
  const std::uint32_t last = transaction.last;
  transaction.phase = Phase::kFree;
  if (is_recall(slot)) {
    Transaction& owner = transactions_[slot - slots_];
    directory_.erase(transaction.place);
    owner.place = directory_.insert(owner.request.line);
    ready_.push_back(slot - slots_);
    hand_over(line, first, last);
    return;
  }
  free_.push_back(slot);
  --active_;
  if (way_waiters_.empty() || !serve_way_waiter(line, first, last)) hand_over(line, first, last);
}

/// Requests that wait for a directory entry come before those that wait for `line`, or a busy line could keep
/// its entry for ever. True when `line` is recalled, with those that wait for it behind the recall.
bool Home::serve_way_waiter(LineNumber line, std::uint32_t first, std::uint32_t last) {
  const auto waiter = std::ranges::find_if(way_waiters_, [this, line](std::uint32_t slot) {
    return directory_.same_set(transactions_[slot].request.line, line);
  });
  if (waiter == way_waiters_.end()) return false;
  const std::uint32_t slot = *waiter;
  const bool has_room = directory_.has_room(line);
  const std::uint32_t place = has_room ? Directory::kNoPlace : directory_.find(line);
  if (!has_room && place == Directory::kNoPlace) return false;
  way_waiters_.erase(waiter);
  if (has_room) {
    transactions_[slot].place = directory_.insert(transactions_[slot].request.line);
    ready_.push_back(slot);
    return false;
  }
  lines_.move(line, slot + slots_);
  begin_recall(slot, place, first, last);
  return true;
}

/// The next transaction of `line` begins; `first` to `last` wait for it.
void Home::hand_over(LineNumber line, std::uint32_t first, std::uint32_t last) {
  if (first == kNone) {
    lines_.erase(line);
    return;
  }
  transactions_[first].last = first == last ? kNone : last;
  lines_.move(line, first);
  ready_.push_back(first);
}

bool Home::next_snoop(Message& out) {
  if (snoops_.empty()) return false;
  const std::uint32_t slot = snoops_.front();
  Transaction& transaction = transactions_[slot];
  out = Message{};
  out.line = transaction.request.line;
  out.kind = transaction.snoop;
  out.agent = static_cast<AgentId>(std::countr_zero(transaction.unsent));
  out.wants_data = transaction.snoop == MessageKind::kInvalidate && transaction.supplier == out.agent;
  transaction.unsent &= transaction.unsent - 1;
  if (transaction.unsent == 0) {
    snoops_.pop_front();
    if (mutated(CoherenceMutation::kForgottenInvalidateAck) &&
        transaction.snoop == MessageKind::kInvalidate) {
      transaction.awaited = 0;
      advance(slot);
      run_ready();
    }
  }
  return true;
}

bool Home::next_response(Message& out) {
  if (responses_.empty()) return false;
  out = responses_.front();
  responses_.pop_front();
  return true;
}

bool Home::next_memory_access(MemoryAccess& out) {
  if (memory_.empty()) return false;
  const Transaction& transaction = transactions_[memory_.front()];
  memory_.pop_front();
  out.line = transaction.request.line;
  out.is_write = transaction.phase == Phase::kWritingBack;
  out.agent = transaction.request.agent;
  out.cause = transaction.request.kind;
  if (out.is_write) {
    out.data = transaction.is_zero ? LineBytes{} : transaction.request.data;
    ++statistics_.memory_writes;
  } else {
    ++statistics_.memory_reads;
  }
  return true;
}

}  // namespace wharf::sim
