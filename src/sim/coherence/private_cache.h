// SPDX-License-Identifier: Apache-2.0
// The coherent side of one core: its private level 1 and level 2 as one MESI agent. Without time: the answer
// says which level had the line, and the timed host knows what that costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ring.h"
#include "sim/coherence/atomic_operation.h"
#include "sim/coherence/cache_lines.h"
#include "sim/coherence/coherence_observer.h"
#include "sim/coherence/message.h"
#include "sim/coherence/store_mirror.h"

namespace wharf::sim {

struct PrivateCacheConfig {
  CacheLinesConfig lines;
  std::uint32_t misses = 4;     ///< Miss registers (MSHRs): lines that are asked for at a time.
  std::uint32_t targets = 20;   ///< Accesses that can wait for one line.
  std::uint32_t evictions = 4;  ///< Lines on their way home.
  std::uint32_t credits = 8;    ///< Unanswered requests, as the home has been told.
};

/// The caller's own name of an access; written into states as it is.
using Ticket = std::uint64_t;

enum class CacheOutcome : std::uint8_t {
  kLevel1,   ///< Done, by level 1.
  kLevel2,   ///< Done, by level 2.
  kPending,  ///< Taken; next_answer() will name the ticket.
  kRefused,  ///< No register, target, place or eviction slot is free: ask again after the next receive().
};

/// An access that was pending is done.
struct CacheAnswer {
  Ticket ticket = 0;
  std::uint32_t size =
      0;  ///< Bytes that mean something: what was loaded, or what an atomic found. 0 otherwise.
  LineBytes bytes{};
};

struct PrivateCacheStatistics {
  std::uint64_t level1_hits = 0;
  std::uint64_t level2_hits = 0;
  std::uint64_t misses = 0;  ///< Accesses that took a register.
  std::uint64_t joins = 0;   ///< Accesses that joined one.
  std::uint64_t refusals = 0;
  std::uint64_t upgrades = 0;  ///< Requests for ownership of a line that is there.
  std::uint64_t repeated_requests =
      0;  ///< Requests sent again for targets that overtaken bytes could not serve.
  std::uint64_t evictions = 0;
  std::uint64_t write_backs = 0;  ///< Evictions and flushes of modified lines.
  std::uint64_t snoops = 0;
  std::uint64_t invalidations = 0;    ///< Copies lost to a snoop.
  std::uint64_t deferred_snoops = 0;  ///< Fetches that overtook the bytes.
  std::uint64_t overtaken_data = 0;   ///< Bytes whose invalidation was there first.
};

/// A cache controller with the stable states I, S, E, M and, for a line with a miss register, these:
///
/// | state | means | Invalidate, Supply | Fetch... | bytes or grant arrive |
/// |---|---|---|---|---|
/// | WP | wants it, its own put is not done yet | acknowledge | from the eviction buffer | never |
/// | IS | GetShared sent | acknowledge, become ISI (Supply: IS) | wait for the bytes | S or E; loads done |
/// | ISI | IS, its invalidation overtook the bytes | acknowledge | never | the loads from before the
/// invalidation done; then I, or IS or IM again | | IM | GetModified sent | acknowledge | wait for the bytes
/// | M; all done | | SM | Upgrade sent, copy there | acknowledge, become IM (Supply: bytes) | wait for the
/// grant | M; all done | | IO | ReadOnce sent | acknowledge | never | the first load done; then I, or IO
/// again |
///
/// and for a line in the eviction buffer (P: S, E or M as it left, T: taken by a snoop):
///
/// | state | Invalidate | Supply | FetchOnce | FetchShared, FetchModified | PutDone |
/// |---|---|---|---|---|---|
/// | P | bytes if asked for, T | bytes | bytes | bytes, T | free |
/// | T | acknowledge | acknowledge | acknowledge | acknowledge | free |
///
/// Stable states: Invalidate S to I; Supply stays; FetchOnce stays; FetchShared E, M to S; FetchModified E, M
/// to I; what is not there is acknowledged. A line is asked for again only when the put that gave it up is
/// done: therefore a snoop that meets IS, IM or SM was sent after the home had answered the request (or, for
/// SM, the copy), and waiting for the answer cannot wait for ever.
///
/// Accesses to a line with a register are done in order of arrival. Loads on different lines are not ordered:
/// a core that keeps them in order waits, or watches lost_copy() for lines that it has read early.
///
/// Order of calls: one input, then every output until none is left.
class PrivateCache {
 public:
  PrivateCache(AgentId agent, const PrivateCacheConfig& config);

  /// Null for none. The observer outlives its use; a copy of this object has the same pointer.
  void observe_with(CoherenceObserver* observer) { observer_ = observer; }
  /// Likewise: who is told of every store that is performed.
  void mirror_to(StoreMirror* mirror) { mirror_ = mirror; }

  // Inputs of the core. An access lies in one line; sizes from 1 to kLineBytes. Values are written only when
  // the outcome is a level.
  CacheOutcome load(Ticket ticket, std::uint64_t address, std::uint32_t size, std::byte* value);
  CacheOutcome store(Ticket ticket, std::uint64_t address, std::span<const std::byte> value);
  /// Sizes 1, 2, 4 and 8, aligned, little-endian; `old` gets what was found.
  CacheOutcome atomic(Ticket ticket, std::uint64_t address, std::uint32_t size,
                      const AtomicOperation& operation, std::uint64_t& old);
  /// A load that leaves no copy behind where there is none.
  CacheOutcome load_uncached(Ticket ticket, std::uint64_t address, std::uint32_t size, std::byte* value);
  /// The line leaves this cache; done when the home has it. kLevel1 when there was nothing to do, kRefused
  /// while accesses to it are pending.
  CacheOutcome flush(Ticket ticket, LineNumber line);

