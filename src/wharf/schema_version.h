// SPDX-License-Identifier: Apache-2.0
// Every JSON document says which schema it has: what a name means and which unit it has.
#pragma once

#include <nlohmann/json.hpp>

namespace wharf {

/// Grows when a name goes away or means something else; not when one is added.
inline constexpr int kSchemaVersion = 1;

/// `document`, an object, with "schema_version" in front.
inline nlohmann::ordered_json versioned(const nlohmann::ordered_json& document) {
  nlohmann::ordered_json out{{"schema_version", kSchemaVersion}};
  out.update(document);
  return out;
}

}  // namespace wharf
