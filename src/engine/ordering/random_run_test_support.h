// SPDX-License-Identifier: Apache-2.0
// A random life of one queue, whose requests effect_judge_test_support.h judges in the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/ordering/effect_judge_test_support.h"

namespace wharf::ordering {

/// `Choose` is called as choose(n) and returns a number below n.
template <typename Choose>
class RandomRun {
 public:
  RandomRun(const RlsqConfig& config, Choose choose) : config_(config), choose_(choose), memory_(config) {
    memory_.performs_at_once = choose_(2) == 0;
  }

  /// What went wrong, or nothing.
  std::string run(std::uint32_t requests) {
    make_programs(requests);
    std::uint32_t idle = 0;
    // Somebody else writes now and then, but not for ever.
    std::uint32_t host_steps = requests * 4;
    while (!is_finished()) {
      ++memory_.time;
      const std::uint32_t kind = choose_(8);
      const bool did = kind == 0 ? host_step(host_steps) : kind <= 3 ? accept_one() : memory_step();
      collect();
      idle = did ? 0 : idle + 1;
      if (idle > 200 && !force_progress()) return stalled();
    }
    if (!memory_.queue.is_idle() && memory_.sent.empty()) return "answered everything, but is not idle";
    if (memory_.performed_unowned) return "a write was performed without ownership";
    return EffectJudge(config_.design, config_.order, memory_.writes).judge(lives_);
  }

 private:
  static constexpr LineNumber kLines = 4;
  void make_programs(std::uint32_t requests) {
    programs_.resize(1 + choose_(3));
    const std::uint32_t label_style = choose_(4);
    for (std::uint64_t number = 1; number <= requests; ++number) {
      const std::uint32_t who = choose_(static_cast<std::uint32_t>(programs_.size()));
      Request request;
      request.domain = Domain{.requester = who == 2 ? 2U : 1U, .thread = who};
      request.number = number;
      const std::uint32_t kind = choose_(8);
      request.kind = kind < 4 ? Kind::kRead : kind < 7 ? Kind::kWrite : Kind::kAtomic;
      request.label = static_cast<Label>(label_style == 0   ? choose_(kLabelCount)
                                         : label_style == 1 ? 3 + choose_(kLabelCount - 3)
                                         : label_style == 2 ? 3 + choose_(2)
                                                            : choose_(3));
      const std::uint32_t length = request.kind == Kind::kAtomic ? 1 : 1 + choose_(3);
      const LineNumber first = choose_(static_cast<std::uint32_t>(kLines));
      for (std::uint32_t i = 0; i < length; ++i) {
        request.is_first = i == 0;
        request.is_last = i + 1 == length;
        request.line = (first + i) % kLines;
        request.tag = static_cast<std::uint32_t>(++lines_made_);
        request.mask = byte_mask(0, 8);
        if (request.kind == Kind::kWrite) request.bytes = line_of_word(++words_);
        if (request.kind == Kind::kAtomic) {
          request.atomic = verbs::Verb::kSwap;
          request.operand = {++words_, 0};
        }
        programs_[who].push_back(request);
      }
    }
    next_.assign(programs_.size(), 0);
  }

  bool is_finished() const { return answered_ == lines_made_; }

  bool accept_one() { return accept_of(choose_(static_cast<std::uint32_t>(programs_.size()))); }
  bool accept_of(std::size_t who) {
    if (next_[who] == programs_[who].size()) return false;
    const Request& request = programs_[who][next_[who]];
    // Its life begins before the queue may answer it.
    lives_.emplace_back();
    lives_.back().request = request;
    lives_.back().arrived = memory_.time;
    if (!memory_.accept(request)) {
      lives_.pop_back();
      return false;
    }
    by_tag_[request.tag] = lives_.size() - 1;
    ++next_[who];
    return true;
  }

  bool memory_step() {
    if (!memory_.performs_at_once && choose_(3) == 0) {
      if (!memory_.performing.empty() && choose_(2) == 0) {
        memory_.finish_perform(memory_.performing.begin()->first);
        return true;
      }
      return memory_.take_perform();
    }
    if (memory_.sent.empty()) return false;
    return advance_sent(choose_(static_cast<std::uint32_t>(memory_.sent.size())));
  }
  bool advance_sent(std::size_t index) {
    if (memory_.sent[index].is_ordered) {
      memory_.arrive(index);
      return true;
    }
    if (!memory_.may_order(index)) return false;
    memory_.order(index);
    return true;
  }
  bool host_step(std::uint32_t& steps_left) {
    const LineNumber line = choose_(static_cast<std::uint32_t>(kLines));
    if (steps_left == 0 || !memory_.may_host_write(line)) return false;
    --steps_left;
    const std::uint32_t what = choose_(8);
    if (what == 0) {
      memory_.host_read(line);
    } else if (what == 1) {
      memory_.queue.snoop_invalidate(choose_(kLines * 2));  // A home that has forgotten, or a stray snoop.
      for (LineNumber each = 0; each < kLines; ++each) forget_if_lost(each);
      memory_.drain();
    } else {
      memory_.host_write(line, ++words_);
    }
    return true;
  }
  // A stray snoop may take an ownership; the toy's home must not believe that it is still held.
  void forget_if_lost(LineNumber line) {
    if (memory_.granted.count(line) == 0 || memory_.performing.count(line) != 0) return;
    if (memory_.queue.snoop_share(line) != SnoopResult::kMiss) {
      memory_.owned.erase(line);
      memory_.granted.erase(line);
    }
  }

  /// When chance does not find what is left to do.
  bool force_progress() {
    for (std::size_t i = 0; i < memory_.sent.size(); ++i) {
      if (advance_sent(i)) return collect(), true;
    }
    if (memory_.take_perform()) return true;
    if (!memory_.performing.empty()) {
      memory_.finish_perform(memory_.performing.begin()->first);
      return collect(), true;
    }
    for (std::size_t who = 0; who < programs_.size(); ++who) {
      if (accept_of(who)) return collect(), true;
    }
    return false;
  }

  void collect() {
    for (; collected_ < memory_.responses.size(); ++collected_) {
      Life& life = lives_[by_tag_.at(memory_.responses[collected_].tag)];
      life.response = memory_.responses[collected_];
      life.answered = memory_.time;
      life.is_answered = true;
      ++answered_;
    }
  }

  std::string stalled() const {
    std::string text = "stalled:";
    std::vector<std::string> lines;
    memory_.queue.who_waits(lines);
    for (const std::string& line : lines) text += "\n  " + line;
    return text;
  }

  RlsqConfig config_;
  Choose choose_;
  ToyMemory memory_;
  std::vector<std::vector<Request>> programs_;  ///< Per domain.
  std::vector<std::size_t> next_;
  std::vector<Life> lives_;  ///< In order of arrival.
  std::map<std::uint32_t, std::size_t> by_tag_;
  std::uint64_t lines_made_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t words_ = 0;
  std::size_t collected_ = 0;
};

/// A queue whose room and rules the bits of `options` choose.
inline RlsqConfig random_run_config(RlsqDesign design, std::uint32_t options) {
  RlsqConfig config;
  config.design = design;
  config.order.write_before_annotated_read = (options & 1U) != 0;
  config.order.release_before_acquire = (options & 2U) != 0;
  config.answers_in_order = (options & 4U) != 0;
  config.entries = (options & 8U) != 0 ? 1 : 24;
  config.trackers = (options & 16U) != 0 ? 1 : 8;
  config.posted_reserve = 1 + (options >> 5U) % 3;
  return config;
}

}  // namespace wharf::ordering
