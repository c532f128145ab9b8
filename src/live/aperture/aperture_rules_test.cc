// SPDX-License-Identifier: Apache-2.0
// What holds for apertures over any protocol: system calls on them, rights, limits, policies, forks,
// refusals.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/random.h"
#include "live/aperture/aperture_shadow_test_support.h"
#include "live/aperture/aperture_test_support.h"
#include "live/aperture/userfaultfd.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kPage = 4096;

class ApertureRules : public OfOneServer {};

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2];
};

TEST_F(ApertureRules, WithUserFaultsASystemCallOnAnAbsentPageIsRefused) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.mode = ApertureMode::kUserFaults});
  ASSERT_EQ(aperture->mode(), ApertureMode::kUserFaults);
  const Pipe pipe;
  ASSERT_EQ(::write(pipe.ends[1], "wharf", 5), 5);
  errno = 0;
  EXPECT_EQ(::read(pipe.ends[0], aperture->data(), 5), -1);
  EXPECT_EQ(errno, EFAULT);
  errno = 0;
  EXPECT_EQ(::write(pipe.ends[1], aperture->data() + kPage, 5), -1);
  EXPECT_EQ(errno, EFAULT);
  // A page that was only loaded from is there for write(2), not for read(2), which stores to it.
  EXPECT_TRUE(aperture->fetch(0, 5, ApertureAccess::kLoad));
  EXPECT_EQ(::write(pipe.ends[1], aperture->data(), 1), 1);
  if (aperture_support().write_protect) {
    EXPECT_EQ(::read(pipe.ends[0], aperture->data(), 5), -1);
  }
  EXPECT_TRUE(aperture->fetch(0, 5));
  EXPECT_EQ(::read(pipe.ends[0], aperture->data(), 5), 5);
  EXPECT_EQ(std::memcmp(aperture->data(), "wharf", 5), 0);
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(std::memcmp(server_.memory().data(), "wharf", 5), 0);
}

TEST_F(ApertureRules, WithAllFaultsASystemCallFetchesToo) {
  SKIP_WITHOUT(ApertureMode::kAllFaults);
  const auto one = session();
  const auto aperture = map_all(*one);
  ASSERT_EQ(aperture->mode(), ApertureMode::kAllFaults);
  const Pipe pipe;
  ASSERT_EQ(::write(pipe.ends[1], "wharf", 5), 5);
  EXPECT_EQ(::read(pipe.ends[0], aperture->data() + kPage - 2, 5), 5);
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(std::memcmp(server_.memory().data() + kPage - 2, "wharf", 5), 0);
}

TEST_F(ApertureRules, AProcessWithoutPrivilegeServesItsOwnFaultsAlone) {
  if (::getuid() != 0) GTEST_SKIP() << "this process has no privilege to give up";
  if (!FaultDescriptor::open(false).valid()) GTEST_SKIP() << "the kernel gives no faults at all";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(9);
    const FaultDescriptor descriptor = FaultDescriptor::open(true);
    ::_exit(descriptor.valid() ? static_cast<int>(descriptor.way()) : 8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  int allowed = 0;
  if (FILE* const file = std::fopen("/proc/sys/vm/unprivileged_userfaultfd", "r")) {
    EXPECT_EQ(std::fscanf(file, "%d", &allowed), 1);
    std::fclose(file);
  }
  if (allowed == 1) {
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(FaultWay::kSystemCall));
  } else {
    EXPECT_THAT(WEXITSTATUS(status),
                testing::AnyOf(static_cast<int>(FaultWay::kUserMode), static_cast<int>(FaultWay::kDevice)));
  }
}

TEST_F(ApertureRules, EveryPolicyAgreesWithTheShadow) {
  SKIP_WITHOUT(ApertureMode::kAllFaults);
  const auto one = session();
  expect_shadow(server_, *one, {.write_back = ApertureWriteBack::kPeriodic}, 2);
  expect_shadow(server_, *one, {.write_protect = false}, 3);
  expect_shadow(server_, *one, {.write_protect = false, .write_back = ApertureWriteBack::kPeriodic}, 4);
  expect_shadow(server_, *one, {.mode = ApertureMode::kUserFaults, .grain = 8}, 5);
}

