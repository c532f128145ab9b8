// SPDX-License-Identifier: Apache-2.0
// The dissection of a PCIe transaction layer packet.
#pragma once

#include <cstddef>
#include <span>

#include "wire/dissect.h"

namespace wharf::wire {

/// What dissect() says of a record with link type kPcieTlp.
Dissection dissect_tlp(std::span<const std::byte> bytes);

}  // namespace wharf::wire
