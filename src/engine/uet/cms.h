// SPDX-License-Identifier: Apache-2.0
// Congestion management sublayer: congestion control contexts (CCC), which PDC may send next, over which
// path, and the credit that this host hands out to others. [UE 1.0 3.6]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/oversubscription_rate.h"
#include "engine/congestion/path_selection.h"
#include "engine/congestion/rccc.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/reliability/round_trip_estimate.h"
#include "engine/uet/config.h"
#include "engine/uet/pdc_state.h"
#include "wire/host_address.h"
#include "wire/packet.h"

namespace wharf::uet {

struct EngineParts;
using congestion::PathFeedback;

/// One CCC: the sender's half of all PDCs toward one host and traffic class, and what this host grants to
/// that one.
struct alignas(64) CongestionContext {
  CongestionContext(const congestion::AnyController& chosen, const congestion::RcccConfig& rccc,
                    const congestion::PathConfig& its_paths, RandomStream& random)
      : controller(chosen), credit(rccc), paths(its_paths, random) {}

  bool has_data() const { return backlog > 0 || resend_packets > 0; }

  congestion::AnyController controller;
  congestion::RcccSender credit;  ///< kReceiver and kBoth.
  CccState state = CccState::kIdle;
  wire::HostAddress peer;
  std::uint64_t backlog = 0;         ///< Window bytes that were never sent.
  std::uint64_t resend_backlog = 0;  ///< Window bytes that wait to be sent again.
  std::uint32_t resend_packets = 0;  ///< waiting_rtx.
  std::uint32_t in_flight = 0;       ///< Packets.
  /// AnyController::room(), where the controller decides.
  std::int64_t room = congestion::kAnyRoom;
  IndexList pdcs;  ///< PDCs with something that their PSN window permits, round robin.
  std::uint32_t next_ready = kNoSlot;
  bool on_ready_list = false;
  bool used = true;                    ///< False: waits to serve another host or PDC.
  bool probed = false;                 ///< A probe for the base RTT has been sent.
  std::uint8_t credit_requests = 0;    ///< Without an answer.
  std::uint16_t probe_opaque = 0;      ///< Of the probe that is out,
  std::uint32_t probe_pdc = kNoSlot;   ///< and its PDC; kNoSlot: none is.
  std::uint32_t credit_pdc = kNoSlot;  ///< Receiver: the PDC that credit goes out on.
  std::uint32_t credit_generation = 0;
  TimePs probed_at{};
  TimePs credit_request_at{};                   ///< The next Credit Request CP may leave.
  TimePs resend_request_at{};                   ///< Likewise, for packets that must go again.
  TimePs round_trip = kNever;                   ///< The latest sample, for observers.
  congestion::NotificationPacer notifications;  ///< DCQCN: of marks that count.
  reliability::RoundTripEstimate estimate;      ///< Where the RTO adapts,
  TimePs backed_off_at{};                       ///< and when it was last lengthened.
  congestion::PathSelector paths;
  // From here on: only where payload comes from memory, or somebody looks at where time goes.
  std::uint32_t fetched = 0;  ///< Packets whose payload is here, or on its way, before they may leave.
  std::uint32_t next_fetch = kNoSlot;
  bool fetch_wanted = false;   ///< On the list of Pds.
  TimePs held_since = kNever;  ///< Data has not been permitted to leave since,
  TimePs held_until = kNever;  ///< until; kNever: it still is not.
};

class Cms {
 public:
  Cms(EngineParts& parts, std::uint64_t seed);

  /// The CCC toward `host`, made when there is none.
  std::uint32_t context_for(wire::HostAddress host);
  /// A CCC toward `host` for one PDC alone, until release_context().
  std::uint32_t open_context(wire::HostAddress host);
  /// The PDC of `ccc` is gone, and with it its data and all that was granted to it.
  void release_context(std::uint32_t ccc);
  /// The same when there is one; else kNoSlot.
  std::uint32_t find(wire::HostAddress host) const {
    const std::uint32_t* found = by_host_.find(host.number);
    return found != nullptr ? *found : kNoSlot;
  }
  CongestionContext& operator[](std::uint32_t ccc) { return *contexts_[ccc]; }
  const CongestionContext& operator[](std::uint32_t ccc) const { return *contexts_[ccc]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(contexts_.size()); }

