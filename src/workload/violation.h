// SPDX-License-Identifier: Apache-2.0
// What a program says when memory did not behave: wrong data, a lost update, two holders of one lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wharf::workload {

/// One broken promise. Plain data, so that programs can note it without taking memory.
struct Violation {
  std::string_view what;    ///< "stale value", "lost update", ...: text that lives for ever.
  std::uint64_t where = 0;  ///< The byte offset, key or round that `what` speaks of.
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

/// How many promises were broken, and the first of them.
struct Verdict {
  std::uint64_t checks = 0;  ///< Comparisons made; 0 means that nothing was proven.
  std::uint64_t violations = 0;
  Violation first;

  bool holds() const { return violations == 0; }
  void note(const Violation& violation) {
    if (violations++ == 0) first = violation;
  }
  void expect(bool condition, const Violation& violation) {
    ++checks;
    if (!condition) [[unlikely]]
      note(violation);
  }
  Verdict& operator+=(const Verdict& other) {
    if (violations == 0) first = other.first;
    checks += other.checks;
    violations += other.violations;
    return *this;
  }
};

/// One sentence for people: "3 violations in 1000 checks, first: stale value at 17: expected 5, found 4".
std::string describe(const Verdict& verdict);

}  // namespace wharf::workload
