// SPDX-License-Identifier: Apache-2.0
#include "live/perftest/key_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kQueueNumberMax = 0xff'ffff;
constexpr std::uint32_t kSmallestMtu = 256;
constexpr std::size_t kLargestMtuCode = 5;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What a stranger sent, fit to be printed.
std::string shown(std::string_view text) {
  std::string out;
  for (const char each : text) out += each >= ' ' && each <= '~' ? each : '?';
  return out;
}

Error refuse(std::string_view what, std::string_view found, std::string_view expected) {
  return input_error(fmt::format("perftest's peer sent {} {}, expected {}", what, shown(found), expected));
}

/// Takes fields of lower-case hexadecimal digits from the front, each with the colon behind it.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text) {}

  std::uint64_t take(std::size_t digits) {
    const std::string_view field = text_.substr(0, digits);
    const bool plain = field.size() == digits && std::all_of(field.begin(), field.end(), [](char each) {
                         return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
                       });
    if (!plain || text_.size() <= digits || text_[digits] != ':') {
      good_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    std::from_chars(field.data(), field.data() + digits, value, 16);
    text_.remove_prefix(digits + 1);
    return value;
  }
  bool good() const { return good_; }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
  bool good_ = true;
};

}  // namespace

KeyBytes encode(const KeyMessage& message) {
  std::string text = fmt::format("{:04x}:{:04x}:{:06x}:{:06x}:{:08x}:{:016x}:", message.local_id,
                                 message.outstanding_reads & 0xffffU, message.queue_number & kQueueNumberMax,
                                 message.starting_psn & wire::kPsnMask, message.key, message.address);
  for (const std::uint8_t each : message.gid) fmt::format_to(std::back_inserter(text), "{:02x}:", each);
  fmt::format_to(std::back_inserter(text), "{:08x}:", message.shared_receive_queue);
  WHARF_CHECK(text.size() == kKeyMessageBytes - 1);
  KeyBytes bytes{};
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

Result<KeyMessage> decode_key_message(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  if (bytes.size() != kKeyMessageBytes)
    return refuse("a key message of", fmt::format("{} bytes", bytes.size()), "108: an interface with a GID");
  FieldReader reader(text);
  KeyMessage message;
  message.local_id = static_cast<std::uint16_t>(reader.take(4));
  message.outstanding_reads = static_cast<std::uint32_t>(reader.take(4));
  message.queue_number = static_cast<std::uint32_t>(reader.take(6));
  message.starting_psn = static_cast<wire::Psn>(reader.take(6));
  message.key = static_cast<std::uint32_t>(reader.take(8));
  message.address = reader.take(16);
  for (std::uint8_t& each : message.gid) each = static_cast<std::uint8_t>(reader.take(2));
  message.shared_receive_queue = static_cast<std::uint32_t>(reader.take(8));
  if (!reader.good() || reader.rest() != std::string_view("\0", 1))
    return refuse("the key message", text.substr(0, kKeyMessageBytes - 1),
                  "hexadecimal numbers of 4, 4, 6, 6, 8, 16, sixteen times 2, and 8 digits between colons");
  if (message.queue_number < 2)
    return refuse("the queue pair number", std::to_string(message.queue_number), "2 to 16777215");
  return message;
}

Gid gid_of(std::uint32_t address) {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  for (unsigned at = 0; at < 4; ++at) gid[12 + at] = static_cast<std::uint8_t>(address >> (24 - 8 * at));
  return gid;
}

Result<std::uint32_t> address_of(const Gid& gid) {
  std::uint32_t address = 0;
  for (unsigned at = 12; at < 16; ++at) address = (address << 8U) | gid[at];
  if (gid != gid_of(address)) {
    std::string text;
    for (const std::uint8_t each : gid) fmt::format_to(std::back_inserter(text), "{:02x}", each);
    return refuse("the GID", text,
                  "that of an IPv4 address (::ffff:a.b.c.d); perftest's -x chooses another index");
  }
  return address;
}

std::array<std::byte, kMtuBytes> encode_path_mtu(std::uint32_t bytes) {
  std::uint32_t code = 1;
  while (code < kLargestMtuCode && (kSmallestMtu << code) <= bytes) ++code;
  return {static_cast<std::byte>('0' + code), std::byte{0}};
}

Result<std::uint32_t> decode_path_mtu(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  if (text.size() != kMtuBytes || text[0] < '1' || text[0] > '5' || text[1] != '\0')
    return refuse("the path MTU", text, "a digit from 1 to 5 (256 to 4096 bytes)");
  return kSmallestMtu << static_cast<unsigned>(text[0] - '1');
}

std::array<std::byte, kVersionBytes> encode_version() {
  std::array<std::byte, kVersionBytes> bytes{};
  std::memcpy(bytes.data(), kPerftestVersion, std::strlen(kPerftestVersion));
  return bytes;
}

Result<void> check_version(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  const std::string_view version = text.substr(0, text.find('\0'));
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = version.data() + version.size();
  const auto dot = std::from_chars(version.data(), end, major);
  bool good = bytes.size() == kVersionBytes && dot.ec == std::errc{} && dot.ptr != end && *dot.ptr == '.';
  if (good) {
    const auto rest = std::from_chars(dot.ptr + 1, end, minor);
    good = rest.ec == std::errc{} && rest.ptr == end;
  }
  if (!good || major < 5 || (major == 5 && minor < 70))
    return refuse("the version", version, "5.70 or later, as perftest 4.5 has");
  return {};
}

}  // namespace wharf::live
