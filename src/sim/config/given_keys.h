// SPDX-License-Identifier: Apache-2.0
// What a run was given, apart from what it made of that: as text that is itself a scenario, and as a hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/config_document.h"

namespace wharf::sim {

/// config.effective.toml: the profile by name, the keys of the scenario and the command line, and what is
/// expected.
std::string effective_text(const ConfigDocument& document, std::string_view profile);

/// Hash of everything that was given: two scenarios of one program version with equal values run alike.
std::uint64_t identity_of(const ConfigDocument& document);

}  // namespace wharf::sim
