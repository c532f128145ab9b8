// SPDX-License-Identifier: Apache-2.0
// A request beside the one that a coroutine awaits: posts the first of two, so that both are under way
// together and the order in which they were posted is known.
#pragma once

#include <coroutine>
#include <utility>

#include "base/check.h"

namespace wharf::workload {

/// Joins a worker to an assistant, a coroutine of its own that loops over next() and posts one request per
/// turn. The worker lets it take a turn with go(), which returns when the request is posted, and waits for
/// its end with done(). Before the first go() it waits for done() as well: the assistant may not have begun.
class SecondRequest {
 public:
  SecondRequest() = default;
  SecondRequest(const SecondRequest&) = delete;
  SecondRequest& operator=(const SecondRequest&) = delete;

  void go() {
    WHARF_CHECK(!busy_);
    busy_ = true;
    std::exchange(assistant_, nullptr).resume();
  }

  struct Done {
    SecondRequest& pair;
    bool await_ready() const { return !pair.busy_; }
    void await_suspend(std::coroutine_handle<> worker) const { pair.worker_ = worker; }
    void await_resume() const {}
  };
  Done done() { return {*this}; }

  /// The assistant is ready for its next turn, and whoever waits for the end of the last goes on.
  struct Next {
    SecondRequest& pair;
    bool await_ready() const { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> assistant) const {
      pair.assistant_ = assistant;
      pair.busy_ = false;
      if (pair.worker_ == nullptr) return std::noop_coroutine();
      return std::exchange(pair.worker_, nullptr);
    }
    void await_resume() const {}
  };
  Next next() { return {*this}; }

 private:
  std::coroutine_handle<> assistant_;
  std::coroutine_handle<> worker_;
  bool busy_ = true;
};

}  // namespace wharf::workload
