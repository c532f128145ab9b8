// SPDX-License-Identifier: Apache-2.0
// The instructions of a litmus program and its settings, as text. Apart from the grammar around them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/litmus/program.h"
#include "sim/litmus/token_reader.h"

namespace wharf::sim {

/// Reads one cell of the table and appends it to `agent`.
Result<void> read_litmus_operation(LitmusTokenReader& in, const LitmusProgram& program, LitmusAgent& agent);

/// An optional "@N" after a device or a request: the root complex, from 1. Leaves `root` alone without it.
Result<void> read_litmus_root(LitmusTokenReader& in, std::uint8_t& root);

/// Reads NAME VALUE after "set".
Result<void> read_litmus_setting(LitmusTokenReader& in, LitmusSettings& settings);

/// The variable that `token` names.
Result<std::uint32_t> find_litmus_variable(const LitmusTokenReader& in, const LitmusProgram& program,
                                           const LitmusToken& token);

}  // namespace wharf::sim
