// SPDX-License-Identifier: Apache-2.0
// The receives that the host beside a RoCE NIC posts, and what the messages of the other side make of them:
// each takes one, once, of its queue pair, in order. Apart from the host's own requests.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/roce_nic/roce_plan.h"
#include "verbs/completion.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// Operations have the numbers of nic_request_t, which are those of the Unified Bus.
using wire::TaOpcode;

/// A message that is under way to a side.
struct RoceDelivery {
  TaOpcode operation{};
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;
  std::vector<std::byte> data;  ///< Of a Send.
};

class RoceReceives {
 public:
  RoceReceives(NicMemory& memory, RandomStream random, Findings& found)
      : memory_(memory), random_(random), found_(found), stall_(random.substream(0)) {}

  void reset() {
    for (auto& queue : posted_) queue.clear();
    for (auto& queue : under_way_) queue.clear();
    broken_.fill(false);
    offered_.reset();
  }
  /// Every message has been seen, but for those of queue pairs that are over.
  bool is_idle() const {
    for (std::uint32_t pair = 0; pair < RocePlan::kPairs; ++pair)
      if (!broken_[pair] && !under_way_[pair].empty()) return false;
    return true;
  }
  void expect(std::uint32_t pair, RoceDelivery delivery) { under_way_[pair].push_back(std::move(delivery)); }
  /// Nothing is sure any more about messages of the queue pair.
  void give_up(std::uint32_t pair) { broken_[pair] = true; }

  /// Before settle(): perhaps a receive. `few`: so that peers find none now and then.
  template <typename Model>
  void drive(Model& nic, bool few) {
    nic.post_valid_i = 0;
    if (!offered_ && stall_.open() && (!few || random_.below(64) == 0)) {
      Posted posted;
      posted.pair = random_.below(64) == 0 ? RocePlan::kPairs + below(1000) : below(RocePlan::kPairs);
      posted.tag = ++tags_;
      if (posted.pair < RocePlan::kPairs) {
        if (broken_[posted.pair] || posted_[posted.pair].size() == RocePlan::kReceivePlaces) return;
        const std::uint32_t place = places_[posted.pair]++ % RocePlan::kReceivePlaces;
        posted.at = RocePlan::kReceives +
                    (posted.pair * RocePlan::kReceivePlaces + place) * RocePlan::kSlotBytes + below(64);
      }
      offered_ = posted;
    }
    nic.post_valid_i = offered_.has_value();
    if (!offered_) return;
    nic.post_pair_i = offered_->pair;
    Packed<128> bits;
    bits.put(NicMemory::kBase + offered_->at, 64);
    bits.put(RocePlan::kCapacity, 32);
    bits.put(offered_->tag, 32);
    std::memcpy(nic.post_i.data(), bits.words().data(), sizeof bits.words());
  }

  /// After settle().
  template <typename Model>
  void take(Model& nic, std::uint64_t now) {
    if (!offered_ || !nic.post_ready_o) return;
    const Posted posted = *std::exchange(offered_, {});
    if (posted.pair >= RocePlan::kPairs) {
      if (!nic.post_refused_o) found_.differ(now, "a receive for no queue pair");
      return;
    }
    if (!nic.post_refused_o) return posted_[posted.pair].push_back(posted);
    found_.coverage.hit("receive queue full");
    if (!broken_[posted.pair] && posted_[posted.pair].size() < RocePlan::kReceiveDepth)
      found_.differ(now, "a receive refused without need");
    --places_[posted.pair];
  }

  /// A completion of a receive: the entry of the ring.
  bool completed(const std::byte* entry, std::uint32_t remote_number) {
    const std::uint32_t pair = load_le32(entry + 4);
    if (pair >= RocePlan::kPairs || posted_[pair].empty())
      return found_.differ(0, "a receive that nobody posted");
    const Posted posted = posted_[pair].front();
    posted_[pair].pop_front();
    if (posted.tag != load_le32(entry)) return found_.differ(0, "a receive out of its order");
    const auto status = static_cast<verbs::CompletionStatus>(entry[12]);
    found_.coverage.hit_if(status == verbs::CompletionStatus::kLocalLength, "too long for its receive");
    if (broken_[pair] && status != verbs::CompletionStatus::kSuccess) return true;
    if (under_way_[pair].empty() || !is_same(under_way_[pair].front(), entry, posted, remote_number + pair))
      return found_.differ(0, "a message that nobody sent, or a second time");
    under_way_[pair].pop_front();
    return true;
  }

 private:
  struct Posted {
    std::uint32_t pair = 0, tag = 0, at = 0;
  };
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }

  bool is_same(const RoceDelivery& sent, const std::byte* entry, const Posted& posted,
               std::uint32_t remote_number) {
    const bool has_immediate = sent.operation != TaOpcode::kSend;
    return load_le32(entry + 24) == remote_number && load_le32(entry + 8) == sent.length &&
           entry[12] == std::byte{0} && entry[13] == static_cast<std::byte>(sent.operation) &&
           entry[14] == static_cast<std::byte>(has_immediate ? 3 : 1) &&
           load_le64(entry + 16) == (has_immediate ? sent.immediate : 0) &&
           (sent.data.empty() ||
            std::memcmp(sent.data.data(), memory_.at(NicMemory::kBase + posted.at), sent.data.size()) == 0);
  }

  NicMemory& memory_;
  RandomStream random_;
  Findings& found_;
  Stall stall_;
  std::array<std::deque<Posted>, RocePlan::kPairs> posted_;
  std::array<std::deque<RoceDelivery>, RocePlan::kPairs> under_way_;
  std::array<bool, RocePlan::kPairs> broken_{};
  std::array<std::uint32_t, RocePlan::kPairs> places_{};
  std::optional<Posted> offered_;
  std::uint32_t tags_ = 0;
};

}  // namespace wharf::rtl
