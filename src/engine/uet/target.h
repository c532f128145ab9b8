// SPDX-License-Identifier: Apache-2.0
// The target of the semantic sublayer: requests of others become memory accesses, matched receives and
// responses. [UE 1.0 3.4]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_use.h"
#include "engine/contract.h"
#include "engine/uet/access_port.h"
#include "engine/uet/endpoint.h"
#include "engine/uet/message.h"
#include "wire/packet.h"

namespace wharf::uet {

struct EngineParts;

class Target {
 public:
  explicit Target(EngineParts& parts) : parts_(parts) {}

  /// A request that PDS has accepted (or RUDI brought). Without a code, an answer follows through
  /// Pds::respond(), perhaps before this returns; a code refuses the packet as if it had never come.
  std::optional<wire::UetNackCode> deliver(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  /// The region that a request may touch as a whole, and where; kNoSlot says nothing.
  static std::uint32_t find_plain(EngineParts& parts, const wire::Packet& packet,
                                  bool verbs::AccessRights::*right, std::uint64_t& address);
  /// A datagram: delivered or forgotten.
  void deliver_datagram(TimePs now, const wire::Packet& packet);

  /// Memory has answered an access for `inbound`.
  void access_done(TimePs now, std::uint32_t inbound, engine::AccessStatus status);
  void read_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);
  void held_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status);
  /// The atomic unit has finished for `inbound`.
  void atomic_done(TimePs now, std::uint32_t inbound, wire::UetReturnCode code, const wire::Payload& result);

  /// A receive was posted: true when a waiting message has taken it.
  bool receive_posted(TimePs now, engine::QueueId queue, std::uint32_t receive);
  /// What a message took that nobody finishes is free for others: it goes before all.
  void return_receive(TimePs now, engine::QueueId queue, std::uint32_t receive);
  /// The rest of a rendezvous send has been read, or could not be.
  void remainder_read(TimePs now, std::uint32_t message, std::uint32_t generation,
                      verbs::CompletionStatus status);
  /// The initiator does not know the deferred send any more.
  void restart_refused(TimePs now, std::uint32_t token);
  /// Whether a receive waits for the deferred send that was asked for.
  bool awaits_restart(std::uint32_t token) const;
  /// What found no message or no PDC for asking or reading tries again.
  void ask_again(TimePs now) {
    if (has_unasked()) [[unlikely]]
      ask_waiting(now);
  }
  bool has_unasked() const { return !unasked_.empty() || !unread_.empty(); }
  void forget_pdc(TimePs now, std::uint32_t pdc);
  void forget_endpoint(TimePs now, engine::QueueId queue);

  /// Whether a packet of `host` is in execution.
  bool is_at_work_for(wire::HostAddress host) const;
  void forget_host(wire::HostAddress host);
  void add_memory_use(std::vector<MemoryUse>& out) const;
  void release_buffers();
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  // target.cc
  void answer(TimePs now, std::uint32_t inbound, wire::UetReturnCode code, std::uint32_t modified_length,
              wire::UetListCode list = wire::UetListCode::kExpected);
  /// The region and host address that a one-sided request names, or why it may not touch them; the latter may
  /// leave the current generation of the endpoint in `inbound`.
  wire::UetReturnCode find_region(InboundPacket& inbound, const wire::Packet& packet, std::uint32_t& region,
                                  std::uint64_t& address) const;
  /// Everything but writes.
  std::optional<wire::UetNackCode> deliver_other(TimePs now, std::uint32_t inbound,
                                                 const wire::Packet& packet);
  std::optional<wire::UetNackCode> write(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  /// Notes a packet of a write that needs a record; may change `code`. False: there is no room for one.
  bool record_write(InboundPacket& inbound, const wire::Packet& packet, wire::UetReturnCode& code);
  std::optional<wire::UetNackCode> read(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  /// A read whose data is too long for an acknowledgement.
  std::optional<wire::UetNackCode> read_in_packets(TimePs now, std::uint32_t inbound,
                                                   const wire::Packet& packet, std::uint32_t region,
                                                   std::uint64_t address);
  std::optional<wire::UetNackCode> atomic(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  void finish_packet(TimePs now, std::uint32_t inbound);
  void end_message_in_error(TimePs now, std::uint32_t inbound, const wire::Packet& packet);

  // target_messages.cc
  std::uint32_t find_message(std::uint32_t pdc, std::uint16_t message_id) const;
  std::uint32_t make_message(const InboundPacket& inbound, const wire::Packet& packet);
  void leave_pdc(std::uint32_t message);
  void release_message(std::uint32_t message);
  void settle_message(TimePs now, std::uint32_t message);
  void complete_receive(TimePs now, std::uint32_t message, verbs::CompletionStatus status);
  void complete_header_data(std::uint32_t message);

  // matching.cc
  std::optional<wire::UetNackCode> two_sided(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  /// The message of a two-sided packet, made when it is new; kNoSlot with kOk: there is no room for one.
  wire::UetReturnCode find_two_sided(InboundPacket& inbound, const wire::Packet& packet, std::uint32_t& at);
  /// The receive for which this target has asked for a deferred message again; kNoSlot: none.
  std::uint32_t take_asked_for(const InboundMessage& message);
  /// The SOM packet has come.
  void begin_two_sided(TimePs now, std::uint32_t inbound, std::uint32_t message, const wire::Packet& packet);
  void start_tagged_atomic(TimePs now, std::uint32_t inbound, std::uint32_t message,
                           const wire::Packet& packet);
  void refuse_send(TimePs now, std::uint32_t inbound, std::uint32_t message);
  void match(TimePs now, std::uint32_t message, std::uint32_t receive);
  bool hold(const InboundPacket& inbound, std::uint32_t offset, const wire::Payload& payload);
  /// Whether other incomplete messages of the same PDC hold packets.
  bool others_hold(std::uint32_t message) const;
  /// Ends the send of a SOM packet that finds neither a receive nor room; `for_room`: with room it would
  /// wait.
  void refuse_unmatched(std::uint32_t inbound, std::uint32_t message, bool for_room);
  /// Endpoints that were disabled for want of room are enabled.
  void room_came();
  void release_held(std::uint32_t message);
  void leave_unexpected(std::uint32_t message);
  /// Writes `payload` at `offset` of the receive buffer; returns how many accesses.
  std::uint32_t place(std::uint32_t message, std::uint32_t offset, const wire::Payload& payload,
                      const PendingAccess& owner);
  void fetch_remainder(TimePs now, std::uint32_t message);
  /// False: there is no message or no PDC to read through.
  bool read_remainder(TimePs now, std::uint32_t message);
  std::uint32_t defer(std::uint32_t message);
  void release_deferred(std::uint32_t deferred);
  /// Asks for a deferred send, now or when there is room.
  void request_restart(TimePs now, std::uint32_t deferred);
  /// False: there is no message or no PDC to ask through.
  bool ask(TimePs now, std::uint32_t deferred);
  void ask_waiting(TimePs now);

  EngineParts& parts_;
  SlotPool<DeferredSend> deferred_;
  IndexList unasked_;  ///< Deferred sends that are to be asked for when that is possible.
  IndexList unread_;   ///< Inbound messages whose remainder is to be read then.
  std::uint32_t unexpected_count_ = 0;
  bool lack_room_ = false;      ///< An endpoint may be disabled for want of room.
  std::uint32_t fetching_ = 0;  ///< Rendezvous messages whose remainder is being read.
};

}  // namespace wharf::uet
