// SPDX-License-Identifier: Apache-2.0
// The event kernel beside bare loops: the hold model (take the earliest event, schedule one a random time
// later, so that a fixed number is pending) with one event record and one table of delays for all contenders.
//
//   queue      EventQueue alone
//   kernel     Simulation: EventQueue, virtual dispatch, order keys, history fingerprint
//   heap       a bare 4-ary heap
//   calendar   a bare calendar queue: sorted lists, width and size fixed beforehand for the load
//   in_order   Simulation with one in-order source that holds all the pending values
//   fifo       a bare ring of records
//
// The contenders take turns within each iteration, so that a noisy machine disturbs all alike; the ratios are
// medians over the turns. The hashes show that all of them executed the same events in the same order.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/time.h"
#include "sim/kernel/event_queue.h"
#include "sim/kernel/in_order_source.h"
#include "sim/kernel/simulation.h"

namespace {

using wharf::Fingerprint;
using wharf::RandomStream;
using wharf::TimePs;
using wharf::sim::ComponentId;
using wharf::sim::Event;

constexpr std::size_t kDelays = 1U << 16U;
constexpr TimePs kMeanDelay = wharf::microseconds(1);
constexpr std::uint32_t kEventsPerTurn = 200'000;

/// Exponential delays, drawn beforehand: the draw is not what is measured.
const std::vector<TimePs>& delays() {
  static const std::vector<TimePs> table = [] {
    RandomStream random(1, "hold");
    std::vector<TimePs> values(kDelays);
    for (TimePs& value : values) value = random.exponential(kMeanDelay);
    return values;
  }();
  return table;
}

/// The bare 4-ary heap.
class Heap {
 public:
  explicit Heap(std::size_t pending) { events_.reserve(pending + 1); }
  void push(const Event& event) {
    std::size_t at = events_.size();
    events_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!before(event, events_[parent])) break;
      events_[at] = events_[parent];
      at = parent;
    }
    events_[at] = event;
  }
  Event pop() {
    const Event first = events_.front();
    const Event last = events_.back();
    events_.pop_back();
    const std::size_t count = events_.size();
    if (count == 0) return first;
    std::size_t at = 0;
    for (;;) {
      std::size_t child = 4 * at + 1;
      if (child >= count) break;
      const std::size_t end = std::min(child + 4, count);
      std::size_t best = child;
      for (++child; child < end; ++child) {
        if (before(events_[child], events_[best])) best = child;
      }
      if (!before(events_[best], last)) break;
      events_[at] = events_[best];
      at = best;
    }
    events_[at] = last;
    return first;
  }

 private:
  std::vector<Event> events_;
};

/// The bare calendar queue (Brown 1988): a circular array of sorted lists; the width is the mean gap, fixed.
class Calendar {
 public:
  explicit Calendar(std::size_t pending)
      : width_shift_(
            static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(kMeanDelay.ps) / pending))),
        heads_(std::bit_ceil(pending), kNil),
        nodes_(pending + 1) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].next = static_cast<std::uint32_t>(i + 1);
    nodes_.back().next = kNil;
  }
  void push(const Event& event) {
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    nodes_[node].event = event;
    std::uint32_t* link = &heads_[bucket(day(event))];
    while (*link != kNil && before(nodes_[*link].event, event)) link = &nodes_[*link].next;
    nodes_[node].next = *link;
    *link = node;
  }
  /// The calendar is not empty, and some event lies within a year.
  Event pop() {
    for (;; ++day_) {
      std::uint32_t& head = heads_[bucket(day_)];
      if (head == kNil || day(nodes_[head].event) != day_) continue;
      const std::uint32_t node = head;
      head = nodes_[node].next;
      nodes_[node].next = free_;
      free_ = node;
      return nodes_[node].event;
    }
  }

 private:
  static constexpr std::uint32_t kNil = ~std::uint32_t{0};
  struct Node {
    Event event;
    std::uint32_t next;
  };
  std::uint64_t day(const Event& event) const {
    return static_cast<std::uint64_t>(event.time.ps) >> width_shift_;
  }
  std::size_t bucket(std::uint64_t day) const { return static_cast<std::size_t>(day) & (heads_.size() - 1); }

  unsigned width_shift_;
  std::vector<std::uint32_t> heads_;
  std::vector<Node> nodes_;
  std::uint32_t free_ = 0;
  std::uint64_t day_ = 0;
};

/// The hold model over a bare queue: one target and one source, as in the kernel's run below.
template <typename Queue>
class BareHold {
 public:
  template <typename... Arguments>
  BareHold(std::size_t pending, Arguments... arguments) : queue_(arguments...) {
    for (std::size_t i = 0; i < pending; ++i) push(wharf::kTimeZero);
  }
  std::uint64_t run(std::uint32_t events) {
    for (std::uint32_t i = 0; i < events; ++i) {
      const Event event = queue_.pop();
      add_event(history_, event);
      push(event.time);
    }
    return history_.value();
  }

 private:
  void push(TimePs now) {
    queue_.push(
        Event{now + delays()[drawn_++ % kDelays], wharf::sim::make_order({}, {}, sequence_++), 0, 0, 0});
  }
  Queue queue_;
  Fingerprint history_;
  std::uint32_t sequence_ = 0;
  std::uint32_t drawn_ = 0;
};

/// The same over the whole kernel.
class KernelHold {
 public:
  explicit KernelHold(std::size_t pending) : holder_(simulation_) {
    simulation_.add(holder_, "holder");
    for (std::size_t i = 0; i < pending; ++i) holder_.push();
  }
  std::uint64_t run(std::uint32_t events) {
    simulation_.run_for_events(events);
    return simulation_.fingerprint();
  }
  std::uint64_t history_of_bare(std::uint64_t bare) const {
    Fingerprint all;
    all.add(bare);
    return all.value();
  }

