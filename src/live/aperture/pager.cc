// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/pager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace wharf::live {
namespace {

/// Pages that calls fetch by one READ, and how many such, or other pages, they work on at once.
constexpr std::uint64_t kChunkPages = 16;
constexpr std::uint64_t kLanes = 8;
/// WRITEs of one page under way at once.
constexpr std::size_t kWriteLanes = 16;

}  // namespace

void ApertureCall::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void ApertureCall::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_; });
}

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
  const PageNeed need = table_.asked_for(fault.page, fault.store);
  if (need == PageNeed::kFetch || need == PageNeed::kWait || need == PageNeed::kShow) ++counters_.faults;
  switch (need) {
    case PageNeed::kFetch:
      spawn(demand(fault.page, fault.store));
      break;
    case PageNeed::kWait:
      break;
    case PageNeed::kShow:
      show_held(fault.page, fault.store);
      break;
    case PageNeed::kAllow:
      ++counters_.store_faults;
      allow_stores(fault.page);
      return;
    case PageNeed::kWake:
      mapping_->wake(fault.page);
      return;
  }
  read_ahead(fault.page);
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
      show_held(page, store);
      break;
    case PageNeed::kAllow:
      allow_stores(page);
      break;
    case PageNeed::kWait:
    case PageNeed::kWake:
      mapping_->wake(page);
      break;
  }
  unlock(page);
}

// The caller holds the pages, which are absent; they are let go here.
verbs::Task<bool> Pager::fetch(Fetch what) {
  for (std::uint64_t page = what.first; page < what.first + what.count; ++page) table_.fetching(page);
  co_await make_room();
  Bytes bytes;
  bool arrived = false;
  if (!link_lost_) {
    bytes = buffer(what.count);
    const std::uint64_t begin = what.first * page_bytes_;
    const std::uint64_t length = std::min(what.count * page_bytes_, segment_.bytes - begin);
    std::memset(bytes.get() + length, 0, what.count * page_bytes_ - length);
    ++counters_.reads;
    arrived = co_await link_.read(bytes.get(), segment_.offset + begin, static_cast<std::uint32_t>(length));
  }
  settle(what, bytes.get(), arrived);
  for (std::uint64_t page = what.first; page < what.first + what.count; ++page) unlock(page);
  co_return arrived;
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
    ++counters_.evictions;
    if (table_.state(*page) == PageState::kDirty) {
      static_cast<void>(co_await send_away(*page, 0, 0));
    } else {
      drop(*page);
    }
    unlock(*page);
  }
}

void Pager::settle(const Fetch& what, const std::byte* bytes, bool arrived) {
  const auto clean = state_when_there(false);
  const std::uint64_t end = what.first + what.count;
  for (std::uint64_t page = what.first; page < end;) {
    if (table_.state(page) == PageState::kLost) {
      ++page;
      continue;
    }
    const bool asked = table_.asked(page);
    const bool first = page == what.first;
    if (!arrived) {
      // Whoever waits for it is told; what nobody asked for is tried again when somebody does.
      if (asked || what.demanded) {
        lose(page);
      } else {
        table_.not_arrived(page);
      }
      ++page;
      continue;
    }
    const std::byte* const from = bytes + (page - what.first) * page_bytes_;
    ++counters_.pages_fetched;
    if (!asked && (what.hold_all || (what.hold_first && first))) {
      held_[page] = copy_of(from);
      table_.arrived(page, PageState::kHeld);
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
        if (what.keep) table_.keep(each, true);
      }
    } else {
      for (std::uint64_t each = page; each < page + count; ++each) lose(each);
    }
    counters_.pages_fetched += count - 1;
    page += count;
  }
}

PageState Pager::state_when_there(bool store) const {
  if (!options_.writable) return PageState::kClean;
  return store || !mapping_->protects() ? PageState::kDirty : PageState::kClean;
}

