// SPDX-License-Identifier: Apache-2.0
// Unified Bus opcodes and which extension headers and data each transaction carries.
// [UB-Base 2.0.1 7; OpenURMA wire format; UMDK urma_opcode.h]
#pragma once

#include <cstdint>
#include <string_view>

namespace wharf::wire {

/// TPOpcode, 7 bits of RTPH byte 0. [UB-Base 2.0.1 6.2]
enum class TpOpcode : std::uint8_t {
  kUnreliable = 0x00,     ///< UTP: UTPH, then a transaction header.
  kReliable = 0x01,       ///< Data: a reliable transaction packet.
  kAck = 0x02,            ///< TPACK or (RSPST 3) TPNAK without CETPH.
  kAckCetph = 0x03,       ///< TPACK or TPNAK with CETPH.
  kNakDeprecated = 0x04,  ///< Reserved; some stacks send it for TPNAK. Accepted, never sent.
  kSack = 0x05,           ///< TPSACK with SAETPH, without CETPH.
  kSackCetph = 0x06,      ///< TPSACK with CETPH and SAETPH.
  kCnp = 0x08,            ///< Congestion notification with CNPETPH (profile P2: CETPH).
};

/// CTPH opcode, 2 bits.
enum class CtpOpcode : std::uint8_t { kData = 0, kCnp = 1 };

/// RSPST in RTPH (acknowledgements) and in ATAH (transaction responses).
enum class UbResponseStatus : std::uint8_t {
  kSuccess = 0,
  kReceiverNotReady = 1,  ///< RNR: no receive entry.
  kPageFault = 2,
  kError = 3,       ///< ATAH: target error (see UbResponseInfo). RTPH: TPNAK, sequence error.
  kFusedTaack = 5,  ///< RTPH only: this TPACK carries the TAACK (ROL).
};

/// RSPINFO beside RSPST 3. Choice: the specification publishes no values; these map onto the completion
/// statuses.
enum class UbResponseInfo : std::uint8_t {
  kNone = 0,
  kUnsupportedOpcode = 1,
  kAccess = 2,
  kLength = 3,
  kJettyState = 4,
  kPoison = 5,
};

/// INI_RC_Type. Choice: send kRequester; accept kSendQueue and kRequester alike; kSequence is ROT; 3 is
/// dropped.
enum class RequesterContextType : std::uint8_t { kSendQueue = 0, kRequester = 1, kSequence = 2 };

/// TGT_TC_Type: the kind of a target id, numbered as urma_target_type_t.
enum class TargetContextType : std::uint8_t { kJfr = 0, kJetty = 1, kJettyGroup = 2 };

/// TAOpcode, byte 0 of BTAH and ATAH.
enum class TaOpcode : std::uint8_t {
  kSend = 0x00,
  kSendImmediate = 0x01,
  kSendInvalidate = 0x02,
  kWrite = 0x03,
  kWriteImmediate = 0x04,
  kWriteNotify = 0x05,
  kRead = 0x06,
  kAtomicCompareSwap = 0x07,
  kAtomicSwap = 0x08,
  kAtomicStore = 0x09,
  kAtomicLoad = 0x0a,
  kAtomicFetchAdd = 0x0b,
  kAtomicFetchSub = 0x0c,
  kAtomicFetchAnd = 0x0d,
  kAtomicFetchOr = 0x0e,
  kAtomicFetchXor = 0x0f,
  kManagement = 0x10,
  kTaack = 0x11,
  kReadResponse = 0x12,
  kAtomicResponse = 0x13,
  kWriteByteEnable = 0x14,
  kPrefetch = 0x15,
  kDisconnectScid = 0x16,
  kWriteback = 0x17,
  kWritebackByteEnable = 0x18,
  kWriteAtomicAdd = 0x19,  ///< UMDK vendor opcode; its extension headers are not public.
  kOpenUrmaLoad = 0x40,    ///< Profile P2 only, as the three below.
  kOpenUrmaStore = 0x41,
  kOpenUrmaLoadResponse = 0x42,
  kOpenUrmaStoreAck = 0x43,
};

/// What follows BTAH or ATAH for one opcode, as bits. The order on the wire is fixed and not that of the
/// bits.
enum TaLayout : std::uint16_t {
  kTaKnown = 1U << 0U,       ///< The opcode is in the table.
  kTaResponse = 1U << 1U,    ///< ATAH instead of BTAH.
  kTaAddress = 1U << 2U,     ///< MAETAH (or its compact form).
  kTaTarget = 1U << 3U,      ///< MTETAH always (otherwise only with MT_EN).
  kTaImmediate = 1U << 4U,   ///< 8-byte immediate.
  kTaNotify = 1U << 5U,      ///< 24-byte notify block.
  kTaInvalidate = 1U << 6U,  ///< 8-byte token to invalidate.
  kTaOperand = 1U << 7U,     ///< Atomic operand, one of MAETAH.Length bytes.
  kTaCompare = 1U << 8U,     ///< A second operand: the compare value.
  kTaByteEnable = 1U << 9U,  ///< The payload begins with a byte-enable mask.
  kTaPayload = 1U << 10U,    ///< Data may follow.
  kTaMessage = 1U << 11U,    ///< 4-byte management message extension.
};

/// The TaLayout bits of an opcode; 0 when the opcode is unknown (or vendor, which cannot be laid out).
constexpr std::uint16_t ta_layout(TaOpcode opcode) {
  switch (opcode) {
    case TaOpcode::kSend:
      return kTaKnown | kTaTarget | kTaPayload;
    case TaOpcode::kSendImmediate:
      return kTaKnown | kTaTarget | kTaImmediate | kTaPayload;
    case TaOpcode::kSendInvalidate:
      return kTaKnown | kTaTarget | kTaInvalidate | kTaPayload;
    case TaOpcode::kWrite:
    case TaOpcode::kWriteback:
    case TaOpcode::kOpenUrmaStore:
      return kTaKnown | kTaAddress | kTaPayload;
    case TaOpcode::kWriteImmediate:
      return kTaKnown | kTaAddress | kTaTarget | kTaImmediate | kTaPayload;
    case TaOpcode::kWriteNotify:
      return kTaKnown | kTaAddress | kTaNotify | kTaPayload;
    case TaOpcode::kRead:
    case TaOpcode::kAtomicLoad:
    case TaOpcode::kPrefetch:
    case TaOpcode::kOpenUrmaLoad:
      return kTaKnown | kTaAddress;
    case TaOpcode::kAtomicCompareSwap:
      return kTaKnown | kTaAddress | kTaOperand | kTaCompare;
    case TaOpcode::kAtomicSwap:
    case TaOpcode::kAtomicStore:
    case TaOpcode::kAtomicFetchAdd:
    case TaOpcode::kAtomicFetchSub:
    case TaOpcode::kAtomicFetchAnd:
    case TaOpcode::kAtomicFetchOr:
    case TaOpcode::kAtomicFetchXor:
      return kTaKnown | kTaAddress | kTaOperand;
    case TaOpcode::kManagement:
      return kTaKnown | kTaMessage | kTaPayload;
    case TaOpcode::kTaack:
    case TaOpcode::kOpenUrmaStoreAck:
      return kTaKnown | kTaResponse;
    case TaOpcode::kReadResponse:
    case TaOpcode::kAtomicResponse:
    case TaOpcode::kOpenUrmaLoadResponse:
      return kTaKnown | kTaResponse | kTaPayload;
    case TaOpcode::kWriteByteEnable:
    case TaOpcode::kWritebackByteEnable:
      return kTaKnown | kTaAddress | kTaByteEnable | kTaPayload;
    case TaOpcode::kDisconnectScid:
      return kTaKnown;
    case TaOpcode::kWriteAtomicAdd:
      return 0;
  }
  return 0;
}

/// Whether the opcode is an atomic operation (0x07..0x0F).
constexpr bool is_atomic(TaOpcode opcode) {
  return opcode >= TaOpcode::kAtomicCompareSwap && opcode <= TaOpcode::kAtomicFetchXor;
}

/// "Write", "Read_response" and so on, or "unknown".
std::string_view ta_opcode_name(TaOpcode opcode);
std::string_view tp_opcode_name(TpOpcode opcode);

}  // namespace wharf::wire
