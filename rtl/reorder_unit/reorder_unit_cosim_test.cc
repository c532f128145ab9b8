// SPDX-License-Identifier: Apache-2.0
// The reorder unit beside ordering::ReorderUnit. The reference hands its messages on at once; the element may
// be behind it, so a late copy of a message that it still holds may count as taken. Everything else must be
// equal.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_reorder_unit.h"
#include "Vwharf_reorder_unit_plain.h"
#include "Vwharf_reorder_unit_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"
#include "rtl/reorder_unit/write_stimulus.h"

namespace wharf::rtl {
namespace {

using ordering::ReorderedMessage;
using ordering::ReorderedWrite;
using ordering::ReorderUnitConfig;

/// Cycles that an element may take for what nothing holds up: more than a buffer has lines.
constexpr std::uint32_t kPatience = 200;

struct Message {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  bool continued = false;
  bool operator==(const Message&) const = default;
};

template <typename Model>
class Harness {
 public:
  Harness(Clocked<Model>& dut, const ReorderUnitConfig& config, RandomStream random, Findings& found)
      : dut_(dut),
        config_(config),
        random_(random),
        found_(found),
        write_stall_(random.substream(0)),
        message_stall_(random.substream(1)),
        memory_(config.window_bytes),
        into_(config.buffer_bytes) {
    Coverage& coverage = found.coverage;
    coverage.require_stalls({"write", "message"});
    for (const char* name :
         {"taken", "stale", "too far", "failed", "held", "message across the end of the buffer",
          "message across the end of the window", "longest message", "line of two messages", "message waits",
          "too short", "too long", "reset with bytes inside"})
      coverage.require(name);
    if (config.continuation_bit) coverage.require("continued");
    if (config.alignment > 1) coverage.require("padding");
  }

  void run(std::uint64_t cycles) {
    reset();
    while (dut_.cycles() < cycles && found_.agrees()) {
      // After a failure nothing more can happen.
      if (random_.below(dut_->fault_o != 0 ? 100 : 3000) == 0) {
        found_.coverage.hit_if(unit_->active_buffers_used() != 0, "reset with bytes inside");
        reset();
      }
      cycle();
    }
  }

 private:
  void reset() {
    unit_ = std::make_unique<ordering::ReorderUnit>(config_);
    stimulus_ = std::make_unique<WriteStimulus>(config_, random_.substream(2 + resets_++));
    expected_.clear();
    bytes_.clear();
    message_rule_.reset();
    offered_ = false;
    result_.reset();
    waited_ = 0;
    held_ = 0;
    dut_->write_valid_i = 0;
    dut_->message_ready_i = 0;
    dut_.reset();
  }
  std::uint32_t reference_start() const {
    return (unit_->length_address(0) - config_.length_offset) & (config_.window_bytes - 1U);
  }
  void differ(const char* what) { found_.differ(dut_.cycles(), what); }

  void cycle() {
    const bool write_open = write_stall_.open();
    const bool message_open = message_stall_.open();
    found_.coverage.hit_stalls((write_open ? 1U : 0U) | (message_open ? 2U : 0U));
    if (!offered_ && write_open) {
      write_ = stimulus_->next(reference_start(), true);
      dut_->write_line_i = static_cast<std::uint16_t>(write_.line);
      dut_->write_enabled_i = write_.enabled;
      std::memcpy(dut_->write_data_i.data(), write_.data.data(), kLineBytes);
      offered_ = true;
    }
    dut_->write_valid_i = offered_;
    dut_->message_ready_i = message_open;
    dut_.settle();
    check_store();
    check_result();
    check_message(message_open);
    check_fault(message_open);
    if (offered_ && dut_->write_ready_o) take_write();
    held_ = offered_ && message_open ? held_ + 1 : (offered_ ? held_ : 0);
    found_.coverage.hit_if(held_ > 1, "held");
    if (held_ > 4 * kPatience) differ("a write is held for ever");
    dut_.tick();
  }

  /// The bytes that the element sends to memory.
  void check_store() {
    if (!dut_->store_valid_o) return;
    std::array<std::byte, kLineBytes> data{};
    std::memcpy(data.data(), dut_->store_data_o.data(), kLineBytes);
    for (ordering::ByteMask left = dut_->store_enabled_o; left != 0; left &= left - 1U) {
      const std::uint32_t byte = ordering::first_byte(left);
      memory_[dut_->store_line_o * kLineBytes + byte] = data[byte];
    }
  }

