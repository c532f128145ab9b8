// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of text traces: it refuses or reads, gives only whole records, and the size of
// the batches that the caller asks for changes nothing.
// LINK: wharf_sim_host_replay
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "sim/host/replay/lackey_reader.h"

namespace {

using wharf::sim::ByteSource;
using wharf::sim::LackeyReader;
using wharf::sim::TraceKind;
using wharf::sim::TraceRecord;

struct Outcome {
  std::vector<TraceRecord> records;
  bool refused = false;
};

Outcome read_all(std::span<const char> bytes, std::size_t batch) {
  LackeyReader reader(ByteSource::from_memory(bytes, "fuzz"));
  Outcome outcome;
  std::vector<TraceRecord> out(batch);
  for (;;) {
    const wharf::Result<std::size_t> got = reader.read(out);
    outcome.refused = !got.ok();
    if (outcome.refused || *got == 0) return outcome;
    outcome.records.insert(outcome.records.end(), out.begin(),
                           out.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const Outcome large = read_all(bytes, 4096);
  for (const TraceRecord& record : large.records) {
    WHARF_CHECK((record.size == 0) == (record.kind == TraceKind::kInstructions));
    WHARF_CHECK(record.address <= ~std::uint64_t{0} - record.size);
  }
  const Outcome small = read_all(bytes, 1);
  WHARF_CHECK(small.refused == large.refused);
  // A refusal may come before a larger batch is handed out.
  WHARF_CHECK(large.refused ? small.records.size() >= large.records.size() : small.records == large.records);
  return 0;
}
