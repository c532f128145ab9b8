// SPDX-License-Identifier: Apache-2.0
// What a program may rely on while it does what programs do: locks its memory, reads files into pages that
// are published, keeps quiet for a while, stores from several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"
#include "live/aperture/aperture_test_support.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kPage = 4096;

class AperturePromises : public OfOneServer {};

TEST_F(AperturePromises, AFetchForStoresNeedsTheRight) {
  const auto one = session(0, false);
  for (const ApertureMode mode : {ApertureMode::kAllFaults, ApertureMode::kExplicit}) {
    const auto aperture = map_all(*one, {.writable = false, .mode = mode});
    for (int turn = 0; turn < 2; ++turn) {
      const ApertureOutcome refused = aperture->fetch(0, kPage);
      EXPECT_EQ(refused.status, ApertureStatus::kInput);
      EXPECT_EQ(refused.message,
                "fetch: found an access for stores, expected ApertureAccess::kLoad: the aperture is not "
                "writable");
      EXPECT_TRUE(aperture->fetch(0, kPage, ApertureAccess::kLoad));
    }
    EXPECT_EQ(load(aperture->data()), std::byte{0});
    EXPECT_TRUE(aperture->publish());
  }
}

TEST_F(AperturePromises, PagesThatAreKeptForStoresCanBeReadIntoWhileTheyAreWritten) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const auto write_back : {ApertureWriteBack::kOnEviction, ApertureWriteBack::kPeriodic}) {
    const auto aperture = map_all(
        *one, {.mode = ApertureMode::kUserFaults, .write_back = write_back, .write_back_interval_ms = 1});
    ASSERT_TRUE(aperture->fetch(0, kPage));
    for (std::uint32_t turn = 1; turn <= 200; ++turn) {
      ASSERT_EQ(::write(ends[1], &turn, sizeof turn), 4);
      ASSERT_EQ(::read(ends[0], aperture->data(), sizeof turn), 4) << std::strerror(errno);
      if (turn % 10 != 0) continue;
      ASSERT_TRUE(aperture->publish());
      EXPECT_EQ(std::memcmp(server_.memory().data(), &turn, sizeof turn), 0);
    }
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(AperturePromises, MemoryThatIsLockedComesAndGoes) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  for (const ApertureMode mode : {ApertureMode::kAllFaults, ApertureMode::kExplicit}) {
    const auto aperture = map_all(*one, {.mode = mode, .pages_max = 64, .grain = 8});
    ASSERT_TRUE(aperture->fetch(0, 3 * kPage));
    ASSERT_TRUE(aperture->release(kPage, 2 * kPage));
    if (::mlock(aperture->data(), 2 * kPage) != 0) GTEST_SKIP() << "no memory can be locked here";
    store(aperture->data() + 1, std::byte{7});
    load(aperture->data() + kPage);
    EXPECT_TRUE(aperture->publish());
    EXPECT_TRUE(aperture->refresh());
    EXPECT_EQ(aperture->counters().pages_held, 0U);
    EXPECT_EQ(server_.memory()[1], std::byte{7});
    ASSERT_TRUE(aperture->fetch(0, kPage, ApertureAccess::kLoad));
    EXPECT_EQ(load(aperture->data() + 1), std::byte{7});
    EXPECT_TRUE(aperture->discard(0, kPage));
  }
}

TEST_F(AperturePromises, OptionsThatCannotBeAreRefused) {
  const auto one = session();
  ApertureOutcome outcome;
  const auto refused = [&](const ApertureOptions& options) {
    EXPECT_EQ(Aperture::map(*one, {0, 8}, options, outcome), nullptr);
    EXPECT_EQ(outcome.status, ApertureStatus::kInput);
    return outcome.message;
  };
  EXPECT_EQ(refused({.read_ahead_pages = 1025}),
            "options: found a read-ahead of 1025 pages, expected 1024 or fewer");
  EXPECT_EQ(refused({.read_ahead_pages = 1U << 20}),
            "options: found a read-ahead of 1048576 pages, expected 1024 or fewer");
  EXPECT_EQ(refused({.pages_max = std::uint64_t{1} << 32}),
            "options: found 4294967296 pages at most, expected 4294967295 or fewer");
  EXPECT_EQ(refused({.mode = ApertureMode{3}}),
            "options: found mode 3, expected kAllFaults, kUserFaults or kExplicit");
  EXPECT_EQ(refused({.write_back = ApertureWriteBack{3}}),
            "options: found write-back 3, expected kOnPublish, kOnEviction or kPeriodic");
  EXPECT_EQ(refused({.write_back = ApertureWriteBack::kPeriodic, .write_back_interval_ms = 86'400'001}),
            "options: found a write-back every 86400001 ms, expected 86400000 ms or fewer");
  EXPECT_EQ(ApertureSession::open({.server = "127.0.0.1:1", .patience_ms = 0}, outcome), nullptr);
  EXPECT_EQ(outcome.message, "patience_ms: found 0, expected 1 or more");
  // The longest that is taken works.
  const auto aperture = Aperture::map(*one, {0, one->bytes()}, {.read_ahead_pages = 1024}, outcome);
  ASSERT_TRUE(outcome) << outcome.message;
}

