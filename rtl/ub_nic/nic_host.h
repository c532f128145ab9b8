// SPDX-License-Identifier: Apache-2.0
// The host beside one NIC: rings doorbells, reads completions, and knows what must be where in both memories.
// Apart from the pair of NICs, which only moves cycles on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
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
#include "rtl/ub_nic/nic_order.h"
#include "rtl/ub_nic/nic_plan.h"
#include "rtl/ub_nic/nic_receives.h"
#include "verbs/atomic_value.h"
#include "verbs/verb.h"
#include "verbs/work_request.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

using wire::TaOpcode;

/// What jetty 0 and segment 0 of a side are on the wire.
struct NicNumbers {
  std::uint32_t first_jetty = 0, first_token = 0;

  template <typename Model>
  static NicNumbers of() {
    if constexpr (requires { Model::kFirstJetty; })
      return {Model::kFirstJetty, Model::kFirstToken};
    else
      return {};
  }
};

class NicHost {
 public:
  NicHost(NicMemory& own, NicMemory& remote, NicNumbers numbers, RandomStream random, Findings& found)
      : own_(own),
        remote_(remote),
        random_(random),
        found_(found),
        bell_(random.substream(0)),
        receives_(own, random.substream(1), found),
        numbers_(numbers),
        order_(numbers.first_jetty, found) {}
  /// Whose segments this side names, and whose receives its messages take.
  void face(NicHost& other) {
    other_ = &other.receives_;
    other_numbers_ = other.numbers_;
  }
  NicOrder& order() { return order_; }

  /// What both memories hold at first; `expected` is what the remote one must hold in the end.
  void reset() {
    open_.clear();
    slots_.fill(false);
    offered_.reset();
    next_completion_ = 0;
    phase_ = true;
    receives_.reset();
    order_.reset();
    for (std::byte& byte : own_.bytes()) byte = static_cast<std::byte>(random_.below(256));
    std::memset(own_.at(NicMemory::kBase + NicPlan::kRingAt), 0, NicPlan::kEntryBytes * NicPlan::kRing);
  }
  void expect() { expected_ = remote_.bytes(); }
  bool is_idle() const { return open_.empty() && !offered_ && receives_.is_idle(); }

