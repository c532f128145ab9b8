// SPDX-License-Identifier: Apache-2.0
// What a switch needs to know about a packet, in half a cache line. The packet itself lies elsewhere and is
// touched at its two ends only; what the fabric does to it (marks, trims) is noted here and read by the
// receiving host.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace wharf::sim {

/// Index of a PacketHead in its partition's pool.
using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = 0xffff'ffff;
/// Index of a packet's body in the store that all partitions share.
using BodyId = std::uint32_t;
inline constexpr BodyId kNoBody = 0xffff'ffff;

/// PacketHead::flags.
enum HeadFlag : std::uint8_t {
  kHeadEcnCapable = 1,       ///< A congested switch may mark it.
  kHeadMarked = 2,           ///< A switch marked it.
  kHeadTrimmable = 4,        ///< A full queue may cut its payload off instead of dropping it.
  kHeadTrimmed = 8,          ///< A switch cut its payload off.
  kHeadTrimmedLastHop = 16,  ///< Beside kHeadTrimmed: the switch in front of the destination did.
  kHeadDamaged = 32,         ///< The frame check at the end of the link refuses it.
  kHeadLinkControl = 64,     ///< Between two neighbours: pause, credits, retry; `flow` carries its content.
  kHeadSequenced = 128,      ///< Under link-level retry; no body: the far end will not take it.
};

/// One packet on its way. Intrusive: `next` links it into the queue of a port or into the packets in flight
/// on a link.
struct PacketHead {
  TimePs time;  ///< In flight: when the far end handles it. Queued: when it was queued.
  SlotId next = kNoSlot;
  BodyId body = kNoBody;
  std::uint32_t destination = 0;   ///< LeafAttachment of the destination host (routing.h); set by the fabric.
  std::uint32_t flow = 0;          ///< Names the flow for hashing.
  std::uint16_t bytes = 0;         ///< What a link is busy for.
  std::uint16_t entropy = 0;       ///< The value that spreads packets of a flow over paths.
  std::uint16_t leaf = 0;          ///< Leaf of the destination; set by the fabric.
  std::uint8_t traffic_class = 0;  ///< wire::TrafficClass, or any number below kFabricClasses.
  std::uint8_t flags = 0;          ///< HeadFlag bits.
};
static_assert(sizeof(PacketHead) == 32);

/// Traffic classes that a profile can tell apart.
inline constexpr std::uint32_t kFabricClasses = 8;

/// The heads of one partition. References are valid until the next acquire().
class HeadPool {
 public:
  PacketHead& operator[](SlotId slot) { return heads_[slot]; }
  const PacketHead& operator[](SlotId slot) const { return heads_[slot]; }

  SlotId acquire() {
    if (free_ == kNoSlot) [[unlikely]]
      grow();
    const SlotId slot = free_;
    free_ = heads_[slot].next;
    ++in_use_;
    return slot;
  }
  void release(SlotId slot) {
    heads_[slot].next = free_;
    free_ = slot;
    --in_use_;
  }
  std::uint32_t in_use() const { return in_use_; }
  std::uint64_t capacity() const { return heads_.size(); }
  [[gnu::always_inline]] void prefetch(SlotId slot) const { __builtin_prefetch(heads_.data() + slot); }

 private:
  [[gnu::noinline]] void grow() {
    const std::size_t old_count = heads_.size();
    const std::size_t count = old_count == 0 ? 1024 : old_count + old_count / 2;
    WHARF_CHECK(count < kNoSlot);
    heads_.resize(count);
    for (std::size_t i = count; i > old_count; --i) {
      heads_[i - 1].next = free_;
      free_ = static_cast<SlotId>(i - 1);
    }
  }

  std::vector<PacketHead> heads_;
  SlotId free_ = kNoSlot;
  std::uint32_t in_use_ = 0;
};

}  // namespace wharf::sim
