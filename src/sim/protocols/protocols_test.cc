// SPDX-License-Identifier: Apache-2.0
// The lists are complete, and descriptions agree with the engines that they describe.
#include "sim/protocols/protocols.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wharf::sim {
namespace {

TEST(Protocols, EveryProtocolOfTheWireIsListedInItsPlace) {
  for (const wire::Protocol protocol : wire::kProtocols) {
    EXPECT_EQ(rules_of(protocol).protocol, protocol);
    visit_protocol(protocol, [&]<typename P>(std::type_identity<P>) { EXPECT_EQ(P::kProtocol, protocol); });
    visit_protocol(FabricProtocols(), protocol,
                   [&]<typename P>(std::type_identity<P>) { EXPECT_EQ(P::kProtocol, protocol); });
  }
}

TEST(Protocols, FlowRulesAskOfEnginesWhatTheyCan) {
  each_protocol([]<typename P>(std::type_identity<P>) {
    SCOPED_TRACE(wire::key_of(P::kProtocol));
    wire::PayloadPool payloads;
    Arena arena;
    auto engine = P::Engine::create(typename P::Config{}, payloads, arena);
    ASSERT_TRUE(engine.ok());
    const engine::Capabilities can = engine->capabilities();
    EXPECT_EQ(can.protocol, wire::key_of(P::kProtocol));
    // An engine that could do with one queue for all its peers may have one for each all the same.
    if (can.queue_per_peer || can.blob_per_peer) {
      EXPECT_TRUE(P::kRules.flows.queue_per_connection);
    }
    EXPECT_EQ(can.both_connect, P::kRules.flows.both_connect);
    EXPECT_EQ(can.write_imm_takes_receive, P::kRules.write_imm_takes_receive);
    EXPECT_EQ(can.load_store, wire::has_load_store(P::kProtocol));
  });
}

TEST(Protocols, StacksHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kStackCount; ++i) {
    const auto stack = static_cast<Stack>(i);
    EXPECT_TRUE(names.insert(name(stack)).second) << name(stack);
    EXPECT_FALSE(traits(stack).doc.empty());
    EXPECT_EQ(kStacks[i].value, stack);
  }
  EXPECT_EQ(traits(Stack::kUbLoadStore).protocol, wire::Protocol::kUb);
  EXPECT_TRUE(traits(Stack::kUbLoadStore).load_store);
  EXPECT_FALSE(traits(Stack::kUbUrma).load_store);
}

TEST(Protocols, CountersHaveNamesOfTheirOwn) {
  each_protocol([]<typename P>(std::type_identity<P>) {
    std::set<std::string> names;
    for (const NamedCounter& each : P::counters(typename P::Counters{})) {
      EXPECT_TRUE(names.insert(each.name).second) << each.name;
      EXPECT_EQ(each.value, 0U);
    }
    EXPECT_GT(names.size(), 10U);
  });
}

TEST(Protocols, SentencesAreTheSameAsEver) {
  EXPECT_EQ(
      sender_docs().controllers,
      "nscc for uet (which also has constant, swift, dcqcn), caqm for ub (ldcp, constant, swift, dcqcn, "
      "none), dcqcn for roce (constant, swift, none)");
  EXPECT_EQ(sender_docs().no_back_off, "not with protocol = \"roce\"");
  EXPECT_EQ(titles_of([](const ProtocolRules& rules) { return rules.receive_entries; }), "UB and RoCE");
}

}  // namespace
}  // namespace wharf::sim
