// SPDX-License-Identifier: Apache-2.0
// What crosses a device's link, as the transaction layer packets of PCIe: for captures, and for links on
// which packets take the room of their real headers. The bits of the order that a request asks for are those
// of wire/tlp_ordering_label.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/ordering/mmio_operation.h"
#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"
#include "engine/ordering/rlsq_port.h"
#include "wire/tlp_ordering_label.h"
#include "wire/tlp_packet.h"

namespace wharf::sim {

/// Which reading of the ordering bits both ends of a link share: the proposed one where the root complex
/// obeys the proposed labels.
constexpr wire::TlpOrderingForm tlp_form_of(ordering::RlsqDesign design) {
  return ordering::obeys_labels(design) ? wire::TlpOrderingForm::kProposed : wire::TlpOrderingForm::kToday;
}

/// Room for the operands of an atomic, or for its answer.
using TlpOperands = std::array<std::byte, 32>;

/// The packet of a request with `tag` (10 bits, its link's; without meaning for writes). The low 16 bits of
/// the requester are its ID. Its data point into `request` or `operands`. A subtraction is an addition of the
/// complement. False: PCIe has no such atomic (and, or, exclusive or, plain atomic loads and stores).
bool request_tlp(const ordering::Request& request, wire::TlpOrderingForm form, std::uint16_t tag,
                 TlpOperands& operands, wire::Tlp& out);

/// The completion of a read or atomic whose packet was `request`; all of it at once, since a request of one
/// line crosses no read completion boundary.
wire::Tlp response_tlp(const ordering::Response& response, const wire::Tlp& request, TlpOperands& operands);

// Bytes on the link, framing included. [PCIe Base 5.0 4.2.2.3]
/// An atomic that PCIe has not takes the room of an addition.
std::uint32_t tlp_link_bytes_of(const ordering::Request& request, wire::TlpOrderingForm form);
std::uint32_t tlp_link_bytes_of(const ordering::Response& response);
/// A store or load of a core. Choice: the device's window lies above 4 GiB, so that the header is the long
/// one. Its number travels with it only to a reorder buffer at the device.
std::uint32_t tlp_link_bytes_of(const ordering::MmioOperation& operation, bool carries_number);
/// The answer to a core's load.
std::uint32_t tlp_completion_bytes_of(const ordering::MmioOperation& load);

}  // namespace wharf::sim
