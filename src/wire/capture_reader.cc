// SPDX-License-Identifier: Apache-2.0
#include "wire/capture_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "wire/compressed_file.h"

namespace wharf::wire {
namespace {

constexpr std::uint32_t kPcapMicroseconds = 0xa1b2'c3d4;
constexpr std::uint32_t kPcapNanoseconds = 0xa1b2'3c4d;
constexpr std::size_t kPcapHeaderBytes = 24;
constexpr std::size_t kPcapRecordBytes = 16;
/// The most that one frame may hold: what Wireshark accepts.
constexpr std::uint32_t kFrameBytesMax = 256 * 1024;

constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d'0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kSimplePacketBlock = 3;
constexpr std::uint32_t kEnhancedPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b'3c4d;
constexpr std::size_t kBlockBytesMin = 12;

constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;

/// Ticks per second of an if_tsresol byte: a power of ten, or of two when bit 7 is set. 0 when it is out of
/// range.
std::uint64_t ticks_per_second(std::uint8_t resolution) {
  const unsigned exponent = resolution & 0x7fU;
  if ((resolution & 0x80U) != 0) return exponent < 40 ? std::uint64_t{1} << exponent : 0;
  if (exponent > 12) return 0;
  std::uint64_t ticks = 1;
  for (unsigned i = 0; i < exponent; ++i) ticks *= 10;
  return ticks;
}

}  // namespace

std::uint16_t CaptureReader::load16(const std::byte* at) const {
  return big_endian_ ? load_be16(at) : static_cast<std::uint16_t>(load_u8(at) | (load_u8(at + 1) << 8U));
}
std::uint32_t CaptureReader::load32(const std::byte* at) const {
  return big_endian_ ? load_be32(at) : load_le32(at);
}

Error CaptureReader::bad(std::size_t offset, std::string_view what) const {
  return input_error(fmt::format("{}: at byte {}: {}", name_, offset, what));
}

Result<CaptureReader> CaptureReader::open(const std::filesystem::path& path) {
  Result<std::vector<std::byte>> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return from_bytes(std::move(bytes).value(), path.string());
}

Result<CaptureReader> CaptureReader::from_bytes(std::vector<std::byte> bytes, std::string name) {
  CaptureReader reader(std::move(bytes), std::move(name));
  WHARF_TRY(reader.read_file_header());
  return reader;
}

Result<void> CaptureReader::read_file_header() {
  if (bytes_.size() < 4)
    return bad(0, fmt::format("found {} bytes, expected a pcap or pcapng capture", bytes_.size()));
  const std::byte* const at = bytes_.data();
  const std::uint32_t magic = load_le32(at);
  if (magic == kSectionHeaderBlock) {
    is_pcapng_ = true;
    return {};
  }
  big_endian_ = load_be32(at) == kPcapMicroseconds || load_be32(at) == kPcapNanoseconds;
  const std::uint32_t value = load32(at);
  if (value != kPcapMicroseconds && value != kPcapNanoseconds)
    return bad(0,
               fmt::format("found magic number {:#010x}, expected that of a pcap or pcapng capture", magic));
  if (bytes_.size() < kPcapHeaderBytes)
    return bad(bytes_.size(),
               fmt::format("the file ends, expected a pcap header of {} bytes", kPcapHeaderBytes));
  Interface interface;
  // The upper bits of the link type word say whether frames carry an FCS.
  interface.link_type = static_cast<std::uint16_t>(load32(at + 20));
  interface.ticks_per_second = value == kPcapMicroseconds ? 1'000'000 : 1'000'000'000;
  interfaces_.push_back(std::move(interface));
  at_ = kPcapHeaderBytes;
  return {};
}

Result<bool> CaptureReader::next(CapturedFrame& frame) {
  frame = CapturedFrame{};
  return is_pcapng_ ? next_pcapng(frame) : next_pcap(frame);
}

void CaptureReader::set_time(const Interface& interface, std::uint64_t ticks, CapturedFrame& frame) const {
  const std::uint64_t per_second = interface.ticks_per_second;
  // Unsigned, so that an absurd offset wraps instead of overflowing.
  frame.seconds =
      static_cast<std::int64_t>(ticks / per_second + static_cast<std::uint64_t>(interface.offset_seconds));
  const std::uint64_t rest = ticks % per_second;
  const bool exact = kPicosecondsPerSecond % per_second == 0;
  frame.picoseconds = exact ? rest * (kPicosecondsPerSecond / per_second)
                            : static_cast<std::uint64_t>(static_cast<unsigned __int128>(rest) *
                                                         kPicosecondsPerSecond / per_second);
}

Result<bool> CaptureReader::next_pcap(CapturedFrame& frame) {
  const std::size_t left = bytes_.size() - at_;
  if (left == 0) return false;
  if (left < kPcapRecordBytes)
    return bad(at_, fmt::format("found {} bytes, expected a frame header of {}", left, kPcapRecordBytes));
  const std::byte* const record = bytes_.data() + at_;
  const std::uint32_t length = load32(record + 8);
  if (length > kFrameBytesMax)
    return bad(at_ + 8,
               fmt::format("found a frame of {} bytes, expected at most {}", length, kFrameBytesMax));
  if (length > left - kPcapRecordBytes)
    return bad(at_, fmt::format("frame {} has {} bytes, but only {} are left in the file", frames_ + 1,
                                length, left - kPcapRecordBytes));
  const std::uint64_t per_second = interfaces_[0].ticks_per_second;
  set_time(interfaces_[0], std::uint64_t{load32(record)} * per_second + load32(record + 4), frame);
  frame.bytes = {record + kPcapRecordBytes, length};
  frame.original_bytes = load32(record + 12);
  frame.link_type = interfaces_[0].link_type;
  frame.number = ++frames_;
  at_ += kPcapRecordBytes + length;
  return true;
}

Result<void> CaptureReader::read_section_header(std::size_t at) {
  if (bytes_.size() - at < 28)
    return bad(at, fmt::format("found {} bytes, expected a pcapng section header of 28", bytes_.size() - at));
  const std::byte* const magic = bytes_.data() + at + 8;
  big_endian_ = load_be32(magic) == kByteOrderMagic;
  if (load32(magic) != kByteOrderMagic)
    return bad(at + 8, fmt::format("found byte-order magic {:#010x}, expected {:#010x}", load_le32(magic),
                                   kByteOrderMagic));
  if (const std::uint16_t version = load16(magic + 4); version != 1)
    return bad(at + 12, fmt::format("found pcapng version {}, expected 1", version));
  interfaces_.clear();
  return {};
}

Result<void> CaptureReader::read_interface(std::span<const std::byte> body) {
  const auto offset = static_cast<std::size_t>(body.data() - bytes_.data());
  if (body.size() < 8) return bad(offset, "the interface description is shorter than 8 bytes");
  Interface interface;
  interface.link_type = load16(body.data());
  std::size_t at = 8;
  while (body.size() - at >= 4) {
    const std::uint16_t code = load16(body.data() + at);
    const std::uint16_t length = load16(body.data() + at + 2);
    if (code == 0) break;
    if (length > body.size() - at - 4)
      return bad(offset + at, fmt::format("option {} has {} bytes, more than its block", code, length));
    const std::byte* const value = body.data() + at + 4;
    if (code == 2) interface.name.assign(reinterpret_cast<const char*>(value), length);
    if (code == 9 && length >= 1) {
      interface.ticks_per_second = ticks_per_second(load_u8(value));
      if (interface.ticks_per_second == 0)
        return bad(
            offset + at,
            fmt::format("found time resolution {:#04x}, expected at finest one picosecond", load_u8(value)));
    }
    if (code == 14 && length == 8) {
      const std::uint64_t low = load32(big_endian_ ? value + 4 : value);
      const std::uint64_t high = load32(big_endian_ ? value : value + 4);
      interface.offset_seconds = static_cast<std::int64_t>((high << 32U) | low);
    }
    at = std::min(body.size(), at + 4 + (length + 3U) / 4 * 4);
  }
  interfaces_.push_back(std::move(interface));
  return {};
}

Result<void> CaptureReader::read_packet(std::uint32_t type, std::span<const std::byte> body,
                                        CapturedFrame& frame) {
  const auto offset = static_cast<std::size_t>(body.data() - bytes_.data());
  const bool simple = type == kSimplePacketBlock;
  const std::size_t header = simple ? 4 : 20;
  if (body.size() < header)
    return bad(offset, fmt::format("the packet block is shorter than {} bytes", header));
  const std::uint32_t number = simple ? 0 : load32(body.data());
  if (number >= interfaces_.size())
    return bad(offset, fmt::format("found interface {}, expected one of the {} described", number,
                                   interfaces_.size()));
  const Interface& interface = interfaces_[number];
  frame.original_bytes = load32(body.data() + header - 4);
  const auto room = static_cast<std::uint32_t>(body.size() - header);
  const std::uint32_t captured = simple ? std::min(frame.original_bytes, room) : load32(body.data() + 12);
  if (captured > room || captured > kFrameBytesMax)
    return bad(offset + 12, fmt::format("found a frame of {} bytes, expected at most the {} of its block",
                                        captured, room));
  if (!simple)
    set_time(interface, (std::uint64_t{load32(body.data() + 4)} << 32U) | load32(body.data() + 8), frame);
  frame.bytes = body.subspan(header, captured);
  frame.link_type = interface.link_type;
  frame.interface_name = interface.name;
  frame.number = ++frames_;
  return {};
}

Result<bool> CaptureReader::next_pcapng(CapturedFrame& frame) {
  while (at_ < bytes_.size()) {
    const std::size_t left = bytes_.size() - at_;
    const std::byte* const block = bytes_.data() + at_;
    if (left < kBlockBytesMin)
      return bad(at_, fmt::format("found {} bytes, expected a block of at least {}", left, kBlockBytesMin));
    // A section may change the byte order; its type reads the same in both.
    if (load_le32(block) == kSectionHeaderBlock) WHARF_TRY(read_section_header(at_));
    const std::uint32_t type = load32(block);
    const std::uint32_t length = load32(block + 4);
    if (length < kBlockBytesMin || length % 4 != 0)
      return bad(at_ + 4, fmt::format("found block length {}, expected a multiple of 4 from {} on", length,
                                      kBlockBytesMin));
    if (length > left)
      return bad(at_, fmt::format("the block has {} bytes, but only {} are left in the file", length, left));
    const std::span<const std::byte> body(block + 8, length - kBlockBytesMin);
    if (type == kInterfaceBlock) WHARF_TRY(read_interface(body));
    const bool packet = type == kEnhancedPacketBlock || type == kSimplePacketBlock;
    if (packet) WHARF_TRY(read_packet(type, body, frame));
    at_ += length;
    if (packet) return true;
  }
  return false;
}

}  // namespace wharf::wire
