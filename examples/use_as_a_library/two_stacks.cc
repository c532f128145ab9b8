// SPDX-License-Identifier: Apache-2.0
// Runs one shipped scenario over two stacks and prints what a fetch of 64 bytes takes.
// guide: begin
#include <cstdio>
#include <nlohmann/json.hpp>

#include "wharf/run.h"

int main() {
  for (const char* stack : {"ub_urma", "roce_dma"}) {
    const wharf::RunResult result =
        wharf::run({.scenario = "fetch-64-bytes", .keys = {std::string("model.stack=") + stack}});
    if (result.status != wharf::RunStatus::kDone) {
      std::fprintf(stderr, "two_stacks: %s\n", result.message.c_str());
      return static_cast<int>(result.status);
    }
    const auto summary = nlohmann::json::parse(result.summary);
    std::printf("%s: %.1f ns\n", stack, summary["program"]["latency_ns"]["mean"].get<double>());
  }
}
// guide: end
