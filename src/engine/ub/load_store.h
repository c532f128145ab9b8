// SPDX-License-Identifier: Apache-2.0
// The load/store path: one wire transaction per CPU load or store, without transport state.
// [UB-Base 2.0.1 8.3] The requester re-issues what stays unanswered under its old TASSN; the target keeps a
// replay record per source, so that a late duplicate of a store never overwrites a newer acknowledged one,
// and no store is taken for a duplicate (docs/decisions/0010).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/reliability/retransmission_timer.h"
#include "engine/ub/access_port.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;

/// TASSNs that a target remembers per source.
inline constexpr std::uint32_t kReplayWindow = 1024;
/// A requester keeps the TASSNs that it gives out this close together: the oldest unanswered one, and the
/// newest that the target is known to have seen, are never further back. So whatever it sends lies within the
/// target's record or this far ahead of it.
inline constexpr std::uint32_t kTassnSpan = kReplayWindow / 2;
static_assert(65536 % kReplayWindow == 0);

/// What a target knows about the last kReplayWindow TASSNs of one source. Loads and stores count together, so
/// every request moves the record on; only stores are remembered.
class ReplayRecord {
 public:
  enum class Entry : std::uint8_t {
    kNew,         ///< Not seen; now marked as in execution.
    kInProgress,  ///< Its first copy is still being executed.
    kDone,        ///< Executed; `status` is what was answered.
    kTooOld,      ///< Outside the window: its requester has long given it up.
  };

  /// The source gives out TASSNs from `first` on.
  explicit ReplayRecord(std::uint16_t first = 0) : next_(first) {}

  /// A request with this TASSN has arrived: moves the record on when it is ahead by less than kTassnSpan.
  /// False: it is neither there nor among the last kReplayWindow, so it comes from long ago.
  bool reach(std::uint16_t tassn);
  /// reach() for a store; looks it up and, if it is new, marks it.
  Entry begin(std::uint16_t tassn, std::uint8_t& status);
  /// The execution of `tassn` ended.
  void end(std::uint16_t tassn, std::uint8_t status);

 private:
  /// What four bits say of a number. From kExecuted on: its status on top. kBarred: a number from before the
  /// source's first one.
  enum : std::uint8_t { kBarred = 0, kUnseen = 1, kRunning = 2, kExecuted = 8 };
  std::uint8_t get(std::uint16_t tassn) const {
    return slots_[tassn % kReplayWindow / 2] >> (tassn % 2 * 4) & 15U;
  }
  void set(std::uint16_t tassn, std::uint8_t what) {
    std::uint8_t& both = slots_[tassn % kReplayWindow / 2];
    both = static_cast<std::uint8_t>((both & (0xf0U >> (tassn % 2 * 4))) | unsigned{what} << (tassn % 2 * 4));
  }
  bool remembers(std::uint16_t tassn) const {
    const auto behind = static_cast<std::uint16_t>(next_ - tassn);
    return behind >= 1 && behind <= kReplayWindow;
  }

  std::uint16_t next_;  ///< One past the newest number seen.
  std::array<std::uint8_t, kReplayWindow / 2> slots_{};
};

class LoadStorePath {
 public:
  explicit LoadStorePath(EngineParts& parts);

  /// A channel to a host exists: makes room for its state here. Control path.
  void open(std::uint32_t channel, std::uint16_t first);
  /// Another engine has taken the host's place: what is outstanding to it ends in kRetryExhausted, and both
  /// ends count from `first` on. The failure of a TP channel is no reason: this path has no transport state.
  void reset(std::uint32_t channel, std::uint16_t first);
  /// Whether a load or store of the host behind `channel` is in execution here or waits for its answer to
  /// leave.
  bool serves(std::uint32_t channel) const;

  engine::PostStatus issue(TimePs now, const verbs::LoadStore& access);
  bool poll(verbs::LoadStoreResult& out) {
    if (results_.empty()) return false;
    out = results_.front();
    results_.pop_front();
    return true;
  }
  void receive(TimePs now, const wire::Packet& packet);
  bool has_packets() const { return !responses_.empty() || !requests_.empty() || !probes_.empty(); }
  /// Answers first, then requests.
  bool transmit(TimePs now, wire::Packet& out) {
    if (!has_packets()) return false;
    return transmit_response(out) || transmit_probe(now, out) || transmit_request(now, out);
  }
  void service_done(const PendingAccess& owner, const engine::AccessResult& result);
  void resume_service(std::uint32_t service, std::uint32_t generation);
  TimePs deadline() const { return timers_.earliest(); }
  void expire(TimePs now);

  void describe_waiting(std::vector<std::string>& out) const;
  /// Adds what it holds (memory_use.cc).
  void add_memory_use(std::vector<MemoryUse>& out) const;
  /// The engine ends: every payload buffer that is held here goes back.
  void release_buffers();

