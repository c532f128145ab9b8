// SPDX-License-Identifier: Apache-2.0
// A whole host and its devices at one instant of a litmus program, and the steps that can happen next. Apart
// from the search, which decides in what order steps are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ordering/source_order.h"
#include "sim/coherence/coherence_observer.h"
#include "sim/coherence/home.h"
#include "sim/host/pcie/rlsq_agent.h"
#include "sim/litmus/device_thread.h"
#include "sim/litmus/host_thread.h"
#include "sim/litmus/mmio_path.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

/// Which steps are choices.
enum class LitmusSteps : std::uint8_t {
  kReduced,  ///< Those that commute with all others are taken at once; see LitmusWorld::settle().
  kEvery,    ///< Each instruction, message, memory access and answer by itself.
};

/// One thing that can happen.
struct LitmusStep {
  enum class Kind : std::uint8_t {
    kExecute,  ///< A host thread's next instruction; `index` is the agent.
    kDrain,    ///< A host thread's oldest store goes to its cache.
    kSend,     ///< A device thread's next operation.
    kArrive,   ///< `index` is a place in the fabric.
    kMessage,  ///< `index` is a place in the network.
    kMemory,   ///< `index` is a place among the accesses under way.
    kAnswer,   ///< `index` is a place among the answers under way.
    kClose,    ///< A write-combining line of a host thread stops taking stores.
    kLeave,    ///< A closed one, or an uncached store, leaves its core.
    kMove,     ///< `index` is a place among the MMIO operations under way.
  };
  Kind kind = Kind::kExecute;
  std::uint16_t index = 0;
  std::uint16_t choice = 0;  ///< kClose, kLeave: which of the thread's.
};

/// Everything between the program's first instruction and its last answer: host threads, devices, fabric,
/// root complexes, home, memory, and the messages between them. Copies are independent. Between home and
/// agent messages about one line keep their order per class, and nothing else does: a network weaker than any
/// that the home asks for.
class LitmusWorld {
 public:
  LitmusWorld(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps);
  LitmusWorld(const LitmusWorld& other);
  LitmusWorld& operator=(const LitmusWorld& other) = delete;

  /// Appends every step that can happen now.
  void list_steps(std::vector<LitmusStep>& steps) const;
  /// Takes one of them.
  void take(LitmusStep step);
  /// What it is, in words, before it is taken.
  std::string describe(LitmusStep step) const;

  /// Nothing is left to happen, as it should be.
  bool is_finished() const;
  /// What the observer saw, or a violated memory at rest; empty when all is well. Asks for rest only when
  /// finished.
  std::string violation();
  /// Who waits for what, for a world that is stuck.
  std::vector<std::string> who_waits() const;

  const std::vector<std::uint64_t>& registers() const { return registers_; }
  /// The final word of each variable; the world is finished.
  std::vector<std::uint64_t> memory() const;
  /// All that decides the future.
  void append_state(std::vector<std::byte>& state) const;

 private:
  /// A message between the home and an agent, and which way it goes.
  struct Flight {
    std::uint32_t channel = 0;  ///< Agent, class and direction; messages are sorted by it, then by line.
    bool to_home = false;
    Message message;
  };
  /// An answer on its way from a root complex to a device.
  struct Answer {
    ordering::Response response;
    std::uint32_t behind = 0;  ///< Posted writes before it on the link that it may not pass.
  };
  /// One line of a device's posted write.
  struct PostedLine {
    std::uint32_t agent = 0;
    std::uint32_t tag = 0;

    auto operator<=>(const PostedLine&) const = default;
  };
  /// The answer to an MMIO load on its way from the device to the core.
  struct Completion {
    LitmusMmioPath::Answer answer;
    std::vector<PostedLine> behind;  ///< Sent before it, and not performed: the core must not have it yet.
  };

  /// Root complexes are the agents behind the host threads.
  bool is_root(AgentId id) const { return id >= hosts_.size(); }
  const LitmusOperation& operation_of(const LitmusTransfer& transfer) const {
    return program_->agents[transfer.agent].operations[transfer.operation];
  }
  std::uint8_t way_of(const LitmusTransfer& transfer) const {
    return sim::way_of(*program_, program_->agents[transfer.agent], operation_of(transfer));
  }
  void collect();
  void settle();
  bool take_certain_step();
  void deliver(std::size_t flight);
  void fly(const Message& message, bool to_home);
  bool is_first_of_line(std::size_t flight) const;
  bool is_certain(const Flight& flight) const;
  bool may_arrive(std::size_t place) const;
  void arrive(std::size_t place);
  void reach_peer(const LitmusTransfer& transfer);
  void add_answer(const ordering::Response& response, std::uint32_t behind);
  std::uint32_t writes_before(const ordering::Response& response) const;
  std::size_t agent_of(const ordering::Domain& domain) const;
  void written(const ordering::Response& response);
  void answer(std::size_t place);
  const LineBytes* modified_bytes(LineNumber line) const;
  void execute(std::size_t agent);
  bool execute_mmio(LitmusHostThread& host, const LitmusOperation& next, std::size_t agent);
  void take_mmio_answers();
  void finish_mmio_loads();
  void list_mmio_steps(std::vector<LitmusStep>& steps) const;
  void send(std::size_t agent);
  bool do_own(LitmusDeviceThread& device, const LitmusOperation& next, std::size_t agent);
  void finish_access(std::size_t place);
  bool is_host(std::size_t agent) const { return !program_->agents[agent].is_device; }
  bool may_execute(std::size_t agent) const;
  bool may_drain(std::size_t agent) const;
  bool may_send(std::size_t agent) const;
  std::uint64_t* registers_of(std::size_t agent) {
    return registers_.data() + program_->agents[agent].first_register;
  }
  void observe();
  std::string agent_name(AgentId id) const;
  std::string line_of(const LitmusTransfer& transfer) const;

  const LitmusProgram* program_;
  LitmusDesign design_;
  LitmusSteps steps_;
  std::vector<std::uint8_t> places_;     ///< Of each agent among hosts_ or devices_.
  bool threads_are_independent_ = true;  ///< No request of one device thread orders one of another.
  bool orders_completions_ = false;      ///< Answers to MMIO loads may have to wait for posted writes.

  std::vector<LitmusHostThread> hosts_;
  std::vector<LitmusDeviceThread> devices_;
  std::optional<ordering::SourceOrder> source_;  ///< Where devices make the order; streams are agents.
  std::vector<LitmusTransfer> fabric_;           ///< In the order in which they were sent.
  std::vector<RlsqAgent> roots_;
  std::vector<std::uint64_t> peer_words_;  ///< By variable; those of peer devices count.
  std::vector<Answer> answers_;
  std::vector<PostedLine> posted_;       ///< Sent and not performed, sorted; only with orders_completions_.
  std::vector<Completion> completions_;  ///< Those that wait.
  std::optional<LitmusMmioPath> mmio_;
  Home home_;
  std::vector<Flight> network_;
  std::vector<MemoryAccess> accesses_;
  std::vector<LineBytes> memory_;  ///< By line number.
  CoherenceObserver observer_;
  std::vector<std::uint64_t> registers_;
};

}  // namespace wharf::sim
