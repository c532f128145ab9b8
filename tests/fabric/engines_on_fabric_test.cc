// SPDX-License-Identifier: Apache-2.0
// The UB and RoCE engines on a small fat tree: every write completes, with and without loss, as structs and
// as bytes, on one thread and on several, and all of these tell the same story.
#include <memory>
#include <vector>

#include "base/arena.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/packet_host.h"
#include "sim/flows/engine_endpoint.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kSegmentBytes = 1U << 20U;

/// Writes `messages` messages, `depth` at a time.
struct Writer {
  Writer(PacketContext& shared, std::uint32_t message_count) : context(&shared), messages(message_count) {}

  template <typename E>
  void act(TimePs now, const PortEngines<E>& engines) {
    at = kNever;
    post(now, engines.of(0));
  }
  template <typename E>
  void completed(TimePs now, const PortEngines<E>& engines, const verbs::Completion& completion) {
    ++done;
    if (!completion.ok()) ++failed;
    last = now;
    if (done == messages) {
      ++context->finished;
    } else {
      post(now, engines.of(0));
    }
  }
  TimePs deadline() const { return at; }

  template <typename E>
  void post(TimePs now, E& engine) {
    constexpr std::uint32_t kDepth = 4;
    while (posted < messages && posted - done < kDepth) {
      verbs::WorkRequest request;
      request.id = posted++;
      request.verb = verbs::Verb::kWrite;
      request.peer = peer;
      request.length = 20'000;
      request.local_count = 1;
      request.local[0] = {kBase, request.length};
      request.remote = {kBase + 65536, token};
      EXPECT_EQ(engine.post(now, queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
    }
  }

  PacketContext* context;
  std::uint32_t messages;
  engine::QueueId queue = 0;
  verbs::PeerId peer = verbs::kNoPeer;
  verbs::SegmentToken token{};
  std::uint32_t posted = 0;
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
  TimePs at;
  TimePs last;
};

struct Ub {
  using Engine = ub::UbEngine;
  static Engine make(std::uint32_t host, wire::PayloadPool& pool, Arena& arena) {
    ub::UbConfig config;
    config.host = {host};
    return std::move(Engine::create(config, pool, arena).value());
  }
};

struct Roce {
  using Engine = roce::RoceEngine;
  static Engine make(std::uint32_t host, wire::PayloadPool& pool, Arena& arena) {
    roce::RoceConfig config;
    config.host = {host};
    return std::move(Engine::create(config, pool, arena).value());
  }
};

struct Outcome {
  FabricEnd end = FabricEnd::kDrained;
  std::uint64_t history = 0;
  std::uint64_t hops = 0;
  std::uint64_t refused = 0;
  std::vector<std::int64_t> last_ps;
  bool operator==(const Outcome&) const = default;
};

template <typename Protocol>
Outcome run(double loss, WireMode wire, std::uint32_t threads, FlowControl flow = FlowControl::kNone) {
  using Engine = typename Protocol::Engine;
  using Endpoint = EngineEndpoint<Engine, Writer>;
  using Host = PacketHost<Endpoint>;
  constexpr std::uint32_t kMessages = 20;

  const Topology topology = fat_tree(4, {gigabits_per_second(100), nanoseconds(500)}, nanoseconds(200));
  const auto to = cyclic_permutation(topology.host_count(), 5);
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.faults = {{.loss = loss}};
  config.flow_control = {.kind = flow, .xoff_bytes = 20'000, .xon_bytes = 10'000};
  EXPECT_TRUE(validate(config, topology).ok());
  Arena arena;
  Fabric<Host> fabric(
      topology, config,
      [&](NodeId host, PacketContext& context) {
        context.wire = wire;
        return Host(Endpoint(host, Protocol::make(host, context.payloads, arena), Writer(context, kMessages),
                             context.payloads),
                    {}, context);
      },
      threads);
  std::vector<engine::QueueId> sending(topology.host_count());
  std::vector<engine::QueueId> receiving(topology.host_count());
  std::vector<verbs::SegmentToken> tokens(topology.host_count());
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    Engine& engine = fabric.host(host).endpoint().engine();
    sending[host] = engine.create_queue(kTimeZero, {}).value();
    receiving[host] = engine.create_queue(kTimeZero, {}).value();
    tokens[host] = engine.register_segment(kTimeZero, {.base = kBase, .length = kSegmentBytes}).value();
  }
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    Engine& mine = fabric.host(host).endpoint().engine();
    Engine& other = fabric.host(to[host]).endpoint().engine();
    const auto my_blob = mine.export_queue(sending[host]).value();
    const auto other_blob = other.export_queue(receiving[to[host]]).value();
    Writer& writer = fabric.host(host).endpoint().driver();
    writer.queue = sending[host];
    writer.peer = mine.connect(kTimeZero, sending[host], other_blob).value();
    EXPECT_TRUE(other.connect(kTimeZero, receiving[to[host]], my_blob).ok());
    writer.token = tokens[to[host]];
  }
  Outcome outcome;
  outcome.end = fabric.run_until(seconds(5), topology.host_count());
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const Writer& writer = fabric.host(host).endpoint().driver();
    EXPECT_EQ(writer.done, kMessages);
    EXPECT_EQ(writer.failed, 0u);
    outcome.last_ps.push_back(writer.last.ps);
  }
  outcome.history = fabric.counters().history;
  outcome.hops = fabric.counters().hops;
  for (std::uint32_t i = 0; i < fabric.partition_count(); ++i)
    outcome.refused += fabric.context(i).refused_by_decoder;
  EXPECT_EQ(outcome.refused, 0u);
  return outcome;
}

template <typename Protocol>
class EnginesOnFabric : public testing::Test {};
using Protocols = testing::Types<Ub, Roce>;
TYPED_TEST_SUITE(EnginesOnFabric, Protocols);

TYPED_TEST(EnginesOnFabric, LossFreeWritesFinish) {
  const Outcome plain = run<TypeParam>(0, WireMode::kStructs, 1);
  EXPECT_EQ(plain.end, FabricEnd::kFinished);
  EXPECT_TRUE(run<TypeParam>(0, WireMode::kBytes, 1) == plain);
  EXPECT_TRUE(run<TypeParam>(0, WireMode::kStructs, 4) == plain);
}

TYPED_TEST(EnginesOnFabric, WritesFinishUnderLoss) {
  const Outcome plain = run<TypeParam>(0.01, WireMode::kStructs, 1);
  EXPECT_EQ(plain.end, FabricEnd::kFinished);
  EXPECT_TRUE(run<TypeParam>(0.01, WireMode::kBytes, 1) == plain);
  EXPECT_TRUE(run<TypeParam>(0.01, WireMode::kStructs, 2) == plain);
  EXPECT_TRUE(run<TypeParam>(0.01, WireMode::kBytes, 3) == plain);
}

TYPED_TEST(EnginesOnFabric, WritesFinishUnderFlowControl) {
  for (const FlowControl flow : {FlowControl::kPause, FlowControl::kCredit}) {
    const Outcome plain = run<TypeParam>(0, WireMode::kStructs, 1, flow);
    EXPECT_EQ(plain.end, FabricEnd::kFinished);
    EXPECT_TRUE(run<TypeParam>(0, WireMode::kStructs, 2, flow) == plain);
  }
}

}  // namespace
}  // namespace wharf::sim
