// SPDX-License-Identifier: Apache-2.0
// The queue of a link or pipeline whose outputs leave in the order of their inputs: only its head waits in
// the global event queue, which therefore stays short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/ring.h"
#include "base/time.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// FIFO of values with non-decreasing times. For each value the target gets one event of the given kind and
/// argument at the value's time, and then calls take() exactly once.
template <typename T>
class InOrderSource {
 public:
  /// Events go from component `source` to component `target`. Room for `capacity` values; it doubles when
  /// exceeded.
  InOrderSource(Simulation& simulation, ComponentId target, ComponentId source, std::uint16_t kind,
                std::uint32_t argument = 0, std::size_t capacity = 16)
      : simulation_(&simulation),
        waiting_(capacity),
        target_(target),
        source_(source),
        argument_(argument),
        kind_(kind) {}

  /// Adds a value that comes out at `at`: not before now(), not before the value added last.
  void push(TimePs at, T value) {
    WHARF_CHECK(waiting_.empty() || at >= waiting_.back().at);
    if (waiting_.full()) waiting_.reserve(2 * waiting_.capacity());
    waiting_.push_back(Timed{at, std::move(value)});
    if (waiting_.size() == 1) schedule_head();
  }

  /// The value whose event is being handled; schedules the next one.
  T take() {
    WHARF_CHECK(!waiting_.empty() && waiting_.front().at == simulation_->now());
    T value = std::move(waiting_.front().value);
    waiting_.pop_front();
    if (!waiting_.empty()) schedule_head();
    return value;
  }

  std::size_t size() const { return waiting_.size(); }
  bool empty() const { return waiting_.empty(); }
  /// The time of the value added last; the source is not empty.
  TimePs last_time() const { return waiting_.back().at; }

 private:
  struct Timed {
    TimePs at;
    T value;
  };

  void schedule_head() { simulation_->schedule(waiting_.front().at, target_, source_, kind_, argument_); }

  Simulation* simulation_;
  Ring<Timed> waiting_;
  ComponentId target_;
  ComponentId source_;
  std::uint32_t argument_;
  std::uint16_t kind_;
};

}  // namespace wharf::sim
