// SPDX-License-Identifier: Apache-2.0
#include "base/zipf.h"

#include "base/check.h"
#include "base/deterministic_math.h"

namespace wharf {

Zipf::Zipf(std::uint64_t n, double s) : n_(n), s_(s) {
  WHARF_CHECK(n >= 1 && n <= (1ULL << 52U));
  WHARF_CHECK(s > 0.0 && s <= 4.0);
  integral_first_ = integral(1.5) - 1.0;
  integral_last_ = integral(static_cast<double>(n) + 0.5);
  accept_below_ = 2.0 - integral_inverse(integral(2.5) - density(2.0));
}

// H(x) = (x^(1-s) - 1) / (1 - s), whose limit at s = 1 is log x; written so that s near 1 loses no digits.
double Zipf::integral(double x) const {
  const double log_x = deterministic_log(x);
  const double t = (1.0 - s_) * log_x;
  return t == 0.0 ? log_x : deterministic_exp_minus_one(t) / t * log_x;
}

double Zipf::density(double x) const { return deterministic_exp(-s_ * deterministic_log(x)); }

double Zipf::integral_inverse(double y) const {
  double t = y * (1.0 - s_);
  if (t < -1.0) t = -1.0;  // Only rounding can bring it here.
  return deterministic_exp(t == 0.0 ? y : deterministic_log_one_plus(t) / t * y);
}

std::uint64_t Zipf::operator()(RandomStream& random) const {
  for (;;) {
    const double u = integral_last_ + random.uniform01() * (integral_first_ - integral_last_);
    const double x = integral_inverse(u);
    const double last = static_cast<double>(n_);
    double rank = x + 0.5;
    if (!(rank >= 1.0)) rank = 1.0;
    if (rank > last) rank = last;
    const auto k = static_cast<std::uint64_t>(rank);
    const double k_real = static_cast<double>(k);
    if (k_real - x <= accept_below_ || u >= integral(k_real + 0.5) - density(k_real)) return k - 1;
  }
}

}  // namespace wharf
