// SPDX-License-Identifier: Apache-2.0
// What can be chosen about a sender whatever protocol it speaks: its congestion controller with the
// parameters, its time-out; and the rules that turn them, with a network, into a controller's configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/caqm_switch.h"
#include "sim/config/binder.h"

namespace wharf::sim {

enum class SenderController : std::uint8_t {
  kDefault,  ///< The protocol's own: the first of SenderRules::controllers.
  kNone,
  kNscc,
  kDctcp,
  kConstant,
  kSwift,
  kDcqcn,
  kCaqm,
  kLdcp
};

/// DCQCN's parameters are those of the paper or of ConnectX firmware, but for the ones that are given.
enum class DcqcnParameters : std::uint8_t { kPaper, kConnectx };

/// Zero stands for "by rule" where a rule is given.
struct SenderEnds {
  SenderController controller = SenderController::kDefault;
  std::uint32_t window_packets = 0;  ///< First window; constant: the window. 0: MaxWnd.
  DcqcnParameters dcqcn_parameters = DcqcnParameters::kPaper;
  congestion::DcqcnConfig dcqcn;
  congestion::CaqmConfig caqm;           ///< Steps of LDCP, too.
  congestion::CaqmPortConfig caqm_port;  ///< Of the switches.
  TimePs rto{};                          ///< 0: by rule.
  bool rto_back_off = true;
};

/// What a protocol's senders can be.
struct SenderRules {
  /// Controllers that the protocol has the signals for, its own first; kNone among them where it goes without
  /// one by this key.
  std::span<const SenderController> controllers;
  bool back_off = true;  ///< Whether time-outs double is a choice.
};

/// What the rules of protocols know of a network.
struct EndNetwork {
  BitsPerSecond link;            ///< Of the hosts.
  TimePs base_rtt;               ///< Full packet, answer back, nothing queued.
  std::uint64_t max_window = 0;  ///< Bytes: 1.5 bandwidth-delay products.
  std::uint32_t payload = 4096;  ///< Of a full packet.
  std::uint32_t header = 0;      ///< Nominal bytes of all headers; 0: what they really take.
  bool trimming = false;
  std::uint32_t oversubscription_permille = 1000;
  TimePs rto;                 ///< By rule or as given.
  BitsPerSecond host_rate{};  ///< All ports of a host together; 0: one port of `link`.
};

/// What the rules of controllers know of it.
struct SenderNetwork {
  BitsPerSecond link;           ///< Of the hosts.
  TimePs base_rtt;              ///< Full packet, answer back, nothing queued.
  std::uint64_t max_window{};   ///< Bytes: 1.5 bandwidth-delay products.
  std::uint32_t window_packet;  ///< What a full packet counts toward windows, bytes.
};

/// "nscc" and the like.
std::string_view name(SenderController controller);
/// What is said about the keys for all protocols.
struct SenderDocs {
  std::string controllers;  ///< Of each protocol, its own first.
  std::string no_back_off;  ///< When rto_back_off does not matter.
};
/// Lists the keys into the binder's section, and puts the protocol's own controller in the place of kDefault.
/// Refuses controllers that the protocol has no signals for.
void bind_sender_ends(Binder& binder, SenderEnds& ends, const SenderRules& rules, const SenderDocs& docs);
/// The parameters of single controllers, in sections of their own; after bind_sender_ends().
void bind_dcqcn(Binder& binder, SenderEnds& ends);
void bind_caqm(Binder& binder, SenderEnds& ends);
/// Refuses a window that is larger than the controller allows on this network. `where`: "this topology", for
/// one.
Result<void> check_window(const SenderEnds& ends, const SenderNetwork& network, std::string_view section,
                          std::string_view where);
/// Of the controllers that are no protocol's own: constant, Swift, DCQCN.
congestion::ControllerConfig controller_config(const SenderEnds& ends, const SenderNetwork& network);

}  // namespace wharf::sim
