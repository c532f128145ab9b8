// SPDX-License-Identifier: Apache-2.0
// Moves the pages of one aperture: serves its faults and its calls as coroutines of the session's thread. One
// at a time works on a page and holds it meanwhile; what each page needs is the page table's to say.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "live/aperture/aperture.h"
#include "live/aperture/changed_bytes.h"
#include "live/aperture/mapping.h"
#include "live/aperture/page_table.h"
#include "live/aperture/read_ahead.h"
#include "verbs/gate.h"
#include "verbs/task.h"

namespace wharf::live {

/// The server's memory, as a pager reaches it.
class PageLink {
 public:
  virtual ~PageLink() = default;
  /// Offsets are of the session's memory. False: the bytes did not come, or may not have arrived.
  virtual verbs::Task<bool> read(std::byte* into, std::uint64_t offset, std::uint32_t bytes) = 0;
  virtual verbs::Task<bool> write(const std::byte* from, std::uint64_t offset, std::uint32_t bytes) = 0;
};

/// A call of the program that the session's thread performs. Whoever calls waits for the end of it.
struct ApertureCall {
  enum class Kind : std::uint8_t {
    kPublish,
    kRefresh,
    kDiscard,
    kPrefetch,
    kFetch,
    kRelease,
    kCount,
    kUnmap,
  };
  Kind kind = Kind::kPublish;
  std::uint64_t from = 0;  ///< Bytes of the aperture.
  std::uint64_t to = 0;
  bool store = false;

  ApertureOutcome outcome{};
  ApertureCounters counters{};

  void finish();
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
};

class Pager {
 public:
  /// `link` outlives the pager. Made on any thread, used by one.
  Pager(PageLink& link, std::unique_ptr<Mapping> mapping, const ApertureSegment& segment,
        const ApertureOptions& options);
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  const Mapping& mapping() const { return *mapping_; }
  /// Takes the accesses that wait, and goes on with what can go on. True if anything happened.
  bool step(TimePs now);
  /// step() has something to do.
  bool can_go_on() const { return !ready_.empty(); }
  /// When step() is needed though nothing happens.
  TimePs deadline() const { return later_.empty() ? next_write_back_ : min(next_write_back_, try_again_); }
  void start(std::shared_ptr<ApertureCall> call);
  /// The server is gone: whoever waits for a page is told now, and whoever comes later.
  void link_lost();
  /// kUnmap was asked for, and nothing is under way any more: the pager can be destroyed, then `call` ends.
  bool ended() const { return unmapping_ != nullptr && unmapped_ && tasks_.empty(); }
  const std::shared_ptr<ApertureCall>& unmapping() const { return unmapping_; }

 private:
  /// What became of a page. The worst of several is the greatest.
  enum class Fate : std::uint8_t {
    kDone,
    kRefused,  ///< By the kernel, `refusal_` says how: the page is as it was.
    kFailed,   ///< By the server, or it is gone.
  };
  struct Locked {
    Pager& pager;
    std::uint64_t page;
    bool await_ready() const { return pager.table_.try_lock(page); }
    void await_suspend(std::coroutine_handle<> handle) { pager.waiting_[page].push_back(handle); }
    void await_resume() const {}
  };
  struct Changed {
    Pager& pager;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { pager.waiting_for_room_.push_back(handle); }
    void await_resume() const {}
  };
  /// Pages whose fetch is one READ.
  struct Fetch {
    std::uint64_t first = 0;
    std::uint64_t count = 1;
    bool store = false;  ///< The first of them is wanted for a store; with `keep`, all.
    bool keep = false;
    bool demanded = false;    ///< Somebody waits for it.
    bool hold_first = false;  ///< Out of the program's sight until it is asked for.
    bool hold_all = false;
  };
  /// One call's way over its pages, on several lanes.
  struct Walk {
    const ApertureCall& call;
    std::uint64_t next;  ///< Pages.
    std::uint64_t end;
    Fate worst = Fate::kDone;
    verbs::Gate done{};
  };
  /// One prefetch's way, the same.
  struct Prefetch {
    std::uint64_t next;
    std::uint64_t end;
  };
  /// The WRITEs of one page.
  struct Runs {
    const std::byte* bytes;
    std::uint64_t page;
    std::vector<ChangedRun> runs;
    std::size_t next = 0;
    bool failed = false;
    verbs::Gate done{};
  };
  using Bytes = std::unique_ptr<std::byte[]>;

