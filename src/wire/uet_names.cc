// SPDX-License-Identifier: Apache-2.0
#include "wire/uet_names.h"

namespace wharf::wire {

std::string_view uet_pds_type_name(UetPdsType type) {
  switch (type) {
    case UetPdsType::kReserved:
      return "reserved";
    case UetPdsType::kTss:
      return "TSS";
    case UetPdsType::kRudRequest:
      return "RUD_REQ";
    case UetPdsType::kRodRequest:
      return "ROD_REQ";
    case UetPdsType::kRudiRequest:
      return "RUDI_REQ";
    case UetPdsType::kRudiResponse:
      return "RUDI_RESP";
    case UetPdsType::kUudRequest:
      return "UUD_REQ";
    case UetPdsType::kAck:
      return "ACK";
    case UetPdsType::kAckCc:
      return "ACK_CC";
    case UetPdsType::kAckCcx:
      return "ACK_CCX";
    case UetPdsType::kNack:
      return "NACK";
    case UetPdsType::kControl:
      return "CP";
    case UetPdsType::kNackCcx:
      return "NACK_CCX";
    case UetPdsType::kRudCcRequest:
      return "RUD_CC_REQ";
    case UetPdsType::kRodCcRequest:
      return "ROD_CC_REQ";
  }
  return "unknown";
}

std::string_view uet_next_header_name(UetNextHeader next) {
  switch (next) {
    case UetNextHeader::kNone:
      return "NONE";
    case UetNextHeader::kRequestSmall:
      return "REQUEST_SMALL";
    case UetNextHeader::kRequestMedium:
      return "REQUEST_MEDIUM";
    case UetNextHeader::kRequestStandard:
      return "REQUEST_STD";
    case UetNextHeader::kResponse:
      return "RESPONSE";
    case UetNextHeader::kResponseData:
      return "RESPONSE_DATA";
    case UetNextHeader::kResponseDataSmall:
      return "RESPONSE_DATA_SMALL";
  }
  return "unknown";
}

std::string_view uet_control_name(UetControlType control) {
  switch (control) {
    case UetControlType::kNoop:
      return "NOOP";
    case UetControlType::kAckRequest:
      return "ACK_REQ";
    case UetControlType::kClearCommand:
      return "CLEAR_CMD";
    case UetControlType::kClearRequest:
      return "CLEAR_REQ";
    case UetControlType::kCloseCommand:
      return "CLOSE_CMD";
    case UetControlType::kCloseRequest:
      return "CLOSE_REQ";
    case UetControlType::kProbe:
      return "PROBE";
    case UetControlType::kCredit:
      return "CREDIT";
    case UetControlType::kCreditRequest:
      return "CREDIT_REQ";
    case UetControlType::kNegotiation:
      return "NEGOTIATION";
  }
  return "unknown";
}

std::string_view uet_ack_request_name(UetAckRequest request) {
  switch (request) {
    case UetAckRequest::kNone:
      return "none";
    case UetAckRequest::kClear:
      return "clear";
    case UetAckRequest::kClose:
      return "close";
    case UetAckRequest::kReserved:
      return "reserved";
  }
  return "unknown";
}

std::string_view uet_cc_type_name(UetCcType type) {
  switch (type) {
    case UetCcType::kNscc:
      return "NSCC";
    case UetCcType::kCredit:
      return "CREDIT";
  }
  return "unknown";
}

std::string_view uet_nack_name(UetNackCode code) {
  switch (code) {
    case UetNackCode::kTrimmed:
      return "TRIMMED";
    case UetNackCode::kTrimmedLastHop:
      return "TRIMMED_LASTHOP";
    case UetNackCode::kTrimmedAck:
      return "TRIMMED_ACK";
    case UetNackCode::kNoPdc:
      return "NO_PDC_AVAIL";
    case UetNackCode::kNoCcc:
      return "NO_CCC_AVAIL";
    case UetNackCode::kNoBitmap:
      return "NO_BITMAP";
    case UetNackCode::kNoPacketBuffer:
      return "NO_PKT_BUFFER";
    case UetNackCode::kNoGuaranteedDelivery:
      return "NO_GTD_DEL_AVAIL";
    case UetNackCode::kNoMessage:
      return "NO_SES_MSG_AVAIL";
    case UetNackCode::kNoResource:
      return "NO_RESOURCE";
    case UetNackCode::kPsnOutOfWindow:
      return "PSN_OOR_WINDOW";
    case UetNackCode::kRodOutOfOrder:
      return "ROD_OOO";
    case UetNackCode::kInvalidDpdcid:
      return "INV_DPDCID";
    case UetNackCode::kPdcHeaderMismatch:
      return "PDC_HDR_MISMATCH";
    case UetNackCode::kClosing:
      return "CLOSING";
    case UetNackCode::kClosingInError:
      return "CLOSING_IN_ERR";
    case UetNackCode::kPacketNotReceived:
      return "PKT_NOT_RCVD";
    case UetNackCode::kResponseUnavailable:
      return "GTD_RESP_UNAVAIL";
    case UetNackCode::kAckWithData:
      return "ACK_WITH_DATA";
    case UetNackCode::kInvalidSyn:
      return "INVALID_SYN";
    case UetNackCode::kPdcModeMismatch:
      return "PDC_MODE_MISMATCH";
    case UetNackCode::kNewStartPsn:
      return "NEW_START_PSN";
    case UetNackCode::kSesProcessing:
      return "RCVD_SES_PROCG";
    case UetNackCode::kUnexpectedEvent:
      return "UNEXP_EVENT";
    case UetNackCode::kReceiverInferredLoss:
      return "RCVR_INFER_LOSS";
    case UetNackCode::kExperimentalNormal:
      return "EXP_NACK_NORMAL";
    case UetNackCode::kExperimentalError:
      return "EXP_NACK_ERR";
    case UetNackCode::kExperimentalFatal:
      return "EXP_NACK_FATAL";
  }
  return "unknown";
}

std::string_view uet_opcode_name(UetOpcode opcode) {
  switch (opcode) {
    case UetOpcode::kNoOp:
      return "NO_OP";
    case UetOpcode::kWrite:
      return "WRITE";
    case UetOpcode::kRead:
      return "READ";
    case UetOpcode::kAtomic:
      return "ATOMIC";
    case UetOpcode::kFetchingAtomic:
      return "FETCHING_ATOMIC";
    case UetOpcode::kSend:
      return "SEND";
    case UetOpcode::kRendezvousSend:
      return "RENDEZVOUS_SEND";
    case UetOpcode::kDatagramSend:
      return "DATAGRAM_SEND";
    case UetOpcode::kDeferrableSend:
      return "DEFERRABLE_SEND";
    case UetOpcode::kTaggedSend:
      return "TAGGED_SEND";
    case UetOpcode::kRendezvousTaggedSend:
      return "RENDEZVOUS_TSEND";
    case UetOpcode::kDeferrableTaggedSend:
      return "DEFERRABLE_TSEND";
    case UetOpcode::kDeferrableReadyToRestart:
      return "DEFERRABLE_RTR";
    case UetOpcode::kTaggedSendAtomic:
      return "TSEND_ATOMIC";
    case UetOpcode::kTaggedSendFetchAtomic:
      return "TSEND_FETCH_ATOMIC";
    case UetOpcode::kMessageError:
      return "MSG_ERROR";
    case UetOpcode::kExtended:
      return "EXTENDED";
  }
  return "unknown";
}

std::string_view uet_atomic_name(UetAtomicOpcode opcode) {
  switch (opcode) {
    case UetAtomicOpcode::kMin:
      return "MIN";
    case UetAtomicOpcode::kMax:
      return "MAX";
    case UetAtomicOpcode::kSum:
      return "SUM";
    case UetAtomicOpcode::kDifference:
      return "DIFF";
    case UetAtomicOpcode::kProduct:
      return "PROD";
    case UetAtomicOpcode::kLogicalOr:
      return "LOR";
    case UetAtomicOpcode::kLogicalAnd:
      return "LAND";
    case UetAtomicOpcode::kBitwiseOr:
      return "BOR";
    case UetAtomicOpcode::kBitwiseAnd:
      return "BAND";
    case UetAtomicOpcode::kLogicalXor:
      return "LXOR";
    case UetAtomicOpcode::kBitwiseXor:
      return "BXOR";
    case UetAtomicOpcode::kRead:
      return "READ";
    case UetAtomicOpcode::kWrite:
      return "WRITE";
    case UetAtomicOpcode::kCompareSwap:
      return "CSWAP";
    case UetAtomicOpcode::kCompareSwapNotEqual:
      return "CSWAP_NE";
    case UetAtomicOpcode::kCompareSwapLessEqual:
      return "CSWAP_LE";
    case UetAtomicOpcode::kCompareSwapLess:
      return "CSWAP_LT";
    case UetAtomicOpcode::kCompareSwapGreaterEqual:
      return "CSWAP_GE";
    case UetAtomicOpcode::kCompareSwapGreater:
      return "CSWAP_GT";
    case UetAtomicOpcode::kMaskedSwap:
      return "MSWAP";
    case UetAtomicOpcode::kInvalidate:
      return "INVAL";
  }
  return "unknown";
}

std::string_view uet_datatype_name(UetDatatype datatype) {
  switch (datatype) {
    case UetDatatype::kInt8:
      return "INT8";
    case UetDatatype::kUint8:
      return "UINT8";
    case UetDatatype::kInt16:
      return "INT16";
    case UetDatatype::kUint16:
      return "UINT16";
    case UetDatatype::kInt32:
      return "INT32";
    case UetDatatype::kUint32:
      return "UINT32";
    case UetDatatype::kInt64:
      return "INT64";
    case UetDatatype::kUint64:
      return "UINT64";
    case UetDatatype::kInt128:
      return "INT128";
    case UetDatatype::kUint128:
      return "UINT128";
    case UetDatatype::kFloat:
      return "FLOAT";
    case UetDatatype::kDouble:
      return "DOUBLE";
    case UetDatatype::kFloatComplex:
      return "FLOAT_COMPLEX";
    case UetDatatype::kDoubleComplex:
      return "DOUBLE_COMPLEX";
    case UetDatatype::kLongDouble:
      return "LONG_DOUBLE";
    case UetDatatype::kLongDoubleComplex:
      return "LONG_DOUBLE_COMPLEX";
    case UetDatatype::kBfloat16:
      return "BF16";
    case UetDatatype::kFloat16:
      return "FP16";
  }
  return "unknown";
}

std::string_view uet_response_name(UetResponseOpcode opcode) {
  switch (opcode) {
    case UetResponseOpcode::kDefault:
      return "DEFAULT_RESPONSE";
    case UetResponseOpcode::kResponse:
      return "RESPONSE";
    case UetResponseOpcode::kWithData:
      return "RESPONSE_W_DATA";
    case UetResponseOpcode::kNoResponse:
      return "NO_RESPONSE";
  }
  return "unknown";
}

std::string_view uet_list_name(UetListCode list) {
  switch (list) {
    case UetListCode::kExpected:
      return "EXPECTED";
    case UetListCode::kOverflow:
      return "OVERFLOW";
  }
  return "unknown";
}

std::string_view uet_return_code_name(UetReturnCode code) {
  switch (code) {
    case UetReturnCode::kNull:
      return "RC_NULL";
    case UetReturnCode::kOk:
      return "RC_OK";
    case UetReturnCode::kBadGeneration:
      return "RC_BAD_GENERATION";
    case UetReturnCode::kDisabled:
      return "RC_DISABLED";
    case UetReturnCode::kDisabledGeneration:
      return "RC_DISABLED_GEN";
    case UetReturnCode::kNoMatch:
      return "RC_NO_MATCH";
    case UetReturnCode::kUnsupportedOperation:
      return "RC_UNSUPPORTED_OP";
    case UetReturnCode::kUnsupportedSize:
      return "RC_UNSUPPORTED_SIZE";
    case UetReturnCode::kTranslationInvalid:
      return "RC_AT_INVALID";
    case UetReturnCode::kTranslationPermission:
      return "RC_AT_PERM";
    case UetReturnCode::kTranslationServiceError:
      return "RC_AT_ATS_ERROR";
    case UetReturnCode::kNoTranslation:
      return "RC_AT_NO_TRANS";
    case UetReturnCode::kTranslationOutOfRange:
      return "RC_AT_OUT_OF_RANGE";
    case UetReturnCode::kHostPoisoned:
      return "RC_HOST_POISONED";
    case UetReturnCode::kHostUnsuccessful:
      return "RC_HOST_UNSUCCESS_CMPL";
    case UetReturnCode::kAtomicUnsupportedOperation:
      return "RC_AMO_UNSUPPORTED_OP";
    case UetReturnCode::kAtomicUnsupportedDatatype:
      return "RC_AMO_UNSUPPORTED_DT";
    case UetReturnCode::kAtomicUnsupportedSize:
      return "RC_AMO_UNSUPPORTED_SIZE";
    case UetReturnCode::kAtomicUnaligned:
      return "RC_AMO_UNALIGNED";
    case UetReturnCode::kAtomicNan:
      return "RC_AMO_FP_NAN";
    case UetReturnCode::kAtomicUnderflow:
      return "RC_AMO_FP_UNDERFLOW";
    case UetReturnCode::kAtomicOverflow:
      return "RC_AMO_FP_OVERFLOW";
    case UetReturnCode::kAtomicInexact:
      return "RC_AMO_FP_INEXACT";
    case UetReturnCode::kPermissionViolation:
      return "RC_PERM_VIOLATION";
    case UetReturnCode::kOperationViolation:
      return "RC_OP_VIOLATION";
    case UetReturnCode::kBadIndex:
      return "RC_BAD_INDEX";
    case UetReturnCode::kBadPid:
      return "RC_BAD_PID";
    case UetReturnCode::kBadJobId:
      return "RC_BAD_JOB_ID";
    case UetReturnCode::kBadMemoryKey:
      return "RC_BAD_MKEY";
    case UetReturnCode::kBadAddress:
      return "RC_BAD_ADDR";
    case UetReturnCode::kCancelled:
      return "RC_CANCELLED";
    case UetReturnCode::kUndeliverable:
      return "RC_UNDELIVERABLE";
    case UetReturnCode::kUncorrectable:
      return "RC_UNCOR";
    case UetReturnCode::kUncorrectableTransient:
      return "RC_UNCOR_TRNSNT";
    case UetReturnCode::kTooLong:
      return "RC_TOO_LONG";
    case UetReturnCode::kInitiatorError:
      return "RC_INITIATOR_ERROR";
    case UetReturnCode::kDropped:
      return "RC_DROPPED";
    case UetReturnCode::kExtended:
      return "RC_EXTENDED";
  }
  return "unknown";
}

std::string_view uet_packet_name(const UetPacket& uet) {
  if (uet.prologue.type == UetPdsType::kControl) return uet_control_name(uet.prologue.control);
  if (is_uet_ack(uet.prologue.type) || is_uet_nack(uet.prologue.type))
    return uet_pds_type_name(uet.prologue.type);
  if (is_uet_request_form(uet.prologue.next)) return uet_opcode_name(uet.ses.opcode);
  if (is_uet_response_form(uet.prologue.next)) return uet_response_name(uet.response.opcode);
  return uet_pds_type_name(uet.prologue.type);
}

}  // namespace wharf::wire
