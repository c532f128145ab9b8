// SPDX-License-Identifier: Apache-2.0
// Two NICs of the Unified Bus back to back: both in hardware, or the second one the C++ engine. Apart from
// the tests, which say for how long and what is measured.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "engine/ub/exchange.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_bench.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_host.h"
#include "wire/address_plan.h"

namespace wharf::rtl {

/// Who `nic` is: host `own` of the address plan.
template <typename Model>
void set_route(Model& nic, std::uint32_t own) {
  Packed<224> bits;
  for (const std::uint32_t host : {own, 1 - own})
    bits.put(reinterpret_cast<const std::byte*>(wire::mac_of(wire::HostAddress{host}).data()), 6, 6);
  for (const std::uint32_t host : {own, 1 - own}) bits.put(wire::ipv4_of(wire::HostAddress{host}), 32);
  bits.put(0xc000 + own, 16);
  // As the engine numbers the first channel to a host.
  bits.put(ub::tpn_toward(wire::HostAddress{1 - own}, 0), 24);
  bits.put(ub::tpn_toward(wire::HostAddress{own}, 0), 24);
  std::memcpy(nic.route_i.data(), bits.words().data(), sizeof bits.words());
  nic.ring_i = (NicMemory::kBase + NicPlan::kRingAt) >> 6U;
}

/// Registers a segment of the memory of `nic`.
template <typename Model>
void set_segment(Clocked<Model>& nic, std::uint32_t index, std::uint32_t rights, std::uint32_t at,
                 std::uint32_t size) {
  Packed<148> bits;
  bits.put(1, 1);
  bits.put(rights, 3);  // Read, write, atomic.
  bits.put(NicPlan::kToken + index, 32);
  bits.put(NicMemory::kBase + at, 64);
  bits.put(size, 48);
  std::memcpy(nic->segment_i.data(), bits.words().data(), sizeof bits.words());
  nic->segment_index_i = static_cast<std::uint16_t>(index);
  nic->segment_valid_i = 1;
  nic.settle();
  nic.tick();
  nic->segment_valid_i = 0;
}

template <typename Model, typename Other = Model>
class NicPair : public NicBench<NicPair<Model, Other>, Model, Other> {
  using Base = NicBench<NicPair, Model, Other>;

 public:
  static constexpr bool kIsHardware = std::is_same_v<Model, Other>;  ///< Both sides.

  NicPair(Clocked<Model>& first, RandomStream random, Findings& found)
      : Base(first, random, found, NicPlan::kBytes),
        hosts_{NicHost(memories_[0], memories_[1], NicNumbers::of<Model>(), random.substream(3), found),
               NicHost(memories_[1], memories_[0], NicNumbers::of<Other>(), random.substream(4), found)} {
    hosts_[0].face(hosts_[1]);
    hosts_[1].face(hosts_[0]);
    for (std::uint32_t opcode = 0; opcode < 0x10; ++opcode) {
      const auto operation = static_cast<TaOpcode>(opcode);
      if (operation != TaOpcode::kSendInvalidate && operation != TaOpcode::kWriteNotify)
        found.coverage.require(std::string(wire::ta_opcode_name(operation)));
    }
    for (const char* name :
         {"comparison that matches", "comparison that does not match", "refused", "several packets",
          "no bytes", "inline", "strong", "fence", "not ready", "asked again", "given up",
          "receive queue full", "too long for its receive", "queue full",
          "doorbell of no jetty, or of no request", "went back", "duplicate", "ahead", "foreign"})
      found.coverage.require(name);
  }

 private:
  friend Base;
  using Base::found_;
  using Base::memories_;
  using Base::random_;

  NicHost& host(std::uint32_t side) { return hosts_[side]; }

  template <typename Nic>
  void set_up(Clocked<Nic>& nic, std::uint32_t side) {
    set_route(*nic, side);
    nic.reset();
    set_segment(nic, 0, 7, NicPlan::kCounters, 64);
    set_segment(nic, 1, 4, NicPlan::kConstant, NicPlan::kConstantBytes);
    set_segment(nic, 2, 6, NicPlan::kTarget, 0x4000);
    for (std::uint32_t jetty = 0; jetty < NicPlan::kJetties; ++jetty) {
      nic->open_valid_i = 1;
      nic->open_value_i = 1;
      nic->open_jetty_i = static_cast<std::uint16_t>(jetty);
      nic->open_token_i = NicPlan::token_of(jetty);
      nic.settle();
      nic.tick();
    }
    nic->open_valid_i = 0;
  }
  template <typename Nic>
  void check(Nic& nic) {
    if (nic.failed_o) found_.differ(this->now(), "the channel gave up");
  }
  void settled() {}

  /// Of another channel.
  void turn(std::vector<std::byte>& frame) { frame[47 + random_.below(3)] ^= std::byte{0x10}; }

  /// What the order tags of one side are about, and what the other side answers. The engine numbers the
  /// requests of a jetty as they leave, not as they were posted.
  void seen(const wire::Packet& packet, std::uint32_t side) {
    if (packet.ub.transaction == wire::UbTransaction::kRequest && (kIsHardware || side == 0))
      hosts_[side].order().left(packet.ub.request, this->now());
    if (packet.ub.transaction == wire::UbTransaction::kResponse && (kIsHardware || side == 1))
      hosts_[1 - side].order().answered(packet.ub.response, packet.ub.rtph.last, this->now());
  }

  template <typename Nic>
  void note(Nic& nic, std::uint32_t) {
    // nic_counters_t, from its last member on.
    Coverage& coverage = found_.coverage;
    const auto& counters = nic.counters_o;
    coverage.hit_if(counters[4] > 0, "went back");
    if (counters[8] > 0) found_.differ(this->now(), "a request without room for its response");
    coverage.hit_if(counters[9] > 0, "ahead");
    coverage.hit_if(counters[10] > 0, "duplicate");
    coverage.hit_if(counters[14] > 0, "foreign");
    if (counters[3] > 0) found_.differ(this->now(), "a completion was lost");
    if (counters[5] > 0) found_.differ(this->now(), "a response that nobody waits for");
    if (counters[7] > 0) found_.differ(this->now(), "an acknowledgement of what was never sent");
  }

  std::array<NicHost, 2> hosts_;
};

}  // namespace wharf::rtl
