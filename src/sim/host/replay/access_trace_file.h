// SPDX-License-Identifier: Apache-2.0
// wharf's own compact form of a memory trace: blocks of delta-coded records behind a header with counts, heap
// and stack. About 2 to 4 bytes per access before zstd.
//
// File, little-endian:
//   header (kTraceHeaderBytes)
//     0  magic "WHARFMT\n"        8  u32 version (1)         12  u32 flags (bit 0: heap is exact)
//    16  u64 loads, stores, modifies, instructions           48  u64 records         56  u64 blocks
//    64  u64 stack first, end                                80  u32 heap ranges (at most 32)
//    84  heap ranges, u64 first and end each                 596 zero up to          1020 u32 CRC-32 of bytes
//    0 to 1019
//   blocks
//     0  u32 records (1 to 65536)    4  u32 raw bytes    8  u32 stored bytes    12  u32 CRC-32 of the stored
//     bytes
//    16  the records, compressed with zstd when stored < raw
//   Nothing follows the last block.
// Record:
//     u16 control: bits 0-1 kind, 2-4 size code, 5-7 slot, 8-11 instructions, 12-15 length of the difference
//     (0 to 8) difference: zigzag, little-endian, in that many bytes, to the address last seen in the slot
//     (all 0 at the
//       start of a block); the slot then holds the new address
//     u16 size if the size code is 7 (codes 0 to 6: 1, 2, 4, 8, 16, 32, 64 bytes)
//     u32 instructions if the field is 15
//   Kind 3 (instructions only) has size code 0, slot 0 and no difference.
// The eight slots follow as many streams of addresses (stack, heap, tables), so that most differences take a
// byte. The writer takes the slot with the nearest address, or the least recently used one if none is near.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/host/replay/access_trace.h"
#include "sim/host/replay/byte_source.h"

namespace wharf::sim {

inline constexpr std::string_view kTraceMagic = "WHARFMT\n";
inline constexpr std::uint32_t kTraceVersion = 1;
inline constexpr std::size_t kTraceHeaderBytes = 1024;
inline constexpr std::uint32_t kTraceBlockRecords = 65536;
inline constexpr std::uint32_t kTraceSlots = 8;

/// Writes the binary form. The file appears under its name when finish() succeeds and not before.
class AccessTraceWriter {
 public:
  /// `compression_level`: 1 to 19 of zstd, 0 for none. kEnvironment when the file cannot be created.
  static Result<AccessTraceWriter> create(const std::string& path, int compression_level);
  AccessTraceWriter(AccessTraceWriter&&) noexcept;
  AccessTraceWriter& operator=(AccessTraceWriter&&) noexcept;
  /// Without finish(): removes what was written.
  ~AccessTraceWriter();

  /// Appends records. kEnvironment when the disk is full.
  Result<void> write(std::span<const TraceRecord> records);
  /// Writes the rest and the header, and gives the file its name. The writer is used up.
  Result<void> finish(const TraceRegions& regions);

  const TraceCounts& counts() const;
  std::uint64_t bytes_written() const;

 private:
  class State;
  explicit AccessTraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Reads the binary form, a block at a time.
class AccessTraceFileReader {
 public:
  /// Reads and checks the header. An error names the file and what was found and expected.
  static Result<AccessTraceFileReader> open(ByteSource source);
  AccessTraceFileReader(AccessTraceFileReader&&) noexcept;
  AccessTraceFileReader& operator=(AccessTraceFileReader&&) noexcept;
  ~AccessTraceFileReader();

  /// Fills `out` (not empty) from its start; gives the number of records, 0 at the end only. A damaged or
  /// shortened file is refused, naming the block; after that the reader must not be used again.
  Result<std::size_t> read(std::span<TraceRecord> out);

  const TraceRegions& regions() const;
  /// What the header promises; read() refuses a file that holds less or more.
  const TraceCounts& counts() const;

 private:
  class State;
  explicit AccessTraceFileReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wharf::sim
