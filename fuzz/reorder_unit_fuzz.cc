// SPDX-License-Identifier: Apache-2.0
// Writes anywhere in the windows of a NIC's transmit queues, of any length and with any bytes, into the unit
// that finds messages in them: a message is what was written last, every byte of it, and no longer than the
// unit reaches; and what is held may come once messages have left.
// LINK: wharf_ordering
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/ordering/reorder_unit.h"
#include "fuzz/input_bytes.h"

namespace {

using namespace wharf;            // NOLINT: one file, one purpose.
using namespace wharf::ordering;  // NOLINT

ReorderUnitConfig read_config(InputBytes& input) {
  const std::uint32_t options = input.number();
  const std::uint32_t sizes = input.number();
  ReorderUnitConfig config;
  config.queues = 1 + options % 3;
  config.active_buffers = 1 + options / 3 % 2;
  config.zero_length = (options & 64U) != 0 ? ZeroLength::kSkipToNextLine : ZeroLength::kError;
  config.continuation_bit = (options & 128U) != 0;
  config.buffer_bytes = 64U << (sizes % 3);
  config.window_bytes = std::max(128U, config.buffer_bytes << (sizes / 3 % 3));
  config.length_bytes = 1 + sizes / 9 % 4;
  config.alignment = 1U << (sizes / 36 % 7);
  config.length_offset = input.number() % (std::min(config.buffer_bytes, config.window_bytes - 64) - 3);
  config.memory_bytes = config.buffer_bytes * (1 + options / 6 % 3);
  return config;
}

class Machine {
 public:
  explicit Machine(InputBytes& input)
      : input_(input),
        config_(read_config(input)),
        unit_(config_),
        shadow_(config_.queues, std::vector<std::optional<std::byte>>(config_.window_bytes)),
        into_(config_.buffer_bytes) {}

  void run() {
    for (int steps = 0; !input_.empty() && steps < 2000; ++steps) {
      const std::uint32_t what = input_.number();
      if (what % 8 == 7) {
        next_message();
      } else if (what % 8 == 6) {
        transmitted();
      } else {
        write(what);
      }
      observe();
    }
    while (next_message() || !in_memory_.empty()) transmitted();
  }

 private:
  std::uint32_t start(std::uint32_t queue) const {
    return (unit_.length_address(queue) - config_.length_offset) & (config_.window_bytes - 1);
  }

  void write(std::uint32_t what) {
    const std::uint32_t queue = what / 8 % (config_.queues + (what >= 248 ? 1 : 0));
    const std::uint32_t place = input_.number();
    std::uint32_t offset = input_.word() % (config_.window_bytes + (what >= 248 ? 64 : 0));
    // Mostly near the oldest message, whose length is often what decides.
    if (place < 200 && queue < config_.queues) {
      offset = (unit_.length_address(queue) + place % 64) & (config_.window_bytes - 1);
    }
    std::array<std::byte, kLineBytes> bytes{};
    const std::uint32_t length = 1 + input_.number() % (kLineBytes - offset % kLineBytes);
    const std::uint32_t value = input_.number();
    for (std::uint32_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i == 0 ? value : value & 1U);
    const ByteMask enabled = (what & 32U) != 0 ? kWholeLine : ~(ByteMask{1} << input_.number() % kLineBytes);
    const std::uint32_t before = queue < config_.queues ? start(queue) : 0;
    const ReorderedWrite result = unit_.write(queue, offset, std::span(bytes).first(length), enabled);
    WHARF_CHECK((result == ReorderedWrite::kOutside) ==
                (queue >= config_.queues || offset >= config_.window_bytes));
    if (result != ReorderedWrite::kTaken) return;
    for (std::uint32_t i = 0; i < length; ++i) {
      const std::uint32_t ahead = (offset + i - before) & (config_.window_bytes - 1);
      if ((enabled >> i & 1U) != 0 && ahead < unit_.reach())
        shadow_[queue][(offset + i) & (config_.window_bytes - 1)] = bytes[i];
    }
  }

  bool next_message() {
    ReorderedMessage message;
    std::vector<std::uint32_t> before;
    for (std::uint32_t queue = 0; queue < config_.queues; ++queue) before.push_back(start(queue));
    const bool any = unit_.next_message(message, into_);
    if (any) {
      WHARF_CHECK(message.length >= config_.length_offset + config_.length_bytes);
      WHARF_CHECK(message.length <= unit_.reach() && message.queue < config_.queues);
      for (std::uint32_t i = 0; i < message.length; ++i) {
        const auto& byte = shadow_[message.queue][(message.offset + i) & (config_.window_bytes - 1)];
        WHARF_CHECK(byte.has_value() && *byte == into_[i]);
      }
      in_memory_.push_back(message.length);
    }
    for (std::uint32_t queue = 0; queue < config_.queues; ++queue) {
      if (unit_.fault(queue) != ReorderFault::kNone) {
        std::fill(shadow_[queue].begin(), shadow_[queue].end(), std::nullopt);
      }
      // What lies behind the start again is gone.
      for (std::uint32_t at = before[queue]; at != start(queue); at = (at + 1) & (config_.window_bytes - 1))
        shadow_[queue][at].reset();
    }
    return any;
  }

  void transmitted() {
    if (in_memory_.empty()) return;
    unit_.transmitted(in_memory_.back());
    in_memory_.pop_back();
  }

  void observe() {
    WHARF_CHECK(unit_.active_buffers_used() <= config_.active_buffers);
    WHARF_CHECK(unit_.memory_free() <= config_.memory_bytes);
    for (std::uint32_t queue = 0; queue < config_.queues; ++queue) {
      const std::optional<std::uint32_t> missing = unit_.first_missing(queue);
      WHARF_CHECK(!missing || *missing < config_.window_bytes);
      std::array<std::byte, kLineBytes> line{};
      unit_.read(queue, start(queue), line);
      for (std::uint32_t i = 0; i < std::min(kLineBytes, unit_.reach()); ++i) {
        const auto& byte = shadow_[queue][(start(queue) + i) & (config_.window_bytes - 1)];
        WHARF_CHECK(line[i] == byte.value_or(std::byte{0}));
      }
    }
    state_.clear();
    unit_.append_state(state_);
  }

  InputBytes& input_;
  ReorderUnitConfig config_;
  ReorderUnit unit_;
  std::vector<std::vector<std::optional<std::byte>>> shadow_;  ///< What was written, by queue and offset.
  std::vector<std::byte> into_;
  std::vector<std::uint32_t> in_memory_;  ///< Lengths of messages that wait for the wire.
  std::vector<std::byte> state_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputBytes input(data, size);
  Machine(input).run();
  return 0;
}
