// SPDX-License-Identifier: Apache-2.0
// The text parser: what counts, what is skipped, what is refused, and that no split of the input matters.
#include "sim/host/replay/lackey_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::sim {
namespace {

struct Read {
  std::vector<TraceRecord> records;
  std::string error;
  TraceRegions regions;
  std::uint64_t lines = 0;
  std::uint64_t foreign = 0;
};

Read read_all(const std::string& text, std::size_t batch = 7) {
  LackeyReader reader(ByteSource::from_memory(text, "trace"));
  Read result;
  std::vector<TraceRecord> out(batch);
  for (;;) {
    const Result<std::size_t> got = reader.read(out);
    if (!got) {
      result.error = got.error().message;
      break;
    }
    if (*got == 0) break;
    result.records.insert(result.records.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*got));
  }
  result.regions = reader.regions();
  result.lines = reader.lines();
  result.foreign = reader.foreign_lines();
  return result;
}

constexpr TraceKind kL = TraceKind::kLoad;
constexpr TraceKind kS = TraceKind::kStore;
constexpr TraceKind kM = TraceKind::kModify;
constexpr TraceKind kI = TraceKind::kInstructions;

TEST(LackeyReader, ReadsWhatLackeyWrites) {
  const Read read = read_all(
      "==18147== Lackey, an example Valgrind tool\n"
      "==18147== \n"
      "I  0401ab70,3\n"
      "I  0401ab73,5\n"
      " S 1fff000628,8\n"
      "I  0401b7ad,7\n"
      " M 04033e06,1\n"
      " L ffffffffff600000,512\n"
      "I  0401b7ad,7\n"
      "==18147== Exit code: 0\n");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.records,
              testing::ElementsAre(TraceRecord{0x1fff000628, 2, 8, kS}, TraceRecord{0x4033e06, 1, 1, kM},
                                   TraceRecord{0xffffffffff600000, 0, 512, kL}, TraceRecord{0, 1, 0, kI}));
  EXPECT_EQ(read.lines, 10U);
  EXPECT_EQ(read.foreign, 0U);
}

TEST(LackeyReader, SkipsTheProgramsOwnOutput) {
  const Read read = read_all(
      "I  04001000,3\nhello, world\n L 04001000,8\n1500|1501444 L 04001000,8\n\n\nL is a letter\nsum: I  "
      "0400,3\n");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.records, testing::ElementsAre(TraceRecord{0x4001000, 1, 8, kL}));
  EXPECT_EQ(read.foreign, 4U);
}

TEST(LackeyReader, SkipsLinesLongerThanItsBuffer) {
  const std::string long_line(1'000'000, 'x');
  const Read read = read_all(" L 04001000,8\n" + long_line + "\n L 04001008,8\n");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.records,
              testing::ElementsAre(TraceRecord{0x4001000, 0, 8, kL}, TraceRecord{0x4001008, 0, 8, kL}));
  EXPECT_EQ(read.foreign, 1U);
  EXPECT_EQ(read.lines, 3U);
}

TEST(LackeyReader, ReadsTheGenericForm) {
  const Read read =
      read_all("# made by hand\nR 0x7f001000 8\nW 7F001008,4\n\nM 10,1\nI 400,4\nL 20\nS 0x30   16  \n");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.records,
              testing::ElementsAre(TraceRecord{0x7f001000, 0, 8, kL}, TraceRecord{0x7f001008, 0, 4, kS},
                                   TraceRecord{0x10, 0, 1, kM}, TraceRecord{0x20, 1, 8, kL},
                                   TraceRecord{0x30, 0, 16, kS}));
}

TEST(LackeyReader, AcceptsCarriageReturnsAndAMissingLastNewline) {
  const Read read = read_all("I  04001000,3\r\n L 04001000,8\r\n S 04001008,8");
  EXPECT_THAT(read.records,
              testing::ElementsAre(TraceRecord{0x4001000, 1, 8, kL}, TraceRecord{0x4001008, 0, 8, kS}));
}

TEST(LackeyReader, RefusesDamagedLinesNamingThePlace) {
  const std::vector<std::string> damaged{
      " L 0400100g,8",          " L 04001000",           " L 04001000,",   " L ,8",
      " L 04001000,0",          " L 04001000,65536",     " L 04001000,8x", "I  zz,3",
      " S 11112222333344445,8", " M ffffffffffffffff,8", " L 04001000,-8"};
  for (const std::string& line : damaged) {
    const Read read = read_all("I  04001000,3\n" + line + "\n L 04001000,8\n");
    EXPECT_THAT(read.error, testing::StartsWith("trace:2: found \"" + line + "\", expected")) << line;
    EXPECT_THAT(read.error, testing::HasSubstr("1 to 65535"));
  }
  EXPECT_THAT(read_all("R 10 8\nbla\n").error,
              testing::StartsWith("trace:2: found \"bla\", expected \"L|R|S|W|M|I"));
}

