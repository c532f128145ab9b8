// SPDX-License-Identifier: Apache-2.0
// Replays a recorded memory trace on one simulated core: hits are taken in a tight loop on a clock of its
// own, and only what leaves for the other machine meets the simulation's events.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/line.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/miss_slots.h"
#include "sim/host/replay/all_local_twin.h"
#include "sim/host/replay/memory_placement.h"
#include "sim/host/replay/paging.h"
#include "sim/host/replay/trace_reader.h"
#include "sim/host/replay/trace_replay_config.h"

namespace wharf::sim {

/// One core that replays one trace. A sans-I/O machine: the host that owns it
///   1. calls advance(now) once, and again whenever the simulation reaches deadline();
///   2. passes on each answer of the port: load_done(), store_done(), page_read_done(), page_write_done();
///   3. reads deadline() after each of these calls (kNever: only an answer can bring it on), until
///   finished().
/// Between two misses that leave the machine there is no event, however many hits lie between; the core's
/// clock runs ahead of the simulation and the port is told the instant at which each access starts. Every
/// kAccessesPerAdvance accesses it asks to be called again, so that a caller sees progress.
///
/// Choices: write-through and uncached stores are posted, and cost the core a write slot only; a line's place
/// in the caches is taken when its miss is sent; an access to a line under way waits for it; a line that is
/// being written back is fetched again only after the write is done; instruction fetches cost no memory time;
/// `Port` has RemoteLineMemory, PageTransferPort, or both, and `config.paging` says which is used.
template <typename Port>
class TraceReplay {
  static_assert(RemoteLineMemory<Port> || PageTransferPort<Port>);

 public:
  static constexpr std::uint64_t kAccessesPerAdvance = std::uint64_t{1} << 20U;

  /// `port` outlives the replay. `local_rate` is that of the channels of local memory, 0 unlimited: lines
  /// that miss and dirty lines that leave share it. Refuses configurations that cannot work, naming the key.
  static Result<TraceReplay> create(const TraceReplayConfig& config, MemoryPlacement placement,
                                    TraceReader reader, Port& port, BitsPerSecond local_rate = {}) {
    WHARF_TRY(validate_trace_replay(config));
    WHARF_CHECK(config.paging.has_value() ? PageTransferPort<Port> : RemoteLineMemory<Port>);
    Result<CacheHierarchy> caches = CacheHierarchy::create(config.cache);
    if (!caches) return caches.error();
    return TraceReplay(config, std::move(placement), std::move(reader), *std::move(caches), port, local_rate);
  }

  /// Goes on as far as possible without an answer that is still out. Early calls are harmless.
  void advance(TimePs now) {
    now_ = now;
    budget_ = kAccessesPerAdvance;
    run();
  }
  /// A load that start_load() began is done.
  void load_done(TimePs now, std::uint32_t id) {
    misses_[id].done = now;
    resume(now);
  }
  /// A store that start_store() began is done.
  void store_done(TimePs now, std::uint32_t id) {
    WHARF_CHECK(id < writes_.size() && writes_[id].used);
    writes_[id].used = false;
    --writes_used_;
    last_write_done_ = max(last_write_done_, now);
    resume(now);
  }
  void page_read_done(TimePs now, std::uint32_t id) requires PageTransferPort<Port> {
    paging_->read_done(now, id, drop_lines());
    resume(now);
  }
  void page_write_done(TimePs now, std::uint32_t id) requires PageTransferPort<Port> {
    paging_->write_done(now, id, drop_lines());
    last_write_done_ = max(last_write_done_, now);
    resume(now);
  }

