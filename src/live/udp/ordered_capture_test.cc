// SPDX-License-Identifier: Apache-2.0
// Captures that begin and end while their host runs.
#include "live/udp/ordered_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "wire/capture_reader.h"

namespace wharf::live {
namespace {

namespace fs = std::filesystem;

class OrderedCaptures : public testing::Test {
 protected:
  OrderedCaptures() {
    std::string name = testing::TempDir() + "wharf_ordered_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ / "a.pcapng";
  }
  ~OrderedCaptures() override { fs::remove_all(folder_); }

  std::string order(OrderedCapture& capture, CaptureOrder what, TimePs now = seconds(100)) {
    orders_ = what;
    EXPECT_TRUE(capture.ordered());
    std::string said = capture.obey(now);
    EXPECT_FALSE(capture.ordered());
    return said;
  }
  static void write_one(OrderedCapture& capture, TimePs time) {
    const std::array<std::byte, 1000> datagram{};
    capture.current()->write(time, {1, 2}, {3, 4}, 0, datagram);
  }
  /// Times of the frames, in seconds since 1970; a file that is not whole is an error.
  static std::vector<double> times_in(const fs::path& file) {
    auto reader = wire::CaptureReader::open(file);
    if (!reader.ok()) {
      ADD_FAILURE() << reader.error().message;
      return {};
    }
    std::vector<double> times;
    wire::CapturedFrame frame;
    for (;;) {
      const auto more = reader->next(frame);
      if (!more.ok()) ADD_FAILURE() << more.error().message;
      if (!more.ok() || !*more) return times;
      times.push_back(static_cast<double>(frame.seconds) + static_cast<double>(frame.picoseconds) / 1e12);
    }
  }

  fs::path folder_;
  fs::path file_;
  CaptureOrders orders_{CaptureOrder::kNone};
};

TEST_F(OrderedCaptures, BeginAndEndAsTheyAreTold) {
  OrderedCapture capture(nullptr, file_, &orders_);
  EXPECT_EQ(capture.current(), nullptr);
  EXPECT_FALSE(capture.ordered());
  EXPECT_EQ(order(capture, CaptureOrder::kEnd), "no capture is running");
  EXPECT_EQ(order(capture, CaptureOrder::kBegin), "capturing to " + file_.string());
  EXPECT_EQ(order(capture, CaptureOrder::kBegin), "capturing to " + file_.string() + " already");
  write_one(capture, seconds(101));
  EXPECT_EQ(order(capture, CaptureOrder::kEnd), "captured to " + file_.string() + ": 1 frames");
  EXPECT_EQ(capture.current(), nullptr);
  EXPECT_EQ(times_in(file_).size(), 1U);
}

TEST_F(OrderedCaptures, ReplaceNoFile) {
  OrderedCapture capture(nullptr, file_, &orders_);
  std::ofstream(file_) << "dear";
  fs::create_symlink("nowhere", file_.string() + ".1");
  for (const char* name : {".2", ".3"}) {
    EXPECT_EQ(order(capture, CaptureOrder::kBegin), "capturing to " + file_.string() + name);
    order(capture, CaptureOrder::kEnd);
  }
  EXPECT_EQ(fs::file_size(file_), 4U);
  for (int number = 4; number <= OrderedCapture::kFilesMax; ++number)
    std::ofstream(file_.string() + "." + std::to_string(number));
  EXPECT_THAT(order(capture, CaptureOrder::kBegin), testing::HasSubstr("expected one name that is free"));
  EXPECT_EQ(capture.current(), nullptr);
}

// Without a flush, too: what is not in the file yet is whole frames.
TEST_F(OrderedCaptures, CanBeReadWhileTheyGoOn) {
  OrderedCapture capture(nullptr, file_, &orders_);
  order(capture, CaptureOrder::kBegin);
  for (int frame = 0; frame < 1000; ++frame) {
    write_one(capture, seconds(101));
    if (frame % 7 == 0) EXPECT_LE(times_in(file_).size(), 1000U) << frame;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(times_in(file_).size(), 900U);
  capture.keep(seconds(100) + OrderedCapture::kFlushInterval);
  EXPECT_EQ(times_in(file_).size(), 1000U);
}

// Whenever they begin.
TEST_F(OrderedCaptures, HaveTheTimeOfDay) {
  for (const TimePs now : {kTimeZero, milliseconds(100), seconds(12'345)}) {
    fs::remove(file_);
    OrderedCapture capture(nullptr, file_, &orders_);
    timespec moment{};
    ::clock_gettime(CLOCK_REALTIME, &moment);
    order(capture, CaptureOrder::kBegin, now);
    write_one(capture, now + milliseconds(250));
    EXPECT_TRUE(capture.close().ok());
    const std::vector<double> times = times_in(file_);
    ASSERT_EQ(times.size(), 1U);
    const auto expected =
        static_cast<double>(moment.tv_sec) + static_cast<double>(moment.tv_nsec) / 1e9 + 0.25;
    EXPECT_NEAR(times[0], expected, 0.2);
  }
}

TEST_F(OrderedCaptures, WantAFolderThatTakesFiles) {
  EXPECT_TRUE(check_capture_folder(file_).ok());
  EXPECT_TRUE(check_capture_folder("a.pcapng").ok());
  const auto refused = check_capture_folder(folder_ / "none/a.pcapng");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("cannot create the capture: No such file"));
}

}  // namespace
}  // namespace wharf::live
