// SPDX-License-Identifier: Apache-2.0
// Workers of this machine, for whoever lists and stops them. Each has a local socket whose name says that it
// is one, and tells there what it does; who looks finds the names in the kernel's table. A socket goes with
// its process, so a dead worker leaves nothing that could be listed or would have to be cleaned (decision
// 0102).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "live/rdmo/sealed_memory.h"

namespace wharf::live {

enum class WorkerState : std::uint8_t {
  kRunning,
  kStopping,
  kSilent,  ///< It has a socket and says nothing: stopped by a signal, or stuck.
};
const char* name(WorkerState state);

/// What a worker says of itself.
struct WorkerReport {
  std::uint64_t process = 0;  ///< The kernel's word for it, not the worker's.
  WorkerState state = WorkerState::kSilent;
  std::uint64_t seconds = 0;  ///< Since it was ready.
  std::uint64_t clients = 0;  ///< Targets, in the words of the control path.
  std::uint64_t queues = 0;
  std::uint64_t appends = 0;
  std::uint64_t records = 0;
  std::uint64_t flushes = 0;
  std::uint64_t scatters = 0;
  std::string address;  ///< Where targets find it; empty of a silent one.
};

/// A worker's entry. Whoever has entered answers until this goes.
class RosterEntry {
 public:
  /// More callers wait at no time; then the oldest goes that has not asked for the end.
  static constexpr std::size_t kCallersMost = 16;

  static Result<RosterEntry> enter();
  /// Answers who asks, with what `report` makes. Does not wait.
  void progress(const std::function<WorkerReport()>& report);
  /// Somebody has asked for the end.
  bool asked_to_stop() const { return asked_to_stop_; }

 private:
  struct Caller {
    Descriptor socket;
    bool stops = false;  ///< It has asked for the end, and waits for it.
  };
  /// False: the connection is over, or breaks the rules.
  bool serve(Caller& caller, const std::function<WorkerReport()>& report);

  Descriptor listener_;
  std::vector<Caller> callers_;
  bool asked_to_stop_ = false;
};

/// One worker as somebody else sees it.
class ListedWorker {
 public:
  const WorkerReport& report() const { return report_; }
  /// Asks it to end in order, and waits until it has: its address is free then. False: not in that time, or
  /// not before `interrupted` was set.
  Result<bool> stop(TimePs patience, const std::atomic<bool>* interrupted = nullptr);

 private:
  friend Result<std::vector<ListedWorker>> list_workers(TimePs, const std::atomic<bool>*);
  std::string name_;  ///< Of its socket.
  Descriptor connection_;
  WorkerReport report_;
};

/// All workers of this user in this machine's network, by address. One that says nothing within `patience` is
/// silent, as is one that is waited for when `interrupted` is set.
Result<std::vector<ListedWorker>> list_workers(TimePs patience = seconds(1),
                                               const std::atomic<bool>* interrupted = nullptr);

}  // namespace wharf::live