 private:
  /// A load or store of this host.
  struct Slot {
    verbs::LoadStore access;
    std::uint32_t channel = 0;
    std::uint32_t next = kNoSlot;  ///< In Path::waiting.
    std::uint64_t tassn = 0;
    reliability::RetransmissionTimer timer;
    TimePs sent_at = kNever;
    bool numbered = false;  ///< False: it waits for its TASSN.
    bool given_up = false;  ///< Its attempts are spent; it ends when no copy can be under way any more.
    bool queued = false;    ///< In requests_.
  };
  /// State toward one host. TASSNs are logical here; 16 bits of them travel.
  struct Path {
    explicit Path(std::uint16_t first)
        : tassn_next(first), tassn_oldest(first), answered_end(first), replay(first) {}

    std::uint64_t tassn_next;
    std::uint64_t tassn_oldest;
    std::uint64_t answered_end;  ///< The target's record has come at least this far.
    /// For each block of kReplayWindow TASSNs: when no copy of its requests, and no answer, can be under way
    /// any more.
    std::array<TimePs, 65536 / kReplayWindow> usable_at{};
    IndexList waiting;     ///< Slots that wait for a TASSN, by Slot::next.
    bool probing = false;  ///< The TASSN before tassn_next belongs to a probe that is unanswered.
    bool probe_queued = false;
    std::uint32_t probe_attempts = 0;
    ReplayRecord replay;
  };
  /// A load or store of another host.
  struct Service {
    std::uint32_t channel = 0;
    std::uint32_t generation = 0;
    wire::Btah request;
    verbs::AddressSpaceId space = 0;  ///< Of the segment that it touches.
    wire::UbPacket::RequestExtension extension;
    wire::Payload data;  ///< Store: what to write. Load: what was read. Holds a reference.
    std::uint32_t accesses_open = 0;
    std::uint8_t status = 0;
    bool poison = false;
    wire::OperationTag operation;
  };

  static bool whole(const verbs::LoadStore& access);

  void receive_request(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  void receive_response(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  bool transmit_request(TimePs now, wire::Packet& out);
  bool transmit_response(wire::Packet& out);
  bool transmit_probe(TimePs now, wire::Packet& out);
  /// Whether the target may have seen nothing for a whole span of TASSNs. The last one is left for a probe.
  static bool silent(const Path& path) { return path.tassn_next - path.answered_end >= kTassnSpan - 1; }
  bool may_number(TimePs now, const Path& path) const;
  /// When the block of TASSNs that begins with path.tassn_next, and the next one, are free again.
  static TimePs comes_round_at(const Path& path);
  /// The key of slot_of_.
  static std::uint64_t outstanding_key(std::uint32_t channel, std::uint64_t tassn) {
    return std::uint64_t{channel} << 16U | tassn % kTassnSpan;
  }
  void number(std::uint32_t index);
  void serve_waiting(TimePs now, std::uint32_t channel);
  void queue_probe(std::uint32_t channel);
  void answered(TimePs now, std::uint32_t channel, std::uint64_t tassn);
  void give_up(TimePs now, std::uint32_t index);
  /// Owner in timers_ of a path, behind the slots.
  std::uint32_t path_timer(std::uint32_t channel) const { return slots_.capacity() + channel; }
  void address_packet(wire::HostAddress remote, wire::Packet& out) const;
  /// Sets Packet::header_bytes of a load, a store or an answer to one.
  void set_header_bytes(wire::TaOpcode opcode, bool has_token_value, wire::Packet& out);
  void finish_slot(std::uint32_t index, verbs::CompletionStatus status, const wire::Payload& data);
  void queue_request(std::uint32_t index);
  void step_service(std::uint32_t index);
  void write_enabled(std::uint32_t index, verbs::AccessOrder order);
  void request(std::uint32_t index, engine::AccessKind kind, std::uint64_t address, std::uint32_t length,
               const wire::Payload& data, verbs::AccessOrder order);
  void finish_service(std::uint32_t index);

  EngineParts& parts_;
  std::vector<std::unique_ptr<Path>> paths_;  ///< By channel.
  SlotPool<Slot> slots_;
  FlatMap slot_of_;  ///< Unanswered numbers, by channel and TASSN.
  SlotPool<Service> services_;
  Ring<std::uint32_t> requests_;   ///< Slots to send.
  Ring<std::uint32_t> responses_;  ///< Services to answer.
  Ring<std::uint32_t> probes_;     ///< Channels whose probe is to be sent.
  Ring<verbs::LoadStoreResult> results_;
  reliability::DeadlineHeap timers_;
  /// Header bytes by opcode and presence of a token value, on which alone they depend here; 0 until the first
  /// such packet.
  std::array<std::uint16_t, 512> header_bytes_{};

 public:
  /// Bytes of state for each host, replay record included, and for each slot.
  static constexpr std::uint64_t kBytesPerHost = sizeof(Path);
  static constexpr std::uint64_t kBytesPerSlot = sizeof(Slot);
};

}  // namespace wharf::ub
