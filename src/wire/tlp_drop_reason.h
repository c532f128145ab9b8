// SPDX-License-Identifier: Apache-2.0
// Why received bytes are no transaction layer packet for an engine. Apart from drop_reason.h because links of
// a fabric count those, and no TLP travels there. The specification calls all of them malformed; receivers
// need not check each.
#pragma once

#include <cstdint>
#include <string_view>

namespace wharf::wire {

enum class TlpDropReason : std::uint8_t {
  kNone,
  kTruncated,            ///< The bytes end before the header does, or in a prefix.
  kReservedFormat,       ///< Fmt 5..7.
  kReservedType,         ///< Fmt and Type that together are no packet; TCfgRd and TCfgWr, long withdrawn.
  kLocked,               ///< MRdLk, CplLk, CplDLk: for legacy bridges, and not built here.
  kUnknownPrefix,        ///< A prefix whose type nobody has defined, or MR-IOV's.
  kPrefixOrder,          ///< A local prefix behind an end-to-end one. [2.2.10]
  kTooManyPrefixes,      ///< More than two local or four end-to-end ones.
  kForbiddenPrefix,      ///< PASID on what has no address space, or two of them. [2.2.10.2, 6.20]
  kLengthMismatch,       ///< Length, TD and the bytes that there are disagree. [2.2.2]
  kPayloadTooLong,       ///< More data than Max_Payload_Size. [2.2.2]
  kLowWideAddress,       ///< A header of four double words for an address below 4 GiB. [2.2.4.1]
  kCrossesPage,          ///< A memory access across a 4 KiB boundary. [2.2.7]
  kBadByteEnables,       ///< A pattern that this length forbids. [2.2.5]
  kBadAddressType,       ///< AT 3, or a translation request that does not read. [10.2.2]
  kBadFixedField,        ///< I/O or configuration: TC, Attr, AT or Length is not what it must be. [2.2.7]
  kBadOperandSize,       ///< An atomic of another length than its operands have. [2.2.7]
  kMisalignedAtomic,     ///< An atomic whose address is no multiple of its operand. [2.2.7]
  kBadMessage,           ///< A message whose routing, class or data its code forbids. [2.2.8]
  kBadCompletionStatus,  ///< Data with an unsuccessful status. [2.2.9]
  kBadByteCount,         ///< More data than Byte Count has left. [2.3.1.1]
  kBadCompletionSplit,   ///< Not the last completion, and it ends between boundaries (RCB). [2.3.1.1]
  kBadEcrc,              ///< The digest does not match. [2.7.1]
};
inline constexpr std::uint32_t kTlpDropReasonCount = static_cast<std::uint32_t>(TlpDropReason::kBadEcrc) + 1;

/// A short lower-case phrase such as "crosses a 4 KiB boundary".
std::string_view tlp_drop_reason_text(TlpDropReason reason);

}  // namespace wharf::wire
