// SPDX-License-Identifier: Apache-2.0
// The far memory of a replayed trace: turns what the replay asks for (lines, pages) into operations on a
// SimRemote, each in one of a fixed number of worker coroutines.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "sim/host/core/sim_core.h"
#include "sim/host/core/sim_remote.h"
#include "sim/host/replay/paging.h"
#include "sim/host/replay/trace_replay.h"
#include "verbs/gate.h"
#include "verbs/task.h"

namespace wharf::sim {

/// Both kinds of port that a replay can have. The trace's addresses are folded into the remote segment.
class ReplayPort {
 public:
  /// `lines_by_load_store`: lines move by loads and stores; otherwise by reads and writes.
  ReplayPort(SimCore& core, SimRemote& remote, bool lines_by_load_store)
      : core_(core), remote_(remote), lines_by_load_store_(lines_by_load_store) {}
  ReplayPort(const ReplayPort&) = delete;
  ReplayPort& operator=(const ReplayPort&) = delete;

  /// Answers go to `replay` from now on. Spawns `workers` coroutines with buffers of `buffer_bytes`.
  void start(TraceReplay<ReplayPort>& replay, std::uint32_t workers, std::uint64_t buffer_bytes) {
    replay_ = &replay;
    for (std::uint32_t i = 0; i < workers; ++i) {
      workers_.emplace_back();
      core_.spawn(work(workers_.back(), core_.allocate(Bytes{buffer_bytes})));
    }
  }
  /// Ends the workers once the replay has finished.
  void stop() {
    stopping_ = true;
    for (Worker* worker : idle_) worker->go.open();
    idle_.clear();
  }

  void start_load(TimePs at, std::uint64_t address, std::uint32_t size, std::uint32_t id) {
    start({Kind::kLoad, at, fold(address, size), size, id});
  }
  void start_store(TimePs at, std::uint64_t address, std::uint32_t size, std::uint32_t id) {
    start({Kind::kStore, at, fold(address, size), size, id});
  }
  void start_page_read(TimePs at, PageNumber page, std::uint32_t pages, std::uint32_t id) {
    const auto bytes = static_cast<std::uint32_t>(pages * kPageBytes);
    start({Kind::kPageRead, at, fold(page * kPageBytes, bytes), bytes, id});
  }
  void start_page_write(TimePs at, PageNumber page, std::uint32_t id) {
    const auto bytes = static_cast<std::uint32_t>(kPageBytes);
    start({Kind::kPageWrite, at, fold(page * kPageBytes, bytes), bytes, id});
  }

  /// Opened whenever an answer may have given the replay something to do.
  verbs::Gate& answered() { return answered_; }
  /// The first operation that failed; success if none did.
  verbs::CompletionStatus failure() const { return failure_; }

 private:
  enum class Kind : std::uint8_t { kLoad, kStore, kPageRead, kPageWrite };
  struct Job {
    Kind kind = Kind::kLoad;
    TimePs at;
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t id = 0;
  };
  struct Worker {
    verbs::Gate go;
    Job job;
  };

  /// Where `size` bytes at a trace address lie in the segment. Neighbours stay neighbours.
  std::uint64_t fold(std::uint64_t address, std::uint32_t size) const {
    const std::uint64_t room = remote_.segment().length - size;
    return address <= room ? address : address % (room & ~std::uint64_t{kPageBytes - 1});
  }

  void start(const Job& job) {
    if (idle_.empty()) {
      backlog_.push_back(job);
      return;
    }
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.job = job;
    worker.go.open();
  }

  verbs::Task<void> work(Worker& worker, std::uint64_t buffer) {
    for (;;) {
      if (backlog_.empty()) {
        if (stopping_) co_return;
        idle_.push_back(&worker);
        co_await worker.go.wait();
        if (stopping_) co_return;
      } else {
        worker.job = backlog_.front();
        backlog_.pop_front();
      }
      const Job job = worker.job;
      // A sleep even of no length: the replay must not be answered from inside its own call.
      co_await core_.resume_at(max(job.at, core_.now()));
      const verbs::RemoteAddress target = remote_.segment().at(job.offset);
      verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
      switch (job.kind) {
        case Kind::kLoad:
          if (lines_by_load_store_) {
            const verbs::LoadedValue loaded = co_await remote_.load(word_of(target), kWordBytes);
            status = loaded.status;
          } else {
            const verbs::Completion read = co_await remote_.read(buffer, target, job.size);
            status = read.status;
          }
          break;
        case Kind::kStore:
          if (lines_by_load_store_) {
            status = co_await remote_.store(word_of(target), kWordBytes, job.id);
          } else {
            const verbs::Completion written = co_await remote_.write(buffer, target, job.size);
            status = written.status;
          }
          break;
        case Kind::kPageRead: {
          const verbs::Completion read = co_await remote_.read(buffer, target, job.size);
          status = read.status;
          break;
        }
        case Kind::kPageWrite: {
          const verbs::Completion written = co_await remote_.write(buffer, target, job.size);
          status = written.status;
          break;
        }
      }
      if (status != verbs::CompletionStatus::kSuccess && failure_ == verbs::CompletionStatus::kSuccess)
        failure_ = status;
      answer(job);
    }
  }

  void answer(const Job& job) {
    const TimePs now = core_.now();
    switch (job.kind) {
      case Kind::kLoad:
        replay_->load_done(now, job.id);
        break;
      case Kind::kStore:
        replay_->store_done(now, job.id);
        break;
      case Kind::kPageRead:
        replay_->page_read_done(now, job.id);
        break;
      case Kind::kPageWrite:
        replay_->page_write_done(now, job.id);
        break;
    }
    if (answered_.has_waiters()) answered_.open();
  }

  /// One load or store moves a whole line, whichever of its words is named.
  static verbs::RemoteAddress word_of(verbs::RemoteAddress target) {
    target.address &= ~std::uint64_t{kWordBytes - 1};
    return target;
  }

  static constexpr std::uint32_t kWordBytes = 8;

  SimCore& core_;
  SimRemote& remote_;
  bool lines_by_load_store_;
  TraceReplay<ReplayPort>* replay_ = nullptr;
  std::deque<Worker> workers_;
  std::vector<Worker*> idle_;
  std::deque<Job> backlog_;
  verbs::Gate answered_;
  bool stopping_ = false;
  verbs::CompletionStatus failure_ = verbs::CompletionStatus::kSuccess;
};

}  // namespace wharf::sim