bool Pager::show(std::uint64_t page, std::uint64_t count, const std::byte* bytes, PageState as) {
  // The twin first: the program may store at once.
  if (as == PageState::kDirty) twins_[page] = copy_of(bytes);
  return mapping_->install(page, count, bytes, as == PageState::kClean && mapping_->protects()).ok();
}

void Pager::show_held(std::uint64_t page, bool store) {
  const Bytes bytes = std::move(held_.at(page));
  held_.erase(page);
  const PageState as = state_when_there(store);
  if (show(page, 1, bytes.get(), as)) {
    table_.shown(page, as);
  } else {
    lose(page);
  }
}

void Pager::allow_stores(std::uint64_t page) {
  twins_[page] = copy_of(mapping_->at(page));
  table_.stored(page);
  mapping_->allow(page);
}

void Pager::lose(std::uint64_t page) {
  const std::uint64_t end = page + mapping_->lose(page, 1);
  for (; page < end; ++page) {
    if (table_.state(page) == PageState::kLost) continue;
    twins_.erase(page);
    held_.erase(page);
    table_.lost(page);
  }
}

void Pager::drop(std::uint64_t page) {
  if (table_.there(page)) mapping_->drop(page);
  twins_.erase(page);
  held_.erase(page);
  table_.gone(page);
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
    const std::uint64_t end = page + mapping_->lose(page, count);
    for (; page < end; ++page) {
      if (table_.state(page) == PageState::kLost) continue;
      twins_.erase(page);
      held_.erase(page);
      table_.lost(page);
    }
  }
  room_may_have_come();
}

// Changes.

// The caller holds the page, which is dirty, and stays there.
verbs::Task<bool> Pager::write_back(std::uint64_t page, std::uint32_t from, std::uint32_t to) {
  if (link_lost_) co_return false;
  from = from / options_.grain * options_.grain;
  to = (to + options_.grain - 1) / options_.grain * options_.grain;
  // Protected, or not: what is stored after it was copied differs from the twin, and is told the next time.
  if (mapping_->protects()) mapping_->protect(page);
  const Bytes now = buffer(1);
  mapping_->snapshot(page, now.get());
  const auto twin = twins_.find(page);
  WHARF_CHECK(twin != twins_.end());
  std::vector<ChangedRun> runs =
      changed_runs({now.get(), page_bytes_}, {twin->second.get(), page_bytes_}, from, to, options_.grain);
  std::memcpy(twin->second.get() + from, now.get() + from, to - from);
  if (mapping_->protects()) {
    if (std::memcmp(twin->second.get(), now.get(), page_bytes_) == 0) {
      twins_.erase(twin);
      table_.cleaned(page);
    } else {
      mapping_->allow(page);
    }
  }
  co_return co_await write_runs(now.get(), page, std::move(runs));
}

// The caller holds the page, which is dirty, and is absent afterwards. Changes in [forget_from, forget_to)
// are not written.
verbs::Task<bool> Pager::send_away(std::uint64_t page, std::uint32_t forget_from, std::uint32_t forget_to) {
  const Bytes now = buffer(1);
  mapping_->take(page, now.get());
  table_.leaves(page);
  const auto twin = twins_.extract(page);
  const std::span<const std::byte> bytes{now.get(), page_bytes_};
  const std::span<const std::byte> before{twin.mapped().get(), page_bytes_};
  const auto all = static_cast<std::uint32_t>(page_bytes_);
  std::memcpy(now.get() + forget_from, before.data() + forget_from, forget_to - forget_from);
  const bool arrived =
      co_await write_runs(now.get(), page, changed_runs(bytes, before, 0, all, options_.grain));
  if (table_.state(page) != PageState::kLost) table_.gone(page);
  co_return arrived;
}

verbs::Task<bool> Pager::write_runs(const std::byte* bytes, std::uint64_t page,
                                    std::vector<ChangedRun> runs) {
  Runs what{.bytes = bytes, .page = page, .runs = std::move(runs)};
  const std::size_t lanes = std::min(what.runs.size(), kWriteLanes);
  for (std::size_t each = 0; each < lanes; ++each) spawn(write_lane(what));
  for (std::size_t each = 0; each < lanes; ++each) co_await what.done.wait();
  if (what.failed) write_failed_ = true;
  co_return !what.failed;
}

