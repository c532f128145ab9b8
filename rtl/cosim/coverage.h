// SPDX-License-Identifier: Apache-2.0
// Which situations a co-simulation has seen: states of the element, and which ports were stalled at the same
// time. Apart from the comparison: agreement means little where nothing was tried.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::rtl {

/// Named situations and how often each was seen. Those that a harness must reach are declared first.
class Coverage {
 public:
  /// A situation that must be seen.
  void require(const std::string& name) { seen_.try_emplace(name, 0); }
  /// Every combination of stalled and open ports must be seen: "stall in=0 out=1".
  void require_stalls(const std::vector<std::string>& ports) {
    ports_ = ports;
    for (std::uint32_t open = 0; open < (1U << ports.size()); ++open) require(stalls(open));
  }
  void hit(std::string_view name) { ++seen_[std::string(name)]; }
  void hit_if(bool condition, std::string_view name) {
    if (condition) hit(name);
  }
  /// Bit i of `open`: the i-th port was open in this cycle.
  void hit_stalls(std::uint32_t open) { ++stalls_[open]; }

  /// Situations that were required and not seen, one a line; empty when all were.
  std::string missing() const {
    std::string text;
    for (const auto& [name, count] : all()) {
      if (count == 0) text += name + "\n";
    }
    return text;
  }
  /// Every situation with its count, one a line.
  std::string report() const {
    std::string text;
    for (const auto& [name, count] : all()) text += "  " + name + ": " + std::to_string(count) + "\n";
    return text;
  }

 private:
  std::string stalls(std::uint32_t open) const {
    std::string name = "stall";
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      name += " " + ports_[port] + ((open >> port) % 2 == 1 ? "=open" : "=shut");
    }
    return name;
  }
  std::map<std::string, std::uint64_t> all() const {
    std::map<std::string, std::uint64_t> result = seen_;
    for (const auto& [open, count] : stalls_) result[stalls(open)] += count;
    return result;
  }

  std::map<std::string, std::uint64_t> seen_;
  std::map<std::uint32_t, std::uint64_t> stalls_;
  std::vector<std::string> ports_;
};

}  // namespace wharf::rtl
