// SPDX-License-Identifier: Apache-2.0
// The litmus programs find mistakes that are compiled into the machines. The machines and the explorer are
// compiled once more for that, in namespaces of their own, so that the shipped ones stay without mistakes.
#define WHARF_RLSQ_MUTATIONS
#define WHARF_COHERENCE_MUTATIONS
#define WHARF_WITH_MUTATIONS
#define ordering litmus_mutated_ordering
#define sim litmus_mutated_sim

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/ordering/mmio_rob.cc"
#include "engine/ordering/mmio_sequencer.cc"
#include "engine/ordering/names.cc"
#include "engine/ordering/order_lists.cc"
#include "engine/ordering/rlsq.cc"
#include "engine/ordering/rlsq_memory.cc"
#include "engine/ordering/rlsq_report.cc"
#include "engine/ordering/write_combining.cc"
#include "sim/coherence/cache_lines.cc"
#include "sim/coherence/coherence_observer.cc"
#include "sim/coherence/directory.cc"
#include "sim/coherence/home.cc"
#include "sim/coherence/home_state.cc"
#include "sim/coherence/io_agent.cc"
#include "sim/coherence/message.cc"
#include "sim/coherence/private_cache.cc"
#include "sim/coherence/private_cache_snoops.cc"
#include "sim/host/pcie/rlsq_agent.cc"
#include "sim/litmus/device_thread.cc"
#include "sim/litmus/explorer.cc"
#include "sim/litmus/host_thread.cc"
#include "sim/litmus/machines.cc"
#include "sim/litmus/mmio_path.cc"
#include "sim/litmus/operation_parser.cc"
#include "sim/litmus/parser.cc"
#include "sim/litmus/program.cc"
#include "sim/litmus/tokens.cc"
#include "sim/litmus/world.cc"
#include "sim/litmus/world_answers.cc"
#include "sim/litmus/world_words.cc"

