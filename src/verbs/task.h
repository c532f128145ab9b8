// SPDX-License-Identifier: Apache-2.0
// The coroutine type of programs. A program is one coroutine per thread of control: its frame is allocated
// when it is spawned; single operations are awaited through plain awaiter objects and allocate nothing.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"

namespace wharf::verbs {

template <typename T>
class Task;

namespace task_detail {

template <typename T>
struct Storage {
  std::optional<T> value;
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() {
    WHARF_CHECK(value.has_value());
    return std::move(*value);
  }
};

template <>
struct Storage<void> {
  void return_void() {}
  void take() {}
};

}  // namespace task_detail

/// A lazily started coroutine that yields a T. Starts when awaited or through start(); destroying it destroys
/// the frame. Programs do not throw: an escaping exception ends the process.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : task_detail::Storage<T> {
    std::coroutine_handle<> continuation = std::noop_coroutine();

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct ResumeContinuation {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          return self.promise().continuation;
        }
        void await_resume() noexcept {}
      };
      return ResumeContinuation{};
    }
    [[noreturn]] void unhandled_exception() { std::terminate(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { destroy(); }

  bool valid() const { return handle_ != nullptr; }
  bool done() const { return handle_ && handle_.done(); }

  /// Runs until the first suspension. For roots, which nobody awaits.
  void start() {
    WHARF_CHECK(handle_ && !handle_.done());
    handle_.resume();
  }

  auto operator co_await() & = delete;
  auto operator co_await() && {
    struct Await {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const { return handle.done(); }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) {
        handle.promise().continuation = awaiting;
        return handle;
      }
      T await_resume() { return handle.promise().take(); }
    };
    WHARF_CHECK(handle_ != nullptr);
    return Await{handle_};
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  void destroy() {
    if (handle_) handle_.destroy();
    handle_ = nullptr;
  }

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace wharf::verbs
