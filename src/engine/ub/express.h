// SPDX-License-Identifier: Apache-2.0
// The usual case of what an engine does most, each in one piece: a request of one segment and one packet, its
// arrival in order, its answer of one packet, and the answer's arrival. Apart from the layers because it
// crosses all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "engine/ub/access_port.h"
#include "verbs/work_request.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct InboundMessage;
struct Jetty;
struct MrRecord;
struct PostedRequest;
struct TpChannel;
struct Transaction;
struct TxPacket;

/// What a plain request does: carries data, reads, or neither.
enum class PlainKind : std::uint8_t { kCarries, kReads, kAtomic };

/// Each function first looks whether its case is the usual one. If it is not, it changes nothing, and the
/// layers do the work: it says so, or hands the input on as the last thing that it does. If it is, it leaves
/// everything as the layers would: same state, same outputs in the same order; only where messages wait for
/// one another may they take turns otherwise. Nothing here runs while EngineParts::attention says that an
/// input has to be settled or that somebody wants to know of every step. In the most used of them every call
/// is the last thing done, so that the usual case saves few registers; what such a call needs to know stands
/// in its arguments, and "anew" in its name says that it makes the case a usual one and begins again.
/// It is a base of EngineParts, so that no way has to look up where the parts are.
class Express {
 public:
  /// Takes a plain request (PostedRequest::plain) all the way: cuts it, numbers it and asks for its data.
  engine::PostStatus post(TimePs now, std::uint32_t jetty_id, const verbs::WorkRequest& request,
                          engine::Submission submission);
  /// The newest request of the jetty has just been posted: likewise from there on.
  bool issue(Jetty& owner, std::uint32_t jetty_id);
  /// Takes a whole Write, Read or atomic, or its answer, if it comes in order on a ready channel.
  void receive(TimePs now, const wire::Packet& packet);
  /// The next new packet, when nothing is more urgent.
  bool transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  /// Memory answered: sends what was read, answers what was placed, shows a completion.
  void access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result);
  /// All packets of a request that needs no data are confirmed, and that is its answer.
  void executed(TimePs now, std::uint32_t segment);
  /// access_done() for one that is pending.
  void answered(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);

 private:
  struct Numbered;

  EngineParts& parts();
  const EngineParts& parts() const { return const_cast<Express*>(this)->parts(); }
  bool find_credit(Jetty& owner) const;
  bool may_number(TpChannel& channel) const;
  template <bool kUsed = false>
  TxPacket& number(TpChannel& channel, std::uint32_t index, const Numbered& what, std::uint32_t& place);
  void announce(TpChannel& channel, std::uint32_t index);
  engine::PostStatus post_other(TimePs now, std::uint32_t jetty_id, const verbs::WorkRequest& request,
                                engine::Submission submission);
  template <PlainKind kKind>
  engine::PostStatus post_plain(TimePs now, std::uint32_t jetty_id, const verbs::WorkRequest& request);
  template <PlainKind kKind>
  engine::PostStatus post_anew(TimePs now, Jetty& owner, std::uint32_t jetty_id,
                               const verbs::WorkRequest& request);
  template <bool kUsed>
  void cut(Jetty& owner, std::uint32_t jetty_id, TpChannel& channel, std::uint32_t index,
           PostedRequest& posted, std::uint64_t request, std::uint32_t bytes, bool carries);
  template <bool kFinal>
  void route(TimePs now, const wire::Packet& packet);
  void change_train(TimePs now, const wire::Packet& packet);
  void look_up(TimePs now, const wire::Packet& packet);
  void take_write(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void take_fused(TimePs now, const wire::Packet& packet);
  void take_request(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void take_send(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  bool may_scatter(const PendingAccess& owner) const;
  void scatter(std::uint32_t at);
  template <bool kUsed = false>
  InboundMessage& open(std::uint32_t index, TpChannel& channel, const wire::Packet& packet,
                       std::uint32_t& at);
  void read(std::uint32_t at, InboundMessage& made, TpChannel& channel, const MrRecord& record);
  void apply(std::uint32_t at, InboundMessage& made, const MrRecord& record, const wire::Packet& packet);
  void take_taack(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void take_answer(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void confirm(TimePs now, std::uint32_t index, TpChannel& channel, Transaction& transaction);
  void place_answer(std::uint32_t segment, Transaction& transaction, const PostedRequest& posted,
                    const wire::Payload& data);
  bool may_finish(const Jetty& owner, const Transaction& ended, const TpChannel& channel) const;
  template <PlainKind kKind, bool kUsed = false>
  bool end_plain(Jetty& owner, std::uint32_t segment, Transaction& ended, TpChannel& channel);
  void settle_end(Jetty& owner, std::uint32_t jetty_id);
  template <PlainKind kKind>
  void finish(TimePs now, Jetty& owner, std::uint32_t segment, TpChannel& channel);
  bool accept(TpChannel& channel, const wire::Packet& packet);
  void settle_acceptance(TimePs now, std::uint32_t index, TpChannel& channel);
  void settle_write(TimePs now, std::uint32_t index, TpChannel& channel, wire::BufferId buffer);
  void settle_taack(TimePs now, std::uint32_t index, TpChannel& channel, Jetty& owner);
  void settle_placed(TimePs now, wire::BufferId buffer);
  void settle_data(std::uint32_t index, TpChannel& channel, wire::BufferId buffer);
  void settle_answer(TimePs now, std::uint32_t index, TpChannel& channel, wire::BufferId buffer);
  bool change_form(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out, TpChannel& channel,
                   TxPacket& packet);
  bool transmit_next(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out, TpChannel& channel);
  bool transmit_turn(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  bool transmit_request(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out, TpChannel& channel,
                        TxPacket& packet);
  bool transmit_other(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out, TpChannel& channel,
                      TxPacket& packet);
  bool transmit_response(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out, TpChannel& channel,
                         TxPacket& packet);
  template <std::size_t kBytes>
  void number_header(const TxPacket& packet, wire::Packet& out) const;
  bool depart(TimePs now, TpChannel& channel, TxPacket& packet);
  bool relist(TimePs now, std::uint32_t index);
  void data_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void write_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void write_done_anew(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void fused_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void settle_fused(TimePs now, std::uint32_t index, wire::BufferId buffer);
  void request_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void answer_placed(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void entry_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void other_done(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);
  void completion_done(AccessPort::Slot& access);
};

}  // namespace wharf::ub