namespace wharf::sim {
namespace {

/// Explores `files` until something is not as stated; the name of the file and design, or nothing.
std::string first_failure(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream stream("tests/litmus/" + file + ".litmus", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto program = parse_litmus(file, text);
    if (!program) return "cannot read " + file;
    for (const LitmusDesign design : program->designs()) {
      const LitmusExploration found = explore(*program, design, LitmusSteps::kReduced);
      bool fails = !found.violation.empty() || !found.deadlock.empty();
      for (std::size_t outcome = 0; outcome < program->outcomes.size(); ++outcome) {
        const LitmusJudgement* said = program->outcomes[outcome].judgement(design);
        fails = fails || (said != nullptr && said->what == LitmusClass::kForbidden && found.seen[outcome]);
      }
      if (fails) return file + " under " + std::string(name(design));
    }
  }
  return "";
}

/// The same in a process of its own, because a mistake may also run into a check of the machine. True when
/// something failed.
bool notices(const std::vector<std::string>& files) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(2);
    ::_exit(first_failure(files).empty() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

struct Mistake {
  const char* name;
  ordering::Mutation queue;
  CoherenceMutation coherence;
  ordering::MmioMutation mmio;
  std::vector<std::string> files;  ///< Programs that find it.
  LitmusMutation world = LitmusMutation::kNone;
};

Mistake of_queue(const char* name, ordering::Mutation mutation, std::vector<std::string> files) {
  return {name, mutation, CoherenceMutation::kNone, ordering::MmioMutation::kNone, std::move(files)};
}
Mistake of_coherence(const char* name, CoherenceMutation mutation, std::vector<std::string> files) {
  return {name, ordering::Mutation::kNone, mutation, ordering::MmioMutation::kNone, std::move(files)};
}
Mistake of_mmio(const char* name, ordering::MmioMutation mutation, std::vector<std::string> files) {
  return {name, ordering::Mutation::kNone, CoherenceMutation::kNone, mutation, std::move(files)};
}

Mistake of_world(const char* name, LitmusMutation mutation, std::vector<std::string> files) {
  return {name,
          ordering::Mutation::kNone,
          CoherenceMutation::kNone,
          ordering::MmioMutation::kNone,
          std::move(files),
          mutation};
}

TEST(LitmusMutations, EachIsNoticed) {
  using ordering::MmioMutation;
  using Queue = ordering::Mutation;
  const std::vector<Mistake> mistakes{
      of_queue("a missed squash", Queue::kMissedSquash, {"l02-acquire-flag"}),
      of_queue("tracking from arrival", Queue::kTrackingFromArrival, {"l02-acquire-flag"}),
      of_queue("an early commit", Queue::kEarlyCommit, {"l02-acquire-flag"}),
      of_queue("a shared acquire flag", Queue::kSharedAcquireFlag,
               {"threads-acquire-each", "acquire-two-lines-low", "acquire-two-lines-high"}),
      of_queue("an acquire that ends early", Queue::kAcquireEndsEarly,
               {"acquire-two-lines-low", "acquire-two-lines-high"}),
      of_queue("a release that ignores reads", Queue::kReleaseIgnoresReads, {"l10-release-after-read"}),
      of_queue("a release that ignores writes", Queue::kReleaseIgnoresWrites, {"l06-release-flag"}),
      of_queue("reads that pass writes", Queue::kWriteBeforeReadForgotten, {"l11-store-buffering"}),
      of_queue("strong writes in any order", Queue::kStrongWritesUnordered, {"l04-strong-writes"}),
      of_queue("lines in any order", Queue::kAscendingForgotten, {"ascending-read"}),
      of_queue("a read that passes its own write", Queue::kReadPassesOwnWrite, {"own-write-then-read"}),
      of_queue("a read-release that waits for nothing", Queue::kReadReleaseIgnored, {"read-release"}),
      of_coherence("a forgotten back-invalidation", CoherenceMutation::kForgottenBackInvalidation,
                   {"back-invalidation-one", "back-invalidation", "host-mp-evictions"}),
      of_coherence("a forgotten acknowledgement", CoherenceMutation::kForgottenInvalidateAck,
                   {"l02-acquire-flag"}),
      of_coherence("a forgotten sharer", CoherenceMutation::kForgottenSharer, {"host-mp-warm-shared"}),
      of_coherence("a hidden snoop", CoherenceMutation::kHiddenFlightSnoop, {"l02-acquire-flag"}),
      of_coherence("a copy that outlives its invalidation", CoherenceMutation::kCopyOutlivesInvalidate,
                   {"host-mp-warm-shared"}),
      of_coherence("modified bytes called clean", CoherenceMutation::kCleanSnoopAnswer,
                   {"l02-acquire-flag", "host-mp-evictions"}),
      of_mmio("a release that does not wait", MmioMutation::kReleaseDoesNotWait, {"mmio-store-release"}),
      of_mmio("an sfence that forgets open lines", MmioMutation::kFenceForgetsOpenLines,
              {"mmio-combining-sfence"}),
      of_mmio("a number that does not wrap", MmioMutation::kForgottenWrap, {"mmio-window"}),
      of_world("answers that pass a device's writes", LitmusMutation::kCompletionsPassWrites,
               {"mmio-completion"}),
      of_world("answers that pass a core's writes", LitmusMutation::kCompletionsPassWrites,
               {"mmio-completion-to-device"}),
      of_mmio("a fence that begins no epoch", MmioMutation::kForgottenFence, {"fence-o-o"}),
      of_mmio("stores to one register in any order", MmioMutation::kOwnBytesForgotten, {"mmio-own-stores"}),
      of_queue("an atomic that releases, and no acquire waits", Queue::kAtomicReleaseForgotten,
               {"l12-release-then-acquire-rcsc-atomic"}),
      of_world("loads that pass stores on the link", LitmusMutation::kLoadsPassStores,
               {"mmio-uncached-then-load", "mmio-own-store-then-load"}),
      of_world("loads that leave what is combined behind", LitmusMutation::kLoadsForgetCombined,
               {"mmio-combining-then-load"}),
      of_world("a fence that leaves what is combined behind", LitmusMutation::kFenceForgetsCombined,
               {"mmio-combining-fence"}),
      of_world("a fence that does not wait for the reorder buffer", LitmusMutation::kFenceForgetsNumbered,
               {"mmio-release-fence-memory", "fence-o-w"}),
      of_world("stores that pass uncached ones", LitmusMutation::kStoresPassUncached,
               {"mmio-uncached-then-store"}),
  };
  for (const Mistake& mistake : mistakes) {
    ordering::active_mutation = mistake.queue;
    coherence_mutation = mistake.coherence;
    ordering::mmio_mutation = mistake.mmio;
    litmus_mutation = mistake.world;
    EXPECT_TRUE(notices(mistake.files)) << mistake.name;
    ordering::active_mutation = Queue::kNone;
    coherence_mutation = CoherenceMutation::kNone;
    ordering::mmio_mutation = MmioMutation::kNone;
    litmus_mutation = LitmusMutation::kNone;
    EXPECT_FALSE(notices(mistake.files)) << mistake.name << ": the programs fail without it, too";
  }
}

// A fetch that overtakes the bytes is never answered: everything else waits for it.
TEST(LitmusMutations, ADeadlockIsReportedWithItsTrace) {
  const auto program = parse_litmus("stuck",
                                    "litmus Stuck { x } host P | host Q ; W x 1 | W x 2 ;\n"
                                    "exists (x=1) allowed baseline");
  ASSERT_TRUE(program.ok());
  coherence_mutation = CoherenceMutation::kForgottenDeferredSnoop;
  const auto found = explore(*program, LitmusDesign::kBaseline, LitmusSteps::kEvery);
  EXPECT_FALSE(found.deadlock.empty());
  const auto trace = shortest_trace(*program, LitmusDesign::kBaseline, LitmusSteps::kEvery,
                                    {LitmusTarget::Kind::kDeadlock, 0});
  EXPECT_GE(trace.size(), 5U);
  coherence_mutation = CoherenceMutation::kNone;
  EXPECT_TRUE(explore(*program, LitmusDesign::kBaseline, LitmusSteps::kEvery).deadlock.empty());
}

}  // namespace
}  // namespace wharf::sim
