// SPDX-License-Identifier: Apache-2.0
// The root complex of an explored host: the ordering queue and the coherent agent that it stands in, joined
// without time. Apart from the world around it.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/ordering/rlsq.h"
#include "sim/coherence/io_agent.h"

namespace wharf::sim {

/// Passes everything on at once: between the two there is no delay that could show. Requests to the home,
/// snoops and answers are the world's to delay. Copies are independent.
class LitmusRootComplex {
 public:
  LitmusRootComplex(ordering::Rlsq queue, IoAgent agent) : queue_(std::move(queue)), agent_(std::move(agent)) {}

  bool can_accept(const ordering::Request& request) const { return queue_.can_accept(request); }
  /// Takes a request that can_accept() let in.
  void accept(const ordering::Request& request);
  /// A message of the home.
  void receive(const Message& message);

  bool next_message(Message& out) { return agent_.next_request(out) || agent_.next_response(out); }
  bool next_response(ordering::Response& out) { return queue_.next_response(out); }

  void observe_with(CoherenceObserver* observer) { agent_.observe_with(observer); }
  const IoAgent& agent() const { return agent_; }
  const ordering::Rlsq& queue() const { return queue_; }
  bool is_idle() const { return queue_.is_idle() && agent_.is_idle(); }
  void append_state(std::vector<std::byte>& state) const {
    queue_.append_state(state);
    agent_.append_state(state);
  }

 private:
  void settle();
  bool perform();

  ordering::Rlsq queue_;
  IoAgent agent_;
};

}  // namespace wharf::sim
