// SPDX-License-Identifier: Apache-2.0
// The hardware context records of a UB interface: what its context cache stores and refills, byte for byte.
// Sizes follow OpenURMA 5.4 (jetty 20 or 48 bytes, TP channel 56, MR 32); what a window needs beyond them is
// not here.
#pragma once

#include <cstdint>
#include <type_traits>

namespace wharf::ub {

/// A jetty as the NIC needs it for every request. State values as URMA numbers them.
struct JettyRecord {
  std::uint32_t jetty_id = 0;
  std::uint32_t token = 0;   ///< Value that senders must present; 0 is "none".
  std::uint32_t jfc_id = 0;  ///< Completion queue; here a jetty has its own.
  std::uint8_t type = 0;     ///< urma_target_type_t: 1 jetty.
  std::uint8_t state = 0;    ///< 0 reset, 1 ready, 2 suspended, 3 error.
  std::uint8_t valid = 0;
  std::uint8_t pad[5] = {};
};
static_assert(sizeof(JettyRecord) == 20);

/// The same with every field that the specification gives a jetty.
struct JettyFullRecord {
  std::uint32_t jetty_id = 0;
  std::uint32_t token = 0;
  std::uint32_t jfc_id = 0;
  std::uint32_t event_queue = 0;
  std::uint32_t send_queue = 0;
  std::uint32_t receive_queue = 0;
  std::uint8_t type = 0;
  std::uint8_t state = 0;
  std::uint8_t exception_mode = 0;
  std::uint8_t valid = 0;
  std::uint32_t owner = 0;
  std::uint16_t pending_completions = 0;
  std::uint16_t drain_pointer = 0;
  std::uint16_t fault_counter = 0;
  std::uint16_t permission_index = 0;
  std::uint32_t group = 0;
  std::uint8_t pad[4] = {};
};
static_assert(sizeof(JettyFullRecord) == 48);

/// A TP channel. The four padding bytes of the published record hold the upper halves of the logical packet
/// numbers.
struct TpChannelRecord {
  std::uint64_t bitmap = 0;  ///< Arrivals at base_psn .. base_psn + 63.
  std::uint32_t remote_cna = 0;
  std::uint32_t local_tpn = 0;
  std::uint32_t remote_tpn = 0;
  std::uint32_t psn_next = 0;
  std::uint32_t tpmsn_next = 0;
  std::uint32_t last_acked = 0;    ///< Oldest number not yet confirmed.
  std::uint32_t expected_psn = 0;  ///< EPSN.
  std::uint32_t expected_msn = 0;  ///< EMSN.
  std::uint32_t base_psn = 0;
  std::uint32_t max_received = 0;  ///< One past the highest PSN that arrived.
  std::uint8_t utp_only = 0;
  std::uint8_t valid = 0;
  std::uint8_t ordered_by_lower_layer = 0;
  std::uint8_t out_of_order = 0;     ///< 1: selective recovery.
  std::uint16_t transmit_epoch = 0;  ///< Bits 47:32 of psn_next.
  std::uint16_t receive_epoch = 0;   ///< Bits 47:32 of expected_psn.
};
static_assert(sizeof(TpChannelRecord) == 56);

/// A registered memory segment.
struct MrRecord {
  std::uint64_t va = 0;
  std::uint64_t offset = 0;  ///< Bits 63:32 of the length; virtual and physical addresses are the same here.
  std::uint32_t token_id = 0;
  std::uint32_t token_value = 0;
  std::uint32_t length = 0;       ///< Low 32 bits.
  std::uint16_t permissions = 0;  ///< See segment_table.h.
  std::uint16_t space = 0;        ///< Number of its address space, see segment_table.h.
};
static_assert(sizeof(MrRecord) == 32);

/// Up to eight member channels with policy and cursor, and up to eight member jetties: their place and size
/// are fixed here, multipath and groups use them.
struct TpGroupRecord {
  std::uint32_t members[8] = {};
  std::uint32_t member_state[8] = {};
  std::uint32_t policy = 0;
  std::uint32_t cursor = 0;
  std::uint32_t hash_seed = 0;
  std::uint32_t member_count = 0;
  std::uint8_t pad[16] = {};
};
static_assert(sizeof(TpGroupRecord) == 96);
struct JettyGroupRecord {
  std::uint32_t members[8] = {};
  std::uint32_t load[8] = {};
  std::uint32_t policy = 0;
  std::uint32_t cursor = 0;
  std::uint32_t token = 0;
  std::uint32_t member_count = 0;
};
static_assert(sizeof(JettyGroupRecord) == 80);

static_assert(std::is_trivially_copyable_v<JettyRecord> && std::is_trivially_copyable_v<JettyFullRecord> &&
              std::is_trivially_copyable_v<TpChannelRecord> && std::is_trivially_copyable_v<MrRecord>);

}  // namespace wharf::ub
