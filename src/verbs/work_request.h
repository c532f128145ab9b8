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
  /// The registered segment that it lies in, by the `id` of its token: the entry must lie inside, and has the
  /// segment's address space. 0: no key, the address space of the queue.
  std::uint32_t key = 0;
};

inline constexpr int kMaxScatterEntries = 4;
/// Longest message, in bytes, that a work request may carry (IBTA vol 1 limits RC messages to 2^31).
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 31U;

/// Execution-order tag of a request (UB-Base 2.0.1, ODR). Protocols without the tag execute in posting order
/// anyway.
enum class OrderTag : std::uint8_t { kNone, kRelaxed, kStrong };

/// How a message is delivered, for protocols with a choice (Ultra Ethernet: RUD, ROD, RUDI, UUD). Other
/// engines refuse everything but kDefault.
enum class Delivery : std::uint8_t {
  kDefault,     ///< What the protocol or its configuration takes for this verb.
  kUnordered,   ///< Reliable, exactly once, in any order.
  kOrdered,     ///< Reliable, exactly once, in posting order toward one peer.
  kIdempotent,  ///< At least once; only into memory where a repetition does no harm.
  kDatagram,    ///< Best effort, one packet.
};

/// What a typed atomic does to each element of the target; names and order of libfabric fi_op, with the
/// numbers of Ultra Ethernet 1.0 SES. kOfVerb: the verb says it, on unsigned words of `width` bytes.
enum class AtomicFunction : std::uint8_t {
  kMin,
  kMax,
  kSum,
  kDifference,
  kProduct,
  kLogicalOr,
  kLogicalAnd,
  kBitOr,
  kBitAnd,
  kLogicalXor,
  kBitXor,
  kRead,
  kWrite,
  kCompareSwapEqual,
  kCompareSwapNotEqual,
  kCompareSwapLessEqual,
  kCompareSwapLess,
  kCompareSwapGreaterEqual,
  kCompareSwapGreater,
  kMaskedSwap,
  kInvalidate,
  kOfVerb = 0xff,
};

/// Element type of a typed atomic, numbered as in Ultra Ethernet 1.0 SES.
enum class AtomicType : std::uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kInt128,
  kUint128,
  kFloat,
  kDouble,
  kFloatComplex,
  kDoubleComplex,
  kLongDouble,
  kLongDoubleComplex,
  kBfloat16,
  kFloat16,
};

/// One asynchronous request. Plain data; the engine copies it when posted.
struct WorkRequest {
  std::uint64_t id = 0;  ///< The program's cookie, returned in the completion.
  Verb verb = Verb::kRead;
  OrderTag order = OrderTag::kNone;
  bool signaled = true;             ///< False: success produces no completion.
  bool fence = false;               ///< Wait for earlier reads and atomics of the queue.
  bool solicited = false;           ///< Raise an event at the target.
  bool completion_in_order = true;  ///< ODR[2].
  std::uint8_t local_count = 0;     ///< Entries used in `local`.
  std::uint8_t width = 8;           ///< Atomics: operand width in bytes: 4, 8 or (URMA's compare_swap) 16.
  std::array<ScatterEntry, kMaxScatterEntries> local{};  ///< Source or destination at the initiator.
  std::uint32_t length = 0;  ///< Message length in bytes: the sum of the local entries or of the inline data.
  PeerId peer = kNoPeer;     ///< Jetties: which imported queue; queue pairs have one and ignore it.
  RemoteAddress remote;      ///< One-sided verbs and atomics.
  RemoteAddress notify;      ///< kWriteNotify: where `immediate` lands, 8 bytes, after the data.
  std::uint64_t immediate = 0;             ///< Immediate or notify data. IBTA's carries the low 32 bits.
  SegmentToken invalidate;                 ///< kSendInvalidate.
  std::array<std::uint64_t, 2> operand{};  ///< Atomics: operand or swap value; [0] holds the low 64 bits.
  std::array<std::uint64_t, 2> compare{};  ///< kCompareSwap: value to compare with.
  /// Typed atomics (Ultra Ethernet; other engines refuse them): the verb is kAtomicStore when no result is
  /// wanted and any other atomic verb when it is. The operands are `length` bytes at `local` (or inline), the
  /// result comes back there; the compare-and-swap family takes `operand` and `compare` instead.
  AtomicFunction atomic_function = AtomicFunction::kOfVerb;
  AtomicType atomic_type = AtomicType::kUint64;
  Delivery delivery = Delivery::kDefault;
  bool remote_complete = false;  ///< Complete only when the data can be seen by everybody at the target.
  bool tagged = false;           ///< Sends: matched by `tag` (Ultra Ethernet; other engines refuse it).
  std::uint8_t hint = 0;         ///< Sends to a group: which member (GroupPolicy::kHint).
  std::uint64_t tag = 0;
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
  /// Ultra Ethernet; other engines refuse it: takes tagged messages whose tag differs from `tag` only in bits
  /// that `ignore` has.
  bool tagged = false;
  bool from_one_sender = false;  ///< Only from the initiator `sender`.
  std::uint32_t sender = 0;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
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
  bool write_back = false;  ///< Stores: bytes that a cache gives up, stored for their programs before.
  wire::OperationTag operation;
};

}  // namespace wharf::verbs
