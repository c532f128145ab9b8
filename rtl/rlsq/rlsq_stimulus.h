// SPDX-License-Identifier: Apache-2.0
// What devices ask of a remote load-store queue in its co-simulation, and the instance that is driven. Apart
// from the harness, which holds the comparison.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "engine/ordering/rlsq.h"
#include "engine/ordering/toy_memory_test_support.h"

namespace wharf::rtl {

// The instance of rtl/CMakeLists.txt.
constexpr std::uint32_t kEntries = 8;
constexpr std::uint32_t kReserve = 2;
constexpr LineNumber kLines = 4;

inline ordering::RlsqConfig rlsq_config(ordering::RlsqDesign design) {
  ordering::RlsqConfig config;
  config.design = design;
  config.entries = kEntries - kReserve;
  config.posted_reserve = kReserve;
  config.trackers = kEntries;  // Each entry of the element has a line of its own.
  return config;
}

/// Requests of three domains, two of one requester. Each line has its own tag.
class RlsqProgram {
 public:
  RlsqProgram(RandomStream random, std::uint32_t requests, bool interleaves)
      : random_(random), interleaves_(interleaves), threads_(1 + random_.below(3)), next_(threads_.size()) {
    const std::uint64_t style = random_.below(4);
    for (std::uint32_t number = 1; number <= requests; ++number) add_request(number, style);
  }

  bool is_over() const { return taken_ == lines_; }
  std::uint32_t lines() const { return lines_; }
  /// A word that nobody has written.
  std::uint64_t new_word() { return ++words_; }

  /// A request that may come next; the same until it is taken.
  const ordering::Request& offer() {
    if (!offers_) {
      const bool goes_on = !interleaves_ && next_[who_] > 0 && !threads_[who_][next_[who_] - 1].is_last;
      if (!goes_on) {
        do who_ = random_.below(threads_.size());
        while (next_[who_] == threads_[who_].size());
      }
      offers_ = true;
    }
    return threads_[who_][next_[who_]];
  }
  void take() {
    ++next_[who_];
    ++taken_;
    offers_ = false;
  }

 private:
  using Label = ordering::Label;
  using Kind = ordering::Kind;

  void add_request(std::uint32_t number, std::uint64_t style) {
    const std::size_t who = random_.below(threads_.size());
    ordering::Request request;
    request.domain = {.requester = who == 2 ? 2U : 1U, .thread = static_cast<std::uint32_t>(who)};
    request.number = number;
    const std::uint64_t kind = random_.below(8);
    request.kind = kind < 4 ? Kind::kRead : kind < 7 ? Kind::kWrite : Kind::kAtomic;
    // Any label, the proposed ones, relaxed and acquire, or those of today.
    request.label = static_cast<Label>(style == 0   ? random_.below(ordering::kLabelCount)
                                       : style == 1 ? 3 + random_.below(ordering::kLabelCount - 3)
                                       : style == 2 ? 3 + random_.below(2)
                                                    : random_.below(3));
    const std::uint64_t length = request.kind == Kind::kAtomic ? 1 : 1 + random_.below(3);
    const std::uint64_t first = random_.below(kLines);
    for (std::uint64_t i = 0; i < length; ++i) {
      request.is_first = i == 0;
      request.is_last = i + 1 == length;
      request.line = (first + i) % kLines;
      request.tag = ++lines_;
      request.mask = ordering::byte_mask(0, 8);
      if (request.kind == Kind::kWrite) request.bytes = ordering::line_of_word(new_word());
      if (request.kind == Kind::kAtomic) {
        request.atomic = verbs::Verb::kSwap;
        request.operand = {new_word(), 0};
      }
      threads_[who].push_back(request);
    }
  }

  RandomStream random_;
  bool interleaves_;
  std::vector<std::vector<ordering::Request>> threads_;
  std::vector<std::size_t> next_;
  std::uint32_t lines_ = 0;
  std::uint32_t taken_ = 0;
  std::uint64_t words_ = 0;
  std::size_t who_ = 0;
  bool offers_ = false;
};

/// What the request writes or swaps in.
inline std::uint64_t word_of(const ordering::Request& request) {
  return request.kind == ordering::Kind::kAtomic ? request.operand[0] : ordering::word_of_line(request.bytes);
}

template <typename Model>
void offer(Model& dut, const ordering::Request& request) {
  dut.request_kind_i = static_cast<std::uint8_t>(request.kind);
  dut.request_label_i = static_cast<std::uint8_t>(request.label);
  dut.request_whole_i = request.tag % 2;
  dut.request_requester_i = static_cast<std::uint8_t>(request.domain.requester);
  dut.request_thread_i = static_cast<std::uint8_t>(request.domain.thread);
  dut.request_number_i = static_cast<std::uint8_t>(request.number);
  dut.request_line_i = static_cast<std::uint8_t>(request.line);
  dut.request_info_i = static_cast<std::uint16_t>(request.tag);
  dut.request_data_i = request.kind == ordering::Kind::kRead ? ~std::uint64_t{0} : word_of(request);
}

}  // namespace wharf::rtl
