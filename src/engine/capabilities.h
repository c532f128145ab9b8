// SPDX-License-Identifier: Apache-2.0
// What an engine can do, as values: a front-end asks instead of guessing from the protocol's name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/queues.h"
#include "verbs/verb.h"

namespace wharf::engine {

/// Everything a front-end, a run or a test needs to know before it makes queues. Limits say what the engine
/// refuses beyond; 0 means that it has none of the kind.
struct Capabilities {
  std::string_view protocol;  ///< As users name it: wire::key_of().

  // --- Peers.
  bool queue_per_peer = false;  ///< A queue serves one peer at a time; else requests name any imported one.
  bool both_connect = false;    ///< Packets flow when both ends have called connect(), not one alone.
  bool blob_per_peer = false;   ///< A blob of export_queue() serves one peer queue, not all of them.

  // --- Delivery.
  bool ordered_delivery = false;  ///< Requests of a queue toward one peer take effect in posting order.
  bool load_store = false;        ///< issue() works.
  bool tagged = false;            ///< Sends and receives with tags, and receives from one sender.
  bool typed_atomics = false;     ///< WorkRequest::atomic_function.
  bool delivery_modes = false;    ///< WorkRequest::delivery.
  bool solicited = false;         ///< WorkRequest::solicited reaches the target.
  /// A write with immediate data takes a receive entry at the target. Else it takes none, and its receive
  /// completion has id 0.
  bool write_imm_takes_receive = true;
  std::uint8_t immediate_bits = 0;
  std::uint32_t mtu = 0;  ///< Payload bytes of a packet at most.
  std::uint64_t max_message_bytes = 0;
  std::uint64_t max_send_bytes = 0;  ///< Of one Send; one-sided messages may be longer.
  std::uint32_t max_scatter_entries = 0;
  std::uint32_t max_inline_bytes = 0;

  // --- Queues.
  std::uint8_t services = 1;  ///< Bit n: the ServiceMode of number n. The verbs below are those of kDefault.
  bool suspends = false;  ///< suspend_queue() and resume_queue(), which the engine has beside the contract.

  // --- Objects.
  std::uint32_t max_queues = 0;
  std::uint32_t max_queue_depth = 0;
  std::uint32_t max_completion_queues = 0;
  std::uint32_t max_completion_depth = 0;
  std::uint32_t max_receive_queues = 0;
  std::uint32_t max_groups = 0;
  std::uint32_t max_group_members = 0;
  bool byte_rings = false;  ///< EntryFormat::kBytes.

  /// By verb: bit n says that operands of 2^n bytes are taken (atomics), or bit 0 that the verb is (others).
  std::array<std::uint8_t, verbs::kVerbCount> widths{};

  constexpr bool serves(ServiceMode mode) const {
    return (services >> static_cast<unsigned>(mode) & 1U) != 0;
  }
  constexpr bool supports(verbs::Verb verb) const { return widths[static_cast<std::size_t>(verb)] != 0; }
  constexpr bool supports(verbs::Verb verb, std::uint32_t width) const {
    for (std::uint32_t n = 0; n < 8; ++n) {
      if (width == 1U << n) return (std::uint32_t{widths[static_cast<std::size_t>(verb)]} >> n & 1U) != 0;
    }
    return false;
  }
};

/// Masks for Capabilities::widths.
inline constexpr std::uint8_t kNoWidth = 1;
inline constexpr std::uint8_t kWidth4 = 1U << 2U;
inline constexpr std::uint8_t kWidth8 = 1U << 3U;
inline constexpr std::uint8_t kWidth16 = 1U << 4U;

}  // namespace wharf::engine
