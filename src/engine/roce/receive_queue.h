// SPDX-License-Identifier: Apache-2.0
// The receive entries of one queue pair: posted, fetched by the interface, taken by a message, completed.
#pragma once

#include <cstdint>

#include "engine/roce/pieces.h"
#include "engine/roce/position_ring.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"

namespace wharf::roce {

/// One receive entry.
struct ReceiveEntry {
  std::uint64_t id;
  Pieces local;
  verbs::AddressSpaceId space;
  std::uint8_t local_count;
};
static_assert(sizeof(ReceiveEntry) == 64);

/// Positions: [head, taken) serve messages that arrive, [taken, tail) are free. Entries before `fetched` are
/// on the interface, entries before `fetch_issued` are on their way.
class ReceiveQueue {
 public:
  /// `needs_fetch`: entries lie in host memory and are read before they are used.
  void attach(ReceiveEntry* memory, std::uint32_t depth, bool needs_fetch) {
    entries_.attach(memory, depth);
    needs_fetch_ = needs_fetch;
    clear();
  }
  void clear() {
    entries_.clear();
    begin_ = entries_.tail();
    taken_ = fetched_ = fetch_issued_ = entries_.tail();
    has_bad_ = false;
    fault_ = verbs::CompletionStatus::kSuccess;
  }

  bool full() const { return entries_.full(); }
  std::uint32_t held() const { return entries_.size(); }
  std::uint32_t capacity() const { return entries_.capacity(); }
  /// Entries that no message has taken yet.
  std::uint32_t free_entries() const { return entries_.tail() - taken_; }

  /// `space`: the address space that Pieces::resolve() found.
  void post(const verbs::ReceiveRequest& request, verbs::AddressSpaceId space) {
    ReceiveEntry& entry = entries_.push_stale();
    entry.id = request.id;
    entry.local.set(request.local, request.local_count);
    entry.local_count = request.local_count;
    entry.space = space;
  }
  /// Takes the first free entry with this id out; false when there is none. Not where entries are fetched.
  bool cancel(std::uint64_t id) {
    for (Position at = taken_; at != entries_.tail(); ++at) {
      if (entries_[at].id != id) continue;
      for (; at + 1 != entries_.tail(); ++at) entries_[at] = entries_[at + 1];
      entries_.pop_back();
      return true;
    }
    return false;
  }

  /// Takes the next free entry for a message; one is free.
  Position take() { return taken_++; }
  /// The entry that was taken last serves no message after all.
  void give_back() { --taken_; }
  const ReceiveEntry& entry(Position position) const { return entries_[position]; }
  /// The oldest entry is completed.
  void pop() { entries_.pop(); }
  Position head() const { return entries_.head(); }
  Position taken() const { return taken_; }
  bool empty() const { return entries_.empty(); }

  bool needs_fetch() const { return needs_fetch_; }
  bool is_fetched(Position position) const {
    return !needs_fetch_ || static_cast<std::int32_t>(position - fetched_) < 0;
  }
  /// First entry without a fetch, and how many could be fetched now when `ahead` entries beyond the taken
  /// ones are wanted.
  Position fetch_issued() const { return fetch_issued_; }
  std::uint32_t fetch_wanted(std::uint32_t ahead) const {
    if (!needs_fetch_) return 0;
    const std::uint32_t posted = entries_.tail() - fetch_issued_;
    const auto lacking = static_cast<std::int32_t>(taken_ + ahead - fetch_issued_);
    if (lacking <= 0) return 0;
    return static_cast<std::uint32_t>(lacking) < posted ? static_cast<std::uint32_t>(lacking) : posted;
  }
  void note_fetch_issued(std::uint32_t count) { fetch_issued_ += count; }
  void note_fetched(Position past_last) {
    if (static_cast<std::int32_t>(past_last - fetched_) > 0) fetched_ = past_last;
  }

  /// Whether the entry was posted before the last clear(): an answer about it comes too late to matter for
  /// those that are here now.
  bool is_cleared(Position position) const { return static_cast<std::int32_t>(position - begin_) < 0; }

  /// The entries from `first` on could not be fetched; the first message that needs one ends the queue pair.
  void note_bad(Position first) {
    if (!has_bad_ || static_cast<std::int32_t>(first - first_bad_) < 0) first_bad_ = first;
    has_bad_ = true;
  }
  bool is_bad(Position position) const {
    return has_bad_ && static_cast<std::int32_t>(position - first_bad_) >= 0;
  }

  /// The message that takes the entry cannot have it, or its bytes cannot be placed there.
  void note_fault(Position position, verbs::CompletionStatus why) {
    fault_ = why;
    faulty_ = position;
  }
  /// How the entry ends when its message does, or when the queue pair is flushed: kSuccess without a fault.
  verbs::CompletionStatus fault_of(Position position) const {
    if (position == faulty_) return fault_;
    return verbs::CompletionStatus::kSuccess;
  }

  std::size_t bytes_touched() const { return entries_.bytes_touched(); }

 private:
  PositionRing<ReceiveEntry> entries_;
  bool needs_fetch_ = false;
  Position begin_ = 0;  ///< First position since the last clear().
  Position taken_ = 0;
  Position fetched_ = 0;
  Position fetch_issued_ = 0;
  bool has_bad_ = false;
  verbs::CompletionStatus fault_ = verbs::CompletionStatus::kSuccess;
  Position first_bad_ = 0;
  Position faulty_ = 0;
};

}  // namespace wharf::roce
