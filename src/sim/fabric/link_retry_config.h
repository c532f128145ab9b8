// SPDX-License-Identifier: Apache-2.0
// What can be chosen about link-level retry, in the words of Ultra Ethernet 1.0 5.1.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// What becomes of frames while a link does not retry: after it gave up, or before LLR_INIT is answered.
enum class FrameAction : std::uint8_t {
  kBestEffort,  ///< They are sent without sequence numbers.
  kBlock,       ///< They wait.
  kDiscard,
};

inline constexpr std::uint32_t kMostOutstandingFrames = (1U << 19U) - 1;  ///< Half the sequence numbers.

/// Beside LinkFaults::retry and retry_limit, which is REPLAY_COUNT_MAX.
struct LinkRetryConfig {
  std::uint32_t outstanding_frames_max = 8192;
  std::uint32_t outstanding_bytes_max = 1U << 20U;
  /// So long after the last news of the oldest frame the whole buffer is sent again. 0: a round trip of the
  /// link and what may be in front of an answer (Partition::replay_time()).
  TimePs replay_timer_max{};
  std::uint32_t ctlos_target_spacing = 2048;  ///< Bytes from one LLR_ACK to the next.
  FrameAction flush_frame_action = FrameAction::kBestEffort;
  /// Choice: true, where the specification's default leaves it to management, of which there is none here.
  bool re_init_on_flush = true;
};

}  // namespace wharf::sim
