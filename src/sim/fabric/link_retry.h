// SPDX-License-Identifier: Apache-2.0
// Link-level retry (LLR) of Ultra Ethernet links: the two ends of one direction as machines without time.
// Frames have sequence numbers and stay in the replay buffer until they are acknowledged; the far end takes
// them in order only and answers with control ordered sets (CtlOS). [UE 1.0 5.1]
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ring.h"
#include "base/time.h"
#include "sim/fabric/link_retry_config.h"
#include "sim/fabric/packet_head.h"

namespace wharf::sim {

/// Sequence numbers are cyclic. Choice: with 20 bits, as the counters of credits are.
inline constexpr std::uint32_t kFrameSequenceMask = (1U << 20U) - 1;
/// How far the sequence number `to` is ahead of `from`, or, negative, behind it.
constexpr std::int32_t frames_ahead(std::uint32_t to, std::uint32_t from) {
  return static_cast<std::int32_t>((to - from) << 12U) >> 12;
}

/// The near end.
struct LinkRetrySender {
  enum class State : std::uint8_t {
    kInit,     ///< LLR_INIT has not been answered: frames have no sequence numbers.
    kAdvance,  ///< New frames go out.
    kReplay,   ///< Those of the replay buffer do, from the oldest on.
    kFlush,    ///< Given up for good: frames have no sequence numbers.
  };
  struct Frame {
    PacketHead head;     ///< As it was before it was sent for the first time,
    bool taken = false;  ///< without its body when a copy is on its way that the far end will take.
  };

  Ring<Frame> kept;  ///< The replay buffer: what is not acknowledged, oldest first.
  std::uint64_t kept_bytes = 0;
  std::uint32_t first = 0;      ///< Sequence number of the oldest.
  std::uint32_t replay_at = 0;  ///< In kReplay: which comes next.
  std::uint32_t replays = 0;    ///< In a row, since the last acknowledgement of something new.
  /// What the far end expects when all that is on its way is there. A link keeps order, so the near end of
  /// the model knows; the machine decides nothing by it, it tells bodies from copies.
  std::uint32_t far_expects = 0;
  TimePs deadline = kNever;  ///< Of the replay timer.
  TimePs oldest_left =
      kNever;           ///< When the last byte of the oldest did, in the last replay; kNever: to come.
  TimePs last_arrival;  ///< Of what was sent.
  State state = State::kAdvance;
  bool timer_armed = false;
  bool init_due = false;
  bool used_since_init = false;   ///< Frames were sent or held back since LLR_INIT was.
  std::uint8_t consumed_due = 0;  ///< Queues whose CC_Update waits for the replay buffer, one bit each.

  bool protects() const { return state == State::kAdvance || state == State::kReplay; }
  /// Whether a new frame may go out. One that is longer than the buffer goes alone.
  bool has_room(const LinkRetryConfig& config, std::uint32_t bytes) const {
    return kept.empty() || (kept.size() < config.outstanding_frames_max &&
                            kept_bytes + bytes <= config.outstanding_bytes_max);
  }
  std::uint32_t keep(const PacketHead& head) {
    if (kept.size() == 0 || kept.full()) kept.reserve(std::max<std::size_t>(8, 2 * kept.size()));
    kept.push_back({head, false});
    kept_bytes += head.bytes;
    return static_cast<std::uint32_t>(kept.size() - 1);
  }
  std::uint32_t sequence_of(std::uint32_t index) const { return (first + index) & kFrameSequenceMask; }

  /// The far end has everything up to `last`. False: it had been known, or it speaks of frames that are gone.
  bool acknowledge(std::uint32_t last) {
    const std::int32_t count = frames_ahead(last, first) + 1;
    if (count <= 0 || static_cast<std::size_t>(count) > kept.size()) return false;
    for (std::int32_t i = 0; i < count; ++i) {
      kept_bytes -= kept.front().head.bytes;
      kept.pop_front();
    }
    first = (first + static_cast<std::uint32_t>(count)) & kFrameSequenceMask;
    replay_at -= std::min(replay_at, static_cast<std::uint32_t>(count));
    if (state == State::kReplay && replay_at >= kept.size()) state = State::kAdvance;
    replays = 0;
    return true;
  }
  /// The buffer is empty, and numbers begin again.
  void begin() {
    state = State::kAdvance;
    first = far_expects = replay_at = replays = 0;
    init_due = false;
    deadline = kNever;
  }
};

/// The far end.
struct LinkRetryReceiver {
  enum class State : std::uint8_t {
    kSendAcks,
    kSendNack,  ///< A frame is missing: LLR_NACK leaves as soon as the link back can carry it.
    kNackSent,  ///< It has: what follows is dropped without a word until the missing frame comes.
  };

  std::uint32_t expected = 0;
  State state = State::kSendAcks;
  bool ack_due = false;
  bool echo_due = false;
  bool ack_armed = false;
  TimePs next_ack;  ///< Not before, for the spacing of ordered sets.

  /// A whole frame: whether it is the next one.
  bool take(std::uint32_t sequence) {
    const std::int32_t ahead = frames_ahead(sequence, expected);
    if (ahead == 0) {
      expected = (expected + 1) & kFrameSequenceMask;
      state = State::kSendAcks;
      ack_due = true;
      return true;
    }
    // One that has been taken before: the acknowledgement was lost, or late. Choice: it is said again after
    // LLR_NACK, too. The sender may have nothing more than this frame, and would replay it without end.
    if (ahead < 0) ack_due = true;
    if (ahead > 0) miss();
    return false;
  }
  /// A damaged frame, or one too early.
  void miss() {
    if (state == State::kSendAcks) state = State::kSendNack;
  }
  std::uint32_t last_good() const { return (expected - 1) & kFrameSequenceMask; }
  void begin() {
    expected = 0;
    state = State::kSendAcks;
    ack_due = false;
    echo_due = true;
  }
};

/// PacketHead::flow of an ordered set of link-level retry: this bit, its kind in the two highest bits, and a
/// sequence number. Frames of flow control have queues there (partition_flow_control.h), of which it is none.
inline constexpr std::uint32_t kRetryControl = 1U << 29U;
enum class RetryControl : std::uint32_t { kAck, kNack, kInit, kInitEcho };
constexpr std::uint32_t retry_content(RetryControl kind, std::uint32_t sequence) {
  return static_cast<std::uint32_t>(kind) << 30U | kRetryControl | sequence;
}
constexpr bool is_retry_control(const PacketHead& head) {
  return (head.flags & kHeadLinkControl) != 0 && (head.flow & kRetryControl) != 0;
}
/// What a link is busy for with one.
inline constexpr std::uint16_t kOrderedSetBytes = 8;

}  // namespace wharf::sim