  /// Runs update_state after an event and keeps the scheduler's list. [UE 1.0 3.6.12]
  void update(TimePs now, std::uint32_t ccc);
  /// Whether update() of a context that is READY would leave it so, when the first PDC's next packet counts
  /// `bytes`: the common case, cheap to ask.
  [[gnu::always_inline]] bool stays_ready(const CongestionContext& context, std::uint64_t bytes) const {
    return context.state == CccState::kReady && !timed_ && !by_credit_ && !context.pdcs.empty() &&
           context.has_data() && permits(context, bytes);
  }
  /// The PDC `pdc` has something to send that its PSN window permits.
  void pdc_ready(TimePs now, std::uint32_t pdc);
  /// The CCC whose turn it is, or kNoSlot. It stays at the head until rotate() or update().
  std::uint32_t next_ready() const { return ready_.head; }
  /// Whether nobody else waits for its turn, nor another PDC of the context.
  bool alone(std::uint32_t ccc, const CongestionContext& context) const {
    return context.pdcs.head == context.pdcs.tail && (ready_.head != ccc || ready_.tail == ccc);
  }
  /// Its PDC has sent a packet: the next one's turn.
  void rotate(std::uint32_t ccc);
  /// Makes PDC `pdc` of `ccc` the one whose turn it is.
  void bring_forward(std::uint32_t ccc, std::uint32_t pdc);
  /// The first packet since the CCC was held back leaves, which was ready to at `ready_at`.
  void end_hold(std::uint32_t ccc, wire::OperationTag operation, TimePs ready_at);
  /// CCCs that are ACTIVE or READY.
  std::uint32_t active() const { return active_; }
  /// CCCs on the scheduler's list: they share what the port sends now.
  std::uint32_t ready_count() const { return ready_count_; }

  /// Of a packet that leaves whatever is under way; permits() takes it for less than any room.
  static constexpr std::uint64_t kNoRoomNeeded = std::uint64_t{1} << 63U;
  /// Whether window and credit, as far as they are in use, let a packet of `bytes` leave.
  [[gnu::always_inline]] bool permits(const CongestionContext& context, std::uint64_t bytes) const {
    return static_cast<std::int64_t>(bytes) <= context.room && (!by_credit_ || context.credit.permits(bytes));
  }
  /// Likewise, at `now`.
  [[gnu::always_inline]] bool may_send(TimePs now, const CongestionContext& context,
                                       std::uint64_t bytes) const {
    return (!timed_ || !by_window_ || context.controller.next_send() <= now) && permits(context, bytes);
  }
  /// A packet leaves.
  [[gnu::always_inline]] congestion::PacketRequest on_send(TimePs now, CongestionContext& context,
                                                           const congestion::Departure& departure) {
    recent_ = &context;
    ++context.in_flight;
    if (by_credit_) return on_send_with_credit(now, context, departure);
    if (!by_window_) return {};
    return context.controller.on_send(now, departure, context.room);
  }
  /// The same for a packet's first transmission, where there is no credit; true: it asks for an answer.
  [[gnu::always_inline]] bool on_first_send(TimePs now, CongestionContext& context, std::uint64_t bytes,
                                            std::uint64_t backlog) {
    recent_ = &context;
    ++context.in_flight;
    if (!by_window_) return false;
    // Whoever counts packets alone looks at nothing of it.
    if (context.controller.as<congestion::ConstantWindow>() != nullptr)
      return context.controller.on_send(now, {}, context.room).acknowledge;
    congestion::Departure departure;  // Made so, nothing is cleared beside its members.
    departure.window_bytes = departure.wire_bytes = bytes;
    departure.backlog_bytes = backlog;
    return context.controller.on_send(now, departure, context.room).acknowledge;
  }
  void on_acknowledgement(TimePs now, std::uint32_t ccc, const congestion::Acknowledgement& acknowledgement);
  /// Whether a loss tells the window anything.
  enum class Window : std::uint8_t { kHears, kStays };
  void on_loss(TimePs now, std::uint32_t ccc, const congestion::Loss& loss, Window window = Window::kHears);

  /// The entropy value of the next packet.
  std::uint16_t next_entropy(TimePs now, std::uint32_t ccc) { return next_entropy(now, *contexts_[ccc]); }
  std::uint16_t next_entropy(TimePs now, CongestionContext& context) {
    return context.paths.next(now, random_);
  }
  void feedback(TimePs now, std::uint32_t ccc, std::uint16_t entropy, PathFeedback what) {
    contexts_[ccc]->paths.feedback(now, entropy, what);
  }

  /// The first answer has come over `pdc`: a Probe CP finds out the base RTT. [UE 1.0 3.6.13]
  void probe_base_rtt(TimePs now, std::uint32_t pdc) {
    if (probing_) send_probe(now, pdc);
  }
  /// The round trip of the probe that this answer of `pdc` belongs to; kNever for other probes.
  TimePs probe_round_trip(TimePs now, std::uint32_t pdc, std::uint16_t opaque);

