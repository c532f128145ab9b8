// SPDX-License-Identifier: Apache-2.0
// Which of the peers that nothing here names makes room for the next.
#include "live/urma/greeted_peers.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace wharf::live::urma {
namespace {

class Crowd {
 public:
  Peer& add(std::uint32_t address) {
    Peer& peer = peers_.emplace_back();
    peer.endpoint = {address, static_cast<std::uint16_t>(peers_.size())};
    while (Peer* const other = greeted.in_the_way(address)) {
      gone.push_back(other);
      greeted.remove(*other);
    }
    greeted.add(peer);
    return peer;
  }
  GreetedPeers greeted;
  std::vector<Peer*> gone;

 private:
  std::deque<Peer> peers_;
};

TEST(GreetedPeers, AnAddressDisplacesItsOwnOnly) {
  Crowd crowd;
  Peer& other = crowd.add(1);
  Peer& first = crowd.add(2);
  for (std::size_t at = 1; at < GreetedPeers::kMostOfAddress; ++at) crowd.add(2);
  EXPECT_TRUE(crowd.gone.empty());
  crowd.add(2);
  EXPECT_EQ(crowd.gone, std::vector<Peer*>{&first});
  for (std::size_t at = 0; at < 3 * GreetedPeers::kMostOfAddress; ++at) crowd.add(2);
  EXPECT_EQ(crowd.greeted.size(), GreetedPeers::kMostOfAddress + 1);
  EXPECT_TRUE(other.greeting.listed);
}

TEST(GreetedPeers, ManyAddressesDisplaceEachOther) {
  Crowd crowd;
  Peer& works = crowd.add(1);
  crowd.greeted.heard(works);
  Peer& quiet = crowd.add(2);
  for (std::uint32_t at = 0; at < 2 * GreetedPeers::kMost; ++at) crowd.add(100 + at);
  EXPECT_EQ(crowd.greeted.size(), GreetedPeers::kMost);
  EXPECT_EQ(crowd.gone.front(), &quiet);
  EXPECT_TRUE(works.greeting.listed) << "it has sent packets";
}

TEST(GreetedPeers, OfThoseThatSendTheLongestQuietGoesFirst) {
  Crowd crowd;
  std::vector<Peer*> all;
  for (std::size_t at = 0; at < GreetedPeers::kMostOfAddress; ++at) {
    all.push_back(&crowd.add(1));
    crowd.greeted.heard(*all.back());
  }
  crowd.greeted.heard(crowd.add(1));
  EXPECT_EQ(crowd.gone, std::vector<Peer*>{all[0]}) << "all were heard once";
  crowd.greeted.heard(*all[1]);
  crowd.greeted.heard(crowd.add(1));
  EXPECT_EQ(crowd.gone.back(), all[2]);
  EXPECT_TRUE(all[1]->greeting.listed);
}

TEST(GreetedPeers, WhoLeavesIsNotChosen) {
  Crowd crowd;
  EXPECT_EQ(crowd.greeted.first(), nullptr);
  Peer& one = crowd.add(1);
  Peer& two = crowd.add(2);
  EXPECT_EQ(crowd.greeted.first(), &one);
  crowd.greeted.remove(one);
  crowd.greeted.remove(one);
  EXPECT_EQ(crowd.greeted.first(), &two);
  crowd.greeted.heard(one);
  crowd.greeted.add(one);
  EXPECT_EQ(crowd.greeted.first(), &two) << "it has sent nothing";
  crowd.greeted.remove(two);
  EXPECT_EQ(crowd.greeted.first(), &one);
}

}  // namespace
}  // namespace wharf::live::urma
