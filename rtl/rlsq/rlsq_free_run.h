// SPDX-License-Identifier: Apache-2.0
// A life of the queue in which everything stalls and happens when it likes; keeps_order() judges it in the
// end. The home answers in any order, and other agents read and write the lines meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/ordering/effect_judge_test_support.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"
#include "rtl/rlsq/rlsq_stimulus.h"

namespace wharf::rtl {

template <typename Model>
class RlsqFreeRun {
 public:
  RlsqFreeRun(Clocked<Model>& dut, ordering::RlsqDesign design, RandomStream random, Findings& found)
      : dut_(dut),
        design_(design),
        random_(random),
        found_(found),
        program_(random.substream(0), 16 + static_cast<std::uint32_t>(random_.below(32)),
                 random_.below(2) == 0) {
    for (std::uint64_t port = 0; port < kPorts; ++port) stalls_.emplace_back(random.substream(1 + port));
  }

  /// Until everything was answered, or a reset ends it.
  void run() {
    constexpr std::uint32_t kPatience = 3000;
    constexpr std::uint64_t kLongest = 20000;
    const std::uint64_t reset_at = random_.below(4) == 0 ? 20 + random_.below(300) : ~std::uint64_t{0};
    std::uint64_t cycles = 0;
    dut_.reset();
    while (!is_over() && found_.agrees()) {
      if (++cycles == reset_at) return found_.coverage.hit_if(!lives_.empty(), "reset with entries inside");
      cycle();
      if (++waited_ > kPatience) differ("nothing happens any more");
      if (cycles > kLongest) differ("reads are asked for again and again");
    }
    if (!found_.agrees()) return;
    dut_->request_valid_i = dut_->done_valid_i = dut_->snoop_valid_i = 0;
    dut_.settle();
    if (!dut_->idle_o) differ("answered everything, but is not idle");
    const std::string fault = ordering::EffectJudge(design_, {}, writes_).judge(lives_);
    if (!fault.empty()) differ(fault);
  }

 private:
  enum Port : std::uint64_t { kRequest, kMemory, kPerform, kAnswer, kDone, kSnoop, kPorts };
  /// What an entry has asked for.
  struct Asked {
    std::uint32_t entry = 0;
    std::uint32_t line = 0;
    std::uint32_t operation = 0;
    bool is_ordered = false;
    std::uint64_t word = 0;
    bool operator==(const Asked&) const = default;
  };
  struct Performing {
    std::uint32_t line = 0;
    std::uint64_t word = 0;
    bool is_atomic = false;
    bool keeps = false;
    std::uint32_t entry = 0;
    std::uint32_t tag = 0;
    bool operator==(const Performing&) const = default;
  };
  struct Answer {
    std::uint32_t tag = 0;
    std::uint64_t word = 0;
    bool operator==(const Answer&) const = default;
  };
  struct Snoop {
    std::uint32_t line = 0;
    bool invalidates = false;
  };
  static constexpr std::uint32_t kOwn = 2;

  bool is_over() const { return program_.is_over() && finished_ == program_.lines() && asked_.empty(); }
  void differ(const std::string& what) { found_.differ(dut_.cycles(), what); }

  void cycle() {
    std::uint32_t open = 0;
    for (std::uint32_t port = 0; port < kPorts; ++port) open |= stalls_[port].open() ? 1U << port : 0;
    found_.coverage.hit_stalls(open);
    if (!offers_ && (open >> kRequest) % 2 == 1 && !program_.is_over()) {
      offer(*dut_, program_.offer());
      offers_ = true;
    }
    dut_->request_valid_i = offers_;
    dut_->memory_ready_i = (open >> kMemory) % 2;
    dut_->perform_ready_i = (open >> kPerform) % 2;
    dut_->answer_ready_i = (open >> kAnswer) % 2;
    if (random_.below(2) == 0) order_one();
    choose_snoop((open >> kSnoop) % 2 == 1);
    choose_done((open >> kDone) % 2 == 1);
    dut_.settle();
    if (dut_->idle_o && finished_ != lives_.size()) differ("idle with requests inside");
    // What memory sends belongs to what was asked before this cycle.
    take_done();
    take_snoop();
    take_request();
    take_memory();
    take_perform();
    take_answer();
    dut_.tick();
  }

  // ------------------------------------------------------------ The home

