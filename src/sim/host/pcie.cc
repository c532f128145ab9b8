// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie.h"

#include <algorithm>

#include "base/units.h"

namespace wharf::sim {

Pcie::Pcie(const PcieConfig& config, StageRounding rounding)
    : config_(config), rounding_(rounding), tag_free_(config.tags) {}

TimePs Pcie::read(TimePs at, std::uint32_t bytes) {
  TimePs done = at;
  std::uint32_t left = bytes;
  do {
    const std::uint32_t part = std::min(left, config_.max_read_request);
    left -= part;
    TimePs& tag = tag_free_[next_tag_];
    next_tag_ = next_tag_ + 1 == tag_free_.size() ? 0 : next_tag_ + 1;
    const TimePs begin = max(max(at, tag), upstream_free_);
    upstream_free_ = begin + transfer_time(Bytes{config_.request_header}, config_.rate);
    const std::uint32_t completions = std::max(1U, (part + config_.max_payload - 1) / config_.max_payload);
    const Bytes returned{std::uint64_t{part} + std::uint64_t{completions} * config_.completion_header};
    const TimePs data_begin = max(begin + config_.read_round_trip, completions_free_);
    completions_free_ = data_begin + transfer_time(returned, config_.rate);
    done = begin + stage_time(completions_free_ - begin, rounding_);
    tag = done;
  } while (left > 0);
  return done;
}

Pcie::Posted Pcie::write(TimePs at, std::uint32_t bytes, TimePs landing) {
  // A blocking NIC begins its next write when the previous one is in memory.
  const TimePs ready = config_.posted_writes == PostedWriteRule::kBlocking ? max(at, last_visible_) : at;
  const TimePs begin = max(ready, upstream_free_);
  const std::uint32_t packets = std::max(1U, (bytes + config_.max_payload - 1) / config_.max_payload);
  const Bytes sent{std::uint64_t{bytes} + std::uint64_t{packets} * config_.request_header};
  upstream_free_ = begin + transfer_time(sent, config_.rate);
  const TimePs arrived = begin + stage_time(upstream_free_ - begin + config_.posted_write, rounding_);
  last_visible_ = max(arrived + stage_time(landing, rounding_), last_visible_);
  const bool blocking = config_.posted_writes == PostedWriteRule::kBlocking;
  return {blocking ? last_visible_ : at, last_visible_, ready};
}

TimePs Pcie::mmio_write(TimePs at) {
  last_mmio_ = max(at + stage_time(config_.mmio_write, rounding_), last_mmio_);
  return last_mmio_;
}

}  // namespace wharf::sim
