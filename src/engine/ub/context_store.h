// SPDX-License-Identifier: Apache-2.0
// The context cache: which hardware records the NIC holds, and the work that waits for one that it does not
// hold.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/index_list.h"
#include "base/lru_index.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/contract.h"

namespace wharf::ub {

struct EngineParts;

enum class ContextKind : std::uint8_t { kJetty, kTpChannel, kMr };
inline constexpr std::uint32_t kContextKinds = 3;

/// Names one record: its kind and its number in the engine's table of that kind.
struct ContextKey {
  ContextKind kind = ContextKind::kJetty;
  std::uint32_t index = 0;
};

/// What goes on when the record has come. The engine calls the same step again that found the record missing.
enum class DeferredStep : std::uint8_t {
  kChannelPacket,     ///< object: channel; packet: a received packet.
  kChannelPump,       ///< object: channel.
  kChannelTimeout,    ///< object: channel.
  kInboundPacket,     ///< object: inbound message; packet: one of its packets.
  kInboundTail,       ///< object: inbound message.
  kResponsePacket,    ///< object: transaction; packet: a response; detail: offset of its data.
  kJettyAdvance,      ///< object: jetty.
  kLoadStoreService,  ///< object: service.
};

struct DeferredWork {
  DeferredStep step = DeferredStep::kChannelPacket;
  std::uint32_t object = 0;
  std::uint32_t generation = 0;
  std::uint32_t packet = kNoSlot;  ///< Index of a parked packet.
  std::uint64_t detail = 0;
  std::uint32_t next = kNoSlot;
};

/// Cache of records with least-recently-used replacement. With no limit every record is always there and
/// acquire() costs one branch. A miss queues the step; the fetch (and the eviction that makes room) starts
/// when the engine settles, so no record leaves while an input is being worked on.
class ContextStore {
 public:
  explicit ContextStore(EngineParts& parts);

  bool limited() const { return capacity_ != 0; }

  /// Makes room in the tables for a record that add() will name. Control path.
  Result<void> reserve(ContextKey key);
  /// A record was made: it enters the cache, or is written to memory when the cache is full.
  void add(ContextKey key);
  /// A record is gone; steps that wait for it run and find it invalid.
  void remove(TimePs now, ContextKey key);

  /// Whether the record is there. If not, the caller queues its step with defer().
  bool acquire(ContextKey key) { return capacity_ == 0 || acquire_limited(key); }
  /// Queues `work` until acquire(key) succeeds. `operation` and `at_target` describe the fetch.
  void defer(ContextKey key, const DeferredWork& work, wire::OperationTag operation, bool at_target);
  /// The record differs from its copy in memory.
  void mark_dirty(ContextKey key) {
    if (capacity_ != 0) entry(key).dirty = true;
  }

  /// Starts the fetches that found room; called when an input has been worked off.
  void settle(TimePs now) {
    if (capacity_ != 0) start_fetches(now);
  }
  /// A fetch or write was answered.
  void access_done(TimePs now, std::uint64_t detail, const engine::AccessResult& result);

  /// Steps that wait, for reports.
  std::uint32_t waiting() const { return deferred_.in_use(); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const;

  static std::uint64_t pack(ContextKey key) {
    return std::uint64_t{static_cast<std::uint8_t>(key.kind)} << 32U | key.index;
  }
  static ContextKey unpack(std::uint64_t packed) {
    return {static_cast<ContextKind>(packed >> 32U), static_cast<std::uint32_t>(packed)};
  }

 private:
  enum class Place : std::uint8_t {
    kNone,      ///< There is no such record.
    kMemory,    ///< In the context region alone.
    kFetching,  ///< On its way in.
    kCache,
    kWriting,  ///< On its way out.
    kHeld,  ///< Made while a transfer of a removed record of this number is under way: in the engine, beside
            ///< the cache, until that has ended.
  };
  struct Entry {
    Place place = Place::kNone;
    bool dirty = false;
    bool wanted = false;     ///< In wanted_.
    bool lost = false;       ///< Memory failed to take it.
    bool in_flight = false;  ///< Its place in memory is being read or written.
    bool at_target = false;
    wire::OperationTag operation;
    IndexList waiters;
  };

  Entry& entry(ContextKey key) { return entries_[static_cast<std::size_t>(key.kind)][key.index]; }
  bool acquire_limited(ContextKey key);
  void start_fetches(TimePs now);
  void want(ContextKey key);
  void fetch(TimePs now, ContextKey key);
  void write_back(ContextKey key);
  void settle_in(ContextKey key);
  void run_waiters(TimePs now, ContextKey key);
  std::uint64_t address(ContextKey key) const;

  EngineParts& parts_;
  std::uint32_t capacity_;
  std::optional<LruIndex> cached_;
  std::uint32_t fetching_ = 0;
  std::uint64_t running_ = ~std::uint64_t{0};  ///< The key whose waiters run now.
  std::array<std::vector<Entry>, kContextKinds> entries_;
  Ring<std::uint64_t> wanted_;
  SlotPool<DeferredWork> deferred_;
};

}  // namespace wharf::ub
