// SPDX-License-Identifier: Apache-2.0
// The judge of random lives finds every fault that can be compiled in. The queue is compiled once more for
// that, in a namespace of its own, so that the shipped one stays without faults.
#define WHARF_RLSQ_MUTATIONS
#define ordering mutated_ordering

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/ordering/names.cc"
#include "engine/ordering/order_lists.cc"
#include "engine/ordering/random_run_test_support.h"
#include "engine/ordering/rlsq.cc"
#include "engine/ordering/rlsq_memory.cc"
#include "engine/ordering/rlsq_report.cc"

namespace wharf::ordering {
namespace {

struct Chances {
  RandomStream* stream;
  std::uint32_t operator()(std::uint32_t n) { return static_cast<std::uint32_t>(stream->below(n)); }
};

/// The judge's first verdict on up to `lives` random lives under a design; empty when it condemns none.
std::string first_verdict(RlsqDesign design, int lives) {
  for (int life = 0; life < lives; ++life) {
    RandomStream stream(static_cast<std::uint64_t>(life) + 1, "life");
    RlsqConfig config;
    config.design = design;
    config.order.write_before_annotated_read = stream.below(2) != 0;
    config.order.release_before_acquire = stream.below(2) != 0;
    config.entries = stream.below(2) != 0 ? 24 : 3;
    config.trackers = stream.below(2) != 0 ? 8 : 1;
    config.posted_reserve = 2;
    RandomRun run(config, Chances{&stream});
    const std::string verdict = run.run(24);
    if (!verdict.empty()) return verdict;
  }
  return "";
}

/// The weakest designs first whose promise the fault breaks.
std::vector<RlsqDesign> broken_designs(Mutation mutation) {
  using enum RlsqDesign;
  switch (mutation) {
    case Mutation::kNone:
      return {};
    case Mutation::kMissedSquash:
    case Mutation::kTrackingFromArrival:
    case Mutation::kEarlyCommit:
      return {kSpeculative, kStrictSpeculative};
    case Mutation::kSharedAcquireFlag:
    case Mutation::kAcquireEndsEarly:
    case Mutation::kReleaseIgnoresReads:
    case Mutation::kReleaseIgnoresWrites:
    case Mutation::kAscendingForgotten:
    case Mutation::kReadReleaseIgnored:
    case Mutation::kAtomicReleaseForgotten:
      return {kReleaseAcquire, kThreadSpecific, kSpeculative};
    case Mutation::kWriteBeforeReadForgotten:
    case Mutation::kStrongWritesUnordered:
    case Mutation::kLostOwnershipKept:
      return {kBaseline, kReleaseAcquire, kThreadSpecific, kSpeculative, kStrictBlocking, kStrictSpeculative};
    case Mutation::kMergedIntoOldRead:
    case Mutation::kReadPassesOwnWrite:
      return {kBaseline, kReleaseAcquire, kThreadSpecific, kSpeculative, kStrictSpeculative};
  }
  return {};
}

TEST(RlsqMutation, JudgeCondemnsNoSoundQueue) {
  active_mutation = Mutation::kNone;
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    EXPECT_EQ(first_verdict(static_cast<RlsqDesign>(design), 500), "")
        << name(static_cast<RlsqDesign>(design));
  }
}

TEST(RlsqMutation, JudgeFindsEveryFaultUnderEveryDesignThatItBreaks) {
  for (int mutation = 1; mutation < kMutationCount; ++mutation) {
    active_mutation = static_cast<Mutation>(mutation);
    const std::vector<RlsqDesign> designs = broken_designs(active_mutation);
    EXPECT_FALSE(designs.empty());
    for (const RlsqDesign design : designs) {
      EXPECT_NE(first_verdict(design, 500), "") << "mutation " << mutation << " under " << name(design);
    }
  }
  active_mutation = Mutation::kNone;
}

}  // namespace
}  // namespace wharf::ordering
