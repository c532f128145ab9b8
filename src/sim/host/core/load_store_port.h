// SPDX-License-Identifier: Apache-2.0
// Loads and stores of mapped remote memory: the core's caches in front, a bounded number of misses in flight,
// and the engine's load/store path behind.
//
//   load   hit: the cached bytes. Miss: the line is read from the remote and kept (write-back,
//   write-through). store  write-back: into the cached line, which a miss reads first; a dirty line that
//   leaves the caches is stored to the
//          remote. Write-through: into the cached line if there is one, and to the remote; no allocation.
//   uncached: every access is one of the remote.
//   publish  writes back the dirty lines of a range, which stay in the caches. Choice: they leave at once,
//   and
//          it ends no earlier than the core has looked at one line of the range after another, each for as
//          long as its first level takes to answer.
// Choice: as many dirty lines are on their way to the remote as misses can be in flight
// (core.outstanding_misses). While more wait to leave, no miss leaves, since it would displace another.
// Choice: there is no store buffer. A store that goes to the remote ends for the program when the target has
// acknowledged it; one that hits a write-back line ends with the hit. So program order is the order of the
// awaits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "sim/host/config/host_config.h"
#include "sim/host/core/core.h"
#include "sim/host/core/run_records.h"
#include "sim/host/core/sim_core.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/on_chip_bus.h"
#include "sim/host/memory/remote_lines.h"
#include "sim/host/nic/nic.h"
#include "verbs/remote_memory.h"
#include "verbs/work_request.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// What the port leans on; all outlive it.
struct LoadStoreParts {
  Core& core;
  CacheHierarchy& caches;
  OnChipBus& bus;
  Dram& dram;
  Nic& nic;
  wire::PayloadPool& payloads;
  RunRecords& records;
};

struct LoadStoreCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;       ///< Lines read from the remote.
  std::uint64_t merged = 0;       ///< Accesses that waited for the miss of another.
  std::uint64_t stores = 0;       ///< Stores sent to the remote.
  std::uint64_t write_backs = 0;  ///< Dirty lines sent to the remote.
  std::uint64_t lines_lost = 0;   ///< Dirty lines whose write-back ended in an error.
  std::uint64_t published = 0;    ///< Dirty lines that a program wanted written back.
};

/// The window of one core onto the remote memory behind one NIC.
class LoadStorePort final : public LoadStoreClient, public CoreDevice, public WriteBackTarget {
 public:
  LoadStorePort(const HostConfig& config, const LoadStoreParts& parts);
  LoadStorePort(const LoadStorePort&) = delete;
  LoadStorePort& operator=(const LoadStorePort&) = delete;

  /// One load or store of 1, 2, 4 or 8 bytes that does not cross a line; in the program's frame.
  struct Call {
    LoadStorePort* port = nullptr;
    verbs::RemoteAddress target;
    std::uint64_t value = 0;
    TimePs begin;
    TimePs ready;  ///< When the lookup was over: what waits after that has another cause.
    wire::OperationTag tag;
    std::coroutine_handle<> handle;
    Call* next = nullptr;  ///< Behind it, waiting for the same.
    std::uint32_t length = 0;
    engine::PeerId peer = verbs::kNoPeer;
    verbs::Verb verb = verbs::Verb::kLoad;
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    bool started = false;
    bool hit = false;
  };
  class LoadCall {
   public:
    LoadCall(LoadStorePort* port, engine::PeerId peer, verbs::RemoteAddress target, std::uint32_t length) {
      call_.port = port;
      call_.target = target;
      call_.length = length;
      call_.peer = peer;
    }
    bool await_ready() { return !admits(call_); }
    void await_suspend(std::coroutine_handle<> handle) { call_.port->start(call_, handle); }
    verbs::LoadedValue await_resume() {
      finish(call_);
      return {call_.value, call_.status};
    }

   private:
    Call call_;
  };
  class StoreCall {
   public:
    StoreCall(LoadStorePort* port, engine::PeerId peer, verbs::RemoteAddress target, std::uint32_t length,
              std::uint64_t value) {
      call_.port = port;
      call_.target = target;
      call_.value = value;
      call_.length = length;
      call_.peer = peer;
      call_.verb = verbs::Verb::kStore;
    }
    bool await_ready() { return !admits(call_); }
    void await_suspend(std::coroutine_handle<> handle) { call_.port->start(call_, handle); }
    verbs::CompletionStatus await_resume() {
      finish(call_);
      return call_.status;
    }

   private:
    Call call_;
  };

  /// Writes back what the caches hold dirty of a range; in the program's frame.
  class PublishCall {
   public:
    /// `port` is null where nothing is cached.
    PublishCall(LoadStorePort* port, engine::PeerId peer, verbs::RemoteAddress target, std::uint32_t length)
        : port_(port), target_(target), peer_(peer), length_(length) {}
    bool await_ready() { return port_ == nullptr || !port_->keeps(*this); }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      port_->publish(*this);
    }
    verbs::CompletionStatus await_resume() const { return status_; }