TEST(LackeyReader, SaysThatTheFileEndsInsideALine) {
  EXPECT_THAT(read_all("I  04001000,3\n L 040").error,
              testing::StartsWith("trace:2: found \" L 040\" where the file ends, expected"));
  EXPECT_THAT(read_all("I  04001000,3\n L 04001000,").error,
              testing::StartsWith("trace:2: found \" L 04001000,\" where the file ends, expected"));
}

TEST(LackeyReader, RefusesFilesWithoutAnAccess) {
  EXPECT_THAT(read_all("").error, testing::StartsWith("trace: no memory access in the first 0 lines"));
  EXPECT_THAT(read_all("[run]\nseed = 1\n").error,
              testing::StartsWith("trace: no memory access in the first 2 lines"));
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "text\n";
  EXPECT_THAT(read_all(many + " L 04001000,8\n").error, testing::HasSubstr("first 1000 lines"));
  EXPECT_THAT(read_all(std::string(10'000'000, '\0')).error, testing::StartsWith("trace: no memory access"));
}

TEST(LackeyReader, LearnsTheHeapFromSystemCalls) {
  const Read read = read_all(
      "I  04001000,3\n"
      "SYSCALL[7,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x4035000) \n"
      "SYSCALL[7,1](9) sys_mmap ( 0x0, 8192, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4835000) \n"
      "SYSCALL[7,1](9) sys_mmap ( 0x0, 16400, 1, 2050, 4, 0 ) --> [pre-success] Success(0x4837000) \n"
      "SYSCALL[7,1](9) sys_mmap ( 0x483c000, 8192, 3, 50, 4294967295, 0 ) --> [pre-success] "
      "Success(0x483c000) \n"
      "SYSCALL[7,1](12) sys_brk ( 0x4056000 ) --> [pre-success] Success(0x4056000) \n"
      "SYSCALL[7,1](12) sys_brk ( 0x4057000 ) --> [pre-success] Success(0x4057000) \n"
      "SYSCALL[7,1](9) sys_mmap ( 0x0, bad\n"
      "SYSCALL[7,1](257) sys_openat ( 1 ) --> [async] ... \n"
      " L 04001000,8\n");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.foreign, 0U);
  EXPECT_TRUE(read.regions.exact);
  EXPECT_THAT(read.regions.heap,
              testing::ElementsAre(AddressRange{0x4035000, 0x4057000}, AddressRange{0x4835000, 0x4837000}))
      << "brk grows; a file and a fixed address are no heap";
  EXPECT_FALSE(read_all(" L 04001000,8\n").regions.exact);
}

// However lines are mixed and however small the batches are, the records are those written.
RC_GTEST_PROP(LackeyReaderProperty, ReadsBackWhatWasWritten, ()) {
  const auto choices =
      *rc::gen::container<std::vector<std::tuple<unsigned, std::uint64_t, unsigned>>>(rc::gen::tuple(
          rc::gen::inRange(0U, 7U), rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange(1U, 600U)));
  std::string text = "I  04001000,3\n";
  std::vector<TraceRecord> expected;
  std::uint32_t instructions = 1;
  for (const auto& [what, wide, size] : choices) {
    const std::uint64_t address = (wide >> (wide % 60)) & 0xffffffffffff;
    if (what == 0) text += "some output\n";
    if (what == 1) text += "==1== noise\n";
    if (what == 2 || what == 3) {
      text += fmt::format("I  {:08x},{}\n", address, size % 15 + 1);
      ++instructions;
    }
    if (what < 4) continue;
    text += fmt::format(" {} {:08x},{}\n", "LSM"[what - 4], address, size);
    expected.push_back(
        {address, instructions, static_cast<std::uint16_t>(size), static_cast<TraceKind>(what - 4)});
    instructions = 0;
  }
  if (instructions > 0) expected.push_back({0, instructions, 0, kI});
  const std::size_t batch = *rc::gen::inRange<std::size_t>(1, 20);
  const Read read = read_all(text, batch);
  RC_ASSERT(read.error.empty());
  RC_ASSERT(read.records == expected);
}

TEST(LackeyReader, BuffersMayEndAnywhere) {
  // Far more than a buffer, with lines of changing length, so that ends fall on every position.
  std::string text = "I  04001000,3\n";
  std::vector<TraceRecord> expected;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    const std::uint64_t address = i % 3 == 0 ? 0x1ffe000000ULL + i : 0x4000000ULL + i;
    if (i % 101 == 0) text += std::string(i % 97, 'x') + "\n";
    text += fmt::format(" L {:08x},{}\n", address, i % 2 == 0 ? 8 : 16);
    expected.push_back({address, i == 0 ? 1U : 0U, static_cast<std::uint16_t>(i % 2 == 0 ? 8 : 16), kL});
  }
  EXPECT_EQ(read_all(text, 1000).records, expected);
}

}  // namespace
}  // namespace wharf::sim
