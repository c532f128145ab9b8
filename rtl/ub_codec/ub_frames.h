// SPDX-License-Identifier: Apache-2.0
// Packets for the co-simulation of the codec, and how its ports show them. Apart from the harness, which
// holds the comparison.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/packed.h"
#include "wire/ub_codec.h"

namespace wharf::rtl {

constexpr std::uint32_t kWindow = 80;       ///< Bytes of a packet that the element sees.
constexpr std::uint32_t kHeaderBits = 963;  ///< Of wharf_pkg::ub_headers_t.

/// A packet from the transport header on, and what the class says of it.
struct UbFrame {
  std::vector<std::byte> bytes;
  wire::UbPacket ub;
  wire::Payload payload;
  wire::DropReason reason = wire::DropReason::kNone;

  void decode() {
    ub = wire::UbPacket{};
    payload = {};
    wire::UbDecoded decoded;
    reason = wire::decode_ub(bytes, ub, payload, decoded);
  }
  bool is_valid() const { return reason == wire::DropReason::kNone; }
  std::uint32_t pad() const {
    return bytes.size() < 2 ? 0 : (std::to_integer<std::uint32_t>(bytes[1]) >> 4U) & 3U;
  }
  bool has_zero_pad() const {
    const std::size_t count = std::min<std::size_t>(pad(), bytes.size());
    return std::all_of(bytes.end() - static_cast<std::ptrdiff_t>(count), bytes.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
  }
  /// Headers that the element leaves to others: entities, bitmaps of more than 256 bits.
  bool has_more_headers() const {
    return (std::to_integer<std::uint32_t>(bytes[1]) & 15U) == 1 || wire::payload_is_sack_bitmap(ub);
  }
};

/// Packets of all kinds, most of them valid.
class UbFrames {
 public:
  explicit UbFrames(RandomStream random) : random_(random) {}

  UbFrame next() {
    UbFrame frame = valid();
    switch (random_.below(8)) {
      case 0:  // Any length.
        frame.bytes.resize(random_.below(2) == 0 ? random_.below(100)
                                                 : random_.below(frame.bytes.size() + 8));
        break;
      case 1:
      case 2:
        if (const std::size_t at = random_.below(std::min<std::size_t>(kWindow, frame.bytes.size())); true)
          frame.bytes[at] ^= std::byte{1} << static_cast<int>(random_.below(8));
        break;
      default:
        break;
    }
    if (frame.bytes.size() < 2) frame.bytes.resize(2);
    frame.decode();
    return frame;
  }

  /// One that the class takes and the element reads.
  UbFrame valid() {
    UbFrame frame;
    do frame = attempt();
    while (!frame.is_valid() || frame.has_more_headers());
    return frame;
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }

  UbFrame attempt() {
    constexpr std::array<std::uint8_t, 8> kTransports{0, 1, 1, 2, 3, 5, 6, 8};
    UbFrame frame;
    std::vector<std::byte>& bytes = frame.bytes;
    bytes.resize(400);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.below(256));
    const std::uint32_t transport = kTransports[below(kTransports.size())];
    bytes[0] = static_cast<std::byte>((random_.below(2) << 7U) | transport);
    bytes[1] = std::byte{0};
    std::uint32_t tah = 16;
    if (transport == 3 || transport == 6) tah += 8;
    if (transport == 5 || transport == 6) {
      bytes[tah] = static_cast<std::byte>(below(4));
      tah += 4 + wire::sack_bitmap_bytes(std::to_integer<std::uint8_t>(bytes[tah]));
    }
    const bool is_ack = transport >= 2 && transport <= 6;
    const bool answers = is_ack || random_.below(4) == 0;
    const std::uint32_t opcode = answers                  ? 0x11 + below(3)
                                 : random_.below(16) == 0 ? below(256)
                                                          : below(0x1a);
    bytes[tah] = static_cast<std::byte>(opcode);
    bytes[tah + 1] &= std::byte{0x3e};
    if ((bytes[tah + 5] & std::byte{0x30}) == std::byte{0x30}) bytes[tah + 5] &= std::byte{0xcf};
    const std::uint16_t layout = wire::ta_layout(static_cast<wire::TaOpcode>(opcode));
    const bool has_mask = (layout & wire::kTaByteEnable) != 0;
    std::uint32_t data = random_.below(3) == 0 ? 0 : below(200);
    if ((layout & wire::kTaOperand) != 0) store_be32(&bytes[36], 4U << below(3));
    if (has_mask) {
      store_be32(&bytes[36], data);
      data += wire::byte_enable_bytes(data);
    }
    // A first look says how long the headers are.
    frame.decode();
    const std::uint32_t headers = is_ack && random_.below(2) == 0 ? tah : wire::ub_header_bytes(frame.ub);
    const bool has_data = !is_ack && transport != 8 && (layout == 0 || (layout & wire::kTaPayload) != 0);
    if (!has_data) data = 0;
    const std::uint32_t pad = (0U - data) & 3U;
    bytes[1] = static_cast<std::byte>(pad << 4U);
    bytes.resize(headers + data + pad);
    for (std::uint32_t i = 0; i < pad; ++i) bytes[headers + data + i] = std::byte{0};
    frame.decode();
    return frame;
  }

