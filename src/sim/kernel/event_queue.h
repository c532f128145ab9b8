// SPDX-License-Identifier: Apache-2.0
// The pending events of a simulation: a sorted array while they are few, a calendar queue when they are many.
//
//   near     sorted array: every pending record earlier than near_end (all of them while they are few)
//   buckets  a ring of lists, one per "day" of 2^shift ps, for the days that follow the near ones; unsorted.
//            The lists are of chunks with several records: a list of records costs a miss for each of them,
//            and where many links have the same rate and delay, many records have the same time
//   far      4-ary heap: records past the ring, and those that found the near array full
//
// When near runs empty, the next day that has records is gathered into it and sorted. Where a record waits
// depends on the load; the order in which records come out never does.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace wharf::sim {

/// A priority queue of trivially copyable records. `Record` has a member `TimePs time` (not negative), and a
/// function `bool before(const Record&, const Record&)` that is a strict total order with the time as its
/// first key. Memory grows geometrically with the largest population and is kept: a steady load allocates
/// nothing.
template <typename Record>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  EventQueue() : near_(4 * kNearCapacity) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// Adds a record, at or after the time of the last one popped. Records pass by value so that they stay in
  /// registers.
  void push(Record record) {
    ++size_;
    const std::uint64_t time = time_of(record);
    if (time < near_end_) {
      if (near_last_ - near_first_ < kNearCapacity) {
        insert_near(record);
      } else {
        push_near_full(record);
      }
      return;
    }
    const std::uint64_t day = time >> shift_;
    if (day - current_day_ < bucket_count_) {
      push_bucket(record, day);
    } else {
      push_far(record);
    }
  }

  /// The earliest record; the queue is not empty. Valid until the next push or pop.
  const Record& peek() {
    if (near_first_ == near_last_) refill();
    return far_comes_first() ? far_.front() : near_[near_first_];
  }

  /// Removes and returns the earliest record; the queue is not empty.
  Record pop() {
    const Record* record = pop_until(kNever);
    WHARF_CHECK(record != nullptr);
    return *record;
  }

  /// Removes the earliest record if its time is `end` or earlier, and returns it; null when there is none
  /// such. Valid until the next push or pop: the caller picks what it needs, which spares a copy through
  /// memory.
  const Record* pop_until(TimePs end) {
    if (near_first_ == near_last_) {
      if (size_ == 0) return nullptr;
      refill();
    }
    if (far_comes_first()) [[unlikely]]
      return pop_far_until(end);
    const Record& record = near_[near_first_];
    if (record.time > end) return nullptr;
    ++near_first_;
    --size_;
    return &record;
  }

  /// Removes the earliest records whose times are `end` or earlier, `most` (at least 1) of them or fewer, and
  /// calls visit(record) for each in order. Returns how many there were; 0: none is left.
  template <typename Visit>
  std::size_t take_until(TimePs end, std::size_t most, Visit&& visit) {
    if (near_first_ == near_last_ && size_ != 0) refill();
    fetch_chunks();
    // Those that are earlier than every far one need no further look.
    const TimePs last = far_.empty() ? end : min(end, far_.front().time - picoseconds(1));
    const std::size_t first = near_first_;
    const std::size_t stop = std::min(near_last_, first + most);
    const Record* const near = near_.data();
    std::size_t next = first;
    for (; next < stop && near[next].time <= last; ++next) visit(near[next]);
    near_first_ = next;
    size_ -= next - first;
    if (next != first) return next - first;
    const Record* const record = size_ == 0 ? nullptr : pop_until(end);
    if (record == nullptr) return 0;
    visit(*record);
    return 1;
  }

  /// Whether the calendar is in use: for tests and benchmarks.
  bool uses_calendar() const { return near_end_ != kUnbounded; }

 private:
  /// Above this many records in near, the calendar starts, or (when it runs) further near records go to far.
  static constexpr std::size_t kNearCapacity = 32;
  /// With this many records or fewer left when near runs empty, the calendar stops.
  static constexpr std::size_t kCalendarMin = 12;
  /// Buckets per record at the last rebuild, before rounding up to a power of two.
  static constexpr std::size_t kBucketsPerRecord = 2;
  /// Records gathered between two looks at how well the width fits: at least this many.
  static constexpr std::uint64_t kReviewInterval = 1024;
  /// A day's width in mean gaps between records, before rounding down to a power of two.
  static constexpr std::uint64_t kGapsPerDay = 4;
  static constexpr std::size_t kBucketsMin = 256;
  static constexpr std::size_t kInsertionSortLimit = 16;
  static constexpr std::uint32_t kNil = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  static constexpr std::size_t kChunkBytes = 128;
  static constexpr std::uint32_t kChunkRecords =
      static_cast<std::uint32_t>((kChunkBytes - sizeof(std::uint32_t)) / sizeof(Record));
  /// Fewer records than this stay in the cache by themselves.
  static constexpr std::size_t kFetchWorth = 4096;
  /// Chunks are fetched so many days ahead, of two or more records each on average,
  static constexpr std::uint64_t kFetchDays = 64;
  /// and so many at once: each one's place is in the one before.
  static constexpr int kFetchSteps = 2;

  struct alignas(64) Chunk {
    std::array<Record, kChunkRecords> records;
    std::uint32_t next;  ///< The one filled before.
  };
  static_assert(sizeof(Chunk) == kChunkBytes);
  /// The records of a day: all chunks are full but the latest.
  struct Bucket {
    std::uint32_t chunk = kNil;  ///< The latest.
    std::uint32_t count = 0;     ///< Records in it.
  };

  static std::uint64_t time_of(const Record& record) { return static_cast<std::uint64_t>(record.time.ps); }

  /// near is not empty.
  bool far_comes_first() const { return !far_.empty() && before(far_.front(), near_[near_first_]); }

  /// near is ascending, and searched from its late end: most new records are later than most pending ones.
  void insert_near(Record record) {
    if (near_last_ == near_.size()) [[unlikely]] {
      make_room_in_near();
    }
    std::size_t at = near_last_++;
    Record* const near = near_.data();
    for (; at > near_first_ && before(record, near[at - 1]); --at) near[at] = near[at - 1];
    near[at] = record;
  }

  /// Moves near back to the start of its storage, which grows when more than half of it is in use.
  [[gnu::noinline]] void make_room_in_near() {
    std::copy(near_.begin() + static_cast<std::ptrdiff_t>(near_first_), near_.end(), near_.begin());
    near_last_ -= near_first_;
    near_first_ = 0;
    if (2 * near_last_ > near_.size()) near_.resize(2 * near_.size());
  }

  void push_bucket(Record record, std::uint64_t day) {
    store(record, day);
    if (bucketed_ > rebuild_above_) [[unlikely]] {
      rebuild();
    }
  }

  /// Puts a record into the bucket of its day, which the ring reaches.
  void store(Record record, std::uint64_t day) {
    const std::size_t at = static_cast<std::size_t>(day) & (bucket_count_ - 1);
    Bucket& bucket = buckets_[at];
    if (bucket.chunk == kNil || bucket.count == kChunkRecords) {
      const std::uint32_t chunk = free_chunk_ != kNil ? free_chunk_ : grow_chunks();
      free_chunk_ = chunks_[chunk].next;
      chunks_[chunk].next = bucket.chunk;
      bucket = {chunk, 0};
      occupied_[at / 64] |= std::uint64_t{1} << (at % 64);
    }
    chunks_[bucket.chunk].records[bucket.count++] = record;
    ++bucketed_;
  }

  [[gnu::noinline]] std::uint32_t grow_chunks() {
    const std::size_t old_count = chunks_.size();
    const std::size_t count = old_count == 0 ? 64 : old_count + old_count / 2;
    WHARF_CHECK(count < kNil);
    chunks_.resize(count);
    for (std::size_t i = old_count; i < count; ++i) {
      chunks_[i].next = i + 1 < count ? static_cast<std::uint32_t>(i + 1) : kNil;
    }
    return static_cast<std::uint32_t>(old_count);
  }

  /// Shows all records of a bucket, the latest first, and leaves it empty.
  template <typename Visit>
  void empty_bucket(std::size_t at, Visit&& visit) {
    const Bucket bucket = buckets_[at];
    buckets_[at] = {};
    occupied_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    std::uint32_t count = bucket.count;
    for (std::uint32_t chunk = bucket.chunk; chunk != kNil; count = kChunkRecords) {
      Chunk& from = chunks_[chunk];
      while (count > 0) visit(from.records[--count]);
      const std::uint32_t next = from.next;
      from.next = free_chunk_;
      free_chunk_ = chunk;
      chunk = next;
    }
  }

  /// A record behind all near ones, or equal to the last, costs nothing there, however many they are. Others
  /// would be slow to insert.
  [[gnu::noinline]] void push_near_full(Record record) {
    if (!before(record, near_[near_last_ - 1])) {
      insert_near(record);
      return;
    }
    push_heap(record);
    if (near_end_ == kUnbounded) rebuild();
  }

  [[gnu::noinline]] void push_far(Record record) {
    push_heap(record);
    if (far_.size() > rebuild_above_) rebuild();
  }

  // far: a 4-ary heap, earliest first.
  void push_heap(const Record& record) {
    std::size_t at = far_.size();
    far_.push_back(record);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!before(record, far_[parent])) break;
      far_[at] = far_[parent];
      at = parent;
    }
    far_[at] = record;
  }

  Record pop_heap() {
    const Record first = far_.front();
    const Record last = far_.back();
    far_.pop_back();
    const std::size_t count = far_.size();
    std::size_t at = 0;
    while (count > 0) {
      std::size_t child = 4 * at + 1;
      if (child >= count) break;
      const std::size_t end = child + 4 < count ? child + 4 : count;
      std::size_t best = child;
      for (++child; child < end; ++child) {
        if (before(far_[child], far_[best])) best = child;
      }
      if (!before(far_[best], last)) break;
      far_[at] = far_[best];
      at = best;
    }
    if (count > 0) far_[at] = last;
    return first;
  }

  [[gnu::noinline]] const Record* pop_far_until(TimePs end) {
    if (far_.front().time > end) return nullptr;
    popped_ = pop_heap();
    --size_;
    return &popped_;
  }

  /// Called with near empty and size() positive: gathers the next day that has records, so that near has
  /// some.
  [[gnu::noinline]] void refill() {
    // Far records of the days already gathered stood before the last near one, so they have left.
    WHARF_CHECK(far_.empty() || time_of(far_.front()) >= near_end_);
    if (size_ <= kCalendarMin) {
      collapse();
      return;
    }
    if (gathered_ >= review_at_) [[unlikely]] {
      review();
    }
    std::uint64_t day = bucketed_ == 0 ? kUnbounded : next_occupied_day();
    if (!far_.empty()) day = advance_to_far(day);
    current_day_ = day;
    near_end_ = (day + 1) << shift_;
    gather(static_cast<std::size_t>(day) & (bucket_count_ - 1));
  }

  /// The earliest day after the current one whose bucket has records; there is one.
  std::uint64_t next_occupied_day() const {
    const std::size_t mask = bucket_count_ - 1;
    const std::size_t from = static_cast<std::size_t>(current_day_ + 1) & mask;
    std::size_t word_at = from / 64;
    std::uint64_t word = occupied_[word_at] & (~std::uint64_t{0} << (from % 64));
    while (word == 0) {
      word_at = (word_at + 1) & (occupied_.size() - 1);
      word = occupied_[word_at];
    }
    const std::size_t bucket = word_at * 64 + static_cast<std::size_t>(std::countr_zero(word));
    return current_day_ + 1 + ((bucket - from) & mask);
  }

  /// Brings the far records that the ring now reaches into their buckets; returns the first day with records.
  std::uint64_t advance_to_far(std::uint64_t day) {
    const std::uint64_t far_day = time_of(far_.front()) >> shift_;
    if (far_day < day) day = far_day;
    // The ring may hold the bucket of `day` itself and those of the bucket_count - 1 days behind it.
    current_day_ = day - 1;
    const std::uint64_t ring_end = day + bucket_count_ - 1;
    while (!far_.empty() && (time_of(far_.front()) >> shift_) < ring_end) {
      const Record record = pop_heap();
      store(record, time_of(record) >> shift_);
    }
    return day;
  }

  /// Moves the records of a bucket to near, which is empty, and sorts them. They come from the newest to the
  /// oldest, and the oldest are mostly the earliest, so near is filled from its late end.
  void gather(std::size_t bucket) {
    near_first_ = near_.size() / 2;
    near_last_ = near_first_;
    empty_bucket(bucket, [&](const Record& record) {
      if (near_first_ == 0) [[unlikely]] {
        make_room_before_near();
      }
      std::size_t at = --near_first_;
      Record* const near = near_.data();
      if (near_last_ - at <= kInsertionSortLimit) {
        for (; at + 1 < near_last_ && before(near[at + 1], record); ++at) near[at] = near[at + 1];
      }
      near[at] = record;
    });
    const std::size_t count = near_last_ - near_first_;
    bucketed_ -= count;
    gathered_ += count;
    if (count > kInsertionSortLimit) sort_near();
  }

  /// Fetches the next chunks of the days ahead. What it has come to may be gathered meanwhile, and its chunks
  /// may serve other days: then it fetches in vain.
  void fetch_chunks() {
    if (bucketed_ < kFetchWorth) return;
    for (int step = 0; step < kFetchSteps; ++step) {
      fetch_chunk_ = fetch_chunk_ != kNil && fetch_day_ > current_day_ ? chunks_[fetch_chunk_].next : kNil;
      if (fetch_chunk_ == kNil) {
        const std::uint64_t next = std::max(fetch_day_, current_day_) + 1;
        if (next - current_day_ > kFetchDays) return;
        // The rest of a word of days at a time.
        const std::size_t from = static_cast<std::size_t>(next) & (bucket_count_ - 1);
        const std::uint64_t word = occupied_[from / 64] >> (from % 64);
        if (word == 0) {
          fetch_day_ = next | 63U;
          continue;
        }
        const auto skipped = static_cast<unsigned>(std::countr_zero(word));
        fetch_day_ = next + skipped;
        fetch_chunk_ = buckets_[from + skipped].chunk;
      }
      const Chunk* const chunk = &chunks_[fetch_chunk_];
      __builtin_prefetch(chunk);
      __builtin_prefetch(&chunk->records[kChunkRecords - 1]);
    }
  }

  void sort_near() {
    const auto first = near_.begin() + static_cast<std::ptrdiff_t>(near_first_);
    const auto last = near_.begin() + static_cast<std::ptrdiff_t>(near_last_);
    const auto earlier = [](const Record& a, const Record& b) { return before(a, b); };
    if (!std::is_sorted(first, last, earlier)) std::sort(first, last, earlier);
  }

  [[gnu::noinline]] void make_room_before_near() {
    const std::size_t shift = near_.size();
    near_.resize(2 * shift);
    std::copy_backward(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(near_last_),
                       near_.begin() + static_cast<std::ptrdiff_t>(near_last_ + shift));
    near_first_ += shift;
    near_last_ += shift;
  }

  /// Stops the calendar: the few records left go to near.
  [[gnu::noinline]] void collapse() {
    drain_to_scratch();
    near_end_ = kUnbounded;
    for (const Record& record : scratch_) insert_near(record);
  }

  /// Starts the calendar, or lays it out afresh for the present population.
  [[gnu::noinline]] void rebuild() {
    const std::uint64_t gap = gathered_ >= 64 && gathered_ >= size_ / 8 ? gap_measured() : kUnbounded;
    drain_to_scratch();
    lay_out(shift_for(gap == kUnbounded ? gap_of_scratch() : gap));
  }

  /// Looks whether the width still fits the rate at which records come out; if not, lays the calendar out
  /// afresh. A new layout has a width between 2 and 4 gaps, well inside what is tolerated here.
  [[gnu::noinline]] void review() {
    const std::uint64_t gap = gap_measured();
    const std::uint64_t width = std::uint64_t{1} << shift_;
    const bool too_wide = shift_ > 0 && width / 6 > gap;
    const bool too_narrow = width < gap + gap / 4;
    if (too_wide || too_narrow) {
      drain_to_scratch();
      lay_out(shift_for(gap));
    } else {
      start_measuring((current_day_ + 1) << shift_);
    }
  }

  void start_measuring(std::uint64_t time) {
    measured_from_ = time;
    gathered_ = 0;
    review_at_ = std::max<std::uint64_t>(kReviewInterval, size_);
  }

  /// Mean time between the records gathered since start_measuring().
  std::uint64_t gap_measured() const {
    const std::uint64_t now = (current_day_ + 1) << shift_;
    return now > measured_from_ && gathered_ > 0 ? (now - measured_from_) / gathered_ : 0;
  }

  /// Mean gap in the earlier half of the records in scratch, which holds some.
  std::uint64_t gap_of_scratch() {
    const std::size_t half = scratch_.size() / 2;
    const auto earlier = [](const Record& a, const Record& b) { return a.time < b.time; };
    std::nth_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(half), scratch_.end(),
                     earlier);
    const auto first =
        std::min_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(half) + 1, earlier);
    return half == 0 ? 0 : (time_of(scratch_[half]) - time_of(*first)) / half;
  }

  /// Logarithm of the day's width for a mean gap between records.
  static unsigned shift_for(std::uint64_t gap) {
    const std::uint64_t width = std::min(gap, kUnbounded / (4 * kGapsPerDay)) * kGapsPerDay;
    return width == 0 ? 0 : static_cast<unsigned>(std::bit_width(width)) - 1;
  }

  /// Moves every record to scratch and frees all chunks.
  void drain_to_scratch() {
    scratch_.assign(near_.begin() + static_cast<std::ptrdiff_t>(near_first_),
                    near_.begin() + static_cast<std::ptrdiff_t>(near_last_));
    scratch_.insert(scratch_.end(), far_.begin(), far_.end());
    near_first_ = 0;
    near_last_ = 0;
    far_.clear();
    for (std::size_t word_at = 0; word_at < occupied_.size() && bucketed_ > 0; ++word_at) {
      while (occupied_[word_at] != 0) {
        empty_bucket(word_at * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word_at])),
                     [&](const Record& record) {
                       scratch_.push_back(record);
                       --bucketed_;
                     });
      }
    }
  }

  /// Distributes scratch over buckets of 2^shift and the far heap; near stays empty.
  void lay_out(unsigned shift) {
    shift_ = shift;
    bucket_count_ = std::bit_ceil(std::max(kBucketsMin, kBucketsPerRecord * size_));
    buckets_.assign(bucket_count_, {});
    occupied_.assign(bucket_count_ / 64, 0);
    rebuild_above_ = 2 * size_;
    std::uint64_t first = kUnbounded;
    for (const Record& record : scratch_) first = std::min(first, time_of(record));
    current_day_ = (first >> shift_) - 1;
    near_end_ = (first >> shift_) << shift_;
    for (const Record& record : scratch_) {
      const std::uint64_t day = time_of(record) >> shift_;
      if (day - current_day_ < bucket_count_) {
        store(record, day);
      } else {
        push_heap(record);
      }
    }
    fetch_day_ = current_day_;
    start_measuring(near_end_);
  }

  std::size_t size_ = 0;
  std::vector<Record> near_;
  std::size_t near_first_ = 0;  ///< near is the part [near_first_, near_last_) of near_.
  std::size_t near_last_ = 0;
  std::uint64_t near_end_ = kUnbounded;  ///< Records earlier than this are never in buckets.

  std::uint64_t current_day_ =
      0;                ///< The last day gathered; buckets hold the bucket_count_ - 1 days behind it.
  unsigned shift_ = 0;  ///< Logarithm of the width of a day in picoseconds.
  std::size_t bucket_count_ = 0;  ///< A power of two, or 0 before the first calendar.
  std::vector<Bucket> buckets_;
  std::vector<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNil;
  std::uint64_t fetch_day_ = 0;          ///< fetch_chunks() has come to this day,
  std::uint32_t fetch_chunk_ = kNil;     ///< and this chunk of it.
  std::vector<std::uint64_t> occupied_;  ///< One bit per bucket.
  std::size_t bucketed_ = 0;
  std::size_t rebuild_above_ = 0;

  std::vector<Record> far_;
  Record popped_{};              ///< Where a popped far record stays for the caller to read.
  std::vector<Record> scratch_;  ///< Between two layouts only.

  std::uint64_t measured_from_ = 0;
  std::uint64_t gathered_ = 0;
  std::uint64_t review_at_ = kReviewInterval;
};

}  // namespace wharf::sim
