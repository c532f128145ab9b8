// SPDX-License-Identifier: Apache-2.0
// The load/store path: one wire transaction per CPU load or store, without transport state.
// [UB-Base 2.0.1 8.3] The requester re-issues what stays unanswered under its old TASSN; the target keeps a
// replay record per source, so that a late duplicate of a store never overwrites a newer acknowledged one
// (docs/decisions/0010).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/// TASSNs that a target remembers per source. A requester keeps its outstanding TASSNs within half of them.
inline constexpr std::uint32_t kReplayWindow = 1024;
inline constexpr std::uint32_t kTassnSpan = kReplayWindow / 2;

/// What a target knows about the last kReplayWindow TASSNs of one source.
class ReplayRecord {
 public:
  enum class Entry : std::uint8_t {
    kNew,         ///< Not seen; now marked as in execution.
    kInProgress,  ///< Its first copy is still being executed.
    kDone,        ///< Executed; `status` is what was answered.
    kTooOld,      ///< Outside the window: its requester has long given it up.
  };

  /// Looks up a TASSN and, if it is new, marks it. TASSNs are unwrapped around the newest one.
  Entry begin(std::uint16_t tassn, std::uint8_t& status);
  /// The execution of `tassn` ended.
  void end(std::uint16_t tassn, std::uint8_t status);

 private:
  enum : std::uint8_t { kUnseen = 0, kRunning = 1, kExecuted = 2 };
  struct Slot {
    std::uint8_t state : 2 = kUnseen;
    std::uint8_t status : 6 = 0;
  };
  Slot& slot(std::uint64_t number) { return slots_[number % kReplayWindow]; }
  std::uint64_t unwrap(std::uint16_t tassn) const;

  std::uint64_t newest_ = std::uint64_t{1} << 16U;  ///< One past the newest number seen.
  std::array<Slot, kReplayWindow> slots_{};
};

class LoadStorePath {
 public:
  explicit LoadStorePath(EngineParts& parts);

  /// A channel to a host exists: makes room for its state here. Control path.
  void open(std::uint32_t channel);
  /// The host was disconnected and connected again: what was known about it is void.
  void reset(TimePs now, std::uint32_t channel);

  engine::PostStatus issue(TimePs now, const verbs::LoadStore& access);
  bool poll(verbs::LoadStoreResult& out) {
    if (results_.empty()) return false;
    out = results_.front();
    results_.pop_front();
    return true;
  }
  void receive(TimePs now, const wire::Packet& packet);
  /// Answers first, then requests.
  bool transmit(TimePs now, wire::Packet& out) {
    if (responses_.empty() && requests_.empty()) return false;
    return transmit_response(out) || transmit_request(now, out);
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
    std::uint64_t tassn = 0;
    reliability::RetransmissionTimer timer;
    TimePs sent_at = kNever;
    bool queued = false;  ///< In requests_.
  };
  /// State toward one host.
  struct Path {
    std::uint64_t tassn_next = 0;
    std::uint64_t tassn_oldest = 0;
    std::array<std::uint16_t, kTassnSpan> slot_of{};  ///< By TASSN: slot number + 1, or 0.
    ReplayRecord replay;
  };
  /// A load or store of another host.
  struct Service {
    std::uint32_t channel = 0;
    std::uint32_t generation = 0;
    wire::Btah request;
    wire::UbPacket::RequestExtension extension;
    wire::Payload data;  ///< Store: what to write. Load: what was read. Holds a reference.
    std::uint32_t accesses_open = 0;
    std::uint8_t status = 0;
    bool poison = false;
    wire::OperationTag operation;
  };

  /// Byte masks exist for one line.
  static constexpr std::uint32_t kLineBytes = 64;
  static bool whole(const verbs::LoadStore& access);

  void receive_request(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  void receive_response(std::uint32_t channel, const wire::Packet& packet);
  bool transmit_request(TimePs now, wire::Packet& out);
  bool transmit_response(wire::Packet& out);
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
  SlotPool<Service> services_;
  Ring<std::uint32_t> requests_;   ///< Slots to send.
  Ring<std::uint32_t> responses_;  ///< Services to answer.
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
