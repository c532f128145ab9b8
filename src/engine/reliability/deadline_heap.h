// SPDX-License-Identifier: Apache-2.0
// The earliest of many deadlines: an indexed binary heap over small owner numbers (channels, queues). An
// engine has one and answers deadline() from its top.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace wharf::reliability {

/// Min-heap of (deadline, owner). Each owner has at most one deadline; equal deadlines come out in owner
/// order, so the result does not depend on the history. set() takes logarithmic time and, below the reserved
/// count, no memory.
class DeadlineHeap {
 public:
  /// Owners are 0 .. count-1.
  void reserve(std::uint32_t count) {
    if (count <= position_.size()) return;
    position_.resize(count, kAbsent);
    heap_.reserve(count);
  }

  /// Gives `owner` a deadline in place of its old one; kNever takes it out.
  void set(std::uint32_t owner, TimePs deadline) {
    WHARF_CHECK(owner < position_.size());
    const std::uint32_t at = position_[owner];
    if (at == 0 && heap_.size() == 1 && deadline != kNever) {
      earliest_ = heap_.front().deadline = deadline;  // Alone, and often moved on.
      return;
    }
    if (deadline == kNever) {
      if (at != kAbsent) remove(at);
    } else if (at == kAbsent) {
      heap_.push_back({deadline, owner});
      sift_up(static_cast<std::uint32_t>(heap_.size() - 1), {deadline, owner});
    } else {
      replace(at, {deadline, owner});
    }
    earliest_ = heap_.empty() ? kNever : heap_.front().deadline;
  }

  /// The deadline of `owner`; kNever when it has none.
  TimePs get(std::uint32_t owner) const {
    WHARF_CHECK(owner < position_.size());
    return position_[owner] == kAbsent ? kNever : heap_[position_[owner]].deadline;
  }

  /// The earliest deadline; kNever when there is none.
  TimePs earliest() const { return earliest_; }
  /// Whose it is; there is one.
  std::uint32_t earliest_owner() const {
    WHARF_CHECK(!heap_.empty());
    return heap_.front().owner;
  }
  bool empty() const { return heap_.empty(); }
  /// Fetches ahead what set() touches when there are few owners.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(heap_.data(), 1);
    __builtin_prefetch(position_.data(), 1);
  }

  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return heap_.capacity() * sizeof(Node) + position_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffff'ffffU;

  struct Node {
    TimePs deadline;
    std::uint32_t owner = 0;
    bool before(const Node& other) const {
      return deadline != other.deadline ? deadline < other.deadline : owner < other.owner;
    }
  };

  void place(std::uint32_t at, const Node& node) {
    heap_[at] = node;
    position_[node.owner] = at;
  }
  void sift_up(std::uint32_t at, const Node& node) {
    while (at > 0) {
      const std::uint32_t parent = (at - 1) / 2;
      if (!node.before(heap_[parent])) break;
      place(at, heap_[parent]);
      at = parent;
    }
    place(at, node);
  }
  void sift_down(std::uint32_t at, const Node& node) {
    const auto count = static_cast<std::uint32_t>(heap_.size());
    while (2 * at + 1 < count) {
      std::uint32_t child = 2 * at + 1;
      if (child + 1 < count && heap_[child + 1].before(heap_[child])) ++child;
      if (!heap_[child].before(node)) break;
      place(at, heap_[child]);
      at = child;
    }
    place(at, node);
  }
  void replace(std::uint32_t at, const Node& node) {
    if (at > 0 && node.before(heap_[(at - 1) / 2])) {
      sift_up(at, node);
    } else {
      sift_down(at, node);
    }
  }
  void remove(std::uint32_t at) {
    position_[heap_[at].owner] = kAbsent;
    const Node last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) replace(at, last);
  }

  TimePs earliest_ = kNever;  ///< Of heap_: asked for after every input, and no further line to fetch.
  std::vector<Node> heap_;
  std::vector<std::uint32_t> position_;  ///< By owner; kAbsent without a deadline.
};

}  // namespace wharf::reliability
