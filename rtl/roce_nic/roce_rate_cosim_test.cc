// SPDX-License-Identifier: Apache-2.0
// How many small Writes a second the RoCE NIC does, in cycles: 64 queue pairs with a request each, over a
// wire that loses nothing: as many requests as ub_rate_cosim_test has under way in the Unified Bus NIC.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_roce_nic_full.h"
#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/nic_wire.h"
#include "rtl/roce_nic/roce_pair.h"

namespace wharf::rtl {
namespace {

using Nic = Clocked<Vwharf_roce_nic_full>;

class RoceRate {
 public:
  static constexpr std::uint32_t kPairs = 64, kDepth = 1, kRingSize = 4096;

  explicit RoceRate(std::uint64_t delay)
      : wires_{NicWire(RandomStream(3, "wire"), delay), NicWire(RandomStream(4, "wire"), delay)} {
    each([](Nic& nic, Nic&, std::uint32_t side) {
      nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
      nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = nic->tx_ready_i = 0;
      set_roce_route(*nic, side);
      nic.reset();
      set_region(nic, 2, 6, RocePlan::kTarget, 0x1000);
      for (std::uint32_t pair = 0; pair < kPairs; ++pair) open_pair(nic, pair, 1024 + pair, 0, 0);
    });
  }

  /// Runs for so many cycles, with a doorbell in every so many.
  void run(std::uint64_t cycles, std::uint32_t every) {
    for (std::uint64_t i = 0; i < cycles; ++i) cycle(every);
  }

  std::uint64_t completed = 0, failed = 0, refused = 0;
  std::uint64_t round_trip = 0;  ///< Of the last request, from doorbell to the completion in memory.

  std::uint32_t counter(std::uint32_t side, std::uint32_t index) { return nics_[side]->counters_o[index]; }

 private:
  template <typename F>
  void each(F&& f) {
    f(nics_[0], nics_[1], 0U);
    f(nics_[1], nics_[0], 1U);
  }

  void cycle(std::uint32_t every) {
    Vwharf_roce_nic_full& from = *nics_[0];
    const std::uint64_t now = nics_[0].cycles();
    if (from.doorbell_valid_i == 0 && now >= next_ring_ && outstanding_[pair_] < kDepth) {
      RoceRequest request;
      request.is_inline = true;
      request.remote_address = NicMemory::kBase + RocePlan::kTarget + 8 * pair_;
      request.key = RocePlan::key_of(2);
      request.length = 8;
      request.tag = pair_;
      request.ring(from, pair_);
      from.doorbell_valid_i = 1;
      next_ring_ = now + every;
    }
    from.consumed_i = to_consume_ > 0 ? 1 : 0;
    if (to_consume_ > 0) --to_consume_;
    each([&](Nic& nic, Nic& other, std::uint32_t side) {
      memories_[side].drive(*nic, now, false);
      wires_[side].drive(*nic, *other, now, false);
    });
    for (Nic& nic : nics_) nic.settle();
    each([&](Nic& nic, Nic& other, std::uint32_t side) {
      memories_[side].take(*nic, now, false);
      wires_[side].take(*nic, *other, now, [](const std::vector<std::byte>&) {});
    });
    const bool rang = from.doorbell_valid_i != 0 && from.doorbell_ready_o != 0;
    if (rang) {
      if (from.doorbell_refused_o) ++refused;
      ++outstanding_[pair_];
      rung_at_[pair_] = now;
      pair_ = (pair_ + 1) % kPairs;
    }
    for (Nic& nic : nics_) nic.tick();
    if (rang) from.doorbell_valid_i = 0;
    hear(now);
  }

  void hear(std::uint64_t now) {
    const std::byte* const entry = memories_[0].at(NicMemory::kBase + RocePlan::kRingAt) +
                                   RocePlan::kEntryBytes * (completed % kRingSize);
    // A bit changes with each round of the ring.
    const bool is_new =
        ((std::to_integer<unsigned>(entry[15]) & 1U) == 1) == (completed / kRingSize % 2 == 0);
    if (!is_new) return;
    const std::uint32_t pair = load_le32(entry);
    if (entry[12] != std::byte{0}) ++failed;
    --outstanding_[pair];
    ++completed;
    ++to_consume_;
    round_trip = now - rung_at_[pair];
  }

  static constexpr std::uint32_t kBytes = RocePlan::kRingAt + kRingSize * RocePlan::kEntryBytes;
  std::array<Nic, 2> nics_;
  std::array<NicMemory, 2> memories_{NicMemory(kBytes, RandomStream(1, "memory")),
                                     NicMemory(kBytes, RandomStream(2, "memory"))};
  std::array<NicWire, 2> wires_;
  std::array<std::uint32_t, kPairs> outstanding_{};
  std::array<std::uint64_t, kPairs> rung_at_{};
  std::uint64_t next_ring_ = 0;
  std::uint64_t to_consume_ = 0;
  std::uint32_t pair_ = 0;
};

/// The wire of ub_rate_cosim_test.
constexpr std::uint64_t kWire = 79;

TEST(RoceNicRate, RequestsOfSixtyFourQueuePairs) {
  RoceRate alone(kWire);
  alone.run(1000, 1000);
  EXPECT_EQ(alone.completed, 1U);
  RoceRate rate(kWire);
  rate.run(2000, 4);
  const std::uint64_t before = rate.completed;
  rate.run(4000, 4);
  EXPECT_EQ(rate.refused + rate.failed, 0U);
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(rate.counter(side, 26), 0U) << "requests_resent";
    EXPECT_EQ(rate.counter(side, 3), 0U) << "frames_without_room";
  }
  if (std::getenv("WHARF_RTL_COVERAGE") != nullptr) {
    std::cout << "alone " << alone.round_trip << " cycles; " << rate.completed - before
              << " requests in 4000 cycles\n";
  }
  EXPECT_GE(rate.completed - before, 300U);
}

}  // namespace
}  // namespace wharf::rtl
