// SPDX-License-Identifier: Apache-2.0
// The home of a host's memory: the one place where accesses to a line are put in order. Without time:
// latencies, DRAM and a last-level cache stand behind its memory port or on the links to its agents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "base/slot_index.h"
#include "sim/coherence/directory.h"
#include "sim/coherence/message.h"

namespace wharf::sim {

struct HomeConfig {
  std::uint32_t directory_sets = 4096;  ///< A power of two.
  std::uint32_t directory_ways = 16;
  /// For each agent, the most requests that it may have unanswered; the home keeps a place for each of them.
  /// As many entries as there are agents, at most kMaxAgents, each at least 1.
  std::vector<std::uint32_t> credits;
  /// Write-backs that go on after their request was answered; further ones are finished before the answer.
  std::uint32_t write_back_places = 16;
  /// One bit for each agent whose shared copies have bytes: a read of a shared line asks one of them before
  /// memory. 0 always asks memory.
  std::uint64_t suppliers = 0;
};

/// What the home wants of memory. At most one access of a line is under way, so the line names it.
struct MemoryAccess {
  LineNumber line = 0;
  bool is_write = false;
  AgentId agent = 0;  ///< On whose behalf; a timed host decides from it what a DDIO hit is.
  MessageKind cause = MessageKind::kGetShared;  ///< The request of that agent.
  LineBytes data{};                             ///< Of writes; otherwise it means nothing.
};

struct HomeStatistics {
  std::uint64_t requests = 0;
  std::uint64_t queued = 0;  ///< Requests that found their line busy.
  std::uint64_t way_waits =
      0;                     ///< Requests for which no directory entry of the set could be evicted at once.
  std::uint64_t snoops = 0;  ///< Of all kinds.
  std::uint64_t invalidations = 0;  ///< kInvalidate and kFetchModified of these.
  std::uint64_t recalls = 0;        ///< Directory entries evicted.
  std::uint64_t memory_reads = 0;
  std::uint64_t memory_writes = 0;
  std::uint64_t cache_supplies = 0;  ///< Requests answered with bytes from another agent.
  std::uint64_t lost_upgrades = 0;   ///< Upgrades whose copy had gone: answered with the bytes.
  std::uint64_t stale_puts = 0;      ///< Puts that found nothing of their agent left.
  std::uint64_t drops = 0;           ///< kDropShared that took a sharer away.
  std::uint64_t late_drops = 0;      ///< Those that did not: the line was busy, or the sharer gone.
};

/// A directory-based MESI home, blocking per line: one transaction on a line at a time, the others wait in
/// order of arrival. A transaction ends when its answer is handed out; the home does not wait until the agent
/// has it, so that the next snoop may overtake the answer (agents know what to do).
///
/// Choice: no last-level cache in here. What a DDIO write allocates and what a read hits are matters of the
/// timed host, which sees every access at the memory port with its agent and cause; coherence does not depend
/// on it.
///
/// Order of calls: one input, then every output until none is left. Outputs of different kinds may be held
/// back for any time by a network; each kind keeps its order.
///
/// A sharer that said kDropShared while its line was busy stays listed. It is snooped for nothing later on,
/// by a writer or for its directory entry, and answers at once: what is listed is never less than what is
/// held.
///
/// Why it cannot deadlock: an agent has at most its credits of requests unanswered, so that the home always
/// takes a request; a request waits only for the transaction before it on its line, or for an entry of the
/// directory. A transaction waits only for answers to snoops and for memory. Agents answer snoops without the
/// home's help: at once, or when data arrives that is on its way already (only an owner may wait so). Each
/// request slot has a slot of its own for the recall of an entry, so that recalls need nothing that requests
/// hold.
///
/// | directory entry | GetShared | GetTracked | GetModified, Upgrade | WriteLine | ReadOnce | Put |
/// |---|---|---|---|---|---|---|
/// | none | memory, grant exclusive | memory, grant shared | memory, grant modified | grant modified | memory
/// | done | | shared | supplier or memory, grant shared | same | invalidate others; bytes unless it has them
/// | invalidate others | supplier or memory | leave | | owned by another | FetchShared, write back if dirty |
/// same | FetchModified, dirty bytes go on | same | FetchOnce | done | | owned by itself | never | never |
/// never | never | FetchOnce | write back if modified, leave |
class Home {
 public:
  explicit Home(HomeConfig config);

  // Inputs.
  /// A request or the answer to a snoop, `message.agent` the sender. Requests beyond an agent's credits and
  /// answers that nobody waits for are our bug and abort.
  void receive(const Message& message);
  /// The access of `line` from next_memory_access() is done; `data` for reads, null there for zeros. A write
  /// may be reported done as soon as later reads of the line will see it.
  void memory_done(LineNumber line, const LineBytes* data);

