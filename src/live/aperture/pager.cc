// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/pager.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"

namespace wharf::live {
namespace {

/// How soon to try again what the kernel had no room for.
constexpr TimePs kTryAgain = milliseconds(20);

}  // namespace

Pager::Pager(PageLink& link, std::unique_ptr<Mapping> mapping, const ApertureSegment& segment,
             const ApertureOptions& options)
    : link_(link),
      mapping_(std::move(mapping)),
      segment_(segment),
      options_(options),
      page_bytes_(mapping_->page_bytes()),
      table_((segment.bytes + page_bytes_ - 1) / page_bytes_, options.pages_max),
      ahead_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(options.read_ahead_pages, options.pages_max / 4))) {
  if (options_.write_back == ApertureWriteBack::kPeriodic) next_write_back_ = kTimeZero;
}

bool Pager::step(TimePs now) {
  bool worked = false;
  now_ = now;
  if (!later_.empty() && now >= try_again_) {
    // What is still needed then is asked for again.
    for (const std::uint64_t page : std::exchange(later_, {})) mapping_->wake(page);
    worked = true;
  }
  Mapping::Fault fault;
  while (!unmapped_ && mapping_->next_fault(fault)) {
    serve(fault);
    worked = true;
  }
  if (now >= next_write_back_) {
    next_write_back_ = now + milliseconds(options_.write_back_interval_ms);
    // The first time only sets the clock; one that has not ended yet is not followed by another.
    if (table_.held() != 0 && !periodic_ && !unmapping_) {
      periodic_ = std::make_shared<ApertureCall>();
      periodic_->to = segment_.bytes;
      spawn(perform(periodic_));
    }
  }
  while (!ready_.empty()) {
    const std::coroutine_handle<> handle = ready_.front();
    ready_.pop_front();
    handle.resume();
    worked = true;
  }
  std::erase_if(tasks_, [](const verbs::Task<void>& task) { return task.done(); });
  return worked;
}

void Pager::spawn(verbs::Task<void> task) {
  tasks_.push_back(std::move(task));
  tasks_.back().start();
}

