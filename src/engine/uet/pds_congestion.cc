// SPDX-License-Identifier: Apache-2.0
// Control packets that congestion management asks for. [UE 1.0 3.5.16]
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

std::uint16_t Pds::probe(std::uint32_t index) {
  const UetPsn base = pdcs_[index]->tx.una;
  send_control(index, wire::UetControlType::kProbe, 0, base);
  return static_cast<std::uint16_t>(base);
}

void Pds::request_credit(std::uint32_t index, std::uint32_t target_units) {
  send_control(index, wire::UetControlType::kCreditRequest, 0, target_units);
}

void Pds::send_credit(std::uint32_t index, std::uint32_t total_units) {
  send_control(index, wire::UetControlType::kCredit, 0, total_units);
}

}  // namespace wharf::uet
