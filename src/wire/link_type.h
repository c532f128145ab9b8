// SPDX-License-Identifier: Apache-2.0
// What a frame begins with. The numbers are those of capture files.
#pragma once

#include <cstdint>

namespace wharf::wire {

enum class LinkType : std::uint16_t {
  kEthernet = 1,  ///< LINKTYPE_ETHERNET: an Ethernet header, no FCS.
  kUbLink =
      147,  ///< LINKTYPE_USER0. Choice: wharf's captures of native UB links; a frame begins with the LPH.
  /// LINKTYPE_USER1. Choice: wharf's captures of PCIe; a record is one transaction layer packet from its
  /// first prefix or header to its data or digest, without sequence number, LCRC and framing.
  kPcieTlp = 148,
};

}  // namespace wharf::wire
