// SPDX-License-Identifier: Apache-2.0
// Memory that is offered to a worker: how long an offer stands, and who hears that it is mapped. The sockets
// are real, the time is the test's.
#include "live/rdmo/memory_offers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace wharf::live {
namespace {

/// The UCX address of a worker that no other test has.
std::vector<std::byte> address_of_worker(int which) {
  const std::string text = "a worker of process " + std::to_string(::getpid()) + ", " + std::to_string(which);
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

class MemoryOffersTest : public ::testing::Test {
 protected:
  MemoryOffersTest() : worker_(address_of_worker(0)), offers_(MemoryOffers::listen(worker_).value()) {}
  OfferedMemory offer() { return OfferedMemory::offer(worker_, memory_).value(); }

  std::vector<std::byte> worker_;
  MemoryOffers offers_;
  SealedMemory memory_ = SealedMemory::create(4096).value();
};

TEST_F(MemoryOffersTest, AnOfferIsTakenOnceAndItsTargetHearsThatItIsMapped) {
  const OfferedMemory first = offer();
  const OfferedMemory second = offer();
  offers_.progress(seconds(1));
  EXPECT_EQ(offers_.waiting(), 2U);
  const auto taken = offers_.take(first.token());
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->address, reinterpret_cast<std::uint64_t>(memory_.bytes().data()));
  EXPECT_TRUE(SealedMemory::map(taken->file).ok());
  EXPECT_FALSE(first.mapped()) << "nobody has said so";
  taken->confirm();
  EXPECT_TRUE(first.mapped());
  EXPECT_FALSE(second.mapped());
  EXPECT_FALSE(offers_.take(first.token()));
}

TEST_F(MemoryOffersTest, AnOfferWhoseTargetHasGoneIsDropped) {
  OfferToken token;
  {
    const OfferedMemory left = offer();
    token = left.token();
    offers_.progress(seconds(1));
    EXPECT_EQ(offers_.waiting(), 1U);
  }
  const OfferedMemory stays = offer();
  offers_.progress(seconds(1));
  EXPECT_EQ(offers_.waiting(), 1U);
  EXPECT_FALSE(offers_.take(token));
  EXPECT_TRUE(offers_.take(stays.token()));
}

TEST_F(MemoryOffersTest, AnOfferStandsForSomeSecondsAndNoLonger) {
  const OfferedMemory early = offer();
  offers_.progress(seconds(1));
  const OfferedMemory late = offer();
  offers_.progress(seconds(3));
  offers_.progress(seconds(1) + MemoryOffers::kStands);
  EXPECT_EQ(offers_.waiting(), 2U);
  offers_.progress(seconds(2) + MemoryOffers::kStands);
  EXPECT_EQ(offers_.waiting(), 1U);
  EXPECT_FALSE(offers_.take(early.token()));
  EXPECT_TRUE(offers_.take(late.token()));
}

TEST_F(MemoryOffersTest, OffersAreBounded) {
  std::vector<OfferedMemory> all;
  for (std::size_t i = 0; i < MemoryOffers::kMost + 20; ++i) {
    all.push_back(offer());
    offers_.progress(seconds(1));
  }
  EXPECT_EQ(offers_.waiting(), MemoryOffers::kMost);
  EXPECT_FALSE(offers_.take(all.front().token())) << "the oldest went";
  EXPECT_TRUE(offers_.take(all.back().token()));
}

TEST_F(MemoryOffersTest, EachWorkerHasItsOwn) {
  const std::vector<std::byte> other = address_of_worker(1);
  EXPECT_FALSE(OfferedMemory::offer(other, memory_)) << "nobody listens there";
  auto offers = MemoryOffers::listen(other);
  ASSERT_TRUE(offers) << offers.error().message;
  const OfferedMemory offered = OfferedMemory::offer(other, memory_).value();
  offers_.progress(seconds(1));
  offers->progress(seconds(1));
  EXPECT_EQ(offers_.waiting(), 0U);
  EXPECT_EQ(offers->waiting(), 1U);
}

}  // namespace
}  // namespace wharf::live
