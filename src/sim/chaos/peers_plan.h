// SPDX-License-Identifier: Apache-2.0
// What a run of peers is made of: engines on one wire, whose hosts use each other's memory, and what befalls
// one of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "sim/chaos/drawn_run.h"
#include "sim/protocols/key_draw.h"

namespace wharf::sim {

enum class PeerEvent : std::uint8_t {
  kNone,
  kDeath,  ///< One host falls silent for ever.
  kReset,  ///< One forgets everything and comes back as another; the others are told to forget it.
  kLies,   ///< What one host sends is altered on its way.
};

/// How packets of a liar are altered: as the protocol knows them (protocol.h), or as any packet can be.
inline constexpr std::uint32_t kLieAgain = 8;      ///< An older packet of its instead.
inline constexpr std::uint32_t kLieElsewhere = 9;  ///< It goes to another host.
inline constexpr std::uint32_t kLieCut = 10;       ///< The end of the data is missing.
inline constexpr std::uint32_t kLieWays = 11;
inline constexpr std::uint32_t kLieAny = kLieWays;  ///< Each packet in another way.

struct PeersPlan {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 3;
  PeerEvent event = PeerEvent::kNone;
  std::uint32_t host = 0;         ///< That it befalls,
  TimePs at;                      ///< and when.
  TimePs away = microseconds(1);  ///< Reset: until it is back.
  std::uint32_t lie = kLieAny;
  std::uint32_t lie_percent = 20;
  std::uint32_t operations = 20;  ///< Of each host at each other one.
  std::uint32_t depth = 4;        ///< Of these outstanding at a time.
  std::uint32_t longest = 512;    ///< Bytes of one, a multiple of 8.
  bool shared_queue = false;      ///< A host has one queue for all its peers.
  std::uint32_t attempts = 7;
  TimePs memory_delay;  ///< Zero: memory answers at once.
  TimePs delay = microseconds(1);
  TimePs jitter;
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;
};

/// Draws the keys "peers.*" of a run; those of the hosts' model have been drawn.
void draw_peers(KeyDraw& draw, bool may_share, bool may_die);

/// The plan that the keys of `run` say. Refuses what nobody draws.
Result<PeersPlan> plan_of(const DrawnRun& run);

/// One phrase: "4 hosts, host 2 falls silent at 4300 ns".
std::string describe(const PeersPlan& plan);

}  // namespace wharf::sim
