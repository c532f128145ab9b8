// SPDX-License-Identifier: Apache-2.0
// This tree passes every check of its documents, and small trees that break them are caught.
#include "docs/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::docs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

auto found(const std::string& file, std::size_t line, const std::string& words) {
  return AllOf(Field(&Finding::file, file), Field(&Finding::line, line),
               Field(&Finding::message, HasSubstr(words)));
}

TEST(Documents, LinksOfThisTreeLeadSomewhere) {
  EXPECT_EQ(house::to_text(check_links(house::read_tree("."))), "");
}
TEST(Documents, GuidesOfThisTreeQuoteTheirExamples) {
  EXPECT_EQ(house::to_text(check_guides(house::read_tree("."))), "");
}
TEST(Documents, IndexesOfThisTreeAreComplete) {
  EXPECT_EQ(house::to_text(check_indexes(house::read_tree("."))), "");
}

TEST(Documents, AbbreviationsOfThisTreeAreExplained) {
  EXPECT_EQ(house::to_text(check_abbreviations(house::read_tree("."))), "");
}

TEST(Documents, AnAbbreviationThatNothingExplainsIsFound) {
  const std::vector<SourceFile> files = {
      {"docs/glossary.md", {"- **LLR**: link-level retry."}},
      {"docs/fabric.md", {"LLR and CBFC of an IEEE [UE 1.0], [RTT](a.md)", "`PFC`, SHOUTED_NAME"}},
      {"docs/decisions/0084-x.md", {"QEMU"}},
      {"docs/decisions/0085-x.md", {"QEMU"}}};
  EXPECT_THAT(check_abbreviations(files), ElementsAre(found("docs/fabric.md", 1, "\"CBFC\""),
                                                      found("docs/decisions/0085-x.md", 1, "\"QEMU\"")));
}

TEST(Documents, ADeadLinkIsFound) {
  const std::vector<SourceFile> files = {
      {"docs/a.md",
       {"[b](b.md) [up](../src/x.h) [folder](../src/) [site](https://example.org/x) [here](#part)",
        "[gone](c.md#part)", "`[code](d.md)`", "```", "[code](e.md)", "```", "[out](../../f.md) [x](x.h)"}},
      {"docs/b.md", {}},
      {"src/x.h", {"[no document](g.md)"}}};
  EXPECT_THAT(check_links(files), ElementsAre(found("docs/a.md", 2, "\"c.md\" is no file"),
                                              found("docs/a.md", 7, "\"../../f.md\" is no file"),
                                              found("docs/a.md", 7, "\"x.h\" is no file")));
}

TEST(Documents, AGuideThatLagsBehindItsExampleIsFound) {
  const SourceFile example = {"examples/add_a_thing/thing.h",
                              {"// guide: begin", "  int a;", "", "    int b;", "  // guide: end", "int c;",
                               "// guide: begin", "int d;", "// guide: end"}};
  const SourceFile current = {
      "docs/guides/add-a-thing.md",
      {"```cpp", "int a;", "", "  int b;", "```", "```cpp", "int d;", "```", "```sh", "make", "```"}};
  EXPECT_EQ(house::to_text(check_guides({example, current})), "");

  SourceFile lagging = current;
  lagging.lines[3] = "  int b2;";
  EXPECT_THAT(check_guides({example, lagging}),
              ElementsAre(found("examples/add_a_thing/thing.h", 1, "not quoted word for word"),
                          found("docs/guides/add-a-thing.md", 1, "no marked region")));
}

TEST(Documents, UnbalancedMarksAreFound) {
  const SourceFile guide = {"docs/guides/add-a-thing.md", {"```cpp", "x", "```"}};
  const SourceFile open = {"examples/add_a_thing/a.h", {"// guide: begin", "x"}};
  EXPECT_THAT(check_guides({guide, open}),
              ElementsAre(found("examples/add_a_thing/a.h", 1, "without an end")));
  const SourceFile twice = {"examples/add_a_thing/a.toml",
                            {"# guide: begin", "x", "# guide: end", "# guide: end"}};
  EXPECT_THAT(check_guides({guide, twice}),
              ElementsAre(found("examples/add_a_thing/a.toml", 4, "alternate")));
}

TEST(Documents, GuidesAndExamplesComeInPairs) {
  EXPECT_THAT(
      check_guides({{"docs/guides/add-one.md", {}}, {"docs/guides/README.md", {}}, {"examples/two/x.h", {}}}),
      ElementsAre(found("examples/two", 0, "has no guide docs/guides/two.md"),
                  found("docs/guides/add-one.md", 0, "has no folder examples/add_one")));
}

TEST(Documents, APageThatNoIndexNamesIsFound) {
  EXPECT_THAT(check_indexes({{"docs/guides/README.md", {"[one](one.md)"}},
                             {"docs/guides/one.md", {}},
                             {"docs/guides/two.md", {}},
                             {"docs/decisions/0001-x.md", {}}}),
              ElementsAre(found("docs/guides/two.md", 0, "is not in docs/guides/README.md"),
                          found("docs/decisions/0001-x.md", 0, "is not in docs/decisions/README.md")));
}

}  // namespace
}  // namespace wharf::docs
