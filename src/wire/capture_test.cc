// SPDX-License-Identifier: Apache-2.0
// Captures written, read back, compared with libpcap, cut short and compressed.
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "wire/capture_reader.h"
#include "wire/compressed_file.h"
#include "wire/pcapng_writer.h"

namespace wharf::wire {
namespace {

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("wharf_capture_" + std::to_string(getpid()) +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const char* name) const { return folder_ / name; }

  static std::vector<std::byte> frame_bytes(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 3 + length);
    return bytes;
  }

  /// Five frames on two interfaces; both Ethernet unless `mixed`.
  void write_sample(const std::filesystem::path& file, bool mixed) const {
    Result<PcapngWriter> writer = PcapngWriter::create(file);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const CaptureInterface first = writer->add_interface("host0.nic", LinkType::kEthernet);
    const CaptureInterface second =
        writer->add_interface("host1.nic", mixed ? LinkType::kUbLink : LinkType::kEthernet);
    for (std::size_t i = 0; i < 5; ++i)
      writer->write(i % 2 == 0 ? first : second, TimePs{static_cast<std::int64_t>(i) * 1'000'000'001'007},
                    frame_bytes(60 + i), i == 2 ? "dropped by the link" : "");
    EXPECT_EQ(writer->frames(), 5U);
    ASSERT_TRUE(writer->close().ok());
  }

 private:
  std::filesystem::path folder_;
};

std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  Result<std::vector<std::byte>> bytes = read_file(path);
  EXPECT_TRUE(bytes.ok());
  return std::move(bytes).value();
}

