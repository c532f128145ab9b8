// SPDX-License-Identifier: Apache-2.0
// What judges found in a drawn run. They look at what left the world: memory, completions, counts of links
// and the fingerprints of several runs; never at what an engine thinks of itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/chaos/drawn_run.h"

namespace wharf::sim {

/// One rule that does not hold. `check` is its name, the same for every run.
struct Finding {
  std::string check;
  std::string what;
};

struct Verdict {
  std::string refused;  ///< Why nothing was run: the keys do not go together. Empty: it ran.
  std::vector<Finding> findings;
  std::uint64_t operations = 0;  ///< Of all runs that the verdict took.
  /// Counters of engines that exist in such a world, as "PROTOCOL.duplicates", and those of them that were
  /// not zero.
  std::vector<std::string> known;
  std::vector<std::string> reached;

  bool ok() const { return findings.empty(); }
};

nlohmann::ordered_json to_json(const Verdict& verdict);
Verdict verdict_from(const nlohmann::ordered_json& document);

/// Runs it: as structs and as bytes, with one thread and with several. An Error when something is missing
/// here.
Result<Verdict> judge_run(const DrawnRun& run, const std::filesystem::path& profiles);

}  // namespace wharf::sim
