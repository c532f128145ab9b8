// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of flow sizes: it refuses with a sentence that begins with the file's name, or
// gives a distribution whose draws lie within it.
// LINK: wharf_workload
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/random.h"
#include "workload/flow_list.h"
#include "workload/size_distribution.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sizes =
      wharf::workload::read_size_distribution({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
  if (!sizes) {
    WHARF_CHECK(sizes.error().message.starts_with("fuzz.csv:"));
    WHARF_CHECK(sizes.error().message.find('\n') == std::string::npos);
    return 0;
  }
  WHARF_CHECK(sizes->mean_bytes() <= wharf::workload::kFlowBytesMax);
  wharf::RandomStream random(size, "fuzz");
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t bytes = sizes->draw(random);
    WHARF_CHECK(bytes >= 1 && bytes <= sizes->points().back().bytes);
  }
  return 0;
}
