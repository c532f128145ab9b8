// SPDX-License-Identifier: Apache-2.0
// Messages that a core writes to its NIC: by hand where lines come as they left, in order where they do not.
// A line takes 150 ns, and 1.5 ns of the link (64 B behind a header of 32 B, 64 bytes a nanosecond); one
// leaves every 4 ns; the unit needs 4 ns per message.
#include "sim/host/core/mmio_stream.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wharf::sim {
namespace {

HostConfig plain() {
  HostConfig config;
  config.pcie.mmio_write = nanoseconds(150);
  config.pcie.rate = gigabits_per_second(512);
  config.pcie.request_header = 32;
  config.mmio_stream.line = nanoseconds(4);
  config.mmio_stream.buffer_bytes = 8192;
  config.mmio_stream.spread = kTimeZero;
  return config;
}

class Rig : public Component {
 public:
  explicit Rig(const HostConfig& config, std::uint32_t queues = 1)
      : dram(config.memory, config.time.rounding),
        bus(config.bus, config.time.rounding),
        port(config, Attachment::kPcie, {memory, dram, bus, tracer, payloads}, 0),
        stream(simulation, config, port, RandomStream(1, "test"), "stream"),
        owners(queues) {
    simulation.add(*this, "core");
    for (std::uint32_t i = 0; i < queues; ++i) {
      owners[i].rig = this;
      owners[i].queue = stream.add_queue(owners[i]);
    }
  }
  void handle(const Event&) override {}

  struct Owner : StreamClient {
    void message_in(TimePs now, std::uint32_t ticket) override {
      rig->got.push_back({ticket, now});
      in.push_back(ticket);
      if (rig->forgets > 0) rig->stream.forget(rig->stream.id(), rig->forgets);
    }
    Rig* rig = nullptr;
    std::uint32_t queue = 0;
    std::vector<std::uint32_t> in;
  };

  void send(TimePs at, std::uint32_t bytes, std::uint32_t ticket, std::uint32_t queue = 0) {
    stream.send(at, id(), queue, bytes, ticket);
  }
  void run() { simulation.run_until(simulation.now() + seconds(1)); }

