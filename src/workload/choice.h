// SPDX-License-Identifier: Apache-2.0
// Names of enumerators, for the keys of programs. Whoever binds keys brings the reader; this is only the
// table row.
#pragma once

#include <string_view>

namespace wharf::workload {

/// A name for an enumerator, in scenarios and messages.
template <typename E>
struct Choice {
  std::string_view name;
  E value;
};

}  // namespace wharf::workload