  void take_write() {
    offered_ = false;
    held_ = 0;
    const std::uint32_t before = reference_start();
    const bool lags = dut_->start_o != before;
    result_ = {unit_->write(0, write_.line * kLineBytes, write_.data, write_.enabled), lags,
               dut_->fault_o == 0};
    if (result_->reference == ReorderedWrite::kTooFar && dut_->fault_o == 0 && dut_->start_o != before)
      differ("a write was called too far while messages waited");
    ReorderedMessage message;
    while (unit_->next_message(message, into_)) {
      unit_->transmitted(message.length);
      found_.coverage.hit_if(message.length < kLineBytes && message.offset % kLineBytes != 0,
                             "line of two messages");
      expected_.push_back({message.offset, message.length, message.continued});
      bytes_.emplace_back(into_.begin(), into_.begin() + message.length);
    }
  }

  void check_result() {
    if (dut_->result_valid_o != (result_.has_value() ? 1 : 0))
      differ("a write without a result, or a result too many");
    if (!result_) return;
    constexpr std::array kMeaning{ReorderedWrite::kTaken, ReorderedWrite::kStale, ReorderedWrite::kTooFar,
                                  ReorderedWrite::kFailed};
    const ReorderedWrite got = kMeaning[dut_->result_o & 3U];
    found_.coverage.hit_if(got == ReorderedWrite::kTaken, "taken");
    found_.coverage.hit_if(got == ReorderedWrite::kStale, "stale");
    found_.coverage.hit_if(got == ReorderedWrite::kTooFar, "too far");
    found_.coverage.hit_if(got == ReorderedWrite::kFailed, "failed");
    const bool behind =
        result_->lags && result_->reference == ReorderedWrite::kStale && got == ReorderedWrite::kTaken;
    const bool not_failed_yet = result_->works && result_->reference == ReorderedWrite::kFailed;
    if (got != result_->reference && !behind && !not_failed_yet) {
      found_.differ(dut_.cycles(), "a write became " + std::to_string(static_cast<int>(got)) +
                                       " instead of " + std::to_string(static_cast<int>(result_->reference)) +
                                       ", line " + std::to_string(write_.line) + ", start " +
                                       std::to_string(dut_->start_o));
    }
    if (!not_failed_yet && dut_->too_far_o != unit_->errors().too_far)
      differ("the count of writes that were too far");
    result_.reset();
  }

  void check_message(bool open) {
    const Message shown{dut_->message_offset_o, dut_->message_length_o, dut_->message_continued_o != 0};
    if (!message_rule_.holds(dut_->message_valid_o, open, shown)) differ("an offered message changed");
    found_.coverage.hit_if(dut_->message_valid_o && !open, "message waits");
    if (!dut_->message_valid_o) {
      waited_ = expected_.empty() || !open ? 0 : waited_ + 1;
      if (waited_ > kPatience) differ("a complete message does not come");
      return;
    }
    waited_ = 0;
    if (expected_.empty()) return differ("a message that is not complete");
    if (shown != expected_.front()) return differ("another message");
    const std::vector<std::byte>& bytes = bytes_.front();
    for (std::uint32_t i = 0; i < shown.length; ++i) {
      if (memory_[(shown.offset + i) & (config_.window_bytes - 1U)] != bytes[i])
        return differ("the bytes of a message in memory");
    }
    if (!open) return;
    Coverage& coverage = found_.coverage;
    coverage.hit_if(shown.offset % config_.buffer_bytes + shown.length > config_.buffer_bytes,
                    "message across the end of the buffer");
    coverage.hit_if(shown.offset + shown.length > config_.window_bytes,
                    "message across the end of the window");
    coverage.hit_if(shown.length == longest(), "longest message");
    coverage.hit_if(shown.continued, "continued");
    coverage.hit_if((shown.offset + shown.length) % config_.alignment != 0, "padding");
    expected_.pop_front();
    bytes_.erase(bytes_.begin());
  }
  std::uint32_t longest() const {
    const std::uint32_t bits = 8U * config_.length_bytes - (config_.continuation_bit ? 1U : 0U);
    return bits < 16 ? std::min(config_.buffer_bytes, (1U << bits) - 1U) : config_.buffer_bytes;
  }

