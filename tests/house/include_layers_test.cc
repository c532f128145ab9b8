// SPDX-License-Identifier: Apache-2.0
// The layers of this tree hold, and a tree that breaks them is caught at the right line.
#include "house/include_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::house {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
auto found(const std::string& file, std::size_t line, const std::string& words) {
  return AllOf(Field(&Finding::file, file), Field(&Finding::line, line),
               Field(&Finding::message, HasSubstr(words)));
}

Layers layers_of(const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (file.path == "tools/layers.txt") return read_layers(file);
  }
  return Layers{{}, {{"tools/layers.txt", 0, "is missing"}}};
}

TEST(IncludeLayers, ThisTreeKeepsThem) {
  const std::vector<SourceFile> files = read_tree(".");
  const Layers layers = layers_of(files);
  EXPECT_EQ(to_text(layers.findings), "");
  EXPECT_EQ(to_text(check_layers(layers, files)), "");
}

TEST(IncludeLayers, EveryBrokenArrowOfTheFixtureIsReported) {
  const std::vector<SourceFile> files = read_tree("tests/house/fixtures/layers");
  const Layers layers = layers_of(files);
  ASSERT_EQ(to_text(layers.findings), "");
  const std::vector<Finding> findings = check_layers(layers, files);
  EXPECT_THAT(findings,
              ElementsAre(found("src/base/CMakeLists.txt", 3, "forbidden arrow base -> engine/ub"),
                          found("src/base/time.h", 5, "forbidden arrow base -> wire"),
                          found("src/engine/ub/engine.h", 6, "forbidden arrow engine/ub -> engine/roce"),
                          found("src/stray/stray.h", 0, "src/stray has no line"),
                          found("src/wire/bth.h", 6, "\"bth_fields.h\" is no file below src/"),
                          found("tools/layers.txt", 0, "no include needs the arrow engine/ub -> base")))
      << to_text(findings);
}

TEST(IncludeLayers, TheTableItselfIsChecked) {
  const Layers layers =
      read_layers({"layers.txt", {"# comment", "wire : base", "base :", "base :", "trace base"}});
  EXPECT_THAT(layers.findings,
              ElementsAre(found("layers.txt", 2, "wire names base, which no earlier line has"),
                          found("layers.txt", 4, "base has two lines"),
                          found("layers.txt", 5, "expected \"folder : folder...\"")))
      << to_text(layers.findings);
}

TEST(IncludeLayers, OneLineSpeaksForAllProtocols) {
  const Layers layers =
      read_layers({"layers.txt", {"base :", "engine : base", "engine/* : base", "sim : engine/*"}});
  ASSERT_EQ(to_text(layers.findings), "");
  const std::vector<SourceFile> files{
      {"src/base/a.h", {}},
      {"src/engine/e.h", {"#include \"base/a.h\""}},
      {"src/engine/x/x.h", {"#include \"base/a.h\""}},
      {"src/engine/y/y.h", {"#include \"engine/x/x.h\""}},
      {"src/sim/s.h", {"#include \"engine/x/x.h\"", "#include \"engine/e.h\""}}};
  EXPECT_THAT(check_layers(layers, files),
              ElementsAre(found("src/engine/y/y.h", 1, "forbidden arrow engine/y -> engine/x"),
                          found("src/sim/s.h", 2, "forbidden arrow sim -> engine (")));
}

}  // namespace
}  // namespace wharf::house
