// SPDX-License-Identifier: Apache-2.0
// Congestion management sublayer: congestion control contexts (CCC), which PDC may send next, and over which
// path. [UE 1.0 3.6]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/uet/config.h"
#include "engine/uet/pdc_state.h"
#include "wire/host_address.h"

namespace wharf::uet {

struct EngineParts;

/// What came back about a path. [UE 1.0 3.6.16]
enum class PathFeedback : std::uint8_t { kGood, kMarked, kTrimmed, kTimeout };

/// The sender's half of one CCC: all PDCs toward one host and traffic class.
struct CongestionContext {
  explicit CongestionContext(congestion::AnyController chosen) : controller(chosen) {}

  congestion::AnyController controller;
  CccState state = CccState::kIdle;
  wire::HostAddress peer;
  std::uint64_t backlog = 0;         ///< Window bytes that were never sent.
  std::uint64_t resend_backlog = 0;  ///< Window bytes that wait to be sent again.
  std::uint32_t resend_packets = 0;  ///< waiting_rtx.
  std::uint32_t in_flight = 0;       ///< Packets.
  IndexList pdcs;                    ///< PDCs with something that their PSN window permits, round robin.
  std::uint32_t next_ready = kNoSlot;
  bool on_ready_list = false;
  std::uint32_t walk = 0;      ///< Entropy walk: position in the round.
  std::uint32_t walk_xor = 0;  ///< Re-drawn every round.
  std::uint16_t entropy_base = 0;

  bool has_data() const { return backlog > 0 || resend_packets > 0; }
};

class Cms {
 public:
  explicit Cms(EngineParts& parts);

  /// The CCC toward `host`, made when there is none.
  std::uint32_t context_for(wire::HostAddress host);
  CongestionContext& operator[](std::uint32_t ccc) { return *contexts_[ccc]; }
  const CongestionContext& operator[](std::uint32_t ccc) const { return *contexts_[ccc]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(contexts_.size()); }

  /// Runs update_state after an event and keeps the scheduler's list. [UE 1.0 3.6.12]
  void update(TimePs now, std::uint32_t ccc);
  /// The PDC `pdc` has something to send that its PSN window permits.
  void pdc_ready(TimePs now, std::uint32_t pdc);
  /// The CCC whose turn it is, or kNoSlot. It stays at the head until rotate() or update().
  std::uint32_t next_ready() const { return ready_.head; }
  /// Its PDC has sent a packet: the next one's turn.
  void rotate(std::uint32_t ccc);

  /// A packet leaves.
  congestion::PacketRequest on_send(TimePs now, std::uint32_t ccc, const congestion::Departure& departure) {
    ++contexts_[ccc]->in_flight;
    return contexts_[ccc]->controller.on_send(now, departure);
  }
  void on_acknowledgement(TimePs now, std::uint32_t ccc, const congestion::Acknowledgement& acknowledgement);
  void on_loss(TimePs now, std::uint32_t ccc, const congestion::Loss& loss);

  /// The entropy value of the next packet.
  std::uint16_t next_entropy(std::uint32_t ccc);
  void feedback(TimePs now, std::uint32_t ccc, std::uint16_t entropy, PathFeedback what);

  void expire(TimePs now);
  TimePs deadline() const { return timers_.earliest(); }
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  void leave_ready_list(std::uint32_t ccc);
  void set_timer(TimePs now, std::uint32_t ccc);

  EngineParts& parts_;
  std::vector<std::unique_ptr<CongestionContext>> contexts_;
  FlatMap by_host_;
  IndexList ready_;
  reliability::DeadlineHeap timers_;
  RandomStream random_;
};

}  // namespace wharf::uet