   private:
    friend class LoadStorePort;
    LoadStorePort* port_;
    verbs::RemoteAddress target_;
    engine::PeerId peer_;
    std::uint32_t length_;
    std::uint32_t lines_left_ = 0;  ///< On their way to the remote.
    TimePs looked_;                 ///< When the core has looked at every line.
    std::coroutine_handle<> handle_;
    verbs::CompletionStatus status_ = verbs::CompletionStatus::kSuccess;
  };

  // LoadStoreClient.
  const verbs::LoadStore& load_store(std::uint32_t tag) override { return misses_[tag].request; }
  void refused(std::uint32_t tag, engine::PostStatus status) override;
  void answered(const verbs::LoadStoreResult& result) override;
  // CoreDevice: the answer to miss `tag` has crossed the bus.
  void handle_device(std::uint32_t tag) override;
  // WriteBackTarget.
  void displaced(const WriteBacks& out) override;
  /// A dirty remote line leaves the caches.
  void write_back(LineNumber line);

  const LoadStoreCounters& counters() const { return counters_; }
  /// The first line that was lost, when one was; like the machine check that a real host raises for it.
  struct LostLine {
    std::uint64_t address = 0;  ///< At the remote.
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  };
  const LostLine& first_lost() const { return first_lost_; }
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  enum class MissKind : std::uint8_t {
    kFill,       ///< Reads a line into the caches.
    kLoad,       ///< Reads for one uncached load.
    kStore,      ///< One store.
    kWriteBack,  ///< A dirty line leaves; takes no miss slot of the core.
  };
  /// Calls in order of arrival, linked through themselves.
  struct CallList {
    Call* first = nullptr;
    Call* last = nullptr;
    void push(Call& call);
    Call* pop();
  };
  /// One request at the engine.
  struct Miss {
    verbs::LoadStore request;
    verbs::LoadStoreResult result;
    LineNumber line = 0;
    TimePs since;     ///< When it could have been issued, had there been a slot.
    CallList served;  ///< Who gets its answer.
    CallList behind;  ///< Who must look the line up again when it has ended.
    MissKind kind = MissKind::kFill;
    bool queued = false;       ///< Waits for room; the bytes of a write-back are taken when it leaves.
    bool write_again = false;  ///< kWriteBack: the line became dirty and left once more meanwhile.
    std::uint32_t publishers = kNoSlot;  ///< kWriteBack: the first of those that wait for its end.
  };
  /// Of a list of those who wait for one write-back.
  struct Publisher {
    PublishCall* call = nullptr;
    std::uint32_t next = kNoSlot;
  };

  static bool admits(Call& call);
  static void finish(Call& call);
  void start(Call& call, std::coroutine_handle<> handle);
  /// Looks the line of `call` up, at `now`, and does what follows.
  void look_up(Call& call, TimePs now);
  /// True when the line is in flight and the call now waits for that.
  bool joins_flight(Call& call, LineNumber line, TimePs now);
  /// Makes a request of a call whose lookup ends at call.ready.
  void go_remote(Call& call, LineNumber line, MissKind kind);
  void build_request(std::uint32_t tag, const Call& call);
  /// Sends the request of a miss at `at`, when its lookup is over and it has a slot.
  void issue(std::uint32_t tag, TimePs at);
  void issue_write_back(std::uint32_t tag);
  /// Gives the bytes of a miss that ended to the calls it serves; returns the lines that its fill displaced.
  WriteBacks serve(TimePs now, const Miss& miss);
  /// Loads from, or stores into, the bytes of its line.
  static void perform(Call& call, RemoteLines::Bytes& line);
  std::uint32_t take_miss();
  static LineNumber line_number(const Call& call);
  static LineNumber line_number(engine::PeerId peer, std::uint64_t address);
  /// Whether lines of the range may be dirty; if not, its status says why it ends at once.
  bool keeps(PublishCall& call) const;
  void publish(PublishCall& call);
  /// `call` ends no earlier than the write-back of a line, which is under way.
  void await_write_back(std::uint32_t tag, PublishCall& call);
  /// A write-back has ended: those who waited for the last of their lines go on.
  void tell_publishers(TimePs now, const Miss& miss);

  /// Whether one more miss of the core may leave.
  bool has_room() const {
    return slots_used_ < config_.core.outstanding_misses && queued_write_backs_.empty();
  }
  /// Lets misses leave that waited for room.
  void issue_waiting(TimePs now);
  /// A write-back has ended: the next that waits takes its room.
  void end_write_back();
  /// Sends the dirty remote lines of `out`, whose bytes have been settled.
  void send_write_backs(const WriteBacks& out);
  /// The stores in a dirty line ended for their programs long ago, and its write-back has failed.
  void lose_line(TimePs now, const Miss& miss);

  HostConfig config_;
  LoadStoreParts parts_;
  SlotPool<Miss> misses_;
  SlotPool<Publisher> publishers_;
  FlatMap lines_in_flight_;      ///< Line to miss, except uncached ones.
  Ring<std::uint32_t> waiting_;  ///< Misses without a slot of the core, in order.
  std::uint32_t slots_used_ = 0;
  Ring<std::uint32_t> queued_write_backs_;  ///< Those without room, in order; their lines are pinned.
  std::uint32_t write_backs_out_ = 0;
  RemoteLines lines_;
  LoadStoreCounters counters_;
  LostLine first_lost_;
};

}  // namespace wharf::sim
