// SPDX-License-Identifier: Apache-2.0
// What a link does to packets beside carrying them: every fault, for every link of every world.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/link_retry_config.h"

namespace wharf::sim {

/// Faults of one direction of a link. Probabilities are per packet, from 0 to 1.
struct LinkFaults {
  double loss = 0;    ///< The packet vanishes.
  double damage = 0;  ///< A bit is inverted; the frame check at the far end drops the frame.
  /// Link-level retry (Ultra Ethernet 1.0 5.1, LLR; link_retry.h): lost and damaged frames are sent again,
  /// with those behind them.
  bool retry = false;
  std::uint32_t retry_limit = 1;  ///< Replays in a row before the link gives up; 0: no limit.
  LinkRetryConfig retry_rules{};
  double duplication = 0;                  ///< The packet arrives twice.
  double reordering = 0;                   ///< The packet is held back while later ones pass.
  TimePs reorder_delay = microseconds(2);  ///< Longest time held back (uniform from 1 ps).
  TimePs jitter{};  ///< Longest extra delay of every packet (uniform from 0), order kept.
  /// A bit is inverted behind the frame check, as by a bad switch memory: only what the packet carries itself
  /// (ICRC, header fields) can notice. Needs WireMode::kBytes.
  double damage_past_check = 0;

  constexpr bool any() const {
    return retry || loss > 0 || damage > 0 || duplication > 0 || reordering > 0 || jitter > kTimeZero ||
           damage_past_check > 0;
  }
};

/// Refuses what cannot be, naming the key.
Result<void> validate(const LinkFaults& faults);

/// Why a link lost a packet: TraceEvent::a of a kPacketDropped event.
enum class LinkLoss : std::uint8_t { kLost, kFrameCheck, kDecoder };

/// One random stream per fault, so that switching one on changes no draw of the others.
struct LinkDraws {
  explicit LinkDraws(const RandomStream& random)
      : streams{random.substream(0), random.substream(1), random.substream(2), random.substream(3),
                random.substream(4), random.substream(5), random.substream(6)} {}
  RandomStream streams[7];
  TimePs last_arrival;  ///< Of the packets that keep their order.
};
/// Index of a stream.
enum class FaultDraw : std::uint8_t {
  kLoss,
  kDamage,
  kDuplication,
  kReordering,
  kJitter,
  kPastCheck,
  kPosition
};

}  // namespace wharf::sim
