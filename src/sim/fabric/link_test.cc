// SPDX-License-Identifier: Apache-2.0
// Links act exactly on time, and their faults are seeded, counted and leak nothing.
#include "sim/fabric/link.h"

#include "wire/frame.h"

namespace wharf::sim {
namespace {

/// Writes down what arrives.
class Collector final : public LinkReceiver {
 public:
  explicit Collector(Simulation& simulation) : simulation_(simulation) {}
  TimePs announce(const wire::Packet&) const override { return latency; }
  void receive(const wire::Packet& packet, TimePs arrival) override {
    EXPECT_GE(simulation_.now(), arrival + latency);
    arrivals.push_back(arrival);
    told.push_back(simulation_.now());
    ids.push_back(packet.roce.bth.psn);
    if (packet.payload.length > 0) first_bytes.push_back(wire::payload_byte(packet.payload, 0));
  }
  TimePs latency;
  std::vector<TimePs> arrivals, told;
  std::vector<std::uint32_t> ids;
  std::vector<std::byte> first_bytes;

 private:
  Simulation& simulation_;
};

struct Bench {
  explicit Bench(const LinkConfig& config, std::uint64_t seed = 1)
      : link(simulation, config, RandomStream(seed, "link"), payloads, tracer, 0), collector(simulation) {
    simulation.add(link, "link");
    link.connect(collector);
  }
  void send(std::uint32_t id, std::uint32_t bytes, TimePs head, TimePs tail) {
    wire::Packet packet = wire::roce_packet();
    packet.source = {0};
    packet.destination = {1};
    packet.roce.bth.opcode = wire::RoceOpcode::kRcWriteMiddle;
    packet.roce.bth.psn = id;
    if (bytes > 0) {
      const wire::BufferId buffer = payloads.acquire(bytes);
      std::byte* data = payloads.data(buffer);
      for (std::uint32_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(id);
      packet.payload = wire::bytes_payload(data, bytes, buffer);
    }
    packet.header_bytes = wire::wire_header_bytes(packet);
    link.next_packet() = packet;
    link.send(head, tail, link.id());
  }
  Simulation simulation;
  wire::PayloadPool payloads;
  trace::Tracer tracer;
  LinkDirection link;
  Collector collector;
};

LinkConfig payload_link() {
  LinkConfig config;
  config.delay = nanoseconds(100);
  config.rate = gigabits_per_second(8);  // 1 byte per ns.
  config.charged_bytes = ChargeRule::kPayload;
  return config;
}

TEST(Link, SerialisationThenPropagationNotBefore) {
  Bench bench(payload_link());
  bench.send(1, 64, nanoseconds(10), nanoseconds(10));
  EXPECT_EQ(bench.link.free_at(), nanoseconds(74));
  bench.simulation.run_until(picoseconds(173'999));
  EXPECT_TRUE(bench.collector.ids.empty());
  bench.simulation.run_until(nanoseconds(174));
  EXPECT_EQ(bench.collector.arrivals, std::vector<TimePs>{nanoseconds(174)});
}

TEST(Link, StreamsOfPacketsAreLimitedByTheRateAlone) {
  Bench bench(payload_link());
  for (std::uint32_t i = 0; i < 100; ++i) bench.send(i, 64, kTimeZero, kTimeZero);
  EXPECT_EQ(bench.simulation.events_pending(), 1U);
  bench.simulation.run_until(kNever);
  ASSERT_EQ(bench.collector.arrivals.size(), 100U);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(bench.collector.arrivals[static_cast<std::size_t>(i)], nanoseconds(64 * (i + 1) + 100));
  EXPECT_EQ(bench.payloads.in_use(), 0U);
}

TEST(Link, CutThroughOverlapsSerialisationWithTheFlits) {
  Bench bench(payload_link());
  // The head is ready at 0, the tail at 40: sending takes 64 ns and ends at 64, not at 104.
  bench.send(1, 64, kTimeZero, nanoseconds(40));
  // Here the tail comes later than sending would end: the last byte leaves with it, at 300.
  bench.send(2, 64, nanoseconds(100), nanoseconds(300));
  bench.simulation.run_until(kNever);
  EXPECT_EQ(bench.collector.arrivals, (std::vector<TimePs>{nanoseconds(164), nanoseconds(400)}));
}

TEST(Link, RealBytesIncludePreambleAndGap) {
  LinkConfig config = payload_link();
  config.charged_bytes = ChargeRule::kPacket;
  Bench bench(config);
  bench.send(1, 64, kTimeZero, kTimeZero);
  bench.simulation.run_until(kNever);
  // RoCE Write middle: Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 64, ICRC 4, FCS 4, preamble 8, gap 12 =
  // 146 B.
  EXPECT_EQ(bench.collector.arrivals.front(), nanoseconds(146 + 100));
}

TEST(Link, AccountingFloorsTheWireAsOneStage) {
  LinkConfig config;
  config.charged_bytes = ChargeRule::kPayload;
  config.rounding = StageRounding::kWholeNanoseconds;
  Bench bench(config);
  // wire(64) = floor(100 + 64 * 8 / 400) = 101.
  bench.send(1, 64, kTimeZero, kTimeZero);
  bench.simulation.run_until(kNever);
  EXPECT_EQ(bench.collector.arrivals.front(), nanoseconds(101));
}

TEST(Link, TellsTheReceiverAfterItsPipeline) {
  Bench bench(payload_link());
  bench.collector.latency = nanoseconds(25);
  bench.send(1, 64, kTimeZero, kTimeZero);
  bench.simulation.run_until(kNever);
  EXPECT_EQ(bench.collector.arrivals.front(), nanoseconds(164));
  EXPECT_EQ(bench.collector.told.front(), nanoseconds(189));
}

TEST(Link, FaultsAreCountedAndLeakNothing) {
  LinkConfig config = payload_link();
  config.faults = {.loss = 0.1,
                   .corruption = 0.1,
                   .duplication = 0.1,
                   .reordering = 0.1,
                   .reorder_delay = microseconds(1),
                   .jitter = nanoseconds(50)};
  for (const WireMode mode : {WireMode::kStructs, WireMode::kBytes}) {
    config.wire = mode;
    Bench bench(config);
    for (std::uint32_t i = 0; i < 2000; ++i) bench.send(i, 64, nanoseconds(100 * i), nanoseconds(100 * i));
    bench.simulation.run_until(kNever);
    const LinkCounters& counters = bench.link.counters();
    for (const std::uint64_t count :
         {counters.lost, counters.corrupted, counters.duplicated, counters.reordered}) {
      EXPECT_GT(count, 100U);
      EXPECT_LT(count, 300U);
    }
    EXPECT_EQ(counters.delivered, 2000 - counters.lost - counters.corrupted + counters.duplicated);
    EXPECT_EQ(bench.payloads.in_use(), 0U);
    EXPECT_FALSE(std::is_sorted(bench.collector.ids.begin(), bench.collector.ids.end()));
    // What arrives is undamaged.
    ASSERT_EQ(bench.collector.ids.size(), bench.collector.first_bytes.size());
    for (std::size_t i = 0; i < bench.collector.ids.size(); ++i)
      EXPECT_EQ(bench.collector.first_bytes[i], static_cast<std::byte>(bench.collector.ids[i]));
  }
}

TEST(Link, BothWireModesAndEveryRunOfASeedAreAlike) {
  LinkConfig config = payload_link();
  config.faults = {
      .loss = 0.1, .corruption = 0.1, .duplication = 0.1, .reordering = 0.1, .jitter = nanoseconds(50)};
  std::vector<std::uint64_t> prints;
  for (const auto& [mode, seed] : {std::pair{WireMode::kStructs, 1}, std::pair{WireMode::kStructs, 1},
                                   std::pair{WireMode::kBytes, 1}, std::pair{WireMode::kStructs, 2}}) {
    config.wire = mode;
    Bench bench(config, static_cast<std::uint64_t>(seed));
    for (std::uint32_t i = 0; i < 500; ++i) bench.send(i, 64, nanoseconds(100 * i), nanoseconds(100 * i));
    bench.simulation.run_until(kNever);
    prints.push_back(bench.simulation.fingerprint());
  }
  EXPECT_EQ(prints[0], prints[1]);
  EXPECT_EQ(prints[0], prints[2]);
  EXPECT_NE(prints[0], prints[3]);
}

TEST(Link, JitterKeepsTheOrder) {
  LinkConfig config = payload_link();
  config.faults.jitter = microseconds(1);
  Bench bench(config);
  for (std::uint32_t i = 0; i < 500; ++i) bench.send(i, 8, nanoseconds(100 * i), nanoseconds(100 * i));
  bench.simulation.run_until(kNever);
  EXPECT_TRUE(std::is_sorted(bench.collector.ids.begin(), bench.collector.ids.end()));
  EXPECT_TRUE(std::is_sorted(bench.collector.arrivals.begin(), bench.collector.arrivals.end()));
  EXPECT_GT(bench.collector.arrivals.front(), nanoseconds(108));
}

TEST(Link, DamagePastTheFrameCheckIsFoundByTheInvariantCrc) {
  LinkConfig config = payload_link();
  config.wire = WireMode::kBytes;
  config.faults.corruption_past_check = 1;
  Bench bench(config);
  for (std::uint32_t i = 0; i < 300; ++i) bench.send(i, 64, nanoseconds(100 * i), nanoseconds(100 * i));
  bench.simulation.run_until(kNever);
  const LinkCounters& counters = bench.link.counters();
  EXPECT_GT(counters.refused[static_cast<std::size_t>(wire::DropReason::kBadIcrc)], 100U);
  // What gets through was hit where the ICRC does not look: Ethernet addresses, TTL, ToS, the UDP checksum.
  EXPECT_LT(counters.delivered, 100U);
  EXPECT_EQ(bench.payloads.in_use(), 0U);
}

TEST(Link, RefusesWhatMakesNoSense) {
  LinkConfig config;
  EXPECT_TRUE(validate(config).ok());
  config.faults.loss = 1.5;
  EXPECT_EQ(validate(config).error().message, "faults.loss is 1.5, expected 0 to 1");
  config.faults.loss = 0;
  config.faults.corruption_past_check = 0.1;
  EXPECT_FALSE(validate(config).ok());
  config.wire = WireMode::kBytes;
  EXPECT_TRUE(validate(config).ok());
}

}  // namespace
}  // namespace wharf::sim
