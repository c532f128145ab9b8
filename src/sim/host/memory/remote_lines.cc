// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/remote_lines.h"

#include "base/check.h"

namespace wharf::sim {

namespace {

/// Lines aside beside those that the levels above the last can hold.
constexpr std::uint32_t kAsideSlack = 256;

}  // namespace

RemoteLines::RemoteLines(CacheHierarchy& caches)
    : caches_(caches),
      bytes_(caches.place_count()),
      tokens_(caches.place_count()),
      aside_(kAsideSlack),
      aside_index_(kAsideSlack),
      aside_limit_(2 * (caches.line_count() - caches.place_count()) + kAsideSlack) {
  caches_.track_places();
}

void RemoteLines::put_aside(LineNumber line, std::uint32_t place) {
  if (aside_index_.contains(line)) return;  // Its bytes have been there all the time.
  std::uint32_t slot = aside_.acquire();
  if (slot == kNoSlot) {
    aside_.reserve(2 * aside_.capacity());
    slot = aside_.acquire();
  }
  aside_[slot] = {bytes_[place].bytes, line, tokens_[place], false};
  aside_index_.insert(line, slot);
}

void RemoteLines::drop_unneeded() {
  for (std::uint32_t slot = 0; slot < aside_.capacity(); ++slot) {
    if (!aside_.is_used(slot) || aside_[slot].pinned || caches_.contains(aside_[slot].line)) continue;
    aside_index_.erase(aside_[slot].line);
    aside_.release(slot);
  }
}

void RemoteLines::pin(LineNumber line) {
  if (!aside_index_.contains(line)) {
    const std::uint32_t place = caches_.place_of(line);
    WHARF_CHECK(place != kNoPlace);
    put_aside(line, place);
  }
  aside_[*aside_index_.find(line)].pinned = true;
}

void RemoteLines::release(LineNumber line) {
  const std::uint32_t* slot = aside_index_.find(line);
  if (slot == nullptr) return;
  aside_[*slot].pinned = false;
  if (caches_.contains(line)) return;
  aside_.release(*slot);
  aside_index_.erase(line);
}

}  // namespace wharf::sim
