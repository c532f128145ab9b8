// SPDX-License-Identifier: Apache-2.0
// The Remote Load-Store Queue joined to the coherent agent that it stands in: the whole of a root complex but
// its links and its time. Apart because the timed host and the explorer of litmus programs drive this very
// class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/ordering/rlsq.h"
#include "sim/coherence/io_agent.h"
#include "sim/coherence/message.h"

namespace wharf::sim {

/// Requests of devices in, messages of the coherence protocol in and out, answers out. Knows no time. After
/// every input, drain next_message() and next_response(); both may be held back for any time.
class RlsqAgent {
 public:
  RlsqAgent(ordering::Rlsq queue, IoAgent agent) : queue_(std::move(queue)), agent_(std::move(agent)) {}

  /// An observer that outlives this object; a copy needs its own.
  void observe_with(CoherenceObserver* observer) { agent_.observe_with(observer); }
  void mirror_to(StoreMirror* mirror) { agent_.mirror_to(mirror); }

  bool can_accept(const ordering::Request& request) const { return queue_.can_accept(request); }
  /// False, and nothing has changed, when there is no room.
  bool accept(const ordering::Request& request) {
    if (!queue_.accept(request)) return false;
    settle();
    return true;
  }
  /// A snoop, or the answer to a request of this agent.
  void receive(const Message& message) {
    agent_.receive(message);
    settle();
  }

  /// There may be one; false saves the call.
  bool has_message() const { return agent_.has_message(); }
  /// To the home: requests, and answers to snoops.
  bool next_message(Message& out) { return agent_.next_response(out) || agent_.next_request(out); }
  /// The next request to the home, when there is no answer to a snoop before it, in two steps and without a
  /// copy: what there is, or null, and that it is taken.
  const Message* first_request() const { return agent_.has_response() ? nullptr : agent_.first_request(); }
  void first_request_taken() { agent_.first_request_taken(); }
  bool has_response() const { return queue_.has_response(); }
  /// For the device; kind kWrite says that a posted write was performed.
  bool next_response(ordering::Response& out) { return queue_.next_response(out); }

  const ordering::Rlsq& queue() const { return queue_; }
  const IoAgent& agent() const { return agent_; }
  bool is_idle() const { return queue_.is_idle() && agent_.is_idle() && !waiting_; }
  void append_state(std::vector<std::byte>& state) const;
  void who_waits(std::vector<std::string>& lines) const { queue_.who_waits(lines); }

 private:
  /// Moves everything between queue and agent that can move.
  void settle();
  bool ask();
  bool perform_all();
  void perform(const ordering::Perform& work);

  ordering::Rlsq queue_;
  IoAgent agent_;
  ordering::MemoryRequest held_;  ///< Taken from the queue, but the agent has no room.
  bool waiting_ = false;          ///< `held_` means something.
};

}  // namespace wharf::sim
