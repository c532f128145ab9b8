// SPDX-License-Identifier: Apache-2.0
// The list of lines while a frame is being dissected.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/dissect.h"

namespace wharf::wire {

class DissectTree {
 public:
  explicit DissectTree(std::vector<DissectLine>& lines) : lines_(lines) {}

  /// A header at depth 0 that covers `length` bytes from `offset` on.
  void header(std::string name, std::string value, std::uint32_t offset, std::uint32_t length) {
    lines_.push_back(DissectLine{0, std::move(name), std::move(value), offset, length});
  }
  /// A field of the last header.
  void field(std::string name, std::string value, std::uint32_t offset, std::uint32_t length) {
    lines_.push_back(DissectLine{1, std::move(name), std::move(value), offset, length});
  }

 private:
  std::vector<DissectLine>& lines_;
};

}  // namespace wharf::wire
