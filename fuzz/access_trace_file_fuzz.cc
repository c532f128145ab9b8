// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of binary traces. Checksums would stop nearly every mutation at the door, so they
// are made right first: what is behind them is refused or read, and is what the header promises.
// LINK: wharf_sim_host_replay z
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "sim/host/replay/trace_reader.h"

namespace {

using wharf::sim::TraceCounts;
using wharf::sim::TraceReader;
using wharf::sim::TraceRecord;

std::uint32_t crc_of(const std::byte* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes), count));
}

void mend_checksums(std::vector<std::byte>& file) {
  constexpr std::size_t kHeader = wharf::sim::kTraceHeaderBytes;
  if (file.size() < kHeader) return;
  std::memcpy(file.data(), wharf::sim::kTraceMagic.data(), wharf::sim::kTraceMagic.size());
  wharf::store_le32(&file[8], wharf::sim::kTraceVersion);
  wharf::store_le32(&file[kHeader - 4], crc_of(file.data(), kHeader - 4));
  for (std::size_t at = kHeader; at + 16 <= file.size();) {
    const std::size_t stored = wharf::load_le32(&file[at + 8]);
    if (stored > file.size() - at - 16) return;
    wharf::store_le32(&file[at + 12], crc_of(file.data() + at + 16, stored));
    at += 16 + stored;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> file(size);
  if (size > 0) std::memcpy(file.data(), data, size);
  mend_checksums(file);
  wharf::Result<TraceReader> reader =
      TraceReader::from_memory({reinterpret_cast<const char*>(file.data()), file.size()}, "fuzz");
  if (!reader || reader->binary() == nullptr) return 0;
  TraceCounts counts;
  std::vector<TraceRecord> out(100);
  for (;;) {
    const wharf::Result<std::size_t> got = reader->read(out);
    if (!got) return 0;
    if (*got == 0) break;
    for (std::size_t i = 0; i < *got; ++i) {
      counts.count(out[i]);
      WHARF_CHECK(out[i].address <= ~std::uint64_t{0} - out[i].size);
    }
  }
  WHARF_CHECK(counts == reader->binary()->counts());
  return 0;
}
