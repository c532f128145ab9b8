// SPDX-License-Identifier: Apache-2.0
#include "live/udp/lent_data.h"

#include <gtest/gtest.h>

#include <vector>

namespace wharf::live {
namespace {

/// Notes what the pool still holds whenever something is sent.
class NotingPort final : public DatagramPort {
 public:
  explicit NotingPort(const wire::PayloadPool& pool) : DatagramPort(-1, {}), pool_(pool) {}
  std::size_t receive() override { return 0; }
  std::vector<std::uint32_t> held;

 private:
  void send_queued(std::size_t) override { held.push_back(pool_.in_use()); }
  const wire::PayloadPool& pool_;
};

struct LentDataTest : testing::Test {
  /// Queues a frame, with data or without, and gives its buffer back.
  void send(bool apart) {
    const wire::BufferId buffer = pool.acquire(64);
    port.queue({});
    port.set_queued_length(1);
    if (apart) port.queue_data({pool.data(buffer), 64});
    lent.release(buffer);
  }
  wire::PayloadPool pool;
  NotingPort port{pool};
  LentData lent{port, pool};
};

TEST_F(LentDataTest, ABufferThatThePortReadsIsKeptUntilItHasBeenSent) {
  send(true);
  EXPECT_EQ(pool.in_use(), 1U);
  lent.send();
  EXPECT_EQ(port.held, std::vector<std::uint32_t>{1});
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST_F(LentDataTest, OtherBuffersGoBackAtOnceAndSendNothing) {
  send(false);
  EXPECT_EQ(pool.in_use(), 0U);
  lent.send();
  EXPECT_TRUE(port.held.empty());
}

TEST_F(LentDataTest, MemoryOfTheProgramIsSentBeforeItChangesHands) {
  port.queue({});
  const std::byte memory{};
  port.queue_data({&memory, 1});
  lent.release(wire::kNoBuffer);
  EXPECT_TRUE(port.held.empty());
  lent.send();
  EXPECT_EQ(port.held, std::vector<std::uint32_t>{0});
  EXPECT_FALSE(port.holds_data());
}

// The port sends by itself when its batch is full; none of the buffers is kept for ever.
TEST_F(LentDataTest, NoMoreAreKeptThanABatch) {
  for (std::size_t each = 0; each < 10 * DatagramPort::kBatch; ++each) {
    send(true);
    EXPECT_LE(pool.in_use(), DatagramPort::kBatch);
  }
  // And the one that is queued next.
  for (const std::uint32_t held : port.held) EXPECT_LE(held, DatagramPort::kBatch + 1);
  lent.send();
  EXPECT_EQ(pool.in_use(), 0U);
}

}  // namespace
}  // namespace wharf::live
