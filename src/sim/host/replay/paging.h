// SPDX-License-Identifier: Apache-2.0
// Paging far memory: a resident set of local page frames in LRU order, page faults with a kernel cost, pages
// read from and written back to the other machine, and a prefetch window. Knows no protocol: transfers go
// through a port.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/lru_index.h"
#include "base/result.h"
#include "base/time.h"

namespace wharf::sim {

/// A byte address divided by kPageBytes.
using PageNumber = std::uint64_t;
inline constexpr std::uint32_t kPageBytes = 4096;
inline constexpr unsigned kPageShift = 12;

/// How a fault brings in its window. In profiles, key paging.read.
enum class PageReadRule : std::uint8_t {
  /// "critical_page_first": the demanded page is a transfer of its own and the program goes on when it is
  /// there; the rest of
  /// the window follows in transfers of one page each, while the program runs.
  kCriticalPageFirst,
  /// "whole_window": one transfer of the whole window, and the program waits for all of it (OpenURMA 8.2).
  kWholeWindow,
};

/// What happens to a modified page that leaves. In profiles, key paging.write_back.
enum class PageWriteBackRule : std::uint8_t {
  kDirtyPages,  ///< "dirty_pages": written to the other machine, in the background.
  kNone,        ///< "none": dropped (OpenURMA 8.2 counts no write-back).
};

struct PagingConfig {
  TimePs fault_cost{};                  ///< Kernel time of a fault, before the transfer starts.
  std::uint32_t resident_pages = 4096;  ///< Local frames, pages on their way in included.
  std::uint32_t window_pages = 1;  ///< The demanded page and those after it; 1 is no prefetch. At most 64.
  PageReadRule read = PageReadRule::kCriticalPageFirst;
  PageWriteBackRule write_back = PageWriteBackRule::kDirtyPages;
  std::uint32_t outstanding_writes =
      32;  ///< Pages being written back at a time; a fault waits when it needs more.
};

/// Refuses what cannot work, naming the key: resident_pages at least twice the window, window 1 to 64,
/// outstanding_writes 1 to 4096, fault_cost not negative.
Result<void> validate_paging(const PagingConfig& config);

/// Moves pages. Each call starts one transfer at the instant `at`, which is not before the present of the
/// simulation but may lie after it; it returns at once and never calls back from inside. The answers are
/// Paging::read_done() and Paging::write_done() with the same id, in any order.
template <typename Port>
concept PageTransferPort = requires(Port& port, TimePs at, PageNumber page, std::uint32_t pages,
                                    std::uint32_t id) {
  { port.start_page_read(at, page, pages, id) } -> std::same_as<void>;
  { port.start_page_write(at, page, id) } -> std::same_as<void>;
};

struct PagingCounters {
  std::uint64_t hits = 0;            ///< Lookups that found the page resident.
  std::uint64_t faults = 0;          ///< Demanded pages that were not resident and not on their way.
  std::uint64_t prefetch_waits = 0;  ///< Demanded pages that were on their way as prefetches.
  std::uint64_t pages_read = 0;      ///< Pages moved in, prefetched ones included.
  std::uint64_t pages_prefetched = 0;
  std::uint64_t prefetches_used = 0;  ///< Prefetched pages that were demanded before they left.
  std::uint64_t evictions = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t reclaimed = 0;  ///< Faults on a page whose write-back was still under way: no transfer.
};

/// The pager of one core. A fault is a trap, so at most one access waits.
///
/// Choices: every far page starts on the other machine; recency is what lookup() sees (the replay looks up at
/// cache misses); prefetched pages are mapped when they arrive; a demanded page that is already on its way
/// costs a trap in parallel with the rest of its journey; frames for a window are taken when its transfers
/// start.
template <PageTransferPort Port>
class Paging {
 public:
  /// What a lookup came to.
  struct Lookup {
    bool resident = false;
    /// When resident: the instant from which the page can be used (the lookup's own, or later when a fault
    /// was taken and needed no transfer).
    TimePs usable;
  };

  /// `config` must pass validate_paging(). `port` outlives the pager.
  Paging(const PagingConfig& config, Port& port)
      : config_(config), port_(port), resident_(config.resident_pages), frames_(config.resident_pages) {
    WHARF_CHECK(validate_paging(config).ok());
    incoming_.reserve(std::size_t{2} * config.window_pages);
    writes_.reserve(config.outstanding_writes);
  }

