// SPDX-License-Identifier: Apache-2.0
// Waiting among the coroutines of one core: a Gate lets tasks wait until another task opens it. Resumes in
// FIFO order.
#pragma once

#include <coroutine>

#include "base/check.h"

namespace wharf::verbs {

/// A counting gate: each open() lets one wait() through, in order of arrival. Single-threaded, allocates
/// nothing: waiters are linked through their awaiters, which live in their coroutine frames.
class Gate {
 public:
  class Wait {
   public:
    explicit Wait(Gate& gate) : gate_(gate) {}
    bool await_ready() {
      if (gate_.permits_ == 0) return false;
      --gate_.permits_;
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      if (gate_.last_ == nullptr) {
        gate_.first_ = this;
      } else {
        gate_.last_->next_ = this;
      }
      gate_.last_ = this;
    }
    void await_resume() {}

   private:
    friend class Gate;
    Gate& gate_;
    std::coroutine_handle<> handle_;
    Wait* next_ = nullptr;
  };

  explicit Gate(unsigned permits = 0) : permits_(permits) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Takes one permit, waiting for it if there is none.
  Wait wait() { return Wait(*this); }
  /// Gives one permit: resumes the longest waiter, if any, before it returns.
  void open() {
    if (first_ == nullptr) {
      ++permits_;
      return;
    }
    Wait* waiter = first_;
    first_ = waiter->next_;
    if (first_ == nullptr) last_ = nullptr;
    waiter->handle_.resume();
  }
  bool has_waiters() const { return first_ != nullptr; }

 private:
  unsigned permits_;
  Wait* first_ = nullptr;
  Wait* last_ = nullptr;
};

}  // namespace wharf::verbs