  Simulation simulation;
  HostMemory memory;
  Dram dram;
  OnChipBus bus;
  trace::Tracer tracer;
  wire::PayloadPool payloads;
  MemoryPort port;
  MmioStream stream;
  std::vector<Owner> owners;
  std::uint32_t forgets = 0;  ///< Bytes of each message, to be forgotten as it is in.
  std::vector<std::pair<std::uint32_t, TimePs>> got;
};

// One line: 151.5 ns and the unit. Four lines: the last leaves after 12 ns.
TEST(MmioStream, AMessageIsInWithItsLastLine) {
  Rig rig(plain());
  rig.send(kTimeZero, 64, 7);
  rig.run();
  ASSERT_EQ(rig.got.size(), 1U);
  EXPECT_EQ(rig.got[0], std::pair(7U, picoseconds(155'500)));
  EXPECT_EQ(rig.stream.store_time(64), kTimeZero);
  EXPECT_EQ(rig.stream.store_time(256), nanoseconds(12));
  const TimePs begin = rig.simulation.now();
  rig.send(begin, 193, 8);  // Filled up to 256.
  rig.run();
  ASSERT_EQ(rig.got.size(), 2U);
  EXPECT_EQ(rig.got[1].second - begin, picoseconds(12'000 + 155'500));
}

// The core's 4 ns per line or the unit's time per message, whatever is more.
TEST(MmioStream, RateOfSmallMessages) {
  Rig rig(plain());
  for (std::uint32_t i = 0; i < 100; ++i) rig.send(kTimeZero, 64, i);
  rig.run();
  ASSERT_EQ(rig.got.size(), 100U);
  EXPECT_EQ(rig.got[99].second, picoseconds(99 * 4'000 + 155'500));
  HostConfig config = plain();
  config.mmio_stream.unit_cycle = nanoseconds(10);
  Rig slow(config);
  for (std::uint32_t i = 0; i < 100; ++i) slow.send(kTimeZero, 64, i);
  slow.run();
  EXPECT_EQ(slow.got[99].second, picoseconds(100 * 20'000 + 151'500));
}

// With two credits the third line leaves when the first is in the unit, at 151.5 ns, and the fourth at 155.5.
TEST(MmioStream, CreditsHoldUpLines) {
  HostConfig config = plain();
  config.pcie.posted_credits = 2;
  Rig rig(config);
  rig.send(kTimeZero, 256, 1);
  rig.run();
  ASSERT_EQ(rig.got.size(), 1U);
  EXPECT_EQ(rig.got[0].second, picoseconds(155'500 + 151'500 + 4'000));
  // Eight buffers wait for them, then the core does.
  EXPECT_EQ(rig.stream.counters().stalls, 0U);
  rig.send(rig.simulation.now(), 1024, 2);
  rig.run();
  EXPECT_EQ(rig.got.size(), 2U);
  EXPECT_GT(rig.stream.counters().stalls, 0U);
}

// The NIC has room for 128 lines: the next message waits in its data buffer until one is forgotten.
TEST(MmioStream, NicMemoryHoldsUpMessages) {
  HostConfig config = plain();
  config.mmio_stream.memory_bytes = 8192;
  Rig rig(config);
  for (std::uint32_t i = 0; i < 400; ++i) rig.send(kTimeZero, 64, i);
  rig.run();
  EXPECT_EQ(rig.got.size(), 128U);
  EXPECT_GT(rig.stream.counters().held, 0U);
  std::vector<std::string> lines;
  rig.stream.describe_waiting(lines);
  EXPECT_FALSE(lines.empty());
  rig.stream.forget(rig.id(), 64);
  rig.run();
  EXPECT_EQ(rig.got.size(), 129U);
  rig.forgets = 64;
  rig.stream.forget(rig.id(), 64);
  rig.run();
  ASSERT_EQ(rig.got.size(), 400U);
  for (std::uint32_t i = 0; i < 400; ++i) EXPECT_EQ(rig.got[i].first, i);
}

// Lines pass each other over up to 200 ns, windows wrap, queues share two data buffers and NIC memory is
// short: every message comes, once, in the order of its queue.
TEST(MmioStream, OrderIsRestored) {
  HostConfig config = plain();
  config.mmio_stream.spread = nanoseconds(200);
  config.mmio_stream.window_bytes = 65'536;
  config.mmio_stream.buffer_bytes = 16'384;
  config.mmio_stream.memory_bytes = 16'384;
  config.mmio_stream.buffers = 2;
  ASSERT_TRUE(validate(config));
  Rig rig(config, 3);
  RandomStream random(1, "sizes");
  std::vector<std::vector<std::uint32_t>> sent(3);
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto bytes = static_cast<std::uint32_t>(64 + random.below(4097));
    rig.forgets = MmioStream::message_bytes(bytes);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const auto queue = static_cast<std::uint32_t>(random.below(3));
      sent[queue].push_back(100 * round + i);
      rig.send(rig.simulation.now(), bytes, sent[queue].back(), queue);
    }
    rig.run();
  }
  for (std::uint32_t queue = 0; queue < 3; ++queue) EXPECT_EQ(rig.owners[queue].in, sent[queue]);
  EXPECT_GT(rig.stream.counters().passed, 1000U);
}

TEST(MmioStream, ABufferThatLinesCanRunAheadOfIsRefused) {
  HostConfig config;
  EXPECT_TRUE(validate(config));
  config.mmio_stream.buffer_bytes = 4096;
  const auto refused = validate(config);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("mmio_stream.buffer_bytes is 4096, expected a power of two of at "
                                         "least 5120"),
            std::string::npos)
      << refused.error().message;
  config = {};
  config.mmio_stream.memory_bytes = 100;
  EXPECT_FALSE(validate(config));
  config = {};
  config.mmio_stream.window_bytes = 8192;
  EXPECT_FALSE(validate(config));
  config = {};
  config.mmio_stream.line = kTimeZero;
  EXPECT_FALSE(validate(config));
}

}  // namespace
}  // namespace wharf::sim
