// SPDX-License-Identifier: Apache-2.0
// Apertures over every protocol, by UDP and in shared memory: what is loaded, stored, published and evicted.
#include "live/aperture/aperture.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/random.h"
#include "live/aperture/aperture_test_support.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kPage = 4096;

/// Why a test of faults cannot run here, if it cannot.
#define SKIP_WITHOUT(wanted)                                                            \
  if (const ApertureSupport here = aperture_support(); here.mode > (wanted)) {          \
    GTEST_SKIP() << "the kernel does not give what this test needs: " << here.sentence; \
  }

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

/// Random loads and stores beside a copy of what must be there.
struct Shadowed {
  ApertureMode mode = ApertureMode::kAllFaults;
  bool write_protect = true;
  ApertureWriteBack write_back = ApertureWriteBack::kOnEviction;
  std::uint32_t grain = 1;
};

void expect_shadow(TestServer& server, ApertureSession& session, const Shadowed& how, std::uint64_t seed) {
  constexpr std::uint64_t kLimit = 12;
  const ApertureOptions options{.mode = how.mode,
                                .write_protect = how.write_protect,
                                .pages_max = kLimit,
                                .read_ahead_pages = 3,
                                .write_back = how.write_back,
                                .write_back_interval_ms = 1,
                                .grain = how.grain};
  std::vector<std::byte> shadow = server.memory();
  shadow.resize(session.bytes());
  {
    const auto aperture = map_all(session, options);
    ASSERT_EQ(aperture->mode(), how.mode);
    RandomStream random(seed, "aperture.shadow");
    std::uint64_t wrong = 0;
    for (int turn = 0; turn < 3000; ++turn) {
      const std::uint64_t length = 1 + random.below(64);
      const std::uint64_t at = random.below(aperture->size() - length);
      if (random.below(2) == 0) {
        for (std::uint64_t each = 0; each < length; ++each) {
          const auto value = std::byte(random.below(256));
          shadow[at + each] = value;
          store(aperture->data() + at + each, value);
        }
      } else {
        wrong += std::memcmp(aperture->data() + at, shadow.data() + at, length) == 0 ? 0 : 1;
      }
      if (random.below(200) == 0) {
        EXPECT_TRUE(aperture->publish(at, length));
        const std::vector<std::byte> memory = server.memory();
        wrong += std::memcmp(memory.data() + at, shadow.data() + at, length) == 0 ? 0 : 1;
      }
      if (random.below(300) == 0) EXPECT_TRUE(aperture->refresh(at, length));
    }
    EXPECT_EQ(wrong, 0U);
    const ApertureCounters counters = aperture->counters();
    EXPECT_LE(counters.most_pages_held, kLimit);
    EXPECT_GT(counters.evictions, 100U);
    EXPECT_GT(counters.faults, 100U);
    const ApertureOutcome unmapped = aperture->unmap();
    EXPECT_TRUE(unmapped) << unmapped.message;
  }
  const std::vector<std::byte> memory = server.memory();
  EXPECT_TRUE(std::equal(shadow.begin(), shadow.end(), memory.begin()));
}

TEST_P(ApertureOver, FewPagesServeManyAsAShadowHasThem) {
  SKIP_WITHOUT(ApertureMode::kAllFaults);
  const auto one = session();
  expect_shadow(server_, *one, {}, 1);
  expect_shadow(server_, *one, {.write_back = ApertureWriteBack::kPeriodic}, 2);
  expect_shadow(server_, *one, {.write_protect = false}, 3);
  expect_shadow(server_, *one, {.write_protect = false, .write_back = ApertureWriteBack::kPeriodic}, 4);
  expect_shadow(server_, *one, {.mode = ApertureMode::kUserFaults, .grain = 8}, 5);
}

}  // namespace
}  // namespace wharf::live