  void order_one() {
    if (asked_.empty()) return;
    const std::size_t index = random_.below(asked_.size());
    Asked& asked = asked_[index];
    if (asked.is_ordered || (snoop_ && snoop_->line == asked.line)) return;
    for (std::size_t i = 0; i < index; ++i) {
      if (asked_[i].line == asked.line && !asked_[i].is_ordered) return;
    }
    asked.is_ordered = true;
    asked.word = memory_[asked.line];
    if (asked.operation == kOwn) granting_.insert(asked.line);
  }

  void choose_done(bool is_open) {
    done_.reset();
    dut_->done_valid_i = 0;
    if (!is_open) return;
    auto entry = static_cast<std::uint32_t>(random_.below(kEntries));
    if (snoop_ && random_.below(2) == 0) {
      // A value that comes in the cycle of a snoop of its line.
      for (const Asked& each : asked_) {
        if (each.is_ordered && each.line == snoop_->line) entry = each.entry;
      }
    }
    const auto asked =
        std::find_if(asked_.begin(), asked_.end(), [&](const Asked& each) { return each.entry == entry; });
    const auto performing = performing_.find(entry);
    const bool waits = dut_->memory_valid_o || dut_->perform_valid_o;
    if (asked != asked_.end()) {
      if (!asked->is_ordered) return;
      dut_->done_data_i = asked->word;
    } else if (performing != performing_.end()) {
      dut_->done_data_i = memory_[performing->second.line];
    } else if (waits || random_.below(8) != 0) {
      return;
    } else {
      // An answer that nobody asked for.
      dut_->done_data_i = 0xBAD;
      found_.coverage.hit("answer that nobody asked for");
    }
    done_ = entry;
    dut_->done_valid_i = 1;
    dut_->done_entry_i = static_cast<std::uint8_t>(entry);
  }

  void take_done() {
    if (!done_) return;
    const auto performing = performing_.find(*done_);
    const auto asked =
        std::find_if(asked_.begin(), asked_.end(), [&](const Asked& each) { return each.entry == *done_; });
    if (asked != asked_.end()) {
      waited_ = 0;
      if (asked->operation == kOwn) {
        granting_.erase(asked->line);
        owned_.insert(asked->line);
      }
      asked_.erase(asked);
    } else if (performing != performing_.end()) {
      const Performing& perform = performing->second;
      memory_[perform.line] = perform.word;
      writes_.push_back({perform.line, perform.word, dut_.cycles()});
      if (!perform.keeps) owned_.erase(perform.line);
      if (!perform.is_atomic) ++finished_;
      performing_.erase(performing);
      waited_ = 0;
    }
  }

  // ------------------------------------------------------------ Other agents

  void choose_snoop(bool is_open) {
    if (!snoop_ && is_open && random_.below(4) == 0) {
      const auto line = static_cast<std::uint32_t>(random_.below(kLines));
      // One that the home has ordered after a grant that is under way is held by the agent.
      if (granting_.count(line) == 0) snoop_ = Snoop{line, random_.below(4) != 0};
    }
    dut_->snoop_valid_i = snoop_.has_value();
    if (!snoop_) return;
    dut_->snoop_line_i = static_cast<std::uint8_t>(snoop_->line);
    dut_->snoop_invalidate_i = snoop_->invalidates;
  }

  void take_snoop() {
    if (dut_->found_valid_o != (snooped_ ? 1 : 0)) differ("a snoop without a result, or a result too many");
    if (snooped_) {
      found_.coverage.hit_if(dut_->found_o == 0, "snoop misses");
      found_.coverage.hit_if(dut_->found_o == 1, "snoop hits");
      found_.coverage.hit_if(dut_->found_o == 2, "snoop squashes");
      if (dut_->found_o == 0 && lives_.empty()) found_.coverage.hit("snoop of an empty queue");
    }
    snooped_ = snoop_ && dut_->snoop_ready_o;
    found_.coverage.hit_if(snoop_ && !dut_->snoop_ready_o, "snoop waits for a write");
    if (!snooped_) return;
    for (const auto& [entry, perform] : performing_) {
      if (perform.line == snoop_->line) differ("a snoop of a line that is being written");
    }
    owned_.erase(snoop_->line);
    if (snoop_->invalidates) {
      const std::uint64_t word = program_.new_word();
      memory_[snoop_->line] = word;
      writes_.push_back({snoop_->line, word, dut_.cycles()});
    }
    snoop_.reset();
  }

  // ------------------------------------------------------------ The element's streams

