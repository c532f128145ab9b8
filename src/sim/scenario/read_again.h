// SPDX-License-Identifier: Apache-2.0
// What a run reads beside its scenario, and whether a second run can read the same: a pipe gives its bytes
// once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {

struct InputFile {
  std::string key;  ///< That names it.
  std::string file;
};
/// Those that exist.
std::vector<InputFile> files_read_by(const Scenario& scenario);

/// For whoever runs something several times. Refuses an input that can be read once, naming its key.
Result<void> require_same_again(const Scenario& scenario);
Result<void> require_same_again(const FabricInputs& inputs);

/// The same for one file, the value of `key`; what does not exist is left to who opens it.
Result<void> require_readable_again(std::string_view key, const std::string& file);

}  // namespace wharf::sim