std::set<int> threads_now() {
  std::set<int> out;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
    out.insert(std::stoi(each.path().filename()));
  return out;
}

/// How often the thread has gone to sleep by itself; one that spins never does, however busy the machine is.
long sleeps_of(int thread) {
  long sleeps = 0;
  const std::string name = fmt::format("/proc/self/task/{}/status", thread);
  if (std::FILE* const file = std::fopen(name.c_str(), "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      static_cast<void>(std::sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps));
    std::fclose(file);
  }
  return sleeps;
}

TEST_F(AperturePromises, TheThreadSleepsWhenNothingIsAskedOfIt) {
  const std::set<int> before = threads_now();
  const auto one = session();
  std::set<int> after = threads_now();
  for (const int thread : before) after.erase(thread);
  ASSERT_EQ(after.size(), 1U);
  const int thread = *after.begin();
  const auto aperture = map_all(*one, {.mode = ApertureMode::kExplicit});
  for (int turn = 0; turn < 10; ++turn) {
    std::thread another([&] {
      for (int each = 0; each < 100; ++each) aperture->counters();
    });
    for (int each = 0; each < 100; ++each) aperture->counters();
    another.join();
    const long slept = sleeps_of(thread);
    const auto begin = std::chrono::steady_clock::now();
    while (sleeps_of(thread) < slept + 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "it does not sleep";
    }
  }
}

/// Several threads count up words of the same pages, few of which fit, each its own; a judge knows what each
/// word must be at least.
struct Storm {
  const char* name;
  ApertureOptions options;
  bool refresh = false;
};
class ApertureStorm : public AperturePromises, public testing::WithParamInterface<Storm> {};
INSTANTIATE_TEST_SUITE_P(Live, ApertureStorm,
                         testing::Values(Storm{"evicting", {}}, Storm{"refreshing", {}, true},
                                         Storm{"compared", {.write_protect = false}, true},
                                         Storm{"periodic", {.write_back = ApertureWriteBack::kPeriodic}},
                                         Storm{"periodic_compared",
                                               {.write_protect = false,
                                                .write_back = ApertureWriteBack::kPeriodic}}),
                         [](const auto& each) { return each.param.name; });

TEST_P(ApertureStorm, LosesNoStore) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  constexpr std::size_t kThreads = 3;
  constexpr std::size_t kPages = 24;
  constexpr int kVisits = 150;
  constexpr int kBurst = 400;
  const auto one = session();
  ApertureOptions options = GetParam().options;
  options.pages_max = 8;
  options.read_ahead_pages = 2;
  options.write_back_interval_ms = 1;
  options.grain = 8;
  const auto aperture = map_all(*one, options);
  const auto word = [&](std::size_t thread, std::size_t page) {
    return page * kPage + (thread + kThreads * (page % 5)) * 8;
  };
  // What each word was set to: stored before it is said.
  std::vector<std::atomic<std::uint64_t>> said(kThreads * kPages);
  std::atomic<std::size_t> running{kThreads};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      RandomStream random(thread, "aperture.storm");
      std::vector<std::uint64_t> count(kPages);
      for (int visit = 0; visit < kVisits; ++visit) {
        const std::size_t page = random.below(kPages);
        auto* const at = reinterpret_cast<volatile std::uint64_t*>(aperture->data() + word(thread, page));
        for (int each = 0; each < kBurst; ++each) {
          if (*at != count[page]) ++wrong;
          *at = ++count[page];
          said[thread * kPages + page].store(count[page], std::memory_order_release);
        }
      }
      --running;
    });
  }
  const auto behind = [&](const std::vector<std::uint64_t>& least) {
    const std::vector<std::byte> memory = server_.memory();
    std::uint64_t out = 0;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      for (std::size_t page = 0; page < kPages; ++page) {
        std::uint64_t value = 0;
        std::memcpy(&value, memory.data() + word(thread, page), sizeof value);
        const std::uint64_t most = said[thread * kPages + page].load() + 1;
        if (value < least[thread * kPages + page] || value > most) ++out;
      }
    }
    return out;
  };
  const auto snapshot = [&] {
    std::vector<std::uint64_t> out;
    for (const auto& each : said) out.push_back(each.load(std::memory_order_acquire));
    return out;
  };
  std::uint64_t late = 0;
  for (std::size_t turn = 0; running != 0; ++turn) {
    const auto least = snapshot();
    const ApertureOutcome done =
        GetParam().refresh && turn % 2 == 1 ? aperture->refresh() : aperture->publish();
    EXPECT_TRUE(done) << done.message;
    late += behind(least);
  }
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(aperture->publish());
  late += behind(snapshot());
  EXPECT_EQ(late, 0U);
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(aperture->counters().evictions + aperture->counters().pages_fetched, 2 * kPages);
}

}  // namespace
}  // namespace wharf::live
