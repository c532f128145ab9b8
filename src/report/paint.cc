// SPDX-License-Identifier: Apache-2.0
#include "report/paint.h"

#include <algorithm>
#include <array>

namespace wharf::report {
namespace {

constexpr std::array<std::string_view, 5> kGoodWords{"yes", "ok", "pass", "hold", "holds"};
constexpr std::array<std::string_view, 5> kBadWords{"no", "NO", "FAIL", "FAILS", "differs"};

}  // namespace

std::optional<Tone> tone_of(std::string_view verdict) {
  const std::string_view word = verdict.substr(0, verdict.find_first_of(" :,;"));
  if (std::find(kGoodWords.begin(), kGoodWords.end(), word) != kGoodWords.end()) return Tone::kGood;
  if (std::find(kBadWords.begin(), kBadWords.end(), word) != kBadWords.end()) return Tone::kBad;
  return {};
}

}  // namespace wharf::report
