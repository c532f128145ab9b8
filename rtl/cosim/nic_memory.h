// SPDX-License-Identifier: Apache-2.0
// The host memory behind a NIC: takes lines to write and to read in order, answers after a while. Apart from
// the host, which sees bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "base/random.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {

/// Bytes from kBase on. An access elsewhere is noted: nobody should let a NIC do one.
class NicMemory {
 public:
  static constexpr std::uint64_t kBase = 0x7f00'0001'0000;

  NicMemory(std::uint32_t bytes, RandomStream random)
      : bytes_(bytes), random_(random), stall_(random.substream(0)) {}

  std::byte* at(std::uint64_t address) { return &bytes_[address - kBase]; }
  std::vector<std::byte>& bytes() { return bytes_; }
  bool strayed() const { return strayed_; }
  void reset() { answers_.clear(); }

  /// Before settle(): offers the answer that is due, and decides whether a request is taken in this cycle.
  template <typename Model>
  void drive(Model& nic, std::uint64_t now, bool stalls) {
    nic.answer_valid_i = !answers_.empty() && answers_.front().due <= now;
    if (nic.answer_valid_i) {
      nic.answer_tag_i = answers_.front().tag;
      put_flit(answers_.front().line, nic.answer_data_i.data());
    }
    nic.memory_ready_i = !stalls || stall_.open();
  }
  /// After it: takes what was offered.
  template <typename Model>
  void take(Model& nic, std::uint64_t now, bool stalls) {
    if (nic.answer_valid_i) answers_.pop_front();
    if (!nic.memory_valid_o || !nic.memory_ready_i) return;
    // is_write, tag, line, data, enable.
    const std::uint32_t* words = nic.memory_o.data();
    const std::uint64_t line = words[18] | (std::uint64_t{words[19] & 0x3ff'ffffU} << 32U);
    const std::uint64_t enable = words[0] | (std::uint64_t{words[1]} << 32U);
    const std::uint64_t address = line << 6U;
    if (address < kBase || address + 64 > kBase + bytes_.size()) {
      strayed_ = true;
      return;
    }
    if ((words[19] >> 27U) % 2 == 1) {
      const Flit data = flit_of(words + 2);
      for (std::uint32_t i = 0; i < 64; ++i) {
        if ((enable >> (63 - i)) % 2 == 1) at(address)[i] = data[i];
      }
      return;
    }
    Answer answer;
    answer.tag = (words[19] >> 26U) % 2 == 1;
    std::memcpy(answer.line.data(), at(address), 64);
    const std::uint64_t wait = stalls ? 1 + random_.below(20) : 10;
    answer.due = std::max(now + wait, answers_.empty() ? 0 : answers_.back().due);
    answers_.push_back(answer);
  }

 private:
  struct Answer {
    std::uint64_t due = 0;
    bool tag = false;
    Flit line{};
  };
  std::vector<std::byte> bytes_;
  RandomStream random_;
  Stall stall_;
  std::deque<Answer> answers_;
  bool strayed_ = false;
};

}  // namespace wharf::rtl
