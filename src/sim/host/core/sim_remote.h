// SPDX-License-Identifier: Apache-2.0
// Remote memory as a simulated program sees it: one queue toward one peer. Submission over the bus, by
// doorbell or by BlueFlame; completion by polling host memory or an on-chip buffer; loads and stores through
// the core's caches.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/slot_pool.h"
#include "base/time.h"
#include "sim/host/config/host_config.h"
#include "sim/host/core/core.h"
#include "sim/host/core/load_store_port.h"
#include "sim/host/core/mmio_stream.h"
#include "sim/host/core/run_records.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/nic/nic.h"
#include "verbs/remote_memory.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// Everything a SimRemote leans on; all outlive it.
struct RemoteParts {
  Core& core;
  HostMemory& memory;
  wire::PayloadPool& payloads;
  Nic& nic;
  LoadStorePort* load_store;  ///< Null: this protocol has no loads and stores.
  RunRecords& records;
  MmioStream* stream = nullptr;  ///< Where submission is kMmioStream.
};

/// verbs::RemoteMemory over one queue of one NIC. Several coroutines of the core may use it at once.
class SimRemote final : public QueueClient, public StreamClient {
 public:
  /// `supported`: bit per verb that the engine has.
  SimRemote(const HostConfig& config, const RemoteParts& parts, Attachment attachment,
            SubmissionPath submission, engine::QueueId queue, engine::PeerId peer,
            const verbs::RemoteSegment& segment, std::uint32_t supported);
  SimRemote(const SimRemote&) = delete;
  SimRemote& operator=(const SimRemote&) = delete;

  /// One operation, awaited in the program's frame.
  class Call {
   public:
    Call(SimRemote& remote, const verbs::WorkRequest& request) : remote_(remote), request_(request) {}
    Call(SimRemote& remote, const verbs::ReceiveRequest& receive)
        : remote_(remote), receive_(receive), is_receive_(true) {}
    bool await_ready() { return !remote_.admits(*this); }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      remote_.start(*this);
    }
    verbs::Completion await_resume() { return remote_.finish(*this); }

