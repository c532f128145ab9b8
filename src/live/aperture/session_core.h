// SPDX-License-Identifier: Apache-2.0
// The thread of an aperture session: a client of a live server, and the pagers of its apertures.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "live/aperture/aperture.h"
#include "live/aperture/pager.h"
#include "live/udp/live_protocol.h"
#include "live/udp/place.h"

namespace wharf::live {

/// Shared by a session and its apertures; the last of them ends the thread.
class ApertureSession::Core {
 public:
  /// What the server gave.
  struct Granted {
    std::uint64_t bytes = 0;
    std::uint64_t slice_key = 0;
  };

  static Result<std::shared_ptr<Core>> open(const ApertureSessionSettings& settings, const Place& server,
                                            wire::Protocol protocol);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  const Granted& granted() const { return granted_; }
  bool writable() const { return writable_; }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Not so in the child of a fork, where there is no thread.
  bool ours() const;

  /// Made by the caller, because the session's thread offers what a pager needs; from then on it belongs to
  /// that thread until its kUnmap has ended.
  Result<Pager*> attach(std::unique_ptr<Mapping> mapping, const ApertureSegment& segment,
                        const ApertureOptions& options);
  /// Hands a call to the thread; the caller waits for it, or does not.
  void submit(Pager* pager, std::shared_ptr<ApertureCall> call);

 private:
  template <engine::Engine E>
  class Turns;

  struct Errand {
    Pager* pager = nullptr;
    std::unique_ptr<Pager> attached{};
    std::shared_ptr<ApertureCall> call{};
  };

  Core() = default;
  Result<void> begin();
  void run(const ApertureSessionSettings& settings, const Place& server, wire::Protocol protocol);
  void opened(Result<Granted> granted);
  void give(Errand errand);
  bool take(std::vector<Errand>& into);

  pid_t process_ = 0;
  bool writable_ = false;
  Granted granted_;
  PageLink* link_ = nullptr;  ///< Lives on the thread.
  int bell_ = -1;             ///< An eventfd: something was given, and not taken yet.
  int ears_ = -1;             ///< An epoll: frames, the bell, and the faults of all apertures.
  std::atomic<bool> given_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Errand> errands_;
  std::optional<Result<Granted>> opened_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace wharf::live
