// SPDX-License-Identifier: Apache-2.0
// One request from doorbell to completion over two NICs and a short wire, and in which cycle it was where.
// Apart from the tests of what the NICs do: here nothing stalls, and memory answers after ten cycles.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/nic_wire.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_pair.h"
#include "rtl/ub_nic/nic_plan.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// Cycles of one request of 8 bytes.
struct NicStages {
  std::uint32_t out = 0;         ///< Doorbell taken to the first flit on the wire.
  std::uint32_t to_memory = 0;   ///< Last flit of the request at the target to its first access of memory.
  std::uint32_t to_answer = 0;   ///< The same to the first flit of the response.
  std::uint32_t completion = 0;  ///< Last flit of the response to the completion at memory.

  bool operator==(const NicStages&) const = default;
};

template <typename Model>
class NicStageRun {
 public:
  NicStageRun() {
    each([&](Clocked<Model>& nic, Clocked<Model>&, std::uint32_t side) {
      nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
      nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = nic->tx_ready_i = 0;
      set_route(*nic, side);
      nic.reset();
      set_segment(nic, 0, 7, NicPlan::kTarget, 0x4000);
      nic->open_valid_i = nic->open_value_i = 1;
      nic->open_jetty_i = 0;
      nic->open_token_i = 0;
      nic.settle();
      nic.tick();
      nic->open_valid_i = 0;
    });
    for (int i = 0; i < 2; ++i) post();
  }

  /// Rings for `operation` on 8 bytes, inline where they can be, and waits until everything has come to rest.
  NicStages run(wire::TaOpcode operation) {
    ring(operation);
    NicStages found;
    std::uint32_t began = 0, arrived = 0, back = 0, answer = 0;
    for (std::uint32_t now = 0; now < 400; ++now) {
      drive();
      Model& from = *nics_[0];
      Model& to = *nics_[1];
      if (from.doorbell_valid_i && from.doorbell_ready_o) began = now;
      if (from.tx_valid_o && found.out == 0) found.out = now - began;
      // An acknowledgement has one flit, a request or response two or more.
      if (arrived == 0 && ends(to, long_[1])) arrived = now;
      if (arrived != 0 && found.to_memory == 0 && to.memory_valid_o) found.to_memory = now - arrived;
      if (to.tx_valid_o && !inside_) answer = now;
      if (to.tx_valid_o && to.tx_last_o && inside_ && found.to_answer == 0)
        found.to_answer = answer - arrived;
      if (to.tx_valid_o) inside_ = !to.tx_last_o;
      if (back == 0 && ends(from, long_[0])) back = now;
      if (back != 0 && found.completion == 0 && from.memory_valid_o && is_report(from))
        found.completion = now - back;
      take();
      from.doorbell_valid_i = 0;
    }
    return found;
  }

 private:
  template <typename F>
  void each(F&& f) {
    f(nics_[0], nics_[1], 0U);
    f(nics_[1], nics_[0], 1U);
  }
  void drive() {
    each([&](Clocked<Model>& nic, Clocked<Model>& other, std::uint32_t side) {
      memories_[side].drive(*nic, nic.cycles(), false);
      wires_[side].drive(*nic, *other, nic.cycles(), false);
    });
    for (Clocked<Model>& nic : nics_) nic.settle();
  }
  void take() {
    each([&](Clocked<Model>& nic, Clocked<Model>& other, std::uint32_t side) {
      memories_[side].take(*nic, nic.cycles(), false);
      wires_[side].take(*nic, *other, nic.cycles(), [](const std::vector<std::byte>&) {});
    });
    for (Clocked<Model>& nic : nics_) nic.tick();
  }
  /// Whether the last flit of a frame of several comes in.
  static bool ends(Model& nic, bool& inside) {
    if (!nic.rx_valid_i) return false;
    const bool last = nic.rx_last_i != 0;
    const bool is_long = inside && last;
    inside = !last;
    return is_long;
  }
  static bool is_report(Model& nic) {
    const std::uint64_t line = nic.memory_o[18] | (std::uint64_t{nic.memory_o[19] & 0x3ff'ffffU} << 32U);
    return line >= nic.ring_i && line < nic.ring_i + NicPlan::kRing * NicPlan::kEntryBytes / 64;
  }

  void ring(wire::TaOpcode operation) {
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(operation), 4);
    bits.put(operation < wire::TaOpcode::kRead, 1);
    bits.put(0, 23);  // No order, no fence, jetty 0.
    bits.put(NicMemory::kBase + NicPlan::kTarget, 64);
    bits.put(0, 20);
    bits.put(operation < wire::TaOpcode::kWrite ? 0 : NicPlan::kToken, 32);
    bits.put(8, 32);
    bits.put(NicMemory::kBase + NicPlan::kLocal, 64);
    bits.put(0, 64);
    for (std::uint32_t i = 0; i < 16; ++i) bits.put(0x40 + i, 8);
    bits.put(1, 32);
    std::memcpy(nics_[0]->doorbell_i.data(), bits.words().data(), sizeof bits.words());
    nics_[0]->doorbell_jetty_i = 0;
    nics_[0]->doorbell_valid_i = 1;
  }
  void post() {
    Packed<128> bits;
    bits.put(NicMemory::kBase + NicPlan::kReceives, 64);
    bits.put(NicPlan::kCapacity, 32);
    bits.put(2, 32);
    std::memcpy(nics_[1]->post_i.data(), bits.words().data(), sizeof bits.words());
    nics_[1]->post_jetty_i = 0;
    nics_[1]->post_valid_i = 1;
    nics_[1].settle();
    nics_[1].tick();
    nics_[1]->post_valid_i = 0;
  }

  std::array<Clocked<Model>, 2> nics_;
  std::array<NicMemory, 2> memories_{NicMemory(NicPlan::kBytes, RandomStream(1, "memory")),
                                     NicMemory(NicPlan::kBytes, RandomStream(2, "memory"))};
  std::array<NicWire, 2> wires_{NicWire(RandomStream(3, "wire")), NicWire(RandomStream(4, "wire"))};
  std::array<bool, 2> long_{};  ///< A frame of several flits is coming in.
  bool inside_ = false;         ///< One leaves the target.
};

}  // namespace wharf::rtl
