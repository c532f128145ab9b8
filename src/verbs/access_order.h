// SPDX-License-Identifier: Apache-2.0
// How one memory access of a NIC is ordered against the others of its stream. The label is a policy of the
// responder's queue or segment, so that protocols without such labels on the wire can use it too.
#pragma once

#include <cstdint>

namespace wharf::verbs {

/// Order of an access within its stream; accesses of different streams are never ordered.
enum class AccessOrder : std::uint8_t {
  kRelaxed,      ///< May become visible in any order.
  kAcquire,      ///< Later accesses of the stream wait for it.
  kRelease,      ///< Waits for every earlier access of the stream.
  kAscending,    ///< Parts of it become visible from the lowest address upward.
  kReadRelease,  ///< A read that waits for every earlier read of the stream.
};

}  // namespace wharf::verbs
