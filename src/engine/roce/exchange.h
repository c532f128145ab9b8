// SPDX-License-Identifier: Apache-2.0
// What two control planes tell each other out of band to connect two queue pairs. The bytes are wharf's own;
// the fields are those of any RC connection set-up (IBTA vol 1 12.7: QPN, starting PSN, path MTU, responder
// resources).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/contract.h"
#include "engine/roce/config.h"
#include "wire/host_address.h"
#include "wire/psn.h"

namespace wharf::roce {

/// One end of a connection. The host number stands for the GID (wire/address_plan.h).
struct ExchangeRecord {
  wire::HostAddress host;
  std::uint32_t queue_number = 0;        ///< QPN, 24 bits.
  wire::Psn starting_psn = 0;            ///< Of the requests that this end will send.
  std::uint32_t path_mtu = 0;            ///< Largest payload this end takes.
  std::uint8_t responder_resources = 0;  ///< READs and atomics that this end can have saved.
  Service service = Service::kReliable;
  std::uint32_t queue_key = 0;  ///< Datagrams: what those to this end must carry.
  /// Selective repeat: PSNs from the one that this end expects on whose requests it keeps, 1..2^20. 0:
  /// Go-Back-N.
  std::uint32_t early_window = 0;
};

/// Magic "RC" 2, version 1, resources 1, host 4, QPN 4, PSN 4, MTU 4; big-endian. Of unreliable service
/// version 2, and then: service 1 (as in opcodes), zero 3, Q_Key 4. With selective repeat version 3, and
/// then: window of early requests 4.
engine::ExchangeBlob encode(const ExchangeRecord& record);
/// Refuses a wrong length, magic or version, and values out of range.
Result<ExchangeRecord> decode_exchange(std::span<const std::byte> blob);

}  // namespace wharf::roce