  // Outputs: false when there is none.
  bool has_output() const { return !snoops_.empty() || !responses_.empty() || !memory_.empty(); }
  bool has_snoop() const { return !snoops_.empty(); }
  bool has_response() const { return !responses_.empty(); }
  bool has_memory_access() const { return !memory_.empty(); }
  bool next_snoop(Message& out);
  bool next_response(Message& out);
  /// The same in two steps, without a copy: what there is (which the caller may change), and that it is
  /// taken.
  Message& first_response() { return responses_.front(); }
  void first_response_taken() { responses_.pop_front(); }
  bool next_memory_access(MemoryAccess& out);

  /// Nothing is under way.
  bool is_idle() const { return active_ == 0 && responses_.empty(); }
  const HomeStatistics& statistics() const { return statistics_; }
  const Directory& directory() const { return directory_; }
  /// All that decides the future.
  void append_state(std::vector<std::byte>& state) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  enum class Phase : std::uint8_t {
    kFree,
    kQueued,         ///< Behind another transaction of its line.
    kWaitingForWay,  ///< First of its line, but the directory has no place for it yet.
    kGathering,      ///< Snoops or a memory read are under way.
    kWritingBack,    ///< A memory write is under way.
  };

  /// One request and its place. Slot i + slots_ is for the recall that request i needs.
  struct alignas(64) Transaction {
    std::uint64_t unsent = 0;    ///< Agents whose snoop was not handed out yet.
    std::uint64_t awaited = 0;   ///< Agents whose answer is missing, the unsent ones too.
    std::uint32_t next = kNone;  ///< The next one that waits for this line.
    std::uint32_t last = kNone;  ///< First of a line: the last one that waits for it.
    std::uint32_t place = Directory::kNoPlace;
    Phase phase = Phase::kFree;
    MessageKind snoop = MessageKind::kInvalidate;
    MessageKind reply = MessageKind::kData;
    Grant grant = Grant::kOnce;
    AgentId supplier = kMaxAgents;  ///< The agent whose kInvalidate asks for bytes, or kMaxAgents.
    bool needs_data = false;
    bool has_data = false;
    bool is_dirty = false;
    bool keeps_shared = false;  ///< The former owner stays a sharer.
    bool memory_busy = false;
    bool is_answered = false;
    bool is_zero = false;  ///< has_data: they are zeros, whatever `request.data` is.
    /// `data` collects the bytes, and means nothing without has_data; a recall has the line of its victim.
    Message request;
  };
  /// All but the bytes as in a new one.
  static void reset(Transaction& transaction);

  bool is_recall(std::uint32_t slot) const { return slot >= slots_; }
  void accept_request(const Message& message);
  void drop_sharer(const Message& message);
  void accept_answer(const Message& message);
  void run_ready();
  void start(std::uint32_t slot);
  void start_put(std::uint32_t slot);
  void start_read(std::uint32_t slot);
  void start_exclusive(std::uint32_t slot);
  bool make_place(std::uint32_t slot);
  void begin_recall(std::uint32_t slot, std::uint32_t victim, std::uint32_t first, std::uint32_t last);
  void send_snoops(std::uint32_t slot, MessageKind kind, std::uint64_t agents);
  AgentId pick_supplier(std::uint64_t agents) const;
  void access_memory(std::uint32_t slot);
  void advance(std::uint32_t slot);
  void complete(std::uint32_t slot);
  void complete_read(Transaction& transaction);
  void complete_exclusive(Transaction& transaction);
  void reply(Transaction& transaction);
  void reply_and_write_back(std::uint32_t slot);
  void finish(std::uint32_t slot);
  bool serve_way_waiter(LineNumber line, std::uint32_t first, std::uint32_t last);
  void hand_over(LineNumber line, std::uint32_t first, std::uint32_t last);
  void append_transaction(std::vector<std::byte>& state, const Transaction& transaction) const;

  // Constant after construction.
  std::uint32_t slots_;  ///< For requests; as many again for recalls.
  std::uint32_t write_back_places_;
  std::uint64_t suppliers_;

  Directory directory_;
  std::vector<Transaction> transactions_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> credits_;      ///< Left, per agent.
  SlotIndex lines_;                         ///< Line to the slot of its first transaction.
  std::vector<std::uint32_t> way_waiters_;  ///< In order of arrival.
  Ring<std::uint32_t> ready_;               ///< Slots to be started before the input ends.
  Ring<std::uint32_t> snoops_;              ///< Slots with unsent snoops.
  Ring<std::uint32_t> memory_;              ///< Slots with an access to hand out.
  Ring<Message> responses_;
  std::uint32_t active_ = 0;
  std::uint32_t writing_back_ = 0;  ///< Answered transactions whose write is under way.
  HomeStatistics statistics_;
};

}  // namespace wharf::sim