verbs::Task<void> Pager::write_lane(Runs& runs) {
  while (runs.next < runs.runs.size() && !runs.failed) {
    const ChangedRun run = runs.runs[runs.next++];
    const std::uint64_t begin = runs.page * page_bytes_ + run.offset;
    // What lies behind the end of the last page goes nowhere.
    if (begin >= segment_.bytes) continue;
    const auto length =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(run.length, segment_.bytes - begin));
    ++counters_.writes;
    counters_.bytes_written += length;
    const bool arrived =
        !link_lost_ && co_await link_.write(runs.bytes + run.offset, segment_.offset + begin, length);
    if (!arrived) runs.failed = true;
  }
  runs.done.open();
}

// Calls.

void Pager::start(std::shared_ptr<ApertureCall> call) {
  if (unmapping_) {
    call->outcome = {ApertureStatus::kInput, "the aperture is unmapped"};
    call->finish();
    return;
  }
  if (call->kind == ApertureCall::Kind::kUnmap) unmapping_ = call;
  spawn(perform(std::move(call)));
}

std::uint32_t Pager::begin_in(const ApertureCall& call, std::uint64_t page) const {
  return static_cast<std::uint32_t>(std::max(call.from, page * page_bytes_) - page * page_bytes_);
}

std::uint32_t Pager::end_in(const ApertureCall& call, std::uint64_t page) const {
  return static_cast<std::uint32_t>(std::min(call.to, (page + 1) * page_bytes_) - page * page_bytes_);
}

std::uint64_t Pager::newly_kept(const ApertureCall& call) const {
  std::uint64_t count = 0;
  for (std::uint64_t page = call.from / page_bytes_; page * page_bytes_ < call.to; ++page)
    if (!table_.kept(page)) ++count;
  return count;
}

verbs::Task<void> Pager::perform(std::shared_ptr<ApertureCall> call) {
  using Kind = ApertureCall::Kind;
  bool good = true;
  bool writes = false;
  switch (call->kind) {
    case Kind::kPublish:
    case Kind::kRefresh:
    case Kind::kDiscard:
      writes = true;
      good = co_await walk(*call);
      break;
    case Kind::kPrefetch:
      prefetch(*call);
      break;
    case Kind::kRelease:
      for (std::uint64_t page = call->from / page_bytes_; page * page_bytes_ < call->to; ++page)
        table_.keep(page, false);
      break;
    case Kind::kFetch: {
      const std::uint64_t more = newly_kept(*call);
      // With faults, others must find room beside them.
      const std::uint64_t most = mapping_->faults() ? table_.limit() / 2 : table_.limit();
      if (table_.kept_pages() + promised_ + more > most) {
        call->outcome = {
            ApertureStatus::kInput,
            fmt::format("fetch: {} pages to be kept beside {}, expected {} in all at most: release "
                        "some, or map with more than {} pages",
                        more, table_.kept_pages() + promised_, most, table_.limit())};
        break;
      }
      promised_ += more;
      good = co_await walk(*call);
      promised_ -= more;
      break;
    }
    case Kind::kCount:
      break;
    case Kind::kUnmap:
      writes = options_.write_back != ApertureWriteBack::kOnPublish;
      if (writes) good = co_await walk(*call);
      break;
  }
  if (link_lost_ && call->kind != Kind::kCount && call->kind != Kind::kRelease) good = false;
  if ((writes && write_failed_) || !good) {
    call->outcome = {ApertureStatus::kStalled,
                     link_lost_ ? "the server is gone: what was not published is lost"
                     : writes   ? "the server did not take a change of this aperture: what was not published "
                                  "may be lost"
                                : "the server did not give the pages"};
  }
  counters_.pages_held = table_.held();
  counters_.most_pages_held = table_.most_held();
  call->counters = counters_;
  if (call == unmapping_) {
    unmapped_ = true;  // It ends when the range is gone.
    co_return;
  }
  if (call == periodic_) periodic_ = nullptr;
  call->finish();
}

