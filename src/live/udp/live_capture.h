// SPDX-License-Identifier: Apache-2.0
// The datagrams of live hosts in a pcapng file, as frames that Wireshark and `wharf dissect` read. User space
// does not see link and network headers: they are written as the kernel makes them, with UDP checksum 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "live/udp/udp_socket.h"
#include "wire/ethernet.h"
#include "wire/pcapng_writer.h"

namespace wharf::live {

/// One file. Of the thread whose hosts write to it.
class LiveCapture {
 public:
  /// Nothing for an empty path. An environment error when the file cannot be made. `now`: the time of this
  /// moment, in which later ones are given.
  static Result<std::unique_ptr<LiveCapture>> create(const std::filesystem::path& path,
                                                     TimePs now = kTimeZero);

  /// A datagram on its way from one endpoint to another, with its TOS byte.
  void write(TimePs time, const UdpEndpoint& from, const UdpEndpoint& to, std::uint8_t service,
             std::span<const std::byte> datagram, const IpIdentity& ip = {});
  /// What was written can be read by others.
  void flush() { writer_.flush(); }
  std::uint64_t frames() const { return writer_.frames(); }
  /// Flushes; an environment error if anything could not be written.
  Result<void> close() { return writer_.close(); }

 private:
  LiveCapture(wire::PcapngWriter writer, TimePs epoch);

  TimePs epoch_;  ///< The beginning of the second in which it was made.
  wire::PcapngWriter writer_;
  wire::CaptureInterface interface_;
  std::array<std::byte, UdpSocket::kFrameBytes + 64> frame_{};
};

}  // namespace wharf::live
