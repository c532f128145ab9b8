// SPDX-License-Identifier: Apache-2.0
// What is known of each page of an aperture, what an access to one needs, and which page goes when there are
// too many. A machine without I/O and time: whoever drives it moves the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"

namespace wharf::live {

enum class PageState : std::uint8_t {
  kAbsent,
  kFetching,  ///< Its bytes are on the way; it has its place already.
  kHeld,      ///< Its bytes are here, but not where the program would find them.
  kClean,     ///< As it was fetched; stores are told where the kernel can.
  kDirty,     ///< It may differ from its twin.
  kLeaving,   ///< Gone from the program's sight, its changes are on the way.
  kLost,      ///< Every access is a signal.
};

/// What an access that waits needs.
enum class PageNeed : std::uint8_t {
  kFetch,  ///< Its bytes, from afar.
  kWait,   ///< Nothing: they are on the way, and their arrival ends its wait.
  kShow,   ///< The bytes that are held.
  kAllow,  ///< The permission to store.
  kWake,   ///< To try again: what it needs has come meanwhile.
};

class PageTable {
 public:
  PageTable(std::uint64_t pages, std::uint64_t limit) : pages_(pages), limit_(limit) {}

  std::uint64_t pages() const { return pages_.size(); }
  PageState state(std::uint64_t page) const { return pages_[page].state; }
  bool busy(std::uint64_t page) const { return pages_[page].busy; }
  bool kept(std::uint64_t page) const { return pages_[page].kept; }
  /// It is kept so that nothing stops a store to it.
  bool kept_for_stores(std::uint64_t page) const { return pages_[page].stores; }
  /// Somebody waits for this page, which is on the way, hither or thither.
  bool asked(std::uint64_t page) const { return pages_[page].asked; }
  /// The program can touch it without a fault.
  bool there(std::uint64_t page) const {
    return state(page) == PageState::kClean || state(page) == PageState::kDirty;
  }
  std::uint64_t held() const { return ring_.size(); }
  /// Pages whose bytes were here at once.
  std::uint64_t most_held() const { return most_held_; }
  std::uint64_t kept_pages() const { return kept_; }
  std::uint64_t limit() const { return limit_; }
  /// Pages beyond the limit, but for those that are about to go.
  bool too_many() const { return held() - leaving_ > limit_; }
  /// Room will come without anybody's help.
  bool room_will_come() const { return leaving_ != 0; }

  /// An access to the page waits: what it needs. Pages that are asked for count as used.
  PageNeed asked_for(std::uint64_t page, bool store);

  /// One at a time works on a page, and holds it meanwhile. False: another does.
  bool try_lock(std::uint64_t page) {
    if (pages_[page].busy) return false;
    return pages_[page].busy = true;
  }
  void unlock(std::uint64_t page) {
    WHARF_CHECK(pages_[page].busy);
    pages_[page].busy = false;
  }

  // Transitions, by whoever holds the page. `there` is what came of its fetch.
  void fetching(std::uint64_t page);
  void arrived(std::uint64_t page, PageState there);
  void not_arrived(std::uint64_t page);
  void shown(std::uint64_t page, PageState there);
  /// The first store. Also while another holds the page.
  void stored(std::uint64_t page);
  /// Nothing differs from what was fetched, and stores are told.
  void cleaned(std::uint64_t page);
  void leaves(std::uint64_t page);
  void gone(std::uint64_t page);
  /// In any state but kLost.
  void lost(std::uint64_t page);

  /// Who keeps it for stores keeps it so whatever is asked for later.
  void keep(std::uint64_t page, bool for_stores);
  void release(std::uint64_t page);

  /// The page that shall go: by a clock, whose hand spares once what was used since it last passed. Not one
  /// that is kept or that somebody holds; a dirty one only if `dirty_may_go`. It counts as leaving until
  /// stays() or gone(), and the caller holds it. None: no page can go.
  std::optional<std::uint64_t> choose_victim(bool dirty_may_go);
  /// The victim stays after all.
  void stays(std::uint64_t page);
  /// Pages that the hand has looked at.
  std::uint64_t looks() const { return looks_; }

 private:
  struct Page {
    PageState state = PageState::kAbsent;
    bool busy = false;
    bool used = false;
    bool asked = false;
    bool kept = false;
    bool stores = false;
    bool victim = false;
    std::uint32_t place = 0;  ///< In `ring_`, while it has one.
  };

  static bool has_bytes(PageState state) { return has_place(state) && state != PageState::kFetching; }
  static bool is_unchanged(PageState state) {
    return state == PageState::kClean || state == PageState::kHeld;
  }
  static bool has_place(PageState state) { return state != PageState::kAbsent && state != PageState::kLost; }
  void move(std::uint64_t page, PageState to);

  std::vector<Page> pages_;
  std::uint64_t limit_;
  std::vector<std::uint64_t> ring_;  ///< The pages that have a place, which the hand goes around.
  std::uint64_t with_bytes_ = 0;
  std::uint64_t most_held_ = 0;
  std::uint64_t leaving_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t hand_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace wharf::live
