// SPDX-License-Identifier: Apache-2.0
#include "sim/config/binder.h"

#include <gtest/gtest.h>

#include <array>

namespace wharf::sim {
namespace {

enum class Colour { kRed, kBlue };
constexpr std::array<Choice<Colour>, 2> kColours{{{"red", Colour::kRed}, {"blue", Colour::kBlue}}};

struct Sample {
  TimePs delay = nanoseconds(100);
  std::uint64_t size = 64;
  BitsPerSecond rate = gigabits_per_second(400);
  double loss = 0;
  std::uint32_t count = 1;
  bool flag = false;
  Colour colour = Colour::kRed;
  std::optional<TimePs> flat;
};

void bind(Binder& binder, Sample& sample, bool active = true) {
  const Binder::Section section(binder, "link", active, "only with a link");
  binder.time("delay", sample.delay, "d");
  binder.bytes("size", sample.size, "s", 1, 4096);
  binder.rate("rate", sample.rate, "r");
  binder.probability("loss", sample.loss, "l");
  binder.integer("count", sample.count, "c", 1, 64);
  binder.flag("flag", sample.flag, "f");
  binder.choice<Colour>("colour", sample.colour, kColours, "co");
  binder.optional_time("flat", sample.flat, "fl");
}

/// Reads `text` and gives the refusal, or "accepted".
std::string refusal(std::string_view text, Sample& sample) {
  ConfigDocument document;
  if (auto added = document.add_text(text, "x.toml", "", kScenarioLayer); !added)
    return added.error().message;
  Binder binder(document);
  bind(binder, sample);
  constexpr std::array<std::string_view, 1> kTables{"expect"};
  const auto finished = binder.finish(kTables);
  return finished ? "accepted" : finished.error().message;
}
std::string refusal(std::string_view text) {
  Sample sample;
  return refusal(text, sample);
}

TEST(Binder, ReadsEveryTypeAndKeepsDefaults) {
  Sample sample;
  EXPECT_EQ(
      refusal("[link]\ndelay = \"1.5us\"\nsize = \"4KiB\"\nrate = \"100Gbps\"\nloss = \"5%\"\ncount = 7\n"
              "flag = true\ncolour = \"blue\"\nflat = \"70ns\"\n",
              sample),
      "accepted");
  EXPECT_EQ(sample.delay, nanoseconds(1500));
  EXPECT_EQ(sample.size, 4096U);
  EXPECT_EQ(sample.rate, gigabits_per_second(100));
  EXPECT_DOUBLE_EQ(sample.loss, 0.05);
  EXPECT_EQ(sample.count, 7U);
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.colour, Colour::kBlue);
  EXPECT_EQ(sample.flat, nanoseconds(70));
  Sample defaults;
  EXPECT_EQ(refusal("", defaults), "accepted");
  EXPECT_EQ(defaults.delay, nanoseconds(100));
  EXPECT_FALSE(defaults.flat.has_value());
}

TEST(Binder, EveryRefusalNamesPlaceValueAndExpectation) {
  EXPECT_EQ(refusal("[link]\ndelay = 100\n"),
            "x.toml:2: link.delay is \"100\", expected a time with a unit, such as \"100ns\" or \"1.5us\"");
  EXPECT_EQ(refusal("[link]\nsize = \"8KiB\"\n"),
            "x.toml:2: link.size is \"8KiB\", expected a size from 1B to 4KiB");
  EXPECT_EQ(refusal("[link]\nrate = \"fast\"\n"),
            "x.toml:2: link.rate is \"fast\", expected a rate with a unit, such as \"400Gbps\"");
  EXPECT_EQ(refusal("[link]\nloss = 1.5\n"),
            "x.toml:2: link.loss is \"1.5\", expected a probability from 0 to 1, such as \"5%\" or 0.05");
  EXPECT_EQ(refusal("[link]\ncount = 65\n"),
            "x.toml:2: link.count is \"65\", expected an integer from 1 to 64");
  EXPECT_EQ(refusal("[link]\nflag = \"yes\"\n"), "x.toml:2: link.flag is \"yes\", expected true or false");
  EXPECT_EQ(refusal("[link]\ncolour = \"bleu\"\n"),
            "x.toml:2: link.colour is \"bleu\", expected one of red, blue; did you mean \"blue\"?");
}

TEST(Binder, UnknownKeysTablesAndTypesAreRefused) {
  EXPECT_EQ(refusal("[link]\ndealy = \"1ns\"\n"),
            "x.toml:2: unknown key link.dealy; did you mean link.delay?");
  EXPECT_NE(refusal("[[expcet]]\nvalue = 1\n").find("unknown list of tables [[expcet]], expected expect"),
            std::string::npos);
  EXPECT_NE(refusal("[link]\ndelay = 1979-05-27\n").find("is a date or time"), std::string::npos);
  EXPECT_NE(refusal("[link]\ndelay = [1, 2]\n").find("is a list, expected a single value"),
            std::string::npos);
  EXPECT_NE(refusal("[link\n").find("x.toml:1:"), std::string::npos);
}

TEST(Binder, OverridesWinAndKeysWithoutInfluenceAreReported) {
  ConfigDocument document;
  ASSERT_TRUE(document.add_text("[link]\ncount = 3\n", "x.toml", "", kScenarioLayer).ok());
  ASSERT_TRUE(document.add_text("[link]\ncount = 9\nsize = \"1KiB\"\n", "p.toml", "", kProfileLayer).ok());
  ASSERT_TRUE(document.add_override("link.delay=7ns").ok());
  EXPECT_FALSE(document.add_override("link.delay").ok());
  Sample sample;
  Binder binder(document);
  bind(binder, sample, false);
  ASSERT_TRUE(binder.result().ok());
  EXPECT_EQ(sample.count, 3U);  // The file's own layer wins over the profile, although it was read first.
  EXPECT_EQ(sample.size, 1024U);
  EXPECT_EQ(sample.delay, nanoseconds(7));
  EXPECT_EQ(binder.without_influence(),
            (std::vector<std::string>{"link.delay (--set) had no influence: only with a link",
                                      "link.count (x.toml:2) had no influence: only with a link"}));
}

TEST(ConfigDocument, ValuesAreComparedByWhatTheyMean) {
  const std::array<std::array<const char*, 2>, 7> same{{{"1us", "1000ns"},
                                                        {"0ns", "0s"},
                                                        {"1KiB", "1024B"},
                                                        {"400Gbps", "0.4Tbps"},
                                                        {"1e3", "1000"},
                                                        {"50%", "0.5"},
                                                        {"queue", "queue"}}};
  for (const auto& [a, b] : same) EXPECT_TRUE(same_value(a, b)) << a << " " << b;
  const std::array<std::array<const char*, 2>, 5> other{
      {{"1us", "1ns"}, {"1KiB", "1KB"}, {"1e3", "1e4"}, {"queue", "Queue"}, {"", "0"}}};
  for (const auto& [a, b] : other) EXPECT_FALSE(same_value(a, b)) << a << " " << b;
}

TEST(Binder, ADroppedKeyIsReadWithItsOneValueHoweverThatIsWritten) {
  const auto result = [](const std::string& assignment) {
    ConfigDocument document;
    EXPECT_TRUE(document.add_override(assignment).ok());
    Binder binder(document);
    binder.dropped("sticky", "1us", "decided for each packet");
    return binder.result().ok();
  };
  EXPECT_TRUE(result("sticky=1us"));
  EXPECT_TRUE(result("sticky=1000ns"));
  EXPECT_FALSE(result("sticky=1001ns"));
}

TEST(Binder, DocumentsEveryKeyWithItsDefault) {
  Sample sample;
  Binder binder;
  bind(binder, sample);
  ASSERT_EQ(binder.keys().size(), 8U);
  EXPECT_EQ(binder.keys()[0].path, "link.delay");
  EXPECT_EQ(binder.keys()[0].default_value, "100ns");
  EXPECT_EQ(binder.keys()[6].expected, "one of red, blue");
  EXPECT_EQ(binder.keys()[7].default_value, "none");
}

}  // namespace
}  // namespace wharf::sim
