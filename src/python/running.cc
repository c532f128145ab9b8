// SPDX-License-Identifier: Apache-2.0
#include "python/running.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace wharf::python {
namespace {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;

constexpr int kBug = 6;
/// How long a signal waits for an answer, and how far calls of the callback are apart. Taking the lock of the
/// interpreter may have to wait for another thread that computes.
constexpr std::chrono::milliseconds kBetweenLooks{100};

/// Looks up from a run to what Python wants.
class Watcher {
 public:
  Watcher(Interrupt& interrupt, const py::object& progress) : interrupt_(interrupt), progress_(progress) {}

  static void advance(void* context, const RunAdvance& at) { static_cast<Watcher*>(context)->look(at); }
  /// Raises what ended the run, if something did. With the interpreter's lock.
  void rethrow() {
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
  }

 private:
  void look(const RunAdvance& at) {
    const Clock::time_point now = Clock::now();
    if (now - last_ < kBetweenLooks || raised_) return;
    last_ = now;
    const py::gil_scoped_acquire lock;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress_.is_none()) progress_(at.fraction, at.simulated_ns, at.events);
    } catch (...) {
      raised_ = std::current_exception();
      interrupt_.set();
    }
  }

  Interrupt& interrupt_;
  const py::object& progress_;
  Clock::time_point last_ = Clock::now();
  std::exception_ptr raised_;
};

constexpr const char* kNoMemory =
    "out of memory: the machine, its control group or `ulimit -v` gives no more, expected fewer hosts, "
    "smaller "
    "regions (run.*) or more memory";

std::string bug(const char* what) {
  return fmt::format("a bug of ours: {}; please report it with what was run", what);
}

}  // namespace

Ended run_now(RunSettings settings, Interrupt& interrupt, const py::object& progress) {
  settings.interrupt = &interrupt.flag();
  Watcher watcher(interrupt, progress);
  Ended ended;
  {
    const py::gil_scoped_release unlocked;
    try {
      ended.run = run_in_detail(settings, {Watcher::advance, &watcher});
      ended.status = static_cast<int>(ended.run.result.status);
      ended.message = ended.run.result.message;
    } catch (const std::bad_alloc&) {
      ended = {static_cast<int>(RunStatus::kEnvironment), kNoMemory, {}};
    } catch (const std::exception& failure) {
      ended = {kBug, bug(failure.what()), {}};
    }
  }
  watcher.rethrow();
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return ended;
}

CheckedSettings check_now(const RunSettings& settings) {
  const py::gil_scoped_release unlocked;
  try {
    return check(settings);
  } catch (const std::bad_alloc&) {
    return {.result = {.status = RunStatus::kEnvironment, .message = kNoMemory}};
  } catch (const std::exception& failure) {
    return {.result = {.status = static_cast<RunStatus>(kBug), .message = bug(failure.what())}};
  }
}

}  // namespace wharf::python
