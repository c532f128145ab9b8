// SPDX-License-Identifier: Apache-2.0
// Scatter: one message over a list of places. All of it is validated before its first byte moves; its writes
// are in no order among themselves; it has ended when all are done.
#pragma once

#include <cstdint>

#include "engine/rdmo/core.h"

namespace wharf::rdmo {

class Scatters {
 public:
  explicit Scatters(WorkerCore& core) : core_(core) {}

  [[gnu::noinline]] void start(std::uint32_t request);
  /// The payload that was asked for is here, or will not come.
  [[gnu::noinline]] void fetched(std::uint32_t request, const AccessResult& result);
  [[gnu::noinline]] void written(std::uint32_t write, AccessStatus status);
  /// Goes on with those that had no free write.
  void retry_starved();
  bool starved() const { return !starved_.empty(); }

 private:
  /// What is wrong with the payload, or kDone.
  RdmoStatus validate(const Request& request) const;
  void begin(std::uint32_t request);
  void go_on(std::uint32_t request);
  void end_if_done(std::uint32_t request);

  WorkerCore& core_;
  IndexList starved_;  ///< Requests.
};

}  // namespace wharf::rdmo
