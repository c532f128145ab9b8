// SPDX-License-Identifier: Apache-2.0
// wharf run of many hosts, from a scenario or from --cm, --flows, --goal, --collective or --arrivals: its
// table, and its files under --out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/fabric_options.h"
#include "cli/html_page.h"
#include "sim/scenario/observed_network.h"

namespace wharf::cli {

struct FabricRunRequest {
  FabricOptions options;
  ScenarioOptions scenario;  ///< Without a file: the options tell everything.
  std::string out;
  bool force = false;
  bool bytes = false;   ///< --wire bytes.
  bool verify = false;  ///< A second run the other way.
  std::vector<sim::NamedCapture> captures{};
  bool capture_hosts = false;  ///< What all hosts send, into a file in `out`.
  bool plot = false;           ///< Draw the series.
  bool pdf = false;            ///< As PDF, too.
  HtmlPage* page = nullptr;    ///< Of --html; never null.
};

Result<ExitCode> run_fabric(const FabricRunRequest& request, const Console& console);

}  // namespace wharf::cli
