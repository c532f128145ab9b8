// SPDX-License-Identifier: Apache-2.0
// Traffic over many connections between two hosts whose NICs hold fewer contexts: real engines, real queues,
// real refills. And the same accesses against a bare LRU, which tells what to expect of numbers of contexts
// that would take too long to build.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "base/zipf.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {

/// Which connection each access uses.
enum class AccessPattern : std::uint8_t { kCyclic, kUniform, kZipf };
inline constexpr int kAccessPatternCount = 3;
std::string_view name(AccessPattern pattern);
inline constexpr double kContextZipfExponent = 0.99;

/// Draws connections 0 .. count-1 one after another.
class ConnectionChooser {
 public:
  ConnectionChooser(AccessPattern pattern, std::uint64_t count);
  std::uint64_t next();

 private:
  AccessPattern pattern_;
  std::uint64_t count_;
  std::uint64_t taken_ = 0;
  RandomStream random_;
  std::optional<Zipf> zipf_;
};

/// Misses per access of an LRU with `capacity` places over `contexts` contexts, after it has filled.
double lru_miss_rate(AccessPattern pattern, std::uint64_t contexts, std::uint32_t capacity);

/// 64-byte fetches one after another, each over the connection that the pattern chooses.
struct ContextTraffic {
  std::uint32_t connections = 1;  ///< Queue pairs, or jetties.
  AccessPattern pattern = AccessPattern::kCyclic;
  bool segment_each = false;  ///< Every connection reads a segment of its own; otherwise all read one.
  std::uint64_t warm_up = 0;
  std::uint64_t operations = 1000;
};
struct ContextTrafficResult {
  double mean_ns = 0;
  double fetches_per_operation = 0;  ///< Context records that were read from host memory, at both ends.
};
/// Over the machines of `scenario`; no program of its own runs. A stall is an error of that kind, and so is
/// an interrupt.
Result<ContextTrafficResult> run_context_traffic(const ScenarioConfig& scenario,
                                                 const ContextTraffic& traffic,
                                                 const std::atomic<bool>* interrupt);

}  // namespace wharf::sim
