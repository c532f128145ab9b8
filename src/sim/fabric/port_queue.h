// SPDX-License-Identifier: Apache-2.0
// The queues of an output port as lists of packet heads: append, take, replace the newest, choose the next.
#pragma once

#include <bit>

#include "sim/fabric/port.h"

namespace wharf::sim {

/// Takes the bytes of the packet that was being sent off the occupancy, once it has been sent.
inline void settle(Port& port) {
  port.queue_bytes[port.sending_queue] -= port.sending_bytes;
  port.sending_bytes = 0;
}

inline void append(Port& port, HeadPool& heads, std::uint32_t queue, SlotId slot) {
  PacketHead& head = heads[slot];
  head.next = kNoSlot;
  const unsigned bit = 1U << queue;
  port.queue_bytes[queue] += head.bytes;
  if ((port.waiting & bit) == 0) {
    port.waiting = static_cast<std::uint8_t>(port.waiting | bit);
    port.queue_head[queue] = slot;
  } else {
    heads[port.queue_tail[queue]].next = slot;
  }
  port.queue_tail[queue] = slot;
}

/// Removes the oldest packet of a queue that has some. Its bytes stay in the occupancy until settle().
inline SlotId take_oldest(Port& port, HeadPool& heads, std::uint32_t queue) {
  const SlotId slot = port.queue_head[queue];
  const SlotId next = heads[slot].next;
  port.queue_head[queue] = next;
  heads.prefetch(next);
  if (next == kNoSlot) port.waiting = static_cast<std::uint8_t>(port.waiting & ~(1U << queue));
  if (slot == port.newest_but_one) port.newest_but_one = kNoSlot;
  return slot;
}

/// Puts `slot` in the place of the newest packet of a queue that has some; returns the packet replaced.
/// The queue has been filled by append_as().
inline SlotId replace_newest(Port& port, HeadPool& heads, std::uint32_t queue, SlotId slot) {
  const SlotId newest = port.queue_tail[queue];
  port.queue_bytes[queue] += heads[slot].bytes;
  port.queue_bytes[queue] -= heads[newest].bytes;
  heads[slot].next = kNoSlot;
  if (port.newest_but_one == kNoSlot) {
    port.queue_head[queue] = slot;
  } else {
    heads[port.newest_but_one].next = slot;
  }
  port.queue_tail[queue] = slot;
  return newest;
}

/// append(), which for the one queue of a port whose newest packet may be replaced keeps track of the packet
/// before that one.
inline void append_as(const PortQueueConfig& config, Port& port, HeadPool& heads, std::uint32_t queue,
                      SlotId slot) {
  if (replaces_newest(config.overflow))
    port.newest_but_one = (port.waiting & (1U << queue)) != 0 ? port.queue_tail[queue] : kNoSlot;
  append(port, heads, queue, slot);
}

}  // namespace wharf::sim
