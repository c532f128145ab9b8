// SPDX-License-Identifier: Apache-2.0
// A root complex, timed: the link to one device, the buffers in front of its Remote Load-Store Queue, and the
// way of the answers. What is ordered and how is the queue's affair (engine/ordering/rlsq.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "sim/host/coherent/coherent_memory.h"
#include "sim/host/config/coherent_config.h"
#include "sim/host/pcie/device_link.h"
#include "sim/host/pcie/legal_passing.h"
#include "sim/host/pcie/link_order.h"
#include "sim/host/pcie/request_sink.h"
#include "sim/host/pcie/rlsq_agent.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

struct RootComplexCounters {
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;
  std::uint64_t held_non_posted = 0;  ///< Requests that found the queue full.
  std::uint64_t held_posted = 0;
  std::uint32_t held_most = 0;  ///< Most that waited before the queue at once.
};

/// One device, one queue. The link keeps the order in which requests were submitted, or as much of it as
/// PCIe keeps (root_complex.passing); before a full queue, posted writes pass reads and atomics that wait,
/// never the other way round. [PCIe Base 5.0 2.4.1] On the on-chip bus nothing passes, not even there.
class RootComplex final : public Component, public CoherentAgent, public RequestSink, public LinkOrderWaiter {
 public:
  /// Adds itself to the simulation and connects itself to `memory` as `agent`. `config` has passed
  /// validate().
  static Result<std::unique_ptr<RootComplex>> create(Simulation& simulation, CoherentMemory& memory,
                                                     AgentId agent, const CoherentConfig& config,
                                                     const RandomStream& random, std::string name);

  void connect(IoDevice& device) override { device_ = &device; }
  void observe_with(CoherenceObserver* observer) { complex_.observe_with(observer); }
  void mirror_to(StoreMirror* mirror) { complex_.mirror_to(mirror); }
  /// Who hears of every packet on the device's link; null for nobody.
  void observe_link_with(LinkObserver* observer) { link_.observe_with(observer); }
  /// Stores of cores travel down the same link, and answers stay behind them. Before the first request.
  void share_link(LinkOrder& order) {
    order_ = &order;
    order.connect_answers(*this);
  }
  /// How many requests its coherent agent may have unanswered.
  static std::uint32_t agent_credits(const RootComplexConfig& config);

  bool can_submit(ordering::Kind kind) override;
  void submit(TimePs now, const ordering::Request& request) override;
  TimePs link_free() const override { return link_.up_free(); }

  void receive(TimePs now, const Message& message, TimePs data_at) override;
  void handle(const Event& event) override;
  void writes_arrived(TimePs now) override;

  const ordering::Rlsq& queue() const { return complex_.queue(); }
  const IoAgent& agent() const { return complex_.agent(); }
  const RootComplexCounters& counters() const { return counters_; }
  /// Requests that passed an earlier one on the link.
  std::uint64_t passed() const { return link_passing_.passed(); }
  /// Messages to the home that passed an earlier one about another line.
  std::uint64_t passed_home() const { return home_passing_.passed(); }
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kAtQueue, kAtDevice, kCredit, kToHome };
  enum Flow : std::uint8_t { kPosted, kNonPosted };
  struct Held {
    std::uint32_t slot;
    std::uint64_t number;  ///< In order of arrival, over both flows.
  };

  RootComplex(Simulation& simulation, CoherentMemory& memory, AgentId agent, const CoherentConfig& config,
              const RandomStream& random, ordering::Rlsq queue);
  static Flow flow_of(ordering::Kind kind) { return kind == ordering::Kind::kWrite ? kPosted : kNonPosted; }
  void at_queue(TimePs now, std::uint32_t slot);
  void retry(TimePs now);
  bool may_pass_held(std::uint32_t slot, std::uint64_t number) const;
  bool offer(TimePs now, std::uint32_t slot);
  bool has_credit(TimePs now, Flow flow);
  void wake_for_credit(Flow flow);
  void drain(TimePs now, TimePs data_at);
  bool send_messages(TimePs now);
  void send_request(TimePs now, const Message& message);
  void answer(TimePs now, TimePs data_at, std::uint32_t slot);
  void tell_device(TimePs now, std::uint32_t slot);
  void at_device(TimePs now, std::uint32_t slot);
  std::uint64_t stores_before(ordering::Label label) const;

  Simulation& simulation_;
  CoherentMemory& memory_;
  RootComplexConfig config_;
  std::array<std::uint32_t, 2> credit_limit_;
  RlsqAgent complex_;
  IoDevice* device_ = nullptr;
  DeviceLink link_;
  LinkPassing link_passing_;
  HomePassing home_passing_;
  LinkOrder* order_ = nullptr;  ///< Null: no stores of cores travel down this link.
  struct Behind {
    std::uint32_t slot;
    std::uint64_t stores;  ///< That have to be at the device first.
    bool is_there;         ///< Through the link but for these.
  };
  std::vector<Behind> behind_;  ///< Answers on the link, only with order_.
  TimePs answer_from_;          ///< The earliest next answer.
  TimePs credit_way_;
  SlotPool<ordering::Request> requests_;
  SlotPool<ordering::Response> responses_;
  SlotPool<Message> messages_;  ///< To the home, held up.
  std::array<Ring<Held>, 2> held_;
  std::array<std::uint32_t, 2> under_way_{};
  std::array<Ring<TimePs>, 2> credits_;  ///< When those that the queue has taken are back at the device.
  std::array<bool, 2> refused_{};
  std::uint64_t next_number_ = 0;
  RootComplexCounters counters_;
};

}  // namespace wharf::sim
