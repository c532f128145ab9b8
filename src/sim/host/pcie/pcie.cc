// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/pcie.h"

#include "base/line.h"

namespace wharf::sim {
namespace {

/// A core sends MMIO data in the lines that its write-combining buffers hold.
constexpr std::uint32_t kWriteCombined = kLineBytes;

}  // namespace

Pcie::Pcie(const PcieConfig& config, StageRounding rounding)
    : config_(config),
      rounding_(rounding),
      completion_time_(max(kTimeZero, config.read_round_trip - config.posted_write)),
      upstream_credits_(config.posted_credits),
      downstream_credits_(config.posted_credits),
      tag_free_(config.tags) {}

TimePs Pcie::read(TimePs at, std::uint32_t bytes) {
  TimePs done = at;
  std::uint32_t left = bytes;
  do {
    const std::uint32_t part = std::min(left, config_.max_read_request);
    left -= part;
    TimePs& tag = tag_free_[next_tag_];
    next_tag_ = next_tag_ + 1 == tag_free_.size() ? 0 : next_tag_ + 1;
    const TimePs begin =
        upstream_.take(max(max(at, tag), posted_sent_), wire_time(0, 1, config_.request_header));
    const std::uint32_t completions = std::max(1U, (part + config_.max_payload - 1) / config_.max_payload);
    const TimePs returning = wire_time(part, completions, config_.completion_header);
    // The request came to memory behind the writes posted before it, and its data have yet to come back.
    const TimePs ready =
        max(max(begin + config_.read_round_trip, completions_sent_), last_visible_ + completion_time_);
    const TimePs data_begin = downstream_.take(ready, returning);
    completions_sent_ = data_begin + returning;
    done = begin + stage_time(completions_sent_ - begin, rounding_);
    tag = done;
  } while (left > 0);
  return done;
}

TimePs Pcie::mmio_write(TimePs at, std::uint32_t bytes) {
  std::uint32_t left = bytes;
  std::uint32_t tlps = std::max(1U, (bytes + kWriteCombined - 1) / kWriteCombined);
  // In one piece, unless it has more TLPs than there are credits.
  while (tlps > 0) {
    const std::uint32_t part_tlps = std::min(tlps, downstream_credits_.most());
    const std::uint32_t part = part_tlps == tlps ? left : part_tlps * kWriteCombined;
    const TimePs departs = max(at, downstream_credits_.available(part_tlps));
    const TimePs sending = wire_time(part, part_tlps, config_.request_header);
    const TimePs begin = downstream_.take(max(departs + config_.mmio_write, mmio_sent_), sending);
    mmio_sent_ = begin + sending;
    last_mmio_ = max(at + stage_time(mmio_sent_ - at, rounding_), last_mmio_);
    downstream_credits_.take(part_tlps, last_mmio_);
    left -= part;
    tlps -= part_tlps;
  }
  return last_mmio_;
}

}  // namespace wharf::sim
