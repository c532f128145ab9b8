// SPDX-License-Identifier: Apache-2.0
// Ordering at the source, as devices do it today: a NIC that needs two reads in order sends the second when
// the answer of the first is here ("Efficient Remote Memory Ordering for Non-Coherent Interconnects" 2.1
// and 6.3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/flat_map.h"
#include "base/slot_pool.h"
#include "engine/ordering/filled_pool.h"

namespace wharf::ordering {

/// What is sent one after another.
enum class SourceUnit : std::uint8_t {
  kLine,     ///< Cache lines: n lines take n round trips.
  kMessage,  ///< Messages, such as one RDMA READ: its lines overlap, the next message waits for all of them.
};

/// Counts what each stream has outstanding. Streams never wait for each other. Posted writes have no answer
/// and the fabric keeps their order, so they wait for what is outstanding but nothing waits for them.
class SourceOrder {
 public:
  /// For at most `streams` streams with something outstanding at once.
  SourceOrder(SourceUnit unit, std::uint32_t streams)
      : unit_(unit), streams_(filled_pool<Stream>(streams)), index_(streams) {}

  /// Whether a line of `message` of `stream` may be sent now. Lines of one stream are sent in order.
  bool may_send(std::uint64_t stream, std::uint64_t message) const {
    const std::uint32_t* found = index_.find(stream);
    if (found == nullptr) return streams_.in_use() < streams_.capacity();
    return unit_ == SourceUnit::kMessage && streams_[*found].message == message;
  }

  /// A line was sent that may_send() has allowed. Posted ones leave nothing outstanding.
  void sent(std::uint64_t stream, std::uint64_t message, bool is_posted) {
    WHARF_CHECK(may_send(stream, message));
    if (is_posted) return;
    std::uint32_t slot;
    if (const std::uint32_t* found = index_.find(stream)) {
      slot = *found;
    } else {
      slot = streams_.acquire();
      index_.insert(stream, slot);
      streams_[slot] = Stream{stream, message, 0};
    }
    ++streams_[slot].outstanding;
  }

  /// The answer to a line of the stream has arrived. True when nothing is outstanding any more: it may go on.
  bool answered(std::uint64_t stream) {
    const std::uint32_t* found = index_.find(stream);
    WHARF_CHECK(found != nullptr);
    const std::uint32_t slot = *found;
    if (--streams_[slot].outstanding != 0) return false;
    index_.erase(stream);
    streams_.release(slot);
    return true;
  }

  std::uint32_t streams_waiting() const { return streams_.in_use(); }

  /// Appends what decides the future: the streams that wait, ascending. Messages are the caller's names.
  void append_state(std::vector<std::byte>& state) const {
    std::vector<std::uint64_t> words;
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < streams_.extent(); ++slot) {
      if (streams_.is_used(slot)) slots.push_back(slot);
    }
    std::sort(slots.begin(), slots.end(), [this](std::uint32_t left, std::uint32_t right) {
      return streams_[left].stream < streams_[right].stream;
    });
    words.push_back(slots.size());
    for (const std::uint32_t slot : slots) {
      words.insert(words.end(), {streams_[slot].stream, streams_[slot].message, streams_[slot].outstanding});
    }
    const auto* from = reinterpret_cast<const std::byte*>(words.data());
    state.insert(state.end(), from, from + words.size() * sizeof(std::uint64_t));
  }

 private:
  struct Stream {
    std::uint64_t stream = 0;
    std::uint64_t message = 0;
    std::uint64_t outstanding = 0;  ///< Lines sent and not answered.
  };

  SourceUnit unit_;
  SlotPool<Stream> streams_;
  FlatMap index_;
};

}  // namespace wharf::ordering
