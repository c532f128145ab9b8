// SPDX-License-Identifier: Apache-2.0
// The coherent memory of a host, timed: the home of the directory protocol, the bus to its agents, and DRAM.
// The protocol itself is in sim/coherence; here is only when things happen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "sim/coherence/home.h"
#include "sim/coherence/message.h"
#include "sim/coherence/store_mirror.h"
#include "sim/host/coherent/memory_controller.h"
#include "sim/host/config/coherent_config.h"
#include "sim/host/memory/host_memory.h"
#include "sim/kernel/booked_time.h"
#include "sim/kernel/message_lane.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// Something with an interface to the bus: the caches of a core, a root complex.
class CoherentAgent {
 public:
  virtual ~CoherentAgent() = default;
  /// A message whose header has arrived now; its data, if any, are complete at `data_at`.
  virtual void receive(TimePs now, const Message& message, TimePs data_at) = 0;
};

struct CoherentMemoryCounters {
  std::uint64_t messages = 0;
  std::uint64_t last_level_hits = 0;  ///< Accesses of devices that DDIO answered.
  std::uint64_t held_reads = 0;       ///< Reads that found the queue of their memory channel full.
  std::uint64_t held_writes = 0;
};

/// The newest bytes of every line are those of `memory` at any time, as if every cache wrote through in no
/// time: agents report their stores in the order in which they are performed, and what is granted carries the
/// bytes of that instant. So programs may look at memory, or prepare it, past the caches, while copies,
/// snoops and write-backs take the time that they take. All that a run touches is mapped; where there are no
/// real bytes, lines hold zeros. The protocol without this is what sim/coherence tests.
///
/// Where the order is made: at the home, when a request's header has crossed the request lane. Snoops leave
/// from there at once, while what has to go on to memory first crosses the rest of the bus, as on a bus whose
/// snoops are broadcast.
///
/// A message that takes no time is there without an event: the home acts on it at once, an agent as soon as
/// nobody else is acting.
///
/// An access that finds the queue of its memory channel full waits before it, reads for reads and writes for
/// writes, and keeps its transaction at the home: so those that wait are at most what the agents have credits
/// for, and a device whose requests wait runs out of trackers, then of its link's credits.
class CoherentMemory final : public Component, public StoreMirror {
 public:
  /// What an agent needs: how many requests it may have unanswered, and whether its shared copies have bytes
  /// to give (caches do, root complexes do not).
  struct AgentConfig {
    std::uint32_t credits = 8;
    bool supplies = false;
    bool is_device = false;
  };
  /// Adds itself to the simulation. `config` has passed validate(); agents number as in `agents`.
  CoherentMemory(Simulation& simulation, const CoherentConfig& config, const std::vector<AgentConfig>& agents,
                 HostMemory& memory, std::uint64_t seed, std::string name);

  /// Who receives what is addressed to `agent`; before the first event.
  void connect(AgentId agent, CoherentAgent& receiver) { receivers_[agent] = &receiver; }

  /// A message of `message.agent`, ready to cross the bus.
  void send(TimePs now, const Message& message);

  void stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes) override;
  void handle(const Event& event) override;

  const HomeStatistics& statistics() const { return home_.statistics(); }
  const DdrCounters& ddr_counters() const { return controller_.ddr_counters(); }
  const MemoryControllerCounters& controller_counters() const { return controller_.counters(); }
  const CoherentMemoryCounters& counters() const { return counters_; }
  bool is_idle() const { return home_.is_idle(); }
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kAtHome, kAtAgent, kMemoryRead, kMemoryRoom };
  struct Flying {
    Message message;
    TimePs data_at;
  };

  /// The way from the home to one agent.
  struct Answers {
    MessageLane data;
    MessageLane acknowledgements;
    TimePs last;          ///< When the newest one's header arrives.
    TimePs last_pending;  ///< The same of those that an event brings.
  };
  /// A lane, and when the newest message that an event brings to its end arrives.
  struct Lane {
    MessageLane lane;
    TimePs last_pending;
  };

  /// An access that is at its memory controller, which has no room for it.
  struct HeldAccess {
    LineNumber line = 0;
    TimePs at;  ///< When it came.
  };
  /// One memory controller, and the bus to it and back.
  struct MemoryChannel {
    MessageLane requests;
    BookedTime answers;
    std::array<Ring<HeldAccess>, 2> held;  ///< Reads, writes.
    TimePs latest;                         ///< The last arrival that was not held.
  };

  void fly(TimePs at, EventKind kind, const Message& message, TimePs data_at);
  void drain(TimePs now);
  void drain_snoops(TimePs now);
  void drain_accesses(TimePs now);
  void snoop(TimePs now, const Message& message);
  void respond(TimePs now, Message& message);
  void arrive(TimePs now, TimePs at, TimePs data_at, TimePs& last_pending, const Message& message);
  void deliver(TimePs now);
  void access_memory(TimePs now, const MemoryAccess& access);
  void enter_controller(TimePs at, LineNumber line, bool is_write);
  void hold(std::uint32_t channel, bool is_write, const HeldAccess& access);
  void wake_for_room(std::uint32_t channel, bool is_write);
  void enter_held(TimePs at, std::uint32_t channel, bool is_write);
  bool last_level_answers(const MemoryAccess& access);

  Simulation& simulation_;
  CoherenceConfig config_;
  HostMemory& memory_;
  Home home_;
  MemoryController controller_;
  std::vector<MemoryChannel> channels_;
  std::vector<CoherentAgent*> receivers_;
  std::vector<bool> is_device_;
  Lane requests_;
  Lane snoops_;
  Lane snoop_responses_;
  std::vector<Answers> answers_;  ///< By agent.
  SlotPool<Flying> flying_;
  SlotPool<LineNumber> reading_;  ///< Lines that memory reads.
  Ring<Flying> arrived_;          ///< What is with its agent in the instant in which it was sent.
  bool is_agents_turn_ = true;    ///< An agent has called: it hears nothing before it returns.
  TimePs memory_request_;
  TimePs memory_response_;
  TimePs line_time_;  ///< What a line occupies of a lane.
  RandomStream ddio_;
  Probability ddio_hits_;
  CoherentMemoryCounters counters_;
};

}  // namespace wharf::sim
