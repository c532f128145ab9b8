// SPDX-License-Identifier: Apache-2.0
// Headers of the semantic sublayer (SES): requests in three forms with their extensions, and responses in
// three forms. Which form stands in a packet, the next header of its prologue says. [UE 1.0 3.4]
//
// Request  0 rsv2 opcode6 | 1 version2 DC IE REL HD EOM SOM | 2-3 message_id (standard) or rsv2
// request_length14 |
//          4 ri_generation | 5-7 job_id | 8-9 rsv4 pid_on_fep12 | 10-11 rsv4 resource_index12
//   standard  12-19 buffer_offset | 20-23 initiator | 24-31 memory_key | 32-39 header_data with SOM, else
//   rsv18
//             payload_length14 message_offset32 | 40-43 request_length
//   medium    12-19 header_data with HD, else buffer_offset | 20-23 initiator | 24-31 memory_key
//   small     12-19 buffer_offset
// Response 0 list2 opcode6 | 1 version2 return_code6 |
//   plain     2-3 message_id | 4 ri_generation | 5-7 job_id | 8-11 modified_length
//   data      2-3 response_message_id | 4 rsv | 5-7 job_id | 8-9 read_request_message_id | 10-11 rsv2
//             payload_length14 | 12-15 modified_length | 16-19 message_offset
//   small     2-3 rsv2 payload_length14 | 4 rsv | 5-7 job_id | 8-11 original_request_psn
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/uet_psn.h"
#include "wire/uet_ses_opcode.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetStandardBytes = 44;
inline constexpr std::uint32_t kUetMediumBytes = 32;
inline constexpr std::uint32_t kUetSmallBytes = 20;
inline constexpr std::uint32_t kUetRendezvousBytes = 24;
inline constexpr std::uint32_t kUetAtomicBytes = 4;
inline constexpr std::uint32_t kUetCompareSwapBytes = 36;  ///< The 4 of the atomic extension included.
inline constexpr std::uint32_t kUetResponseBytes = 12;
inline constexpr std::uint32_t kUetResponseDataBytes = 20;
inline constexpr std::uint32_t kUetResponseDataSmallBytes = 12;

/// What 14 bits of payload_length or of the request_length of small and medium requests can say.
inline constexpr std::uint32_t kUetPayloadBytesMax = 16'383;

// Flags of byte 1 of a request.
inline constexpr std::uint8_t kUetSom = 0x01;             ///< First packet of its message.
inline constexpr std::uint8_t kUetEom = 0x02;             ///< Last packet of its message.
inline constexpr std::uint8_t kUetHeaderData = 0x04;      ///< HD: header_data is valid.
inline constexpr std::uint8_t kUetRelative = 0x08;        ///< REL: pid_on_fep is relative to the job.
inline constexpr std::uint8_t kUetInitiatorError = 0x10;  ///< IE: the packet must not touch memory.
inline constexpr std::uint8_t kUetDeliverComplete =
    0x20;  ///< DC: respond when the data is globally observable.

/// A request of any form. Fields that a form does not have are 0 in a decoded packet and ignored by encode.
struct UetSesRequest {
  /// Deferrable sends: restart tokens of initiator (high half) and target (low half).
  std::uint64_t buffer_offset = 0;
  /// Key of a memory region, match bits of tagged operations, or the two tokens of a ready-to-restart (as
  /// above).
  std::uint64_t memory_key = 0;
  std::uint64_t header_data = 0;  ///< Standard with SOM, medium with HD.
  std::uint32_t job_id = 0;       ///< 24 bits.
  std::uint32_t initiator = 0;
  std::uint32_t request_length = 0;  ///< Bytes of the whole message. 14 bits in small and medium requests.
  std::uint32_t message_offset = 0;  ///< Standard without SOM: bytes of the message before this packet.
  std::uint16_t message_id = 0;      ///< Standard only. 0 for datagrams.
  std::uint16_t pid_on_fep = 0;      ///< 12 bits.
  std::uint16_t resource_index = 0;  ///< 12 bits.
  /// Standard without SOM. encode takes it from the payload of a whole packet.
  std::uint16_t payload_length = 0;
  std::uint8_t ri_generation = 0;
  UetOpcode opcode = UetOpcode::kNoOp;
  std::uint8_t flags = kUetSom | kUetEom;

