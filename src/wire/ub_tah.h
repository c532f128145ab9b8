// SPDX-License-Identifier: Apache-2.0
// UB base transaction headers: BTAH (requests) and ATAH (responses), in the 8-byte form of profile P1, the
// 16-byte form of OpenURMA (P2) and the 4-byte compact form (P3). [UB-Base 2.0.1 7.2; OpenURMA 5.2; ns-3-UB;
// kernel message headers]
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/ub_opcode.h"

namespace wharf::wire {

inline constexpr std::uint32_t kTahBytes = 8;
inline constexpr std::uint32_t kTahOpenUrmaBytes = 16;
inline constexpr std::uint32_t kTahCompactBytes = 4;

/// P1: 0 TAOpcode | 1 TAVer2 EE2 TV_EN1 Poison1 TgtHint1 UD_FLG1 | 2-3 INI_TASSN
///     4 No_TAACK1 ODR3 MT_EN1 FCE1 Retry1 Alloc1 | 5 rsv1 E1 INI_RC_Type2 INI_RC_ID[19:16] | 6-7
///     INI_RC_ID[15:0]
/// P2: 5 E1 INI_RC_Type2 rsv3 svc_mode2 | 6-7 zero | 8-10 rsv4 INI_RC_ID20 | 11-15 zero
/// P3 has bytes 0..3 alone.
struct Btah {
  std::uint32_t requester_id = 0;  ///< INI_RC_ID, 20 bits.
  std::uint16_t tassn = 0;
  TaOpcode opcode = TaOpcode::kSend;
  std::uint8_t version = 0;
  std::uint8_t environment = 0;  ///< EE, 2 bits.
  std::uint8_t order = 0;        ///< ODR, 3 bits.
  RequesterContextType requester_type = RequesterContextType::kRequester;
  std::uint8_t service_mode = 0;     ///< P2 only, 2 bits.
  bool token_value_present = false;  ///< TV_EN.
  bool poison = false;
  bool target_hint = false;
  bool user_defined = false;    ///< UD_FLG; dropped by decode.
  bool no_acknowledge = false;  ///< No_TAACK; CTP only.
  bool target_present = false;  ///< MT_EN.
  bool solicited = false;       ///< FCE: force a completion event at the target.
  bool retry = false;
  bool allocate = false;
  bool exclusive = false;  ///< E.
};

/// 0 TAOpcode | 1 TAVer2 rsv2 SV1 Poison1 rsv2 | 2-3 INI_TASSN | 4 RSPST3 RSPINFO5 | then the requester as in
/// BTAH. P3: 0 TAOpcode | 1 TAVer2 Status2 rsv1 Poison1 rsv2 | 2-3 INI_TASSN.
struct Atah {
  std::uint32_t requester_id = 0;  ///< INI_RC_ID, copied from the request.
  std::uint16_t tassn = 0;
  TaOpcode opcode = TaOpcode::kTaack;
  std::uint8_t version = 0;
  UbResponseStatus status = UbResponseStatus::kSuccess;  ///< The compact form has two bits.
  std::uint8_t info = 0;                                 ///< RSPINFO, 5 bits; not in the compact form.
  RequesterContextType requester_type = RequesterContextType::kRequester;
  std::uint8_t service_mode = 0;  ///< P2 only.
  bool sequence_valid = false;    ///< SV. Choice: sent as 0; no document gives its rule.
  bool poison = false;
};

namespace tah_detail {

inline std::uint32_t btah_first_word(const Btah& btah) {
  return (static_cast<std::uint32_t>(btah.opcode) << 24U) | ((btah.version & 3U) << 22U) |
         ((btah.environment & 3U) << 20U) | (btah.token_value_present ? 1U << 19U : 0U) |
         (btah.poison ? 1U << 18U : 0U) | (btah.target_hint ? 1U << 17U : 0U) |
         (btah.user_defined ? 1U << 16U : 0U) | btah.tassn;
}
inline Btah btah_from_first_word(std::uint32_t word) {
  Btah btah;
  btah.opcode = static_cast<TaOpcode>(word >> 24U);
  btah.version = static_cast<std::uint8_t>((word >> 22U) & 3U);
  btah.environment = static_cast<std::uint8_t>((word >> 20U) & 3U);
  btah.token_value_present = (word & (1U << 19U)) != 0;
  btah.poison = (word & (1U << 18U)) != 0;
  btah.target_hint = (word & (1U << 17U)) != 0;
  btah.user_defined = (word & (1U << 16U)) != 0;
  btah.tassn = static_cast<std::uint16_t>(word);
  return btah;
}
inline std::uint32_t btah_flags(const Btah& btah) {
  return (btah.no_acknowledge ? 0x80U : 0U) | ((btah.order & 7U) << 4U) | (btah.target_present ? 8U : 0U) |
         (btah.solicited ? 4U : 0U) | (btah.retry ? 2U : 0U) | (btah.allocate ? 1U : 0U);
}
inline void set_btah_flags(Btah& btah, std::uint32_t flags) {
  btah.no_acknowledge = (flags & 0x80U) != 0;
  btah.order = static_cast<std::uint8_t>((flags >> 4U) & 7U);
  btah.target_present = (flags & 8U) != 0;
  btah.solicited = (flags & 4U) != 0;
  btah.retry = (flags & 2U) != 0;
  btah.allocate = (flags & 1U) != 0;
}
inline std::uint32_t atah_first_word(const Atah& atah) {
  return (static_cast<std::uint32_t>(atah.opcode) << 24U) | ((atah.version & 3U) << 22U) |
         (atah.sequence_valid ? 1U << 19U : 0U) | (atah.poison ? 1U << 18U : 0U) | atah.tassn;
}
inline Atah atah_from_first_word(std::uint32_t word) {
  Atah atah;
  atah.opcode = static_cast<TaOpcode>(word >> 24U);
  atah.version = static_cast<std::uint8_t>((word >> 22U) & 3U);
  atah.sequence_valid = (word & (1U << 19U)) != 0;
  atah.poison = (word & (1U << 18U)) != 0;
  atah.tassn = static_cast<std::uint16_t>(word);
  return atah;
}

}  // namespace tah_detail

inline void encode(const Btah& btah, std::byte* at) {
  const std::uint32_t word = (tah_detail::btah_flags(btah) << 24U) | (btah.exclusive ? 1U << 22U : 0U) |
                             ((static_cast<std::uint32_t>(btah.requester_type) & 3U) << 20U) |
                             (btah.requester_id & 0xf'ffffU);
  store_be64(at, (std::uint64_t{tah_detail::btah_first_word(btah)} << 32U) | word);
}
inline Btah decode_btah(const std::byte* at) {
  const std::uint64_t both = load_be64(at);
  Btah btah = tah_detail::btah_from_first_word(static_cast<std::uint32_t>(both >> 32U));
  const auto word = static_cast<std::uint32_t>(both);
  tah_detail::set_btah_flags(btah, word >> 24U);
  btah.exclusive = (word & (1U << 22U)) != 0;
  btah.requester_type = static_cast<RequesterContextType>((word >> 20U) & 3U);
  btah.requester_id = word & 0xf'ffffU;
  return btah;
}

/// Profile P2. No_TAACK does not exist there and is written as 0.
inline void encode_openurma(const Btah& btah, std::byte* at) {
  store_be32(at, tah_detail::btah_first_word(btah));
  store_be32(at + 4, ((tah_detail::btah_flags(btah) & 0x7fU) << 24U) | (btah.exclusive ? 1U << 23U : 0U) |
                         ((static_cast<std::uint32_t>(btah.requester_type) & 3U) << 21U) |
                         ((btah.service_mode & 3U) << 16U));
  store_be64(at + 8, std::uint64_t{btah.requester_id & 0xf'ffffU} << 40U);
}
inline Btah decode_openurma_btah(const std::byte* at) {
  Btah btah = tah_detail::btah_from_first_word(load_be32(at));
  const std::uint32_t word = load_be32(at + 4);
  tah_detail::set_btah_flags(btah, (word >> 24U) & 0x7fU);
  btah.exclusive = (word & (1U << 23U)) != 0;
  btah.requester_type = static_cast<RequesterContextType>((word >> 21U) & 3U);
  btah.service_mode = static_cast<std::uint8_t>((word >> 16U) & 3U);
  btah.requester_id = load_be24(at + 8) & 0xf'ffffU;
  return btah;
}

inline void encode_compact(const Btah& btah, std::byte* at) {
  store_be32(at, tah_detail::btah_first_word(btah));
}
inline Btah decode_compact_btah(const std::byte* at) {
  return tah_detail::btah_from_first_word(load_be32(at));
}

inline void encode(const Atah& atah, std::byte* at) {
  store_be32(at, tah_detail::atah_first_word(atah));
  store_be32(at + 4, ((static_cast<std::uint32_t>(atah.status) & 7U) << 29U) | ((atah.info & 31U) << 24U) |
                         ((static_cast<std::uint32_t>(atah.requester_type) & 3U) << 20U) |
                         (atah.requester_id & 0xf'ffffU));
}
inline Atah decode_atah(const std::byte* at) {
  Atah atah = tah_detail::atah_from_first_word(load_be32(at));
  const std::uint32_t word = load_be32(at + 4);
  atah.status = static_cast<UbResponseStatus>(word >> 29U);
  atah.info = static_cast<std::uint8_t>((word >> 24U) & 31U);
  atah.requester_type = static_cast<RequesterContextType>((word >> 20U) & 3U);
  atah.requester_id = word & 0xf'ffffU;
  return atah;
}

inline void encode_openurma(const Atah& atah, std::byte* at) {
  store_be32(at, tah_detail::atah_first_word(atah));
  store_be32(at + 4, ((static_cast<std::uint32_t>(atah.status) & 7U) << 29U) | ((atah.info & 31U) << 24U) |
                         ((static_cast<std::uint32_t>(atah.requester_type) & 3U) << 21U) |
                         ((atah.service_mode & 3U) << 16U));
  store_be64(at + 8, std::uint64_t{atah.requester_id & 0xf'ffffU} << 40U);
}
inline Atah decode_openurma_atah(const std::byte* at) {
  Atah atah = tah_detail::atah_from_first_word(load_be32(at));
  const std::uint32_t word = load_be32(at + 4);
  atah.status = static_cast<UbResponseStatus>(word >> 29U);
  atah.info = static_cast<std::uint8_t>((word >> 24U) & 31U);
  atah.requester_type = static_cast<RequesterContextType>((word >> 21U) & 3U);
  atah.service_mode = static_cast<std::uint8_t>((word >> 16U) & 3U);
  atah.requester_id = load_be24(at + 8) & 0xf'ffffU;
  return atah;
}

inline void encode_compact(const Atah& atah, std::byte* at) {
  store_be32(at, (static_cast<std::uint32_t>(atah.opcode) << 24U) | ((atah.version & 3U) << 22U) |
                     ((static_cast<std::uint32_t>(atah.status) & 3U) << 20U) |
                     (atah.poison ? 1U << 18U : 0U) | atah.tassn);
}
inline Atah decode_compact_atah(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  Atah atah = tah_detail::atah_from_first_word(word & ~(1U << 19U));
  atah.status = static_cast<UbResponseStatus>((word >> 20U) & 3U);
  return atah;
}

}  // namespace wharf::wire
