// SPDX-License-Identifier: Apache-2.0
// The binary form: round trip, every kind of damage refused, import from every form and compression.
#include "sim/host/replay/access_trace_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/bytes.h"
#include "base/random.h"
#include "sim/host/replay/trace_reader.h"

namespace wharf::sim {
namespace {

/// A folder of this test's own, removed at its end.
class AccessTraceFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("wharf_trace_test_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read_text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

std::vector<TraceRecord> random_records(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, "access_trace_file_test");
  std::vector<TraceRecord> records(count);
  std::uint64_t address = 0;
  for (TraceRecord& record : records) {
    const std::uint64_t step = random.next_u64() >> (random.below(60) + 4);
    address = (address + step) >> 1U;
    record.address = random.below(4) == 0 ? 0x1ffe000000 + random.below(1000) : address;
    record.instructions =
        random.below(50) == 0 ? random.next_u32() : static_cast<std::uint32_t>(random.below(20));
    record.size = random.below(9) == 0 ? static_cast<std::uint16_t>(1 + random.below(65535))
                                       : static_cast<std::uint16_t>(1U << random.below(7));
    record.kind = static_cast<TraceKind>(random.below(3));
    if (random.below(100) == 0) record = {0, record.instructions, 0, TraceKind::kInstructions};
  }
  return records;
}

Result<std::vector<TraceRecord>> read_all(TraceReader& reader, std::size_t batch) {
  std::vector<TraceRecord> records;
  std::vector<TraceRecord> out(batch);
  for (;;) {
    const Result<std::size_t> got = reader.read(out);
    if (!got) return got.error();
    if (*got == 0) return records;
    records.insert(records.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

void write_file(const std::string& path, std::span<const TraceRecord> records, int level,
                const TraceRegions& regions = {}) {
  AccessTraceWriter writer = AccessTraceWriter::create(path, level).value();
  ASSERT_TRUE(writer.write(records).ok());
  ASSERT_FALSE(std::filesystem::exists(path)) << "nothing half-written under the name";
  ASSERT_TRUE(writer.finish(regions).ok());
}

TEST_F(AccessTraceFile, RoundTripOverSeveralBlocksWithAndWithoutZstd) {
  TraceRegions regions;
  regions.add_heap({0x1000, 0x2000});
  regions.add_heap({0x5000, 0x9000});
  regions.stack = {0x7000000, 0x8000000};
  for (const std::size_t count : {std::size_t{1}, std::size_t{kTraceBlockRecords}, std::size_t{150'000}}) {
    for (const int level : {0, 1}) {
      const std::vector<TraceRecord> records = random_records(count, count);
      write_file(path("t"), records, level, regions);
      Result<TraceReader> reader = TraceReader::open(path("t"));
      ASSERT_TRUE(reader.ok());
      ASSERT_NE(reader->binary(), nullptr);
      EXPECT_EQ(reader->regions(), regions);
      const Result<std::vector<TraceRecord>> read = read_all(*reader, 1000);
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(*read, records);
      TraceCounts counts;
      for (const TraceRecord& record : records) counts.count(record);
      EXPECT_EQ(reader->binary()->counts(), counts);
      std::filesystem::remove(path("t"));
    }
  }
}

TEST_F(AccessTraceFile, AWriterThatIsNotFinishedLeavesNothing) {
  {
    AccessTraceWriter writer = AccessTraceWriter::create(path("t"), 1).value();
    ASSERT_TRUE(writer.write(random_records(100'000, 1)).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(AccessTraceFile, EveryCutAndEveryFlippedByteIsRefusedOrHarmless) {
  const std::vector<TraceRecord> records = random_records(60, 5);
  for (const int level : {0, 3}) {
    write_file(path("t"), records, level);
    const std::string whole = read_text("t");
    for (std::size_t size = 8; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);
      Result<TraceReader> reader = TraceReader::from_memory(cut, "cut");
      EXPECT_FALSE(reader.ok() && read_all(*reader, 7).ok()) << "cut to " << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
      Result<TraceReader> reader = TraceReader::from_memory(flipped, "flipped");
      EXPECT_FALSE(reader.ok() && read_all(*reader, 7).ok()) << "flipped at " << at;
    }
    const std::string longer = whole + "x";
    Result<TraceReader> reader = TraceReader::from_memory(longer, "longer");
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(read_all(*reader, 7).error().message,
              "longer: goes on behind its last block, expected the end of the file");
    std::filesystem::remove(path("t"));
  }
}

TEST_F(AccessTraceFile, RefusalsSayWhatIsWrong) {
  write_file(path("t"), random_records(10, 1), 0);
  const std::string whole = read_text("t");
  const auto message = [](const std::string& bytes) {
    const Result<TraceReader> reader = TraceReader::from_memory(bytes, "file");
    return reader.ok() ? std::string() : reader.error().message;
  };
  std::string newer = whole;
  newer[8] = 2;
  EXPECT_EQ(message(newer), "file: has version 2, expected version 1");
  EXPECT_EQ(message(whole.substr(0, 100)), "file: ends after 100 bytes, expected a header of 1024 bytes");
  std::string damaged = whole;
  damaged[100] = 1;
  EXPECT_EQ(message(damaged), "file: has a damaged header, expected a header with a matching checksum");
  EXPECT_THAT(TraceReader::open(path("missing")).error().message,
              testing::EndsWith("No such file or directory"));
  EXPECT_THAT(TraceReader::open(folder_.string()).error().message,
              testing::EndsWith("is a directory, expected a file"));
  EXPECT_EQ(AccessTraceWriter::create(path("no/such/folder"), 1).error().kind, ErrorKind::kEnvironment);
}

std::string text_trace(int accesses) {
  RandomStream random(9, "text_trace");
  std::string text = "==1== Lackey\n";
  for (int i = 0; i < accesses; ++i) {
    text += fmt::format("I  {:08x},3\n {} {:08x},8\n", 0x4001000 + random.below(5000), "LSM"[random.below(3)],
                        0x4033000 + random.below(50'000));
  }
  return text;
}

TEST_F(AccessTraceFile, ImportKeepsEveryRecordFromEveryCompression) {
  write_text("t.txt", text_trace(100'000));
  for (const char* command : {"gzip -1 -c", "xz -0 -c", "zstd -q -c"}) {
    ASSERT_EQ(std::system(fmt::format("{} '{}' > '{}'", command, path("t.txt"), path("packed")).c_str()), 0);
    const Result<ImportSummary> packed = import_lackey(path("packed"), path("packed.out"));
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_EQ(packed->counts.accesses(), 100'000U);
    EXPECT_EQ(packed->counts.instructions, 100'000U);
    EXPECT_EQ(packed->input_lines, 200'001U);
    EXPECT_EQ(packed->output_bytes, std::filesystem::file_size(path("packed.out")));

    // A compressed file that was cut short is refused, and nothing appears.
    std::filesystem::resize_file(path("packed"), std::filesystem::file_size(path("packed")) / 2);
    const Result<ImportSummary> cut = import_lackey(path("packed"), path("cut.out"));
    ASSERT_FALSE(cut.ok());
    EXPECT_THAT(cut.error().message, testing::HasSubstr("stream ends early"));
    EXPECT_FALSE(std::filesystem::exists(path("cut.out")));
  }
  TraceReader text = TraceReader::open(path("t.txt")).value();
  TraceReader binary = TraceReader::open(path("packed.out")).value();
  EXPECT_EQ(read_all(text, 1000).value(), read_all(binary, 333).value());
}

TEST_F(AccessTraceFile, ImportTakesAWindow) {
  write_text("t.txt", text_trace(1000));
  ASSERT_TRUE(import_lackey(path("t.txt"), path("all")).ok());
  const Result<ImportSummary> window =
      import_lackey(path("all"), path("window"), {.skip_accesses = 300, .limit_accesses = 200});
  ASSERT_TRUE(window.ok());
  EXPECT_EQ(window->counts.accesses(), 200U);
  TraceReader all = TraceReader::open(path("all")).value();
  TraceReader some = TraceReader::open(path("window")).value();
  const std::vector<TraceRecord> records = read_all(all, 100).value();
  EXPECT_EQ(read_all(some, 100).value(),
            std::vector<TraceRecord>(records.begin() + 300, records.begin() + 500));
  EXPECT_THAT(import_lackey(path("all"), path("none"), {.skip_accesses = 5000}).error().message,
              testing::HasSubstr("no access is left after skipping 5000"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(AccessTraceFile, MemoryDoesNotGrowWithTheTrace) {
  // A thousand blocks; the reader holds one.
  const std::vector<TraceRecord> records = random_records(kTraceBlockRecords, 3);
  AccessTraceWriter writer = AccessTraceWriter::create(path("t"), 0).value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.write(records).ok());
  ASSERT_TRUE(writer.finish({}).ok());
  TraceReader reader = TraceReader::open(path("t")).value();
  std::vector<TraceRecord> out(1000);
  std::uint64_t count = 0;
  for (;;) {
    const Result<std::size_t> got = reader.read(out);
    ASSERT_TRUE(got.ok());
    if (*got == 0) break;
    count += *got;
  }
  EXPECT_EQ(count, 20U * kTraceBlockRecords);
}

TEST_F(AccessTraceFile, APipeIsWrittenThroughAndALinkStays) {
  const std::vector<TraceRecord> records = random_records(5000, 3);
  write_file(path("file"), records, 1);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("to pipe"));
  std::filesystem::create_symlink("target", path("to target"));
  std::string got;
  std::thread reader([&] { got = read_text("pipe"); });
  for (const char* name : {"to pipe", "to target"}) {
    AccessTraceWriter writer = AccessTraceWriter::create(path(name), 1).value();
    EXPECT_TRUE(writer.write(records).ok());
    EXPECT_TRUE(writer.finish({}).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(path(name)));
  }
  reader.join();
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_EQ(got, read_text("file"));
  EXPECT_EQ(read_text("target"), read_text("file"));
}

}  // namespace
}  // namespace wharf::sim
