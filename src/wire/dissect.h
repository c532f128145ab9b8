// SPDX-License-Identifier: Apache-2.0
// One frame for people: a tree of headers and fields with their place in the frame. The text comes from here;
// the command line prints it or turns it into JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/drop_reason.h"
#include "wire/frame_layout.h"
#include "wire/link_type.h"
#include "wire/tlp_drop_reason.h"

namespace wharf::wire {

/// Whose frames dissect() reads, for people.
inline constexpr std::string_view kDissected = "UB, RoCEv2, UET and PCIe";

/// A header (depth 0) or one of its fields (depth 1).
struct DissectLine {
  std::uint32_t depth = 0;
  std::string name;          ///< "BTH", "PSN".
  std::string value;         ///< "2748", "0x00001234", "Write".
  std::uint32_t offset = 0;  ///< First byte in the frame.
  std::uint32_t length = 0;  ///< Bytes; bit fields cover the bytes they stand in.
};

enum class IcrcState : std::uint8_t { kAbsent, kGood, kBad };

struct Dissection {
  DropReason reason = DropReason::kNone;            ///< kForeign: another protocol, which is no error.
  TlpDropReason tlp_reason = TlpDropReason::kNone;  ///< With kBadTlp: which rule of PCIe is broken.
  std::string summary;                              ///< One line: protocol, opcode, the numbers that matter.
  std::string foreign;                              ///< With kForeign: what it is, as far as headers tell.
  /// Network addresses; Ethernet addresses of foreign frames; bus, device and function of a TLP.
  std::string source;
  std::string destination;
  IcrcState icrc = IcrcState::kAbsent;  ///< Of a TLP: its ECRC.
  bool reencodes = false;               ///< Decoding and encoding gives the same bytes.
  std::vector<DissectLine> lines;
};

/// Reads one frame. Never fails: what cannot be decoded is said in `reason`, `summary` and a last line.
/// `more`: UDP ports beside those of the specifications.
Dissection dissect(std::span<const std::byte> frame, LinkType link, std::span<const ProtocolPort> more = {});

/// Why it was refused, or "not dropped", as one phrase.
std::string_view dissection_status(const Dissection& dissection);

/// "absent", "good" or "bad".
std::string_view icrc_state_text(IcrcState state);

/// The lines as indented text, one per line, with offsets.
std::string dissection_text(const Dissection& dissection);

}  // namespace wharf::wire
