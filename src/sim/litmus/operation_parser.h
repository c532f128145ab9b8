// SPDX-License-Identifier: Apache-2.0
// The instructions of a litmus program and its settings, as text. Apart from the grammar around them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/litmus/program.h"
#include "sim/litmus/token_reader.h"

namespace wharf::sim {

/// Reads one cell of the table and appends it to `agent`.
Result<void> read_litmus_operation(LitmusTokenReader& in, const LitmusProgram& program, LitmusAgent& agent);

/// An optional "@N" after a device or a request: the root complex, from 1. Leaves `root` alone without it.
Result<void> read_litmus_root(LitmusTokenReader& in, std::uint8_t& root);

/// The settings before the variables.
class LitmusSettingsReader {
 public:
  LitmusSettingsReader(LitmusTokenReader& in, LitmusSettings& settings) : in_(in), settings_(settings) {}

  /// Reads NAME VALUE after "set".
  Result<void> read();
  /// All are read: refuses sizes of the reorder buffer that its numbers cannot tell apart. Those that the
  /// file does not set shrink to what fits.
  Result<void> finish();

 private:
  struct Given {
    std::string name;
    LitmusToken value;
  };
  Result<void> fit(std::string_view name, std::uint32_t& size, std::uint32_t most) const;

  LitmusTokenReader& in_;
  LitmusSettings& settings_;
  std::vector<Given> given_;
};

/// The variable that `token` names.
Result<std::uint32_t> find_litmus_variable(const LitmusTokenReader& in, const LitmusProgram& program,
                                           const LitmusToken& token);

}  // namespace wharf::sim
