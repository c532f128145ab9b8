// SPDX-License-Identifier: Apache-2.0
// The sending side of one TP channel: its packets from the oldest unconfirmed one to the newest, as a list of
// places in a pool that all channels share. Apart from engine/reliability/send_window.h because that one
// holds the places of a whole window for every channel.
#pragma once

#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/time.h"
#include "engine/ub/fresh.h"
#include "engine/ub/record_pool.h"
#include "wire/payload.h"
#include "wire/psn.h"

namespace wharf::ub {

/// What a numbered packet carries: a TA segment of the initiator, or a response of the target.
enum class PacketOrigin : std::uint8_t { kRequest, kResponse };

enum class PacketState : std::uint8_t {
  kFree,      ///< Confirmed; nothing is held for it.
  kFetching,  ///< Its data is being read.
  kReady,     ///< May be sent.
  kSent,      ///< Not confirmed; its data has been let go.
};

/// Enough to build a packet, and to build it again: the data itself is read from memory each time. A place in
/// the pool that is free has no data.
struct TxPacket {
  /// kReady (and, gathered, kFetching): holds a reference to data.buffer. Otherwise there is no buffer, and
  /// the rest means nothing; so it does where `length` is 0 or `fetch_failed`.
  wire::Payload data;
  std::uint64_t logical = 0;  ///< Its number.
  std::uint64_t resend_mark =
      0;  ///< First new number behind its last retransmission; 0 when it was sent once.
  TimePs sent_at;
  std::uint32_t object = kNoSlot;  ///< Transaction or inbound message.
  std::uint32_t offset = 0;        ///< Of its data within the segment or response.
  std::uint32_t length = 0;
  wire::Psn tpmsn = 0;
  std::uint32_t next = kNoSlot;  ///< The packet with the next number.
  std::uint32_t channel = kNoSlot;
  PacketOrigin origin = PacketOrigin::kRequest;
  PacketState state = PacketState::kFree;
  std::uint8_t fetches_open = 0;
  bool last = false;
  bool confirmed = false;     ///< Of itself; it stays until the packets before it are confirmed, too.
  bool resend = false;        ///< Queued for retransmission,
  bool prepared = false;      ///< and its data fetched or being fetched.
  bool fetch_failed = false;  ///< Its data could not be read: it goes out without.
  bool lost = false;          ///< The controller was told so of its last sending.
};

/// Copied, because building one in its place takes twice the instructions.
inline constexpr TxPacket kFreshPacket{};

/// Names the packet in a place of the pool, for the answer to a read of its data.
constexpr std::uint64_t reference_to(std::uint32_t place, std::uint64_t logical) {
  return logical << 32U | place;
}

using TxPool = RecordPool<TxPacket>;

/// Numbers are 64-bit logical counters that never wrap. Every call that may free packets takes `freed`, which
/// is told the index of each.
class TxWindow {
 public:
  /// What a hardware context stores; everything else is the list.
  struct Counters {
    std::uint64_t una = 0;   ///< Oldest number that is not confirmed.
    std::uint64_t next = 0;  ///< Number of the next new packet.
  };

  std::uint64_t una() const { return counters_.una; }
  std::uint64_t next() const { return counters_.next; }
  bool full() const { return counters_.next - counters_.una >= limit_; }
  /// Numbers that can be given before it is full().
  std::uint32_t room() const {
    const std::uint64_t given = counters_.next - counters_.una;
    return given < limit_ ? limit_ - static_cast<std::uint32_t>(given) : 0;
  }
  void set_limit(std::uint32_t limit) { limit_ = limit; }
  /// The logical number of an acknowledged PSN.
  std::uint64_t unwrap(wire::Psn psn) const { return wire::psn_unwrap(counters_.una, psn); }

  /// The packet with the number una(), and the newest; kNoSlot when nothing is outstanding.
  std::uint32_t head() const { return head_; }
  std::uint32_t tail() const { return tail_; }
  /// The first packet that was never sent, or kNoSlot.
  std::uint32_t cursor() const { return cursor_; }

  /// Gives the next number to the packet at `index`, a fresh one from the pool.
  void push(TxPool& pool, std::uint32_t index) {
    WHARF_CHECK(!full());
    append(pool, index);
  }
  /// The same for one who has just found that it is not full().
  void append(TxPool& pool, std::uint32_t index) {
    pool[index].logical = counters_.next++;
    (tail_ == kNoSlot ? head_ : pool[tail_].next) = index;
    tail_ = index;
    if (cursor_ == kNoSlot) cursor_ = index;
  }
  /// The packet at cursor() was sent.
  void sent(const TxPool& pool) { sent(pool[cursor_].next); }
  /// The same for one who knows which packet is behind it.
  void sent(std::uint32_t next) { cursor_ = next; }

