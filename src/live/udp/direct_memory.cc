// SPDX-License-Identifier: Apache-2.0
#include "live/udp/direct_memory.h"

#include <atomic>
#include <cstring>

#include "base/bytes.h"
#include "verbs/atomic_value.h"

namespace wharf::live {
namespace {

/// Copies so that a reader who sees the last byte sees them all (on CPUs that keep stores in order). Short
/// data goes word by word from the lowest address up. Long data goes by the CPU's widest stores, and only its
/// end word by word. Words that lie aligned are stored whole.
void copy_ascending(std::byte* target, const std::byte* source, std::size_t length) {
#ifndef __SANITIZE_THREAD__           // Readers meet plain stores here, which it would call a race.
  constexpr std::size_t kLong = 512;  // Choice.
  constexpr std::size_t kEnd = 64;
  if (length >= kLong) {
    std::size_t bulk = length - kEnd;
    bulk -= reinterpret_cast<std::uintptr_t>(target + bulk) % 8;
    std::memmove(target, source, bulk);
    std::atomic_thread_fence(std::memory_order_release);
    target += bulk;
    source += bulk;
    length -= bulk;
  }
#endif
  const auto store_byte = [](std::byte* at, std::byte value) {
    std::atomic_ref(*at).store(value, std::memory_order_release);
  };
  while (length != 0 && reinterpret_cast<std::uintptr_t>(target) % 8 != 0) {
    store_byte(target++, *source++);
    --length;
  }
  for (; length >= 8; length -= 8, target += 8, source += 8) {
    std::uint64_t word;
    std::memcpy(&word, source, sizeof word);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(target)).store(word, std::memory_order_release);
  }
  while (length-- != 0) store_byte(target++, *source++);
}

template <typename Word>
std::uint64_t modify(const engine::Access& access) {
  std::atomic_ref word(*reinterpret_cast<Word*>(access.address));
  Word old = word.load();
  while (!word.compare_exchange_weak(
      old, verbs::atomic_value(access.atomic, old, static_cast<Word>(access.operand[0]),
                               static_cast<Word>(access.compare[0])))) {
  }
  return old;
}

using Wide = unsigned __int128;

Wide wide(const std::array<std::uint64_t, 2>& halves) { return (Wide{halves[1]} << 64U) | halves[0]; }

/// cmpxchg16b: one instruction, and the old value comes back whether or not it swapped.
std::array<std::uint64_t, 2> compare_swap_16(const engine::Access& access) {
  const Wide old = __sync_val_compare_and_swap(reinterpret_cast<Wide*>(access.address), wide(access.compare),
                                               wide(access.operand));
  return {static_cast<std::uint64_t>(old), static_cast<std::uint64_t>(old >> 64U)};
}

}  // namespace

engine::AccessResult perform(const engine::Access& access) {
  engine::AccessResult result;
  switch (access.kind) {
    case engine::AccessKind::kRead:
      result.data = wire::bytes_payload(reinterpret_cast<const std::byte*>(access.address), access.length);
      break;
    case engine::AccessKind::kWrite: {
      auto* target = reinterpret_cast<std::byte*>(access.address);
      if (access.data.kind == wire::PayloadKind::kBytes) {
        copy_ascending(target, access.data.bytes, access.length);
      } else {
        wire::fill(access.data, std::span(target, access.length));
      }
      break;
    }
    case engine::AccessKind::kAtomic:
      if (access.address % access.width != 0) {  // The CPU's atomics need it; an engine may not.
        result.status = engine::AccessStatus::kFault;
      } else if (access.width == 16) {
        result.old_value = compare_swap_16(access);
      } else {
        result.old_value[0] =
            access.width == 4 ? modify<std::uint32_t>(access) : modify<std::uint64_t>(access);
      }
      break;
    case engine::AccessKind::kFetchWorkRequest:
    case engine::AccessKind::kFetchReceiveEntry:
    case engine::AccessKind::kWriteCompletion:
    case engine::AccessKind::kFetchContext:
    case engine::AccessKind::kWriteContext:
      break;  // Live queues and contexts are the engine's own memory.
  }
  return result;
}

}  // namespace wharf::live
