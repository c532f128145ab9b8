// SPDX-License-Identifier: Apache-2.0
// What a pager does for calls, and how changes go: by publishing and when a page leaves.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "live/aperture/pager.h"

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

// Changes.

// The caller holds the page, which is dirty, and stays there.
verbs::Task<Pager::Fate> Pager::write_back(std::uint64_t page, std::uint32_t from, std::uint32_t to) {
  if (link_lost_) co_return Fate::kFailed;
  from = from / options_.grain * options_.grain;
  to = (to + options_.grain - 1) / options_.grain * options_.grain;
  // Protected, or not: what is stored after it was copied differs from the twin, and is told the next time.
  // Nothing shall stop stores to a page that is kept for them, not even in the kernel.
  const Bytes now = buffer(1);
  bool told = mapping_->protects() && !table_.kept_for_stores(page);
  if (told) told = mapping_->protect(page);
  mapping_->snapshot(page, now.get());
  const auto twin = twins_.find(page);
  WHARF_CHECK(twin != twins_.end());
  std::vector<ChangedRun> runs =
      changed_runs({now.get(), page_bytes_}, {twin->second.get(), page_bytes_}, from, to, options_.grain);
  std::memcpy(twin->second.get() + from, now.get() + from, to - from);
  if (told) {
    if (std::memcmp(twin->second.get(), now.get(), page_bytes_) == 0) {
      twins_.erase(twin);
      table_.cleaned(page);
    } else {
      // Where the kernel refuses, the next store asks for it again.
      static_cast<void>(mapping_->allow(page));
    }
  }
  co_return co_await write_runs(now.get(), page, std::move(runs));
}

// The caller holds the page, which is dirty, and is absent afterwards, unless the kernel refuses. Changes in
// [forget_from, forget_to) are not written.
verbs::Task<Pager::Fate> Pager::send_away(std::uint64_t page, std::uint32_t forget_from,
                                          std::uint32_t forget_to) {
  const Bytes now = buffer(1);
  if (refused(mapping_->take(page, now.get()))) co_return Fate::kRefused;
  table_.leaves(page);
  const auto twin = twins_.extract(page);
  const std::span<const std::byte> bytes{now.get(), page_bytes_};
  const std::span<const std::byte> before{twin.mapped().get(), page_bytes_};
  const auto all = static_cast<std::uint32_t>(page_bytes_);
  std::memcpy(now.get() + forget_from, before.data() + forget_from, forget_to - forget_from);
  const Fate fate = co_await write_runs(now.get(), page, changed_runs(bytes, before, 0, all, options_.grain));
  if (table_.state(page) != PageState::kLost) table_.gone(page);
  co_return fate;
}

