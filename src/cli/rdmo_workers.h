// SPDX-License-Identifier: Apache-2.0
// wharf rdmo list and stop: the workers of this machine that belong to this user.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/options.h"

namespace wharf::cli {

class RdmoWorkers {
 public:
  void declare(Options& app);
  bool given() const { return list_.given() || stop_.given(); }
  Result<ExitCode> run(const Console& console) const;

 private:
  Result<ExitCode> run_list(const Console& console) const;
  Result<ExitCode> run_stop(const Console& console) const;

  Options list_;
  Options stop_;
  Option address_option_;
  std::string address_;
  std::string patience_ = "10s";
  std::string list_patience_ = "1s";
  bool all_ = false;
};

}  // namespace wharf::cli
