// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/send_window.h"

#include "engine/reliability/receive_window.h"

namespace wharf::reliability {
namespace {

struct Slot {
  int value = 0;
};

class SendWindowTest : public ::testing::Test {
 protected:
  void send(int count) {
    for (int i = 0; i < count; ++i) {
      const auto value = static_cast<int>(window_.next() - kFirst);
      window_.push().value = value;
    }
  }
  auto collect() {
    return [this](Slot& slot) { released_.push_back(slot.value); };
  }

  static constexpr std::uint64_t kFirst = first_logical(wire::kPsnMask - 2);
  Arena arena_;
  SendWindow<Slot> window_{arena_, 8, kFirst};
  std::vector<int> released_;
};

TEST_F(SendWindowTest, FillsAndEmpties) {
  send(8);
  EXPECT_TRUE(window_.full());
  EXPECT_TRUE(window_.acknowledge_before(kFirst + 3, collect()));
  EXPECT_EQ(released_, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(window_.outstanding(), 5u);
  EXPECT_FALSE(window_.acknowledge_before(kFirst + 3, collect()));
  EXPECT_EQ(window_.unwrap(wire::psn_wrap(kFirst + 5)), kFirst + 5);
}

TEST_F(SendWindowTest, ALimitBelowTheCapacityHolds) {
  window_.set_limit(2);
  send(2);
  EXPECT_TRUE(window_.full());
  window_.set_limit(100);
  EXPECT_EQ(window_.limit(), 8u);
}

TEST_F(SendWindowTest, SelectiveAcknowledgementsLeaveTombstones) {
  send(5);
  EXPECT_TRUE(window_.acknowledge_one(kFirst + 2, collect()));
  EXPECT_FALSE(window_.acknowledge_one(kFirst + 2, collect()));
  EXPECT_TRUE(window_.acknowledge_one(kFirst + 1, collect()));
  EXPECT_FALSE(window_.advance_over_confirmed());
  EXPECT_TRUE(window_.acknowledge_before(kFirst + 1, collect()));
  EXPECT_EQ(window_.una(), kFirst + 3);
  EXPECT_EQ(released_, (std::vector<int>{2, 1, 0}));
}

TEST_F(SendWindowTest, RetransmissionsComeInOrderAndOnce) {
  send(6);
  EXPECT_TRUE(window_.queue_retransmission(kFirst + 4));
  EXPECT_TRUE(window_.queue_retransmission(kFirst + 1));
  EXPECT_FALSE(window_.queue_retransmission(kFirst + 1));
  EXPECT_EQ(window_.first_retransmission(), kFirst + 1);
  window_.retransmitted(kFirst + 1);
  EXPECT_EQ(window_.first_retransmission(), kFirst + 4);
  window_.acknowledge_one(kFirst + 4, collect());
  EXPECT_EQ(window_.retransmissions_queued(), 0u);
}

TEST_F(SendWindowTest, RewindQueuesEverythingUnconfirmed) {
  send(6);
  window_.acknowledge_one(kFirst + 3, collect());
  EXPECT_EQ(window_.rewind(kFirst + 2, window_.next()), 3u);
  EXPECT_EQ(window_.retransmission_from(kFirst + 3, window_.next()), kFirst + 4);
  EXPECT_TRUE(window_.acknowledge_before(kFirst + 5, collect()));
  EXPECT_EQ(window_.retransmissions_queued(), 1u);
  EXPECT_EQ(window_.first_retransmission(), kFirst + 5);
}

TEST_F(SendWindowTest, ReusesSlotsWithoutOldFlags) {
  for (int round = 0; round < 5; ++round) {
    send(8);
    window_.rewind(window_.una(), window_.next());
    window_.acknowledge_before(window_.next(), collect());
    EXPECT_EQ(window_.retransmissions_queued(), 0u);
  }
  EXPECT_EQ(released_.size(), 40u);
}

}  // namespace
}  // namespace wharf::reliability
