// SPDX-License-Identifier: Apache-2.0
// A tiny runtime for tests of programs: cores and remote memories over plain byte arrays, in simulated time,
// with random delays, so that operations complete in any order. It can be told to break its promises.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "verbs/core.h"
#include "verbs/operation_record.h"
#include "verbs/remote_memory.h"

namespace wharf::workload {

/// What a fake remote memory does wrong, and what it cannot do.
struct FakeFaults {
  bool compare_swap_ignores_compare = false;  ///< Everybody gets the lock.
  bool split_fetch_add = false;               ///< Reads and writes at different times.
  bool stale_reads = false;                   ///< Reads give what the memory held when the run began.
  bool torn_writes = false;                   ///< Legal: the halves of a write land at different times.
  bool front_last = false;                    ///< Legal: the first line of a read is taken after the others.
  std::uint32_t corrupt_read_every = 0;       ///< One wrong bit in every n-th read; 0: never.
  std::uint32_t lose_write_every = 0;         ///< Every n-th write succeeds without an effect.
  std::uint32_t fail_every = 0;  ///< Every n-th request ends with kRetryExhausted, without an effect.
  bool double_messages = false;  ///< Every message is delivered twice.
  bool load_store = false;       ///< Loads and stores are supported.
};

/// Simulated time and what happens next.
class FakeScheduler {
 public:
  explicit FakeScheduler(std::uint64_t seed) : seed_(seed), random_(seed, "fake.delays") {}

  TimePs now() const { return now_; }
  std::uint64_t seed() const { return seed_; }
  void after(TimePs delay, std::function<void()> action) {
    events_.push({now_ + delay, order_++, std::move(action)});
  }
  /// 50 to 500 ns.
  TimePs draw_delay() { return picoseconds(50'000 + static_cast<std::int64_t>(random_.below(450'001))); }
  /// Runs until nothing is left to do.
  void run() {
    while (!events_.empty()) {
      Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.action();
    }
  }

 private:
  struct Event {
    TimePs at;
    std::uint64_t order;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return std::pair(at, order) > std::pair(other.at, other.order);
    }
  };
  std::uint64_t seed_;
  RandomStream random_;
  TimePs now_ = kTimeZero;
  std::uint64_t order_ = 0;
  std::priority_queue<Event> events_;
};

/// Awaits an effect that happens some time from now, and then its acknowledgement.
template <typename T>
struct FakeOperation {
  FakeScheduler& scheduler;
  std::function<void(T&)> effect;
  std::function<void(T&)> second_effect = nullptr;
  TimePs delay = kNever;  ///< kNever: drawn.
  T value{};

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    const bool drawn = delay == kNever;
    scheduler.after(drawn ? scheduler.draw_delay() : delay, [this, handle, drawn] {
      if (effect) effect(value);
      if (second_effect) {
        scheduler.after(scheduler.draw_delay(), [this, handle] {
          second_effect(value);
          scheduler.after(scheduler.draw_delay(), [handle] { handle.resume(); });
        });
      } else {
        scheduler.after(drawn ? scheduler.draw_delay() : kTimeZero, [handle] { handle.resume(); });
      }
    });
  }
  T await_resume() { return value; }
};

/// Awaits a span of time.
struct FakePause {
  FakeScheduler& scheduler;
  TimePs duration;
  bool await_ready() const { return duration == kTimeZero; }
  void await_suspend(std::coroutine_handle<> handle) {
    scheduler.after(duration, [handle] { handle.resume(); });
  }
  void await_resume() {}
};

/// A value that is there at once.
struct FakeValue {
  std::uint64_t value;
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  std::uint64_t await_resume() { return value; }
};

class FakeCore {
 public:
  explicit FakeCore(FakeScheduler& scheduler) : scheduler_(scheduler), memory_(kMemoryBytes) {}

