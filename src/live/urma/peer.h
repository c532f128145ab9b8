// SPDX-License-Identifier: Apache-2.0
// A process that this one talks to, as an interface knows it.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "live/udp/live_counters.h"
#include "live/udp/udp_socket.h"

namespace wharf::live::urma {

/// What is asked of a process is repeated after that, then after twice the time, and so on.
inline constexpr TimePs kFirstGap = milliseconds(1);
inline constexpr TimePs kLongestGap = milliseconds(64);
/// Requests wait so long for a process that does not answer, which is about as long as the retries of a
/// channel.
inline constexpr TimePs kPatience = milliseconds(1500);

struct SendQueue;

/// Whether `nonce` was given after `other` was, to bindings of one process.
constexpr bool is_later(std::uint32_t nonce, std::uint32_t other) {
  return static_cast<std::int32_t>(nonce - other) > 0;
}

/// A jetty of another process whose order is kept here, or which has a well-known number.
struct BoundJetty {
  std::uint32_t nonce = 0;  ///< Of its binding: a repeated one does not begin its order anew.
  std::uint32_t name = 0;   ///< Its well-known number, or 0.
};

/// Another process, or this one.
struct Peer {
  enum class State : std::uint8_t {
    kIdle,    ///< Nothing is wanted of it.
    kAsking,  ///< It was sent a hello, which is repeated.
    kUp,      ///< The channel is there.
  };
  /// Its place among those that nothing here names: GreetedPeers.
  struct Greeting {
    std::list<Peer*>::iterator of_address;
    std::list<Peer*>::iterator of_all;
    bool listed = false;
    bool spoke = false;  ///< It has sent a packet, in this life or an earlier one.
    bool heard = false;  ///< Since it was last looked at.
  };

  UdpEndpoint endpoint;
  State state = State::kIdle;
  std::uint32_t remotes = 0;     ///< Imports of this process that name it.
  std::uint32_t number = 0;      ///< What the engine knows it by, new in each life.
  std::uint32_t own_number = 0;  ///< What it calls us.
  std::uint32_t uasid = 0;       ///< As it says.
  std::uint32_t mtu = 0;         ///< Of the channel.
  std::uint64_t instance = 0;
  std::uint64_t cookie = 0;  ///< What it wants to see in a hello.
  std::uint64_t life = 0;    ///< Counts channels: imports of an earlier one are void.
  TimePs ask_at;             ///< kAsking: when the next hello is due,
  TimePs ask_gap;            ///< and how long the one after it takes.
  TimePs give_up_at;         ///< kAsking: requests that wait end then.
  Greeting greeting;
  PeerTraffic traffic{};
  std::unordered_map<std::uint32_t, BoundJetty> bound;  ///< By the number that its requests say.
  std::vector<SendQueue*> partners;  ///< Queues here that take messages of its jettys alone.

  /// The jetty id that its program knows for the one with that number.
  std::uint32_t name_of(std::uint32_t jetty) const {
    const auto known = bound.find(jetty);
    return known == bound.end() || known->second.name == 0 ? jetty : known->second.name;
  }
};

}  // namespace wharf::live::urma
