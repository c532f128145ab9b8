// SPDX-License-Identifier: Apache-2.0
#include "sample_frames.h"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "tests/support/packet_generator.h"
#include "wire/frame.h"
#include "wire/frame_layout.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_generator_test_support.h"
#include "wire/uet_codec.h"
#include "wire/uet_frame.h"

namespace wharf::wire {
namespace {

void add_golden_folder(const char* folder, LinkType (*link)(std::string_view),
                       std::vector<SampleFrame>& frames) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string text;
    for (std::string line; std::getline(in, line);)
      if (!line.starts_with('#')) text += line + " ";
    frames.push_back({hex_bytes(text), link(file.filename().string())});
  }
}

/// A packet drawn by one of the generators, which need a context of theirs.
Packet draw(Packet (*generator)(), std::uint64_t seed) {
  return rc::gen::exec(generator)(rc::Random(seed), 100).value();
}

SampleFrame frame_of(const Packet& packet) {
  SampleFrame frame{std::vector<std::byte>(largest_frame_bytes(packet.payload.length)), link_type(packet)};
  frame.bytes.resize(encode(packet, frame.bytes));
  return frame;
}

/// Sets lengths and header checksum of IP and UDP to what the frame has.
void mend_lengths(const FrameLayout& layout, std::vector<std::byte>& bytes) {
  if (!layout.has_ip) return;
  const auto length = static_cast<std::uint16_t>(bytes.size() - layout.ip_at);
  std::byte* const ip = bytes.data() + layout.ip_at;
  if (layout.ip_version == IpVersion::kV4) {
    store_be16(ip + 2, length);
    store_be16(ip + 10, 0);
    store_be16(ip + 10, ipv4_checksum(ip));
  } else {
    store_be16(ip + 4, static_cast<std::uint16_t>(length - kIpv6Bytes));
  }
  if (layout.uet_encapsulation == UetEncapsulation::kUdp)
    store_be16(bytes.data() + layout.udp_at + 4, static_cast<std::uint16_t>(bytes.size() - layout.udp_at));
}

void mend_crc(const FrameLayout& layout, std::vector<std::byte>& bytes) {
  const std::size_t end = bytes.size() - kUetCrcBytes;
  if (bytes.size() < layout.transport_at + kUetCrcBytes) return;
  const std::size_t from = layout.ip_at + uet_crc_start(layout.ip_version);
  store_le32(bytes.data() + end, uet_crc(std::span(bytes).subspan(from, end - from)));
}

/// Changes up to three bytes from `from` on, near it more often than far from it; then cuts off some at the
/// end (not all: Wireshark shows nobody an empty datagram) or adds some.
void damage(RandomStream& random, std::size_t from, std::vector<std::byte>& bytes) {
  for (std::uint64_t left = random.below(4); left != 0 && bytes.size() > from; --left) {
    const std::size_t room = bytes.size() - from;
    const std::size_t at = from + random.below(random.below(4) == 0 ? room : std::min<std::size_t>(room, 72));
    const auto bit = static_cast<std::byte>(1U << random.below(8));
    bytes[at] = random.below(2) == 0 ? bytes[at] ^ bit : static_cast<std::byte>(random.below(256));
  }
  const std::uint64_t kind = random.below(4);
  if (kind == 0 && bytes.size() > from) bytes.resize(from + 1 + random.below(bytes.size() - from));
  if (kind == 1) bytes.resize(bytes.size() + 1 + random.below(8), static_cast<std::byte>(random.below(2)));
}

/// What chance does not bring about in a packet of PCIe: more prefixes, and a long header for a low address.
void damage_tlp(RandomStream& random, std::vector<std::byte>& bytes) {
  constexpr std::array<std::uint8_t, 6> kPrefixes = {0x8e, 0x8f, 0x90, 0x91, 0x9e, 0x9f};
  std::size_t header = 0;
  while (header + kTlpPrefixBytes < bytes.size() && load_u8(&bytes[header]) >> 5U == kTlpFmtPrefix)
    header += kTlpPrefixBytes;
  if (random.below(8) == 0 && header + kTlpWideHeaderBytes < bytes.size())
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(header) + 8, 4, std::byte{0});
  if (random.below(8) != 0) return;
  for (std::uint64_t left = 1 + random.below(5); left != 0; --left)
    bytes.insert(bytes.begin(), {static_cast<std::byte>(kPrefixes[random.below(kPrefixes.size())]),
                                 std::byte{0}, std::byte{1}, std::byte{2}});
}

}  // namespace

std::vector<SampleFrame> golden_frames() {
  std::vector<SampleFrame> frames;
  add_golden_folder(
      "tests/golden/wire/ub",
      [](std::string_view name) {
        return name.starts_with("compact") || name.starts_with("ctp_cna") ? LinkType::kUbLink
                                                                          : LinkType::kEthernet;
      },
      frames);
  add_golden_folder(
      "tests/golden/wire/tlp", [](std::string_view) { return LinkType::kPcieTlp; }, frames);
  return frames;
}

std::vector<SampleFrame> drawn_frames(std::uint64_t seed, std::uint32_t count) {
  std::vector<SampleFrame> frames;
  RandomStream random(seed, "wireshark frames");
  for (std::uint32_t i = 0; i < count; ++i) {
    frames.push_back(frame_of(draw(arbitrary_ub_packet, random.next_u64())));

    Packet packet = draw(arbitrary_uet_packet, random.next_u64());
    if (random.below(4) == 0) packet.uet.protection = UetProtection::kNone;
    const std::uint64_t trim = random.below(8);
    if (trim == 0) packet.trim = TrimState::kTrimmed;
    if (trim == 1) packet.trim = TrimState::kTrimmedLastHop;
    frames.push_back(frame_of(packet));

    const Tlp tlp = arbitrary_tlp(random.next_u64());
    SampleFrame record{std::vector<std::byte>(tlp_bytes(tlp)), LinkType::kPcieTlp};
    encode_tlp(tlp, record.bytes);
    frames.push_back(std::move(record));
  }
  return frames;
}

std::vector<SampleFrame> damaged_frames(std::vector<SampleFrame> frames, std::uint64_t seed) {
  RandomStream random(seed, "damage");
  for (SampleFrame& frame : frames) {
    FrameLayout layout;
    std::size_t from = 0;
    if (frame.link != LinkType::kPcieTlp) {
      locate(frame.bytes, frame.link, layout);
      if (layout.has_ip) from = layout.transport_at;
      if (frame.link == LinkType::kEthernet && !layout.has_ip) from = layout.nth_at;
    }
    damage(random, from, frame.bytes);
    if (frame.link == LinkType::kPcieTlp) damage_tlp(random, frame.bytes);
    mend_lengths(layout, frame.bytes);
    if (layout.protocol == Protocol::kUet && layout.trim == TrimState::kWhole && random.below(2) == 0)
      mend_crc(layout, frame.bytes);
  }
  return frames;
}

std::vector<SampleFrame> wrecked_frames(std::vector<SampleFrame> frames, std::uint64_t seed) {
  RandomStream random(seed, "wreck");
  for (SampleFrame& frame : frames) damage(random, 0, frame.bytes);
  return frames;
}

}  // namespace wharf::wire
