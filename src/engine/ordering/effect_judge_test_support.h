// SPDX-License-Identifier: Apache-2.0
// The judge of a queue's life: there must be an instant for each request, between its arrival and its answer,
// at which it can have taken effect on memory, in an order that the design promises. It knows the design by
// keeps_order() alone, so it judges any machine that claims to be one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/ordering/names.h"
#include "engine/ordering/toy_memory_test_support.h"

namespace wharf::ordering {

/// One line of a request, and what became of it. Times are the caller's: equal ones may be swapped.
struct Life {
  Request request;
  std::uint64_t arrived = 0;
  std::uint64_t answered = 0;
  bool is_answered = false;
  Response response;
  // When it can have taken effect: [from, until].
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};

class EffectJudge {
 public:
  /// `writes`: everybody's, in order. They outlive the judge.
  EffectJudge(RlsqDesign design, OrderOptions order, const std::vector<ToyMemory::Write>& writes)
      : design_(design), order_(order), writes_(writes) {}

  /// What went wrong, or nothing. `lives` are in order of arrival.
  std::string judge(std::vector<Life>& lives) const {
    for (std::size_t i = 0; i < lives.size(); ++i) {
      Life& life = lives[i];
      if (life.request.kind == Kind::kRead) {
        if (!find_value(life.request.line, word_of_line(life.response.bytes), life.from, life.until)) {
          return describe(life) + " returned a value that was never there";
        }
        life.from = std::max(life.from, life.arrived);
        life.until = std::min(life.until, life.answered);
      } else {
        std::uint64_t ignored = 0;
        const std::uint64_t word =
            life.request.kind == Kind::kWrite ? word_of_line(life.request.bytes) : life.request.operand[0];
        if (!find_value(life.request.line, word, life.from, ignored)) return describe(life) + " was lost";
        life.until = life.from;
        if (life.request.kind == Kind::kAtomic && !is_previous(life)) {
          return describe(life) + " returned what was not there before it";
        }
      }
      // The earliest instant that its predecessors allow.
      for (std::size_t j = 0; j < i; ++j) {
        if (!must_precede(lives[j].request, life.request)) continue;
        life.from = std::max(life.from, lives[j].from);
        if (life.from > life.until) return describe(life) + " took effect before " + describe(lives[j]);
      }
      if (life.from > life.until) return describe(life) + " returned a value of another time";
    }
    return "";
  }

 private:
  /// When the line held `word`, as times of the write that made it and of the next one; exact to the step.
  bool find_value(LineNumber line, std::uint64_t word, std::uint64_t& from, std::uint64_t& until) const {
    bool is_found = word == 0;
    from = 0;
    until = ~std::uint64_t{0};
    for (const ToyMemory::Write& write : writes_) {
      if (write.line != line) continue;
      if (is_found) {
        until = write.time;
        return true;
      }
      if (write.word == word) {
        is_found = true;
        from = write.time;
      }
    }
    return is_found;
  }

  bool is_previous(const Life& life) const {
    std::uint64_t before = 0;
    for (const ToyMemory::Write& write : writes_) {
      if (write.line != life.request.line) continue;
      if (write.word == life.request.operand[0]) return life.response.old_value[0] == before;
      before = write.word;
    }
    return false;
  }
  bool must_precede(const Request& first, const Request& second) const {
    if (first.line == second.line && first.domain == second.domain) return true;
    return keeps_order(design_, order_, first, second);
  }
  static std::string describe(const Life& life) {
    const Request& request = life.request;
    return std::string(name(request.label)) + " " + std::string(name(request.kind)) + " " +
           std::to_string(request.number) + " of thread " + std::to_string(request.domain.thread) +
           " on line " + std::to_string(request.line) + " (arrived " + std::to_string(life.arrived) +
           ", possible " + std::to_string(life.from) + " to " + std::to_string(life.until) + ")";
  }

  RlsqDesign design_;
  OrderOptions order_;
  const std::vector<ToyMemory::Write>& writes_;
};

}  // namespace wharf::ordering
