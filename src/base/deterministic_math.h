// SPDX-License-Identifier: Apache-2.0
// Logarithm, exponential and power from IEEE + - * / alone, so that a run gives the same bits on every
// machine; the C library's versions differ between releases and processors. Used to draw random numbers,
// never for time.
#pragma once

namespace wharf {

/// Natural logarithm of x > 0; relative error below 1e-15. Zero gives minus infinity, a negative number NaN.
double deterministic_log(double x);
/// log(1 + x) for x > -1, without cancellation near zero; relative error below 1e-15.
double deterministic_log_one_plus(double x);
/// e to the power x; relative error below 1e-15; infinity above 709.78, zero below -745.13.
double deterministic_exp(double x);
/// exp(x) - 1, without cancellation near zero; relative error below 2e-15.
double deterministic_exp_minus_one(double x);
/// x to the power y for x > 0; relative error below 1e-15 * (1 + |y log x|).
double deterministic_pow(double x, double y);

}  // namespace wharf
