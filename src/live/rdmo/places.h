// SPDX-License-Identifier: Apache-2.0
// Numbered places for what comes and goes: the number of what has gone is given again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wharf::live {

template <typename Value>
class Places {
 public:
  std::size_t put(Value value) {
    if (free_.empty()) {
      values_.push_back(std::move(value));
      free_.reserve(values_.capacity());  // So that leaving takes no memory.
      return values_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    values_[place] = std::move(value);
    return place;
  }
  /// Whoever has the number must not use it any more.
  void leave(std::size_t place) {
    values_[place] = Value();
    free_.push_back(place);
  }
  Value& operator[](std::size_t place) { return values_[place]; }
  const Value& operator[](std::size_t place) const { return values_[place]; }
  /// Numbers that were ever given.
  std::size_t extent() const { return values_.size(); }

 private:
  std::vector<Value> values_;
  std::vector<std::size_t> free_;
};

}  // namespace wharf::live
