// SPDX-License-Identifier: Apache-2.0
// Reads litmus files. The grammar is told in docs/litmus.md.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

/// The program in `text`; `file` is its name in messages. Refuses what the grammar does not know, names that
/// were not declared, accesses that no machine can do, and designs that do not apply, each with its place.
Result<LitmusProgram> parse_litmus(std::string_view file, std::string_view text);

}  // namespace wharf::sim
