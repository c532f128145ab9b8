// SPDX-License-Identifier: Apache-2.0
// Delivery without a PDC: RUDI, whose packets are answered one by one and may be executed twice, and UUD,
// which is not answered at all. [UE 1.0 3.5]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/uet/message.h"
#include "wire/packet.h"

namespace wharf::uet {

struct EngineParts;

class Rudi {
 public:
  explicit Rudi(EngineParts& parts) : parts_(parts) {}

  /// Sends outbound message `slot`.
  void start(TimePs now, std::uint32_t slot);
  /// Cuts packets while the window and the staging area have room.
  void settle(TimePs now);
  /// Cuts no further packet of a message.
  void stop(std::uint32_t slot);
  void receive(TimePs now, const wire::Packet& packet);
  void receive_nack(TimePs now, const wire::Packet& packet);
  /// The answer to a RUDI request that was executed; ends the inbound packet.
  void respond(TimePs now, std::uint32_t inbound, wire::UetNextHeader form,
               const wire::UetSesResponse& response, const wire::Payload& data);
  bool transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  bool has_answers() const { return !answers_.empty(); }
  /// Whether staged packet `packet` in its `sends`-th copy is still wanted.
  bool wanted(std::uint32_t packet, std::uint8_t sends) const;
  /// Writes headers of a staged packet; the payload is `out`'s already. Gives destination and entropy.
  void emit(TimePs now, std::uint32_t packet, bool failed, wire::Packet& out);
  void expire(TimePs now);
  TimePs deadline() const { return deadline_; }
  /// Whether payload of message `slot` is on its way from memory, or waits to leave.
  bool is_fetching(std::uint32_t slot) const;
  /// Ends what waits for an answer of `host`, and drops what it would still have been told.
  void forget_host(TimePs now, wire::HostAddress host);
  void add_memory_use(std::vector<MemoryUse>& out) const;
  void release_buffers();
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  struct Outstanding {
    std::uint32_t message = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t generation = 0;
    std::uint32_t next = kNoSlot;
    TimePs sent_at = kNever;     ///< kNever: not on its way.
    TimePs refused_at = kNever;  ///< A NACK for lack of room came: again when NACK_Retx_Time has passed.
    std::uint16_t entropy = 0;
    std::uint8_t sends = 0;
    std::uint8_t timeouts = 0;
    std::uint8_t nacks = 0;  ///< NACKs other than trimming, saturating.
  };
  struct Answer {
    wire::HostAddress peer;
    std::uint32_t packet_id = 0;
    std::uint16_t entropy = 0;
    std::uint8_t flags = 0;
    bool refusal = false;  ///< A NACK.
    wire::UetNackCode code = wire::UetNackCode::kTrimmed;
    wire::UetNextHeader form = wire::UetNextHeader::kNone;
    wire::UetSesResponse response;
    wire::Payload data;
  };

  static constexpr std::size_t kAnswersMax = 65536;

  std::uint32_t find(std::uint32_t packet_id) const;
  void stage(TimePs now, std::uint32_t packet);
  bool waits_to_repeat(std::uint32_t packet) const;
  void again(TimePs now, std::uint32_t packet);
  void wait_for_room(TimePs now, std::uint32_t packet);
  void finish_packet(TimePs now, std::uint32_t packet);
  Answer& push_answer();

  friend struct Prefetch;

  EngineParts& parts_;
  SlotPool<Outstanding> outstanding_;
  IndexList messages_;  ///< With packets that were never sent.
  IndexList resend_;
  Ring<Answer> answers_;
  TimePs deadline_ = kNever;
};

}  // namespace wharf::uet
