// SPDX-License-Identifier: Apache-2.0
// Random lives of the queue against the judge, for every design; RapidCheck makes the choices and shrinks
// them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/ordering/random_run_test_support.h"

namespace wharf::ordering {
namespace {

/// Takes its choices from bytes; when they are used up, every choice is the first one in turn.
struct ByteChoices {
  const std::vector<std::uint8_t>* bytes;
  std::size_t at = 0;
  std::uint32_t turn = 0;
  std::uint32_t operator()(std::uint32_t n) {
    if (at < bytes->size()) return (*bytes)[at++] % n;
    return turn++ % n;
  }
};

RlsqConfig small_queue(RlsqDesign design, std::uint8_t options) {
  RlsqConfig config;
  config.design = design;
  config.order.write_before_annotated_read = (options & 1U) != 0;
  config.order.release_before_acquire = (options & 2U) != 0;
  config.answers_in_order = (options & 4U) != 0;
  config.entries = (options & 8U) != 0 ? 3 : 24;
  config.trackers = (options & 16U) != 0 ? 2 : 8;
  config.posted_reserve = 1 + (options >> 5U) % 3;
  return config;
}

RC_GTEST_PROP(RlsqRandom, EveryDesignKeepsItsOrderAndLosesNothing, (std::uint8_t options)) {
  // Of full size from the first case on: small numbers are small choices, and boring lives.
  const auto byte = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint8_t>());
  const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(700, byte);
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    const auto each = static_cast<RlsqDesign>(design);
    RandomRun run(small_queue(each, options), ByteChoices{&bytes});
    const std::string verdict = run.run(16);
    if (!verdict.empty()) RC_FAIL(std::string(name(each)) + ": " + verdict);
  }
}

}  // namespace
}  // namespace wharf::ordering
