// SPDX-License-Identifier: Apache-2.0
// Frames out of capture files: pcap (all four byte orders and resolutions) and pcapng, plain, gzip or xz.
//
// Not libpcap, although it can read both: it refuses a pcapng file whose interfaces have different link
// types, which is what a run with Ethernet and native UB links writes, and it cannot say at which offset a
// file is damaged. A test holds this reader against libpcap on files that both can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/link_type.h"

namespace wharf::wire {

struct CapturedFrame {
  std::span<const std::byte> bytes;  ///< Valid as long as the reader.
  std::uint32_t original_bytes =
      0;  ///< Length on the wire; more than bytes.size() when the capture cut the frame.
  std::uint16_t link_type = 0;      ///< LINKTYPE_ number; that of LinkType when wharf knows it.
  std::int64_t seconds = 0;         ///< Since 1970 (simulator captures: since the start of the run).
  std::uint64_t picoseconds = 0;    ///< Below 10^12.
  std::uint64_t number = 0;         ///< Counted from 1, as Wireshark does.
  std::string_view interface_name;  ///< Empty when the file names none. Valid until the next frame.
};

/// Reads one capture from memory, front to back.
class CaptureReader {
 public:
  /// Reads and decompresses the whole file. An Error names file, offset, what was found and what was
  /// expected.
  static Result<CaptureReader> open(const std::filesystem::path& path);

  /// The same for a decompressed capture in memory, called `name` in errors.
  static Result<CaptureReader> from_bytes(std::vector<std::byte> bytes, std::string name);

  /// The next frame; false at the end. After an Error the reader stays where it is: further calls repeat it.
  Result<bool> next(CapturedFrame& frame);

 private:
  struct Interface {
    std::uint16_t link_type = 0;
    std::uint64_t ticks_per_second = 1'000'000;
    std::int64_t offset_seconds = 0;
    std::string name;
  };

  CaptureReader(std::vector<std::byte> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  Result<void> read_file_header();
  Result<bool> next_pcap(CapturedFrame& frame);
  Result<bool> next_pcapng(CapturedFrame& frame);
  Result<void> read_section_header(std::size_t at);
  Result<void> read_interface(std::span<const std::byte> body);
  Result<void> read_packet(std::uint32_t type, std::span<const std::byte> body, CapturedFrame& frame);
  void set_time(const Interface& interface, std::uint64_t ticks, CapturedFrame& frame) const;

  std::uint16_t load16(const std::byte* at) const;
  std::uint32_t load32(const std::byte* at) const;
  Error bad(std::size_t offset, std::string_view what) const;

  std::vector<std::byte> bytes_;
  std::string name_;
  std::size_t at_ = 0;
  std::uint64_t frames_ = 0;
  bool is_pcapng_ = false;
  bool big_endian_ = false;
  std::vector<Interface> interfaces_;  // pcap: exactly one
};

}  // namespace wharf::wire