TEST_F(ApertureRules, OnPublishNothingElseIsWritten) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  {
    const auto aperture =
        map_all(*one, {.pages_max = 8, .read_ahead_pages = 0, .write_back = ApertureWriteBack::kOnPublish});
    for (std::uint64_t page = 0; page < 20; ++page) store(aperture->data() + page * kPage, std::byte{7});
    const ApertureCounters counters = aperture->counters();
    EXPECT_EQ(counters.writes, 0U);
    EXPECT_EQ(counters.pages_held, 20U);  // Beyond the limit, for they are changed.
    // The bytes that are named, and no others of their page.
    store(aperture->data() + 1, std::byte{8});
    EXPECT_TRUE(aperture->publish(1, 1));
    EXPECT_EQ(server_.memory()[0], std::byte{0});
    EXPECT_EQ(server_.memory()[1], std::byte{8});
    EXPECT_TRUE(aperture->publish(0, 5 * kPage));
    EXPECT_EQ(aperture->counters().writes, 6U);
    EXPECT_EQ(aperture->counters().bytes_written, 6U);
  }
  EXPECT_EQ(server_.memory()[4 * kPage], std::byte{7});
  EXPECT_EQ(server_.memory()[5 * kPage], std::byte{0});
}

TEST_F(ApertureRules, AStoreOfWhatIsThereIsNoChange) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one);
  store(aperture->data() + 5, std::byte{0});
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(aperture->counters().writes, 0U);
  // A page that was published is told of the next store anew.
  store(aperture->data() + 5, std::byte{1});
  EXPECT_TRUE(aperture->publish());
  store(aperture->data() + 5, std::byte{2});
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(aperture->counters().writes, 2U);
  EXPECT_EQ(server_.memory()[5], std::byte{2});
}

TEST_F(ApertureRules, AGrainOfEightWritesWordsWhole) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.grain = 8});
  store(aperture->data() + 8, std::byte{1});
  store(aperture->data() + 15, std::byte{1});
  EXPECT_TRUE(aperture->publish(8, 1));
  EXPECT_EQ(aperture->counters().writes, 1U);
  EXPECT_EQ(aperture->counters().bytes_written, 8U);
  EXPECT_EQ(server_.memory()[15], std::byte{1});
}

TEST_F(ApertureRules, WhatIsDiscardedIsForgottenAndItsNeighboursAreNot) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.write_back = ApertureWriteBack::kOnPublish});
  store(aperture->data(), std::byte{1});
  store(aperture->data() + 10, std::byte{2});
  store(aperture->data() + 20, std::byte{3});
  EXPECT_TRUE(aperture->discard(10, 1));
  EXPECT_EQ(load(aperture->data()), std::byte{1});
  EXPECT_EQ(load(aperture->data() + 10), std::byte{0});
  EXPECT_EQ(load(aperture->data() + 20), std::byte{3});
}

TEST_F(ApertureRules, AStreamOfFaultsIsReadAhead) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto ahead = map_all(*one, {.read_ahead_pages = 8});
  const auto alone = map_all(*one, {.read_ahead_pages = 0});
  const std::uint64_t pages = ahead->size() / kPage;
  for (std::uint64_t page = 0; page < pages; ++page) {
    EXPECT_EQ(load(ahead->data() + page * kPage), std::byte{0});
    EXPECT_EQ(load(alone->data() + page * kPage), std::byte{0});
  }
  EXPECT_EQ(alone->counters().reads, pages);
  EXPECT_EQ(alone->counters().pages_ahead, 0U);
  // Two faults begin the stream, windows of 4 and 8 follow; the first page of each is a fault.
  EXPECT_EQ(ahead->counters().pages_ahead, pages - 2);
  EXPECT_EQ(ahead->counters().pages_fetched, pages);
  EXPECT_EQ(ahead->counters().reads, 2 + 1 + (pages - 6 + 7) / 8);
}

