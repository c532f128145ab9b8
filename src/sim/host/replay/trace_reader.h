// SPDX-License-Identifier: Apache-2.0
// Opens a memory trace of any form (text or binary, plain or compressed) behind one read call, and turns one
// into the binary form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "base/result.h"
#include "sim/host/replay/access_trace.h"
#include "sim/host/replay/access_trace_file.h"
#include "sim/host/replay/lackey_reader.h"

namespace wharf::sim {

/// A trace that is read from its start to its end.
class TraceReader {
 public:
  /// The first bytes of the (decompressed) file tell the form.
  static Result<TraceReader> open(const std::string& path);
  /// As open(), of bytes in memory, which must outlive the reader; `name` stands for the path in messages.
  static Result<TraceReader> from_memory(std::span<const char> bytes, const std::string& name);

  /// Fills `out` (not empty) from its start; gives the number of records, 0 at the end only. After an error
  /// the reader must not be used again.
  Result<std::size_t> read(std::span<TraceRecord> out) {
    out = out.first(std::min<std::uint64_t>(out.size(), left_));
    if (out.empty()) return 0;
    const auto got = text() == nullptr ? std::get<AccessTraceFileReader>(reader_).read(out)
                                       : std::get<LackeyReader>(reader_).read(out);
    if (got) left_ -= *got;
    return got;
  }
  /// The trace ends after so many further records, if it is not shorter: for samples of it.
  void stop_after(std::uint64_t records) { left_ = records; }

  /// Heap and stack; for text, as known so far.
  const TraceRegions& regions() const {
    if (const auto* binary = std::get_if<AccessTraceFileReader>(&reader_)) return binary->regions();
    return std::get<LackeyReader>(reader_).regions();
  }

  /// The text reader, or null for the binary form.
  const LackeyReader* text() const { return std::get_if<LackeyReader>(&reader_); }
  /// The binary reader, or null for text.
  const AccessTraceFileReader* binary() const { return std::get_if<AccessTraceFileReader>(&reader_); }

 private:
  static Result<TraceReader> from_source(ByteSource source);
  explicit TraceReader(AccessTraceFileReader reader) : reader_(std::move(reader)) {}
  explicit TraceReader(LackeyReader reader) : reader_(std::move(reader)) {}
  std::variant<AccessTraceFileReader, LackeyReader> reader_;
  std::uint64_t left_ = ~std::uint64_t{0};
};

/// What import does beyond changing the form.
struct ImportOptions {
  int compression_level = 9;        ///< zstd, 1 to 19; 0 stores blocks as they are.
  std::uint64_t skip_accesses = 0;  ///< Leaves out this many accesses at the start, and their instructions.
  std::uint64_t limit_accesses = ~std::uint64_t{0};  ///< Stops after this many.
  /// Asked every few thousand records, with the number of accesses so far and the number in all (0: unknown,
  /// as of text); false ends the import without an output. Null: nobody asks.
  bool (*go_on)(void* context, std::uint64_t accesses, std::uint64_t total) = nullptr;
  void* go_on_context = nullptr;
};

/// What import wrote.
struct ImportSummary {
  TraceCounts counts;
  TraceRegions regions;
  std::uint64_t input_lines = 0;    ///< Text only: lines read.
  std::uint64_t foreign_lines = 0;  ///< Text only: the program's own output, skipped.
  std::uint64_t output_bytes = 0;
  bool given_up =
      false;  ///< ImportOptions::go_on said so: there is no output, and `counts` is what was read.
};

/// Reads the trace at `input` (any form that TraceReader opens) and writes it to `output` in the binary form,
/// in bounded memory. The output appears whole or not at all. kInput for a wrong input or a range that leaves
/// no access, kEnvironment when the output cannot be written.
Result<ImportSummary> import_lackey(const std::string& input, const std::string& output,
                                    const ImportOptions& options = {});

}  // namespace wharf::sim
