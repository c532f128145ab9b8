// SPDX-License-Identifier: Apache-2.0
// How many places of one kind each peer may hold when all peers draw on one pool: a share of its own that no
// other can take, and of the rest as much as it may have at most.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wharf::ub {

// Places that each holder has for itself, as far as it may have that many at all, and that all have together
// beyond those. The common ones serve 16 peers (transactions: 64 jetties) with all that today's defaults let
// each have.
inline constexpr std::uint32_t kMessageShare = 1;  ///< Requests of a host in execution or being answered.
inline constexpr std::uint32_t kMessagesCommon = 16384;
inline constexpr std::uint32_t kPacketShare =
    1;  ///< Packets of a channel that are numbered and not confirmed.
inline constexpr std::uint32_t kPacketsCommon = 16384;
inline constexpr std::uint32_t kAheadShare = 1;  ///< Packets of a host that have arrived before earlier ones.
inline constexpr std::uint32_t kAheadCommon = 16384;
inline constexpr std::uint32_t kParkedShare = 1;  ///< Of these, the ones that have to be kept until then.
inline constexpr std::uint32_t kParkedCommon = 4096;
inline constexpr std::uint32_t kSegmentShare = 8;  ///< TA segments of a jetty.
inline constexpr std::uint32_t kSegmentsCommon = 16384;

/// Makes a pool that grows with each queue or peer as large as it must be, in steps of an eighth: few moves,
/// and little that nobody asked for.
template <typename Pool>
void grow_gently(Pool& pool, std::uint32_t capacity) {
  if (capacity > pool.capacity()) pool.reserve(std::max(capacity, pool.capacity() + pool.capacity() / 32));
}

/// Counts places, owns none. A holder keeps the number that it holds and hands it in with every call.
class SharedRoom {
 public:
  /// Each holder may have `most` places, of which min(most, share) are its own. All of them together may have
  /// `common` beyond these, or less when there are too few holders to use them.
  SharedRoom(std::uint32_t most, std::uint32_t share, std::uint32_t common)
      : most_(most), share_(std::min(most, share)), common_most_(common) {}
  /// The shares are taken from `common`, but for half of it: many holders need no more places than few.
  static SharedRoom with_shares_inside(std::uint32_t most, std::uint32_t share, std::uint32_t common) {
    SharedRoom room(most, share, common);
    room.shares_inside_ = true;
    return room;
  }

  /// There are `holders`; gives the places that the pool needs. Never fewer holders than before.
  std::uint32_t fit(std::uint32_t holders) {
    const std::uint64_t shares = std::uint64_t{holders} * share_;
    const std::uint64_t inside = shares_inside_ ? std::min<std::uint64_t>(shares, common_most_ / 2) : 0;
    const auto fitting = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(common_most_ - inside, std::uint64_t{holders} * (most_ - share_)));
    // Those that somebody has do not become anybody's share.
    const std::uint32_t common = std::max(fitting, common_ - common_left_);
    common_left_ += common - common_;
    common_ = common;
    return holders * share_ + common_;
  }

  /// Whether one who holds `held` may take another.
  bool has(std::uint32_t held) const { return held < share_ || (held < most_ && common_left_ > 0); }
  /// Whether anyone who holds fewer than it may have may take another, whatever its share.
  bool has_common_left() const { return common_left_ > 0; }
  /// How many one who holds `held` may have beside these.
  std::uint32_t most_beside(std::uint32_t held) const { return held < most_ ? most_ - held : 0; }
  /// The same for one who holds `early` common places on top, see take_common().
  bool has(std::uint32_t held, std::uint32_t early) const {
    return held + early < most_ && (held < share_ || common_left_ > 0);
  }
  /// Whether one who holds `held` and `early` may take a common place, leaving its share to what comes first.
  /// Where nobody may have more than the share, that is what it gets.
  bool has_common(std::uint32_t held, std::uint32_t early) const {
    return held + early < most_ && (most_ == share_ || common_left_ > 0);
  }
  void take_common(std::uint32_t& held, std::uint32_t& early) {
    if (most_ == share_) {
      take(held);
    } else {
      ++early;
      --common_left_;
    }
  }
  void give_common(std::uint32_t& held, std::uint32_t& early) {
    if (most_ == share_) {
      give(held);
    } else {
      --early;
      ++common_left_;
    }
  }
  std::uint32_t most() const { return most_; }

  /// Whether one who holds `held` is refused because others have taken the common places.
  bool is_short(std::uint32_t held) const { return held < most_ && !has(held); }
  /// One more, or one fewer, for a holder.
  void take(std::uint32_t& held) {
    if (held++ >= share_) --common_left_;
  }
  /// `count` fewer.
  void give(std::uint32_t& held, std::uint32_t count) {
    const std::uint32_t beyond = held > share_ ? held - share_ : 0;
    held -= count;
    common_left_ += std::min(beyond, count);
  }
  void give(std::uint32_t& held) {
    if (--held >= share_) ++common_left_;
  }

 private:
  std::uint32_t most_;
  std::uint32_t share_;
  std::uint32_t common_most_;
  bool shares_inside_ = false;
  std::uint32_t common_ = 0;
  std::uint32_t common_left_ = 0;  ///< Of common_: nobody has them.
};

}  // namespace wharf::ub
