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

RlsqConfig small_queue(RlsqDesign design, std::uint8_t options) {
  RlsqConfig config;
  config.design = design;
  config.order.write_before_annotated_read = (options & 1U) != 0;
  config.order.release_before_acquire = (options & 2U) != 0;
  config.answers_in_order = (options & 4U) != 0;
  config.entries = (options & 8U) != 0 ? 1 : 24;
  config.trackers = (options & 16U) != 0 ? 1 : 8;
  config.posted_reserve = 1 + (options >> 5U) % 3;
  return config;
}

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

/// What happens from here on when a stranger writes once and then everything is served: every request and
/// answer.
std::string future_of(ToyMemory toy) {
  toy.responses.clear();
  std::string text;
  if (toy.may_host_write(1)) text += "snoop " + std::to_string(static_cast<int>(toy.host_write(1, 0)));
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    Request last;
    last.kind = Kind::kWrite;
    last.label = Label::kRelease;
    last.domain.thread = thread;
    last.number = ~std::uint64_t{0};
    last.tag = 9;
    last.line = thread;
    text += toy.accept(last) ? " accepted" : " refused";
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
    RandomRun run(small_queue(each, options), ByteChoices{&bytes});
    const std::string verdict = run.run(16);
    if (!verdict.empty()) RC_FAIL(std::string(name(each)) + ": " + verdict);
  }
}

// Two queues with equal states have equal futures, whatever brought them there: what an explorer relies on.
TEST(RlsqRandom, EqualStatesHaveEqualFutures) {
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    std::map<std::vector<std::byte>, std::string> futures;
    int met_again = 0;
    for (std::uint64_t life = 1; life <= 400; ++life) {
      RandomStream stream(life, "state");
      RlsqConfig config;
      config.design = static_cast<RlsqDesign>(design);
      config.entries = config.trackers = 8;
      config.answers_in_order = stream.below(2) != 0;
      ToyMemory toy(config);
      for (std::uint32_t step = 0; step < 40; ++step) {
        const std::uint64_t what = stream.below(8);
        if (what < 4) {
          Request request;
          request.kind = static_cast<Kind>(stream.below(kKindCount));
          request.label = static_cast<Label>(stream.below(kLabelCount));
          request.domain.thread = static_cast<std::uint32_t>(stream.below(2));
          request.number = life * 1000 + step;
          request.tag = static_cast<std::uint32_t>(stream.below(3));
          request.line = stream.below(2);
          request.mask = byte_mask(0, 8);
          request.atomic = verbs::Verb::kSwap;
          toy.accept(request);
        } else if (what == 4) {
          const LineNumber line = stream.below(2);
          if (toy.may_host_write(line)) toy.host_write(line, 0);
        } else if (!toy.sent.empty()) {
          const std::size_t at = stream.below(toy.sent.size());
          if (toy.sent[at].is_ordered) {
            toy.arrive(at);
          } else if (toy.may_order(at)) {
            toy.order(at);
          }
        }
        const std::vector<std::byte> state = state_with_memory(toy, config.answers_in_order);
        const auto [at, is_new] = futures.emplace(state, "");
        const std::string future = future_of(toy);
        if (is_new) at->second = future;
        if (!is_new) ++met_again;
        ASSERT_EQ(at->second, future) << name(config.design) << ", life " << life << ", step " << step;
      }
    }
    EXPECT_GT(met_again, 500) << "or the test says nothing";
  }
}

}  // namespace
}  // namespace wharf::ordering
