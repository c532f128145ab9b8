// SPDX-License-Identifier: Apache-2.0
// Keys as data: the type, unit, range and choices of each, and the JSON schema by which editors check and
// complete scenario files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/binder.h"

namespace wharf::cli {

/// {"name", "type", "unit", "default", "least", "most", "choices", "meaning", "where"}; parts that a key does
/// not have are left out. Types: time, size, rate, probability, number, integer, flag, choice, text.
nlohmann::ordered_json key_data(const sim::KeyDoc& key, std::string_view runs);

/// "default 1us", or "no default".
std::string default_text(const sim::KeyDoc& key);

/// The values of the key that `path` names, as far as they can be listed: those of a choice, of a flag, and
/// words that stand in the place of a value. `path` may be one of a scenario: program.log.verb, or
/// group.store.model.stack.
std::vector<std::string> listed_values(const std::vector<sim::KeyDoc>& keys, std::string_view path);

/// The JSON schema (draft 7) of a scenario file, of two hosts or of many.
nlohmann::ordered_json scenario_schema(const std::vector<sim::KeyDoc>& keys);

}  // namespace wharf::cli
