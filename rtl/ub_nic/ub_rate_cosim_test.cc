// SPDX-License-Identifier: Apache-2.0
// How many requests of 8 bytes two NICs of use do, from many jetties over a wire of some length. Nothing is
// lost and nothing stalls, so the number of cycles is always the same. And how much one of them can keep.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic_full.h"
#include "base/bytes.h"
#include "base/random.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/nic_wire.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_fed.h"
#include "rtl/ub_nic/nic_pair.h"
#include "rtl/ub_nic/nic_plan.h"
#include "verbs/work_request.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {
namespace {

using Nic = Clocked<Vwharf_ub_nic_full>;

constexpr std::uint32_t kJetties = 64;
constexpr std::uint32_t kDepth = 4;        // Requests of a jetty that the host has outstanding.
constexpr std::uint32_t kRingSize = 4096;  // Entries.
// Of the counters, from the last one on.
constexpr std::uint32_t kWentBack = 4, kWithoutRoom = 13;
constexpr std::uint32_t kStrongEvery = 16;  // Of the requests, one has the tag of strong order.

/// The host of NIC 0 rings for Writes of 8 inline bytes, the jetties in turn, one doorbell in each `every`
/// cycles at most.
class Rate {
 public:
  explicit Rate(std::uint64_t wire_delay)
      : wires_{NicWire(RandomStream(3, "wire"), wire_delay),
               NicWire(RandomStream(4, "wire"), wire_delay + 1)} {
    each([&](Nic& nic, Nic&, std::uint32_t side) {
      nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
      nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = nic->tx_ready_i = 0;
      set_route(*nic, side);
      nic.reset();
      set_segment(nic, 0, 7, NicPlan::kTarget, 0x4000);
      nic->open_valid_i = nic->open_value_i = 1;
      nic->open_token_i = 0;
      for (std::uint32_t jetty = 0; jetty < kJetties; ++jetty) {
        nic->open_jetty_i = static_cast<std::uint16_t>(jetty);
        nic.settle();
        nic.tick();
      }
      nic->open_valid_i = 0;
    });
  }

  /// Runs for so many cycles.
  void run(std::uint64_t cycles, std::uint32_t every) {
    for (std::uint64_t i = 0; i < cycles; ++i) cycle(every);
  }

  std::uint64_t rung = 0, completed = 0, refused = 0, failed = 0;
  std::uint64_t round_trip = 0;  ///< Of the last request, from doorbell to the completion in memory.
  std::uint64_t frames[2] = {};  ///< That NIC i has sent.

  /// In how many of the cycles since the last call each stage of a NIC has shown a beat, in percent.
  void print_stages(std::ostream& to) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      to << "NIC " << side << ":";
      for (std::size_t i = 0; i < kStages.size(); ++i)
        to << " " << kStages[i] << " " << 100 * busy_[side][i] / std::max(watched_, std::uint64_t{1}) << "%";
      to << "\n";
    }
    busy_ = {};
    watched_ = 0;
  }

  std::uint32_t counter(std::uint32_t side, std::uint32_t index) { return nics_[side]->counters_o[index]; }

 private:
  template <typename F>
  void each(F&& f) {
    f(nics_[0], nics_[1], 0U);
    f(nics_[1], nics_[0], 1U);
  }

  void cycle(std::uint32_t every) {
    Vwharf_ub_nic_full& from = *nics_[0];
    const std::uint64_t now = nics_[0].cycles();
    if (from.doorbell_valid_i == 0 && now >= next_ring_ && outstanding_[jetty_] < kDepth) {
      ring();
      next_ring_ = now + every;
    }
    from.consumed_i = to_consume_ > 0 ? 1 : 0;
    if (to_consume_ > 0) --to_consume_;
    each([&](Nic& nic, Nic& other, std::uint32_t side) {
      memories_[side].drive(*nic, now, false);
      wires_[side].drive(*nic, *other, now, false);
    });
    for (Nic& nic : nics_) nic.settle();
    ++watched_;
    for (std::uint32_t side = 0; side < 2; ++side)
      for (std::size_t i = 0; i < kStages.size(); ++i) busy_[side][i] += (nics_[side]->stages_o >> i) & 1U;
    each([&](Nic& nic, Nic& other, std::uint32_t side) {
      memories_[side].take(*nic, now, false);
      wires_[side].take(*nic, *other, now, [&](const std::vector<std::byte>&) { ++frames[side]; });
    });
    const bool rang = from.doorbell_valid_i != 0 && from.doorbell_ready_o != 0;
    if (rang) {
      if (from.doorbell_refused_o) ++refused;
      ++outstanding_[jetty_];
      ++rung;
      rung_at_[jetty_] = now;
      jetty_ = (jetty_ + 1) % kJetties;
    }
    for (Nic& nic : nics_) nic.tick();
    if (rang) from.doorbell_valid_i = 0;
    hear(now);
  }

  void hear(std::uint64_t now) {
    const std::byte* const entry =
        memories_[0].at(NicMemory::kBase + NicPlan::kRingAt) + NicPlan::kEntryBytes * (completed % kRingSize);
    // A bit changes with each round of the ring.
    const bool is_new =
        ((std::to_integer<unsigned>(entry[15]) & 1U) == 1) == (completed / kRingSize % 2 == 0);
    if (!is_new) return;
    const std::uint32_t jetty = load_le32(entry);
    if (std::to_integer<std::uint8_t>(entry[12]) != 0) ++failed;
    --outstanding_[jetty];
    ++completed;
    ++to_consume_;
    round_trip = now - rung_at_[jetty];
  }

  void ring() {
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(wire::TaOpcode::kWrite), 4);
    bits.put(1, 1);
    const bool strong = rung % kStrongEvery == kStrongEvery - 1;
    bits.put(static_cast<std::uint64_t>(strong ? verbs::OrderTag::kStrong : verbs::OrderTag::kNone), 2);
    bits.put(0, 21);  // No fence, jetty 0.
    bits.put(NicMemory::kBase + NicPlan::kTarget + 8 * jetty_, 64);
    bits.put(0, 20);
    bits.put(NicPlan::kToken, 32);
    bits.put(8, 32);
    bits.put(0, 64);
    bits.put(0, 64);
    for (std::uint32_t i = 0; i < 16; ++i) bits.put(0x40 + i, 8);
    bits.put(jetty_, 32);
    std::memcpy(nics_[0]->doorbell_i.data(), bits.words().data(), sizeof bits.words());
    nics_[0]->doorbell_jetty_i = jetty_;
    nics_[0]->doorbell_valid_i = 1;
  }

  static constexpr std::array kStages{"request", "job",   "headers", "frame", "kept",
                                      "wire",    "comes", "packet",  "work",  "memory"};
  std::array<std::array<std::uint64_t, kStages.size()>, 2> busy_{};
  std::uint64_t watched_ = 0;

  static constexpr std::uint32_t kBytes = NicPlan::kRingAt + kRingSize * NicPlan::kEntryBytes;
  std::array<Nic, 2> nics_;
  std::array<NicMemory, 2> memories_{NicMemory(kBytes, RandomStream(1, "memory")),
                                     NicMemory(kBytes, RandomStream(2, "memory"))};
  std::array<NicWire, 2> wires_;
  std::array<std::uint32_t, kJetties> outstanding_{};
  std::array<std::uint64_t, kJetties> rung_at_{};
  std::uint64_t next_ring_ = 0;
  std::uint64_t to_consume_ = 0;
  std::uint32_t jetty_ = 0;
};

