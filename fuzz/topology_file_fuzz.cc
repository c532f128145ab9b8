// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the readers of topology files: they refuse with a sentence that begins with the file's
// name, or give a valid graph. Texts that ask for more than a thousand hosts are left out: building them is
// slow, and nothing new happens.
// LINK: wharf_sim_fabric
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/fabric/topology_file.h"

namespace {

/// Whether some number in the text has more than three digits, other than delays in nanoseconds may.
bool large(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (large(text)) return 0;
  const auto file = wharf::sim::read_topology(text, "fuzz.topo");
  if (!file) {
    WHARF_CHECK(file.error().message.starts_with("fuzz.topo:"));
    WHARF_CHECK(file.error().message.find('\n') == std::string::npos);
    return 0;
  }
  WHARF_CHECK(file->topology.validate().ok());
  return 0;
}
