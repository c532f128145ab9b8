// SPDX-License-Identifier: Apache-2.0
// The RemoteMemory concept: what a program sees of the memory of another host. The simulator and the live
// runtime each provide one type for it, so a program is written once.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>

#include "verbs/completion.h"
#include "verbs/segment.h"
#include "verbs/verb.h"

namespace wharf::verbs {

/// Something whose `co_await` yields a T and needs no heap frame of its own.
template <typename A, typename T>
concept AwaitableOf = requires(A awaiter, std::coroutine_handle<> handle) {
  { awaiter.await_ready() } -> std::convertible_to<bool>;
  awaiter.await_suspend(handle);
  { awaiter.await_resume() } -> std::convertible_to<T>;
};

/// What a load of mapped remote memory gives: the bytes as a little-endian number (up to 8) and how it ended.
struct LoadedValue {
  std::uint64_t value = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
};

/// Remote memory as a program uses it. One object stands for one queue toward one peer host; every call
/// starts one operation and is awaited for its end. Several coroutines may have operations in flight on one
/// object.
///
/// `local` is an address of the calling host (Core::allocate); `length` is in bytes. Unsupported verbs
/// complete at once with kUnsupportedOpcode; `supports` tells beforehand.
template <typename R>
concept RemoteMemory = requires(R& remote, std::uint64_t local, RemoteAddress target, std::uint32_t length,
                                std::uint64_t value, Verb verb, const WorkRequest& request,
                                const ReceiveRequest& receive) {
  /// The memory that the peer exposes to this object.
  { remote.segment() } -> std::convertible_to<RemoteSegment>;
  { remote.supports(verb) } -> std::convertible_to<bool>;
  /// Any work request, all fields honoured.
  { remote.execute(request) } -> AwaitableOf<Completion>;
  { remote.read(local, target, length) } -> AwaitableOf<Completion>;
  { remote.write(local, target, length) } -> AwaitableOf<Completion>;
  { remote.write_imm(local, target, length, value) } -> AwaitableOf<Completion>;
  { remote.send(local, length) } -> AwaitableOf<Completion>;
  /// Posts a receive entry and waits for the message that lands in it.
  { remote.receive(local, length) } -> AwaitableOf<Completion>;
  /// Any receive request, all fields honoured.
  { remote.receive(receive) } -> AwaitableOf<Completion>;
  { remote.fetch_add(target, value) } -> AwaitableOf<Completion>;
  { remote.compare_swap(target, value, value) } -> AwaitableOf<Completion>;  // compare, swap
  /// Synchronous access of 1, 2, 4 or 8 bytes through the load/store path and the caches in front of it.
  { remote.load(target, length) } -> AwaitableOf<LoadedValue>;
  { remote.store(target, length, value) } -> AwaitableOf<CompletionStatus>;
  /// Ends when the remote memory has what stores that have ended put into the `length` bytes from `target`,
  /// and caches kept: every dirty line of them is written back, and stays in the caches, clean. With the
  /// status of the first line that was lost, if one was. At once where nothing is kept.
  { remote.publish(target, length) } -> AwaitableOf<CompletionStatus>;
};

}  // namespace wharf::verbs
