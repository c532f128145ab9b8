// SPDX-License-Identifier: Apache-2.0
// The usual case of what an engine does most, each in one piece: a request of one segment and one packet, a
// Write that arrives in order, its answer, and the answer's arrival. Apart from the layers because it crosses
// all of them.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct InboundMessage;
struct Jetty;
struct PendingAccess;
struct TpChannel;

/// Each function first looks whether its case is the usual one. If it is not, it changes nothing and says
/// false, and the layers do the work. If it is, it leaves everything as the layers would: same state, same
/// outputs in the same order. Nothing here runs with a tracer, a context cache or congestion control, which
/// want to know of every step.
class Express {
 public:
  explicit Express(EngineParts& parts);

  /// The newest request of the jetty has just been posted: cuts it, numbers it and asks for its data.
  bool issue(Jetty& owner, std::uint32_t jetty_id);
  /// A packet of a ready channel, with the right TPNs: takes a whole Write, or the answer to one.
  bool receive(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  /// The data of a Write is placed: numbers its answer.
  bool write_done(const PendingAccess& owner, engine::AccessStatus status);

 private:
  bool may_number(const TpChannel& channel) const;
  std::uint32_t number(TpChannel& channel, std::uint32_t index, std::uint32_t object);
  void announce(TpChannel& channel, std::uint32_t index);
  bool take_write(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  bool take_answer(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);
  void accept(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet);

  EngineParts& parts_;
  const bool usable_;
};

}  // namespace wharf::ub
