// SPDX-License-Identifier: Apache-2.0
// What this process shares with others for writing. UCX maps a target's memory by what the target's key says,
// and checks nothing: here a range that a target names is held against what the key has brought.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wharf::live {

class SharedMappings {
 public:
  /// As /proc/self/maps has them now. Nothing when that cannot be read: then nobody knows.
  static std::optional<SharedMappings> read();
  /// From the text of such a file.
  static SharedMappings parse(std::string_view text);

  /// Whether all of [address, address + length) lies in one of these that was not there `before`, nor any
  /// part of it.
  bool hold_new(const SharedMappings& before, std::uint64_t address, std::uint64_t length) const;

 private:
  struct Mapping {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace wharf::live
