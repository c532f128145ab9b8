// SPDX-License-Identifier: Apache-2.0
// The event loop: components, the clock, and the history's fingerprint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/fingerprint.h"
#include "base/time.h"
#include "sim/kernel/event.h"
#include "sim/kernel/event_queue.h"

namespace wharf::sim {

/// A part of the simulated system that events are addressed to.
class Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;

  /// Executes one event, at Simulation::now() == event.time. There is no cancelling: a component that moves a
  /// deadline recognizes and ignores the event of the old one.
  virtual void handle(const Event& event) = 0;

  /// Appends one sentence for each thing that this component waits for and that only an event can bring
  /// ("read 17 waits for an answer from host1"); nothing when it is idle. Read when a run ends with work
  /// undone.
  virtual void describe_waiting(std::vector<std::string>& lines) const { (void)lines; }

  /// Assigned by Simulation::add().
  ComponentId id() const { return id_; }

 private:
  friend class Simulation;
  ComponentId id_;
};

/// Why a run returned.
enum class RunEnd : unsigned char {
  kDrained,      ///< No events are pending.
  kTimeReached,  ///< Every event up to the end time was executed; later ones are pending.
  kBudgetSpent,  ///< The number of events asked for was executed.
  kStopped,      ///< A component called stop().
};

struct RunResult {
  RunEnd end = RunEnd::kDrained;
  std::uint64_t events = 0;  ///< Executed by this call.
};

/// What a run that ended early was waiting for.
struct StallReport {
  TimePs at;
  std::vector<std::string> waiting;  ///< "component: sentence", in component order.
};

/// One event loop. Components are added while the system is built and outlive it; their number decides the
/// order at equal times (event.h), so they must be added in an order that depends on the scenario alone.
class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Gives `component` the next number. At most 2^20 components.
  ComponentId add(Component& component, std::string name);

  std::string_view name(ComponentId id) const { return names_[id.value]; }
  std::size_t component_count() const { return slots_.size(); }

  /// The time of the event being executed, or where the last run ended.
  TimePs now() const { return now_; }
  /// The same, for whoever looks at it again and again.
  const TimePs& moment() const { return now_; }
  /// The time of the next event; kNever when none is pending.
  TimePs next_time() { return queue_.empty() ? kNever : queue_.peek().time; }

  /// Arranges that `target` handles an event at `at`, which is neither before now() nor kNever; both abort.
  /// `source` is the component whose code runs: its own counter orders its events at equal times.
  void schedule(TimePs at, ComponentId target, ComponentId source, std::uint16_t kind, std::uint32_t argument,
                std::uint16_t extra = 0) {
    WHARF_CHECK(at >= now_ && at < kNever);
    queue_.push(
        Event{at, make_order(target, source, slots_[source.value].sequence++), argument, kind, extra});
  }

  /// Executes every event at or before `end`. The clock then stands at `end` when later events are pending,
  /// else at the last event.
  RunResult run_until(TimePs end) { return run(end, kNoBudget); }
  /// Executes up to `count` events, so that a caller can draw progress or look for an interrupt between
  /// slices.
  RunResult run_for_events(std::uint64_t count) { return run(kNever, count); }
  /// Both limits at once.
  RunResult run(TimePs end, std::uint64_t count);
  /// Executes one event; false when none is pending.
  bool step() { return run_for_events(1).events == 1; }
  /// Moves the clock of a simulation that has nothing to do before `at` up to then; an earlier `at` does
  /// nothing.
  void skip_to(TimePs at) {
    if (at <= now_) return;
    WHARF_CHECK(next_time() >= at);
    now_ = at;
  }
  /// Makes the run return after the event being executed. Outside a run it does nothing.
  void stop() { stop_requested_ = true; }

  std::uint64_t events_executed() const { return events_executed_; }
  std::size_t events_pending() const { return queue_.size(); }
  /// Hash of all events executed: the histories of the components, each in its own order, combined in the
  /// order of the component numbers. It does not depend on how components are divided into partitions.
  std::uint64_t fingerprint() const;

  /// What the components wait for. A drained queue with lines here is a deadlock.
  StallReport stall_report() const;

 private:
  static constexpr std::uint64_t kNoBudget = ~std::uint64_t{0};

  /// What one event touches of its target and its source, side by side.
  struct Slot {
    Component* component;
    Fingerprint history;
    std::uint32_t sequence;
  };

  EventQueue<Event> queue_;
  std::vector<Slot> slots_;
  TimePs now_;
  bool stop_requested_ = false;
  std::uint64_t events_executed_ = 0;
  std::vector<std::string> names_;
};

}  // namespace wharf::sim
