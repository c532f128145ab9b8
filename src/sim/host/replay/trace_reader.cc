// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace wharf::sim {

namespace {

constexpr std::size_t kBatchRecords = 8192;

}  // namespace

Result<TraceReader> TraceReader::open(const std::string& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  return from_source(*std::move(source));
}

Result<TraceReader> TraceReader::from_memory(std::span<const char> bytes, const std::string& name) {
  return from_source(ByteSource::from_memory(bytes, name));
}

Result<TraceReader> TraceReader::from_source(ByteSource source) {
  const Result<std::string_view> start = source.peek();
  if (!start) return start.error();
  if (!start->starts_with(kTraceMagic)) return TraceReader(LackeyReader(std::move(source)));
  Result<AccessTraceFileReader> binary = AccessTraceFileReader::open(std::move(source));
  if (!binary) return binary.error();
  return TraceReader(*std::move(binary));
}

Result<ImportSummary> import_lackey(const std::string& input, const std::string& output,
                                    const ImportOptions& options) {
  Result<TraceReader> reader = TraceReader::open(input);
  if (!reader) return reader.error();
  Result<AccessTraceWriter> writer = AccessTraceWriter::create(output, options.compression_level);
  if (!writer) return writer.error();

  std::vector<TraceRecord> batch(kBatchRecords);
  std::uint64_t to_skip = options.skip_accesses;
  std::uint64_t to_take = options.limit_accesses;
  const std::uint64_t total = reader->binary() != nullptr ? reader->binary()->counts().accesses() : 0;
  while (to_take > 0) {
    if (options.go_on != nullptr &&
        !options.go_on(options.go_on_context, writer->counts().accesses(), total)) {
      ImportSummary given_up;
      given_up.counts = writer->counts();
      given_up.given_up = true;
      return given_up;
    }
    const Result<std::size_t> got = reader->read(batch);
    if (!got) return got.error();
    if (*got == 0) break;
    std::span<const TraceRecord> records{batch.data(), *got};
    while (to_skip > 0 && !records.empty()) {
      if (records.front().kind != TraceKind::kInstructions) --to_skip;
      records = records.subspan(1);
    }
    std::size_t taken = 0;
    for (; taken < records.size() && to_take > 0; ++taken) {
      if (records[taken].kind != TraceKind::kInstructions) --to_take;
    }
    WHARF_TRY(writer->write(records.first(taken)));
  }
  if (writer->counts().accesses() == 0) {
    return input_error(fmt::format("{}: no access is left after skipping {}, expected at least one", input,
                                   options.skip_accesses));
  }
  ImportSummary summary;
  summary.counts = writer->counts();
  summary.regions = reader->regions();
  if (const LackeyReader* text = reader->text()) {
    summary.input_lines = text->lines();
    summary.foreign_lines = text->foreign_lines();
  }
  WHARF_TRY(writer->finish(summary.regions));
  summary.output_bytes = writer->bytes_written();
  return summary;
}

}  // namespace wharf::sim
