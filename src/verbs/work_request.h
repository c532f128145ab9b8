// SPDX-License-Identifier: Apache-2.0
// What a program posts to a queue, and what it issues on the load/store path.
#pragma once

#include <array>
#include <cstdint>

#include "verbs/segment.h"
#include "verbs/verb.h"
#include "wire/packet.h"
#include "wire/payload.h"

namespace wharf::verbs {

/// Number of a queue within its engine: a jetty or a queue pair.
using QueueId = std::uint32_t;
/// Number of an imported remote queue within the local engine (a target jetty, the far end of a queue pair).
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = 0xffffffffU;

/// A piece of local memory.
struct ScatterEntry {
  std::uint64_t address = 0;
  std::uint32_t length = 0;  ///< Bytes; entries of length zero are skipped.
};

inline constexpr int kMaxScatterEntries = 4;
/// Longest message, in bytes, that a work request may carry (IBTA vol 1 limits RC messages to 2^31).
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 31U;

/// Execution-order tag of a request (UB-Base 2.0.1, ODR). Protocols without the tag execute in posting order
/// anyway.
enum class OrderTag : std::uint8_t { kNone, kRelaxed, kStrong };

/// One asynchronous request. Plain data; the engine copies it when posted.
struct WorkRequest {
  std::uint64_t id = 0;  ///< The program's cookie, returned in the completion.
  Verb verb = Verb::kRead;
  OrderTag order = OrderTag::kNone;
  bool signaled = true;             ///< False: success produces no completion.
  bool fence = false;               ///< Wait for earlier reads and atomics of the queue.
  bool solicited = false;           ///< Raise an event at the target.
  bool completion_in_order = true;  ///< UB ODR[2].
  std::uint8_t local_count = 0;     ///< Entries used in `local`.
  std::uint8_t width = 8;           ///< Atomics: operand width in bytes: 4, 8 or (UB compare_swap) 16.
  std::array<ScatterEntry, kMaxScatterEntries> local{};  ///< Source or destination at the initiator.
  std::uint32_t length = 0;  ///< Message length in bytes: the sum of the local entries or of the inline data.
  PeerId peer = kNoPeer;     ///< UB: which imported queue; RoCE: ignored (a queue pair has one).
  RemoteAddress remote;      ///< One-sided verbs and atomics.
  RemoteAddress notify;      ///< kWriteNotify: where `immediate` lands, 8 bytes, after the data.
  std::uint64_t immediate = 0;             ///< Immediate or notify data. RoCE carries the low 32 bits.
  SegmentToken invalidate;                 ///< kSendInvalidate.
  std::array<std::uint64_t, 2> operand{};  ///< Atomics: operand or swap value; [0] holds the low 64 bits.
  std::array<std::uint64_t, 2> compare{};  ///< kCompareSwap: value to compare with.
  /// Data that travels inside the work-queue entry instead of being fetched (BlueFlame, inline). kNone: not
  /// inline.
  wire::Payload inline_data;
  wire::OperationTag operation;  ///< For attribution; never on the wire.
};

/// One receive entry: where the next Send lands.
struct ReceiveRequest {
  std::uint64_t id = 0;
  std::uint8_t local_count = 0;
  std::array<ScatterEntry, kMaxScatterEntries> local{};
};

/// One load or store of mapped remote memory, of one cache line at most, or the write-back of a line.
struct LoadStore {
  std::uint32_t tag = 0;  ///< The issuer's name for it, returned in the result.
  Verb verb = Verb::kLoad;
  PeerId peer = kNoPeer;
  RemoteAddress remote;       ///< 64-byte aligned for whole lines.
  std::uint32_t length = 64;  ///< Bytes transferred: 64 << n, n in 0..7 (UB-Base 2.0.1 8.3).
  std::uint64_t byte_mask = ~std::uint64_t{0};  ///< Stores: which bytes of the 64 are written.
  wire::Payload data;                           ///< Stores: `length` bytes.
  wire::OperationTag operation;
};

}  // namespace wharf::verbs