  std::uint64_t allocate(Bytes size) {
    const std::uint64_t address = next_;
    next_ += (size.count + 63) / 64 * 64;
    WHARF_CHECK(next_ <= memory_.size());
    return address;
  }
  std::span<std::byte> bytes(std::uint64_t address, Bytes size) {
    return std::span<std::byte>(memory_).subspan(address, size.count);
  }
  FakeValue load(std::uint64_t address, std::uint32_t length) {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.data() + address, length);
    return {value};
  }
  FakePause store(std::uint64_t address, std::uint32_t length, std::uint64_t value) {
    std::memcpy(memory_.data() + address, &value, length);
    return {scheduler_, kTimeZero};
  }
  FakeValue compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
    const std::uint64_t before = load_le64(memory_.data() + address);
    if (before == compare) store_le64(memory_.data() + address, swap);
    return {before};
  }
  FakeValue fetch_add(std::uint64_t address, std::uint64_t value) {
    const std::uint64_t before = load_le64(memory_.data() + address);
    store_le64(memory_.data() + address, before + value);
    return {before};
  }
  FakePause fence() { return {scheduler_, kTimeZero}; }
  FakePause compute(TimePs duration) { return {scheduler_, duration}; }
  FakePause sleep(TimePs duration) { return {scheduler_, duration}; }
  TimePs now() const { return scheduler_.now(); }
  void spawn(verbs::Task<void> task) {
    tasks_.push_back(std::make_unique<verbs::Task<void>>(std::move(task)));
    verbs::Task<void>* spawned = tasks_.back().get();
    scheduler_.after(kTimeZero, [spawned] { spawned->start(); });
  }
  RandomStream random(std::string_view name) { return RandomStream(scheduler_.seed(), name); }
  void record(const verbs::OperationRecord& operation) { records.push_back(operation); }

  /// How many tasks have not ended.
  std::size_t unfinished() const {
    std::size_t count = 0;
    for (const auto& task : tasks_) count += task->done() ? 0 : 1;
    return count;
  }
  std::vector<verbs::OperationRecord> records;

 private:
  static constexpr std::size_t kMemoryBytes = 1U << 20U;
  FakeScheduler& scheduler_;
  std::vector<std::byte> memory_;
  std::uint64_t next_ = 64;
  std::vector<std::unique_ptr<verbs::Task<void>>> tasks_;
};

/// Memory that remotes reach, with the addresses that reads touched.
struct FakeTarget {
  static constexpr std::uint64_t kBase = 0x10'0000;
  std::vector<std::byte> memory;
  std::span<std::byte> elsewhere;                ///< Not empty: in place of `memory`, some of a core's own.
  std::vector<std::byte> at_begin;               ///< For stale reads.
  std::map<std::uint64_t, std::uint64_t> reads;  ///< Reads by address.
  struct Published {
    std::uint64_t address;
    std::uint32_t length;
  };
  std::vector<Published> published;  ///< Ranges, in order.

  std::span<std::byte> bytes() { return elsewhere.empty() ? std::span<std::byte>(memory) : elsewhere; }
};

class FakeRemote {
 public:
  FakeRemote(FakeScheduler& scheduler, FakeCore& core, FakeTarget& target, const FakeFaults& faults)
      : scheduler_(scheduler), core_(core), target_(target), faults_(faults) {}

  /// Messages go to `peer`.
  void connect(FakeRemote& peer) { peer_ = &peer; }

  verbs::RemoteSegment segment() const {
    return {FakeTarget::kBase, target_.bytes().size(), {}, verbs::kFullAccess};
  }
  bool supports(verbs::Verb verb) const { return faults_.load_store || !verbs::is_load_store(verb); }

  using Request = FakeOperation<verbs::Completion>;
  using Effect = std::function<void(verbs::Completion&)>;

