// SPDX-License-Identifier: Apache-2.0
#include "live/udp/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <variant>

#include "base/bytes.h"
#include "base/check.h"
#include "live/udp/live_protocol.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kMagic = 0x57485246;  // "WHRF"
constexpr std::size_t kHeadBytes = 6;
constexpr std::size_t kBlobBytesMax = 4096;
/// Access rights on the wire.
constexpr unsigned kReadBit = 1;
constexpr unsigned kWriteBit = 2;
constexpr unsigned kAtomicBit = 4;

class Writer {
 public:
  explicit Writer(std::uint8_t type) {
    u32(kMagic);
    u8(kSessionVersion);
    u8(type);
  }
  void u8(std::uint8_t value) { out_.push_back(std::byte{value}); }
  void u16(std::uint16_t value) { store_be16(grow(2), value); }
  void u32(std::uint32_t value) { store_be32(grow(4), value); }
  void u64(std::uint64_t value) { store_be64(grow(8), value); }
  void bytes(std::span<const std::byte> value) { out_.insert(out_.end(), value.begin(), value.end()); }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::byte* grow(std::size_t count) {
    out_.resize(out_.size() + count);
    return out_.data() + out_.size() - count;
  }
  std::vector<std::byte> out_;
};

/// Reads fields; reading past the end gives zeros and is remembered.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::uint8_t u8() {
    const std::byte* at = take(1);
    return at == nullptr ? std::uint8_t{0} : load_u8(at);
  }
  std::uint16_t u16() {
    const std::byte* at = take(2);
    return at == nullptr ? std::uint16_t{0} : load_be16(at);
  }
  std::uint32_t u32() {
    const std::byte* at = take(4);
    return at == nullptr ? 0U : load_be32(at);
  }
  std::uint64_t u64() {
    const std::byte* at = take(8);
    return at == nullptr ? 0U : load_be64(at);
  }
  std::span<const std::byte> bytes(std::size_t count) {
    const std::byte* at = take(count);
    return at == nullptr ? std::span<const std::byte>() : std::span(at, count);
  }
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  /// Every field was there and nothing follows.
  bool exact() const { return !short_ && rest_.empty(); }

 private:
  const std::byte* take(std::size_t count) {
    if (short_ || rest_.size() < count) {
      short_ = true;
      return nullptr;
    }
    const std::byte* at = rest_.data();
    rest_ = rest_.subspan(count);
    return at;
  }
  std::span<const std::byte> rest_;
  bool short_ = false;
};

template <typename Message, typename... All>
constexpr std::uint8_t position_of(std::type_identity<std::variant<All...>>) {
  std::uint8_t position = 0;
  bool found = false;
  ((found = found || std::is_same_v<Message, All>,
    position = static_cast<std::uint8_t>(position + (found ? 0 : 1))),
   ...);
  return position;
}

/// The number of a message on the wire: its place among the alternatives.
template <typename Message>
constexpr std::uint8_t type_of() {
  return position_of<Message>(std::type_identity<SessionMessage>{});
}

void write(Writer& out, const Hello& hello) {
  out.u8(static_cast<std::uint8_t>(hello.protocol));
  out.u8(static_cast<std::uint8_t>(hello.arrivals));
  out.u16(hello.udp_port);
  out.u32(hello.mtu);
  out.u32(hello.queue_depth);
  out.u32(hello.receive_entries);
  out.u32(hello.receive_bytes);
  out.u8(hello.tagged ? 1 : 0);
  out.u64(hello.tag);
  out.u8(static_cast<std::uint8_t>((hello.rights.remote_read ? kReadBit : 0U) |
                                   (hello.rights.remote_write ? kWriteBit : 0U) |
                                   (hello.rights.remote_atomic ? kAtomicBit : 0U)));
  out.u64(hello.slice_key);
}
void write(Writer& out, const Welcome& welcome) {
  out.u32(welcome.server.number);
  out.u32(welcome.client.number);
  out.u32(welcome.mtu);
}
void write(Writer& out, const Connect& connect) { out.bytes(connect.queue); }
void write(Writer& out, const Connected& connected) {
  out.u16(connected.udp_port);
  out.bytes(verbs::encode(connected.segment));
  out.u64(connected.slice_offset);
  out.u64(connected.slice_bytes);
  out.u64(connected.slice_key);
  out.bytes(connected.queue);
}
void write(Writer&, const ReportRequest&) {}
void write(Writer& out, const Report& report) {
  out.u64(report.messages);
  out.u64(report.bytes);
}
void write(Writer& out, const Refusal& refusal) {
  out.u8(static_cast<std::uint8_t>(refusal.kind));
  std::string reason = refusal.reason.substr(0, Refusal::kReasonBytes);
  for (char& letter : reason) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  out.bytes(std::as_bytes(std::span(reason)));
}

