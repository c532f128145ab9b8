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
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/ub_nic/nic_memory.h"
#include "verbs/atomic_value.h"
#include "verbs/verb.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

using wire::TaOpcode;

/// Sizes of the instance that is tested, and where things stand in the memory of each side.
struct NicPlan {
  static constexpr std::uint32_t kJetties = 8, kDepth = 2, kSegments = 4, kRing = 64;
  static constexpr std::uint32_t kSlots = 4, kSlotBytes = 512;  ///< Of each jetty.
  static constexpr std::uint32_t kCounters = 0;                 ///< Segment 0: eight counters.
  static constexpr std::uint32_t kConstant = 0x1000;            ///< Segment 1: may only be read.
  static constexpr std::uint32_t kConstantBytes = 0x1000;
  static constexpr std::uint32_t kTarget = 0x2000;  ///< Segment 2: slots that the other side writes.
  static constexpr std::uint32_t kLocal = 0x6000;   ///< Where this side's data comes from and goes to.
  static constexpr std::uint32_t kRingAt = 0xa000;
  static constexpr std::uint32_t kBytes = 0xb000;
  static constexpr std::uint32_t kToken = 0x1234'5670;  ///< Of segment i: kToken + i.
  static std::uint32_t slot(std::uint32_t jetty, std::uint32_t slot) {
    return (jetty * kSlots + slot) * kSlotBytes;
  }
};

class NicHost {
 public:
  NicHost(NicMemory& own, NicMemory& remote, RandomStream random, Findings& found)
      : own_(own), remote_(remote), random_(random), found_(found), bell_(random.substream(0)) {}

  /// What both memories hold at first; `expected` is what the remote one must hold in the end.
  void reset() {
    open_.clear();
    slots_.fill(false);
    offered_.reset();
    next_completion_ = 0;
    phase_ = true;
    for (std::byte& byte : own_.bytes()) byte = static_cast<std::byte>(random_.below(256));
    std::memset(own_.at(NicMemory::kBase + NicPlan::kRingAt), 0, 16UL * NicPlan::kRing);
  }
  void expect() { expected_ = remote_.bytes(); }
  bool is_idle() const { return open_.empty() && !offered_; }

  /// Before settle(): perhaps a doorbell.
  template <typename Model>
  void drive(Model& nic, bool posts, bool stalls) {
    nic.consumed_i = take_completion();
    if (!offered_ && posts && (!stalls || bell_.open())) offered_ = invent();
    nic.doorbell_valid_i = offered_.has_value();
    if (!offered_) return;
    nic.doorbell_jetty_i = offered_->jetty;
    Packed<377> bits;
    bits.put(static_cast<std::uint64_t>(offered_->operation), 4);
    bits.put(offered_->is_inline, 1);
    bits.put(NicMemory::kBase + offered_->remote, 64);
    bits.put(offered_->token, 20);
    bits.put(offered_->token_value, 32);
    bits.put(offered_->length, 32);
    bits.put(NicMemory::kBase + offered_->local, 64);
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
    std::uint64_t operand = 0, compare = 0;
    bool is_inline = false;
    bool is_wrong = false;    ///< Not to be taken.
    std::uint8_t status = 0;  ///< How it must end.
  };
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }
  bool& slot_of(const Posted& posted) { return slots_[posted.jetty * NicPlan::kSlots + posted.slot]; }
  TaOpcode any_atomic() {
    return static_cast<TaOpcode>(static_cast<std::uint32_t>(TaOpcode::kAtomicCompareSwap) + below(9));
  }
  void release(const Posted& posted) {
    if (!posted.is_wrong) slot_of(posted) = false;
  }

  std::optional<Posted> invent() {
    Posted posted;
    posted.tag = ++tags_;
    posted.jetty = below(NicPlan::kJetties);
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
    constexpr std::array kOperations{TaOpcode::kWrite, TaOpcode::kRead};
    const std::uint32_t choice = below(3);
    posted.operation = choice < 2 ? kOperations[choice] : any_atomic();
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
    if (random_.below(12) == 0) spoil(posted);
    // Fresh bytes to send, or to be overwritten.
    for (std::uint32_t i = 0; i < NicPlan::kSlotBytes; ++i)
      *own_.at(NicMemory::kBase + NicPlan::kLocal + at + i) = static_cast<std::byte>(random_.below(256));
    return posted;
  }

  /// Something that the target must refuse.
  void spoil(Posted& posted) {
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
          posted.operation = TaOpcode::kWrite;
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

  /// Whether there was one.
  bool take_completion() {
    const std::byte* entry = own_.at(NicMemory::kBase + NicPlan::kRingAt + 16UL * next_completion_);
    if ((std::to_integer<unsigned>(entry[15]) & 1U) != (phase_ ? 1U : 0U)) return false;
    if (++next_completion_ == NicPlan::kRing) {
      next_completion_ = 0;
      phase_ = !phase_;
    }
    const auto it = open_.find(load_le32(entry));
    if (it == open_.end()) return !found_.differ(0, "a completion of nothing, or a second one");
    const Posted& posted = it->second;
    const auto status = std::to_integer<std::uint32_t>(entry[12]);
    if (load_le32(entry + 4) != posted.jetty) found_.differ(0, "jetty of a completion");
    if (status != posted.status) found_.differ(0, "status " + std::to_string(status) + " of a completion");
    if (load_le32(entry + 8) != (posted.status == 0 ? posted.length : 0))
      found_.differ(0, "length of a completion");
    if (entry[13] != static_cast<std::byte>(posted.operation)) found_.differ(0, "operation of a completion");
    finish(posted);
    release(posted);
    open_.erase(it);
    return true;
  }

  void finish(const Posted& posted) {
    Coverage& coverage = found_.coverage;
    if (posted.status != 0) return coverage.hit("refused");
    coverage.hit(wire::ta_opcode_name(posted.operation));
    coverage.hit_if(posted.length > 128, "several packets");
    coverage.hit_if(posted.length == 0, "no bytes");
    coverage.hit_if(posted.is_inline, "inline");
    std::byte* const local = own_.at(NicMemory::kBase + posted.local);
    const std::byte* const remote = remote_.at(NicMemory::kBase + posted.remote);
    if (wire::is_atomic(posted.operation)) return execute(posted, load_le64(local));
    if (posted.operation == TaOpcode::kRead) {
      if (std::memcmp(remote, local, posted.length) != 0) found_.differ(0, "what a Read has read");
      return;
    }
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
  std::vector<std::byte> expected_;
  std::optional<Posted> offered_;
  std::map<std::uint32_t, Posted> open_;  ///< By tag.
  std::array<bool, NicPlan::kJetties * NicPlan::kSlots> slots_{};
  std::uint32_t tags_ = 0;
  std::uint32_t next_completion_ = 0;
  bool phase_ = true;
};

}  // namespace wharf::rtl
