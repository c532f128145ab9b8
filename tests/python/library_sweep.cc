// SPDX-License-Identifier: Apache-2.0
// library_sweep SCENARIO KEY=VALUE RUNS THREADS: RUNS runs with seeds from 1 on THREADS threads, through the
// C++ library alone. tools/python_cost compares the Python package with it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "wharf/run.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("library_sweep: expected SCENARIO KEY=VALUE RUNS THREADS\n", stderr);
    return 2;
  }
  const int runs = std::atoi(argv[3]);
  std::atomic<int> next{0};
  std::atomic<std::size_t> bytes{0};
  const auto work = [&] {
    for (int run = next++; run < runs; run = next++) {
      const wharf::RunResult result =
          wharf::run({.scenario = argv[1], .keys = {argv[2], "run.seed=" + std::to_string(run + 1)}});
      if (result.status != wharf::RunStatus::kDone) {
        std::fprintf(stderr, "library_sweep: %s\n", result.message.c_str());
        std::exit(static_cast<int>(result.status));
      }
      bytes += result.summary.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < std::atoi(argv[4]); ++thread) threads.emplace_back(work);
  }
  std::printf("%zu bytes of summaries\n", bytes.load());
}