void Pager::unlock(std::uint64_t page) {
  const auto found = waiting_.find(page);
  if (found == waiting_.end()) {
    table_.unlock(page);
  } else {
    // The next one holds it from here on.
    ready_.push_back(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
  }
  room_may_have_come();
}

void Pager::room_may_have_come() {
  ready_.insert(ready_.end(), waiting_for_room_.begin(), waiting_for_room_.end());
  waiting_for_room_.clear();
}

Pager::Bytes Pager::copy_of(const std::byte* page) const {
  Bytes out = buffer(1);
  std::memcpy(out.get(), page, page_bytes_);
  return out;
}

// Faults.

void Pager::serve(const Mapping::Fault& fault) {
  const std::uint64_t page = fault.page;
  // Where the program may not store, a debugger may all the same: to a copy that nobody writes back.
  const bool store = fault.store && options_.writable;
  // Its wait may have been interrupted by a signal.
  const bool again = table_.asked(page);
  const PageNeed need = table_.asked_for(page, store);
  if (need == PageNeed::kFetch || need == PageNeed::kWait || need == PageNeed::kShow) ++counters_.faults;
  switch (need) {
    case PageNeed::kFetch:
      spawn(demand(page, store));
      break;
    case PageNeed::kWait:
      if (again) return;
      break;
    case PageNeed::kShow:
      show_held_or_lose(page, store);
      break;
    case PageNeed::kAllow:
      ++counters_.store_faults;
      allow_stores_or_wait(page);
      return;
    case PageNeed::kWake:
      // The kernel may have refused to let stores through where they may go.
      if (fault.protect && table_.state(page) == PageState::kDirty) {
        if (!mapping_->allow(page)) try_later(page);
      } else {
        mapping_->wake(page);
      }
      return;
  }
  read_ahead(page);
}

void Pager::read_ahead(std::uint64_t page) {
  const ReadAhead::Window window = ahead_.asked(page);
  if (link_lost_) return;
  const std::uint64_t end = std::min(window.first + window.count, table_.pages());
  bool first = true;
  for (std::uint64_t at = window.first; at < end;) {
    Fetch what{.first = at, .count = 0, .hold_first = first};
    while (at + what.count < end && table_.state(at + what.count) == PageState::kAbsent &&
           table_.try_lock(at + what.count))
      ++what.count;
    first = false;
    at += what.count + 1;
    if (what.count != 0) spawn(fetch_ahead(what));
  }
}

verbs::Task<void> Pager::fetch_ahead(Fetch what) {
  counters_.pages_ahead += what.count;
  static_cast<void>(co_await fetch(what));
}

verbs::Task<void> Pager::demand(std::uint64_t page, bool store) {
  co_await lock(page);
  if (table_.state(page) == PageState::kAbsent && !link_lost_) {
    static_cast<void>(co_await fetch({.first = page, .store = store, .demanded = true}));
    co_return;
  }
  switch (table_.asked_for(page, store)) {
    case PageNeed::kFetch:
      lose(page);
      break;
    case PageNeed::kShow:
      show_held_or_lose(page, store);
      break;
    case PageNeed::kAllow:
      allow_stores_or_wait(page);
      break;
    case PageNeed::kWait:
    case PageNeed::kWake:
      mapping_->wake(page);
      break;
  }
  unlock(page);
}

// The caller holds the pages, which are absent; they are let go here.
verbs::Task<Pager::Fate> Pager::fetch(Fetch what) {
  for (std::uint64_t page = what.first; page < what.first + what.count; ++page) table_.fetching(page);
  co_await make_room();
  Bytes bytes;
  bool arrived = false;
  if (!link_lost_) {
    bytes = buffer(what.count);
    const std::uint64_t begin = what.first * page_bytes_;
    const std::uint64_t length = std::min(what.count * page_bytes_, segment_.bytes - begin);
    std::memset(bytes.get() + length, 0, what.count * page_bytes_ - length);
    WHARF_CHECK(length <= std::numeric_limits<std::uint32_t>::max());
    ++counters_.reads;
    arrived = co_await link_.read(bytes.get(), segment_.offset + begin, static_cast<std::uint32_t>(length));
  }
  const Fate fate = settle(what, bytes.get(), arrived);
  for (std::uint64_t page = what.first; page < what.first + what.count; ++page) unlock(page);
  co_return fate;
}

verbs::Task<void> Pager::make_room() {
  while (table_.held() > table_.limit() && !link_lost_) {
    std::optional<std::uint64_t> page;
    if (table_.too_many()) page = table_.choose_victim(options_.write_back != ApertureWriteBack::kOnPublish);
    if (!page) {
      // Nothing can go: then there are more pages than wanted.
      if (!table_.room_will_come()) co_return;
      co_await Changed{*this};
      continue;
    }
    Fate fate = Fate::kDone;
    if (table_.state(*page) == PageState::kDirty) {
      fate = co_await send_away(*page, 0, 0);
    } else {
      fate = drop(*page);
    }
    if (fate == Fate::kRefused) {
      // Then there are more pages than wanted, too.
      table_.stays(*page);
      unlock(*page);
      co_return;
    }
    ++counters_.evictions;
    unlock(*page);
  }
}

// Whoever waits for it is told; what nobody asked for is tried again when somebody does.
void Pager::does_not_come(std::uint64_t page, bool demanded) {
  if ((table_.asked(page) || demanded) && lose(page)) return;
  table_.not_arrived(page);
}

Pager::Fate Pager::settle(const Fetch& what, const std::byte* bytes, bool arrived) {
  const auto clean = state_when_there(false);
  const std::uint64_t end = what.first + what.count;
  Fate fate = arrived ? Fate::kDone : Fate::kFailed;
  for (std::uint64_t page = what.first; page < end;) {
    if (table_.state(page) == PageState::kLost) {
      fate = Fate::kFailed;
      ++page;
      continue;
    }
    const bool asked = table_.asked(page);
    const bool first = page == what.first;
    if (!arrived) {
      does_not_come(page, what.demanded);
      ++page;
      continue;
    }
    const std::byte* const from = bytes + (page - what.first) * page_bytes_;
    if (!asked && (what.hold_all || (what.hold_first && first))) {
      held_[page] = copy_of(from);
      table_.arrived(page, PageState::kHeld);
      ++counters_.pages_fetched;
      ++page;
      continue;
    }
    const PageState as = state_when_there(what.store && (first || what.keep));
    std::uint64_t count = 1;
    // As many at once as need the same.
    if (as == PageState::kClean && clean == as && !what.hold_all) {
      while (page + count < end && table_.state(page + count) == PageState::kFetching) ++count;
    }
    if (show(page, count, from, as)) {
      for (std::uint64_t each = page; each < page + count; ++each) {
        table_.arrived(each, as);
        if (what.keep) table_.keep(each, what.store);
      }
      counters_.pages_fetched += count;
    } else {
      fate = std::max(fate, Fate::kRefused);
      for (std::uint64_t each = page; each < page + count; ++each) does_not_come(each, what.demanded);
    }
    page += count;
  }
  return fate;
}

PageState Pager::state_when_there(bool store) const {
  if (!options_.writable) return PageState::kClean;
  return store || !mapping_->protects() ? PageState::kDirty : PageState::kClean;
}

bool Pager::show(std::uint64_t page, std::uint64_t count, const std::byte* bytes, PageState as) {
  // The twin first: the program may store at once.
  if (as == PageState::kDirty) twins_[page] = copy_of(bytes);
  if (!refused(mapping_->install(page, count, bytes, as == PageState::kClean && mapping_->protects())))
    return true;
  twins_.erase(page);
  return false;
}

bool Pager::show_held(std::uint64_t page, bool store) {
  const auto held = held_.find(page);
  WHARF_CHECK(held != held_.end());
  const PageState as = state_when_there(store);
  if (!show(page, 1, held->second.get(), as)) return false;
  held_.erase(held);
  table_.shown(page, as);
  return true;
}

void Pager::show_held_or_lose(std::uint64_t page, bool store) {
  if (!show_held(page, store)) lose(page);
}

bool Pager::allow_stores(std::uint64_t page) {
  WHARF_CHECK(options_.writable && mapping_->protects());
  twins_[page] = copy_of(mapping_->at(page));
  if (!mapping_->allow(page)) {
    refusal_ = "UFFDIO_WRITEPROTECT";
    twins_.erase(page);
    return false;
  }
  table_.stored(page);
  return true;
}

void Pager::allow_stores_or_wait(std::uint64_t page) {
  if (!allow_stores(page)) try_later(page);
}

// Somebody waits for the page, which cannot come: false where he could not even be told yet.
bool Pager::lose(std::uint64_t page) {
  if (!mapping_->lose(page, 1)) {
    try_later(page);
    return false;
  }
  held_.erase(page);
  table_.lost(page);
  return true;
}

void Pager::try_later(std::uint64_t page) {
  if (later_.empty()) try_again_ = now_ + kTryAgain;
  later_.push_back(page);
}

Pager::Fate Pager::drop(std::uint64_t page) {
  if (table_.there(page) && refused(mapping_->drop(page))) return Fate::kRefused;
  twins_.erase(page);
  held_.erase(page);
  table_.gone(page);
  return Fate::kDone;
}

bool Pager::refused(const Result<void>& outcome) {
  if (outcome.ok()) return false;
  refusal_ = outcome.error().message;
  return true;
}

void Pager::link_lost() {
  if (link_lost_) return;
  link_lost_ = true;
  for (std::uint64_t page = 0; page < table_.pages();) {
    const auto stays = [&](std::uint64_t at) {
      const PageState state = table_.state(at);
      return table_.there(at) || state == PageState::kHeld || state == PageState::kLost;
    };
    if (stays(page)) {
      ++page;
      continue;
    }
    std::uint64_t count = 1;
    while (page + count < table_.pages() && !stays(page + count)) ++count;
    const std::uint64_t end = page + count;
    // Where there is no room for so many pieces, whoever asks for a page is told then.
    if (!mapping_->lose(page, count)) {
      page = end;
      continue;
    }
    for (; page < end; ++page) {
      twins_.erase(page);
      table_.lost(page);
    }
  }
  room_may_have_come();
}

}  // namespace wharf::live
