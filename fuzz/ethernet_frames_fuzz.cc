// SPDX-License-Identifier: Apache-2.0
// Frames that say anything to an interface on an Ethernet of datagrams: each is counted once, what it gives
// is inside the frame and is what the frame's headers say, what it sends is right, and no stranger is heard.
// LINK: wharf_live_ethernet
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "fuzz/input_bytes.h"
#include "live/ethernet/arp.h"
#include "live/ethernet/ethernet_port.h"
#include "live/udp/network_headers.h"

namespace {

using namespace wharf;        // NOLINT: one file, one purpose.
using namespace wharf::live;  // NOLINT

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kOurs = 0x0a4d0001;
constexpr std::uint32_t kTheirs = 0x0a4d0002;
constexpr std::uint16_t kPort = 4791;
constexpr wire::MacAddress kTheirMac{0x52, 0x54, 0, 0, 0, 2};
constexpr wire::MacAddress kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

using Frame = std::vector<std::byte>;

std::uint32_t sum_of_words(const std::byte* at, std::size_t bytes) {
  std::uint32_t sum = 0;
  for (std::size_t word = 0; word < bytes; word += 2) sum += load_be16(at + word);
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16U);
  return sum;
}

class World {
 public:
  World()
      : end_(UdpSocket::open({kLoopback, 0}).value()), stranger_(UdpSocket::open({kLoopback, 0}).value()) {
    EthernetConfig config;
    config.carrier = {kLoopback, 0};
    config.other = end_.local();
    config.address = kOurs;
    config.port = kPort;
    port_ = EthernetPort::open(config).value();
  }

  void step(InputBytes& script) {
    script_ = &script;
    const std::uint32_t what = script_->number() % 8;
    if (what == 7) return send();
    Frame frame = what < 2 ? raw() : what < 5 ? datagram() : arp();
    for (std::uint32_t edits = script_->number() % 4; edits > 0 && !frame.empty(); --edits) {
      const std::size_t at = script_->word() % frame.size();
      frame[at] = static_cast<std::byte>(script_->byte());
    }
    if (script_->number() % 16 == 0) frame.resize(script_->number() % (frame.size() + 1));
    if (frame.empty()) return;
    give(frame, script_->number() % 16 == 0);
  }

 private:
  Frame raw() {
    Frame frame(script_->number());
    for (std::byte& each : frame) each = static_cast<std::byte>(script_->byte());
    return frame;
  }
  Frame datagram() {
    const std::size_t length = script_->number();
    const IpIdentity identity{static_cast<std::uint16_t>(script_->word()), true};
    const NetworkHeaders headers = network_headers({kTheirs, 51234}, {kOurs, kPort}, 2, length, identity);
    Frame frame(std::max<std::size_t>(60, wire::kEthernetBytes + headers.size() + length));
    wire::encode(wire::EthernetHeader{port_->mac(), kTheirMac, wire::EtherType::kIpv4}, frame.data());
    std::copy(headers.begin(), headers.end(), frame.begin() + wire::kEthernetBytes);
    return frame;
  }
  Frame arp() {
    Frame frame(60);
    wire::encode(wire::EthernetHeader{kEverybody, kTheirMac, wire::EtherType::kArp}, frame.data());
    const std::uint32_t who = kTheirs + script_->number();
    encode(ArpMessage{script_->number() % 2 == 0 ? ArpOperation::kRequest : ArpOperation::kReply,
                      kTheirMac,
                      who,
                      {},
                      kOurs},
           frame.data() + wire::kEthernetBytes);
    return frame;
  }