  /// When advance() is wanted next; kNever when only an answer can bring the replay on, and when it has
  /// finished.
  TimePs deadline() const { return deadline_; }
  /// The trace has been replayed and everything it started is done, or reading it failed.
  bool finished() const { return state_ == State::kFinished; }
  /// Why the replay has no result, if it has none: the trace could not be read, or the warm-up took all of
  /// it.
  const Result<void>& status() const { return status_; }
  /// What was counted: final when finished(), before that as of the last collect().
  const ReplayResult& result() const { return result_; }
  /// Brings result() up to date in the middle of a replay, for partial results. Misses under way are not in
  /// it.
  void collect() {
    result_.counts = {counts_[0], counts_[1], counts_[2], instructions_ - counted_instructions_from_};
    result_.cache = caches_.counters();
    result_.split_accesses = split_accesses_;
    result_.local_misses = local_misses_;
    result_.remote_loads = remote_loads_;
    result_.remote_stores = remote_stores_;
    if constexpr (PageTransferPort<Port>) {
      if (paged()) result_.paging = paging_->counters();
    }
    result_.time = clock_ - counted_from_;
    result_.all_local_time = twin_.clock(busy()) - twin_counted_from_;
  }
  /// Appends one sentence for each answer that is still out.
  void describe_waiting(std::vector<std::string>& lines) const {
    for (const MissSlots::Slot& slot : misses_.all()) {
      if (!slot.used || slot.done != kNever) continue;
      lines.push_back(fmt::format("access {} of the trace waits for line {:#x}, missed at {}", accesses_,
                                  slot.line << kLineShift, format_time(slot.started)));
    }
    for (const Write& write : writes_) {
      if (!write.used) continue;
      lines.push_back(fmt::format("line {:#x} is being written", write.line << kLineShift));
    }
    if constexpr (PageTransferPort<Port>) {
      if (paged() && paging_->outstanding() > 0) {
        lines.push_back(fmt::format("{} page transfers are under way", paging_->outstanding()));
      }
    }
  }
  /// Data accesses replayed so far, warm-up included: for progress.
  std::uint64_t accesses_replayed() const { return accesses_; }
  /// The core's own clock.
  TimePs core_time() const { return clock_; }

 private:
  enum class State : std::uint8_t { kRunning, kDraining, kFinished };
  /// What one line of an access came to.
  enum class Progress : std::uint8_t { kDone, kWait };
  struct Write {
    LineNumber line = 0;
    bool used = false;
  };
  struct NoPaging {
    void reset_counters() {}
  };
  template <typename P>
  struct PagingFor {
    using type = NoPaging;
  };
  template <PageTransferPort P>
  struct PagingFor<P> {
    using type = Paging<P>;
  };

  static constexpr std::size_t kBatchRecords = 4096;
  /// Time per instruction counts in 2^-16 ps, and is less than 2^32 of them (validate_trace_replay()), so
  /// that it can be multiplied by any record's instructions.
  static constexpr unsigned kFractionBits = 16;

