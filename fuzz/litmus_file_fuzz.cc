// SPDX-License-Identifier: Apache-2.0
// Feeds text to the reader of litmus files: it must refuse it by its place, or give a program.
// LINK: wharf_sim_litmus
// REPLAY ONLY: the coherent hosts stand behind it, too much to build a second time for one reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/litmus/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = wharf::sim::parse_litmus("input.litmus", text);
  if (!program) WHARF_CHECK(program.error().message.find("input.litmus") != std::string_view::npos);
  return 0;
}
