// SPDX-License-Identifier: Apache-2.0
#include "sim/config/retry_keys.h"

#include <array>

namespace wharf::sim {
namespace {

constexpr std::array<Choice<FrameAction>, 3> kFrameActions{{
    {"best_effort", FrameAction::kBestEffort},
    {"block", FrameAction::kBlock},
    {"discard", FrameAction::kDiscard},
}};

}  // namespace

void bind_link_retry(Binder& binder, bool& retry, std::uint32_t& limit, LinkRetryConfig& rules) {
  binder.flag("link_retry", retry,
              "links send lost and damaged frames again, and those behind them, until they are acknowledged "
              "(LLR of Ultra Ethernet)");
  const Binder::Section retried(binder, "", retry, "only with link_retry");
  binder.integer(
      "link_retry_limit", limit,
      "replays in a row before the link gives up what its replay buffer holds (REPLAY_COUNT_MAX); 0: no "
      "limit",
      0, 1000);
  binder.integer("llr_outstanding_frames_max", rules.outstanding_frames_max,
                 "frames in the replay buffer of a link (OUTSTANDING_FRAMES_MAX)", 1, kMostOutstandingFrames);
  binder.bytes("llr_outstanding_bytes_max", rules.outstanding_bytes_max,
               "bytes in it; a longer frame goes alone (OUTSTANDING_BYTES_MAX)", 1, 1U << 30U);
  binder.time(
      "llr_replay_timer_max", rules.replay_timer_max,
      "without news for so long, all of the buffer is sent again (REPLAY_TIMER_MAX); 0ns: a round trip "
      "of the link and what may go before an answer");
  binder.bytes("llr_ctlos_target_spacing", rules.ctlos_target_spacing,
               "what a link carries from one LLR_ACK to the next at least (CTLOS_TARGET_SPACING)", 0,
               1U << 20U);
  binder.choice<FrameAction>(
      "llr_flush_frame_action", rules.flush_frame_action, kFrameActions,
      "frames of a link that has given up go without sequence numbers, wait, or are dropped "
      "(FLUSH_FRAME_ACTION)");
  binder.flag("llr_re_init_on_flush", rules.re_init_on_flush,
              "such a link begins again when LLR_INIT has been answered (RE_INIT_ON_FLUSH)");
}

}  // namespace wharf::sim