  RandomStream random_;
};

/// The numbers of the transport header: an unreliable one has none.
inline wire::Rtph numbers_of(const wire::UbPacket& ub) {
  return ub.transport == wire::UbTransport::kRtp ? ub.rtph : wire::Rtph{};
}

/// A packet as wharf_pkg::ub_headers_t, in its order of members, with the numbers of `rtph`.
inline Packed<kHeaderBits> packed_headers(const wire::UbPacket& ub, const wire::Rtph& rtph) {
  using wire::UbTransaction;
  Packed<kHeaderBits> out;
  out.put(ub.rtph.last, 1);
  out.put(static_cast<std::uint64_t>(ub.rtph.opcode), 7);
  out.put(rtph.source_tpn, 24);
  out.put(rtph.destination_tpn, 24);
  out.put(rtph.acknowledge_request, 1);
  out.put(rtph.flag, 1);
  out.put(rtph.psn, 24);
  out.put(static_cast<std::uint64_t>(rtph.status), 3);
  out.put(rtph.info, 5);
  out.put(rtph.tpmsn, 24);

  const wire::Cetph cetph = wire::has_cetph(ub) ? ub.ack.cetph : wire::Cetph{};
  out.put(cetph.acknowledged_bytes, 32);
  out.put(cetph.location, 1);
  out.put(cetph.increase, 1);
  out.put(cetph.congested_packets, 8);
  out.put(cetph.hint, 16);
  const bool has_sack = wire::has_saetph(ub);
  out.put(has_sack ? ub.ack.saetph.max_received : 0, 24);
  out.put(has_sack ? ub.ack.saetph.size_code : 0, 3);
  std::array<std::byte, 32> bitmap{};
  if (has_sack) std::memcpy(bitmap.data(), ub.ack.sack_bitmap.data(), bitmap.size());
  out.put(bitmap.data(), has_sack ? wire::sack_bitmap_bytes(ub.ack.saetph.size_code) : 0, 32);
  const wire::Cnpetph notice = wire::has_cnpetph(ub) ? ub.ack.cnp : wire::Cnpetph{};
  out.put(notice.ecn, 2);
  out.put(notice.location, 1);

  const bool asks = ub.transaction == UbTransaction::kRequest;
  const bool answers = ub.transaction == UbTransaction::kResponse;
  const wire::Btah btah = asks ? ub.request : wire::Btah{};
  const wire::Atah atah = answers ? ub.response : wire::Atah{};
  out.put(asks ? 1 : answers ? 2 : 0, 2);
  out.put(asks      ? static_cast<std::uint64_t>(btah.opcode)
          : answers ? static_cast<std::uint64_t>(atah.opcode)
                    : 0,
          8);
  out.put(btah.environment, 2);
  out.put(btah.token_value_present, 1);
  out.put(asks ? btah.poison : atah.poison, 1);
  out.put(btah.target_hint, 1);
  out.put(asks ? btah.tassn : atah.tassn, 16);
  out.put(btah.no_acknowledge, 1);
  out.put(btah.order, 3);
  out.put(btah.target_present, 1);
  out.put(btah.solicited, 1);
  out.put(btah.retry, 1);
  out.put(btah.allocate, 1);
  out.put(btah.exclusive, 1);
  out.put(asks      ? static_cast<std::uint64_t>(btah.requester_type)
          : answers ? static_cast<std::uint64_t>(atah.requester_type)
                    : 0,
          2);
  out.put(asks ? btah.requester_id : atah.requester_id, 20);
  out.put(atah.sequence_valid, 1);
  out.put(static_cast<std::uint64_t>(atah.status), 3);
  out.put(atah.info, 5);

  const std::uint32_t layout = asks ? wire::ta_layout(btah.opcode) : 0;
  const bool has_address = (layout & wire::kTaAddress) != 0;
  const wire::Maetah maetah = has_address ? ub.extension.maetah : wire::Maetah{};
  out.put(maetah.address, 64);
  out.put(maetah.token_id, 20);
  out.put(maetah.length, 32);
  out.put(layout != 0 && btah.token_value_present ? ub.extension.token_value : 0, 32);
  const bool has_target = layout != 0 && ((layout & wire::kTaTarget) != 0 || btah.target_present);
  const wire::Mtetah target = has_target ? ub.extension.mtetah : wire::Mtetah{};
  out.put(target.hint, 8);
  out.put(has_target ? static_cast<std::uint64_t>(target.target_type) : 0, 2);
  out.put(target.target_id, 20);
  std::array<std::byte, 32> block{};
  if ((layout & wire::kTaImmediate) != 0) store_be64(block.data(), ub.extension.immediate);
  if ((layout & wire::kTaNotify) != 0) encode(ub.extension.notify, block.data());
  if ((layout & wire::kTaInvalidate) != 0) encode(ub.extension.invalidate, block.data());
  if ((layout & wire::kTaMessage) != 0) encode(ub.extension.message, block.data());
  if ((layout & wire::kTaOperand) != 0) {
    const wire::AtomicOperands& operands = ub.extension.operands;
    wire::encode_operand(operands.operand, operands.operand_high, maetah.length, block.data());
    if ((layout & wire::kTaCompare) != 0)
      wire::encode_operand(operands.compare, operands.compare_high, maetah.length,
                           block.data() + maetah.length);
  }
  out.put(block.data(), 32, 32);
  return out;
}

}  // namespace wharf::rtl