  void give(const Frame& frame, bool by_a_stranger) {
    UdpSocket& from = by_a_stranger ? stranger_ : end_;
    const auto room = from.queue(port_->carrier());
    std::copy(frame.begin(), frame.end(), room.begin());
    from.set_queued_length(frame.size());
    from.flush();
    const EthernetCounters before = port_->counters();
    std::size_t given = 0;
    for (int patience = 0; patience < 100000; ++patience) {
      given = port_->receive();
      if (port_->counters().frames_received + port_->counters().foreign !=
          before.frames_received + before.foreign) {
        break;
      }
    }
    const EthernetCounters& after = port_->counters();
    const std::uint64_t refused = after.foreign - before.foreign + after.malformed - before.malformed;
    if (by_a_stranger) {
      WHARF_CHECK(given == 0 && refused == 1 && after.frames_received == before.frames_received);
      return;
    }
    WHARF_CHECK(after.frames_received == before.frames_received + 1);
    WHARF_CHECK(given + refused <= 1);
    if (given == 1) check_given(frame);
    if (given + refused == 0) {
      WHARF_CHECK(frame.size() >= wire::kEthernetBytes + kArpBytes && load_be16(frame.data() + 12) == 0x0806);
      WHARF_CHECK(load_be32(frame.data() + 38) == kOurs);
    }
    hear(given + refused == 0 && load_be16(frame.data() + 20) == 1);
  }

  void check_given(const Frame& frame) {
    const auto& datagram = port_->datagram(0);
    const std::byte* const at = frame.data();
    WHARF_CHECK(frame.size() >= 42 && load_be16(at + 12) == 0x0800 && at[14] == std::byte{0x45});
    const std::uint32_t total = load_be16(at + 16);
    WHARF_CHECK(total + 14 <= frame.size() && total >= 28 && load_be16(at + 38) == total - 20);
    WHARF_CHECK(std::memcmp(at, port_->mac().data(), 6) == 0);
    WHARF_CHECK(sum_of_words(at + 14, 20) == 0xffff && at[23] == std::byte{17});
    WHARF_CHECK((load_be16(at + 20) & 0x3fffU) == 0);  // No fragment.
    WHARF_CHECK(load_be32(at + 30) == kOurs && load_be16(at + 36) == kPort);
    WHARF_CHECK(datagram.source.address == load_be32(at + 26) && datagram.source.port == load_be16(at + 34));
    WHARF_CHECK(datagram.bytes.size() == total - 28);
    WHARF_CHECK(datagram.bytes.empty() || std::memcmp(datagram.bytes.data(), at + 42, total - 28) == 0);
    WHARF_CHECK(datagram.ip.identification == load_be16(at + 18));
    WHARF_CHECK(datagram.service == static_cast<std::uint8_t>(at[15]));
  }

  /// What came out of the interface: `answer` to a question, or nothing.
  void hear(bool answer) {
    const std::size_t count = end_.receive();
    WHARF_CHECK(count == (answer ? 1U : 0U));
    if (!answer) return;
    const auto bytes = end_.datagram(0).bytes;
    WHARF_CHECK(bytes.size() == 60 && std::memcmp(bytes.data() + 6, port_->mac().data(), 6) == 0);
    const auto reply = decode_arp(bytes.subspan(wire::kEthernetBytes));
    WHARF_CHECK(reply && reply->operation == ArpOperation::kReply && reply->sender == kOurs);
    WHARF_CHECK(reply->sender_mac == port_->mac());
  }

  void send() {
    const std::uint32_t to = kTheirs + script_->number();
    const std::size_t length = 1 + script_->number();
    const bool known = port_->knows(to);
    const EthernetCounters before = port_->counters();
    const auto room = port_->queue({to, kPort});
    std::fill_n(room.begin(), length, std::byte{7});
    port_->set_queued_length(length);
    port_->flush();
    const std::size_t count = end_.receive();
    WHARF_CHECK(count == 1);  // The datagram, or the question who it is for.
    const auto bytes = end_.datagram(0).bytes;
    WHARF_CHECK(port_->counters().unresolved == before.unresolved + (known ? 0 : 1));
    WHARF_CHECK(load_be16(bytes.data() + 12) == (known ? 0x0800 : 0x0806));
    if (!known) return;
    WHARF_CHECK(bytes.size() == 42 + length && sum_of_words(bytes.data() + 14, 20) == 0xffff);
    WHARF_CHECK(load_be32(bytes.data() + 26) == kOurs && load_be32(bytes.data() + 30) == to);
  }

  InputBytes* script_ = nullptr;
  UdpSocket end_;
  UdpSocket stranger_;
  std::unique_ptr<EthernetPort> port_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // One for all inputs: sockets with their buffers are dear. What it remembers is whom it has heard of.
  static World world;
  InputBytes script(data, size);
  for (int steps = 0; !script.empty() && steps < 64; ++steps) world.step(script);
  return 0;
}