Error out_of_range(std::string_view field, std::uint64_t found, std::string_view expected) {
  return input_error(fmt::format("session message: found {} {}, expected {}", field, found, expected));
}

bool is_mtu(std::uint32_t mtu) { return std::has_single_bit(mtu) && mtu >= kMtuMin && mtu <= kMtuMax; }

Result<void> check(const Hello& hello) {
  if (hello.udp_port == 0) return out_of_range("UDP port", 0, "1 to 65535");
  if (!is_mtu(hello.mtu)) return out_of_range("MTU", hello.mtu, "a power of two from 256 to 4096");
  if (!std::has_single_bit(hello.queue_depth) || hello.queue_depth > kQueueDepthMax) {
    return out_of_range("queue depth", hello.queue_depth, "a power of two up to 4096");
  }
  if (hello.receive_entries > kReceiveEntriesMax) {
    return out_of_range("receive entries", hello.receive_entries, "at most 1024");
  }
  if (std::uint64_t{hello.receive_entries} * hello.receive_bytes > kReceiveBytesMax) {
    return out_of_range("bytes of a receive entry", hello.receive_bytes, "at most 64MiB for all entries");
  }
  if (hello.slice_key != 0 && hello.receive_entries != 0) {
    return out_of_range("receive entries", hello.receive_entries, "none in a slice that is shared");
  }
  return {};
}

Result<void> check(const Welcome& welcome) {
  if (welcome.server.number >= kHostNumbers || welcome.client.number >= kHostNumbers ||
      welcome.server == welcome.client) {
    return out_of_range("host number", welcome.client.number, "two different numbers below 2^20");
  }
  if (!is_mtu(welcome.mtu)) return out_of_range("MTU", welcome.mtu, "a power of two from 256 to 4096");
  return {};
}

Result<void> check(const Connected& connected) {
  if (connected.udp_port == 0) return out_of_range("UDP port", 0, "1 to 65535");
  if (connected.slice_key == 0) return out_of_range("slice key", 0, "another number");
  if (connected.slice_offset > connected.segment.length ||
      connected.slice_bytes > connected.segment.length - connected.slice_offset) {
    return out_of_range("slice size", connected.slice_bytes, "a part of the segment");
  }
  return {};
}

Result<engine::ExchangeBlob> read_blob(Reader& in) {
  const std::span<const std::byte> blob = in.rest();
  if (blob.size() > kBlobBytesMax) return out_of_range("queue blob size", blob.size(), "at most 4096 bytes");
  return engine::ExchangeBlob(blob.begin(), blob.end());
}

Error wrong_length() { return input_error("session message: its length does not fit its type"); }

Result<SessionMessage> read_hello(Reader& in) {
  Hello hello;
  const std::uint8_t protocol = in.u8();
  const std::uint8_t arrivals = in.u8();
  hello.udp_port = in.u16();
  hello.mtu = in.u32();
  hello.queue_depth = in.u32();
  hello.receive_entries = in.u32();
  hello.receive_bytes = in.u32();
  const std::uint8_t tagged = in.u8();
  hello.tag = in.u64();
  const std::uint8_t rights = in.u8();
  hello.slice_key = in.u64();
  if (!in.exact()) return wrong_length();
  const auto spoken = protocol_of_number(protocol);
  if (!spoken)
    return out_of_range("protocol", protocol, fmt::format("that of {}", fmt::join(protocol_names(), ", ")));
  if (arrivals > static_cast<std::uint8_t>(ArrivalRule::kReturn)) {
    return out_of_range("arrival rule", arrivals, "0 (keep) or 1 (return)");
  }
  hello.rights = {(rights & kReadBit) != 0, (rights & kWriteBit) != 0, (rights & kAtomicBit) != 0};
  if (rights > (kReadBit | kWriteBit | kAtomicBit) ||
      (hello.rights.remote_write && !hello.rights.remote_read) ||
      (hello.rights.remote_atomic && !hello.rights.remote_write)) {
    return out_of_range("rights", rights, "0 (none), 1 (read), 3 (and write) or 7 (and atomic)");
  }
  if (tagged > 1 || (tagged == 0 && hello.tag != 0))
    return out_of_range("tag", hello.tag, "one with the flag 1, or 0 without");
  hello.tagged = tagged == 1;
  hello.protocol = *spoken;
  hello.arrivals = static_cast<ArrivalRule>(arrivals);
  WHARF_TRY(check(hello));
  return SessionMessage(hello);
}

