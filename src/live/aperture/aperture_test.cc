// SPDX-License-Identifier: Apache-2.0
// Apertures over every protocol, by UDP and in shared memory: what is loaded, stored, published and evicted.
#include "live/aperture/aperture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "live/aperture/aperture_shadow_test_support.h"
#include "live/aperture/aperture_test_support.h"

namespace wharf::live {
namespace {

constexpr std::uint64_t kPage = 4096;

class ApertureOver : public testing::TestWithParam<Way> {
 protected:
  ApertureOver() : server_(aperture_server(GetParam())) {}
  std::unique_ptr<ApertureSession> session(std::uint64_t slice_key = 0, bool writable = true) {
    return open_session(server_.place(), GetParam().protocol, slice_key, writable);
  }
  TestServer server_;
};
INSTANTIATE_TEST_SUITE_P(Live, ApertureOver, testing::ValuesIn(every_way()),
                         [](const auto& each) { return way_name(each.param); });

TEST_P(ApertureOver, WhatOnePublishesAnotherLoads) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto two = session(one->slice_key());
  EXPECT_EQ(one->bytes(), 256U * 1024);
  const auto writer = map_all(*one);
  const auto reader = map_all(*two);
  ASSERT_TRUE(writer && reader);
  for (std::uint64_t at = 0; at < writer->size(); at += 8) {
    const std::uint64_t value = at * 0x9e3779b97f4a7c15U;
    std::memcpy(writer->data() + at, &value, sizeof value);
  }
  const ApertureOutcome published = writer->publish();
  EXPECT_TRUE(published) << published.message;
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < reader->size(); at += 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, reader->data() + at, sizeof value);
    if (value != at * 0x9e3779b97f4a7c15U) ++wrong;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(reader->counters().writes, 0U);
}

TEST_P(ApertureOver, TwoThatChangeDifferentBytesOfAPageDoNotUndoEachOther) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto two = session(one->slice_key());
  const auto even = map_all(*one);
  const auto odd = map_all(*two);
  // Both have the page before either publishes.
  EXPECT_EQ(load(even->data()), load(odd->data()));
  for (std::uint64_t at = 0; at < kPage; at += 2) {
    store(even->data() + at, std::byte{0xee});
    store(odd->data() + at + 1, std::byte{0x0d});
  }
  EXPECT_TRUE(even->publish());
  EXPECT_TRUE(odd->publish());
  EXPECT_EQ(even->counters().bytes_written, kPage / 2);
  const std::vector<std::byte> memory = server_.memory();
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < kPage; ++at)
    wrong += memory[at] == (at % 2 == 0 ? std::byte{0xee} : std::byte{0x0d}) ? 0 : 1;
  EXPECT_EQ(wrong, 0U);
  // Each sees its own bytes, and after a refresh the other's, too.
  EXPECT_EQ(load(even->data() + 1), std::byte{0});
  EXPECT_TRUE(even->refresh(0, 1));
  EXPECT_EQ(load(even->data() + 1), std::byte{0x0d});
  EXPECT_EQ(load(even->data()), std::byte{0xee});
}

TEST_P(ApertureOver, SeveralThreadsThatFaultOnOnePageFetchItOnce) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.read_ahead_pages = 0});
  for (int turn = 0; turn < 8; ++turn) {
    std::byte* const at = aperture->data() + turn * kPage;
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int each = 0; each < 4; ++each) {
      threads.emplace_back([&, each] {
        ++ready;
        while (ready.load() < 4) std::this_thread::yield();
        store(at + each, std::byte{1});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(aperture->counters().reads, 8U);
  EXPECT_EQ(aperture->counters().pages_fetched, 8U);
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(aperture->counters().bytes_written, 8U * 4);
}

TEST_P(ApertureOver, FewPagesServeManyAsAShadowHasThem) {
  SKIP_WITHOUT(ApertureMode::kAllFaults);
  const auto one = session();
  expect_shadow(server_, *one, {}, 1);
}

TEST_P(ApertureOver, CallsDoWithoutFaultsWhatFaultsDo) {
  const auto one = session();
  const auto two = session(one->slice_key());
  const auto aperture = map_all(*one, {.mode = ApertureMode::kExplicit});
  const auto other = map_all(*two, {.mode = ApertureMode::kExplicit});
  ASSERT_EQ(aperture->mode(), ApertureMode::kExplicit);
  EXPECT_EQ(signal_of([&] { load(aperture->data()); }), SIGSEGV);
  EXPECT_TRUE(aperture->fetch(100, 2 * kPage));
  EXPECT_TRUE(other->fetch(0, kPage));
  for (std::uint64_t at = 100; at < 100 + 2 * kPage; ++at) store(aperture->data() + at, std::byte(at % 251));
  store(other->data(), std::byte{0xaa});
  EXPECT_TRUE(aperture->publish(100, 2 * kPage));
  EXPECT_TRUE(other->publish());
  const std::vector<std::byte> memory = server_.memory();
  EXPECT_EQ(memory[0], std::byte{0xaa});
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 100; at < 100 + 2 * kPage; ++at) wrong += memory[at] == std::byte(at % 251) ? 0 : 1;
  EXPECT_EQ(wrong, 0U);
  // After a refresh the page is not there until it is fetched again.
  EXPECT_TRUE(other->refresh());
  EXPECT_EQ(signal_of([&] { load(other->data()); }), SIGSEGV);
  EXPECT_TRUE(other->prefetch(0, other->size()));
  EXPECT_TRUE(other->fetch(0, kPage, ApertureAccess::kLoad));
  EXPECT_EQ(load(other->data() + 101), std::byte{101});
  EXPECT_EQ(other->counters().faults, 0U);
}

}  // namespace
}  // namespace wharf::live
