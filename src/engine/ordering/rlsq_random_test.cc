// SPDX-License-Identifier: Apache-2.0
// Random lives of the queue against the judge, for every design; RapidCheck makes the choices and shrinks
// them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
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

/// The queue's state, and what the toy around it holds.
std::vector<std::byte> state_with_memory(const ToyMemory& toy, bool answers_in_order) {
  std::vector<std::byte> state;
  toy.queue.append_state(state);
  state.push_back(static_cast<std::byte>(answers_in_order));
  for (const ToyMemory::Sent& sent : toy.sent) {
    state.push_back(static_cast<std::byte>(sent.request.operation));
    state.push_back(static_cast<std::byte>(sent.request.line));
    state.push_back(static_cast<std::byte>(sent.is_ordered));
    state.insert(state.end(), sent.bytes.begin(), sent.bytes.begin() + 8);
  }
  for (LineNumber line = 0; line < 2; ++line) {
    const auto at = toy.memory.find(line);
    state.push_back(static_cast<std::byte>(at == toy.memory.end() ? 0 : at->second));
    state.push_back(static_cast<std::byte>(toy.tracked.count(line) + toy.owned.count(line) * 2 +
                                           toy.granted.count(line) * 4));
  }
  return state;
}

/// What happens from here on when a stranger writes once, each thread sends one of everything, and all is
/// served: every request and answer.
std::string future_of(ToyMemory toy) {
  toy.responses.clear();
  std::string text;
  if (toy.may_host_write(1)) text += "snoop " + std::to_string(static_cast<int>(toy.host_write(1, 0)));
  std::uint32_t tag = 10;
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    for (const Label label : {Label::kRelaxed, Label::kStrong, Label::kReadRelease, Label::kRelease}) {
      Request last;
      last.kind = label == Label::kRelease ? Kind::kWrite : Kind::kRead;
      last.label = label;
      last.domain.thread = thread;
      last.number = ~std::uint64_t{0} - tag;
      last.tag = tag++;
      last.line = label == Label::kRelaxed ? thread : tag;
      text += toy.accept(last) ? " accepted" : " refused";
    }
  }
  while (!toy.sent.empty()) {
    const MemoryRequest request = toy.sent.front().request;
    text += " " + std::to_string(static_cast<int>(request.operation)) + ":" + std::to_string(request.line);
    if (!toy.sent.front().is_ordered) toy.order(0);
    if (request.operation != MemoryOperation::kDrop) toy.arrive(0);
  }
  for (const Response& response : toy.responses) {
    text += " " + std::string(name(response.kind)) + " " + std::to_string(response.tag) + " of " +
            std::to_string(response.line) + " = " + std::to_string(word_of_line(response.bytes)) + "/" +
            std::to_string(response.old_value[0]);
  }
  return text;
}

RC_GTEST_PROP(RlsqRandom, EveryDesignKeepsItsOrderAndLosesNothing, (std::uint8_t options)) {
  // Of full size from the first case on: small numbers are small choices, and boring lives.
  const auto byte = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint8_t>());
  const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(700, byte);
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    const auto each = static_cast<RlsqDesign>(design);
    RandomRun run(random_run_config(each, options), ByteChoices{&bytes});
    const std::string verdict = run.run(16);
    if (!verdict.empty()) RC_FAIL(std::string(name(each)) + ": " + verdict);
  }
}

/// A few requests of two threads on two lines.
std::vector<Request> small_program(RandomStream& stream) {
  std::vector<Request> program;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Request request;
    request.kind = static_cast<Kind>(stream.below(kKindCount));
    request.label = static_cast<Label>(stream.below(kLabelCount));
    request.domain.thread = static_cast<std::uint32_t>(stream.below(2));
    request.number = i;
    request.line = stream.below(2);
    request.mask = byte_mask(0, 8);
    request.atomic = verbs::Verb::kSwap;
    program.push_back(request);
  }
  return program;
}

/// Goes every way from one state on, as far as `visits` allow, and compares the futures of states that are
/// met again.
struct Explorer {
  std::vector<Request> program;
  bool answers_in_order = false;
  int visits = 0;
  int met_again = 0;
  std::map<std::vector<std::byte>, std::string> futures;

  void visit(const ToyMemory& toy, std::size_t sent, int strangers) {
    if (visits-- <= 0) return;
    std::vector<std::byte> state = state_with_memory(toy, answers_in_order);
    const std::string future = future_of(toy);
    const auto [at, is_new] = futures.emplace(state, future);
    if (!is_new) {
      ++met_again;
      ASSERT_EQ(at->second, future);
    }
    for (std::uint64_t line = 0; strangers > 0 && line < 2; ++line) {
      if (!toy.may_host_write(line)) continue;
      ToyMemory next = toy;
      next.host_write(line, 0);
      visit(next, sent, strangers - 1);
    }
    for (std::size_t i = 0; i < toy.sent.size(); ++i) {
      if (!toy.sent[i].is_ordered && !toy.may_order(i)) continue;
      ToyMemory next = toy;
      next.sent[i].is_ordered ? next.arrive(i) : next.order(i);
      visit(next, sent, strangers);
    }
    if (sent == program.size()) return;
    ToyMemory next = toy;
    if (next.accept(program[sent])) visit(next, sent + 1, strangers);
  }
};

// Two queues with equal states have equal futures, whatever brought them there: what an explorer relies on.
// The programs of a design share one table of states, so that equal states of unequal programs are compared
// too.
TEST(RlsqRandom, EqualStatesHaveEqualFutures) {
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    SCOPED_TRACE(name(static_cast<RlsqDesign>(design)));
    Explorer explorer;
    for (std::uint64_t life = 1; life <= 60; ++life) {
      RandomStream stream(life, "state");
      RlsqConfig config;
      config.design = static_cast<RlsqDesign>(design);
      config.entries = config.trackers = 16;
      config.posted_reserve = 1;
      config.answers_in_order = explorer.answers_in_order = stream.below(2) != 0;
      explorer.program = small_program(stream);
      explorer.visits = 60;
      explorer.visit(ToyMemory(config), 0, 2);
    }
    EXPECT_GT(explorer.met_again, 500) << "or the test says nothing";
  }
}

}  // namespace
}  // namespace wharf::ordering