Result<SessionMessage> read_welcome(Reader& in) {
  Welcome welcome;
  welcome.server.number = in.u32();
  welcome.client.number = in.u32();
  welcome.mtu = in.u32();
  if (!in.exact()) return wrong_length();
  WHARF_TRY(check(welcome));
  return SessionMessage(welcome);
}

Result<SessionMessage> read_connect(Reader& in) {
  auto queue = read_blob(in);
  if (!queue) return queue.error();
  return SessionMessage(Connect{*std::move(queue)});
}

Result<SessionMessage> read_connected(Reader& in) {
  Connected connected;
  connected.udp_port = in.u16();
  const std::span<const std::byte> segment = in.bytes(verbs::kRemoteSegmentBytes);
  connected.slice_offset = in.u64();
  connected.slice_bytes = in.u64();
  connected.slice_key = in.u64();
  auto queue = read_blob(in);
  if (!queue) return queue.error();
  if (!in.exact()) return wrong_length();
  connected.queue = *std::move(queue);
  auto decoded = verbs::decode_remote_segment(segment);
  if (!decoded) return decoded.error();
  connected.segment = *decoded;
  WHARF_TRY(check(connected));
  return SessionMessage(std::move(connected));
}

Result<SessionMessage> read_report(Reader& in) {
  Report report;
  report.messages = in.u64();
  report.bytes = in.u64();
  if (!in.exact()) return wrong_length();
  return SessionMessage(report);
}

Result<SessionMessage> read_refusal(Reader& in) {
  Refusal refusal;
  const std::uint8_t kind = in.u8();
  const std::span<const std::byte> text = in.rest();
  if (!in.exact() || text.size() > Refusal::kReasonBytes) return wrong_length();
  if (kind > static_cast<std::uint8_t>(ErrorKind::kStalled)) {
    return out_of_range("kind of refusal", kind, "0 to 3");
  }
  refusal.kind = static_cast<ErrorKind>(kind);
  for (const std::byte letter : text) {
    const char value = static_cast<char>(letter);
    if (value < ' ' || value > '~') {
      return out_of_range("letter", std::to_integer<unsigned>(letter), "printable ASCII");
    }
    refusal.reason.push_back(value);
  }
  return SessionMessage(std::move(refusal));
}

template <typename Message>
Result<SessionMessage> read_empty(Reader& in) {
  if (!in.exact()) return wrong_length();
  return SessionMessage(Message{});
}

}  // namespace

bool Connected::operator==(const Connected& other) const {
  return udp_port == other.udp_port && verbs::encode(segment) == verbs::encode(other.segment) &&
         slice_offset == other.slice_offset && slice_bytes == other.slice_bytes &&
         slice_key == other.slice_key && queue == other.queue;
}

std::vector<std::byte> encode(const SessionMessage& message) {
  Writer out(static_cast<std::uint8_t>(message.index()));
  std::visit([&out](const auto& each) { write(out, each); }, message);
  return out.take();
}

Result<SessionMessage> decode_session_message(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const std::uint32_t magic = in.u32();
  const std::uint8_t version = in.u8();
  const std::uint8_t type = in.u8();
  if (bytes.size() < kHeadBytes || magic != kMagic) {
    return input_error("the peer does not speak wharf's session protocol");
  }
  if (version != kSessionVersion) {
    return input_error(fmt::format("the peer speaks version {} of the session protocol, expected {}", version,
                                   kSessionVersion));
  }
  switch (type) {
    case type_of<Hello>():
      return read_hello(in);
    case type_of<Welcome>():
      return read_welcome(in);
    case type_of<Connect>():
      return read_connect(in);
    case type_of<Connected>():
      return read_connected(in);
    case type_of<ReportRequest>():
      return read_empty<ReportRequest>(in);
    case type_of<Report>():
      return read_report(in);
    case type_of<Refusal>():
      return read_refusal(in);
  }
  return out_of_range("type", type, "0 to 6");
}

}  // namespace wharf::live
