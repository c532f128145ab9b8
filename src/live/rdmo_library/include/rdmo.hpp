// SPDX-License-Identifier: Apache-2.0
// RDMO over UCX for C++17 programs: what rdmo.h has, as objects that close themselves. What rdmo.h returns as
// a failure is thrown here as Error; WHARF_RDMO_FULL is no failure, and the functions return false.
#pragma once

#include <wharf/rdmo.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace wharf::rdmo_client {

class Error : public std::runtime_error {
 public:
  explicit Error(int result) : std::runtime_error(wharf_rdmo_error()), result_(result) {}
  /// enum wharf_rdmo_result.
  int result() const { return result_; }

 private:
  int result_;
};

namespace detail {
inline void check(int result) {
  if (result != WHARF_RDMO_OK) throw Error(result);
}
inline bool taken(int result) {
  if (result == WHARF_RDMO_FULL) return false;
  check(result);
  return true;
}
template <auto kClose>
struct Closer {
  template <typename T>
  void operator()(T* object) const {
    kClose(object);
  }
};
}  // namespace detail

class Worker {
 public:
  explicit Worker(const wharf_rdmo_worker_config& config = WHARF_RDMO_WORKER_CONFIG) {
    wharf_rdmo_worker* made = nullptr;
    detail::check(wharf_rdmo_worker_open(&config, &made));
    handle_.reset(made);
  }
  std::uint16_t port() const { return wharf_rdmo_worker_port(handle_.get()); }
  void run() { detail::check(wharf_rdmo_worker_run(handle_.get())); }
  void stop() { wharf_rdmo_worker_stop(handle_.get()); }

 private:
  std::unique_ptr<wharf_rdmo_worker, detail::Closer<wharf_rdmo_worker_close>> handle_;
};

class Target {
 public:
  explicit Target(const wharf_rdmo_target_config& config = WHARF_RDMO_TARGET_CONFIG) {
    wharf_rdmo_target* made = nullptr;
    detail::check(wharf_rdmo_target_open(&config, &made));
    handle_.reset(made);
  }
  std::uint16_t port() const { return wharf_rdmo_target_port(handle_.get()); }
  std::byte* memory() { return static_cast<std::byte*>(wharf_rdmo_target_memory(handle_.get(), nullptr)); }
  std::size_t size() {
    std::size_t bytes = 0;
    wharf_rdmo_target_memory(handle_.get(), &bytes);
    return bytes;
  }
  std::uint64_t tail() const { return wharf_rdmo_target_tail(handle_.get()); }
  /// The bytes of the log from `place` to the tail.
  std::string_view text(std::uint64_t place = WHARF_RDMO_FIRST) {
    const std::uint64_t end = tail();
    if (place >= end) return {};
    return {reinterpret_cast<const char*>(memory() + place), static_cast<std::size_t>(end - place)};
  }
  void reset() { wharf_rdmo_target_reset(handle_.get()); }
  void progress() { detail::check(wharf_rdmo_target_progress(handle_.get())); }
  void withdraw() { detail::check(wharf_rdmo_target_withdraw(handle_.get())); }

 private:
  std::unique_ptr<wharf_rdmo_target, detail::Closer<wharf_rdmo_target_close>> handle_;
};

class Initiator {
 public:
  explicit Initiator(const wharf_rdmo_initiator_config& config = WHARF_RDMO_INITIATOR_CONFIG) {
    wharf_rdmo_initiator* made = nullptr;
    detail::check(wharf_rdmo_initiator_open(&config, &made));
    handle_.reset(made);
  }
  /// `data` stays until the outcome.
  bool append(std::string_view data, std::uint64_t cookie = 0, unsigned flags = 0,
              std::uint64_t expected = 0) {
    return detail::taken(wharf_rdmo_append(handle_.get(), data.data(), data.size(), flags, expected, cookie));
  }
  bool scatter(const std::vector<wharf_rdmo_piece>& pieces, std::uint64_t cookie = 0, unsigned flags = 0) {
    return detail::taken(wharf_rdmo_scatter(handle_.get(), pieces.data(), pieces.size(), flags, cookie));
  }
  bool flush(std::uint64_t cookie = 0) { return detail::taken(wharf_rdmo_flush(handle_.get(), cookie)); }
  void push() { wharf_rdmo_push(handle_.get()); }
  std::optional<wharf_rdmo_outcome> poll() {
    wharf_rdmo_outcome outcome{};
    if (wharf_rdmo_poll(handle_.get(), &outcome) == 0) return std::nullopt;
    return outcome;
  }
  /// Nothing when nothing is under way.
  std::optional<wharf_rdmo_outcome> wait() {
    wharf_rdmo_outcome outcome{};
    if (wharf_rdmo_wait(handle_.get(), &outcome) == 0) return std::nullopt;
    return outcome;
  }

 private:
  std::unique_ptr<wharf_rdmo_initiator, detail::Closer<wharf_rdmo_initiator_close>> handle_;
};

}  // namespace wharf::rdmo_client
