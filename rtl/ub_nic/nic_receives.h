// SPDX-License-Identifier: Apache-2.0
// The receives that the host beside a NIC posts, and what the messages of the other side make of them: each
// takes one, once, of its jetty, in order. Apart from the host's own requests, which the other NIC answers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/ub_nic/nic_plan.h"
#include "verbs/completion.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

using verbs::CompletionStatus;

/// A message that is under way to a side.
struct Delivery {
  wire::TaOpcode operation{};
  std::uint32_t from = 0, target = 0;  ///< Jetties.
  std::uint64_t immediate = 0;
  std::vector<std::byte> data;
  CompletionStatus status = CompletionStatus::kSuccess;  ///< Of the receive that it takes.
  bool is_taken = false;                                 ///< The receive has been seen.
  bool has_ended = false;                                ///< The sender knows.
};

class NicReceives {
 public:
  NicReceives(NicMemory& memory, RandomStream random, Findings& found)
      : memory_(memory), random_(random), found_(found), stall_(random.substream(0)) {}

  void reset() {
    for (auto& queue : posted_) queue.clear();
    under_way_.clear();
    offered_.reset();
  }
  bool is_idle() const { return under_way_.empty(); }

  /// The other side sends it, under this tag; and that is how it has ended there.
  void expect(std::uint32_t tag, Delivery delivery) { under_way_[tag] = std::move(delivery); }
  void ended(std::uint32_t tag, CompletionStatus status) {
    const auto it = under_way_.find(tag);
    if (it == under_way_.end()) return;
    Delivery& delivery = it->second;
    const bool is_refused = delivery.status == CompletionStatus::kSuccess
                                ? status != CompletionStatus::kSuccess
                                : status != CompletionStatus::kRemoteOperation;
    if (is_refused && delivery.is_taken) found_.differ(0, "a message that was refused and took a receive");
    if (is_refused || delivery.is_taken) {
      under_way_.erase(it);
    } else {
      delivery.has_ended = true;
    }
  }

  /// Before settle(): perhaps a receive.
  template <typename Model>
  void drive(Model& nic, bool posts) {
    nic.post_valid_i = 0;
    if (!offered_ && posts && stall_.open()) {
      Posted posted;
      posted.jetty = random_.below(64) == 0 ? NicPlan::kJetties + below(1000) : below(NicPlan::kJetties);
      posted.tag = ++tags_;
      if (posted.jetty < NicPlan::kJetties) {
        if (posted_[posted.jetty].size() == NicPlan::kReceivePlaces) return;
        const std::uint32_t place = places_[posted.jetty]++ % NicPlan::kReceivePlaces;
        posted.at = NicPlan::kReceives +
                    (posted.jetty * NicPlan::kReceivePlaces + place) * NicPlan::kSlotBytes + below(64);
      }
      offered_ = posted;
    }
    nic.post_valid_i = offered_.has_value();
    if (!offered_) return;
    nic.post_jetty_i = offered_->jetty;
    Packed<128> bits;
    bits.put(NicMemory::kBase + offered_->at, 64);
    bits.put(NicPlan::kCapacity, 32);
    bits.put(offered_->tag, 32);
    std::memcpy(nic.post_i.data(), bits.words().data(), sizeof bits.words());
  }

  /// After settle().
  template <typename Model>
  void take(Model& nic, std::uint64_t now) {
    if (!offered_ || !nic.post_ready_o) return;
    const Posted posted = *std::exchange(offered_, {});
    if (posted.jetty >= NicPlan::kJetties) {
      if (!nic.post_refused_o) found_.differ(now, "a receive for no jetty");
      return;
    }
    if (!nic.post_refused_o) return posted_[posted.jetty].push_back(posted);
    found_.coverage.hit("receive queue full");
    if (posted_[posted.jetty].size() < NicPlan::kReceiveDepth)
      found_.differ(now, "a receive refused without need");
    --places_[posted.jetty];
  }

  /// A completion of a receive: the entry of the ring.
  bool completed(const std::byte* entry) {
    const std::uint32_t jetty = load_le32(entry + 4);
    if (jetty >= NicPlan::kJetties || posted_[jetty].empty())
      return found_.differ(0, "a receive that nobody posted");
    const Posted posted = posted_[jetty].front();
    posted_[jetty].pop_front();
    if (posted.tag != load_le32(entry)) return found_.differ(0, "a receive out of its order");
    const auto it = std::find_if(under_way_.begin(), under_way_.end(), [&](const auto& each) {
      return is_same(each.second, jetty, entry, posted);
    });
    if (it == under_way_.end()) return found_.differ(0, "a message that nobody sent, or a second time");
    Coverage& coverage = found_.coverage;
    coverage.hit_if(it->second.status != CompletionStatus::kSuccess, "too long for its receive");
    if (it->second.has_ended) {
      under_way_.erase(it);
    } else {
      it->second.is_taken = true;
    }
    return true;
  }

 private:
  struct Posted {
    std::uint32_t jetty = 0, tag = 0, at = 0;
  };
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }

  bool is_same(const Delivery& sent, std::uint32_t jetty, const std::byte* entry, const Posted& posted) {
    const bool has_immediate = sent.operation != wire::TaOpcode::kSend;
    const bool is_send = sent.operation != wire::TaOpcode::kWriteImmediate;
    return !sent.is_taken && sent.target == jetty && load_le32(entry + 24) == sent.from &&
           load_le32(entry + 8) == sent.data.size() && entry[12] == static_cast<std::byte>(sent.status) &&
           entry[13] == static_cast<std::byte>(sent.operation) &&
           entry[14] == static_cast<std::byte>(has_immediate ? 3 : 1) &&
           load_le64(entry + 16) == (has_immediate ? sent.immediate : 0) &&
           (!is_send || sent.status != CompletionStatus::kSuccess || sent.data.empty() ||
            std::memcmp(sent.data.data(), memory_.at(NicMemory::kBase + posted.at), sent.data.size()) == 0);
  }

  NicMemory& memory_;
  RandomStream random_;
  Findings& found_;
  Stall stall_;
  std::array<std::deque<Posted>, NicPlan::kJetties> posted_;
  std::array<std::uint32_t, NicPlan::kJetties> places_{};
  std::map<std::uint32_t, Delivery> under_way_;  ///< By the sender's tag.
  std::optional<Posted> offered_;
  std::uint32_t tags_ = 0;
};

}  // namespace wharf::rtl
