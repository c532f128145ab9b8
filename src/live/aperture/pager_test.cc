// SPDX-License-Identifier: Apache-2.0
// One pager by hand: a server that is a vector, and a kernel that refuses, or lets a store happen at the
// worst moment.
#include "live/aperture/pager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "live/aperture/aperture_test_support.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;
using Kind = ApertureCall::Kind;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kPages = 40;

/// The server.
class Afar : public PageLink {
 public:
  std::vector<std::byte> bytes = std::vector<std::byte>(kPages * kPage);
  bool answers = true;
  int reads = 0;

  verbs::Task<bool> read(std::byte* into, std::uint64_t offset, std::uint32_t length) override {
    ++reads;
    if (answers) std::memcpy(into, bytes.data() + offset, length);
    co_return answers;
  }
  verbs::Task<bool> write(const std::byte* from, std::uint64_t offset, std::uint32_t length) override {
    if (answers) std::memcpy(bytes.data() + offset, from, length);
    co_return answers;
  }
};

enum class Asks : std::uint8_t { kCopy, kProtect, kAllow, kPoison, kMadvise, kMprotect, kMapOver, kMove };

class TestKernel : public KernelCalls {
 public:
  std::set<Asks> refused;
  int error = ENOMEM;
  std::function<void(Asks, void*)> before = [](Asks, void*) {};
  std::function<void(Asks)> after = [](Asks) {};
  std::atomic<int> protections{0};
  std::atomic<int> copies{0};

  int ioctl(int descriptor, unsigned long request, void* argument) override {
    if (request == UFFDIO_REGISTER) return KernelCalls::ioctl(descriptor, request, argument);
    Asks what = Asks::kPoison;
    void* at = nullptr;
    if (request == UFFDIO_COPY) {
      what = Asks::kCopy;
      ++copies;
    } else if (request == UFFDIO_WRITEPROTECT) {
      const auto& asked = *static_cast<uffdio_writeprotect*>(argument);
      what = asked.mode != 0 ? Asks::kProtect : Asks::kAllow;
      at = reinterpret_cast<void*>(asked.range.start);
      if (asked.mode != 0) ++protections;
    }
    return around(what, at, -1, [&] { return KernelCalls::ioctl(descriptor, request, argument); });
  }
  int madvise(void* at, std::size_t bytes, int advice) override {
    return around(Asks::kMadvise, at, -1, [&] { return KernelCalls::madvise(at, bytes, advice); });
  }
  int mprotect(void* at, std::size_t bytes, int access) override {
    return around(Asks::kMprotect, at, -1, [&] { return KernelCalls::mprotect(at, bytes, access); });
  }
  void* map_over(void* at, std::size_t bytes, int access, int flags, int descriptor) override {
    return around(Asks::kMapOver, at, MAP_FAILED,
                  [&] { return KernelCalls::map_over(at, bytes, access, flags, descriptor); });
  }
  void* move_away(void* at, std::size_t bytes) override {
    return around(Asks::kMove, at, MAP_FAILED, [&] { return KernelCalls::move_away(at, bytes); });
  }

 private:
  template <typename Result, typename Call>
  Result around(Asks what, void* at, Result no, Call call) {
    before(what, at);
    if (refused.count(what) != 0) {
      errno = error;
      return no;
    }
    const Result result = call();
    after(what);
    return result;
  }
};

class PagerByHand : public testing::Test {
 protected:
  void make(ApertureOptions options = {}) {
    auto mapping = Mapping::create(kPages, options.writable, options.mode, options.write_protect, kernel_);
    ASSERT_TRUE(mapping) << mapping.error().message;
    options.read_ahead_pages = 0;
    pager_ = std::make_unique<Pager>(afar_, *std::move(mapping), ApertureSegment{0, kPages * kPage}, options);
    base_ = pager_->mapping().base();
  }
  void settle() {
    do {
      static_cast<void>(pager_->step(now_));
    } while (pager_->can_go_on());
  }
  ApertureOutcome call(Kind kind, std::uint64_t page, std::uint64_t pages = 1, bool store = false) {
    const auto made = std::make_shared<ApertureCall>();
    made->kind = kind;
    made->from = page * kPage;
    made->to = (page + pages) * kPage;
    made->store = store;
    pager_->start(made);
    settle();
    made->wait();
    counters_ = made->counters;
    return made->outcome;
  }
  ApertureOutcome publish() { return call(Kind::kPublish, 0, kPages); }
  /// It is there, and stores to it are let through until it is published.
  void bring_for_stores(std::uint64_t page) {
    ASSERT_TRUE(call(Kind::kFetch, page, 1, true));
    ASSERT_TRUE(call(Kind::kRelease, page));
  }
  /// The signal that a thread gets which loads from the page, while time goes on.
  int signal_of_load(
      std::uint64_t page, const std::function<void()>& each_round = [] {}) {
    std::atomic<bool> done{false};
    int number = 0;
    std::thread loads([&] {
      number = signal_of([&] { load(base_ + page * kPage); });
      done = true;
    });
    while (!done) {
      now_ = now_ + milliseconds(1);
      settle();
      each_round();
      std::this_thread::yield();
    }
    loads.join();
    return number;
  }
  std::byte afar(std::uint64_t page) const { return afar_.bytes[page * kPage]; }
  std::byte* at(std::uint64_t page) const { return base_ + page * kPage; }

