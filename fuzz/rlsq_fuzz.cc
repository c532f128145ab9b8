// SPDX-License-Identifier: Apache-2.0
// Random lives of the queue that orders a device's accesses, every design in turn, with a memory whose every
// step is a byte of the input: the judge of the queue's tests must find nothing, and no life may stall.
// LINK: wharf_ordering
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/check.h"
#include "engine/ordering/random_run_test_support.h"
#include "fuzz/input_bytes.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

/// Takes its choices from the input; when that is used up, every choice is the first one in turn.
struct InputChoices {
  InputBytes* input;
  std::uint32_t turn = 0;
  std::uint32_t operator()(std::uint32_t n) { return (input->empty() ? turn++ : input->number()) % n; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputBytes input(data, size);
  const std::uint32_t options = input.number();
  const auto design = static_cast<ordering::RlsqDesign>(input.number() % ordering::kRlsqDesignCount);
  const std::uint32_t requests = 1 + input.number() % 32;
  ordering::RandomRun run(ordering::random_run_config(design, options), InputChoices{&input});
  const std::string verdict = run.run(requests);
  if (!verdict.empty()) std::fprintf(stderr, "%s\n", verdict.c_str());
  WHARF_CHECK(verdict.empty());
  return 0;
}
