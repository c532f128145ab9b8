// SPDX-License-Identifier: Apache-2.0
// The words for opcodes and drop reasons.
#include "wire/drop_reason.h"
#include "wire/roce_opcode.h"
#include "wire/ub_opcode.h"

namespace wharf::wire {

std::string_view drop_reason_text(DropReason reason) {
  switch (reason) {
    case DropReason::kNone:
      return "not dropped";
    case DropReason::kTruncated:
      return "truncated";
    case DropReason::kForeign:
      return "neither UB nor RoCEv2 nor UET";
    case DropReason::kBadLinkHeader:
      return "link header that carries no packet";
    case DropReason::kBadIpHeader:
      return "bad IP header";
    case DropReason::kIpFragment:
      return "IP fragment";
    case DropReason::kBadIpChecksum:
      return "bad IP header checksum";
    case DropReason::kBadUdpLength:
      return "bad UDP length";
    case DropReason::kAddressNotInPlan:
      return "address of no host";
    case DropReason::kBadTransportVersion:
      return "unknown header version";
    case DropReason::kUnknownTransport:
      return "unknown transport header";
    case DropReason::kUnknownNextHeader:
      return "unknown header after the transport header";
    case DropReason::kUnknownOpcode:
      return "unknown opcode";
    case DropReason::kBadSackSize:
      return "bad selective-acknowledgement size";
    case DropReason::kBadRequesterType:
      return "reserved requester context type";
    case DropReason::kUnsupportedHeader:
      return "user-defined extension header";
    case DropReason::kBadPadding:
      return "bad padding";
    case DropReason::kBadPayloadLength:
      return "bad payload length";
    case DropReason::kBadIcrc:
      return "bad invariant CRC";
    case DropReason::kForbiddenHeader:
      return "header that may not follow";
    case DropReason::kBadSegment:
      return "segment beyond its message";
    case DropReason::kSecured:
      return "secured packet without keys";
    case DropReason::kBadTlp:
      return "malformed transaction layer packet";
  }
  return "unknown";
}

std::string_view ta_opcode_name(TaOpcode opcode) {
  switch (opcode) {
    case TaOpcode::kSend:
      return "Send";
    case TaOpcode::kSendImmediate:
      return "Send_imm";
    case TaOpcode::kSendInvalidate:
      return "Send_with_invalidate";
    case TaOpcode::kWrite:
      return "Write";
    case TaOpcode::kWriteImmediate:
      return "Write_imm";
    case TaOpcode::kWriteNotify:
      return "Write_notify";
    case TaOpcode::kRead:
      return "Read";
    case TaOpcode::kAtomicCompareSwap:
      return "Atomic_compare_swap";
    case TaOpcode::kAtomicSwap:
      return "Atomic_swap";
    case TaOpcode::kAtomicStore:
      return "Atomic_store";
    case TaOpcode::kAtomicLoad:
      return "Atomic_load";
    case TaOpcode::kAtomicFetchAdd:
      return "Atomic_fetch_add";
    case TaOpcode::kAtomicFetchSub:
      return "Atomic_fetch_sub";
    case TaOpcode::kAtomicFetchAnd:
      return "Atomic_fetch_and";
    case TaOpcode::kAtomicFetchOr:
      return "Atomic_fetch_or";
    case TaOpcode::kAtomicFetchXor:
      return "Atomic_fetch_xor";
    case TaOpcode::kManagement:
      return "Management";
    case TaOpcode::kTaack:
      return "TAACK";
    case TaOpcode::kReadResponse:
      return "Read_response";
    case TaOpcode::kAtomicResponse:
      return "Atomic_response";
    case TaOpcode::kWriteByteEnable:
      return "Write_with_be";
    case TaOpcode::kPrefetch:
      return "Prefetch_tgt";
    case TaOpcode::kDisconnectScid:
      return "Disconnect_SCID";
    case TaOpcode::kWriteback:
      return "Writeback";
    case TaOpcode::kWritebackByteEnable:
      return "Writeback_with_be";
    case TaOpcode::kWriteAtomicAdd:
      return "Write_atomic_add";
    case TaOpcode::kOpenUrmaLoad:
      return "LOAD";
    case TaOpcode::kOpenUrmaStore:
      return "STORE";
    case TaOpcode::kOpenUrmaLoadResponse:
      return "LOAD_RESP";
    case TaOpcode::kOpenUrmaStoreAck:
      return "STORE_ACK";
  }
  return "unknown";
}

std::string_view tp_opcode_name(TpOpcode opcode) {
  switch (opcode) {
    case TpOpcode::kUnreliable:
      return "unreliable data";
    case TpOpcode::kReliable:
      return "reliable data";
    case TpOpcode::kAck:
      return "TPACK";
    case TpOpcode::kAckCetph:
      return "TPACK with CETPH";
    case TpOpcode::kNakDeprecated:
      return "TPNAK (reserved code)";
    case TpOpcode::kSack:
      return "TPSACK";
    case TpOpcode::kSackCetph:
      return "TPSACK with CETPH";
    case TpOpcode::kCnp:
      return "CNP";
  }
  return "unknown";
}

std::string_view roce_opcode_name(RoceOpcode opcode) {
  switch (opcode) {
    case RoceOpcode::kRcSendFirst:
      return "RC SEND First";
    case RoceOpcode::kRcSendMiddle:
      return "RC SEND Middle";
    case RoceOpcode::kRcSendLast:
      return "RC SEND Last";
    case RoceOpcode::kRcSendLastImmediate:
      return "RC SEND Last with Immediate";
    case RoceOpcode::kRcSendOnly:
      return "RC SEND Only";
    case RoceOpcode::kRcSendOnlyImmediate:
      return "RC SEND Only with Immediate";
    case RoceOpcode::kRcWriteFirst:
      return "RC RDMA WRITE First";
    case RoceOpcode::kRcWriteMiddle:
      return "RC RDMA WRITE Middle";
    case RoceOpcode::kRcWriteLast:
      return "RC RDMA WRITE Last";
    case RoceOpcode::kRcWriteLastImmediate:
      return "RC RDMA WRITE Last with Immediate";
    case RoceOpcode::kRcWriteOnly:
      return "RC RDMA WRITE Only";
    case RoceOpcode::kRcWriteOnlyImmediate:
      return "RC RDMA WRITE Only with Immediate";
    case RoceOpcode::kRcReadRequest:
      return "RC RDMA READ Request";
    case RoceOpcode::kRcReadResponseFirst:
      return "RC RDMA READ Response First";
    case RoceOpcode::kRcReadResponseMiddle:
      return "RC RDMA READ Response Middle";
    case RoceOpcode::kRcReadResponseLast:
      return "RC RDMA READ Response Last";
    case RoceOpcode::kRcReadResponseOnly:
      return "RC RDMA READ Response Only";
    case RoceOpcode::kRcAcknowledge:
      return "RC Acknowledge";
    case RoceOpcode::kRcAtomicAcknowledge:
      return "RC Atomic Acknowledge";
    case RoceOpcode::kRcCompareSwap:
      return "RC Compare&Swap";
    case RoceOpcode::kRcFetchAdd:
      return "RC Fetch&Add";
    case RoceOpcode::kRcSendLastInvalidate:
      return "RC SEND Last with Invalidate";
    case RoceOpcode::kRcSendOnlyInvalidate:
      return "RC SEND Only with Invalidate";
    case RoceOpcode::kRcFlush:
      return "RC FLUSH";
    case RoceOpcode::kRcAtomicWrite:
      return "RC ATOMIC WRITE";
    case RoceOpcode::kUcSendFirst:
      return "UC SEND First";
    case RoceOpcode::kUcSendMiddle:
      return "UC SEND Middle";
    case RoceOpcode::kUcSendLast:
      return "UC SEND Last";
    case RoceOpcode::kUcSendLastImmediate:
      return "UC SEND Last with Immediate";
    case RoceOpcode::kUcSendOnly:
      return "UC SEND Only";
    case RoceOpcode::kUcSendOnlyImmediate:
      return "UC SEND Only with Immediate";
    case RoceOpcode::kUcWriteFirst:
      return "UC RDMA WRITE First";
    case RoceOpcode::kUcWriteMiddle:
      return "UC RDMA WRITE Middle";
    case RoceOpcode::kUcWriteLast:
      return "UC RDMA WRITE Last";
    case RoceOpcode::kUcWriteLastImmediate:
      return "UC RDMA WRITE Last with Immediate";
    case RoceOpcode::kUcWriteOnly:
      return "UC RDMA WRITE Only";
    case RoceOpcode::kUcWriteOnlyImmediate:
      return "UC RDMA WRITE Only with Immediate";
    case RoceOpcode::kUdSendOnly:
      return "UD SEND Only";
    case RoceOpcode::kUdSendOnlyImmediate:
      return "UD SEND Only with Immediate";
    case RoceOpcode::kCnp:
      return "CNP";
  }
  return "unknown";
}

}  // namespace wharf::wire
