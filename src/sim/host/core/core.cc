// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core/core.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace wharf::sim {

verbs::Task<void> Core::run(verbs::Task<void> task) {
  co_await std::move(task);
  --tasks_running_;
  if (--tally_.running == 0) simulation_.stop();
}

void Core::spawn(verbs::Task<void> task) {
  ++tasks_running_;
  ++tally_.running;
  std::uint32_t slot = tasks_.acquire();
  if (slot == kNoSlot) {
    drop_finished();
    slot = tasks_.acquire();
  }
  if (slot == kNoSlot) {
    tasks_.reserve(tasks_.capacity() == 0 ? 16 : 2 * tasks_.capacity());
    slot = tasks_.acquire();
  }
  tasks_[slot] = run(std::move(task));
  simulation_.schedule(simulation_.now(), id(), id(), kStart, slot);
}

void Core::drop_finished() {
  for (std::uint32_t slot = 0; slot < tasks_.capacity(); ++slot) {
    if (!tasks_.is_used(slot) || !tasks_[slot].done()) continue;
    tasks_[slot] = {};
    tasks_.release(slot);
  }
}

void Core::handle(const Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case kResume: {
      const std::coroutine_handle<> handle = wakes_[event.argument];
      wakes_.release(event.argument);
      handle.resume();
      break;
    }
    case kStart:
      tasks_[event.argument].start();
      break;
    case kDevice:
      device_->handle_device(event.argument);
      break;
  }
}

void Core::describe_waiting(std::vector<std::string>& lines) const {
  if (tasks_running_ > 0) lines.push_back(fmt::format("{} programs have not ended", tasks_running_));
}

}  // namespace wharf::sim