/// Cycles of a wire with which a request alone takes 200 from doorbell to completion; back they are one more.
constexpr std::uint64_t kWire = 79;

TEST(UbNicRate, AloneARequestTakesTwoHundredCycles) {
  Rate rate(kWire);
  rate.run(1000, 1000);
  EXPECT_EQ(rate.completed, 1U);
  EXPECT_EQ(rate.round_trip, 200U);
}

/// Requests that end in 4000 cycles, when everything has come to a steady state.
std::uint64_t sustained(std::uint32_t every) {
  Rate rate(kWire);
  rate.run(2000, every);
  std::ostringstream warm_up;
  rate.print_stages(warm_up);
  const std::uint64_t before = rate.completed, frames[2] = {rate.frames[0], rate.frames[1]};
  rate.run(4000, every);
  EXPECT_EQ(rate.refused + rate.failed, 0U);
  // No frame is sent twice, and none finds no room.
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(rate.counter(side, kWentBack), 0U);
    EXPECT_EQ(rate.counter(side, kWithoutRoom), 0U);
  }
  if (std::getenv("WHARF_RTL_COVERAGE") != nullptr) {
    std::cout << "a doorbell in " << every << " cycles: " << rate.completed - before
              << " requests in 4000 cycles, frames " << rate.frames[0] - frames[0] << " and "
              << rate.frames[1] - frames[1] << "\n";
    rate.print_stages(std::cout);
  }
  return rate.completed - before;
}

TEST(UbNicRate, RequestsOfSixtyFourJetties) {
  // One in four cycles: all that the host rings for.
  EXPECT_GE(sustained(4), 1000U);
}

TEST(UbNicRate, RequestsAsFastAsTheyAreTaken) {
  // One in 3.2 cycles: of the wire each takes two flits and an acknowledgement.
  EXPECT_GE(sustained(3), 1250U);
  EXPECT_GE(sustained(1), 1230U);
}

TEST(UbNicRate, AWindowOfTheLongestPacketsFindsRoomWhileMemoryTakesNothing) {
  constexpr std::uint32_t kPackets = 64, kBytes = 1024;
  FedNic<Vwharf_ub_nic_full> nic(0);
  std::vector<std::byte> data(kBytes);
  nic.holds_memory = true;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    wire::Packet packet = FedNic<Vwharf_ub_nic_full>::packet_of_peer();
    packet.ub.rtph.psn = packet.ub.rtph.tpmsn = i;
    wire::Btah& header = wire::use_request(packet.ub);
    header.opcode = wire::TaOpcode::kWrite;
    header.tassn = static_cast<std::uint16_t>(i);
    header.token_value_present = true;
    const std::uint32_t at = NicPlan::kTarget + i % 16 * kBytes;
    packet.ub.extension.maetah = {NicMemory::kBase + at, 2, kBytes};
    packet.ub.extension.token_value = NicPlan::kToken + 2;
    std::fill(data.begin(), data.end(), static_cast<std::byte>(i + 1));
    packet.payload = wire::bytes_payload(data);
    nic.feed(FedNic<Vwharf_ub_nic_full>::frame_of(packet));
  }
  nic.run(kPackets * 18 + 100);
  // The first one is under way to memory, so its number counts; its response has not left.
  EXPECT_EQ(nic.expected, 1U);
  EXPECT_TRUE(nic.left.empty());
  nic.holds_memory = false;
  nic.run(kPackets * 40);
  // None was dropped, none has to come again.
  EXPECT_EQ(nic.counters(), FedCounters());
  EXPECT_EQ(nic.expected, kPackets);
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::byte* const is = &nic.bytes()[NicPlan::kTarget + i * kBytes];
    EXPECT_TRUE(std::all_of(is, is + kBytes, [&](std::byte byte) { return byte == std::byte(48 + i + 1); }))
        << i;
  }
}

}  // namespace
}  // namespace wharf::rtl
