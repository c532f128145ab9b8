// SPDX-License-Identifier: Apache-2.0
// One run out of Python: without the interpreter's lock, but with Ctrl-C and a progress callback.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "wharf/detailed_run.h"

namespace wharf::python {

/// Ends runs from any thread.
class Interrupt {
 public:
  void set() { flag_ = true; }
  bool is_set() const { return flag_; }
  const std::atomic<bool>& flag() const { return flag_; }

 private:
  std::atomic<bool> flag_{false};
};

/// What a run left. The status is an exit code of the program; 6 is a bug of ours, which no RunStatus is.
struct Ended {
  int status = 0;
  std::string message;
  DetailedRun run;
};

/// Runs. `progress`, unless None, is called with (fraction, simulated_ns, events) at most ten times a second.
/// What it raises, and what a signal raises, ends the run and is raised here.
Ended run_now(RunSettings settings, Interrupt& interrupt, const pybind11::object& progress);

/// As check(), which may not throw here either.
CheckedSettings check_now(const RunSettings& settings);

}  // namespace wharf::python