  Request execute(const verbs::WorkRequest& request) {
    if (request.verb == verbs::Verb::kRead) {
      return read(request.local[0].address, request.remote, request.length);
    }
    if (request.verb == verbs::Verb::kWrite) {
      return write(request.local[0].address, request.remote, request.length);
    }
    if (request.verb == verbs::Verb::kWriteImm) {
      return write_imm(request.local[0].address, request.remote, request.length, request.immediate);
    }
    if (request.verb == verbs::Verb::kSend || request.verb == verbs::Verb::kSendImm) {
      return send(request.local[0].address, request.length, tag_of(request), request.verb);
    }
    if (request.verb == verbs::Verb::kFetchAdd) return fetch_add(request.remote, request.operand[0]);
    if (request.verb == verbs::Verb::kCompareSwap) {
      return compare_swap(request.remote, request.compare[0], request.operand[0]);
    }
    return {scheduler_, [](verbs::Completion& c) { c.status = verbs::CompletionStatus::kUnsupportedOpcode; }};
  }
  Request read(std::uint64_t local, verbs::RemoteAddress from, std::uint32_t length) {
    if (faults_.front_last && length > 64) {
      Request operation = request([this, local, from, length](verbs::Completion& completion) {
        copy_from_target(core_.bytes(local + 64, Bytes{length - 64}).data(), from.address + 64, length - 64);
        completion.length = length;
      });
      operation.second_effect = [this, local, from](verbs::Completion&) {
        copy_from_target(core_.bytes(local, Bytes{64}).data(), from.address, 64);
      };
      return operation;
    }
    return request([this, local, from, length](verbs::Completion& completion) {
      copy_from_target(core_.bytes(local, Bytes{length}).data(), from.address, length);
      completion.length = length;
    });
  }
  Request write(std::uint64_t local, verbs::RemoteAddress to, std::uint32_t length) {
    const std::uint32_t first = faults_.torn_writes ? length / 2 / 8 * 8 : length;
    Request operation = request([this, local, to, first](verbs::Completion&) {
      copy_to_target(to.address, core_.bytes(local, Bytes{first}).data(), first);
    });
    if (first != length) {
      operation.second_effect = [this, local, to, first, length](verbs::Completion&) {
        copy_to_target(to.address + first, core_.bytes(local + first, Bytes{length - first}).data(),
                       length - first);
      };
    }
    return operation;
  }
  Request write_imm(std::uint64_t local, verbs::RemoteAddress to, std::uint32_t length, std::uint64_t) {
    Request operation = write(local, to, length);
    operation.effect = [this, length, inner = std::move(operation.effect)](verbs::Completion& completion) {
      inner(completion);
      if (!completion.ok()) return;
      peer_->arrived_.push_back({{}, length, verbs::Verb::kWriteImm, {}});
      peer_->match();
    };
    return operation;
  }
  Request fetch_add(verbs::RemoteAddress target, std::uint64_t value) {
    Request operation = request([this, target, value](verbs::Completion& completion) {
      completion.atomic_result[0] = load_le64(at(target.address));
      if (!faults_.split_fetch_add) store_le64(at(target.address), completion.atomic_result[0] + value);
    });
    if (faults_.split_fetch_add) {
      operation.second_effect = [this, target, value](verbs::Completion& completion) {
        store_le64(at(target.address), completion.atomic_result[0] + value);
      };
    }
    return operation;
  }
  Request compare_swap(verbs::RemoteAddress target, std::uint64_t compare, std::uint64_t swap) {
    return request([this, target, compare, swap](verbs::Completion& completion) {
      const std::uint64_t before = load_le64(at(target.address));
      completion.atomic_result[0] = faults_.compare_swap_ignores_compare ? compare : before;
      if (before == compare || faults_.compare_swap_ignores_compare) store_le64(at(target.address), swap);
    });
  }
  template <typename R>
  static std::optional<std::uint64_t> tag_of(const R& request) {
    return request.tagged ? std::optional(request.tag) : std::nullopt;
  }
  Request send(std::uint64_t local, std::uint32_t length, std::optional<std::uint64_t> tag = {},
               verbs::Verb verb = verbs::Verb::kSend) {
    return request([this, local, length, tag, verb](verbs::Completion&) {
      const std::span<const std::byte> bytes = core_.bytes(local, Bytes{length});
      for (int copy = 0; copy < (faults_.double_messages ? 2 : 1); ++copy) {
        peer_->arrived_.push_back({{bytes.begin(), bytes.end()}, length, verb, tag});
        peer_->match();
      }
    });
  }