  Locked lock(std::uint64_t page) { return {*this, page}; }
  void unlock(std::uint64_t page);
  void room_may_have_come();
  void spawn(verbs::Task<void> task);
  Bytes buffer(std::uint64_t pages) const { return Bytes(new std::byte[pages * page_bytes_]); }
  Bytes copy_of(const std::byte* page) const;

  void serve(const Mapping::Fault& fault);
  void read_ahead(std::uint64_t page);
  verbs::Task<void> demand(std::uint64_t page, bool store);
  verbs::Task<Fate> fetch(Fetch what);
  verbs::Task<void> fetch_ahead(Fetch what);
  verbs::Task<void> make_room();
  Fate settle(const Fetch& what, const std::byte* bytes, bool arrived);
  void does_not_come(std::uint64_t page, bool demanded);
  PageState state_when_there(bool store) const;
  bool show(std::uint64_t page, std::uint64_t count, const std::byte* bytes, PageState as);
  bool show_held(std::uint64_t page, bool store);
  void show_held_or_lose(std::uint64_t page, bool store);
  bool allow_stores(std::uint64_t page);
  void allow_stores_or_wait(std::uint64_t page);
  bool lose(std::uint64_t page);
  void try_later(std::uint64_t page);
  Fate drop(std::uint64_t page);
  bool refused(const Result<void>& outcome);

  verbs::Task<Fate> write_back(std::uint64_t page, std::uint32_t from, std::uint32_t to);
  verbs::Task<Fate> send_away(std::uint64_t page, std::uint32_t forget_from, std::uint32_t forget_to);
  verbs::Task<Fate> write_runs(const std::byte* bytes, std::uint64_t page, std::vector<ChangedRun> runs);
  verbs::Task<void> write_lane(Runs& runs);

  verbs::Task<void> perform(std::shared_ptr<ApertureCall> call);
  verbs::Task<Fate> keep_pages(ApertureCall& call);
  void judge(ApertureCall& call, bool writes, Fate fate) const;
  verbs::Task<Fate> walk(const ApertureCall& call);
  verbs::Task<void> lane(Walk& walk);
  verbs::Task<Fate> visit(const ApertureCall& call, std::uint64_t page);
  verbs::Task<Fate> fetch_chunk(const ApertureCall& call, std::uint64_t page, std::uint64_t end);
  Fate keep(std::uint64_t page, bool store);
  verbs::Task<void> prefetch(std::shared_ptr<Prefetch> way);
  std::uint64_t newly_kept(const ApertureCall& call) const;
  std::uint32_t begin_in(const ApertureCall& call, std::uint64_t page) const;
  std::uint32_t end_in(const ApertureCall& call, std::uint64_t page) const;

  PageLink& link_;
  std::unique_ptr<Mapping> mapping_;
  ApertureSegment segment_;
  ApertureOptions options_;
  std::uint64_t page_bytes_;
  PageTable table_;
  ReadAhead ahead_;
  ApertureCounters counters_;
  std::unordered_map<std::uint64_t, Bytes> twins_;  ///< Of dirty pages: what their changes are told by.
  std::unordered_map<std::uint64_t, Bytes> held_;
  std::unordered_map<std::uint64_t, std::deque<std::coroutine_handle<>>> waiting_;  ///< For pages.
  std::vector<std::coroutine_handle<>> waiting_for_room_;
  std::deque<std::coroutine_handle<>> ready_;
  std::list<verbs::Task<void>> tasks_;
  std::uint64_t promised_ = 0;        ///< Pages that calls under way will keep.
  std::vector<std::uint64_t> later_;  ///< Pages for whose accesses the kernel had no answer.
  TimePs now_;
  TimePs try_again_ = kNever;
  std::string refusal_;  ///< The kernel's latest.
  bool link_lost_ = false;
  bool write_failed_ = false;               ///< Changes may not have arrived. Stays.
  std::shared_ptr<ApertureCall> periodic_;  ///< A periodic write-back under way.
  TimePs next_write_back_ = kNever;
  std::shared_ptr<ApertureCall> unmapping_;
  bool unmapped_ = false;
};

}  // namespace wharf::live
