// SPDX-License-Identifier: Apache-2.0
// The RemoteMemory of live programs: one queue of a live host toward one peer.
#pragma once

#include <coroutine>
#include <cstdint>

#include "live/udp/live_host.h"
#include "verbs/remote_memory.h"

namespace wharf::live {

/// Satisfies verbs::RemoteMemory. Loads and stores need hardware in front of the CPU's memory; they complete
/// with kUnsupportedOpcode.
template <engine::Engine E>
class LiveRemote {
 public:
  LiveRemote(LiveHost<E>& host, verbs::QueueId queue, verbs::PeerId peer, const verbs::RemoteSegment& segment)
      : host_(host), queue_(queue), peer_(peer), segment_(segment) {}

  /// One operation; lives in the awaiting coroutine.
  class Operation {
   public:
    Operation(LiveRemote& remote, const verbs::WorkRequest& request) : remote_(remote), request_(request) {}
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> handle) {
      pending_.handle = handle;
      return remote_.host_.start(remote_.queue_, request_, pending_);
    }
    verbs::Completion await_resume() const { return pending_.completion; }

   private:
    LiveRemote& remote_;
    verbs::WorkRequest request_;
    PendingOperation pending_;
  };

  class Receive {
   public:
    Receive(LiveRemote& remote, const verbs::ReceiveRequest& request) : remote_(remote), request_(request) {}
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> handle) {
      pending_.handle = handle;
      return remote_.host_.start_receive(remote_.queue_, request_, pending_);
    }
    verbs::Completion await_resume() const { return pending_.completion; }

   private:
    LiveRemote& remote_;
    verbs::ReceiveRequest request_;
    PendingOperation pending_;
  };

  const verbs::RemoteSegment& segment() const { return segment_; }
  bool supports(verbs::Verb verb) const { return !verbs::is_load_store(verb) && E::supports(verb); }

  Operation execute(verbs::WorkRequest request) {
    request.peer = peer_;
    return {*this, request};
  }
  Operation read(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return one_sided(verbs::Verb::kRead, local, target, length);
  }
  Operation write(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return one_sided(verbs::Verb::kWrite, local, target, length);
  }
  Operation write_imm(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length,
                      std::uint64_t immediate) {
    verbs::WorkRequest request = message(verbs::Verb::kWriteImm, local, length);
    request.remote = target;
    request.immediate = immediate;
    return {*this, request};
  }
  Operation send(std::uint64_t local, std::uint32_t length) {
    return {*this, message(verbs::Verb::kSend, local, length)};
  }
  Receive receive(std::uint64_t local, std::uint32_t length) {
    verbs::ReceiveRequest request;
    request.local_count = 1;
    request.local[0] = {local, length};
    return receive(request);
  }
  /// With tags, and pieces, where the engine has them.
  Receive receive(const verbs::ReceiveRequest& request) { return {*this, request}; }
  Operation fetch_add(verbs::RemoteAddress target, std::uint64_t operand) {
    return atomic(verbs::Verb::kFetchAdd, target, operand, 0);
  }
  Operation compare_swap(verbs::RemoteAddress target, std::uint64_t compare, std::uint64_t swap) {
    return atomic(verbs::Verb::kCompareSwap, target, swap, compare);
  }
  LiveCore::Ready<verbs::LoadedValue> load(verbs::RemoteAddress, std::uint32_t) {
    return {{0, verbs::CompletionStatus::kUnsupportedOpcode}};
  }
  LiveCore::Ready<verbs::CompletionStatus> store(verbs::RemoteAddress, std::uint32_t, std::uint64_t) {
    return {verbs::CompletionStatus::kUnsupportedOpcode};
  }
  LiveCore::Ready<verbs::CompletionStatus> publish(verbs::RemoteAddress, std::uint32_t) {
    return {verbs::CompletionStatus::kSuccess};
  }

 private:
  verbs::WorkRequest message(verbs::Verb verb, std::uint64_t local, std::uint32_t length) const {
    verbs::WorkRequest request;
    request.verb = verb;
    request.peer = peer_;
    request.local_count = 1;
    request.local[0] = {local, length};
    request.length = length;
    return request;
  }
  Operation one_sided(verbs::Verb verb, std::uint64_t local, verbs::RemoteAddress target,
                      std::uint32_t length) {
    verbs::WorkRequest request = message(verb, local, length);
    request.remote = target;
    return {*this, request};
  }
  Operation atomic(verbs::Verb verb, verbs::RemoteAddress target, std::uint64_t operand,
                   std::uint64_t compare) {
    verbs::WorkRequest request;
    request.verb = verb;
    request.peer = peer_;
    request.remote = target;
    request.length = request.width;
    request.operand[0] = operand;
    request.compare[0] = compare;
    return {*this, request};
  }

  LiveHost<E>& host_;
  verbs::QueueId queue_;
  verbs::PeerId peer_;
  verbs::RemoteSegment segment_;
};

}  // namespace wharf::live
