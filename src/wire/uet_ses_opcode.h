// SPDX-License-Identifier: Apache-2.0
// The numbers of the semantic sublayer (SES): operations, atomics, datatypes, responses, return codes, and
// which extension header and payload an operation has. [UE 1.0 3.4]
#pragma once

#include <cstdint>

namespace wharf::wire {

/// What a request asks for, 6 bits. 0x10..0x2f are reserved, 0x30..0x3e the vendor's.
enum class UetOpcode : std::uint8_t {
  kNoOp = 0x00,
  kWrite = 0x01,
  kRead = 0x02,
  kAtomic = 0x03,
  kFetchingAtomic = 0x04,
  kSend = 0x05,
  kRendezvousSend = 0x06,
  kDatagramSend = 0x07,
  kDeferrableSend = 0x08,
  kTaggedSend = 0x09,
  kRendezvousTaggedSend = 0x0a,
  kDeferrableTaggedSend = 0x0b,
  kDeferrableReadyToRestart = 0x0c,
  kTaggedSendAtomic = 0x0d,
  kTaggedSendFetchAtomic = 0x0e,
  kMessageError = 0x0f,
  kExtended = 0x3f,
};

/// 0x15..0xdf are reserved, 0xe0..0xfe the vendor's.
enum class UetAtomicOpcode : std::uint8_t {
  kMin = 0x00,
  kMax = 0x01,
  kSum = 0x02,
  kDifference = 0x03,
  kProduct = 0x04,
  kLogicalOr = 0x05,
  kLogicalAnd = 0x06,
  kBitwiseOr = 0x07,
  kBitwiseAnd = 0x08,
  kLogicalXor = 0x09,
  kBitwiseXor = 0x0a,
  kRead = 0x0b,
  kWrite = 0x0c,
  kCompareSwap = 0x0d,
  kCompareSwapNotEqual = 0x0e,
  kCompareSwapLessEqual = 0x0f,
  kCompareSwapLess = 0x10,
  kCompareSwapGreaterEqual = 0x11,
  kCompareSwapGreater = 0x12,
  kMaskedSwap = 0x13,
  kInvalidate = 0x14,
};

/// Whether the atomic has the 36-byte extension with compare and swap values.
constexpr bool uet_has_compare_swap(UetAtomicOpcode opcode) {
  return opcode >= UetAtomicOpcode::kCompareSwap && opcode <= UetAtomicOpcode::kMaskedSwap;
}

/// 0x12..0xdf are reserved, 0xe0..0xfe the vendor's.
enum class UetDatatype : std::uint8_t {
  kInt8 = 0x00,
  kUint8 = 0x01,
  kInt16 = 0x02,
  kUint16 = 0x03,
  kInt32 = 0x04,
  kUint32 = 0x05,
  kInt64 = 0x06,
  kUint64 = 0x07,
  kInt128 = 0x08,
  kUint128 = 0x09,
  kFloat = 0x0a,
  kDouble = 0x0b,
  kFloatComplex = 0x0c,
  kDoubleComplex = 0x0d,
  kLongDouble = 0x0e,
  kLongDoubleComplex = 0x0f,
  kBfloat16 = 0x10,
  kFloat16 = 0x11,
};

/// Bytes of one operand; 0 for reserved and vendor types. (Long double as on x86-64: 16.)
constexpr std::uint32_t uet_datatype_bytes(UetDatatype datatype) {
  switch (datatype) {
    case UetDatatype::kInt8:
    case UetDatatype::kUint8:
      return 1;
    case UetDatatype::kInt16:
    case UetDatatype::kUint16:
    case UetDatatype::kBfloat16:
    case UetDatatype::kFloat16:
      return 2;
    case UetDatatype::kInt32:
    case UetDatatype::kUint32:
    case UetDatatype::kFloat:
      return 4;
    case UetDatatype::kInt64:
    case UetDatatype::kUint64:
    case UetDatatype::kDouble:
    case UetDatatype::kFloatComplex:
      return 8;
    case UetDatatype::kInt128:
    case UetDatatype::kUint128:
    case UetDatatype::kDoubleComplex:
    case UetDatatype::kLongDouble:
      return 16;
    case UetDatatype::kLongDoubleComplex:
      return 32;
  }
  return 0;
}

/// What a response says, 6 bits. 0x30..0x3f are the vendor's, the others reserved.
enum class UetResponseOpcode : std::uint8_t {
  kDefault = 0x00,     ///< Success; may be coalesced or made again.
  kResponse = 0x01,    ///< Must reach the initiator.
  kWithData = 0x02,    ///< Read data or a fetched value.
  kNoResponse = 0x03,  ///< The PDS acknowledges; the semantic result comes otherwise.
};

/// Where a message was delivered, 2 bits. 2 and 3 are the vendor's.
enum class UetListCode : std::uint8_t { kExpected = 0, kOverflow = 1 };

/// 6 bits. 0x25..0x2f and 0x38..0x3d are reserved, 0x30..0x37 the vendor's.
enum class UetReturnCode : std::uint8_t {
  kNull = 0x00,
  kOk = 0x01,
  kBadGeneration = 0x02,
  kDisabled = 0x03,
  kDisabledGeneration = 0x04,
  kNoMatch = 0x05,
  kUnsupportedOperation = 0x06,
  kUnsupportedSize = 0x07,
  kTranslationInvalid = 0x08,
  kTranslationPermission = 0x09,
  kTranslationServiceError = 0x0a,
  kNoTranslation = 0x0b,
  kTranslationOutOfRange = 0x0c,
  kHostPoisoned = 0x0d,
  kHostUnsuccessful = 0x0e,
  kAtomicUnsupportedOperation = 0x0f,
  kAtomicUnsupportedDatatype = 0x10,
  kAtomicUnsupportedSize = 0x11,
  kAtomicUnaligned = 0x12,
  kAtomicNan = 0x13,
  kAtomicUnderflow = 0x14,
  kAtomicOverflow = 0x15,
  kAtomicInexact = 0x16,
  kPermissionViolation = 0x17,
  kOperationViolation = 0x18,
  kBadIndex = 0x19,
  kBadPid = 0x1a,
  kBadJobId = 0x1b,
  kBadMemoryKey = 0x1c,
  kBadAddress = 0x1d,
  kCancelled = 0x1e,
  kUndeliverable = 0x1f,
  kUncorrectable = 0x20,
  kUncorrectableTransient = 0x21,
  kTooLong = 0x22,
  kInitiatorError = 0x23,
  kDropped = 0x24,
  kExtended = 0x3e,
};

/// The extension header after a request's body.
enum class UetExtension : std::uint8_t { kNone, kRendezvous, kAtomic };

constexpr UetExtension uet_extension(UetOpcode opcode) {
  switch (opcode) {
    case UetOpcode::kRendezvousSend:
    case UetOpcode::kRendezvousTaggedSend:
      return UetExtension::kRendezvous;
    case UetOpcode::kAtomic:
    case UetOpcode::kFetchingAtomic:
    case UetOpcode::kTaggedSendAtomic:
    case UetOpcode::kTaggedSendFetchAtomic:
      return UetExtension::kAtomic;
    case UetOpcode::kNoOp:
    case UetOpcode::kWrite:
    case UetOpcode::kRead:
    case UetOpcode::kSend:
    case UetOpcode::kDatagramSend:
    case UetOpcode::kDeferrableSend:
    case UetOpcode::kTaggedSend:
    case UetOpcode::kDeferrableTaggedSend:
    case UetOpcode::kDeferrableReadyToRestart:
    case UetOpcode::kMessageError:
    case UetOpcode::kExtended:
      return UetExtension::kNone;
  }
  return UetExtension::kNone;
}

/// Whether the opcode is in the table. Vendor's, extended and reserved ones have unknown bodies.
constexpr bool is_known(UetOpcode opcode) { return opcode <= UetOpcode::kMessageError; }
/// Whether the response opcode is in the table or the vendor's.
constexpr bool is_known(UetResponseOpcode opcode) { return opcode <= UetResponseOpcode::kNoResponse; }

}  // namespace wharf::wire