TEST_F(Capture, WhatIsWrittenIsRead) {
  write_sample(path("a.pcapng"), true);
  Result<CaptureReader> reader = CaptureReader::open(path("a.pcapng"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  CapturedFrame frame;
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(*reader->next(frame));
    const std::vector<std::byte> expected = frame_bytes(60 + i);
    EXPECT_EQ(std::vector<std::byte>(frame.bytes.begin(), frame.bytes.end()), expected);
    EXPECT_EQ(frame.original_bytes, expected.size());
    EXPECT_EQ(frame.number, i + 1);
    EXPECT_EQ(frame.seconds, static_cast<std::int64_t>(i));
    EXPECT_EQ(frame.picoseconds, i * 1007 / 1000 * 1000);  // nanoseconds, rounded down
    EXPECT_EQ(frame.link_type, i % 2 == 0 ? 1 : 147);
    EXPECT_EQ(frame.interface_name, i % 2 == 0 ? "host0.nic" : "host1.nic");
  }
  EXPECT_FALSE(*reader->next(frame));
}

/// Frames of a file as libpcap gives them.
std::vector<std::pair<std::vector<std::byte>, std::int64_t>> libpcap_frames(
    const std::filesystem::path& path) {
  char error[PCAP_ERRBUF_SIZE] = {};
  pcap_t* const pcap =
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
  EXPECT_NE(pcap, nullptr) << error;
  std::vector<std::pair<std::vector<std::byte>, std::int64_t>> frames;
  if (pcap == nullptr) return frames;
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  while (pcap_next_ex(pcap, &header, &bytes) == 1) {
    const auto* const first = reinterpret_cast<const std::byte*>(bytes);
    frames.emplace_back(std::vector<std::byte>(first, first + header->caplen),
                        header->ts.tv_sec * 1'000'000'000 + header->ts.tv_usec);
  }
  pcap_close(pcap);
  return frames;
}

void expect_same_as_libpcap(const std::filesystem::path& path) {
  const auto expected = libpcap_frames(path);
  ASSERT_FALSE(expected.empty());
  Result<CaptureReader> reader = CaptureReader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  CapturedFrame frame;
  for (const auto& [bytes, time] : expected) {
    ASSERT_TRUE(*reader->next(frame));
    EXPECT_EQ(std::vector<std::byte>(frame.bytes.begin(), frame.bytes.end()), bytes);
    EXPECT_EQ(frame.seconds * 1'000'000'000 + static_cast<std::int64_t>(frame.picoseconds / 1000), time);
  }
  EXPECT_FALSE(*reader->next(frame));
}

TEST_F(Capture, AgreesWithLibpcap) {
  write_sample(path("a.pcapng"), false);
  expect_same_as_libpcap(path("a.pcapng"));
  // The Soft-RoCE capture, unpacked: classic pcap with microseconds.
  const std::vector<std::byte> bytes = file_bytes("tests/data/captures/linux-soft-roce.pcap.xz");
  std::ofstream(path("b.pcap"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  expect_same_as_libpcap(path("b.pcap"));
}

/// A classic capture of one three-byte frame in either byte order.
std::vector<std::byte> small_pcap(bool big_endian, std::uint32_t magic) {
  const std::uint32_t words[] = {magic, 0, 0, 0, 65536, 1, 7, 5, 3, 3};
  std::vector<std::byte> bytes(sizeof words + 3);
  for (std::size_t i = 0; i < std::size(words); ++i)
    big_endian ? store_be32(&bytes[4 * i], words[i]) : store_le32(&bytes[4 * i], words[i]);
  return bytes;
}

TEST_F(Capture, FourKindsOfPcap) {
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      Result<CaptureReader> reader =
          CaptureReader::from_bytes(small_pcap(big_endian, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4), "small");
      ASSERT_TRUE(reader.ok()) << reader.error().message;
      CapturedFrame frame;
      ASSERT_TRUE(*reader->next(frame));
      EXPECT_EQ(frame.bytes.size(), 3U);
      EXPECT_EQ(frame.seconds, 7);
      EXPECT_EQ(frame.picoseconds, nanoseconds ? 5000U : 5'000'000U);
      EXPECT_FALSE(*reader->next(frame));
    }
  }
}

TEST_F(Capture, GzipIsReadToo) {
  write_sample(path("a.pcapng"), true);
  const std::vector<std::byte> bytes = file_bytes(path("a.pcapng"));
  gzFile const file = gzopen(path("a.pcapng.gz").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(file_bytes(path("a.pcapng.gz")), bytes);
  // Cut inside the compressed data.
  std::filesystem::resize_file(path("a.pcapng.gz"), 40);
  const Result<CaptureReader> reader = CaptureReader::open(path("a.pcapng.gz"));
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message,
              testing::HasSubstr("a.pcapng.gz: ends at byte 40 inside its gzip data"));
}

TEST_F(Capture, ABombIsRefused) {
  const std::vector<std::byte> zeros(1'000'000);
  gzFile const file = gzopen(path("zeros.gz").c_str(), "wb");
  gzwrite(file, zeros.data(), 1'000'000);
  gzclose(file);
  std::ifstream stream(path("zeros.gz"), std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(stream)), {});
  const Result<std::vector<std::byte>> bytes =
      decompress(std::as_bytes(std::span(packed)), "zeros.gz", 999'999);
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message, testing::HasSubstr("more than 999999 bytes"));
}

std::string error_of(std::vector<std::byte> bytes) {
  Result<CaptureReader> reader = CaptureReader::from_bytes(std::move(bytes), "x");
  if (!reader) return reader.error().message;
  CapturedFrame frame;
  while (true) {
    const Result<bool> more = reader->next(frame);
    if (!more) return more.error().message;
    if (!*more) return "no error";
  }
}

TEST_F(Capture, EveryCutIsNamedOrBetweenFrames) {
  write_sample(path("a.pcapng"), true);
  const std::vector<std::byte> whole = file_bytes(path("a.pcapng"));
  std::size_t clean = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::string error = error_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    if (error == "no error") {
      ++clean;
    } else {
      EXPECT_TRUE(error.starts_with("x: at byte ")) << error;
    }
  }
  EXPECT_EQ(clean, 8U);  // after the section header, two interfaces and five frames
}

TEST_F(Capture, ErrorsNameWhatWasFoundAndExpected) {
  EXPECT_EQ(error_of(std::vector<std::byte>(40)),
            "x: at byte 0: found magic number 0x00000000, expected that of a pcap or pcapng capture");
  std::vector<std::byte> bytes = small_pcap(false, 0xa1b2c3d4);
  store_le32(&bytes[32], 400'000);
  EXPECT_EQ(error_of(bytes), "x: at byte 32: found a frame of 400000 bytes, expected at most 262144");
  store_le32(&bytes[32], 100);
  EXPECT_EQ(error_of(bytes), "x: at byte 24: frame 1 has 100 bytes, but only 3 are left in the file");
  const Result<CaptureReader> missing = CaptureReader::open("no/such.pcap");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "no/such.pcap: cannot be read: No such file or directory");
}

TEST_F(Capture, UnwritablePathIsAnEnvironmentError) {
  const Result<PcapngWriter> writer = PcapngWriter::create("/nonexistent/folder/a.pcapng");
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace wharf::wire
