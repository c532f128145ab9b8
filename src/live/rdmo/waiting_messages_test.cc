// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/waiting_messages.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wharf::live {
namespace {

using rdmo::PeerId;
using rdmo::Taken;

class WaitingMessagesTest : public ::testing::Test {
 protected:
  bool add(PeerId peer, std::uint64_t number) {
    return waiting_.add(peer, 0, std::vector<std::byte>(16), {nullptr, 1, number});
  }
  /// What was taken in one pass, by peer and number, when there is room for those of `open` alone.
  std::vector<std::pair<PeerId, std::uint64_t>> offer(const std::vector<PeerId>& open) {
    std::vector<std::pair<PeerId, std::uint64_t>> taken;
    waiting_.offer([&](const WaitingMessages::Message& each) {
      for (const PeerId peer : open) {
        if (each.peer != peer) continue;
        taken.emplace_back(each.peer, each.payload.handle);
        return Taken::kHeld;
      }
      ++refused_;
      return Taken::kNoRoom;
    });
    return taken;
  }
  WaitingMessages waiting_{3};
  WaitingMessages small_{100, 250};
  int refused_ = 0;
};

TEST_F(WaitingMessagesTest, OneThatFloodsIsTheOneThatIsRefused) {
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(add(1, i));
  EXPECT_TRUE(add(2, 3)) << "another one's place is its own";
  EXPECT_FALSE(add(1, 4));
  EXPECT_TRUE(add(2, 5));
  EXPECT_EQ(offer({1}).size(), 3U);
  EXPECT_TRUE(add(1, 6)) << "there is room again";
}

TEST_F(WaitingMessagesTest, EachOnesKeepTheirOrderAndPassThoseOfOthers) {
  add(1, 0);
  add(2, 1);
  add(1, 2);
  add(2, 3);
  add(3, 4);
  using List = std::vector<std::pair<PeerId, std::uint64_t>>;
  EXPECT_EQ(offer({2}), (List{{2, 1}, {2, 3}}));
  EXPECT_EQ(refused_, 2) << "of each one that found no room, the first is asked for alone";
  EXPECT_EQ(offer({1, 2}), (List{{1, 0}, {1, 2}}));
  EXPECT_FALSE(waiting_.empty());
  EXPECT_EQ(offer({3}), (List{{3, 4}}));
  EXPECT_TRUE(waiting_.empty());
}

TEST_F(WaitingMessagesTest, BytesThatAreHereAreBoundedToo) {
  const std::vector<std::byte> data(100);
  const auto add = [&](PeerId peer, const std::byte* at) {
    return small_.add(peer, 0, std::vector<std::byte>(16), {at, 100, 7});
  };
  EXPECT_TRUE(add(1, data.data()));
  EXPECT_TRUE(add(1, data.data()));
  EXPECT_FALSE(add(1, data.data())) << "348 bytes, 250 are allowed";
  EXPECT_TRUE(add(1, nullptr)) << "what is still with its sender takes no room here";
  EXPECT_TRUE(add(2, data.data()));
  EXPECT_FALSE(small_.has(3));
}

TEST_F(WaitingMessagesTest, ThoseOfOneThatHasGoneAreGivenBackAndOffersThemNoMore) {
  add(1, 0);
  add(2, 1);
  add(1, 2);
  std::vector<std::uint64_t> given;
  waiting_.drop(1, [&](const WaitingMessages::Message& each) { given.push_back(each.payload.handle); });
  EXPECT_EQ(given, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_FALSE(waiting_.has(1));
  EXPECT_EQ(offer({1, 2}).size(), 1U);
}

}  // namespace
}  // namespace wharf::live
