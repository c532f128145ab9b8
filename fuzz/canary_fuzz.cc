// SPDX-License-Identifier: Apache-2.0
// A fuzzer with a bug on purpose: shows that the machinery around the others would notice one.
// LINK:
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

/// Aborts on one input that no corpus file holds and that is one byte away from one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("wharf")) std::abort();
  return 0;
}
