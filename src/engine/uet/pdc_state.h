// SPDX-License-Identifier: Apache-2.0
// The state machine of a packet delivery context (PDC) as one table for both of its ends. [UE 1.0 3.5.8]
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wharf::uet {

enum class PdcState : std::uint8_t {
  kClosed,        ///< No PDC.
  kCreating,      ///< Initiator: requests leave with SYN; the peer's PDCID is unknown.
  kEstablished,   ///< Both ends know each other.
  kQuiesce,       ///< Initiator: no new messages; waits until everything is answered.
  kCloseAckWait,  ///< Initiator: CLOSE_CMD is under way.
  kClosing,       ///< Target: it has asked for the close.
  kError,         ///< Given up; the record is about to be freed.
};
inline constexpr int kPdcStateCount = static_cast<int>(PdcState::kError) + 1;

enum class PdcEvent : std::uint8_t {
  kOpen,            ///< Initiator: a message needs a PDC.
  kSynAccepted,     ///< Target: the first packet of a PDC arrived.
  kPeerKnown,       ///< Initiator: the first packet from the target arrived.
  kCloseWanted,     ///< Initiator: idle, out of PSNs, or asked by the peer.
  kDrained,         ///< Initiator: everything is answered and consumed.
  kCloseAnswered,   ///< Initiator: CLOSE_CMD was acknowledged, or the target has forgotten the PDC.
  kCloseRequested,  ///< Target: it asks for the close.
  kCloseCommand,    ///< Target: CLOSE_CMD arrived, and nothing of its own is outstanding.
  kFailed,          ///< Retries exhausted, a fatal NACK, or a close request that nobody answers.
};
inline constexpr int kPdcEventCount = static_cast<int>(PdcEvent::kFailed) + 1;

/// The state after `event`, or nothing when the event means nothing in this state.
std::optional<PdcState> next_state(PdcState state, PdcEvent event);

std::string_view name(PdcState state);
std::string_view name(PdcEvent event);

/// State of a congestion control context (CCC), sender's half. [UE 1.0 3.6.12]
enum class CccState : std::uint8_t {
  kIdle,     ///< Nothing to send, nothing in flight.
  kPending,  ///< Nothing to send, acknowledgements outstanding.
  kActive,   ///< Has data that nothing permits to leave now.
  kReady,    ///< Has data and permission: on the scheduler's list.
};
inline constexpr int kCccStateCount = static_cast<int>(CccState::kReady) + 1;

/// update_state of the specification, run after every event.
constexpr CccState updated(CccState state, bool has_data, bool in_flight, bool can_send) {
  if (!has_data) return in_flight ? CccState::kPending : CccState::kIdle;
  if (state == CccState::kIdle || state == CccState::kPending) state = CccState::kActive;
  if (state == CccState::kActive && can_send) return CccState::kReady;
  if (state == CccState::kReady && !can_send) return CccState::kActive;
  return state;
}

std::string_view name(CccState state);

}  // namespace wharf::uet
