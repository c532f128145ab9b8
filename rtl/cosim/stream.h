// SPDX-License-Identifier: Apache-2.0
// The rule of every stream, as an observer: a beat that is offered stays, unchanged, until it is taken. Apart
// because no harness should trust an element with it.
#pragma once

namespace wharf::rtl {

/// Watches one output stream whose beats are of type `Beat`.
template <typename Beat>
class StreamRule {
 public:
  /// What the stream shows in this cycle, after settle(). False: it broke the rule.
  bool holds(bool valid, bool ready, const Beat& beat) {
    const bool kept = !waiting_ || (valid && beat == beat_);
    waiting_ = valid && !ready;
    beat_ = beat;
    return kept;
  }
  /// A reset takes back what was offered.
  void reset() { waiting_ = false; }

 private:
  bool waiting_ = false;
  Beat beat_{};
};

}  // namespace wharf::rtl
