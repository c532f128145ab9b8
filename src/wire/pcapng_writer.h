// SPDX-License-Identifier: Apache-2.0
// Captures in pcapng form, one interface per captured port. Three block kinds suffice: section header,
// interface description, enhanced packet. [draft-ietf-opsawg-pcapng] Choice: times have nanoseconds
// (if_tsresol 9), rounded down, although the format allows picoseconds: Wireshark 4.0 misreads those.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/link_type.h"

namespace wharf::wire {

/// Names an interface of one capture; counted from 0.
using CaptureInterface = std::uint32_t;

class PcapngWriter {
 public:
  /// Creates (or truncates) `path` and writes the section header. An Error of kind kEnvironment says what
  /// failed. `epoch_seconds` is the time of TimePs 0 since 1970: 0 in the simulator, so that equal runs give
  /// equal files.
  static Result<PcapngWriter> create(const std::filesystem::path& path, std::int64_t epoch_seconds = 0);

  /// Describes one port. `name` appears in Wireshark beside each of its frames.
  CaptureInterface add_interface(std::string_view name, LinkType link);

  /// Appends one frame, without FCS, at `time` (0 or later). A comment, if not empty, is shown with the
  /// frame. Failed writes are remembered and reported by close().
  void write(CaptureInterface interface, TimePs time, std::span<const std::byte> frame,
             std::string_view comment = {});

  /// Hands what was written to the system, so that others can read it. In between, the file ends behind a
  /// whole frame, but for the moments in which the system takes one.
  void flush();
  /// Flushes and closes. Without it the destructor closes, and an error goes unnoticed.
  Result<void> close();

  std::uint64_t frames() const { return frames_; }

 private:
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  /// That the buffer of a file surely holds.
  static constexpr std::size_t kBufferBytes = 4096;

  PcapngWriter(std::FILE* file, std::filesystem::path path, std::int64_t epoch_seconds)
      : file_(file), path_(std::move(path)), epoch_seconds_(epoch_seconds) {}

  void append_option(std::uint16_t code, std::span<const std::byte> value);
  void begin_block(std::uint32_t type);
  void end_block();

  std::unique_ptr<std::FILE, FileCloser> file_;
  std::filesystem::path path_;
  std::int64_t epoch_seconds_;
  std::size_t buffered_ = 0;
  std::vector<std::byte> block_;  // the block being built; its capacity is kept
  std::uint32_t interfaces_ = 0;
  std::uint64_t frames_ = 0;
  bool failed_ = false;
};

}  // namespace wharf::wire
