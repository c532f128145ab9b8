// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of connection matrices: it refuses with a sentence that begins with the file's
// name, or gives flows whose every number is in range and triggers that can be run to their end.
// LINK: wharf_workload
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/connection_matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool reuse : {false, true}) {
    const auto list = wharf::workload::read_connection_matrix(text, "fuzz.cm", {.connection_reuse = reuse});
    if (!list) {
      WHARF_CHECK(list.error().message.starts_with("fuzz.cm:"));
      WHARF_CHECK(list.error().message.find('\n') == std::string::npos);
      continue;
    }
    for (const wharf::workload::Flow& flow : list->flows) {
      WHARF_CHECK(flow.source < list->hosts && flow.destination < list->hosts && flow.bytes > 0);
      WHARF_CHECK(flow.id != 0 && flow.start >= wharf::kTimeZero);
      WHARF_CHECK(flow.trigger == wharf::workload::kNoTrigger || flow.trigger < list->triggers.size());
    }
    for (const std::uint32_t activation : list->activations)
      WHARF_CHECK((activation & ~wharf::workload::kOnReceipt) < list->triggers.size());
    (void)wharf::workload::check_startable(*list);
  }
  return 0;
}
