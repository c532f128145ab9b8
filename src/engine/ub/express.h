// SPDX-License-Identifier: Apache-2.0
// The usual case of what an engine does most, each in one piece: a request of one segment and one packet, its
// arrival in order, its answer of one packet, and the answer's arrival. Apart from the layers because it
// crosses all of them.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct InboundMessage;
struct Jetty;
struct MrRecord;
struct PendingAccess;
struct PostedRequest;
struct TpChannel;
struct Transaction;
struct TxPacket;

/// Each function first looks whether its case is the usual one. If it is not, it changes nothing and says
/// false, and the layers do the work. If it is, it leaves everything as the layers would: same state, same
/// outputs in the same order. Nothing here runs with a tracer, a context cache or congestion control, which
/// want to know of every step.
class Express {
 public:
  explicit Express(EngineParts& parts);

  /// The newest request of the jetty has just been posted: cuts it, numbers it and asks for its data.
  bool issue(Jetty& owner, std::uint32_t jetty_id);
  /// A packet of a ready channel, with the right TPNs: takes a whole Write, Read or atomic, or an answer.
  bool receive(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  /// Memory answered: sends what was read, answers what was placed, shows a completion. Nothing is left to
  /// settle then.
  bool access_done(const PendingAccess& owner, const engine::AccessResult& result);

 private:
  bool may_number(const TpChannel& channel) const;
  TxPacket& number(TpChannel& channel, std::uint32_t index, std::uint32_t object, std::uint32_t& place);
  void announce(TpChannel& channel, std::uint32_t index);
  bool take_request(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  InboundMessage& open(std::uint32_t index, TpChannel& channel, const wire::Packet& packet,
                       std::uint32_t& at);
  void place(std::uint32_t at, InboundMessage& made, const MrRecord& record, const wire::Packet& packet);
  void read(std::uint32_t at, InboundMessage& made, TpChannel& channel, const MrRecord& record);
  void apply(std::uint32_t at, InboundMessage& made, const MrRecord& record, const wire::Packet& packet);
  bool take_answer(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void confirm(TimePs now, std::uint32_t index, TpChannel& channel, Transaction& transaction);
  void place_answer(std::uint32_t segment, Transaction& transaction, const PostedRequest& posted,
                    const wire::Payload& data);
  void accept(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  bool data_done(const PendingAccess& owner, const engine::AccessResult& result);
  bool request_done(const PendingAccess& owner, const engine::AccessResult& result);

  EngineParts& parts_;
  const bool usable_;
};

}  // namespace wharf::ub