  void take_request() {
    if (!offers_ || !dut_->request_ready_o) return;
    waited_ = 0;
    ordering::Life life;
    life.request = program_.offer();
    life.arrived = dut_.cycles();
    by_tag_[life.request.tag] = lives_.size();
    lives_.push_back(life);
    program_.take();
    offers_ = false;
  }

  void take_memory() {
    const Asked asked{dut_->memory_entry_o, dut_->memory_line_o, dut_->memory_operation_o, false, 0};
    if (!memory_rule_.holds(dut_->memory_valid_o, dut_->memory_ready_i, asked))
      differ("a request to memory changed");
    if (!dut_->memory_valid_o || !dut_->memory_ready_i) return;
    waited_ = 0;
    for (const Asked& each : asked_) {
      if (each.entry == asked.entry) differ("an entry asks twice");
      if (each.line == asked.line && (each.operation == kOwn || asked.operation == kOwn))
        differ("a line is read and owned at a time");
    }
    found_.coverage.hit_if(asked.operation == 0, "read");
    found_.coverage.hit_if(asked.operation == 1, "tracked read");
    found_.coverage.hit_if(asked.operation == kOwn, "ownership");
    asked_.push_back(asked);
  }

  void take_perform() {
    const Performing perform{dut_->perform_line_o,       dut_->perform_data_o,  dut_->perform_atomic_o != 0,
                             dut_->perform_keeps_o != 0, dut_->perform_entry_o, dut_->perform_info_o};
    if (!perform_rule_.holds(dut_->perform_valid_o, dut_->perform_ready_i, perform))
      differ("a write to perform changed");
    if (!dut_->perform_valid_o || !dut_->perform_ready_i) return;
    waited_ = 0;
    if (owned_.count(perform.line) == 0) differ("a write without ownership");
    const auto life = by_tag_.find(perform.tag);
    if (life == by_tag_.end()) return differ("a write that nobody sent");
    const ordering::Request& request = lives_[life->second].request;
    if (request.kind == ordering::Kind::kRead ||
        perform.is_atomic != (request.kind == ordering::Kind::kAtomic) || request.line != perform.line ||
        word_of(request) != perform.word)
      differ("another write than the one that was sent");
    found_.coverage.hit_if(perform.keeps, "ownership is kept");
    performing_[perform.entry] = perform;
  }

  void take_answer() {
    const Answer answer{dut_->answer_info_o, dut_->answer_data_o};
    if (!answer_rule_.holds(dut_->answer_valid_o, dut_->answer_ready_i, answer)) differ("an answer changed");
    if (!dut_->answer_valid_o || !dut_->answer_ready_i) return;
    waited_ = 0;
    const auto at = by_tag_.find(answer.tag);
    if (at == by_tag_.end()) return differ("an answer to nothing");
    ordering::Life& life = lives_[at->second];
    if (life.is_answered || life.request.kind == ordering::Kind::kWrite) return differ("an answer too many");
    life.is_answered = true;
    life.answered = dut_.cycles();
    life.response.bytes = ordering::line_of_word(answer.word);
    life.response.old_value = {answer.word, 0};
    ++finished_;
    for (std::size_t i = 0; i < at->second; ++i) {
      const ordering::Life& earlier = lives_[i];
      if (earlier.is_answered || earlier.request.kind != ordering::Kind::kRead) continue;
      found_.coverage.hit_if(life.request.kind == ordering::Kind::kRead, "read passes a read");
    }
  }

  Clocked<Model>& dut_;
  ordering::RlsqDesign design_;
  RandomStream random_;
  Findings& found_;
  RlsqProgram program_;
  std::vector<Stall> stalls_;
  std::vector<ordering::Life> lives_;  ///< In order of arrival.
  std::map<std::uint32_t, std::size_t> by_tag_;
  std::vector<ordering::ToyMemory::Write> writes_;
  std::map<std::uint32_t, std::uint64_t> memory_;
  std::vector<Asked> asked_;  ///< In order; those of one line are ordered in this order.
  std::map<std::uint32_t, Performing> performing_;  ///< By entry.
  std::set<std::uint32_t> granting_;                ///< Lines whose ownership is on its way,
  std::set<std::uint32_t> owned_;                   ///< and is here.
  std::optional<std::uint32_t> done_;
  std::optional<Snoop> snoop_;
  StreamRule<Asked> memory_rule_;
  StreamRule<Performing> perform_rule_;
  StreamRule<Answer> answer_rule_;
  bool offers_ = false;
  bool snooped_ = false;
  std::uint32_t finished_ = 0;
  std::uint32_t waited_ = 0;
};

}  // namespace wharf::rtl
