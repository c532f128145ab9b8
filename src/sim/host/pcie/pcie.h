// SPDX-License-Identifier: Apache-2.0
// Timing of PCIe between a NIC and the root complex: what a DMA read, a posted DMA write and an MMIO write
// cost, and in which order they become visible. [PCIe Base 5.0 2.4.1: posted requests pass in order; neither
// read requests nor completions pass them, while they may pass a read that waits for its tag.]
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "sim/host/config/host_config.h"
#include "sim/kernel/booked_time.h"

namespace wharf::sim {

/// Header credits for posted requests of one direction: each TLP holds one until its receiver is done with
/// it. [PCIe Base 5.0 2.6.1] Data credits are not modelled: a receiver has room for the largest payload per
/// header. TLPs are done in the order in which they were sent.
class PostedCredits {
 public:
  /// `count` credits; 0 is unlimited.
  explicit PostedCredits(std::uint32_t count) : back_at_(count) {}

  /// Most TLPs that can be under way, at least 1.
  std::uint32_t most() const { return back_at_.empty() ? ~0U : static_cast<std::uint32_t>(back_at_.size()); }
  /// When the next `tlps` (1 to most()) TLPs all have a credit.
  TimePs available(std::uint32_t tlps) const {
    return back_at_.empty() ? kTimeZero : back_at_[(next_ + tlps - 1) % back_at_.size()];
  }
  /// They take them and give them back at `done`.
  void take(std::uint32_t tlps, TimePs done) {
    if (back_at_.empty()) return;
    for (; tlps > 0; --tlps) {
      back_at_[next_] = done;
      next_ = next_ + 1 == back_at_.size() ? 0 : next_ + 1;
    }
  }

 private:
  std::vector<TimePs> back_at_;  ///< When each credit was or will be given back; used in turn.
  std::size_t next_ = 0;
};

/// One PCIe link with its tags and credits. Calls of each kind come with non-decreasing `at`.
///
///   upstream    posted writes (header and data) and read requests (header)
///   downstream  completions with data, and MMIO writes (header and data), in the order in which they come
///               out of the link, which is where its time is counted
class Pcie {
 public:
  Pcie(const PcieConfig& config, StageRounding rounding);

  /// DMA read of `bytes`, ready at `at`; returns when the last byte has reached the NIC. Each of its read
  /// requests waits for a tag. Reads complete in the order in which they were asked for. Memory is read when
  /// the writes posted before are visible; then the data take the way back, which is what a round trip takes
  /// longer than a posted write.
  TimePs read(TimePs at, std::uint32_t bytes);

  /// A posted DMA write.
  struct Posted {
    TimePs accepted;  ///< The NIC may forget it: all its TLPs have credits.
    TimePs arrived;   ///< The last byte is at the root complex.
    TimePs visible;   ///< Readers of host memory see it, and every write posted before it.
    TimePs begun;     ///< Later than asked for when a blocking NIC waits for the write before.
  };
  /// `land(arrived, bytes)` says when bytes that reach the root complex at `arrived` are at their destination
  /// (DRAM at a target; at once in the last-level cache).
  template <typename Land>
  Posted write(TimePs at, std::uint32_t bytes, Land&& land) {
    const bool blocking = config_.posted_writes == PostedWriteRule::kBlocking;
    // A blocking NIC begins its next write when the previous one is in memory.
    Posted posted;
    posted.begun = posted.accepted = blocking ? max(at, last_visible_) : at;
    std::uint32_t left = bytes;
    std::uint32_t tlps = std::max(1U, (bytes + config_.max_payload - 1) / config_.max_payload);
    // In one piece, unless it has more TLPs than there are credits.
    while (tlps > 0) {
      const std::uint32_t part_tlps = std::min(tlps, upstream_credits_.most());
      const std::uint32_t part = part_tlps == tlps ? left : part_tlps * config_.max_payload;
      posted.accepted = max(posted.accepted, upstream_credits_.available(part_tlps));
      const TimePs sending = wire_time(part, part_tlps, config_.request_header);
      const TimePs begin = upstream_.take(max(posted.accepted, posted_sent_), sending);
      posted_sent_ = begin + sending;
      posted.arrived = begin + stage_time(sending + config_.posted_write, rounding_);
      last_visible_ = max(land(posted.arrived, part), last_visible_);
      upstream_credits_.take(part_tlps, last_visible_);
      left -= part;
      tlps -= part_tlps;
    }
    posted.visible = last_visible_;
    if (blocking) posted.accepted = posted.visible;
    return posted;
  }

  /// MMIO write of `bytes` by the core, begun at `at`; returns when the NIC has it. The core does not wait;
  /// what has no credit leaves the root complex later, when the NIC has taken what was sent before.
  TimePs mmio_write(TimePs at, std::uint32_t bytes);

 private:
  /// What `bytes` in `tlps` TLPs with headers of `header` bytes occupy of one direction.
  TimePs wire_time(std::uint32_t bytes, std::uint32_t tlps, std::uint32_t header) const {
    return transfer_time(Bytes{std::uint64_t{bytes} + std::uint64_t{tlps} * header}, config_.rate);
  }

  PcieConfig config_;
  StageRounding rounding_;
  TimePs completion_time_;  ///< From memory to the NIC, without the time of the bytes.
  BookedTime upstream_;
  BookedTime downstream_;
  PostedCredits upstream_credits_;
  PostedCredits downstream_credits_;
  TimePs posted_sent_;       ///< The last posted write has left the NIC.
  TimePs completions_sent_;  ///< The last completion has come out of the link.
  TimePs last_visible_;
  TimePs mmio_sent_;              ///< The last MMIO write has come out of the link.
  TimePs last_mmio_;              ///< The same, its duration rounded.
  std::vector<TimePs> tag_free_;  ///< When each tag was or will be given back; used in turn.
  std::size_t next_tag_ = 0;
};

}  // namespace wharf::sim
