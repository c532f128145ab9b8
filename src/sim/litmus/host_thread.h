// SPDX-License-Identifier: Apache-2.0
// One hardware thread of an explored host: an in-order core, its store buffer and its private cache. Apart
// from the world around it, which delivers the cache's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ordering/store_buffer.h"
#include "sim/coherence/private_cache.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

/// Executes the memory instructions of one agent of a program. A load waits for its value before the next
/// instruction; a store goes to the buffer and leaves it later, oldest first (x86-TSO). Copies are
/// independent, but for the program they read.
class LitmusHostThread {
 public:
  LitmusHostThread(AgentId id, const LitmusSettings& settings, const PrivateCacheConfig& cache)
      : stores_(settings.store_buffer), cache_(id, cache) {}

  const LitmusOperation* next(const LitmusAgent& agent) const {
    return at_ < agent.operations.size() ? &agent.operations[at_] : nullptr;
  }
  std::uint32_t position() const { return at_; }
  bool is_waiting() const { return waits_for_load_; }
  bool is_drained() const { return stores_.drained(); }
  bool is_finished(const LitmusAgent& agent) const {
    return at_ == agent.operations.size() && !waits_for_load_ && stores_.drained() && cache_.is_idle();
  }

  /// The memory instruction `operation` could do something now.
  bool may_execute(const LitmusOperation& operation, const LitmusVariable& variable) const;
  /// Executes it; registers that are known at once are written to `registers`.
  void execute(const LitmusOperation& operation, const LitmusVariable& variable, std::uint64_t* registers);
  /// The next instruction was executed by somebody else, who may have its value later.
  void skip() { ++at_; }
  /// The same, but the core waits for the value: finish_wait() goes on.
  void wait() { waits_for_load_ = true; }
  void finish_wait() {
    waits_for_load_ = false;
    ++at_;
  }

  bool may_drain() const { return !stores_.drained() && !is_draining_; }
  /// The oldest store goes to the cache.
  void drain();

  void receive(const Message& message, const LitmusAgent& agent, std::uint64_t* registers);
  bool next_message(Message& out) { return cache_.next_request(out) || cache_.next_response(out); }

  void observe_with(CoherenceObserver* observer) { cache_.observe_with(observer); }
  const PrivateCache& cache() const { return cache_; }
  void append_state(std::vector<std::byte>& state) const;
  void who_waits(const LitmusAgent& agent, std::vector<std::string>& lines) const;

 private:
  static constexpr Ticket kLoadTicket = 1;
  static constexpr Ticket kStoreTicket = 2;

  void take_answers(const LitmusAgent& agent, std::uint64_t* registers);

  std::uint32_t at_ = 0;  ///< The next instruction.
  bool waits_for_load_ = false;
  bool is_draining_ = false;
  ordering::StoreBuffer stores_;
  PrivateCache cache_;
};

}  // namespace wharf::sim