  Afar afar_;
  TestKernel kernel_;
  std::unique_ptr<Pager> pager_;
  std::byte* base_ = nullptr;
  TimePs now_;
  ApertureCounters counters_;
};

TEST_F(PagerByHand, AStoreJustBeforeAPageIsProtectedIsPublished) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make();
  bring_for_stores(0);
  kernel_.before = [&](Asks what, void*) {
    if (what == Asks::kProtect) store(at(0), std::byte{7});
  };
  EXPECT_TRUE(publish());
  EXPECT_TRUE(publish());
  EXPECT_EQ(afar(0), std::byte{7});
}

TEST_F(PagerByHand, AStoreJustAfterAPageLetsThemThroughIsPublished) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  if (!aperture_support().write_protect) GTEST_SKIP() << "the kernel protects no pages";
  make();
  ASSERT_TRUE(call(Kind::kFetch, 0, 1, false));
  kernel_.after = [&](Asks what) {
    if (what == Asks::kAllow) store(at(0), std::byte{7});
  };
  ASSERT_TRUE(call(Kind::kFetch, 0, 1, true));
  EXPECT_TRUE(publish());
  EXPECT_EQ(afar(0), std::byte{7});
}

TEST_F(PagerByHand, AStoreJustBeforeAPageGoesIsWritten) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  for (const bool protect : {true, false}) {
    kernel_.before = [](Asks, void*) {};
    make({.write_protect = protect});
    bring_for_stores(0);
    auto value = std::byte{1};
    kernel_.before = [&](Asks what, void* where) {
      if (where != at(0) || (what != Asks::kMove && what != Asks::kMadvise)) return;
      value = std::byte(static_cast<int>(value) + 1);
      store(at(0), value);
    };
    EXPECT_TRUE(call(Kind::kRefresh, 0));
    EXPECT_NE(value, std::byte{1});
    EXPECT_EQ(afar(0), value);
  }
}

TEST_F(PagerByHand, WhereAPageCannotBeMovedItIsProtectedAndCopied) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  if (!aperture_support().write_protect) GTEST_SKIP() << "the kernel protects no pages";
  make();
  bring_for_stores(0);
  kernel_.refused = {Asks::kMove};
  kernel_.before = [&](Asks what, void*) {
    if (what == Asks::kProtect) store(at(0), std::byte{7});
  };
  EXPECT_TRUE(call(Kind::kRefresh, 0));
  EXPECT_EQ(afar(0), std::byte{7});
  EXPECT_EQ(call(Kind::kCount, 0).status, ApertureStatus::kDone);
  EXPECT_EQ(counters_.pages_held, 0U);
}

TEST_F(PagerByHand, WhereAPageCannotGoItStaysWithItsChanges) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make({.write_protect = false, .pages_max = 8});
  bring_for_stores(0);
  store(at(0), std::byte{7});
  kernel_.refused = {Asks::kMove};
  const ApertureOutcome refused = call(Kind::kRefresh, 0);
  EXPECT_EQ(refused.status, ApertureStatus::kEnvironment);
  EXPECT_EQ(refused.message,
            "the kernel does not let a page go, which stays as it is: mremap: Cannot allocate memory");
  EXPECT_EQ(load(at(0)), std::byte{7});
  EXPECT_EQ(afar(0), std::byte{0});
  // Others come all the same, beyond the limit.
  for (std::uint64_t page = 1; page < 20; ++page) bring_for_stores(page);
  call(Kind::kCount, 0);
  EXPECT_EQ(counters_.pages_held, 20U);
  EXPECT_EQ(counters_.evictions, 0U);
  EXPECT_TRUE(publish());
  EXPECT_EQ(afar(0), std::byte{7});
  kernel_.refused = {};
  EXPECT_TRUE(call(Kind::kRefresh, 0));
  bring_for_stores(20);
  call(Kind::kCount, 0);
  EXPECT_EQ(counters_.pages_held, 8U);
}

TEST_F(PagerByHand, ACleanPageThatTheKernelKeepsStaysToo) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make({.writable = false});
  ASSERT_TRUE(call(Kind::kFetch, 0));
  kernel_.refused = {Asks::kMadvise};
  kernel_.error = EPERM;
  const ApertureOutcome refused = call(Kind::kRefresh, 0);
  EXPECT_EQ(refused.status, ApertureStatus::kEnvironment);
  EXPECT_THAT(refused.message, HasSubstr("madvise(MADV_DONTNEED): Operation not permitted"));
  EXPECT_EQ(load(at(0)), std::byte{0});
}

