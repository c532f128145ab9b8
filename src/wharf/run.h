// SPDX-License-Identifier: Apache-2.0
// Runs a scenario from another program. Public: installed as wharf/run.h; everything else of the simulator is
// private and may change with any version (docs/guides/use-as-a-library.md).
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace wharf {

/// What to run. The same fields, files and refusals as `wharf run`.
struct RunSettings {
  /// A scenario file, or the name of a shipped one ("fetch-64-bytes"). With `text`: what messages call it.
  std::string scenario;
  /// TOML in the place of a file; empty: read `scenario`.
  std::string text{};
  /// A profile by its name or path; empty: what the scenario says.
  std::string profile{};
  /// Keys that override the scenario, in order: "model.link.delay=1us". `wharf list keys` has all of them.
  std::vector<std::string> keys{};
  /// Ends the run early when it becomes true, from any thread; may be null.
  const std::atomic<bool>* interrupt = nullptr;
};

/// How a run ended. The numbers are the exit codes of the program `wharf`.
enum class RunStatus : int {
  kDone = 0,          ///< Done, and every expectation of the scenario holds.
  kJudgedFailed = 1,  ///< Done, but an expectation fails: `failures` says which.
  kUsage = 2,         ///< Settings that contradict each other.
  kInput = 3,         ///< A file, a key or a value is wrong.
  kEnvironment = 4,   ///< No data folder, no memory, no permission.
  kStalled = 5,       ///< Nothing moves any more; `message` says who waits for whom.
  kInterrupted = 130,
};

struct RunResult {
  RunStatus status = RunStatus::kDone;
  std::string message{};                ///< One sentence; empty unless the run itself could not end.
  std::vector<std::string> failures{};  ///< One sentence for each expectation that fails.
  /// JSON, as summary.json of `wharf run --out`; of a run that stalled or was interrupted as far as it came.
  /// Empty when it never began.
  std::string summary{};
};

/// Runs once, on this thread. The same settings give the same summary, byte for byte. Any number of threads
/// may call it at a time. Does not throw but for lack of memory.
RunResult run(const RunSettings& settings);

}  // namespace wharf