   private:
    friend class SimRemote;
    SimRemote& remote_;
    verbs::WorkRequest request_;
    verbs::ReceiveRequest receive_;
    verbs::Completion completion_;
    std::coroutine_handle<> handle_;
    std::uint64_t id_ = 0;  ///< The program's own.
    TimePs begin_;
    wire::OperationTag tag_;
    bool is_receive_ = false;
    bool started_ = false;
  };

  /// Calls under way at one time, of all programs together.
  static constexpr std::uint32_t kMostCalls = 1U << 16U;

  const verbs::RemoteSegment& segment() const { return segment_; }
  bool supports(verbs::Verb verb) const { return (supported_ >> static_cast<unsigned>(verb) & 1U) != 0; }

  Call execute(const verbs::WorkRequest& request) { return {*this, request}; }
  Call read(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return execute(transfer(verbs::Verb::kRead, local, target, length));
  }
  Call write(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return execute(transfer(verbs::Verb::kWrite, local, target, length));
  }
  Call write_imm(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length,
                 std::uint64_t immediate) {
    verbs::WorkRequest request = transfer(verbs::Verb::kWriteImm, local, target, length);
    request.immediate = immediate;
    return execute(request);
  }
  Call send(std::uint64_t local, std::uint32_t length) {
    return execute(transfer(verbs::Verb::kSend, local, {}, length));
  }
  Call receive(std::uint64_t local, std::uint32_t length) {
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {local, length};
    return {*this, receive};
  }
  Call receive(const verbs::ReceiveRequest& request) { return {*this, request}; }
  Call fetch_add(verbs::RemoteAddress target, std::uint64_t value) {
    return execute(atomic(verbs::Verb::kFetchAdd, target, value, 0));
  }
  Call compare_swap(verbs::RemoteAddress target, std::uint64_t compare, std::uint64_t swap) {
    return execute(atomic(verbs::Verb::kCompareSwap, target, swap, compare));
  }
  LoadStorePort::LoadCall load(verbs::RemoteAddress target, std::uint32_t length) {
    return {load_store_, peer_, target, length};
  }
  LoadStorePort::StoreCall store(verbs::RemoteAddress target, std::uint32_t length, std::uint64_t value) {
    return {load_store_, peer_, target, length, value};
  }
  LoadStorePort::PublishCall publish(verbs::RemoteAddress target, std::uint32_t length) {
    return {load_store_, peer_, target, length};
  }

  engine::QueueId queue() const { return queue_; }
  engine::PeerId peer() const { return peer_; }
  /// Messages that arrived without taking a receive entry, and that the program was told of: Ultra Ethernet's
  /// writes with immediate data (Capabilities::write_imm_takes_receive).
  std::uint64_t unasked_arrivals() const { return unasked_arrivals_; }

  // QueueClient.
  const verbs::WorkRequest& request(std::uint32_t slot) override { return calls_[slot].call->request_; }
  const verbs::ReceiveRequest& receive_request(std::uint32_t slot) override {
    return calls_[slot].call->receive_;
  }
  void posted(std::uint32_t slot, engine::PostStatus status) override;
  void completed(const verbs::Completion& completion) override;

  // StreamClient.
  void message_in(TimePs now, std::uint32_t slot) override;

  /// Who waits for what, for stall reports.
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  struct Slot {
    Call* call = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t stream_bytes = 0;  ///< Of the message in the NIC's memory, if it was written there.
    TimePs submitted;                ///< When its first line was stored.
  };

  verbs::WorkRequest transfer(verbs::Verb verb, std::uint64_t local, verbs::RemoteAddress target,
                              std::uint32_t length) const;
  verbs::WorkRequest atomic(verbs::Verb verb, verbs::RemoteAddress target, std::uint64_t operand,
                            std::uint64_t compare) const;
  /// The core looks at a completion that has come now; the time in which it does.
  struct Polled {
    Core::Busy busy;
    TimePs found;  ///< When it has read the record; the rest is the library's.
  };
  Polled poll();
  /// False: the call ends at once, with its status set.
  bool admits(Call& call);
  void start(Call& call);
  verbs::Completion finish(Call& call);
  void submit(Call& call, std::uint32_t slot, TimePs at);
  /// Bytes that the core would have to hand over together with the entry.
  static std::uint32_t payload_bytes(const verbs::WorkRequest& request);
  /// The part of it that is written to the NIC behind the entry: all or nothing.
  std::uint32_t streamed_payload(const verbs::WorkRequest& request) const;
  /// The core copies the payload: from here on it is what the program had in memory now.
  void copy_payload(verbs::WorkRequest& request, std::uint32_t payload);
  /// Hands the request to the NIC, which has what was submitted since `reached`; the code of `source` runs.
  void hand_over(Call& call, std::uint32_t slot, TimePs reached, ComponentId source,
                 engine::Submission submission);
  void end_call(std::uint32_t slot, TimePs at);

  HostConfig config_;
  RemoteParts parts_;
  Attachment attachment_;
  SubmissionPath submission_;
  engine::QueueId queue_;
  engine::PeerId peer_;
  verbs::RemoteSegment segment_;
  std::uint32_t supported_;
  LoadStorePort* load_store_;
  std::uint16_t client_;
  std::optional<std::uint32_t> stream_queue_;
  SlotPool<Slot> calls_;
  std::uint64_t atomic_results_ =
      0;  ///< Local memory for old values, 16 bytes per slot; 0: they come in the record.
  std::uint64_t unasked_arrivals_ = 0;
  TimePs order_free_;  ///< When the queue's serialisation of requests lets the next one in.
};

static_assert(verbs::RemoteMemory<SimRemote>);

}  // namespace wharf::sim