verbs::Task<bool> Pager::walk(const ApertureCall& call) {
  Walk walk{.call = call, .next = call.from / page_bytes_, .end = (call.to + page_bytes_ - 1) / page_bytes_};
  for (std::uint64_t each = 0; each < kLanes; ++each) spawn(lane(walk));
  for (std::uint64_t each = 0; each < kLanes; ++each) co_await walk.done.wait();
  co_return !walk.failed;
}

verbs::Task<void> Pager::lane(Walk& walk) {
  const bool fetches = walk.call.kind == ApertureCall::Kind::kFetch;
  while (walk.next < walk.end) {
    const std::uint64_t page = walk.next;
    bool good = true;
    if (fetches) {
      walk.next = std::min(page + kChunkPages, walk.end);
      good = co_await fetch_chunk(walk.call, page, walk.next);
    } else {
      ++walk.next;
      // Most pages of a large aperture are of no interest.
      const PageState state = table_.state(page);
      if (!table_.busy(page) && (state == PageState::kAbsent || state == PageState::kLost)) continue;
      good = co_await visit(walk.call, page);
    }
    if (!good) walk.failed = true;
  }
  walk.done.open();
}

verbs::Task<bool> Pager::visit(const ApertureCall& call, std::uint64_t page) {
  co_await lock(page);
  const PageState state = table_.state(page);
  bool good = true;
  if (call.kind == ApertureCall::Kind::kRefresh || call.kind == ApertureCall::Kind::kDiscard) {
    const bool forget = call.kind == ApertureCall::Kind::kDiscard;
    if (link_lost_) {
      // What is there can still be read.
    } else if (state == PageState::kDirty) {
      good = co_await send_away(page, forget ? begin_in(call, page) : 0, forget ? end_in(call, page) : 0);
    } else if (state == PageState::kClean || state == PageState::kHeld) {
      drop(page);
    }
  } else if (state == PageState::kDirty) {
    good = co_await write_back(page, begin_in(call, page), end_in(call, page));
  }
  unlock(page);
  co_return good;
}

verbs::Task<bool> Pager::fetch_chunk(const ApertureCall& call, std::uint64_t page, std::uint64_t end) {
  bool good = true;
  while (page < end) {
    co_await lock(page);
    if (table_.state(page) == PageState::kAbsent && !link_lost_) {
      Fetch what{.first = page, .store = call.store, .keep = true};
      while (page + what.count < end && table_.state(page + what.count) == PageState::kAbsent &&
             table_.try_lock(page + what.count))
        ++what.count;
      page += what.count;
      const bool arrived = co_await fetch(what);
      good = good && arrived;
      continue;
    }
    if (table_.state(page) == PageState::kHeld) show_held(page, call.store);
    if (table_.there(page)) {
      if (call.store && table_.state(page) == PageState::kClean) allow_stores(page);
      table_.keep(page, true);
    } else {
      good = false;
    }
    unlock(page);
    ++page;
  }
  co_return good;
}

void Pager::prefetch(const ApertureCall& call) {
  const std::uint64_t end = (call.to + page_bytes_ - 1) / page_bytes_;
  for (std::uint64_t page = call.from / page_bytes_; page < end && !link_lost_;) {
    Fetch what{.first = page, .count = 0, .hold_all = !mapping_->faults()};
    while (what.count < kChunkPages && page + what.count < end &&
           table_.held() + what.count < table_.limit() &&
           table_.state(page + what.count) == PageState::kAbsent && table_.try_lock(page + what.count))
      ++what.count;
    page += what.count;
    if (what.count == 0) {
      ++page;
      continue;
    }
    spawn(fetch_ahead(what));
  }
}

}  // namespace wharf::live
