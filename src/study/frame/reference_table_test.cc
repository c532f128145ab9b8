// SPDX-License-Identifier: Apache-2.0
#include "study/frame/reference_table.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace wharf::study {
namespace {

constexpr std::string_view kHeader = "series,x,value,unit,source,kind\n";

std::string refusal(const std::string& rest) {
  const auto table = ReferenceTable::parse(std::string(kHeader) + rest, "t.csv");
  return table ? "" : table.error().message;
}

TEST(ReferenceTable, ReadsFieldsQuotesAndNegativeNumbers) {
  const auto table = ReferenceTable::parse(
      std::string(kHeader) + "a,\"(1,1)\",-3,B,\"said \"\"so\"\", once\",paper-table\r\n\nb,,2.5,ns,s,k\n",
      "t.csv");
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->values().size(), 2U);
  EXPECT_EQ(table->values()[0].x, "(1,1)");
  EXPECT_EQ(table->values()[0].value, -3);
  EXPECT_EQ(table->values()[0].source, "said \"so\", once");
  EXPECT_EQ(table->values()[0].kind, "paper-table");
  EXPECT_EQ(table->find("b", ""), 2.5);
  EXPECT_EQ(table->find("b", "1"), std::nullopt);
  EXPECT_EQ(table->series("a").size(), 1U);
}

TEST(ReferenceTable, RefusalsNameFileAndLine) {
  EXPECT_EQ(refusal("a,1,2,ns,s\n"), "t.csv:2: found 5 fields, expected 6");
  EXPECT_EQ(refusal("a,1,2,ns,s,k\na,1,2x,ns,s,k\n"), "t.csv:3: found value \"2x\", expected a number");
  EXPECT_EQ(refusal("a,1,,ns,s,k\n"), "t.csv:2: found value \"\", expected a number");
  EXPECT_EQ(refusal("a,1,inf,ns,s,k\n"), "t.csv:2: found value \"inf\", expected a number");
  EXPECT_EQ(refusal("\"a,1,2,ns,s,k\n"), "t.csv:2: a quote is opened and not closed");
  EXPECT_EQ(refusal(""), "t.csv: holds no values");
  const auto wrong = ReferenceTable::parse("a,b\n", "t.csv");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "t.csv:1: found header \"a,b\", expected \"series,x,value,unit,source,kind\"");
}

TEST(ReferenceTable, AMissingValueIsToldWithTheFile) {
  const auto table = ReferenceTable::parse(std::string(kHeader) + "a,1,2,ns,s,k\n", "t.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table->at("a", "1"), 2);
  EXPECT_EQ(table->at("a", "2").error().message, "t.csv: has no value of series \"a\" at x \"2\"");
}

TEST(ReferenceTable, AMissingFileIsTheEnvironment) {
  const auto table = ReferenceTable::read("studies/openurma/none.csv");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().kind, ErrorKind::kEnvironment);
}

TEST(ReferenceTable, EveryShippedFileReads) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("studies")) {
    if (entry.path().extension() != ".csv") continue;
    // Runs of another simulator, in its own columns.
    if (entry.path().parent_path().filename() == "ultra_ethernet") continue;
    const auto table = ReferenceTable::read(entry.path());
    EXPECT_TRUE(table.ok()) << table.error().message;
    ++files;
  }
  EXPECT_GE(files, 13U);
}

TEST(ReferenceTable, AnXThatIsNoNumberIsRefusedWithItsPlace) {
  const auto table =
      ReferenceTable::parse("series,x,value,unit,source,kind\na,0.5,1,ns,s,k\na,abc,2,ns,s,k\n", "f.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table->number_at_x(table->values()[0]), 0.5);
  const auto wrong = table->number_at_x(table->values()[1]);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInput);
  EXPECT_EQ(wrong.error().message, "f.csv:3: found x \"abc\", expected a number");
}

}  // namespace
}  // namespace wharf::study
