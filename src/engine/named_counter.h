// SPDX-License-Identifier: Apache-2.0
// What an engine counted, by name, for reports and for who watches a running one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::engine {

/// A counter of an engine. Dots in the name are levels of a report.
struct NamedCounter {
  std::string name;
  std::uint64_t value = 0;
};
template <typename Counters>
struct CounterName {
  std::string_view name;
  std::uint64_t Counters::*value;
};
template <typename Counters>
std::vector<NamedCounter> named(const Counters& counters, std::span<const CounterName<Counters>> names) {
  std::vector<NamedCounter> all;
  for (const CounterName<Counters>& each : names)
    all.push_back({std::string(each.name), counters.*each.value});
  return all;
}

}  // namespace wharf::engine
