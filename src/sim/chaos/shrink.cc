// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/shrink.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace wharf::sim {
namespace {

/// Numbers that a smaller run may halve, with the least that they may be.
struct Halved {
  std::string_view key;
  std::uint64_t least;
  std::uint64_t step;  ///< They stay multiples of it.
};
constexpr std::array<Halved, 13> kHalved{{{"run.operations", 1, 1},
                                          {"run.concurrency", 1, 1},
                                          {"run.payload", 8, 8},
                                          {"run.keys", 2, 1},
                                          {"run.lines", 2, 1},
                                          {"run.value_bytes", 24, 8},
                                          {"run.element_bytes", 8, 8},
                                          {"run.buffer_bytes", 1024, 1024},
                                          {"traffic.size", 64, 1},
                                          {"model.link.delay", 10, 1},
                                          {"peers.operations", 1, 1},
                                          {"peers.depth", 1, 1},
                                          {"peers.longest", 24, 8}}};

/// The number in `"123ns"` or `123`, and what stands around it.
struct Parts {
  std::string before;
  std::uint64_t number = 0;
  std::string after;
};
Parts parts_of(const std::string& value) {
  Parts parts;
  std::size_t at = 0;
  while (at < value.size() && (value[at] < '0' || value[at] > '9')) ++at;
  parts.before = value.substr(0, at);
  const auto [end, status] = std::from_chars(value.data() + at, value.data() + value.size(), parts.number);
  parts.after = value.substr(static_cast<std::size_t>(end - value.data()));
  return parts;
}

}  // namespace

Shrunk shrink(DrawnRun run, const std::string& check, const FirstFailure& first_failure, std::uint32_t most) {
  Shrunk best{std::move(run)};
  const auto fails_too = [&](const DrawnRun& smaller) {
    if (best.tries >= most) return false;
    ++best.tries;
    return first_failure(smaller) == check;
  };
  // Keys that do not matter, until none is left: what one hides another may show.
  bool again = true;
  while (again && best.tries < most) {
    again = false;
    for (std::size_t at = 0; at < best.run.keys.size();) {
      DrawnRun smaller = best.run;
      smaller.keys.erase(smaller.keys.begin() + static_cast<std::ptrdiff_t>(at));
      if (!best.run.keys[at].essential && fails_too(smaller)) {
        best.run = std::move(smaller);
        again = true;
      } else {
        ++at;
      }
    }
  }
  for (const Halved& each : kHalved) {
    const std::string key(each.key);
    for (;;) {
      const std::string value = best.run.value_of(key);
      if (value.empty()) break;
      const Parts parts = parts_of(value);
      const std::uint64_t half = parts.number / 2 / each.step * each.step;
      if (half < each.least) break;
      DrawnRun smaller = best.run;
      smaller.set(key, fmt::format("{}{}{}", parts.before, half, parts.after));
      if (!fails_too(smaller)) break;
      best.run = std::move(smaller);
    }
  }
  return best;
}

}  // namespace wharf::sim