TEST_F(PagerByHand, BeforeLinux57AWritableApertureIsExplicit) {
  kernel_.refused = {Asks::kMove};
  kernel_.error = EINVAL;
  make();
  EXPECT_EQ(pager_->mapping().mode(), ApertureMode::kExplicit);
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make({.writable = false});
  EXPECT_NE(pager_->mapping().mode(), ApertureMode::kExplicit);
}

TEST_F(PagerByHand, APageWithoutAPlaceIsToldAndOthersKeepTheirChanges) {
  for (const bool faults : {true, false}) {
    if (faults && aperture_support().mode == ApertureMode::kExplicit) continue;
    kernel_.refused = {};
    make({.mode = faults ? ApertureMode::kAllFaults : ApertureMode::kExplicit});
    for (std::uint64_t page = 0; page < 8; page += 2) {
      bring_for_stores(page);
      store(at(page), std::byte{5});
    }
    kernel_.refused = {Asks::kCopy, Asks::kMprotect, Asks::kMapOver, Asks::kPoison};
    const ApertureOutcome refused = call(Kind::kFetch, 1, 1, true);
    EXPECT_EQ(refused.status, ApertureStatus::kEnvironment);
    EXPECT_EQ(refused.message, std::string("the kernel gives no place for a page: ") +
                                   (faults ? "UFFDIO_COPY" : "mprotect") + ": Cannot allocate memory");
    if (!faults) {
      // Nor can one go.
      EXPECT_EQ(call(Kind::kRefresh, 2).status, ApertureStatus::kEnvironment);
      store(at(2), std::byte{6});
    }
    EXPECT_TRUE(publish());
    EXPECT_EQ(afar(2), faults ? std::byte{5} : std::byte{6});
    EXPECT_EQ(afar(6), std::byte{5});
    kernel_.refused = {};
    EXPECT_TRUE(call(Kind::kFetch, 1, 1, true));
    store(at(1), std::byte{4});
    EXPECT_TRUE(publish());
    EXPECT_EQ(afar(1), std::byte{4});
  }
}

TEST_F(PagerByHand, WhoWaitsForAPageWithoutAPlaceGetsASignalAndNobodyElse) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make();
  bring_for_stores(2);
  store(at(2), std::byte{5});
  kernel_.refused = {Asks::kCopy};
  EXPECT_EQ(signal_of_load(0), SIGBUS);
  // Without room for another piece of the range, nor a poisoned page (Linux 6.6), it waits until there is.
  kernel_.refused = {Asks::kCopy, Asks::kMapOver, Asks::kPoison};
  kernel_.copies = 0;
  const TimePs begin = now_;
  EXPECT_EQ(signal_of_load(1,
                           [&] {
                             if (now_ - begin > milliseconds(300)) kernel_.refused = {};
                           }),
            0);
  // Each 20 ms.
  EXPECT_LE(kernel_.copies, 20);
  EXPECT_EQ(load(at(2)), std::byte{5});
  EXPECT_TRUE(publish());
  EXPECT_EQ(afar(2), std::byte{5});
}

TEST_F(PagerByHand, PagesOfALostServerAreLostWithoutRoomForPieces) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make();
  for (std::uint64_t page = 0; page < kPages; page += 3) {
    bring_for_stores(page);
    store(at(page), std::byte{5});
  }
  kernel_.refused = {Asks::kMapOver, Asks::kPoison};
  afar_.answers = false;
  pager_->link_lost();
  for (std::uint64_t page = 0; page < kPages; page += 3) EXPECT_EQ(load(at(page)), std::byte{5});
  kernel_.refused = {};
  EXPECT_EQ(signal_of_load(1), SIGBUS);
  EXPECT_EQ(load(at(3)), std::byte{5});
  EXPECT_EQ(publish().status, ApertureStatus::kStalled);
}

TEST_F(PagerByHand, NothingProtectsAPageThatIsKeptForStores) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  if (!aperture_support().write_protect) GTEST_SKIP() << "the kernel protects no pages";
  make();
  ASSERT_TRUE(call(Kind::kFetch, 0, 1, true));
  ASSERT_TRUE(call(Kind::kFetch, 0, 1, false));
  for (int turn = 1; turn < 4; ++turn) {
    store(at(0), std::byte(turn));
    EXPECT_TRUE(publish());
    ASSERT_EQ(kernel_.protections, 0);  // The next store would wait for nobody.
    EXPECT_EQ(afar(0), std::byte(turn));
  }
  EXPECT_TRUE(call(Kind::kRelease, 0));
  EXPECT_TRUE(publish());
  EXPECT_EQ(kernel_.protections, 1);
}

TEST_F(PagerByHand, WhereAPageCannotBeProtectedItIsCompared) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  make();
  bring_for_stores(0);
  kernel_.refused = {Asks::kProtect};
  for (int turn = 1; turn < 4; ++turn) {
    store(at(0), std::byte(turn));
    EXPECT_TRUE(publish());
    EXPECT_EQ(afar(0), std::byte(turn));
  }
}

}  // namespace
}  // namespace wharf::live
