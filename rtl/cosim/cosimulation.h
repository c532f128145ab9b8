// SPDX-License-Identifier: Apache-2.0
// What every co-simulation is run by: seeds and cycles, and what it must show: agreement, coverage, and that
// each planted fault is found. Apart so that an element's harness holds its stimulus and its comparison,
// nothing else.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/coverage.h"

namespace wharf::rtl {

/// The first disagreement of a run, empty while there is none, and what the run has seen.
struct Findings {
  std::string disagreement;
  Coverage coverage;

  /// Notes the first disagreement; false, so that a harness may return it.
  bool differ(std::uint64_t cycle, const std::string& what) {
    if (disagreement.empty()) disagreement = "cycle " + std::to_string(cycle) + ": " + what;
    return false;
  }
  bool agrees() const { return disagreement.empty(); }
};

/// Cycles of the agreement tests: WHARF_RTL_CYCLES, or `quick`.
inline std::uint64_t cycles_or(std::uint64_t quick) {
  const char* text = std::getenv("WHARF_RTL_CYCLES");
  return text == nullptr ? quick : std::strtoull(text, nullptr, 10);
}

/// A harness is a function that drives a model, from a random stream, beside its reference.
/// Runs `harness(model, random, cycles, findings)` on a fresh `Model`: it must agree and reach what it
/// requires.
template <typename Model, typename Harness>
void expect_agreement(Harness harness, std::uint64_t quick_cycles) {
  const char* text = std::getenv("WHARF_RTL_SEED");
  const std::uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  Clocked<Model> model;
  Findings findings;
  harness(model, RandomStream(seed, "cosim"), cycles_or(quick_cycles), findings);
  EXPECT_EQ(findings.disagreement, "") << "WHARF_RTL_SEED=" << seed;
  EXPECT_EQ(findings.coverage.missing(), "") << "not reached; WHARF_RTL_SEED=" << seed;
  if (std::getenv("WHARF_RTL_COVERAGE") != nullptr)
    std::cout << model.cycles() << " cycles\n" << findings.coverage.report();
}

/// The names in a list of planted faults, in its order: lines "name: what goes wrong".
inline std::vector<std::string> planted_faults(const std::string& path) {
  std::vector<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    const bool is_name = !line.empty() && line[0] != '#' && line[0] != '-' && line[0] != '+';
    if (is_name && colon != std::string::npos) names.push_back(line.substr(0, colon));
  }
  return names;
}

/// `Model` is the element with the faults of `path` built in. Without one it must agree and
/// reach everything; with each, it must not.
template <typename Model, typename Harness>
void expect_faults_found(Harness harness, const std::string& path, std::uint64_t cycles) {
  const std::vector<std::string> faults = planted_faults(path);
  ASSERT_FALSE(faults.empty()) << path;
  for (std::size_t fault = 0; fault <= faults.size(); ++fault) {
    Clocked<Model> model;
    model->planted_i = static_cast<std::uint8_t>(fault);
    Findings findings;
    harness(model, RandomStream(1, "cosim"), cycles, findings);
    if (fault == 0) {
      EXPECT_EQ(findings.disagreement + findings.coverage.missing(), "") << "without a fault";
    } else {
      const bool is_found = !findings.agrees() || !findings.coverage.missing().empty();
      EXPECT_TRUE(is_found) << path << ": not found: " << faults[fault - 1];
    }
  }
}

}  // namespace wharf::rtl