TEST_F(ApertureRules, WhatIsPrefetchedIsThere) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.pages_max = 40});
  EXPECT_TRUE(aperture->prefetch(3 * kPage + 1, 16 * kPage));
  while (aperture->counters().pages_fetched < 17) std::this_thread::yield();
  for (std::uint64_t page = 3; page < 20; ++page) load(aperture->data() + page * kPage);
  EXPECT_EQ(aperture->counters().faults, 0U);
  EXPECT_EQ(aperture->counters().reads, 2U);
  // It goes as far as there is room, and drives nobody out.
  EXPECT_TRUE(aperture->prefetch(0, aperture->size()));
  EXPECT_EQ(aperture->counters().evictions, 0U);
  EXPECT_LE(aperture->counters().pages_held, 40U);
}

TEST_F(ApertureRules, WhatIsFetchedIsKeptUntilItIsReleased) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  const auto aperture = map_all(*one, {.pages_max = 16, .read_ahead_pages = 0});
  EXPECT_TRUE(aperture->fetch(0, 8 * kPage));
  const ApertureOutcome more = aperture->fetch(8 * kPage, kPage);
  EXPECT_EQ(more.status, ApertureStatus::kInput);
  EXPECT_THAT(more.message, HasSubstr("1 pages to be kept beside 8, expected 8 in all at most"));
  for (std::uint64_t page = 8; page < 60; ++page) load(aperture->data() + page * kPage);
  const std::uint64_t faults = aperture->counters().faults;
  for (std::uint64_t page = 0; page < 8; ++page) store(aperture->data() + page * kPage, std::byte{1});
  EXPECT_EQ(aperture->counters().faults, faults);
  EXPECT_TRUE(aperture->release(0, 8 * kPage));
  EXPECT_TRUE(aperture->fetch(8 * kPage, kPage));
  EXPECT_LE(aperture->counters().most_pages_held, 16U);
}

TEST_F(ApertureRules, ToReadAloneIsARight) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session(0, false);
  ApertureOutcome outcome;
  EXPECT_EQ(Aperture::map(*one, {0, kPage}, {}, outcome), nullptr);
  EXPECT_EQ(outcome.status, ApertureStatus::kInput);
  EXPECT_THAT(outcome.message, HasSubstr("expected writable = false"));
  const auto aperture = map_all(*one, {.writable = false});
  EXPECT_EQ(load(aperture->data()), std::byte{0});
  EXPECT_EQ(signal_of([&] { store(aperture->data(), std::byte{1}); }), SIGSEGV);
  EXPECT_EQ(signal_of([&] { store(aperture->data() + kPage, std::byte{1}); }), SIGSEGV);
  EXPECT_TRUE(aperture->publish());
}

TEST_F(ApertureRules, ASizeThatIsNoMultipleOfAPageEndsInsideOne) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  ApertureOutcome outcome;
  const auto aperture = Aperture::map(*one, {8, kPage + 100}, {}, outcome);
  ASSERT_TRUE(outcome) << outcome.message;
  EXPECT_EQ(aperture->size(), kPage + 100);
  for (std::uint64_t at = kPage; at < kPage + 200; ++at) store(aperture->data() + at, std::byte{9});
  EXPECT_TRUE(aperture->publish());
  EXPECT_EQ(server_.memory()[8 + kPage + 99], std::byte{9});
  EXPECT_EQ(server_.memory()[8 + kPage + 100], std::byte{0});
}

