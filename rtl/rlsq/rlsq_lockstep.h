// SPDX-License-Identifier: Apache-2.0
// A life of the queue in which one thing happens at a time, beside ordering::Rlsq: after each one, both must
// have answered the same requests with the same values, hold the same memory, and wait for the same lines.
// They differ in one thing: the element's reads do not share a read of memory. So a line may be asked for by
// the element alone, where the class has shared a value; it is served at once.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rtl/cosim/cosimulation.h"
#include "rtl/rlsq/rlsq_stimulus.h"

namespace wharf::rtl {

template <typename Model>
class RlsqLockstep {
 public:
  RlsqLockstep(Clocked<Model>& dut, ordering::RlsqDesign design, RandomStream random, Findings& found)
      : dut_(dut),
        random_(random),
        found_(found),
        program_(random.substream(0), 24, false),
        toy_(rlsq_config(design)) {}

  void run() {
    dut_->request_valid_i = dut_->done_valid_i = dut_->snoop_valid_i = 0;
    dut_->memory_ready_i = dut_->perform_ready_i = dut_->answer_ready_i = 1;
    dut_.reset();
    std::uint32_t steps = 0;
    while (found_.agrees() && (!program_.is_over() || !asked_.empty())) {
      if (++steps > 2000) return differ("a run does not end");
      const std::uint64_t kind = random_.below(8);
      if (kind < 4 && !program_.is_over())
        accept();
      else if (kind < 7)
        serve(static_cast<std::uint32_t>(random_.below(kLines)));
      else
        snoop(static_cast<std::uint32_t>(random_.below(kLines)));
      compare();
    }
    if (found_.agrees() && toy_.queue.is_idle() != (dut_->idle_o != 0)) differ("which of the two is idle");
  }

 private:
  static constexpr std::uint32_t kOwn = 2;
  struct Asked {
    std::uint32_t line = 0;
    std::uint32_t operation = 0;
  };
  using Answer = std::pair<std::uint32_t, std::uint64_t>;  // Tag and word.
  void differ(const std::string& what) { found_.differ(dut_.cycles(), what); }

  void accept() {
    const ordering::Request& request = program_.offer();
    offer(*dut_, request);
    dut_->request_valid_i = 1;
    dut_.settle();
    const bool could = toy_.queue.can_accept(request);
    if ((dut_->request_ready_o != 0) != could) differ("whether there is room");
    found_.coverage.hit_if(!could, "full");
    found_.coverage.hit_if(could && toy_.queue.statistics().entries_max > kEntries - kReserve,
                           "a write in the reserve");
    if (could) {
      dut_.tick();
      toy_.accept(request);
      program_.take();
    }
    dut_->request_valid_i = 0;
    quiet();
  }

  void serve(std::uint32_t line) {
    while (toy_.is_asked(line)) {
      const std::size_t index = toy_.find(line);
      const bool is_drop = toy_.sent[index].request.operation == ordering::MemoryOperation::kDrop;
      toy_.order(index);
      if (!is_drop) toy_.arrive(toy_.find(line));
    }
    serve_element(line);
  }
  void serve_element(std::uint32_t line) {
    std::uint32_t served = 0;
    for (auto at = first_asked(line); at != asked_.end() && found_.agrees(); at = first_asked(line)) {
      if (++served > 100) return differ("an element that asks again and again");
      done(at->first, memory_[line]);
      quiet();
    }
  }
  std::map<std::uint32_t, Asked>::iterator first_asked(std::uint32_t line) {
    return std::find_if(asked_.begin(), asked_.end(),
                        [&](const auto& each) { return each.second.line == line; });
  }

  void snoop(std::uint32_t line) {
    const bool invalidates = random_.below(3) != 0;
    dut_->snoop_valid_i = 1;
    dut_->snoop_line_i = static_cast<std::uint8_t>(line);
    dut_->snoop_invalidate_i = invalidates;
    dut_.settle();
    if (!dut_->snoop_ready_o) return differ("a snoop waits for nothing");
    dut_.tick();
    dut_->snoop_valid_i = 0;
    dut_.settle();
    const auto got = static_cast<ordering::SnoopResult>(dut_->found_o);
    const ordering::SnoopResult want =
        invalidates ? toy_.queue.snoop_invalidate(line) : toy_.queue.snoop_share(line);
    // Where the class lets a read wait for that of another one, the element has one of its own to lose.
    const bool has_own = got == ordering::SnoopResult::kSquashed && want == ordering::SnoopResult::kHit &&
                         first_asked(line) != asked_.end() && invalidates;
    if (!dut_->found_valid_o || (got != want && !has_own)) differ("what a snoop finds");
    using ordering::SnoopResult;
    found_.coverage.hit_if(want == SnoopResult::kSquashed && invalidates, "invalidation squashes");
    found_.coverage.hit_if(want == SnoopResult::kSquashed && !invalidates, "share takes an ownership");
    toy_.owned.erase(line);
    toy_.granted.erase(line);
    owned_.erase(line);
    if (invalidates) {
      toy_.tracked.erase(line);
      memory_[line] = toy_.memory[line] = program_.new_word();
    }
    toy_.drain();
    quiet();
  }

