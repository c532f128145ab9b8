// SPDX-License-Identifier: Apache-2.0
// How runs of accesses (access_port.h) begin, and how one of a run becomes an access of its own.
#include <algorithm>

#include "base/check.h"
#include "engine/roce/engine_core.h"

namespace wharf::roce {

void EngineCore::ask_payloads(QueuePair& pair, Position at, std::uint32_t count) {
  if (port.extend(&pair.transmit, at, pair.share, count)) return;
  AccessSlot& slot =
      open_access(AccessPurpose::kRequestPayload, engine::AccessKind::kRead, pair, at, false, 0);
  slot.detail = 0;
  port.issue_run(slot, &pair.transmit);
  if (count > 1) port.extend(&pair.transmit, at + 1, pair.share, count - 1);
}

// A run ends where the completion ring does.
void EngineCore::issue_send_completions(QueuePair& pair, std::uint32_t count) {
  const std::uint32_t places = pair.config.send_depth + pair.config.receive_depth;
  while (count > 0) {
    const Position at = pair.send_completions_issued;
    const std::uint32_t part = std::min(count, places - pair.completion_place);
    if (port.extend(&pair.send_completions, at, pair.share, part)) {
      pair.send_completions_issued += part;
      count -= part;
      pair.completions_written += part;
      pair.completion_place += part;
      if (pair.completion_place < places) continue;
      pair.completion_place = 0;
      port.end_run();
    } else {
      AccessSlot& slot = open_completion<AccessPurpose::kSendCompletion, false>(pair, at, {});
      port.issue_run(slot, &pair.send_completions);
      if (pair.completion_place == 0) port.end_run();
      ++pair.send_completions_issued;
      --count;
    }
  }
}

bool EngineCore::fill_access(AccessSlot& slot) {
  QueuePair& pair = queue(slot.access.queue);
  if (slot.purpose == AccessPurpose::kRequestPayload) {
    if (!pair.transmit.contains(slot.position)) return false;
    fill_payload(pair, pair.transmit[slot.position], slot.access);
  } else {
    WHARF_CHECK(slot.purpose == AccessPurpose::kSendCompletion);
    if (!pair.send_completions.contains(slot.position)) return false;
    slot.access.operation = pair.send_completions[slot.position].operation;
  }
  return true;
}

AccessSlot* EngineCore::take_access() {
  while (port.has_next()) {
    AccessSlot& slot = port.front();
    if (slot.run == 0) {
      port.pop_front();
      return &slot;
    }
    const bool is_needed = fill_access(slot);
    port.split_front();
    if (is_needed) return &slot;
    close_access(slot);
  }
  return nullptr;
}

}  // namespace wharf::roce
