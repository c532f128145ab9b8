// SPDX-License-Identifier: Apache-2.0
// `wharf perf --perftest`: one side of a test of perftest, against an unmodified ib_write_lat and its like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "cli/live_options.h"

namespace wharf::cli {

/// What the other options of the command say of it, where they are given.
struct PerftestWishes {
  std::string host;  ///< Empty: none.
  std::optional<std::uint32_t> bytes;
  std::optional<std::uint64_t> iterations;
  std::optional<std::uint32_t> depth;
};

class PerftestMode {
 public:
  /// Returns the option that asks for this mode.
  Option declare(Options& app);
  bool wanted() const { return option_.given(); }
  Result<ExitCode> run(const Console& console, const LiveOptions& live, const PerftestWishes& wishes) const;

 private:
  std::string test_;
  std::string listen_;
  std::string ethernet_;
  std::string address_ = "10.77.0.1";
  Option option_;
};

}  // namespace wharf::cli
