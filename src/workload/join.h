// SPDX-License-Identifier: Apache-2.0
// Starting the workers of a program and waiting for their ends.
#pragma once

#include <cstdint>
#include <utility>

#include "verbs/core.h"
#include "verbs/gate.h"
#include "verbs/task.h"

namespace wharf::workload {

/// Counts workers. The program spawns them with their number, each calls leave() as its last act, and the
/// program waits until all have left. What the workers share may go away as soon as the last one has called
/// leave().
class Join {
 public:
  /// Spawns make(0), ..., make(count - 1) on `core`.
  template <verbs::Core C, typename Make>
  void spawn(C& core, std::uint32_t count, Make make) {
    running_ += count;
    for (std::uint32_t worker = 0; worker < count; ++worker) core.spawn(make(worker));
  }
  void leave() {
    if (--running_ == 0) all_left_.open();
  }
  /// Awaited once, after the last spawn().
  verbs::Gate::Wait all() {
    leave();
    return all_left_.wait();
  }

 private:
  std::uint32_t running_ = 1;  ///< The program itself counts until it calls all().
  verbs::Gate all_left_;
};

}  // namespace wharf::workload
