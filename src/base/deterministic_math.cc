// SPDX-License-Identifier: Apache-2.0
#include "base/deterministic_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace wharf {
namespace {

// log(2) in two parts: the first has 32 significant bits, so that a product with an exponent is exact.
constexpr double kLog2High = 6.93147180369123816490e-01;
constexpr double kLog2Low = 1.90821492927058770002e-10;
constexpr double kInverseLog2 = 1.44269504088896338700;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// 2 * (atanh(s) - s) / s for |s| <= 0.1716 as a function of s squared: the series stops where terms vanish.
double atanh_tail(double s2) {
  double sum = 0.0;
  for (int k = 12; k >= 1; --k) sum = s2 * (1.0 / (2 * k + 1) + sum);
  return 2.0 * sum;
}

/// log(1 + f) for 1 + f between sqrt(1/2) and sqrt(2).
double log_near_one(double f) {
  const double s = f / (2.0 + f);
  // log(1+f) = 2 atanh(s), and 2s = f - s f: this form keeps the leading term exact.
  return f - s * (f - atanh_tail(s * s));
}

/// exp(r) - 1 for |r| <= 0.35.
double exp_minus_one_near_zero(double r) {
  double sum = 0.0;
  for (int k = 15; k >= 2; --k) sum = (1.0 + sum) * r / k;
  return r + r * sum;
}

/// 2 to the power k, for k from -1022 to 1023.
double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52U); }

}  // namespace

double deterministic_log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (x == kInfinity) return x;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {  // Subnormal: bring it into range.
    x *= 18014398509481984.0;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52U) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  return exponent * kLog2High + (log_near_one(m - 1.0) + exponent * kLog2Low);
}

double deterministic_log_one_plus(double x) {
  if (x > -0.29 && x < 0.41) return log_near_one(x);
  return deterministic_log(1.0 + x);
}

double deterministic_exp(double x) {
  if (x != x) return x;
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0.0;
  const double scaled = x * kInverseLog2;
  const int k = static_cast<int>(scaled + (scaled < 0.0 ? -0.5 : 0.5));
  const double r = (x - k * kLog2High) - k * kLog2Low;
  const double value = 1.0 + exp_minus_one_near_zero(r);
  // Two factors, because 2^k itself leaves the range of normal numbers at both ends.
  return value * power_of_two(k / 2) * power_of_two(k - k / 2);
}

double deterministic_exp_minus_one(double x) {
  if (x > -0.35 && x < 0.35) return exp_minus_one_near_zero(x);
  return deterministic_exp(x) - 1.0;
}

double deterministic_pow(double x, double y) { return deterministic_exp(y * deterministic_log(x)); }

}  // namespace wharf
