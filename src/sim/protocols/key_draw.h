// SPDX-License-Identifier: Apache-2.0
// Keys of a scenario, drawn from a seed: those of a protocol by itself (P::draw(), protocol.h), the others by
// wharf chaos.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace wharf::sim {

/// One key of the scenario, with its value as TOML writes it.
struct DrawnKey {
  std::string key;
  std::string value;
  /// The run is another one without it: what a smaller failing run keeps.
  bool essential = false;
};

/// Draws values, and adds keys to a list.
class KeyDraw {
 public:
  /// The same for every draw with one seed. `keys` outlives it.
  KeyDraw(std::vector<DrawnKey>& keys, std::uint64_t seed) : keys_(keys), random_(seed, "chaos.run") {}

  std::uint64_t below(std::uint64_t count) { return random_.below(count); }
  bool one_in(std::uint64_t count) { return random_.below(count) == 0; }
  /// From `least` to `most`, each doubling as likely as the next.
  std::uint64_t scaled(std::uint64_t least, std::uint64_t most) {
    unsigned doublings = 0;
    while (least << doublings < most) ++doublings;
    const std::uint64_t low = least << random_.below(doublings + 1);
    const std::uint64_t high = std::min(2 * low - 1, most);
    return std::min(low, most) + (high > low ? random_.below(high - low + 1) : 0);
  }
  std::uint64_t power_of_two(unsigned least, unsigned most) {
    return std::uint64_t{1} << (least + random_.below(most - least + 1));
  }
  template <typename T>
  const T& any(std::span<const T> choices) {
    return choices[static_cast<std::size_t>(random_.below(choices.size()))];
  }
  std::string_view any(std::initializer_list<std::string_view> words) {
    return any(std::span<const std::string_view>(words.begin(), words.size()));
  }

  void number(std::string key, std::uint64_t value) { add(std::move(key), fmt::format("{}", value)); }
  void text(std::string key, std::string_view value) { add(std::move(key), fmt::format("\"{}\"", value)); }
  void flag(std::string key, bool value) { add(std::move(key), value ? "true" : "false"); }
  void bytes(std::string key, std::uint64_t value) { text(std::move(key), fmt::format("{}B", value)); }
  void nanoseconds(std::string key, std::uint64_t value) { text(std::move(key), fmt::format("{}ns", value)); }
  void essential(std::string key, std::string_view value) {
    text(std::move(key), value);
    keep();
  }
  /// The key before is essential.
  void keep() { keys_.back().essential = true; }
  /// A share from 0.01 % to `most_percent`.
  void share(std::string key, std::uint64_t most_percent) {
    const std::uint64_t hundredths = scaled(1, most_percent * 100);
    text(std::move(key), fmt::format("{}.{:02}%", hundredths / 100, hundredths % 100));
  }

 private:
  void add(std::string key, std::string value) { keys_.push_back({std::move(key), std::move(value)}); }

  std::vector<DrawnKey>& keys_;
  RandomStream random_;
};

}  // namespace wharf::sim
