// SPDX-License-Identifier: Apache-2.0
// Reads memory traces as text: what `valgrind --tool=lackey --trace-mem=yes` writes, and a plain generic
// form. A hand-written line parser in bounded memory, whatever the length of the file or of a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/host/replay/access_trace.h"
#include "sim/host/replay/byte_source.h"

namespace wharf::sim {

/// Which lines count depends on the form, which the first access in the file decides.
///
/// Lackey form (valgrind 3.19): "I  04001000,3" is an instruction, " L 1ffeff7e8,8" a load, " S ..." a store,
/// " M ..." a load and store; addresses in hexadecimal, sizes in decimal bytes. Lines that begin "==" or "--"
/// are valgrind's own. "SYSCALL[" lines, which `--trace-syscalls=yes` adds, tell where the heap is (brk, and
/// mmap of anonymous memory at no fixed address). Every other line is the program's own output and is skipped
/// and counted; but a line that begins like an access ("I  ", " L ", " S ", " M ") and does not go on like
/// one is refused, since it is far more often a damaged file. Record with `--log-file=` to keep the program's
/// output out.
///
/// Generic form: "L 7f001000,8", "W 0x7f001000 8", "R 7f001000": L and R load, S and W store, M both, I
/// instruction; hexadecimal address with or without 0x; size in decimal bytes, 8 if absent. Empty lines and
/// lines that begin "#" are skipped, any other line is refused.
///
/// A file without an access in its first kLinesWithoutAccess lines or kBytesWithoutAccess bytes is refused: a
/// program can print nothing before its first instruction has been recorded.
class LackeyReader {
 public:
  static constexpr std::uint64_t kLinesWithoutAccess = 1000;
  static constexpr std::uint64_t kBytesWithoutAccess = std::uint64_t{1} << 20U;

  explicit LackeyReader(ByteSource source);

  /// Fills `out` (not empty) from its start; gives the number of records, 0 at the end only. An error names
  /// file, line, what was found and what was expected; after one, the reader must not be used again.
  Result<std::size_t> read(std::span<TraceRecord> out);

  /// Heap and stack as known so far; grows while the trace is read.
  const TraceRegions& regions() const { return regions_; }
  /// Lines begun so far.
  std::uint64_t lines() const { return line_; }
  /// Lines of the program's own output so far.
  std::uint64_t foreign_lines() const { return foreign_lines_; }

 private:
  enum class Form : std::uint8_t { kUnknown, kLackey, kGeneric };
  enum class LineResult : std::uint8_t { kNoAccess, kAccess, kMalformed, kUnexpected };

  /// Makes at least one whole line available at cursor_, or reaches the end.
  Result<void> refill();
  /// A line that the fast path does not know, without its newline.
  LineResult take_line(std::string_view line, TraceRecord& record);
  LineResult take_access(std::string_view line, char kind, TraceRecord& record);
  void take_syscall(std::string_view line);
  Error refusal(LineResult why, std::string_view line) const;
  Error no_access_found() const;

  ByteSource source_;
  std::vector<char> buffer_;
  const char* cursor_ = nullptr;  ///< Next byte to parse.
  const char* end_ = nullptr;     ///< Past the last byte read; kPadding zero bytes follow.
  bool at_end_ = false;           ///< The source has no more bytes.
  bool in_long_line_ =
      false;  ///< The start of the line at cursor_ was dropped: it is longer than the buffer.
  bool found_access_ = false;
  bool sent_rest_ = false;  ///< The instructions after the last access were handed out.
  Form form_ = Form::kUnknown;
  std::uint64_t line_ = 0;
  std::uint64_t bytes_ = 0;  ///< Read so far.
  std::uint64_t foreign_lines_ = 0;
  std::uint32_t instructions_ = 0;  ///< Since the last record.
  std::uint64_t program_break_ = 0;
  TraceRegions regions_;
};

}  // namespace wharf::sim
