// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/page_table.h"

#include <algorithm>
#include <utility>

namespace wharf::live {

PageNeed PageTable::asked_for(std::uint64_t page, bool store) {
  Page& entry = pages_[page];
  entry.used = true;
  switch (entry.state) {
    case PageState::kAbsent:
      return PageNeed::kFetch;
    case PageState::kLeaving:
      // The first who asks waits for its end, to fetch it then; what he fetches ends the wait of all.
      return std::exchange(entry.asked, true) ? PageNeed::kWait : PageNeed::kFetch;
    case PageState::kFetching:
      entry.asked = true;
      return PageNeed::kWait;
    case PageState::kHeld:
      return PageNeed::kShow;
    case PageState::kClean:
      return store ? PageNeed::kAllow : PageNeed::kWake;
    case PageState::kDirty:
    case PageState::kLost:
      return PageNeed::kWake;
  }
  WHARF_UNREACHABLE();
}

void PageTable::move(std::uint64_t page, PageState to) {
  Page& entry = pages_[page];
  if (!has_place(entry.state) && has_place(to)) {
    entry.place = static_cast<std::uint32_t>(ring_.size());
    ring_.push_back(page);
  } else if (has_place(entry.state) && !has_place(to)) {
    // The newest takes the place of the one that goes, mostly just behind the hand: it is looked at last.
    pages_[ring_.back()].place = entry.place;
    ring_[entry.place] = ring_.back();
    ring_.pop_back();
  }
  if (has_bytes(entry.state) != has_bytes(to)) with_bytes_ += has_bytes(to) ? 1 : std::uint64_t{0} - 1;
  if (is_unchanged(entry.state) != is_unchanged(to))
    unchanged_ += is_unchanged(to) ? 1 : std::uint64_t{0} - 1;
  most_held_ = std::max(most_held_, with_bytes_);
  entry.state = to;
  if (has_place(to)) return;
  if (entry.victim) --leaving_;
  entry.victim = entry.asked = entry.used = false;
  release(page);
}

void PageTable::fetching(std::uint64_t page) {
  WHARF_CHECK(busy(page) && state(page) == PageState::kAbsent);
  move(page, PageState::kFetching);
}

void PageTable::arrived(std::uint64_t page, PageState there) {
  WHARF_CHECK(busy(page) && state(page) == PageState::kFetching);
  WHARF_CHECK(there == PageState::kHeld || there == PageState::kClean || there == PageState::kDirty);
  pages_[page].asked = false;
  pages_[page].used = true;
  move(page, there);
}

void PageTable::not_arrived(std::uint64_t page) {
  WHARF_CHECK(busy(page) && state(page) == PageState::kFetching);
  move(page, PageState::kAbsent);
}

void PageTable::shown(std::uint64_t page, PageState there) {
  WHARF_CHECK(state(page) == PageState::kHeld);
  pages_[page].used = true;
  move(page, there);
}

void PageTable::stored(std::uint64_t page) {
  WHARF_CHECK(state(page) == PageState::kClean);
  move(page, PageState::kDirty);
}

void PageTable::cleaned(std::uint64_t page) {
  WHARF_CHECK(busy(page) && state(page) == PageState::kDirty);
  move(page, PageState::kClean);
}

void PageTable::leaves(std::uint64_t page) {
  WHARF_CHECK(busy(page) && state(page) == PageState::kDirty);
  move(page, PageState::kLeaving);
}

void PageTable::gone(std::uint64_t page) {
  WHARF_CHECK(busy(page) && has_place(state(page)) && state(page) != PageState::kFetching);
  move(page, PageState::kAbsent);
}

void PageTable::lost(std::uint64_t page) {
  WHARF_CHECK(state(page) != PageState::kLost);
  move(page, PageState::kLost);
}

void PageTable::keep(std::uint64_t page, bool for_stores) {
  Page& entry = pages_[page];
  entry.stores |= for_stores;
  if (!std::exchange(entry.kept, true)) ++kept_;
}

void PageTable::release(std::uint64_t page) {
  Page& entry = pages_[page];
  entry.stores = false;
  if (std::exchange(entry.kept, false)) --kept_;
}

std::optional<std::uint64_t> PageTable::choose_victim(bool dirty_may_go) {
  if (unchanged_ == 0 && !dirty_may_go) return std::nullopt;
  // Twice around: the first time may only take marks away.
  for (std::uint64_t step = 0; step < 2 * ring_.size(); ++step) {
    if (hand_ >= ring_.size()) hand_ = 0;
    ++looks_;
    const std::uint64_t page = ring_[hand_++];
    Page& entry = pages_[page];
    const bool can_go = entry.state == PageState::kClean || entry.state == PageState::kHeld ||
                        (entry.state == PageState::kDirty && dirty_may_go);
    if (!can_go || entry.busy || entry.kept) continue;
    if (entry.used) {
      entry.used = false;
      continue;
    }
    entry.busy = entry.victim = true;
    ++leaving_;
    return page;
  }
  return std::nullopt;
}

void PageTable::stays(std::uint64_t page) {
  WHARF_CHECK(pages_[page].victim);
  pages_[page].victim = false;
  pages_[page].used = true;
  --leaving_;
}

}  // namespace wharf::live