  /// Confirms every packet before `end` (una <= end <= next) and lets it go together with those behind it
  /// that were confirmed before. `released(packet)` is called once for each packet that was not confirmed
  /// before. Whether una moved.
  template <typename Released, typename Freed>
  bool acknowledge_before(TxPool& pool, std::uint64_t end, Released&& released, Freed&& freed) {
    WHARF_CHECK(end >= counters_.una && end <= counters_.next);
    const std::uint64_t before = counters_.una;
    while (counters_.una < end) {
      confirm(pool[head_], released);
      pop(pool, freed);
    }
    advance_over_confirmed(pool, freed);
    return counters_.una != before;
  }

  /// Takes the packets before `end` out, one at least, which have been sent, while none is queued for
  /// retransmission, and lets them go; each(packet) confirms one that was not confirmed before.
  template <typename Each>
  void take_sent(TxPool& pool, std::uint64_t end, Each&& each) {
    WHARF_CHECK(end > counters_.una && end <= counters_.next && resend_count_ == 0);
    std::uint32_t at = head_;
    std::uint32_t last = at;
    for (std::uint64_t number = counters_.una; number < end; ++number) {
      TxPacket& packet = pool[at];
      last = at;
      at = packet.next;
      if (!packet.confirmed) each(packet);
    }
    pool.release_run(head_, last);
    counters_.una = end;
    head_ = at;
    if (at == kNoSlot) tail_ = kNoSlot;
  }

  /// Confirms the packet at head(), which is not queued for retransmission, and lets it go with those behind
  /// it that were confirmed before; nobody is told that it was released.
  template <typename Freed>
  void confirm_head(TxPool& pool, Freed&& freed) {
    pop(pool, freed);
    while (head_ != kNoSlot && pool[head_].confirmed) pop(pool, freed);
  }

  /// Confirms one packet out of order. Whether it was not confirmed before.
  template <typename Released>
  bool confirm(TxPacket& packet, Released&& released) {
    if (packet.confirmed) return false;
    unqueue(packet);
    packet.confirmed = true;
    released(packet);
    return true;
  }

  /// Lets packets go that are confirmed already; whether una moved.
  template <typename Freed>
  bool advance_over_confirmed(TxPool& pool, Freed&& freed) {
    const std::uint64_t before = counters_.una;
    while (head_ != kNoSlot && pool[head_].confirmed) pop(pool, freed);
    return counters_.una != before;
  }

  /// Queues a packet for retransmission unless it is confirmed or queued already; whether it was queued now.
  bool queue_retransmission(const TxPool& pool, TxPacket& packet, std::uint32_t index) {
    if (packet.confirmed || packet.resend) return false;
    packet.resend = true;
    if (resend_count_ == 0 || packet.logical < pool[resend_low_].logical) resend_low_ = index;
    ++resend_count_;
    return true;
  }
  std::uint32_t retransmissions_queued() const { return resend_count_; }
  /// The queued packet with the lowest number; there is one.
  std::uint32_t first_retransmission(const TxPool& pool) {
    WHARF_CHECK(resend_count_ > 0);
    while (!pool[resend_low_].resend) resend_low_ = pool[resend_low_].next;
    return resend_low_;
  }
  /// The packet was sent again: it leaves the queue.
  void unqueue(TxPacket& packet) {
    if (!packet.resend) return;
    packet.resend = false;
    --resend_count_;
  }

  /// Starts over at `first`; nothing is outstanding.
  void reset(std::uint64_t first) {
    WHARF_CHECK(head_ == kNoSlot && resend_count_ == 0);
    counters_ = {first, first};
  }
  /// Puts the counters back after they were kept elsewhere.
  void restore(const Counters& counters) { counters_ = counters; }

 private:
  template <typename Freed>
  void pop(TxPool& pool, Freed& freed) {
    const std::uint32_t index = head_;
    const std::uint32_t next = pool[index].next;
    ++counters_.una;
    head_ = next;
    if (next == kNoSlot) tail_ = kNoSlot;
    if (cursor_ == index) cursor_ = next;
    if (resend_low_ == index) resend_low_ = next;
    freed(index);
  }

  Counters counters_;
  std::uint32_t limit_ = 0;
  std::uint32_t head_ = kNoSlot;
  std::uint32_t tail_ = kNoSlot;
  std::uint32_t cursor_ = kNoSlot;
  std::uint32_t resend_low_ = kNoSlot;
  std::uint32_t resend_count_ = 0;
};

}  // namespace wharf::ub
