// SPDX-License-Identifier: Apache-2.0
// The host beside one RoCE NIC: rings doorbells, reads completions, and knows what must be where in both
// memories. Apart from the pair of NICs, which only moves cycles on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/roce_nic/roce_plan.h"
#include "rtl/roce_nic/roce_receives.h"
#include "verbs/atomic_value.h"
#include "verbs/completion.h"
#include "verbs/verb.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

using verbs::CompletionStatus;

/// Puts a request into the doorbell port, as nic_request_t has it.
struct RoceRequest {
  TaOpcode operation = TaOpcode::kWrite;
  bool is_inline = false, fence = false;
  std::uint64_t remote_address = 0, local_address = 0;
  std::uint32_t key = 0, length = 0, immediate = 0, tag = 0;
  std::array<std::byte, 16> data{};  ///< Inline data, or operands.

  template <typename Model>
  void ring(Model& nic, std::uint32_t pair) const {
    nic.doorbell_pair_i = pair;
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(operation), 4);
    bits.put(is_inline, 1);
    bits.put(0, 2);
    bits.put(fence, 1);
    bits.put(0, 20);
    bits.put(remote_address, 64);
    bits.put(0, 20);
    bits.put(key, 32);
    bits.put(length, 32);
    bits.put(local_address, 64);
    bits.put(immediate, 64);
    bits.put(data.data(), 16, 16);
    bits.put(tag, 32);
    std::memcpy(nic.doorbell_i.data(), bits.words().data(), sizeof bits.words());
  }
};

class RoceHost {
 public:
  /// `number`: of queue pair 0 of this side.
  RoceHost(NicMemory& own, NicMemory& remote, std::uint32_t number, RandomStream random, Findings& found)
      : own_(own),
        remote_(remote),
        random_(random),
        found_(found),
        bell_(random.substream(0)),
        receives_(own, random.substream(1), found),
        number_(number) {}
  void face(RoceHost& other) { other_ = &other; }
  std::uint32_t number() const { return number_; }

  void reset() {
    for (auto& queue : open_) queue.clear();
    slots_.fill(false);
    unsure_.fill(false);
    ended_.fill(false);
    troubled_.fill(false);
    offered_.reset();
    next_completion_ = 0;
    phase_ = true;
    receives_.reset();
    for (std::byte& byte : own_.bytes()) byte = static_cast<std::byte>(random_.below(256));
    std::memset(own_.at(NicMemory::kBase + RocePlan::kRingAt), 0, RocePlan::kEntryBytes * RocePlan::kRing);
  }
  /// `expected` is what the remote memory must hold in the end.
  void expect() { expected_ = remote_.bytes(); }
  bool is_idle() const {
    return !offered_ &&
           std::all_of(open_.begin(), open_.end(), [](const auto& each) { return each.empty(); }) &&
           receives_.is_idle();
  }
  /// Some queue pair is over, or soon will be.
  bool is_troubled() const { return std::find(troubled_.begin(), troubled_.end(), true) != troubled_.end(); }

  /// Before settle(): perhaps a doorbell.
  template <typename Model>
  void drive(Model& nic, bool posts, bool stalls) {
    nic.consumed_i = take_completion();
    if (random_.below(2000) == 0) few_ = !few_;
    receives_.drive(nic, posts && few_);
    if (!offered_ && posts && (!stalls || bell_.open())) offered_ = invent();
    nic.doorbell_valid_i = offered_.has_value();
    if (!offered_) return;
    RoceRequest request;
    request.operation = offered_->operation;
    request.is_inline = offered_->is_inline;
    request.fence = offered_->fence;
    request.remote_address = NicMemory::kBase + offered_->remote;
    request.local_address = NicMemory::kBase + offered_->local;
    request.key = offered_->key;
    request.length = offered_->length;
    request.immediate = offered_->immediate;
    request.tag = offered_->tag;
    if (is_atomic(offered_->operation)) {
      store_be64(request.data.data(), offered_->operand);
      store_be64(request.data.data() + 8, offered_->compare);
    } else {
      request.data.fill(std::byte{0xee});  // Beyond the length: must not travel.
      if (offered_->is_inline)
        std::memcpy(request.data.data(), own_.at(NicMemory::kBase + offered_->local), offered_->length);
    }
    request.ring(nic, offered_->pair);
  }

