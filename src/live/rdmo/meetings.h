// SPDX-License-Identifier: Apache-2.0
// How a target lets initiators in over TCP: all that have come at a time, each as far as it has got, so that
// one that says nothing holds nobody up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "live/rdmo/attentive_clock.h"
#include "live/rdmo/stream_channel.h"

namespace wharf::live {

/// Who lets initiators in.
class MeetingHost {
 public:
  using Ticket = std::uint64_t;
  struct Admission {
    enum class State : std::uint8_t { kAsked, kIn, kRefused };
    State state = State::kAsked;
    std::uint64_t queue = 0;  ///< kIn.
  };
  virtual ~MeetingHost() = default;
  virtual std::span<const std::byte> worker_address() const = 0;
  /// Asks for a queue for the initiator of that UCX address. Does not wait: admission() says what came of it.
  virtual Ticket ask_admit(std::span<const std::byte> initiator) = 0;
  /// Once it is not kAsked any more, the ticket is used up.
  virtual Admission admission(Ticket ticket) = 0;
  /// Nobody waits for it any longer: a queue that comes of it goes.
  virtual void give_up(Ticket ticket) = 0;
  /// What it is granted, as the wire has it.
  virtual std::vector<std::byte> packed_grant() const = 0;
  /// It did not come to the end: its queue goes. Does not wait.
  virtual void forget(std::uint64_t queue) = 0;
};

/// Each side writes an item before it reads the other's. (1) The worker's address and the initiator's; (2)
/// key and cell, and the target's id if it is not 0, and nothing; (3) nothing and nothing: both are ready.
class Meetings {
 public:
  /// More wait at no time: the one that has said the least for the longest time goes.
  static constexpr std::size_t kMost = 64;

  /// `patience` is that for each one's whole meeting.
  Meetings(MeetingHost& host, TimePs patience) : host_(host), patience_(patience) {}
  void begin(StreamChannel channel);
  /// Goes on with all of them without waiting. The failure of one of them, if one failed.
  Result<void> progress();
  std::size_t count() const { return meetings_.size(); }

 private:
  struct Meeting {
    StreamChannel channel;
    TimePs since;
    int heard = 0;  ///< Items.
    bool asked = false;
    bool in = false;
    MeetingHost::Ticket ticket = 0;
    std::uint64_t queue = 0;
  };
  enum class Step : std::uint8_t { kWaits, kOver };
  Result<Step> go_on(Meeting& meeting);
  Result<void> ask(Meeting& meeting);
  void end(std::list<Meeting>::iterator at, bool well);

  MeetingHost& host_;
  const TimePs patience_;
  AttentiveClock clock_;
  std::list<Meeting> meetings_;  ///< The oldest first.
};

}  // namespace wharf::live
