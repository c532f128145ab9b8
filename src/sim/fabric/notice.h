// SPDX-License-Identifier: Apache-2.0
// What hosts tell one another beside the network: that a flow may start, because another has ended elsewhere.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// A host says it to all (PartitionContext::told), and all hear of it at the same instant, notice_delay()
/// later (NoticeListener). Every partition hears every notice, in the order of time, then subject.
/// So what hosts learn and when depends on the topology, not on how it is divided.
struct Notice {
  TimePs at;                  ///< Told; of a notice that is heard, when that is.
  std::uint32_t subject = 0;  ///< Whatever the hosts mean by it.

  friend bool operator<(const Notice& a, const Notice& b) {
    return a.at != b.at ? a.at < b.at : a.subject < b.subject;
  }
};

/// Who acts on what the hosts of a partition hear.
class NoticeListener {
 public:
  virtual ~NoticeListener() = default;
  /// Called for each notice before the hosts have reached its time; names hosts that it has given something
  /// to do in PartitionContext::woken.
  virtual void hear(const Notice& notice) = 0;
};

}  // namespace wharf::sim