  /// Before settle(): perhaps a doorbell.
  template <typename Model>
  void drive(Model& nic, bool posts, bool stalls) {
    nic.consumed_i = take_completion();
    receives_.drive(nic, posts);
    if (!offered_ && posts && (!stalls || bell_.open())) offered_ = invent();
    nic.doorbell_valid_i = offered_.has_value();
    if (!offered_) return;
    nic.doorbell_jetty_i = offered_->jetty;
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(offered_->operation), 4);
    bits.put(offered_->is_inline, 1);
    bits.put(static_cast<std::uint64_t>(offered_->order), 2);
    bits.put(offered_->fence, 1);
    bits.put(other_numbers_.first_jetty + offered_->target, 20);
    bits.put(NicMemory::kBase + offered_->remote, 64);
    bits.put(other_numbers_.first_token + offered_->token, 20);
    bits.put(offered_->token_value, 32);
    bits.put(offered_->length, 32);
    bits.put(NicMemory::kBase + offered_->local, 64);
    bits.put(offered_->immediate, 64);
    std::array<std::byte, 16> data{};
    if (wire::is_atomic(offered_->operation)) {
      store_be64(data.data(), offered_->operand);
      store_be64(data.data() + 8, offered_->compare);
    } else {
      for (std::byte& byte : data) byte = std::byte{0xee};  // Beyond the length: must not travel.
      if (offered_->is_inline)
        std::memcpy(data.data(), own_.at(NicMemory::kBase + offered_->local), offered_->length);
    }
    bits.put(data.data(), 16, 16);
    bits.put(offered_->tag, 32);
    if (!bits.is_full()) found_.differ(0, "a packed request of another size");
    std::memcpy(nic.doorbell_i.data(), bits.words().data(), sizeof bits.words());
  }

  /// After settle().
  template <typename Model>
  void take(Model& nic, std::uint64_t now) {
    receives_.take(nic, now);
    if (!offered_ || !nic.doorbell_ready_o) return;
    const Posted posted = *offered_;
    offered_.reset();
    const auto waiting = std::count_if(open_.begin(), open_.end(),
                                       [&](const auto& entry) { return entry.second.jetty == posted.jetty; });
    if (nic.doorbell_refused_o) {
      if (posted.is_wrong)
        found_.coverage.hit("doorbell of no jetty, or of no request");
      else if (waiting < static_cast<long>(NicPlan::kDepth))
        found_.differ(now, "a doorbell refused without need");
      else
        found_.coverage.hit("queue full");
      release(posted);
      return;
    }
    if (posted.is_wrong) found_.differ(now, "a doorbell taken that should be refused");
    open_[posted.tag] = posted;
    order_.posted(posted.jetty, posted.operation, posted.order, posted.fence);
    if (!is_two_sided(posted.operation)) return;
    const std::byte* const data = own_.at(NicMemory::kBase + posted.local);
    const bool is_long = posted.operation != TaOpcode::kWriteImmediate && posted.length > NicPlan::kCapacity;
    other_->expect(posted.tag,
                   {.operation = posted.operation,
                    .from = numbers_.first_jetty + posted.jetty,
                    .target = posted.target,
                    .immediate = posted.immediate,
                    .data = {data, data + posted.length},
                    .status = is_long ? CompletionStatus::kLocalLength : CompletionStatus::kSuccess});
  }

  /// When nothing is under way: every byte of the remote memory that this side may have written.
  void compare(std::uint64_t now) {
    for (const auto& [at, size] :
         {std::pair{NicPlan::kCounters, 0x2000U}, std::pair{NicPlan::kTarget, 0x4000U}}) {
      const std::byte* const is = remote_.at(NicMemory::kBase + at);
      for (std::uint32_t i = 0; i < size; ++i) {
        if (is[i] == expected_[at + i]) continue;
        found_.differ(now, "remote byte at offset " + std::to_string(at + i));
        return;
      }
    }
  }

 private:
  struct Posted {
    TaOpcode operation = TaOpcode::kWrite;
    std::uint32_t jetty = 0, slot = 0, tag = 0, length = 0;
    std::uint32_t remote = 0, local = 0;  ///< Offsets in the memories.
    std::uint32_t token = 0, token_value = 0;
    std::uint64_t operand = 0, compare = 0, immediate = 0;
    std::uint32_t target = 0;  ///< Jetty of the other side.
    verbs::OrderTag order = verbs::OrderTag::kNone;
    bool fence = false;
    bool is_inline = false;
    bool is_wrong = false;    ///< Not to be taken.
    std::uint8_t status = 0;  ///< How it must end.
  };
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }
  static bool is_send(TaOpcode operation) {
    return operation == TaOpcode::kSend || operation == TaOpcode::kSendImmediate;
  }
  static bool is_two_sided(TaOpcode operation) {
    return is_send(operation) || operation == TaOpcode::kWriteImmediate;
  }
  bool& slot_of(const Posted& posted) { return slots_[posted.jetty * NicPlan::kSlots + posted.slot]; }
  TaOpcode any_atomic() {
    return static_cast<TaOpcode>(static_cast<std::uint32_t>(TaOpcode::kAtomicCompareSwap) + below(9));
  }
  std::byte* local_of(const Posted& posted) { return own_.at(NicMemory::kBase + posted.local); }
  void release(const Posted& posted) {
    if (!posted.is_wrong) slot_of(posted) = false;
  }

  std::optional<Posted> invent() {
    Posted posted;
    posted.tag = ++tags_;
    posted.jetty = random_.below(2) == 0 ? below(2) : below(NicPlan::kJetties);  // Some have much to do.
    if (random_.below(64) == 0) {
      posted.is_wrong = true;
      if (random_.below(2) == 0) {
        posted.jetty = NicPlan::kJetties + below(1000);
      } else {
        posted.operation = any_atomic();
        posted.length = random_.below(2) == 0 ? 4 : 16;
      }
      return posted;
    }
    posted.slot = below(NicPlan::kSlots);
    if (slot_of(posted)) return {};
    slot_of(posted) = true;
    const std::uint32_t at = NicPlan::slot(posted.jetty, posted.slot);
    const std::uint32_t offset = below(64);
    constexpr std::array kOperations{TaOpcode::kWrite, TaOpcode::kRead, TaOpcode::kSend,
                                     TaOpcode::kSendImmediate, TaOpcode::kWriteImmediate};
    const std::uint32_t choice = below(7);
    posted.operation = choice < 5 ? kOperations[choice] : any_atomic();
    posted.order = static_cast<verbs::OrderTag>(below(3));
    posted.fence = random_.below(3) == 0;
    posted.target = below(NicPlan::kJetties);
    posted.immediate = random_.next_u64();
    posted.length = random_.below(16) == 0 ? 0 : random_.below(2) == 0 ? below(64) : below(448);
    posted.local = NicPlan::kLocal + at + below(64);
    posted.remote = NicPlan::kTarget + at + offset;
    posted.token = 2;
    if (posted.operation == TaOpcode::kRead) {
      posted.token = 1;
      posted.remote = NicPlan::kConstant + below(NicPlan::kConstantBytes - 448);
    } else if (wire::is_atomic(posted.operation)) {
      posted.token = 0;
      posted.length = 8;
      posted.remote = NicPlan::kCounters + 8 * below(8);
      posted.operand = random_.next_u64();
      // What is there now, if nothing comes between.
      posted.compare = random_.below(4) == 0 ? random_.next_u64() : load_le64(&expected_[posted.remote]);
    } else if (random_.below(2) == 0) {
      posted.is_inline = true;
      posted.length = below(17);
    }
    posted.token_value = NicPlan::kToken + posted.token;
    if (is_send(posted.operation)) {
      posted.token_value = NicPlan::token_of(posted.target);
      posted.length = std::min(posted.length, NicPlan::kCapacity);
    }
    if (random_.below(12) == 0) spoil(posted);
    // Fresh bytes to send, or to be overwritten.
    for (std::uint32_t i = 0; i < NicPlan::kSlotBytes; ++i)
      *own_.at(NicMemory::kBase + NicPlan::kLocal + at + i) = static_cast<std::byte>(random_.below(256));
    return posted;
  }

  /// Something that the target must refuse.
  void spoil(Posted& posted) {
    if (is_send(posted.operation)) return spoil_send(posted);
    posted.status = 8;
    switch (random_.below(5)) {
      case 0:
        posted.token_value ^= 1U << below(32);
        break;
      case 1:
        posted.token = 3 + (below(2) << 10U);  // Never registered; or beyond the table.
        break;
      case 2:  // Ends a byte behind its segment, or begins before it.
        posted.remote = posted.token == 1 ? NicPlan::kConstant - 8 : posted.token == 2 ? 0x5ff8 : 64;
        posted.length = wire::is_atomic(posted.operation) ? 8 : 9;
        break;
      case 3:
        if (wire::is_atomic(posted.operation)) {
          posted.remote += 1 + below(7);
          if (posted.remote + 8 > 64) posted.remote = 1;
        } else {  // Of the wrong right.
          if (posted.operation == TaOpcode::kRead) posted.operation = TaOpcode::kWrite;
          posted.token = 1;
          posted.token_value = NicPlan::kToken + 1;
          posted.remote = NicPlan::kConstant;
          posted.length = std::max(posted.length, 1U);
          if (posted.is_inline) posted.length = std::min(posted.length, 16U);
        }
        break;
      default:
        posted.token = posted.token == 2 ? 0 : 2;  // Another segment, which lies elsewhere.
        posted.token_value = NicPlan::kToken + posted.token;
        if (posted.length == 0) posted.length = 1;
        break;
    }
  }

  /// To no jetty, to one with another token, or longer than its receive.
  void spoil_send(Posted& posted) {
    const std::uint64_t choice = random_.below(3);
    posted.status = 7;
    if (choice == 0) {
      posted.target = NicPlan::kJetties + below(1000);
    } else if (choice == 1 && posted.target % 2 == 1) {
      posted.token_value ^= 1U << below(32);
      posted.status = 8;
    } else {
      posted.is_inline = false;
      posted.length = NicPlan::kCapacity + 1 + below(128);
    }
  }

  /// Whether there was one.
  bool take_completion() {
    const std::byte* entry =
        own_.at(NicMemory::kBase + NicPlan::kRingAt + NicPlan::kEntryBytes * next_completion_);
    if ((std::to_integer<unsigned>(entry[15]) & 1U) != (phase_ ? 1U : 0U)) return false;
    if (++next_completion_ == NicPlan::kRing) {
      next_completion_ = 0;
      phase_ = !phase_;
    }
    if ((std::to_integer<unsigned>(entry[14]) & 1U) != 0) {
      receives_.completed(entry);
      return true;
    }
    const auto it = open_.find(load_le32(entry));
    if (it == open_.end()) return !found_.differ(0, "a completion of nothing, or a second one");
    Posted& posted = it->second;
    const auto status = std::to_integer<std::uint32_t>(entry[12]);
    // A peer that has no receive for long is given up, whatever else is wrong with the request.
    if (is_two_sided(posted.operation) && status == 10) {
      found_.coverage.hit("given up");
      posted.status = 10;
    }
    if (load_le32(entry + 4) != posted.jetty) found_.differ(0, "jetty of a completion");
    if (status != posted.status) found_.differ(0, "status " + std::to_string(status) + " of a completion");
    if (load_le32(entry + 8) != (posted.status == 0 ? posted.length : 0))
      found_.differ(0, "length of a completion");
    if (entry[13] != static_cast<std::byte>(posted.operation)) found_.differ(0, "operation of a completion");
    finish(posted);
    if (is_two_sided(posted.operation)) other_->ended(posted.tag, static_cast<CompletionStatus>(status));
    release(posted);
    open_.erase(it);
    return true;
  }

  void finish(const Posted& posted) {
    Coverage& coverage = found_.coverage;
    const bool is_word = posted.operation == TaOpcode::kWriteImmediate;
    // The data of a Write stays where it is when there is no receive for its word.
    if (is_word && posted.status == 10)
      std::memcpy(&expected_[posted.remote], local_of(posted), posted.length);
    if (posted.status != 0) return coverage.hit("refused");
    coverage.hit(wire::ta_opcode_name(posted.operation));
    coverage.hit_if(posted.length > 128, "several packets");
    coverage.hit_if(posted.length == 0, "no bytes");
    coverage.hit_if(posted.is_inline, "inline");
    std::byte* const local = local_of(posted);
    const std::byte* const remote = remote_.at(NicMemory::kBase + posted.remote);
    if (wire::is_atomic(posted.operation)) return execute(posted, load_le64(local));
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

  /// An atomic that found `old`. Requests of one channel are executed in their order, and answered in it: so
  /// each finds what the one before has left.
  void execute(const Posted& posted, std::uint64_t old) {
    const std::uint64_t value = load_le64(&expected_[posted.remote]);
    if (old != value)
      return static_cast<void>(found_.differ(0, "an atomic twice, lost, or out of its order"));
    const auto step = static_cast<int>(posted.operation) - static_cast<int>(TaOpcode::kAtomicCompareSwap);
    const auto verb = static_cast<verbs::Verb>(static_cast<int>(verbs::Verb::kCompareSwap) + step);
    const bool is_compare = posted.operation == TaOpcode::kAtomicCompareSwap;
    found_.coverage.hit_if(is_compare && value == posted.compare, "comparison that matches");
    found_.coverage.hit_if(is_compare && value != posted.compare, "comparison that does not match");
    store_le64(&expected_[posted.remote], verbs::atomic_value(verb, value, posted.operand, posted.compare));
  }

  NicMemory& own_;
  NicMemory& remote_;
  RandomStream random_;
  Findings& found_;
  Stall bell_;
  NicReceives receives_;
  NicNumbers numbers_, other_numbers_;
  NicOrder order_;
  NicReceives* other_ = nullptr;
  std::vector<std::byte> expected_;
  std::optional<Posted> offered_;
  std::map<std::uint32_t, Posted> open_;  ///< By tag.
  std::array<bool, NicPlan::kJetties * NicPlan::kSlots> slots_{};
  std::uint32_t tags_ = 0;
  std::uint32_t next_completion_ = 0;
  bool phase_ = true;
};

}  // namespace wharf::rtl
