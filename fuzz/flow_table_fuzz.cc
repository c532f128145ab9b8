// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of flow tables: it refuses with a sentence that begins with the file's name, or
// gives flows whose every number is in range.
// LINK: wharf_workload
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/flow_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = wharf::workload::read_flow_table({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
  if (!list) {
    WHARF_CHECK(list.error().message.starts_with("fuzz.csv:"));
    WHARF_CHECK(list.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const wharf::workload::Flow& flow : list->flows) {
    WHARF_CHECK(flow.source != flow.destination && flow.bytes > 0);
    WHARF_CHECK(flow.bytes <= wharf::workload::kFlowBytesMax && flow.start >= wharf::kTimeZero);
  }
  (void)wharf::workload::check_startable(*list);
  return 0;
}
