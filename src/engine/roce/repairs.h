// SPDX-License-Identifier: Apache-2.0
// What the requester of a queue pair with selective repeat knows about each PSN of its window, and which of
// them are to be sent again. [decision 0110]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "wire/psn.h"

namespace wharf::roce {

using wire::Psn;

/// Notes of a window of PSNs that begins with the oldest unanswered one.
///
/// Two frontiers say what is missing. Requests: the peer reports what arrives behind a gap, so a request
/// before the newest report that was neither acknowledged nor reported is missing. Answers: they come in the
/// order of PSNs, so data of a READ or atomic before the newest answer is missing.
class Repairs {
 public:
  /// `window`: PSNs, a power of two.
  explicit Repairs(std::uint32_t window) : mask_(window - 1), notes_(window) {
    queue_.reserve(window);
    for (auto& resent : resent_) resent.reserve(window);
  }

  /// A connection begins with `first`.
  void begin(Psn first) {
    std::fill(notes_.begin(), notes_.end(), 0);
    queue_.clear();
    for (auto& resent : resent_) resent.clear();
    missing_ = reported_ = answered_ = searched_ = first;
    refused_ = kNobody;
  }
  std::uint32_t window() const { return mask_ + 1; }

  // --- What is known. ---

  /// The first request that was missing when the peer last said so: those before it have arrived there.
  Psn missing() const { return missing_; }
  void set_missing(Psn psn) { missing_ = psn; }
  /// Requests before it have been looked at: they arrived, or are being repaired.
  Psn reported() const { return reported_; }
  /// Requests before it were carried out, and their answers sent.
  Psn answered() const { return answered_; }
  void raise_reported(Psn psn) {
    if (wire::psn_after(psn, reported_)) reported_ = psn;
  }
  void raise_answered(Psn psn) {
    if (wire::psn_after(psn, answered_)) answered_ = psn;
  }
  /// Answers before it have been looked for. No more than answered(): the window may end before that.
  Psn searched() const { return searched_; }
  void raise_searched(Psn psn) {
    if (wire::psn_after(psn, searched_)) searched_ = psn;
  }
  /// The peer has the request with `psn`, and keeps it.
  bool has_arrived(Psn psn) const { return (note(psn) & kArrived) != 0; }
  void set_arrived(Psn psn) { note(psn) |= kArrived; }
  void clear_arrived(Psn psn) { note(psn) &= ~kArrived; }
  /// The data or value that the answer `psn` carries is here.
  bool has_data(Psn psn) const { return (note(psn) & kData) != 0; }
  void set_data(Psn psn) { note(psn) |= kData; }
  /// PSNs from `from` to before `to` are answered.
  void forget(Psn from, Psn to) {
    const std::uint32_t steps = std::min(wire::psn_subtract(to, from), window());
    for (std::uint32_t at = 0; at < steps; ++at) note(from + at) = 0;
  }

  // --- What is to be sent again. ---

  /// What was missing: a request, or what answers one.
  enum class Kind : std::uint8_t { kRequest, kAnswer };

  /// Whether `psn` waits to be sent again, or was.
  bool is_under_repair(Psn psn, Kind kind) const {
    const std::uint32_t of = note(psn);
    if ((of & kQueued) != 0) return true;
    return (of & (kind == Kind::kRequest ? kRequestResent : kAnswerResent)) != 0;
  }
  /// `psn` is to be sent again, unless it waits for that already.
  void queue(Psn psn) {
    if ((note(psn) & kQueued) != 0 || queue_.full()) return;
    note(psn) |= kQueued;
    queue_.push_back(psn);
  }
  bool is_queued(Psn psn) const { return (note(psn) & kQueued) != 0; }
  bool has_next() const { return !queue_.empty(); }
  Psn next() const { return queue_.front(); }
  /// It stays queued until note_left() or give_up().
  void pop() { queue_.pop_front(); }
  void give_up(Psn psn) { note(psn) &= ~kQueued; }

  /// `psn` was sent again. Whatever arrives of what is first sent from `mark` on was sent later.
  void note_left(Psn psn, Kind kind, Psn mark) {
    const std::uint32_t resent = kind == Kind::kRequest ? kRequestResent : kAnswerResent;
    note(psn) = (note(psn) & (kArrived | kData)) | resent | mark;
    Ring<Resent>& ring = resent_[static_cast<std::size_t>(kind)];
    if (ring.full()) ring.pop_front();  // The timer is left for it.
    ring.push_back({psn, mark});
  }
  /// Calls `again(psn)` for what was sent again before `heard`, the number of a packet that arrived, was
  /// sent.
  template <typename Again>
  void for_overtaken(Kind kind, Psn heard, Psn oldest, Again again) {
    const std::uint32_t resent = kind == Kind::kRequest ? kRequestResent : kAnswerResent;
    Ring<Resent>& ring = resent_[static_cast<std::size_t>(kind)];
    while (!ring.empty() && !wire::psn_before(heard, ring.front().mark)) {
      const Resent one = ring.front();
      ring.pop_front();
      if (wire::psn_before(one.psn, oldest)) continue;
      std::uint32_t& of = note(one.psn);
      if ((of & resent) == 0 || (of & wire::kPsnMask) != one.mark) continue;  // Sent once more since.
      of &= ~resent;
      again(one.psn);
    }
  }

  /// Receiver-not-ready: `psn` goes again when the wait is over.
  void set_refused(Psn psn) { refused_ = psn; }
  bool is_refused(Psn psn) const { return refused_ == psn; }
  /// The wait is over: what goes again now, if it is not before `oldest`.
  void end_refusal(Psn oldest) {
    if (refused_ != kNobody && !wire::psn_before(refused_, oldest)) queue(refused_);
    refused_ = kNobody;
  }

  std::size_t bytes_held() const { return bytes(window()); }
  /// What one queue pair takes with this window.
  static std::size_t bytes(std::uint32_t window) {
    return std::size_t{window} * (2 * sizeof(std::uint32_t) + 2 * sizeof(Resent));
  }

 private:
  // A note: the mark in its low 24 bits, and above:
  static constexpr std::uint32_t kArrived = 1U << 24U;
  static constexpr std::uint32_t kData = 1U << 25U;
  static constexpr std::uint32_t kQueued = 1U << 26U;
  static constexpr std::uint32_t kRequestResent = 1U << 27U;
  static constexpr std::uint32_t kAnswerResent = 1U << 28U;

  struct Resent {
    Psn psn = 0;
    Psn mark = 0;
  };

  std::uint32_t& note(Psn psn) { return notes_[psn & mask_]; }
  std::uint32_t note(Psn psn) const { return notes_[psn & mask_]; }

  static constexpr Psn kNobody = 0xffff'ffff;

  Psn missing_ = 0;
  Psn refused_ = kNobody;
  std::uint32_t mask_;
  Psn reported_ = 0;
  Psn answered_ = 0;
  Psn searched_ = 0;
  std::vector<std::uint32_t> notes_;
  Ring<Psn> queue_;
  Ring<Resent> resent_[2];  ///< By kind, in the order of leaving.
};

}  // namespace wharf::roce