  TraceReplay(const TraceReplayConfig& config, MemoryPlacement placement, TraceReader reader,
              CacheHierarchy caches, Port& port, BitsPerSecond local_rate)
      : config_(config),
        placement_(std::move(placement)),
        reader_(std::move(reader)),
        caches_(std::move(caches)),
        port_(&port),
        misses_(config.miss_slots),
        memory_({.load_latency = config.local_memory, .rate = local_rate}, StageRounding::kNone),
        twin_(config.miss_slots, memory_),
        writes_(config.write_slots),
        batch_(kBatchRecords),
        counting_(config.warm_up_accesses == 0) {
    const auto per_instruction = static_cast<unsigned __int128>(config.cycles_per_1000_instructions) *
                                 (1'000'000'000ULL << kFractionBits) / config.core_hertz;
    instruction_time_ = static_cast<std::uint64_t>(per_instruction);
    if constexpr (PageTransferPort<Port>) {
      if (config.paging) paging_.emplace(*config.paging, port);
    }
    const TimePs hit = caches_.latency(CacheLevel::kL1);
    const bool stores_block = config.overlap == MissOverlap::kNone;
    hit_time_ = {hit, stores_block ? hit : kTimeZero, hit, kTimeZero};
  }

  void resume(TimePs now) {
    now_ = now;
    budget_ = kAccessesPerAdvance;
    if (waiting_) run();
  }

  void run() {
    waiting_ = false;
    deadline_ = kNever;
    while (state_ == State::kRunning) {
      if (next_ == batch_end_ && !next_batch()) break;
      if (budget_ == 0) {
        deadline_ = clock_;
        return;
      }
      if (!replay_batch()) {
        waiting_ = true;
        return;
      }
    }
    if (state_ == State::kDraining) drain();
  }

  /// False at the end of the trace.
  bool next_batch() {
    const Result<std::size_t> got = reader_.read(batch_);
    if (!got) {
      status_ = got.error();
      state_ = State::kFinished;
      return false;
    }
    next_ = 0;
    batch_end_ = *got;
    if (*got == 0) state_ = State::kDraining;
    return *got != 0;
  }

  /// Replays records of the batch until it ends, the budget is spent or the warm-up ends; false when the core
  /// waits.
  bool replay_batch() {
    std::size_t count = std::min<std::size_t>(batch_end_ - next_, budget_);
    if (!counting_) count = std::min<std::size_t>(count, config_.warm_up_accesses - accesses_);
    std::size_t at = next_;
    const std::size_t end = at + count;
    // What the loop changes for nearly every access stays in registers.
    TimePs clock = clock_;
    std::uint64_t fraction = fraction_;
    std::uint64_t instructions = instructions_;
    const std::uint64_t without_access = counts_[static_cast<std::size_t>(TraceKind::kInstructions)];
    bool went_on = true;
    for (; at < end; ++at) {
      const TraceRecord& record = batch_[at];
      const LineNumber line = line_of(record.address);
      const bool store = record.kind != TraceKind::kLoad;
      if (!access_begun_) [[likely]] {
        instructions += record.instructions;
        fraction += record.instructions * instruction_time_;
        clock.ps += static_cast<std::int64_t>(fraction >> kFractionBits);
        fraction &= (std::uint64_t{1} << kFractionBits) - 1;
        ++counts_[static_cast<std::size_t>(record.kind)];
        const bool whole = (record.address & (kLineBytes - 1)) + record.size <= kLineBytes;
        if (whole && instructions < misses_.stall_at() && !misses_.may_hold(line) &&
            record.kind != TraceKind::kInstructions && caches_.try_first_level(line, store)) [[likely]] {
          clock += hit_time_[static_cast<std::size_t>(record.kind)];
          continue;
        }
      }
      clock_ = clock;
      instructions_ = instructions;
      went_on = replay_slowly(record);
      clock = clock_;
      if (!went_on) break;
    }
    clock_ = clock;
    fraction_ = fraction;
    instructions_ = instructions;
    const std::size_t done = at - next_;
    accesses_ += done - (counts_[static_cast<std::size_t>(TraceKind::kInstructions)] - without_access);
    budget_ -= std::min<std::uint64_t>(budget_, done);
    next_ = at;
    if (!counting_ && accesses_ == config_.warm_up_accesses) end_warm_up();
    return went_on;
  }

  /// An access that is not a plain hit; false when the core has to wait, to be called again with the same
  /// record. Without write-back a kModify is a load and then a store, since its store allocates nothing.
  bool replay_slowly(const TraceRecord& record) {
    if (record.kind == TraceKind::kInstructions) return true;
    if (!access_begun_) {
      access_begun_ = true;
      part_address_ = record.address;
      part_left_ = record.size;
      const std::uint32_t room = kLineBytes - (record.address & (kLineBytes - 1));
      if (record.size > room) ++split_accesses_;
    }
    while (part_left_ > 0) {
      const std::uint32_t room = kLineBytes - static_cast<std::uint32_t>(part_address_ & (kLineBytes - 1));
      const std::uint32_t size = std::min(room, part_left_);
      if (record.kind == TraceKind::kModify && caches_.write_policy() != WritePolicy::kWriteBack) {
        if (!part_loaded_ && replay_line(part_address_, size, TraceKind::kLoad) == Progress::kWait)
          return false;
        part_loaded_ = true;
        if (replay_line(part_address_, size, TraceKind::kStore) == Progress::kWait) return false;
        part_loaded_ = false;
      } else if (replay_line(part_address_, size, record.kind) == Progress::kWait) {
        return false;
      }
      part_address_ += size;
      part_left_ -= size;
    }
    access_begun_ = false;
    return true;
  }

  // Each step below either changes nothing and waits, or is done once: replay_line() is called again after a
  // wait.
  Progress replay_line(std::uint64_t address, std::uint32_t size, TraceKind kind) {
    const LineNumber line = line_of(address);
    const bool store = kind != TraceKind::kLoad;
    if (!miss_sent_) {
      while (instructions_ >= misses_.stall_at()) {
        if (await(*misses_.stalling()) == Progress::kWait) return Progress::kWait;
      }
      const bool needs_data = kind != TraceKind::kStore || config_.overlap == MissOverlap::kNone;
      if (MissSlots::Slot* slot = needs_data && misses_.may_hold(line) ? misses_.find(line) : nullptr) {
        if (await(*slot) == Progress::kWait) return Progress::kWait;
      }
      if (caches_.try_first_level(line, store)) {
        clock_ += hit_time_[static_cast<std::size_t>(kind)];
        return Progress::kDone;
      }
      // Past this point up to three lines may be written back, or a store sent, and one line fetched.
      if (writes_.size() - writes_used_ < WriteBacks{}.lines.size()) return Progress::kWait;
      const bool cached = caches_.contains(line);
      const bool remote = placement_.is_remote(address, reader_.regions());
      if (!cached && remote && !paged() && is_being_written(line)) return Progress::kWait;
      wait_until(now_);  // If a write was waited for, its answer is the present. Else the clock is past it.
      if (!cached) {
        if (release_slot() == Progress::kWait) return Progress::kWait;
        if (remote && paged() && page_in(address, store) == Progress::kWait) return Progress::kWait;
      }
      if (send(address, size, kind, remote) == Progress::kDone) return Progress::kDone;
      miss_sent_ = true;
    }
    if (await(misses_[blocking_slot_]) == Progress::kWait) return Progress::kWait;
    miss_sent_ = false;
    return Progress::kDone;
  }

  /// Looks the line up and starts what follows. kWait: a miss that blocks the core is under way in
  /// blocking_slot_.
  Progress send(std::uint64_t address, std::uint32_t size, TraceKind kind, bool remote) {
    const LineNumber line = line_of(address);
    const bool store = kind != TraceKind::kLoad;
    const TimePs started = clock_;
    WriteBacks out;
    const CacheAccess access = caches_.access(line, store, out);
    if (access.needs_fill) caches_.fill(line, store, out);
    const bool buffered = kind == TraceKind::kStore && config_.overlap != MissOverlap::kNone;
    // When the miss or the store leaves the caches. A buffered store takes that long but not the core's time.
    const TimePs leaves = started + access.latency;
    if (!buffered) clock_ = leaves;
    const bool goes_far = remote && !paged();
    const bool misses = access.level == CacheLevel::kMemory && (!store || access.needs_fill);
    const std::uint32_t fetched = access.needs_fill ? kLineBytes : size;
    // Memory reads what is missing before it writes what that displaces.
    const TimePs local_done = misses && !goes_far ? memory_.closed_row(leaves, fetched) : kNever;
    for (std::uint32_t i = 0; i < out.count; ++i) write_line(leaves, out.lines[i]);
    if (access.store_to_memory) write_bytes(leaves, address, size, remote);
    if (!misses) {
      twin_.write(busy(), leaves - clock_, out.count, access.store_to_memory ? size : 0);
      return Progress::kDone;
    }
    const bool blocks = blocks_core(kind);
    MissSlots::Slot& slot = misses_.take();
    slot.line = line;
    slot.started = started;
    slot.remote = goes_far;
    slot.done = local_done;
    if (!blocks && kind != TraceKind::kStore) slot.stall_at = instructions_ + config_.window_instructions;
    misses_.refresh();
    twin_.miss(busy(), leaves - clock_, {line, fetched, out.count, blocks});
    const std::uint32_t index = misses_.index_of(slot);
    ++(goes_far ? remote_loads_ : local_misses_);
    if (goes_far) start_load(leaves, access.needs_fill ? line << kLineShift : address, fetched, index);
    if (!blocks) return Progress::kDone;
    blocking_slot_ = index;
    return Progress::kWait;
  }

  bool blocks_core(TraceKind kind) const {
    switch (config_.overlap) {
      case MissOverlap::kNone:
        return true;
      case MissOverlap::kStores:
        return kind != TraceKind::kStore;
      case MissOverlap::kAll:
        return false;
    }
    WHARF_UNREACHABLE();
  }

  /// Makes the page of `address` resident.
  Progress page_in(std::uint64_t address, bool store) {
    if constexpr (PageTransferPort<Port>) {
      if (!page_demanded_) {
        const auto lookup = paging_->lookup(clock_, address >> kPageShift, store, drop_lines());
        if (lookup.resident && lookup.usable == clock_) return Progress::kDone;
        page_demanded_ = true;
        page_fault_began_ = clock_;
      }
      if (paging_->waiting()) return Progress::kWait;
      page_demanded_ = false;
      wait_until(paging_->resume_at());
      if (counting_) result_.miss_latency.record((clock_ - page_fault_began_ + config_.local_memory).ps);
    }
    return Progress::kDone;
  }

  auto drop_lines() {
    return [this](PageNumber page) {
      bool dirty = false;
      const LineNumber first = page << (kPageShift - kLineShift);
      for (LineNumber line = first; line < first + kPageBytes / kLineBytes; ++line) {
        dirty |= caches_.invalidate(line);
      }
      return dirty;
    };
  }

  bool paged() const { return config_.paging.has_value(); }

  /// A dirty line leaves the caches at `at`.
  void write_line(TimePs at, LineNumber line) {
    const std::uint64_t address = line << kLineShift;
    write_bytes(at, address, kLineBytes, placement_.is_remote(address, reader_.regions()));
  }

  /// Bytes leave for memory at `at`: to local memory, to a frame of it, or to the other machine.
  void write_bytes(TimePs at, std::uint64_t address, std::uint32_t size, bool remote) {
    if (!remote || paged()) memory_.write(at, size);
    if (!remote) return;
    if constexpr (PageTransferPort<Port>) {
      if (paged()) {
        paging_->mark_dirty(address >> kPageShift);
        return;
      }
    }
    if constexpr (RemoteLineMemory<Port>) {
      WHARF_CHECK(at >= now_);
      ++remote_stores_;
      std::uint32_t id = 0;
      while (writes_[id].used) ++id;
      writes_[id] = Write{line_of(address), true};
      ++writes_used_;
      port_->start_store(at, address, size, id);
    }
  }

  void start_load(TimePs at, std::uint64_t address, std::uint32_t size, std::uint32_t id) {
    if constexpr (RemoteLineMemory<Port>) {
      WHARF_CHECK(at >= now_);
      port_->start_load(at, address, size, id);
    }
  }

  bool is_being_written(LineNumber line) const {
    return writes_used_ > 0 && std::any_of(writes_.begin(), writes_.end(),
                                           [line](const Write& w) { return w.used && w.line == line; });
  }

  /// The core stands still until `time`, if that is later.
  void wait_until(TimePs time) {
    if (time <= clock_) return;
    waited_ += time - clock_;
    clock_ = time;
  }

  /// The core cannot go on before the slot's line is there.
  Progress await(MissSlots::Slot& slot) {
    if (slot.done == kNever) return Progress::kWait;
    wait_until(slot.done);
    twin_.need(busy(), slot.line);
    release(slot);
    return Progress::kDone;
  }

  void release(MissSlots::Slot& slot) {
    if (slot.remote && counting_) result_.miss_latency.record((slot.done - slot.started).ps);
    misses_.release(slot);
  }

  /// Makes at least one slot free: those whose lines have come by now, else the first whose line comes.
  Progress release_slot() {
    if (misses_.empty()) return Progress::kDone;
    for (MissSlots::Slot& slot : misses_.all()) {
      if (slot.used && slot.done <= clock_) release(slot);
    }
    if (!misses_.full()) return Progress::kDone;
    MissSlots::Slot* first = misses_.earliest();
    // An answer still out comes at now_ or later, so a line that comes by now_ is the first.
    if (first == nullptr || (first->done > now_ && misses_.any_open())) {
      if (first != nullptr) deadline_ = first->done;
      return Progress::kWait;
    }
    wait_until(first->done);
    release(*first);
    return Progress::kDone;
  }

  /// The core's clock without its waits.
  TimePs busy() const { return clock_ - waited_; }

  void end_warm_up() {
    counting_ = true;
    counts_ = {};
    split_accesses_ = local_misses_ = remote_loads_ = remote_stores_ = 0;
    counted_instructions_from_ = instructions_;
    caches_.reset_counters();
    if (paged()) paging_->reset_counters();
    counted_from_ = clock_;
    twin_counted_from_ = twin_.clock(busy());
  }

  /// The trace has ended; what it started has not.
  void drain() {
    const bool pages_out = [&] {
      if constexpr (PageTransferPort<Port>) return paged() && paging_->outstanding() > 0;
      return false;
    }();
    if (misses_.any_open() || writes_used_ > 0 || pages_out) {
      waiting_ = true;
      return;
    }
    for (MissSlots::Slot& slot : misses_.all()) {
      if (!slot.used) continue;
      wait_until(slot.done);
      release(slot);
    }
    twin_.drain(busy());
    wait_until(last_write_done_);
    finish();
  }

  void finish() {
    state_ = State::kFinished;
    if (config_.warm_up_accesses > 0 && accesses_ <= config_.warm_up_accesses) {
      status_ = input_error(fmt::format("the warm-up of {} accesses takes the whole trace, which has {}",
                                        config_.warm_up_accesses, accesses_));
      return;
    }
    collect();
  }

  TraceReplayConfig config_;
  MemoryPlacement placement_;
  TraceReader reader_;
  CacheHierarchy caches_;
  Port* port_;
  std::optional<typename PagingFor<Port>::type> paging_;
  MissSlots misses_;
  Dram memory_;  ///< Local memory: nothing else of the host uses it.
  AllLocalTwin twin_;
  std::vector<Write> writes_;
  std::uint32_t writes_used_ = 0;
  TimePs last_write_done_;

  // The trace.
  std::vector<TraceRecord> batch_;
  std::size_t next_ = 0;
  std::size_t batch_end_ = 0;
  std::uint64_t budget_ = 0;
  State state_ = State::kRunning;
  Result<void> status_;

  // The core.
  TimePs now_;                          ///< Of the simulation.
  TimePs clock_;                        ///< Of the core: at or after now_ when it runs.
  std::uint64_t fraction_ = 0;          ///< Of a picosecond, below 2^kFractionBits.
  std::uint64_t instruction_time_ = 0;  ///< In 2^-kFractionBits ps.
  std::array<TimePs, 4> hit_time_{};    ///< Of an L1 hit, by TraceKind.
  std::uint64_t instructions_ = 0;
  bool waiting_ = false;
  TimePs deadline_ = kTimeZero;

  // The access under way.
  bool access_begun_ = false;
  bool miss_sent_ = false;      ///< Its line's miss is in blocking_slot_.
  bool page_demanded_ = false;  ///< Its page was asked for.
  std::uint32_t blocking_slot_ = 0;
  std::uint64_t part_address_ = 0;
  std::uint32_t part_left_ = 0;
  bool part_loaded_ = false;  ///< The load of a kModify without write-back is done.
  TimePs page_fault_began_;

  TimePs waited_;  ///< What the core stood still for misses and pages.

  // Counting.
  bool counting_;
  std::uint64_t accesses_ = 0;
  std::array<std::uint64_t, 4> counts_{};  ///< By TraceKind.
  std::uint64_t split_accesses_ = 0;
  std::uint64_t local_misses_ = 0;
  std::uint64_t remote_loads_ = 0;
  std::uint64_t remote_stores_ = 0;
  std::uint64_t counted_instructions_from_ = 0;
  TimePs counted_from_;
  TimePs twin_counted_from_;
  ReplayResult result_;
};

}  // namespace wharf::sim
