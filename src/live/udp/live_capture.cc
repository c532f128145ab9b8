// SPDX-License-Identifier: Apache-2.0
#include "live/udp/live_capture.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "live/udp/network_headers.h"

namespace wharf::live {
namespace {

/// Choice: locally administered addresses that hold the IP address; loopback has none.
void write_mac(std::uint32_t address, std::byte* at) {
  store_be16(at, 0x0200);
  store_be32(at + 2, address);
}

}  // namespace

Result<std::unique_ptr<LiveCapture>> LiveCapture::create(const std::filesystem::path& path, TimePs now) {
  if (path.empty()) return std::unique_ptr<LiveCapture>();
  timespec moment{};
  ::clock_gettime(CLOCK_REALTIME, &moment);
  auto writer = wire::PcapngWriter::create(path, moment.tv_sec);
  if (!writer) return writer.error();
  return std::unique_ptr<LiveCapture>(new LiveCapture(*std::move(writer), now - nanoseconds(moment.tv_nsec)));
}

LiveCapture::LiveCapture(wire::PcapngWriter writer, TimePs epoch)
    : epoch_(epoch),
      writer_(std::move(writer)),
      interface_(writer_.add_interface("udp", wire::LinkType::kEthernet)) {
  flush();  // A capture of nothing can be read, too.
}

void LiveCapture::write(TimePs time, const UdpEndpoint& from, const UdpEndpoint& to, std::uint8_t service,
                        std::span<const std::byte> datagram, const IpIdentity& ip) {
  std::byte* at = frame_.data();
  write_mac(to.address, at);
  write_mac(from.address, at + 6);
  store_be16(at + 12, static_cast<std::uint16_t>(wire::EtherType::kIpv4));
  at += wire::kEthernetBytes;
  const NetworkHeaders headers = network_headers(from, to, service, datagram.size(), ip);
  at = std::copy(headers.begin(), headers.end(), at);
  at = std::copy(datagram.begin(), datagram.end(), at);
  writer_.write(interface_, max(time - epoch_, kTimeZero), std::span(frame_.data(), at));
}

}  // namespace wharf::live