  /// The program uses `page` at the instant `at` (not before the simulation's present), while no access
  /// waits. When it is not resident the program has to wait until waiting() is false and then goes on at
  /// resume_at(). drop_lines(page) removes a page's lines from the processor's caches before the page leaves
  /// and says whether one was dirty.
  template <typename DropLines>
  Lookup lookup(TimePs at, PageNumber page, bool store, DropLines&& drop_lines) {
    WHARF_CHECK(!waiting_);
    const std::uint32_t frame = resident_.touch(page);
    if (frame != kNoSlot) {
      ++counters_.hits;
      use_frame(frame, store);
      return {true, at};
    }
    demanded_ = page;
    demanded_by_store_ = store;
    waiting_ = true;
    resume_at_ = at + config_.fault_cost;
    if (is_incoming(page)) {
      ++counters_.prefetch_waits;
      return {};
    }
    ++counters_.faults;
    fault_blocked_ = true;
    start_fault(drop_lines);
    return waiting_ ? Lookup{} : Lookup{true, resume_at_};
  }

  /// The transfer `id` has brought its pages.
  template <typename DropLines>
  void read_done(TimePs now, std::uint32_t id, DropLines&& drop_lines) {
    const auto mine = [id](const Incoming& incoming) { return incoming.transfer == id; };
    WHARF_CHECK(std::any_of(incoming_.begin(), incoming_.end(), mine));
    // The demanded page last: it is the most recent one.
    for (const bool demanded : {false, true}) {
      for (const Incoming& incoming : incoming_) {
        if (incoming.transfer != id || (incoming.page == demanded_ && waiting_) != demanded) continue;
        const LruIndex::Insertion insertion = resident_.insert(incoming.page);
        WHARF_CHECK(!insertion.evicted);
        frames_[insertion.slot] = Frame{false, incoming.prefetch};
        ++counters_.pages_read;
        if (demanded) arrive(now, insertion.slot);
      }
    }
    std::erase_if(incoming_, mine);
    retry_fault(now, drop_lines);
  }

  /// The write-back `id` is done.
  template <typename DropLines>
  void write_done(TimePs now, std::uint32_t id, DropLines&& drop_lines) {
    const auto at =
        std::find_if(writes_.begin(), writes_.end(), [id](const Write& write) { return write.id == id; });
    WHARF_CHECK(at != writes_.end());
    writes_.erase(at);
    retry_fault(now, drop_lines);
  }

  /// A line of `page` was written to memory. A far page is resident then, since its lines leave the caches
  /// before it does; a page that was local when the line was cached is not, and nothing happens.
  void mark_dirty(PageNumber page) {
    const std::uint32_t frame = resident_.find(page);
    if (frame != kNoSlot) frames_[frame].dirty = true;
  }

  /// Whether the program waits for a page.
  bool waiting() const { return waiting_; }
  /// After a wait: the instant at which the program goes on.
  TimePs resume_at() const { return resume_at_; }
  /// Transfers not yet answered.
  std::size_t outstanding() const { return incoming_.size() + writes_.size(); }
  bool is_resident(PageNumber page) const { return resident_.find(page) != kNoSlot; }

  const PagingCounters& counters() const { return counters_; }
  void reset_counters() { counters_ = PagingCounters{}; }

 private:
  struct Frame {
    bool dirty = false;
    bool unused_prefetch = false;
  };
  struct Incoming {
    PageNumber page = 0;
    std::uint32_t transfer = 0;
    bool prefetch = false;
  };
  struct Write {
    PageNumber page = 0;
    std::uint32_t id = 0;
  };

  bool is_incoming(PageNumber page) const {
    return std::any_of(incoming_.begin(), incoming_.end(),
                       [page](const Incoming& in) { return in.page == page; });
  }
  bool is_being_written(PageNumber page) const {
    return std::any_of(writes_.begin(), writes_.end(),
                       [page](const Write& write) { return write.page == page; });
  }

  void use_frame(std::uint32_t frame, bool store) {
    Frame& used = frames_[frame];
    if (used.unused_prefetch) ++counters_.prefetches_used;
    used.unused_prefetch = false;
    used.dirty |= store;
  }

  /// The demanded page is in `frame` at `now`.
  void arrive(TimePs now, std::uint32_t frame) {
    use_frame(frame, demanded_by_store_);
    resume_at_ = max(resume_at_, now);
    waiting_ = false;
  }

