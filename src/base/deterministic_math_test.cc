// SPDX-License-Identifier: Apache-2.0
#include "base/deterministic_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"

namespace wharf {
namespace {

double relative_error(double value, double reference) {
  return reference == 0.0 ? std::fabs(value) : std::fabs(value / reference - 1.0);
}

TEST(DeterministicMath, AgreesWithTheCLibrary) {
  RandomStream random(7, "math");
  for (int i = 0; i < 200'000; ++i) {
    const double spread = (random.uniform01() - 0.5) * 1400.0;
    const double small = (random.uniform01() - 0.5) * 4.0;
    const double x = std::exp(spread);
    ASSERT_LT(relative_error(deterministic_log(x), std::log(x)), 1e-15) << x;
    ASSERT_LT(relative_error(deterministic_log(1.0 + small / 8), std::log(1.0 + small / 8)), 1e-15) << small;
    ASSERT_LT(relative_error(deterministic_exp(spread), std::exp(spread)), 1e-15) << spread;
    ASSERT_LT(relative_error(deterministic_exp_minus_one(small), std::expm1(small)), 2e-15) << small;
    ASSERT_LT(relative_error(deterministic_log_one_plus(small / 2.01), std::log1p(small / 2.01)), 1e-15)
        << small;
    const double base = 1.0 + 1e6 * random.uniform01();
    ASSERT_LT(relative_error(deterministic_pow(base, small), std::pow(base, small)),
              1e-15 * (1.0 + std::fabs(small * std::log(base))));
  }
}

TEST(DeterministicMath, EndsOfTheRange) {
  EXPECT_EQ(deterministic_log(1.0), 0.0);
  EXPECT_EQ(deterministic_exp(0.0), 1.0);
  EXPECT_EQ(deterministic_log(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(deterministic_log(-1.0)));
  EXPECT_EQ(deterministic_exp(1000.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(deterministic_exp(-1000.0), 0.0);
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_LT(relative_error(deterministic_log(tiny), std::log(tiny)), 1e-15);
  EXPECT_LT(relative_error(deterministic_exp(709.78), std::exp(709.78)), 1e-15);
  EXPECT_LT(relative_error(deterministic_exp(-708.0), std::exp(-708.0)), 1e-15);
  EXPECT_LT(relative_error(deterministic_log_one_plus(1e-18), 1e-18), 1e-15);
}

}  // namespace
}  // namespace wharf