verbs::Task<Pager::Fate> Pager::write_runs(const std::byte* bytes, std::uint64_t page,
                                           std::vector<ChangedRun> runs) {
  Runs what{.bytes = bytes, .page = page, .runs = std::move(runs)};
  const std::size_t lanes = std::min(what.runs.size(), kWriteLanes);
  for (std::size_t each = 0; each < lanes; ++each) spawn(write_lane(what));
  for (std::size_t each = 0; each < lanes; ++each) co_await what.done.wait();
  if (what.failed) write_failed_ = true;
  co_return what.failed ? Fate::kFailed : Fate::kDone;
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
  Fate fate = Fate::kDone;
  bool writes = false;
  switch (call->kind) {
    case Kind::kPublish:
    case Kind::kRefresh:
    case Kind::kDiscard:
      writes = true;
      fate = co_await walk(*call);
      break;
    case Kind::kPrefetch: {
      const auto way =
          std::make_shared<Prefetch>(call->from / page_bytes_, (call->to + page_bytes_ - 1) / page_bytes_);
      for (std::uint64_t each = 0; each < kLanes; ++each) spawn(prefetch(way));
      break;
    }
    case Kind::kRelease:
      for (std::uint64_t page = call->from / page_bytes_; page * page_bytes_ < call->to; ++page)
        table_.release(page);
      break;
    case Kind::kFetch:
      fate = co_await keep_pages(*call);
      break;
    case Kind::kCount:
      break;
    case Kind::kUnmap:
      writes = options_.write_back != ApertureWriteBack::kOnPublish;
      if (writes) fate = co_await walk(*call);
      break;
  }
  judge(*call, writes, fate);
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

verbs::Task<Pager::Fate> Pager::keep_pages(ApertureCall& call) {
  const std::uint64_t more = newly_kept(call);
  // With faults, others must find room beside them.
  const std::uint64_t most = mapping_->faults() ? table_.limit() / 2 : table_.limit();
  if (table_.kept_pages() + promised_ + more > most) {
    call.outcome = {ApertureStatus::kInput,
                    fmt::format("fetch: {} pages to be kept beside {}, expected {} in all at most: release "
                                "some, or map with more than {} pages",
                                more, table_.kept_pages() + promised_, most, table_.limit())};
    co_return Fate::kDone;
  }
  promised_ += more;
  const Fate fate = co_await walk(call);
  promised_ -= more;
  co_return fate;
}

void Pager::judge(ApertureCall& call, bool writes, Fate fate) const {
  using Kind = ApertureCall::Kind;
  if (link_lost_ && call.kind != Kind::kCount && call.kind != Kind::kRelease) fate = Fate::kFailed;
  if (writes && write_failed_) fate = Fate::kFailed;
  if (fate == Fate::kFailed) {
    call.outcome = {ApertureStatus::kStalled,
                    link_lost_ ? "the server is gone: what was not published is lost"
                    : writes   ? "the server did not take a change of this aperture: what was not published "
                                 "may be lost"
                               : "the server did not give the pages"};
  } else if (fate == Fate::kRefused) {
    call.outcome = {
        ApertureStatus::kEnvironment,
        fmt::format("the kernel {}: {}",
                    writes ? "does not let a page go, which stays as it is" : "gives no place for a page",
                    refusal_)};
  }
}

verbs::Task<Pager::Fate> Pager::walk(const ApertureCall& call) {
  Walk walk{.call = call, .next = call.from / page_bytes_, .end = (call.to + page_bytes_ - 1) / page_bytes_};
  for (std::uint64_t each = 0; each < kLanes; ++each) spawn(lane(walk));
  for (std::uint64_t each = 0; each < kLanes; ++each) co_await walk.done.wait();
  co_return walk.worst;
}

verbs::Task<void> Pager::lane(Walk& walk) {
  const bool fetches = walk.call.kind == ApertureCall::Kind::kFetch;
  while (walk.next < walk.end) {
    const std::uint64_t page = walk.next;
    Fate fate = Fate::kDone;
    if (fetches) {
      walk.next = std::min(page + kChunkPages, walk.end);
      fate = co_await fetch_chunk(walk.call, page, walk.next);
    } else {
      ++walk.next;
      // Most pages of a large aperture are of no interest.
      const PageState state = table_.state(page);
      if (!table_.busy(page) && (state == PageState::kAbsent || state == PageState::kLost)) continue;
      fate = co_await visit(walk.call, page);
    }
    walk.worst = std::max(walk.worst, fate);
  }
  walk.done.open();
}

verbs::Task<Pager::Fate> Pager::visit(const ApertureCall& call, std::uint64_t page) {
  co_await lock(page);
  const PageState state = table_.state(page);
  Fate fate = Fate::kDone;
  if (call.kind == ApertureCall::Kind::kRefresh || call.kind == ApertureCall::Kind::kDiscard) {
    const bool forget = call.kind == ApertureCall::Kind::kDiscard;
    if (link_lost_) {
      // What is there can still be read.
    } else if (state == PageState::kDirty) {
      fate = co_await send_away(page, forget ? begin_in(call, page) : 0, forget ? end_in(call, page) : 0);
    } else if (state == PageState::kClean || state == PageState::kHeld) {
      fate = drop(page);
    }
  } else if (state == PageState::kDirty) {
    fate = co_await write_back(page, begin_in(call, page), end_in(call, page));
  }
  unlock(page);
  co_return fate;
}

verbs::Task<Pager::Fate> Pager::fetch_chunk(const ApertureCall& call, std::uint64_t page, std::uint64_t end) {
  Fate fate = Fate::kDone;
  while (page < end) {
    co_await lock(page);
    if (table_.state(page) == PageState::kAbsent && !link_lost_) {
      Fetch what{.first = page, .store = call.store, .keep = true};
      while (page + what.count < end && table_.state(page + what.count) == PageState::kAbsent &&
             table_.try_lock(page + what.count))
        ++what.count;
      page += what.count;
      fate = std::max(fate, co_await fetch(what));
      continue;
    }
    fate = std::max(fate, keep(page, call.store));
    unlock(page);
    ++page;
  }
  co_return fate;
}

// The caller holds it.
Pager::Fate Pager::keep(std::uint64_t page, bool store) {
  if (table_.state(page) == PageState::kHeld && !show_held(page, store)) return Fate::kRefused;
  if (!table_.there(page)) return Fate::kFailed;
  if (store && table_.state(page) == PageState::kClean && !allow_stores(page)) return Fate::kRefused;
  table_.keep(page, store);
  return Fate::kDone;
}

verbs::Task<void> Pager::prefetch(std::shared_ptr<Prefetch> way) {
  while (way->next < way->end && !link_lost_ && !unmapping_) {
    Fetch what{.first = way->next, .count = 0, .hold_all = !mapping_->faults()};
    while (what.count < kChunkPages && way->next < way->end && table_.held() + what.count < table_.limit() &&
           table_.state(way->next) == PageState::kAbsent && table_.try_lock(way->next)) {
      ++what.count;
      ++way->next;
    }
    if (what.count == 0) {
      ++way->next;
      continue;
    }
    co_await fetch_ahead(what);
  }
}

}  // namespace wharf::live
