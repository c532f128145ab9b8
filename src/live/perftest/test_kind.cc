// SPDX-License-Identifier: Apache-2.0
#include "live/perftest/test_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/nearest_name.h"

namespace wharf::live {

Result<TestKind> parse_test_kind(const std::string& text) {
  std::vector<std::string_view> names;
  for (const TestKind& kind : kTestKinds) {
    if (text == kind.name || text == fmt::format("ib_{}", kind.name)) return kind;
    names.push_back(kind.name);
  }
  const auto nearest = nearest_name(text, names);
  return input_error(fmt::format("found {}, expected one of {}{}", text, fmt::join(names, ", "),
                                 nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

}  // namespace wharf::live