  /// A snoop, or the answer to a request.
  void receive(const Message& message);

  // Outputs: false when there is none. Requests stop when the credits are used up.
  bool next_request(Message& out);
  bool next_response(Message& out);
  bool next_answer(CacheAnswer& out);
  /// The line whose copy left with the last input, by a snoop or an eviction, for cores that loaded from it
  /// early. One input costs at most one copy.
  std::optional<LineNumber> lost_copy() const { return lost_; }

  AgentId agent() const { return agent_; }
  CopyState state(LineNumber line) const;
  /// The state of a line as the tables above spell it, for traces: "I", "IS", "PM" and so on. Where a
  /// register waits for a put, that is "WP".
  std::string_view state_name(LineNumber line) const;
  /// The bytes of a copy, or null. Eviction buffer included when `modified` only counts: see
  /// modified_bytes().
  const LineBytes* bytes(LineNumber line) const;
  /// Bytes of `line` that memory may lack, here or on their way home, or null.
  const LineBytes* modified_bytes(LineNumber line) const;
  /// Nothing is under way.
  bool is_idle() const;
  const PrivateCacheStatistics& statistics() const { return statistics_; }
  /// All that decides the future; the observer is not part of it.
  void append_state(std::vector<std::byte>& state) const;

 private:
  enum class TargetKind : std::uint8_t { kLoad, kStore, kAtomic };

  struct Target {
    Ticket ticket = 0;
    TargetKind kind = TargetKind::kLoad;
    std::uint8_t offset = 0;
    std::uint8_t size = 0;
    AtomicOperation operation;
    LineBytes bytes{};  ///< Stores: the first `size` ones.
  };

  enum class Wait : std::uint8_t { kFree, kPut, kShared, kModified, kUpgrade, kOnce };

  /// A miss register.
  struct Miss {
    LineNumber line = 0;
    Wait wait = Wait::kFree;
    bool overtaken = false;  ///< An invalidation came before the bytes.
    bool is_uncached = false;
    bool has_snoop = false;  ///< A fetch waits for the bytes.
    MessageKind snoop = MessageKind::kFetchOnce;
    std::uint32_t place = CacheLines::kNoPlace;
    std::uint32_t first = 0;     ///< Targets that are done already.
    std::uint32_t count = 0;     ///< Targets, done or not.
    std::uint32_t eligible = 0;  ///< Overtaken: targets that came before the invalidation.
  };

  struct Eviction {
    LineNumber line = 0;
    bool is_used = false;
    bool is_taken = false;
    bool is_flush = false;
    CopyState state = CopyState::kInvalid;
    Ticket ticket = 0;  ///< Of a flush.
    LineBytes bytes{};
  };

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Target& target(std::uint32_t miss, std::uint32_t index) { return targets_[miss * config_.targets + index]; }
  const Target& target(std::uint32_t miss, std::uint32_t index) const {
    return targets_[miss * config_.targets + index];
  }
  std::uint32_t find_miss(LineNumber line) const;
  std::uint32_t find_eviction(LineNumber line) const;
  CacheOutcome hit(std::uint32_t place);
  CacheOutcome access(LineNumber line, const Target& target, bool is_uncached, LineBytes& found);
  CacheOutcome start_miss(LineNumber line, std::uint32_t place, const Target& target, bool is_uncached);
  CacheOutcome join(std::uint32_t miss, const Target& target);
  CacheOutcome refuse();
  bool make_room(LineNumber line, std::uint32_t& place);
  void evict(std::uint32_t place, std::uint32_t eviction);
  void ask(Miss& miss);
  void perform(const Target& target, LineNumber line, std::uint32_t place, LineBytes& bytes,
               LineBytes& found);
  void serve(std::uint32_t miss, std::uint32_t place, LineBytes& bytes, std::uint32_t limit);
  void granted(const Message& message);
  void end_or_repeat(Miss& miss);
  void put_done(const Message& message);
  void snooped(const Message& message);
  void snoop_copy(std::uint32_t place, const Message& message);
  void snoop_miss(Miss& miss, const Message& message);
  void snoop_eviction(Eviction& eviction, const Message& message);
  void answer_snoop(LineNumber line, const LineBytes* bytes, bool is_dirty, bool keeps_shared);
  void stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes);
  void change(std::uint32_t place, CopyState state);
  void lose(std::uint32_t place);
  void send(LineNumber line, MessageKind kind, const LineBytes* bytes);

  // Constant after construction.
  AgentId agent_;
  PrivateCacheConfig config_;
  CoherenceObserver* observer_ = nullptr;
  StoreMirror* mirror_ = nullptr;

  CacheLines lines_;
  std::vector<Miss> misses_;
  std::vector<Target> targets_;
  std::vector<Eviction> evictions_;
  std::uint32_t credits_;
  Ring<Message> requests_;
  Ring<Message> responses_;
  Ring<CacheAnswer> answers_;
  std::optional<LineNumber> lost_;
  PrivateCacheStatistics statistics_;
};

}  // namespace wharf::sim