TEST_F(ApertureRules, WrongUseIsRefusedInASentence) {
  const auto one = session();
  ApertureOutcome outcome;
  const auto refused = [&](const ApertureSegment& segment, const ApertureOptions& options) {
    EXPECT_EQ(Aperture::map(*one, segment, options, outcome), nullptr);
    EXPECT_EQ(outcome.status, ApertureStatus::kInput);
    return outcome.message;
  };
  EXPECT_EQ(refused({0, 0}, {}), "segment: found no bytes, expected 1 to 262144");
  EXPECT_EQ(refused({262144, 1}, {}),
            "segment: found 1 bytes at offset 262144, expected a part of the session's 262144 bytes");
  EXPECT_EQ(
      refused({8, ~std::uint64_t{0}}, {}),
      "segment: found 18446744073709551615 bytes at offset 8, expected a part of the session's 262144 bytes");
  EXPECT_EQ(refused({12, 8}, {}), "segment: found offset 12, expected a multiple of 8, for example 8");
  EXPECT_EQ(refused({0, 8}, {.pages_max = 7}), "options: found 7 pages at most, expected 8 or more");
  EXPECT_EQ(refused({0, 8}, {.grain = 3}), "options: found a grain of 3, expected a power of two up to 4096");
  EXPECT_EQ(refused({0, 8}, {.write_back = ApertureWriteBack::kPeriodic, .write_back_interval_ms = 0}),
            "options: found a write-back every 0 ms, expected 1 ms or more");
  const auto aperture = map_all(*one);
  EXPECT_EQ(aperture->publish(262140, 5).message,
            "found 5 bytes at offset 262140, expected a range inside the aperture's 262144 bytes");
  EXPECT_TRUE(aperture->unmap());
  EXPECT_EQ(aperture->publish().message, "the aperture is unmapped");
  EXPECT_EQ(ApertureSession::open({.server = "127.0.0.1:1", .protocol = "ubb"}, outcome), nullptr);
  EXPECT_THAT(outcome.message, HasSubstr("did you mean ub?"));
  EXPECT_EQ(ApertureSession::open({.server = "127.0.0.1:1", .patience_ms = 50}, outcome), nullptr);
  EXPECT_EQ(outcome.status, ApertureStatus::kEnvironment);
}

TEST_F(ApertureRules, AChildOfAForkHasNoAperture) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  auto one = session();
  auto aperture = map_all(*one);
  store(aperture->data(), std::byte{1});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = aperture->publish().status == ApertureStatus::kInput;
    const int signal = signal_of([&] { load(aperture->data()); });
    aperture.reset();
    one.reset();
    ::_exit(refused ? signal : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), SIGSEGV);
  EXPECT_EQ(load(aperture->data()), std::byte{1});
  EXPECT_TRUE(aperture->publish());
}

TEST_F(ApertureRules, ASessionMayGoBeforeItsApertures) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  auto one = session();
  const auto first = map_all(*one);
  auto second = map_all(*one);
  one.reset();
  store(first->data(), std::byte{1});
  EXPECT_TRUE(first->publish());
  EXPECT_EQ(load(second->data()), std::byte{1});
  second.reset();
  EXPECT_EQ(load(first->data() + kPage), std::byte{0});
}

TEST_F(ApertureRules, AThreadThatIsInsideWhenItIsUnmappedGetsASignal) {
  SKIP_WITHOUT(ApertureMode::kUserFaults);
  const auto one = session();
  for (int turn = 0; turn < 5; ++turn) {
    auto aperture = map_all(*one, {.pages_max = 8, .read_ahead_pages = 0});
    std::atomic<bool> started{false};
    int signal = 0;
    std::thread inside([&, base = aperture->data(), pages = aperture->size() / kPage] {
      signal = signal_of([&] {
        for (std::uint64_t at = 0;; ++at) {
          load(base + at % pages * kPage);
          started = true;
        }
      });
    });
    while (!started) std::this_thread::yield();
    aperture.reset();
    inside.join();
    EXPECT_EQ(signal, SIGSEGV);
  }
}

TEST(ApertureSupportSentence, SaysWhatToDo) {
  EXPECT_EQ(describe_support(FaultWay::kSystemCall, true, 0).sentence,
            "apertures fetch pages on demand, in system calls too");
  EXPECT_THAT(describe_support(FaultWay::kUserMode, false, 0).sentence,
              testing::AllOf(HasSubstr("gives EFAULT"), HasSubstr("vm.unprivileged_userfaultfd=1"),
                             HasSubstr("pages are compared")));
  EXPECT_THAT(describe_support(FaultWay::kNone, true, EPERM).sentence, HasSubstr("seccomp"));
  EXPECT_THAT(describe_support(FaultWay::kSystemCall, false, 0, false).sentence, HasSubstr("Linux 5.7"));
  EXPECT_EQ(describe_support(FaultWay::kSystemCall, false, 0, false).mode, ApertureMode::kExplicit);
  EXPECT_THAT(describe_support(FaultWay::kNone, true, ENOSYS).sentence, HasSubstr("CONFIG_USERFAULTFD"));
  EXPECT_EQ(describe_support(FaultWay::kNone, true, EPERM).mode, ApertureMode::kExplicit);
}

}  // namespace
}  // namespace wharf::live