  void check_fault(bool open) {
    const auto fault = static_cast<std::uint32_t>(unit_->fault(0));
    if (dut_->fault_o != 0) {
      if (dut_->fault_o != fault) differ("a failure that is none, or another one");
      if (expected_.size() > 1) differ("a failure before the messages in front of it");
      found_.coverage.hit(fault == 1 ? "too short" : "too long");
      fault_waited_ = 0;
    } else {
      fault_waited_ = fault != 0 && open ? fault_waited_ + 1 : 0;
      if (fault_waited_ > kPatience + kPatience) differ("a failure does not come");
    }
  }

  struct Result {
    ReorderedWrite reference;
    bool lags;   ///< The element had not handed on what the reference had.
    bool works;  ///< It had not failed yet.
  };

  Clocked<Model>& dut_;
  ReorderUnitConfig config_;
  RandomStream random_;
  Findings& found_;
  Stall write_stall_;
  Stall message_stall_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> into_;
  std::unique_ptr<ordering::ReorderUnit> unit_;
  std::unique_ptr<WriteStimulus> stimulus_;
  std::deque<Message> expected_;
  std::vector<std::vector<std::byte>> bytes_;  ///< Of the expected messages.
  StreamRule<Message> message_rule_;
  LineWrite write_;
  bool offered_ = false;
  std::optional<Result> result_;
  std::uint32_t waited_ = 0;
  std::uint32_t fault_waited_ = 0;
  std::uint32_t held_ = 0;
  std::uint64_t resets_ = 0;
};

auto harness(const ReorderUnitConfig& config) {
  return
      [config]<typename Model>(Clocked<Model>& dut, RandomStream random, std::uint64_t cycles,
                               Findings& found) { Harness<Model>(dut, config, random, found).run(cycles); };
}

/// As rtl/CMakeLists.txt builds it: every option on, and lines shared by messages.
ReorderUnitConfig options_config() {
  ReorderUnitConfig config;
  config.window_bytes = 4096;
  config.length_offset = 15;
  config.length_bytes = 2;
  config.alignment = 16;
  config.zero_length = ordering::ZeroLength::kSkipToNextLine;
  config.continuation_bit = true;
  return config;
}

ReorderUnitConfig plain_config() {
  ReorderUnitConfig config;
  config.buffer_bytes = 4096;
  config.window_bytes = 32768;
  config.length_bytes = 2;
  return config;
}

TEST(ReorderUnit, AgreesWithEveryOption) {
  expect_agreement<Vwharf_reorder_unit>(harness(options_config()), 100000);
}

TEST(ReorderUnit, AgreesWithALargeBuffer) {
  expect_agreement<Vwharf_reorder_unit_plain>(harness(plain_config()), 100000);
}

TEST(ReorderUnit, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_reorder_unit_planted>(harness(options_config()), "rtl/reorder_unit/faults.txt",
                                                   600000);
}

/// One message of a line in every cycle, in order, with nothing in the way.
template <typename Model>
double messages_per_cycle(Clocked<Model>& dut, std::uint32_t window_lines) {
  dut->write_valid_i = 0;
  dut->message_ready_i = 1;
  dut.reset();
  for (std::uint32_t i = 0; i < 100; ++i) {
    dut.settle();
    dut.tick();
  }
  constexpr std::uint32_t kCount = 1000;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  const std::uint64_t from = dut.cycles();
  while (received < kCount && dut.cycles() < from + 10 * kCount) {
    dut->write_valid_i = sent < kCount;
    dut->write_line_i = static_cast<std::uint16_t>(sent % window_lines);
    dut->write_enabled_i = ~std::uint64_t{0};
    for (std::uint32_t word = 0; word < kLineBytes / 4; ++word) dut->write_data_i[word] = 0;
    dut->write_data_i[0] = kLineBytes;
    dut.settle();
    if (dut->write_valid_i && dut->write_ready_o) ++sent;
    if (dut->message_valid_o) ++received;
    dut.tick();
  }
  return static_cast<double>(received) / static_cast<double>(dut.cycles() - from);
}

// "Stop Taking the Scenic Route" 3.2 needs two cycles for each message.
TEST(ReorderUnit, HandsOnAMessageOf64BytesInEachCycle) {
  Clocked<Vwharf_reorder_unit_plain> dut;
  EXPECT_GT(messages_per_cycle(dut, plain_config().window_bytes / kLineBytes), 0.99);
}

}  // namespace
}  // namespace wharf::rtl