  /// After settle().
  template <typename Model>
  void take(Model& nic, std::uint64_t now) {
    receives_.take(nic, now);
    if (!offered_ || !nic.doorbell_ready_o) return;
    const Posted posted = *std::exchange(offered_, {});
    if (nic.doorbell_refused_o) {
      if (posted.is_wrong)
        found_.coverage.hit("doorbell of no queue pair, or of no request");
      else if (troubled_[posted.pair])
        found_.coverage.hit("doorbell of one that has ended");
      else if (open_[posted.pair].size() < RocePlan::kDepth)
        found_.differ(now, "a doorbell refused without need");
      else
        found_.coverage.hit("queue full");
      if (!posted.is_wrong) slot_of(posted) = false;
      return;
    }
    if (posted.is_wrong) {
      found_.differ(now, "a doorbell taken that should be refused");
      return;
    }
    open_[posted.pair].push_back(posted);
    if (posted.status != CompletionStatus::kSuccess) give_up(posted.pair);
    if (!is_two_sided(posted.operation)) return;
    const std::byte* const data = local_of(posted);
    other_->receives_.expect(posted.pair,
                             {posted.operation, posted.immediate, posted.length,
                              is_send(posted.operation) ? std::vector<std::byte>{data, data + posted.length}
                                                        : std::vector<std::byte>{}});
  }

  /// When nothing is under way: every byte of the remote memory that this side may have written.
  void compare(std::uint64_t now) {
    for (const auto& [at, size] : {std::pair{RocePlan::kCounters, RocePlan::kTarget},
                                   std::pair{RocePlan::kTarget, RocePlan::kTargetBytes}}) {
      const std::byte* const is = remote_.at(NicMemory::kBase + at);
      for (std::uint32_t i = 0; i < size; ++i) {
        if (is[i] == expected_[at + i] || is_unsure(at + i)) continue;
        found_.differ(now, "remote byte at offset " + std::to_string(at + i));
        return;
      }
    }
  }

