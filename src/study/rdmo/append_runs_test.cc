// SPDX-License-Identifier: Apache-2.0
// Who is ahead of whom, in words and as a crossing.
#include "study/rdmo/append_runs.h"

#include <gtest/gtest.h>

namespace wharf::study::rdmo {
namespace {

const std::vector<std::string> kPlaces{"1", "4", "16", "64"};

TEST(WhereAhead, NamesEveryStretch) {
  const std::vector<double> flat{2, 2, 2, 2};
  EXPECT_EQ(where_ahead(kPlaces, std::vector<double>{3, 3, 1, 1}, flat), "at 1 to 4");
  EXPECT_EQ(where_ahead(kPlaces, std::vector<double>{3, 1, 3, 3}, flat), "at 1 and at 16 to 64");
  EXPECT_EQ(where_ahead(kPlaces, flat, flat), "nowhere") << "as fast is not ahead";
  EXPECT_EQ(where_ahead(kPlaces, std::vector<double>{3, 3, 3, 3}, flat), "everywhere");
}

TEST(Crossing, LiesWhereBothLinesMeet) {
  const std::vector<double> x{100, 400, 1600};
  const std::vector<double> flat{2, 2, 2};
  EXPECT_NEAR(crossing(x, std::vector<double>{8, 4, 1}, flat), 800, 1e-6)
      << "half way, both axes logarithmic";
  EXPECT_NEAR(crossing(x, std::vector<double>{4, 1, 0.5}, flat), 200, 1e-6);
  EXPECT_EQ(crossing(x, std::vector<double>{1, 1, 1}, flat), 0);
}

}  // namespace
}  // namespace wharf::study::rdmo