  template <typename DropLines>
  void retry_fault(TimePs now, DropLines&& drop_lines) {
    if (!fault_blocked_) return;
    resume_at_ = max(resume_at_, now);
    start_fault(drop_lines);
  }

  /// Takes frames for the fault and starts its transfers, unless it has to wait for a transfer to end first.
  template <typename DropLines>
  void start_fault(DropLines&& drop_lines) {
    if (!free_frame(drop_lines)) return;
    if (is_being_written(demanded_)) {
      ++counters_.reclaimed;
      fault_blocked_ = false;
      const LruIndex::Insertion insertion = resident_.insert(demanded_);
      frames_[insertion.slot] = Frame{};
      arrive(resume_at_, insertion.slot);
      return;
    }
    if (config_.read == PageReadRule::kWholeWindow) {
      start_whole_window(drop_lines);
      return;
    }
    fault_blocked_ = false;
    start_read(demanded_, 1, false);
    for (std::uint32_t i = 1; i < config_.window_pages; ++i) {
      const PageNumber page = demanded_ + i;
      if (!is_absent(page)) continue;
      // A prefetch is not worth waiting for a write-back.
      if (!free_frame(drop_lines)) break;
      start_read(page, 1, true);
    }
  }

  /// All pages of the window that are absent travel in one transfer, which moves the whole window.
  template <typename DropLines>
  void start_whole_window(DropLines&& drop_lines) {
    std::uint32_t absent = 0;
    for (std::uint32_t i = 0; i < config_.window_pages; ++i) absent += is_absent(demanded_ + i) ? 1U : 0U;
    if (!free_frames(absent, drop_lines)) return;
    fault_blocked_ = false;
    // Freeing frames may have evicted pages of the window itself; they stay out.
    const std::uint32_t id = next_id_++;
    std::uint32_t taken = 0;
    for (std::uint32_t i = 0; i < config_.window_pages && taken < absent; ++i) {
      if (!is_absent(demanded_ + i)) continue;
      incoming_.push_back({demanded_ + i, id, i > 0});
      ++taken;
    }
    counters_.pages_prefetched += taken - 1;
    port_.start_page_read(resume_at_, demanded_, config_.window_pages, id);
  }

  bool is_absent(PageNumber page) const {
    return resident_.find(page) == kNoSlot && !is_incoming(page) && !is_being_written(page);
  }

  void start_read(PageNumber page, std::uint32_t pages, bool prefetch) {
    const std::uint32_t id = next_id_++;
    incoming_.push_back({page, id, prefetch});
    if (prefetch) ++counters_.pages_prefetched;
    port_.start_page_read(resume_at_, page, pages, id);
  }

  template <typename DropLines>
  bool free_frame(DropLines&& drop_lines) {
    return free_frames(1, drop_lines);
  }

  /// Evicts until `count` frames are free; false when that has to wait for a transfer to end.
  template <typename DropLines>
  bool free_frames(std::uint32_t count, DropLines&& drop_lines) {
    while (resident_.size() + incoming_.size() + count > config_.resident_pages) {
      // Every frame is awaiting a prefetched page.
      if (resident_.size() == 0) return false;
      const PageNumber victim = resident_.oldest_key();
      const std::uint32_t frame = resident_.find(victim);
      frames_[frame].dirty |= drop_lines(victim);
      if (frames_[frame].dirty && config_.write_back == PageWriteBackRule::kDirtyPages) {
        // Two writes of one page must not overtake each other.
        if (writes_.size() == config_.outstanding_writes || is_being_written(victim)) return false;
        writes_.push_back({victim, next_id_});
        ++counters_.pages_written;
        port_.start_page_write(resume_at_, victim, next_id_++);
      }
      ++counters_.evictions;
      resident_.erase(victim);
    }
    return true;
  }

  PagingConfig config_;
  Port& port_;
  LruIndex resident_;
  std::vector<Frame> frames_;  ///< By slot of resident_.
  std::vector<Incoming> incoming_;
  std::vector<Write> writes_;
  std::uint32_t next_id_ = 0;

  // The access that waits, if any.
  bool waiting_ = false;
  bool fault_blocked_ = false;  ///< Its transfer could not start yet.
  bool demanded_by_store_ = false;
  PageNumber demanded_ = 0;
  TimePs resume_at_;

  PagingCounters counters_;
};

}  // namespace wharf::sim
