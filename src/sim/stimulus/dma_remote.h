// SPDX-License-Identifier: Apache-2.0
// Remote memory without a protocol: the get programs that run over a protocol stack run here over a device's
// bare DMA requests, so that nothing but the root complex decides what their reads bind.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <utility>

#include "sim/host/memory/host_memory.h"
#include "sim/host/pcie/dma_engine.h"
#include "verbs/remote_memory.h"

namespace wharf::sim {

/// What a device asks of the root complex for the reads of a get. (ASPLOS '26, 5.1: the queue pair is the
/// domain, the first read of a pair acquires; the read-release is what acquire and release cannot say.)
enum class GetAnnotation : std::uint8_t {
  kNone,          ///< Every read relaxed.
  kAcquireFirst,  ///< The lock, or the item's first line, acquires.
  kAcquireAll,    ///< Every line acquires, one after the other: a total order.
  kReadRelease,   ///< As kAcquireFirst, and the item's last line, or the version read again, waits for all.
  kAscending,     ///< The item's lines from the lowest up, and the version read again waits for all.
};

/// A message box of one word: how a client tells a program of the host where its memory is, and when to stop.
class WordBox {
 public:
  struct Receive {
    WordBox& box;
    std::byte* target;
    bool await_ready() const { return box.full_; }
    void await_suspend(std::coroutine_handle<> handle) const { box.waiting_ = handle; }
    verbs::Completion await_resume() const {
      std::memcpy(target, &box.word_, sizeof box.word_);
      box.full_ = false;
      return {};
    }
  };
  void put(const std::byte* word) {
    std::memcpy(&word_, word, sizeof word_);
    full_ = true;
    if (waiting_ != nullptr) std::exchange(waiting_, nullptr).resume();
  }
  Receive receive(std::byte* target) { return {*this, target}; }

 private:
  std::uint64_t word_ = 0;
  std::coroutine_handle<> waiting_;
  bool full_ = false;
};

/// verbs::RemoteMemory over one stream of a DMA engine: reads, writes and atomics of the host's memory.
class DmaRemote {
 public:
  DmaRemote(Simulation& simulation, DmaEngine& engine, std::uint32_t stream, GetAnnotation annotation,
            const verbs::RemoteSegment& segment, HostMemory& client, WordBox& box)
      : simulation_(simulation),
        engine_(engine),
        segment_(segment),
        client_(client),
        box_(box),
        stream_(stream),
        annotation_(annotation) {}

  class Call {
   public:
    Call(DmaRemote& remote, verbs::Verb verb, std::uint64_t address, std::uint32_t length, std::byte* bytes,
         std::uint64_t operand = 0, std::uint64_t compare = 0)
        : remote_(remote),
          address_(address),
          bytes_(bytes),
          operand_(operand),
          compare_(compare),
          length_(length),
          verb_(verb) {}
    bool await_ready() const { return !remote_.supports(verb_); }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      remote_.begin(*this);
    }
    verbs::Completion await_resume() const {
      verbs::Completion completion;
      if (!remote_.supports(verb_)) completion.status = verbs::CompletionStatus::kUnsupportedOpcode;
      completion.verb = verb_;
      completion.atomic_result = old_value_;
      return completion;
    }

   private:
    friend class DmaRemote;
    friend class DmaClientOfGets;
    DmaRemote& remote_;
    std::uint64_t address_;
    std::byte* bytes_;
    std::uint64_t operand_;
    std::uint64_t compare_;
    std::array<std::uint64_t, 2> old_value_{};
    std::coroutine_handle<> handle_;
    std::uint32_t length_;
    std::uint32_t pending_ = 0;  ///< Accesses of the device without an answer.
    verbs::Verb verb_;
  };
  struct Sent {
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    verbs::Completion await_resume() const { return {}; }
  };
  template <typename T>
  struct Refused {
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    T await_resume() const { return value; }
    T value;
  };

  const verbs::RemoteSegment& segment() const { return segment_; }
  bool supports(verbs::Verb verb) const {
    return verb == verbs::Verb::kRead || verb == verbs::Verb::kWrite || verb == verbs::Verb::kSend ||
           verb == verbs::Verb::kFetchAdd || verb == verbs::Verb::kCompareSwap;
  }
  Call read(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return {*this, verbs::Verb::kRead, target.address, length, at(local, length)};
  }
  Call write(std::uint64_t local, verbs::RemoteAddress target, std::uint32_t length) {
    return {*this, verbs::Verb::kWrite, target.address, length, at(local, length)};
  }
  Call fetch_add(verbs::RemoteAddress target, std::uint64_t value) {
    return {*this, verbs::Verb::kFetchAdd, target.address, 8, nullptr, value};
  }
  Call compare_swap(verbs::RemoteAddress target, std::uint64_t compare, std::uint64_t swap) {
    return {*this, verbs::Verb::kCompareSwap, target.address, 8, nullptr, swap, compare};
  }
  Sent send(std::uint64_t local, std::uint32_t) {
    box_.put(at(local, 8));
    return {};
  }
  WordBox::Receive receive(std::uint64_t local, std::uint32_t) { return box_.receive(at(local, 8)); }
  WordBox::Receive receive(const verbs::ReceiveRequest& request) {
    return receive(request.local[0].address, request.local[0].length);
  }
  Call execute(const verbs::WorkRequest& request) {
    return {*this, request.verb, request.remote.address, request.length, nullptr};
  }
  Call write_imm(std::uint64_t, verbs::RemoteAddress target, std::uint32_t length, std::uint64_t) {
    return {*this, verbs::Verb::kWriteImm, target.address, length, nullptr};
  }
  Refused<verbs::LoadedValue> load(verbs::RemoteAddress, std::uint32_t) {
    return {{0, verbs::CompletionStatus::kUnsupportedOpcode}};
  }
  Refused<verbs::CompletionStatus> store(verbs::RemoteAddress, std::uint32_t, std::uint64_t) {
    return {verbs::CompletionStatus::kUnsupportedOpcode};
  }
  Refused<verbs::CompletionStatus> publish(verbs::RemoteAddress, std::uint32_t) {
    return {verbs::CompletionStatus::kSuccess};
  }

 private:
  std::byte* at(std::uint64_t local, std::uint32_t length) {
    return client_.bytes(local, Bytes{length}).data();
  }
  void begin(Call& call);
  void begin_read(Call& call);
  void ask(Call& call, wharf::ordering::Kind kind, std::uint32_t from, std::uint32_t length,
           wharf::ordering::Label label);

  Simulation& simulation_;
  DmaEngine& engine_;
  verbs::RemoteSegment segment_;
  HostMemory& client_;
  WordBox& box_;
  std::uint32_t stream_;
  GetAnnotation annotation_;
};
static_assert(verbs::RemoteMemory<DmaRemote>);

/// Hands the device's answers to the calls that wait for them.
class DmaClientOfGets final : public DmaClient {
 public:
  void dma_done(TimePs, std::uint32_t, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override {
    DmaRemote::Call& call = *reinterpret_cast<DmaRemote::Call*>(ticket);
    call.old_value_ = old_value;
    if (--call.pending_ == 0) call.handle_.resume();
  }
};

}  // namespace wharf::sim