 private:
  class Holder : public wharf::sim::Component {
   public:
    explicit Holder(wharf::sim::Simulation& simulation) : simulation_(simulation) {}
    void handle(const Event&) override { push(); }
    void push() { simulation_.schedule(simulation_.now() + delays()[drawn_++ % kDelays], id(), id(), 0, 0); }

   private:
    wharf::sim::Simulation& simulation_;
    std::uint32_t drawn_ = 0;
  };
  wharf::sim::Simulation simulation_;
  Holder holder_;
};

/// A pipeline of fixed latency: every value that comes out goes in again.
class InOrderHold {
 public:
  explicit InOrderHold(std::size_t pending) : pipeline_(simulation_) {
    simulation_.add(pipeline_, "pipeline");
    pipeline_.fill(pending);
  }
  std::uint64_t run(std::uint32_t events) {
    simulation_.run_for_events(events);
    return simulation_.fingerprint();
  }

 private:
  class Pipeline : public wharf::sim::Component {
   public:
    explicit Pipeline(wharf::sim::Simulation& simulation)
        : source_(simulation, {}, {}, 0), simulation_(simulation) {}
    void fill(std::size_t pending) {
      for (std::size_t i = 0; i < pending; ++i) {
        source_.push(TimePs{static_cast<std::int64_t>(i) * 100}, static_cast<std::uint32_t>(i));
      }
      latency_ = TimePs{static_cast<std::int64_t>(pending) * 100};
    }
    void handle(const Event&) override {
      const std::uint32_t value = source_.take();
      source_.push(simulation_.now() + latency_, value);
    }

   private:
    wharf::sim::InOrderSource<std::uint32_t> source_;
    wharf::sim::Simulation& simulation_;
    TimePs latency_;
  };
  wharf::sim::Simulation simulation_;
  Pipeline pipeline_;
};

/// A bare ring of event records.
class FifoHold {
 public:
  explicit FifoHold(std::size_t pending) : ring_(pending + 1) {
    for (std::size_t i = 0; i < pending; ++i) {
      ring_.push_back(Event{TimePs{static_cast<std::int64_t>(i) * 100}, i, 0, 0, 0});
    }
    latency_ = TimePs{static_cast<std::int64_t>(pending) * 100};
  }
  std::uint64_t run(std::uint32_t events) {
    for (std::uint32_t i = 0; i < events; ++i) {
      Event event = ring_.front();
      ring_.pop_front();
      add_event(history_, event);
      event.time += latency_;
      ring_.push_back(event);
    }
    return history_.value();
  }

 private:
  wharf::Ring<Event> ring_;
  Fingerprint history_;
  TimePs latency_;
};

/// Processor time of this thread in nanoseconds: time taken by others on a shared machine does not count.
double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Nanoseconds per event of one turn.
template <typename Contender>
double turn(Contender& contender, std::uint64_t& hash) {
  const double start = thread_nanoseconds();
  hash = contender.run(kEventsPerTurn);
  return (thread_nanoseconds() - start) / kEventsPerTurn;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

enum : std::size_t { kQueue, kKernel, kHeap, kCalendar, kInOrder, kFifo, kContenders };

void hold(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  BareHold<wharf::sim::EventQueue<Event>> queue(pending);
  KernelHold kernel(pending);
  BareHold<Heap> heap(pending, pending);
  BareHold<Calendar> calendar(pending, pending);
  InOrderHold in_order(pending);
  FifoHold fifo(pending);

  std::array<std::vector<double>, kContenders> times;
  std::array<std::uint64_t, kContenders> hashes{};
  std::uint64_t first_hash =
      0;  // After the first turn, so that it does not depend on the number of iterations.
  for (auto _ : state) {
    times[kQueue].push_back(turn(queue, hashes[kQueue]));
    times[kHeap].push_back(turn(heap, hashes[kHeap]));
    times[kKernel].push_back(turn(kernel, hashes[kKernel]));
    times[kCalendar].push_back(turn(calendar, hashes[kCalendar]));
    times[kInOrder].push_back(turn(in_order, hashes[kInOrder]));
    times[kFifo].push_back(turn(fifo, hashes[kFifo]));
    if (first_hash == 0) first_hash = hashes[kKernel];
  }
  if (hashes[kQueue] != hashes[kHeap] || hashes[kQueue] != hashes[kCalendar] ||
      hashes[kKernel] != kernel.history_of_bare(hashes[kHeap])) {
    state.SkipWithError("the contenders executed different events");
    return;
  }
  std::array<double, kContenders> ns{};
  for (std::size_t i = 0; i < kContenders; ++i) ns[i] = median(times[i]);
  state.counters["queue_ns"] = ns[kQueue];
  state.counters["kernel_ns"] = ns[kKernel];
  state.counters["heap_ns"] = ns[kHeap];
  state.counters["calendar_ns"] = ns[kCalendar];
  state.counters["in_order_ns"] = ns[kInOrder];
  state.counters["fifo_ns"] = ns[kFifo];
  // Speeds, so that more is better.
  state.counters["kernel_over_heap"] = ns[kHeap] / ns[kKernel];
  state.counters["kernel_over_calendar"] = ns[kCalendar] / ns[kKernel];
  state.counters["in_order_over_fifo"] = ns[kFifo] / ns[kInOrder];
  state.SetLabel("hash " + wharf::fingerprint_hex(first_hash));
}

BENCHMARK(hold)->Arg(16)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