 private:
  struct Posted {
    TaOpcode operation = TaOpcode::kWrite;
    std::uint32_t pair = 0, slot = 0, tag = 0, length = 0, key = 0, immediate = 0;
    std::uint32_t remote = 0, local = 0;  ///< Offsets in the memories.
    std::uint64_t operand = 0, compare = 0;
    bool fence = false, is_inline = false;
    bool is_wrong = false;                                 ///< Not to be taken.
    CompletionStatus status = CompletionStatus::kSuccess;  ///< How it must end.
  };
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }
  static bool is_send(TaOpcode operation) {
    return operation == TaOpcode::kSend || operation == TaOpcode::kSendImmediate;
  }
  static bool is_two_sided(TaOpcode operation) {
    return is_send(operation) || operation == TaOpcode::kWriteImmediate;
  }
  static bool is_atomic(TaOpcode operation) {
    return operation == TaOpcode::kAtomicCompareSwap || operation == TaOpcode::kAtomicFetchAdd;
  }
  bool& slot_of(const Posted& posted) { return slots_[posted.pair * RocePlan::kSlots + posted.slot]; }
  std::byte* local_of(const Posted& posted) { return own_.at(NicMemory::kBase + posted.local); }

  /// What happens to requests of this queue pair, either way, is not sure any more.
  void give_up(std::uint32_t pair) {
    for (RoceHost* host : {this, other_}) {
      host->troubled_[pair] = true;
      host->receives_.give_up(pair);
    }
  }
  bool is_unsure(std::uint32_t at) const {
    if (at < 64) return troubled_[at / 8 % RocePlan::kPairs];
    return at >= RocePlan::kTarget && unsure_[(at - RocePlan::kTarget) / RocePlan::kSlotBytes];
  }

  std::optional<Posted> invent() {
    Posted posted;
    posted.tag = ++tags_;
    posted.pair = random_.below(2) == 0 ? 0 : below(RocePlan::kPairs);  // One has much to do.
    if (random_.below(64) == 0) {
      posted.is_wrong = true;
      if (random_.below(2) == 0) {
        posted.pair = RocePlan::kPairs + below(1000);
      } else {
        posted.operation = random_.below(2) == 0 ? TaOpcode::kAtomicSwap : TaOpcode::kAtomicFetchAdd;
        posted.length = posted.operation == TaOpcode::kAtomicSwap ? 8 : 4;
      }
      return posted;
    }
    posted.slot = below(RocePlan::kSlots);
    if (slot_of(posted) || (troubled_[posted.pair] && random_.below(64) != 0)) return {};
    slot_of(posted) = true;
    const std::uint32_t at = RocePlan::slot(posted.pair, posted.slot);
    constexpr std::array kOperations{TaOpcode::kWrite,          TaOpcode::kRead,
                                     TaOpcode::kSend,           TaOpcode::kSendImmediate,
                                     TaOpcode::kWriteImmediate, TaOpcode::kAtomicCompareSwap,
                                     TaOpcode::kAtomicFetchAdd};
    posted.operation = kOperations[below(7)];
    posted.fence = random_.below(3) == 0;
    posted.immediate = random_.next_u32();
    posted.length = random_.below(16) == 0  ? 0
                    : random_.below(2) == 0 ? below(64)
                                            : below(RocePlan::kLongest);
    posted.local = RocePlan::kLocal + at + below(64);
    posted.remote = RocePlan::kTarget + at + below(64);
    std::uint32_t region = 2;
    if (posted.operation == TaOpcode::kRead) {
      region = 1;
      posted.remote = RocePlan::kConstant + below(RocePlan::kConstantBytes - RocePlan::kLongest);
    } else if (is_atomic(posted.operation)) {
      region = 0;
      posted.length = 8;
      posted.remote = RocePlan::kCounters + 8 * posted.pair;
      posted.operand = random_.next_u64();
      // What is there now, if nothing comes between.
      posted.compare = random_.below(4) == 0 ? random_.next_u64() : load_le64(&expected_[posted.remote]);
    } else if (random_.below(2) == 0) {
      posted.is_inline = true;
      posted.length = below(17);
    }
    posted.key = RocePlan::key_of(region);
    if (is_send(posted.operation)) posted.length = std::min(posted.length, RocePlan::kCapacity);
    if (random_.below(100) == 0) spoil(posted, region);
    // Fresh bytes to send, or to be overwritten.
    for (std::uint32_t i = 0; i < RocePlan::kSlotBytes; ++i)
      *own_.at(NicMemory::kBase + RocePlan::kLocal + at + i) = static_cast<std::byte>(random_.below(256));
    return posted;
  }

  /// Something that the target must refuse.
  void spoil(Posted& posted, std::uint32_t region) {
    if (is_send(posted.operation)) {
      posted.status = CompletionStatus::kRemoteUnsupportedRequest;
      posted.is_inline = false;
      posted.length = RocePlan::kCapacity + 1 + below(RocePlan::kLongest - RocePlan::kCapacity);
      return;
    }
    posted.status = CompletionStatus::kRemoteAccess;
    posted.length = std::max(posted.length, 1U);  // No key is looked at for nothing.
    switch (random_.below(4)) {
      case 0:
        posted.key ^= 1U << below(32);
        break;
      case 1:  // Ends a byte behind its region, or begins before it.
        posted.remote = region == 1   ? RocePlan::kConstant - 8
                        : region == 2 ? RocePlan::kTarget + RocePlan::kTargetBytes - 8
                                      : 64;
        posted.length = is_atomic(posted.operation) ? 8 : 9;
        break;
      case 2:
        if (is_atomic(posted.operation)) {
          posted.remote += 1 + below(7);
          posted.status = CompletionStatus::kRemoteUnsupportedRequest;
        } else {  // Of the wrong right.
          if (posted.operation == TaOpcode::kRead) posted.operation = TaOpcode::kWrite;
          posted.key = RocePlan::key_of(1);
          posted.remote = RocePlan::kConstant;
        }
        break;
      default:
        posted.key = RocePlan::key_of(region == 2 ? 0 : 2);  // Another region, which lies elsewhere.
        break;
    }
  }

  /// Whether there was one.
  bool take_completion() {
    const std::byte* entry =
        own_.at(NicMemory::kBase + RocePlan::kRingAt + RocePlan::kEntryBytes * next_completion_);
    if ((std::to_integer<unsigned>(entry[15]) & 1U) != (phase_ ? 1U : 0U)) return false;
    if (++next_completion_ == RocePlan::kRing) {
      next_completion_ = 0;
      phase_ = !phase_;
    }
    if ((std::to_integer<unsigned>(entry[14]) & 1U) != 0) {
      receives_.completed(entry, other_->number_);
      return true;
    }
    const std::uint32_t pair = load_le32(entry + 4);
    if (pair >= RocePlan::kPairs || open_[pair].empty() || open_[pair].front().tag != load_le32(entry))
      return !found_.differ(0, "a completion of nothing, a second one, or one out of its order");
    const Posted posted = open_[pair].front();
    open_[pair].pop_front();
    const auto status = static_cast<CompletionStatus>(entry[12]);
    if (load_le32(entry + 8) != (status == CompletionStatus::kSuccess ? posted.length : 0))
      found_.differ(0, "length of a completion");
    if (entry[13] != static_cast<std::byte>(posted.operation)) found_.differ(0, "operation of a completion");
    judge(posted, status);
    slot_of(posted) = false;
    return true;
  }

  void judge(const Posted& posted, CompletionStatus status) {
    Coverage& coverage = found_.coverage;
    const std::uint32_t pair = posted.pair;
    if (status == CompletionStatus::kSuccess) {
      if (posted.status != status) found_.differ(0, "a request that should be refused");
      if (ended_[pair]) found_.differ(0, "a request of a queue pair that has ended");
      return finish(posted);
    }
    if (status == CompletionStatus::kFlushed) {
      if (!troubled_[pair]) found_.differ(0, "a request that was flushed without need");
      coverage.hit("flushed");
    } else if (status == CompletionStatus::kReceiverNotReady && is_two_sided(posted.operation)) {
      coverage.hit("given up");
      give_up(pair);
    } else if (status == posted.status) {
      coverage.hit("refused");
    } else if (status == CompletionStatus::kRetryExhausted && troubled_[pair]) {
      coverage.hit("retries exhausted");
    } else {
      found_.differ(0, "status " + std::to_string(static_cast<int>(status)) + " of a completion");
    }
    if (ended_[pair] && status != CompletionStatus::kFlushed)
      found_.differ(0, "an error of a queue pair that has ended");
    ended_[pair] = true;
    if (posted.operation == TaOpcode::kWrite || posted.operation == TaOpcode::kWriteImmediate)
      unsure_[pair * RocePlan::kSlots + posted.slot] = true;
  }

  void finish(const Posted& posted) {
    Coverage& coverage = found_.coverage;
    coverage.hit(wire::ta_opcode_name(posted.operation));
    coverage.hit_if(posted.length > RocePlan::kMtu, "several packets");
    coverage.hit_if(posted.length == 0, "no bytes");
    coverage.hit_if(posted.is_inline, "inline");
    coverage.hit_if(posted.fence, "fence");
    std::byte* const local = local_of(posted);
    const std::byte* const remote = remote_.at(NicMemory::kBase + posted.remote);
    if (is_atomic(posted.operation)) return execute(posted, load_le64(local));
    if (posted.operation == TaOpcode::kRead) {
      if (std::memcmp(remote, local, posted.length) != 0) found_.differ(0, "what a Read has read");
      return;
    }
    if (is_send(posted.operation)) return;  // The receive knows.
    std::memcpy(&expected_[posted.remote], local, posted.length);
    if (const auto [here, there] = std::mismatch(local, local + posted.length, remote);
        here != local + posted.length) {
      found_.differ(0, "byte " + std::to_string(here - local) + " of " + std::to_string(posted.length) +
                           (posted.is_inline ? " inline" : "") + " that a Write has written");
    }
  }

  /// An atomic that found `old`: those of a queue pair are executed in order, and each pair has its counter.
  void execute(const Posted& posted, std::uint64_t old) {
    const std::uint64_t value = load_le64(&expected_[posted.remote]);
    if (old != value)
      return static_cast<void>(found_.differ(0, "an atomic twice, lost, or out of its order"));
    const bool is_compare = posted.operation == TaOpcode::kAtomicCompareSwap;
    found_.coverage.hit_if(is_compare && value == posted.compare, "comparison that matches");
    found_.coverage.hit_if(is_compare && value != posted.compare, "comparison that does not match");
    const verbs::Verb verb = is_compare ? verbs::Verb::kCompareSwap : verbs::Verb::kFetchAdd;
    store_le64(&expected_[posted.remote], verbs::atomic_value(verb, value, posted.operand, posted.compare));
  }

  NicMemory& own_;
  NicMemory& remote_;
  RandomStream random_;
  Findings& found_;
  Stall bell_;
  RoceReceives receives_;
  std::uint32_t number_;
  RoceHost* other_ = nullptr;
  std::vector<std::byte> expected_;
  std::optional<Posted> offered_;
  std::array<std::deque<Posted>, RocePlan::kPairs> open_;
  std::array<bool, RocePlan::kPairs * RocePlan::kSlots> slots_{}, unsure_{};
  std::array<bool, RocePlan::kPairs> ended_{}, troubled_{};
  std::uint32_t tags_ = 0;
  std::uint32_t next_completion_ = 0;
  bool phase_ = true, few_ = false;
};

}  // namespace wharf::rtl