  // The receiver's half (cms_credit.cc).
  /// A credit has come from the receiver.
  void on_credit(TimePs now, std::uint32_t ccc, std::uint32_t units);
  /// A request has arrived, whatever becomes of it.
  void on_request(TimePs now, std::uint32_t pdc, const wire::Packet& packet) {
    if (by_credit_) take_demand(now, pdc, packet);
  }
  /// A Credit Request CP has arrived.
  void on_credit_request(TimePs now, std::uint32_t pdc, std::uint32_t target_units);
  /// Counter of the credit that the source `ccc` has been given.
  std::uint32_t granted_units(std::uint32_t ccc) const { return issuer_.granted_units(ccc); }
  /// A packet of `pdc` waits to go again: the receiver hears of it when there is no credit, once per round
  /// trip.
  void on_resend(TimePs now, std::uint32_t ccc, std::uint32_t pdc);
  /// A packet of `ccc` was lost without an answer: what it needs to go again may be asked for at once.
  void on_timeout(std::uint32_t ccc) {
    CongestionContext& context = *contexts_[ccc];
    if (by_credit_ && waits_before_asking_ && context.credit_requests == 0) context.credit_requests = 1;
  }
  /// Whether nothing is under way toward `ccc` because there is no credit.
  bool waits_for_credit(std::uint32_t ccc) const {
    const CongestionContext& context = *contexts_[ccc];
    return by_credit_ && context.in_flight == 0 && !context.credit.permits(1);
  }
  /// Whether nothing but a window decides: no credit, no time.
  bool by_window_alone() const { return !by_credit_ && !timed_; }
  /// Whether packets that must go again ask for credit.
  bool asks_for_resends() const { return asks_for_resends_; }
  /// Whether the receiver's credit decides, so that requests name the source's demand.
  bool uses_credit() const { return by_credit_; }
  /// So many bytes that have arrived wait for the host's memory, as its interface knows.
  void note_backlog(std::uint64_t bytes) { backlog_ = bytes; }
  /// Fills in what this host, as a target, asks of the sources' windows. [UE 1.0 3.6.13, 3.6.15]
  void tell_backlog(wire::UetAckCongestion& told) const;
  /// Whether acknowledgements carry credit instead of what a window needs.
  bool credit_in_acknowledgements() const { return by_credit_ && !by_window_; }

  /// The context of `host`, which has no PDC any more, serves the next host.
  void forget_host(TimePs now, wire::HostAddress host);
  void add_memory_use(std::vector<MemoryUse>& out) const;
  void expire(TimePs now);
  TimePs deadline() const { return min(timers_.earliest(), issuer_.deadline()); }
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  void leave_ready_list(std::uint32_t ccc);
  /// Counts those that are ACTIVE or READY.
  void change_state(const CongestionContext& context, CccState before);
  congestion::PacketRequest on_send_with_credit(TimePs now, CongestionContext& context,
                                                congestion::Departure departure);
  void note_hold(TimePs now, CongestionContext& context, CccState before) const;
  void set_timer(TimePs now, std::uint32_t ccc);
  void send_probe(TimePs now, std::uint32_t pdc);
  // cms_credit.cc
  bool ask_for_credit(TimePs now, std::uint32_t ccc);
  void take_demand(TimePs now, std::uint32_t pdc, const wire::Packet& packet);
  void issue_credit(TimePs now);
  std::uint64_t demand_limit(const CongestionContext& context) const;

  friend struct Prefetch;

  EngineParts& parts_;
  const CongestionContext* recent_ = nullptr;  ///< Of the last packet sent: only to fetch ahead.
  const bool by_window_;                       ///< The controller decides,
  const bool by_credit_;                       ///< and the receiver's credit.
  const bool timed_;                           ///< The controller paces packets, or has timers.
  const bool probing_;
  const TimePs mark_spacing_;       ///< DCQCN: no more than one mark of a context counts in this time.
  const bool waits_before_asking_;  ///< RcccConfig::request_patience.
  const bool asks_for_resends_;     ///< RcccConfig::request_for_resends.
  congestion::PathConfig path_config_;
  std::vector<std::unique_ptr<CongestionContext>> contexts_;
  FlatMap by_host_;
  std::vector<std::uint32_t> free_;  ///< Contexts of hosts that were forgotten.
  IndexList ready_;
  std::uint32_t active_ = 0;       ///< Contexts that are ACTIVE or READY.
  std::uint32_t ready_count_ = 0;  ///< Contexts on `ready_`.
  reliability::DeadlineHeap timers_;
  RandomStream random_;
  congestion::CreditIssuer issuer_;
  std::optional<congestion::OversubscriptionRate> pace_;
  std::uint64_t backlog_ = 0;  ///< note_backlog().
};

}  // namespace wharf::uet
