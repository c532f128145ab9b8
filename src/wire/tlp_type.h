// SPDX-License-Identifier: Apache-2.0
// Kinds of PCIe transaction layer packets and the numbers that stand for them in byte 0: Fmt in its three
// upper bits (4DW header, data, prefix), Type in the five lower ones. [PCIe Base 5.0 2.2.1, table 2-3]
#pragma once

#include <cstdint>

namespace wharf::wire {

/// Kinds that wharf reads and writes. Locked reads and their completions are for legacy bridges and are
/// refused by name. I/O and configuration requests are here so that captures can be read: nothing in wharf
/// sends them.
enum class TlpType : std::uint8_t {
  kMemoryRead,      ///< MRd
  kMemoryWrite,     ///< MWr
  kIoRead,          ///< IORd
  kIoWrite,         ///< IOWr
  kConfigRead0,     ///< CfgRd0
  kConfigWrite0,    ///< CfgWr0
  kConfigRead1,     ///< CfgRd1
  kConfigWrite1,    ///< CfgWr1
  kCompletion,      ///< Cpl
  kCompletionData,  ///< CplD
  kFetchAdd,        ///< FetchAdd
  kSwap,            ///< Swap
  kCompareSwap,     ///< CAS
  kMessage,         ///< Msg
  kMessageData,     ///< MsgD
};
inline constexpr std::uint32_t kTlpTypeCount = static_cast<std::uint32_t>(TlpType::kMessageData) + 1;

/// What stands behind the first four bytes of a header.
enum class TlpForm : std::uint8_t { kAddress, kConfig, kCompletion, kMessage };

/// Which credits a packet needs, and which ordering row it is in. [2.4.1, 2.6.1]
enum class TlpFlow : std::uint8_t { kPosted, kNonPosted, kCompletion };

constexpr TlpForm tlp_form(TlpType type) {
  switch (type) {
    case TlpType::kMemoryRead:
    case TlpType::kMemoryWrite:
    case TlpType::kIoRead:
    case TlpType::kIoWrite:
    case TlpType::kFetchAdd:
    case TlpType::kSwap:
    case TlpType::kCompareSwap:
      return TlpForm::kAddress;
    case TlpType::kConfigRead0:
    case TlpType::kConfigWrite0:
    case TlpType::kConfigRead1:
    case TlpType::kConfigWrite1:
      return TlpForm::kConfig;
    case TlpType::kCompletion:
    case TlpType::kCompletionData:
      return TlpForm::kCompletion;
    case TlpType::kMessage:
    case TlpType::kMessageData:
      return TlpForm::kMessage;
  }
  return TlpForm::kMessage;
}

constexpr bool is_tlp_atomic(TlpType type) {
  return type == TlpType::kFetchAdd || type == TlpType::kSwap || type == TlpType::kCompareSwap;
}
constexpr bool is_tlp_io(TlpType type) { return type == TlpType::kIoRead || type == TlpType::kIoWrite; }

/// MRd, MWr and the atomics: what an engine or a host sends to memory.
constexpr bool is_tlp_memory(TlpType type) {
  return type == TlpType::kMemoryRead || type == TlpType::kMemoryWrite || is_tlp_atomic(type);
}

/// Whether Length double words of data follow the header.
constexpr bool tlp_carries_data(TlpType type) {
  return type == TlpType::kMemoryWrite || type == TlpType::kIoWrite || type == TlpType::kConfigWrite0 ||
         type == TlpType::kConfigWrite1 || type == TlpType::kCompletionData ||
         type == TlpType::kMessageData || is_tlp_atomic(type);
}

/// Whether Length means something: it is reserved in Cpl and Msg.
constexpr bool tlp_has_length(TlpType type) {
  return type != TlpType::kCompletion && type != TlpType::kMessage;
}

constexpr TlpFlow tlp_flow(TlpType type) {
  if (tlp_form(type) == TlpForm::kCompletion) return TlpFlow::kCompletion;
  return type == TlpType::kMemoryWrite || tlp_form(type) == TlpForm::kMessage ? TlpFlow::kPosted
                                                                              : TlpFlow::kNonPosted;
}

/// The five bits of Type; the routing of a message is added to its own.
constexpr std::uint8_t tlp_type_bits(TlpType type) {
  switch (type) {
    case TlpType::kMemoryRead:
    case TlpType::kMemoryWrite:
      return 0x00;
    case TlpType::kIoRead:
    case TlpType::kIoWrite:
      return 0x02;
    case TlpType::kConfigRead0:
    case TlpType::kConfigWrite0:
      return 0x04;
    case TlpType::kConfigRead1:
    case TlpType::kConfigWrite1:
      return 0x05;
    case TlpType::kCompletion:
    case TlpType::kCompletionData:
      return 0x0a;
    case TlpType::kFetchAdd:
      return 0x0c;
    case TlpType::kSwap:
      return 0x0d;
    case TlpType::kCompareSwap:
      return 0x0e;
    case TlpType::kMessage:
    case TlpType::kMessageData:
      return 0x10;
  }
  return 0;
}

/// Fmt of a header: bit 0 a header of four double words, bit 1 data. Fmt 4 is a prefix.
inline constexpr std::uint8_t kTlpFmtWide = 1;
inline constexpr std::uint8_t kTlpFmtData = 2;
inline constexpr std::uint8_t kTlpFmtPrefix = 4;

/// Where a message goes: the three lower bits of its Type. [2.2.8, table 2-20]
enum class TlpRouting : std::uint8_t {
  kToRootComplex = 0,
  kByAddress = 1,
  kById = 2,
  kBroadcast = 3,  ///< From the root complex to everybody below.
  kLocal = 4,      ///< Ends at the receiver.
  kGathered = 5,   ///< Gathered on the way to the root complex.
};
inline constexpr std::uint8_t kTlpRoutingMax = 5;

}  // namespace wharf::wire