  /// Waits for a message.
  struct Receive {
    FakeRemote& remote;
    std::uint64_t local;
    std::uint32_t length;
    std::optional<std::uint64_t> tag{};
    std::coroutine_handle<> handle = nullptr;
    verbs::Completion completion{};
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      handle = waiting;
      remote.waiting_.push_back(this);
      remote.match();
    }
    verbs::Completion await_resume() const { return completion; }
  };
  Receive receive(std::uint64_t local, std::uint32_t length) { return {*this, local, length}; }
  Receive receive(const verbs::ReceiveRequest& request) {
    return {*this, request.local[0].address, request.local[0].length, tag_of(request)};
  }

  FakeOperation<verbs::LoadedValue> load(verbs::RemoteAddress from, std::uint32_t length) {
    const bool fails = due(faults_.fail_every, requests_);
    return {scheduler_, [this, from, length, fails](verbs::LoadedValue& loaded) {
              if (fails) {
                loaded.status = verbs::CompletionStatus::kRetryExhausted;
              } else {
                copy_from_target(reinterpret_cast<std::byte*>(&loaded.value), from.address, length);
              }
            }};
  }
  FakeOperation<verbs::CompletionStatus> store(verbs::RemoteAddress to, std::uint32_t length,
                                               std::uint64_t value) {
    const bool fails = due(faults_.fail_every, requests_);
    return {scheduler_, [this, to, length, value, fails](verbs::CompletionStatus& status) {
              if (fails) {
                status = verbs::CompletionStatus::kRetryExhausted;
              } else {
                copy_to_target(to.address, reinterpret_cast<const std::byte*>(&value), length);
              }
            }};
  }
  FakeOperation<verbs::CompletionStatus> publish(verbs::RemoteAddress from, std::uint32_t length) {
    const bool fails = due(faults_.fail_every, requests_);
    return {scheduler_, [this, from, length, fails](verbs::CompletionStatus& status) {
              target_.published.push_back({from.address, length});
              if (fails) status = verbs::CompletionStatus::kRetryExhausted;
            }};
  }

 private:
  /// What consumes a receive entry; a write with immediate brings no bytes to it.
  struct Arrival {
    std::vector<std::byte> bytes;
    std::uint32_t length;
    verbs::Verb verb;
    std::optional<std::uint64_t> tag;
  };

  static bool due(std::uint32_t every, std::uint64_t& count) { return every != 0 && ++count % every == 0; }

  Request request(Effect effect) {
    if (due(faults_.fail_every, requests_)) {
      return {scheduler_, [](verbs::Completion& c) { c.status = verbs::CompletionStatus::kRetryExhausted; }};
    }
    return {scheduler_, std::move(effect)};
  }
  std::byte* at(std::uint64_t address) { return target_.bytes().data() + (address - FakeTarget::kBase); }
  void copy_from_target(std::byte* out, std::uint64_t from, std::uint32_t length) {
    ++target_.reads[from - FakeTarget::kBase];
    const std::span<const std::byte> source =
        faults_.stale_reads ? std::span<const std::byte>(target_.at_begin) : target_.bytes();
    std::memcpy(out, source.data() + (from - FakeTarget::kBase), length);
    if (due(faults_.corrupt_read_every, reads_)) out[length / 2] ^= std::byte{0x10};
  }
  void copy_to_target(std::uint64_t to, const std::byte* bytes, std::uint32_t length) {
    if (!due(faults_.lose_write_every, writes_)) std::memcpy(at(to), bytes, length);
  }
  /// Gives messages to the first waiting receives of the same tag, or without one as they are, in order.
  void match() {
    for (std::size_t next = 0; next < arrived_.size();) {
      const auto taker = std::find_if(waiting_.begin(), waiting_.end(),
                                      [&](const Receive* each) { return each->tag == arrived_[next].tag; });
      if (taker == waiting_.end()) {
        ++next;
        continue;
      }
      Receive* receive = *taker;
      waiting_.erase(taker);
      const Arrival arrival = std::move(arrived_[next]);
      arrived_.erase(arrived_.begin() + static_cast<std::ptrdiff_t>(next));
      const std::vector<std::byte>& message = arrival.bytes;
      WHARF_CHECK(message.size() <= receive->length);
      if (!message.empty()) {
        std::memcpy(core_.bytes(receive->local, Bytes{receive->length}).data(), message.data(),
                    message.size());
      }
      receive->completion.length = arrival.length;
      receive->completion.verb = arrival.verb;
      receive->completion.kind = verbs::CompletionKind::kReceive;
      scheduler_.after(scheduler_.draw_delay(), [handle = receive->handle] { handle.resume(); });
    }
  }

  FakeScheduler& scheduler_;
  FakeCore& core_;
  FakeTarget& target_;
  FakeFaults faults_;
  FakeRemote* peer_ = nullptr;
  std::deque<Receive*> waiting_;
  std::deque<Arrival> arrived_;
  std::uint64_t requests_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
};

static_assert(verbs::Core<FakeCore>);
static_assert(verbs::RemoteMemory<FakeRemote>);

}  // namespace wharf::workload