  bool first() const { return (flags & kUetSom) != 0; }
  bool last() const { return (flags & kUetEom) != 0; }
  bool has_header_data() const { return (flags & kUetHeaderData) != 0; }
  bool relative() const { return (flags & kUetRelative) != 0; }
  bool initiator_error() const { return (flags & kUetInitiatorError) != 0; }
  bool deliver_complete() const { return (flags & kUetDeliverComplete) != 0; }
};
static_assert(sizeof(UetSesRequest) == 56);

/// Restart tokens as buffer_offset or memory_key hold them.
constexpr std::uint64_t uet_tokens(std::uint32_t initiator, std::uint32_t target) {
  return (std::uint64_t{initiator} << 32U) | target;
}

/// The first twelve bytes; `second` is message_id or request_length.
inline void encode_request_start(const UetSesRequest& request, std::uint32_t second, std::byte* at) {
  store_be64(at, (static_cast<std::uint64_t>(request.opcode) << 56U) |
                     (std::uint64_t{request.flags & 0x3fU} << 48U) | (std::uint64_t{second} << 32U) |
                     (std::uint64_t{request.ri_generation} << 24U) | (request.job_id & 0xff'ffffU));
  store_be32(at + 8, ((request.pid_on_fep & 0xfffU) << 16U) | (request.resource_index & 0xfffU));
}
/// The first twelve bytes but for 2-3. The version is the caller's to check: uet_ses_version().
inline UetSesRequest decode_request_start(const std::byte* at) {
  const std::uint64_t word = load_be64(at);
  const std::uint32_t target = load_be32(at + 8);
  UetSesRequest request;
  request.opcode = static_cast<UetOpcode>((word >> 56U) & 0x3fU);
  request.flags = static_cast<std::uint8_t>((word >> 48U) & 0x3fU);
  request.ri_generation = static_cast<std::uint8_t>(word >> 24U);
  request.job_id = static_cast<std::uint32_t>(word) & 0xff'ffffU;
  request.pid_on_fep = static_cast<std::uint16_t>((target >> 16U) & 0xfffU);
  request.resource_index = static_cast<std::uint16_t>(target & 0xfffU);
  return request;
}
/// The version of any SES header; 0 is the only one.
inline std::uint8_t uet_ses_version(const std::byte* at) {
  return static_cast<std::uint8_t>(load_u8(at + 1) >> 6U);
}

inline void encode_standard(const UetSesRequest& request, std::uint32_t payload_length, std::byte* at) {
  encode_request_start(request, request.message_id, at);
  store_be64(at + 12, request.buffer_offset);
  store_be32(at + 20, request.initiator);
  store_be64(at + 24, request.memory_key);
  store_be64(at + 32, request.first() ? request.header_data
                                      : (std::uint64_t{payload_length & kUetPayloadBytesMax} << 32U) |
                                            request.message_offset);
  store_be32(at + 40, request.request_length);
}
inline UetSesRequest decode_standard(const std::byte* at) {
  UetSesRequest request = decode_request_start(at);
  const std::uint64_t word = load_be64(at + 32);
  request.message_id = load_be16(at + 2);
  request.buffer_offset = load_be64(at + 12);
  request.initiator = load_be32(at + 20);
  request.memory_key = load_be64(at + 24);
  request.header_data = request.first() ? word : 0;
  request.payload_length =
      request.first() ? std::uint16_t{0} : static_cast<std::uint16_t>((word >> 32U) & kUetPayloadBytesMax);
  request.message_offset = request.first() ? 0U : static_cast<std::uint32_t>(word);
  request.request_length = load_be32(at + 40);
  return request;
}

inline void encode_medium(const UetSesRequest& request, std::byte* at) {
  encode_request_start(request, request.request_length & kUetPayloadBytesMax, at);
  store_be64(at + 12, request.has_header_data() ? request.header_data : request.buffer_offset);
  store_be32(at + 20, request.initiator);
  store_be64(at + 24, request.memory_key);
}
inline UetSesRequest decode_medium(const std::byte* at) {
  UetSesRequest request = decode_request_start(at);
  const std::uint64_t word = load_be64(at + 12);
  request.request_length = load_be16(at + 2) & kUetPayloadBytesMax;
  request.header_data = request.has_header_data() ? word : 0;
  request.buffer_offset = request.has_header_data() ? 0 : word;
  request.initiator = load_be32(at + 20);
  request.memory_key = load_be64(at + 24);
  return request;
}

inline void encode_small(const UetSesRequest& request, std::byte* at) {
  encode_request_start(request, request.request_length & kUetPayloadBytesMax, at);
  store_be64(at + 12, request.buffer_offset);
}
inline UetSesRequest decode_small(const std::byte* at) {
  UetSesRequest request = decode_request_start(at);
  request.request_length = load_be16(at + 2) & kUetPayloadBytesMax;
  request.buffer_offset = load_be64(at + 12);
  return request;
}

/// Rendezvous extension, 24 bytes: eager_length 4 | ri_generation 1, pid_on_fep 12 bit, resource_index 12 bit
/// | read_offset 8 | memory key or match bits 8. It says where at the initiator the target reads the
/// remainder. Choice: the word as the reference provider has it (8, 12, 12 bits).
struct UetRendezvous {
  std::uint64_t read_offset = 0;
  std::uint64_t memory_key = 0;
  std::uint32_t eager_length = 0;    ///< Bytes sent with the message.
  std::uint16_t pid_on_fep = 0;      ///< 12 bits.
  std::uint16_t resource_index = 0;  ///< 12 bits.
  std::uint8_t ri_generation = 0;
};

inline void encode(const UetRendezvous& rendezvous, std::byte* at) {
  store_be32(at, rendezvous.eager_length);
  store_be32(at + 4, (std::uint32_t{rendezvous.ri_generation} << 24U) |
                         ((rendezvous.pid_on_fep & 0xfffU) << 12U) | (rendezvous.resource_index & 0xfffU));
  store_be64(at + 8, rendezvous.read_offset);
  store_be64(at + 16, rendezvous.memory_key);
}
inline UetRendezvous decode_uet_rendezvous(const std::byte* at) {
  const std::uint32_t word = load_be32(at + 4);
  UetRendezvous rendezvous;
  rendezvous.eager_length = load_be32(at);
  rendezvous.ri_generation = static_cast<std::uint8_t>(word >> 24U);
  rendezvous.pid_on_fep = static_cast<std::uint16_t>((word >> 12U) & 0xfffU);
  rendezvous.resource_index = static_cast<std::uint16_t>(word & 0xfffU);
  rendezvous.read_offset = load_be64(at + 8);
  rendezvous.memory_key = load_be64(at + 16);
  return rendezvous;
}

// semantic_control of atomics. Choice: bit 0 is the least significant one; one source counts from the other
// end.
inline constexpr std::uint8_t kUetAtomicCacheable = 0x01;
inline constexpr std::uint8_t kUetAtomicCoherent = 0x02;

/// Atomic extension, 4 bytes: opcode, datatype, semantic_control, reserved. Compare-and-swap and masked swap
/// have 36: compare value 16 and swap value 16 follow.
struct UetAtomic {
  UetAtomicOpcode opcode = UetAtomicOpcode::kSum;
  UetDatatype datatype = UetDatatype::kUint64;
  std::uint8_t semantic_control = 0;  ///< kUetAtomic... above.
  /// Compare and swap values, uet_has_compare_swap(opcode) only. Choice: an operand is the first bytes, in
  /// the order of the host's memory; the rest is 0.
  std::array<std::uint8_t, 16> compare{};
  std::array<std::uint8_t, 16> swap{};
};

/// Bytes of the atomic extension for this opcode.
constexpr std::uint32_t uet_atomic_bytes(UetAtomicOpcode opcode) {
  return uet_has_compare_swap(opcode) ? kUetCompareSwapBytes : kUetAtomicBytes;
}
/// The four bytes that every atomic has.
inline void encode_atomic_start(const UetAtomic& atomic, std::byte* at) {
  store_be32(at, (static_cast<std::uint32_t>(atomic.opcode) << 24U) |
                     (static_cast<std::uint32_t>(atomic.datatype) << 16U) |
                     (std::uint32_t{atomic.semantic_control} << 8U));
}
/// The 32 bytes that follow them in a compare-and-swap.
inline void encode_compare_swap(const UetAtomic& atomic, std::byte* at) {
  std::memcpy(at + 4, atomic.compare.data(), 16);
  std::memcpy(at + 20, atomic.swap.data(), 16);
}
inline UetAtomic decode_atomic_start(const std::byte* at) {
  UetAtomic atomic;
  atomic.opcode = static_cast<UetAtomicOpcode>(load_u8(at));
  atomic.datatype = static_cast<UetDatatype>(load_u8(at + 1));
  atomic.semantic_control = load_u8(at + 2);
  return atomic;
}
inline void decode_compare_swap(const std::byte* at, UetAtomic& atomic) {
  std::memcpy(atomic.compare.data(), at + 4, 16);
  std::memcpy(atomic.swap.data(), at + 20, 16);
}

/// A response of any form. Fields that a form does not have are 0 in a decoded packet and ignored by encode.
struct UetSesResponse {
  std::uint32_t job_id = 0;           ///< 24 bits.
  std::uint32_t modified_length = 0;  ///< Bytes placed or read. Not in the small form.
  std::uint32_t message_offset = 0;   ///< Data form: bytes of the response message before this packet.
  UetPsn original_request_psn = 0;    ///< Small form: names the request.
  std::uint16_t message_id = 0;       ///< The request's; in the data form the responder's own.
  std::uint16_t read_request_message_id = 0;  ///< Data form: names the request.
  /// Data and small forms. encode takes it from the payload of a whole packet.
  std::uint16_t payload_length = 0;
  std::uint8_t ri_generation = 0;  ///< Plain form.
  UetListCode list = UetListCode::kExpected;
  UetResponseOpcode opcode = UetResponseOpcode::kDefault;
  UetReturnCode return_code = UetReturnCode::kOk;
};
static_assert(sizeof(UetSesResponse) == 28);

/// Bytes 0-3; `second` is 2-3.
inline void encode_response_start(const UetSesResponse& response, std::uint32_t second, std::byte* at) {
  store_be32(at, (static_cast<std::uint32_t>(response.list) << 30U) |
                     ((static_cast<std::uint32_t>(response.opcode) & 0x3fU) << 24U) |
                     ((static_cast<std::uint32_t>(response.return_code) & 0x3fU) << 16U) | second);
}
inline UetSesResponse decode_response_start(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  UetSesResponse response;
  response.list = static_cast<UetListCode>(word >> 30U);
  response.opcode = static_cast<UetResponseOpcode>((word >> 24U) & 0x3fU);
  response.return_code = static_cast<UetReturnCode>((word >> 16U) & 0x3fU);
  response.job_id = load_be32(at + 4) & 0xff'ffffU;
  return response;
}

inline void encode_response(const UetSesResponse& response, std::byte* at) {
  encode_response_start(response, response.message_id, at);
  store_be32(at + 4, (std::uint32_t{response.ri_generation} << 24U) | (response.job_id & 0xff'ffffU));
  store_be32(at + 8, response.modified_length);
}
inline UetSesResponse decode_response(const std::byte* at) {
  UetSesResponse response = decode_response_start(at);
  response.message_id = load_be16(at + 2);
  response.ri_generation = load_u8(at + 4);
  response.modified_length = load_be32(at + 8);
  return response;
}

/// Choice: payload_length has 14 bits; one source gives it 12.
inline void encode_response_data(const UetSesResponse& response, std::uint32_t payload_length,
                                 std::byte* at) {
  encode_response_start(response, response.message_id, at);
  store_be32(at + 4, response.job_id & 0xff'ffffU);
  store_be32(at + 8, (std::uint32_t{response.read_request_message_id} << 16U) |
                         (payload_length & kUetPayloadBytesMax));
  store_be32(at + 12, response.modified_length);
  store_be32(at + 16, response.message_offset);
}
inline UetSesResponse decode_response_data(const std::byte* at) {
  UetSesResponse response = decode_response_start(at);
  response.message_id = load_be16(at + 2);
  response.read_request_message_id = load_be16(at + 8);
  response.payload_length = static_cast<std::uint16_t>(load_be16(at + 10) & kUetPayloadBytesMax);
  response.modified_length = load_be32(at + 12);
  response.message_offset = load_be32(at + 16);
  return response;
}

inline void encode_response_data_small(const UetSesResponse& response, std::uint32_t payload_length,
                                       std::byte* at) {
  encode_response_start(response, payload_length & kUetPayloadBytesMax, at);
  store_be32(at + 4, response.job_id & 0xff'ffffU);
  store_be32(at + 8, response.original_request_psn);
}
inline UetSesResponse decode_response_data_small(const std::byte* at) {
  UetSesResponse response = decode_response_start(at);
  response.payload_length = static_cast<std::uint16_t>(load_be16(at + 2) & kUetPayloadBytesMax);
  response.original_request_psn = load_be32(at + 8);
  return response;
}

}  // namespace wharf::wire
