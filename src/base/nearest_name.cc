// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wharf {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Damerau-Levenshtein distance in its restricted form (no edits inside a swapped pair).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_previous, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + replaced});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
      }
    }
  }
  return current[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             std::span<const std::string_view> names) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const std::string_view name : names) {
    const std::size_t longer = std::max(wrong.size(), name.size());
    const std::size_t limit = longer < 2 ? 0 : std::max<std::size_t>(1, longer / 3);
    const std::size_t distance = edit_distance(wrong, name);
    if (distance <= limit && (!best || distance < best_distance)) {
      best = name;
      best_distance = distance;
    }
  }
  if (best || wrong.size() < 3) return best;
  for (const std::string_view name : names) {  // A word that was cut short.
    if (name.size() <= wrong.size() || edit_distance(wrong, name.substr(0, wrong.size())) != 0) continue;
    if (best) return std::nullopt;
    best = name;
  }
  return best;
}

}  // namespace wharf
