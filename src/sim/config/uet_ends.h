// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the ends of Ultra Ethernet: the keys that runs of many hosts ("fabric.*") and of
// two ("model.uet.*") share, and the rules that turn them, with a network, into an engine's configuration.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/uet/config.h"
#include "sim/config/binder.h"
#include "sim/config/sender_ends.h"

namespace wharf::sim {

/// Whether the upper bits of entropy values are drawn once or for each round of paths.
enum class PathBits : std::uint8_t { kFixed, kDrawn };
/// When a source without credit asks for some: as soon as nothing of it is under way, or a time-out later.
enum class CreditRequest : std::uint8_t { kDry, kTimeout };
/// How much credit a source that wants none gets at a time: a full grant, or a packet at half the pace.
enum class IdleGrant : std::uint8_t { kFull, kPacket, kNone };
enum class OversubscribedControl : std::uint8_t { kAuto, kOn, kOff };

/// Zero stands for "by rule" where a rule is given.
struct UetEnds : SenderEnds {
  uet::CongestionControl control = uet::CongestionControl::kSender;
  TimePs target_delay{};  ///< 0: 0.75 of the base round trip with trimming, 1.0 without.
  std::uint32_t qa_gate = 3;
  congestion::NsccRules nscc_rules = congestion::NsccRules::kSpecification;
  std::uint32_t ack_trigger = 16384;
  uet::SackBase sack_base = uet::SackBase::kTrack;
  congestion::PathChoice path_selection = congestion::PathChoice::kOblivious;
  std::uint32_t paths = 64;
  PathBits path_bits = PathBits::kFixed;
  CreditRequest credit_request = CreditRequest::kDry;
  IdleGrant idle_grant = IdleGrant::kFull;
  bool sleek = false;
  bool base_rtt_probe = true;
  bool ack_every_syn = true;
  bool accurate_base_rtt = false;
  bool base_rtt_from_nacks = true;
  OversubscribedControl oversubscribed_control = OversubscribedControl::kAuto;
  double oversubscribed_increase = 0.01;
  double oversubscribed_decrease = 0.5;
  double oversubscribed_gain = 0.5;

  /// Whether receivers hand out credit.
  bool has_credit() const {
    return control == uet::CongestionControl::kReceiver || control == uet::CongestionControl::kBoth;
  }
};

/// What the rules know of a network.
struct UetNetwork {
  BitsPerSecond link;            ///< Of the hosts.
  TimePs base_rtt;               ///< Full packet, answer back, nothing queued.
  std::uint64_t max_window = 0;  ///< Bytes.
  std::uint32_t payload = 4096;  ///< Of a full packet.
  std::uint32_t header = 0;      ///< Nominal bytes of all headers; 0: what they really take.
  bool trimming = false;
  std::uint32_t oversubscription_permille = 1000;
  TimePs rto;

  /// What a full packet counts toward windows. [UE 1.0 3.6: transport size and 40 bytes]
  std::uint32_t window_packet() const { return payload + (header != 0 ? header : 108); }
  SenderNetwork of_senders() const { return {link, base_rtt, max_window, window_packet()}; }
};

/// Ethernet, IPv4, UDP, PDS request, SES and CRC trailer, with preamble and gap: what a full packet of Ultra
/// Ethernet takes beside its payload; and what an acknowledgement takes.
inline constexpr std::uint32_t kUetDataOverhead = 14 + 20 + 8 + 12 + 44 + 4 + 4 + 20;
inline constexpr std::uint32_t kUetAcknowledgement = 14 + 20 + 8 + 32 + 12 + 4 + 4 + 20;

/// Lists the keys into the binder's section, without those of every sender: see bind_sender_ends().
void bind_uet_ends(Binder& binder, UetEnds& ends);
/// Refuses what is known but has no code behind it. `section`: of the keys, "fabric" for one.
Result<void> check_ends(const UetEnds& ends, std::string_view section);
/// The configuration of the engines. Theirs to say: seeds, and how many peers there may be.
uet::UetConfig derive_uet_ends(const UetEnds& ends, const UetNetwork& network);

}  // namespace wharf::sim