  /// One answer of memory.
  void done(std::uint32_t entry, std::uint64_t word) {
    const auto asked = asked_.find(entry);
    if (asked != asked_.end() && asked->second.operation == kOwn) owned_.insert(asked->second.line);
    dut_->done_valid_i = 1;
    dut_->done_entry_i = static_cast<std::uint8_t>(entry);
    dut_->done_data_i = word;
    dut_.settle();
    collect();
    dut_.tick();
    dut_->done_valid_i = 0;
    asked_.erase(entry);
  }

  /// Until the element does nothing any more. What it may write, it writes at once.
  void quiet() {
    constexpr std::uint32_t kQuiet = 6;
    std::uint32_t cycles = 0;
    for (std::uint32_t still = 0; still < kQuiet && found_.agrees();) {
      if (++cycles > 1000) return differ("the element never rests");
      dut_.settle();
      still = collect() ? 0 : still + 1;
      dut_.tick();
      if (performing_.empty()) continue;
      const auto [entry, line, word, keeps] = performing_.back();
      performing_.pop_back();
      if (!keeps) owned_.erase(line);
      const std::uint64_t old = memory_[line];
      memory_[line] = word;
      done(entry, old);
    }
    dut_.settle();
  }

  /// What the element hands over in this cycle; false: nothing.
  bool collect() {
    if (dut_->memory_valid_o) asked_[dut_->memory_entry_o] = {dut_->memory_line_o, dut_->memory_operation_o};
    if (dut_->perform_valid_o)
      performing_.push_back(
          {dut_->perform_entry_o, dut_->perform_line_o, dut_->perform_data_o, dut_->perform_keeps_o != 0});
    if (dut_->answer_valid_o) answers_.emplace_back(dut_->answer_info_o, dut_->answer_data_o);
    return dut_->memory_valid_o || dut_->perform_valid_o || dut_->answer_valid_o;
  }

  std::set<std::pair<std::uint32_t, bool>> element_asks() const {
    std::set<std::pair<std::uint32_t, bool>> lines;
    for (const auto& [entry, asked] : asked_) lines.emplace(asked.line, asked.operation == kOwn);
    return lines;
  }
  std::set<std::pair<std::uint32_t, bool>> class_asks() const {
    std::set<std::pair<std::uint32_t, bool>> lines;
    for (const ordering::ToyMemory::Sent& sent : toy_.sent) {
      if (sent.request.operation == ordering::MemoryOperation::kDrop) continue;
      lines.emplace(static_cast<std::uint32_t>(sent.request.line),
                    sent.request.operation == ordering::MemoryOperation::kOwn);
    }
    return lines;
  }

  void compare() {
    const auto wanted = class_asks();
    for (bool is_more = true; is_more && found_.agrees();) {
      is_more = false;
      for (const auto& [line, owns] : element_asks()) {
        if (owns || wanted.count({line, false}) != 0) continue;
        found_.coverage.hit("a read that the class shares");
        serve_element(line);
        is_more = true;
        break;
      }
    }
    if (element_asks() != wanted) differ("which lines are asked for");
    if (owned_ != toy_.owned) differ("which lines are owned");
    std::vector<Answer> expected;
    for (const ordering::Response& response : toy_.responses) {
      if (response.kind == ordering::Kind::kWrite) continue;
      expected.emplace_back(response.tag, response.kind == ordering::Kind::kRead
                                              ? ordering::word_of_line(response.bytes)
                                              : response.old_value[0]);
    }
    toy_.responses.clear();
    std::sort(expected.begin(), expected.end());
    std::sort(answers_.begin(), answers_.end());
    if (expected != answers_) differ("which requests are answered, and how");
    answers_.clear();
    for (std::uint32_t line = 0; line < kLines; ++line) {
      if (memory_[line] != toy_.memory[line]) differ("what is in memory");
    }
  }

  struct Performing {
    std::uint32_t entry;
    std::uint32_t line;
    std::uint64_t word;
    bool keeps;
  };
  Clocked<Model>& dut_;
  RandomStream random_;
  Findings& found_;
  RlsqProgram program_;
  ordering::ToyMemory toy_;
  std::map<std::uint32_t, std::uint64_t> memory_;
  std::map<std::uint32_t, Asked> asked_;  ///< By entry.
  std::set<LineNumber> owned_;
  std::vector<Performing> performing_;
  std::vector<Answer> answers_;
};

}  // namespace wharf::rtl
