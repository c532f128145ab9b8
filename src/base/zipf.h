// SPDX-License-Identifier: Apache-2.0
// Zipf-distributed ranks by rejection-inversion: constant time and no tables, however many ranks there are.
// Source: Hoermann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", ACM TOMACS 6(3), 1996.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace wharf {

/// Draws rank r (0 .. n-1, 0 the most frequent) with probability proportional to 1 / (r + 1)^s.
class Zipf {
 public:
  /// `n` from 1 to 2^52 ranks; exponent `s` above 0 and at most 4 (1 included). Aborts outside.
  Zipf(std::uint64_t n, double s);

  /// Draws one rank; consumes one or (rarely) more numbers of `random`.
  std::uint64_t operator()(RandomStream& random) const;

  std::uint64_t size() const { return n_; }

 private:
  double density(double x) const;           ///< h(x) = x^-s
  double integral(double x) const;          ///< H(x), the integral of h from 1 to x
  double integral_inverse(double y) const;  ///< x with H(x) = y

  std::uint64_t n_;
  double s_;
  double integral_first_;  ///< H(1.5) - h(1)
  double integral_last_;   ///< H(n + 0.5)
  double accept_below_;    ///< Distance to the rank within which no test is needed.
};

}  // namespace wharf
