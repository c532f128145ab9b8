// SPDX-License-Identifier: Apache-2.0
// Two NICs back to back, each with its host and its memory, and a wire that loses frames between them: both
// in hardware, or the second one the C++ engine. Apart from the tests, which say for how long and what is
// measured.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "engine/ub/exchange.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_host.h"
#include "rtl/ub_nic/nic_memory.h"
#include "rtl/ub_nic/nic_wire.h"
#include "wire/address_plan.h"
#include "wire/dissect.h"
#include "wire/frame.h"

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
class NicPair {
 public:
  static constexpr bool kIsHardware = std::is_same_v<Model, Other>;  ///< Both sides.

  NicPair(Clocked<Model>& first, RandomStream random, Findings& found)
      : random_(random),
        found_(found),
        first_(first),
        memories_{NicMemory(NicPlan::kBytes, random.substream(1)),
                  NicMemory(NicPlan::kBytes, random.substream(2))},
        hosts_{NicHost(memories_[0], memories_[1], NicNumbers::of<Model>(), random.substream(3), found),
               NicHost(memories_[1], memories_[0], NicNumbers::of<Other>(), random.substream(4), found)},
        wires_{NicWire(random.substream(5)), NicWire(random.substream(6))} {
    hosts_[0].face(hosts_[1]);
    hosts_[1].face(hosts_[0]);
    if constexpr (requires { first->planted_i; }) second_->planted_i = first->planted_i;
    if constexpr (requires { second_->memory; }) second_->memory = &memories_[1];
    for (std::uint32_t opcode = 0; opcode < 0x10; ++opcode) {
      const auto operation = static_cast<TaOpcode>(opcode);
      if (operation != TaOpcode::kSendInvalidate && operation != TaOpcode::kWriteNotify)
        found.coverage.require(std::string(wire::ta_opcode_name(operation)));
    }
    for (const char* name : {"comparison that matches",
                             "comparison that does not match",
                             "refused",
                             "several packets",
                             "no bytes",
                             "inline",
                             "strong",
                             "fence",
                             "not ready",
                             "asked again",
                             "given up",
                             "receive queue full",
                             "too long for its receive",
                             "queue full",
                             "doorbell of no jetty, or of no request",
                             "lost",
                             "doubled",
                             "spoiled",
                             "late",
                             "went back",
                             "duplicate",
                             "ahead",
                             "foreign",
                             "reset under way"})
      found.coverage.require(name);
  }

  void run(std::uint64_t cycles) {
    reset();
    while (now() < cycles && found_.agrees()) {
      const bool is_spoiled = random_.below(3) != 0;
      stalls_ = random_.below(4) != 0;
      for (NicWire& wire : wires_) wire.spoil(is_spoiled ? 20 : 0);
      const std::uint64_t until = now() + 500 + random_.below(3000);
      while (now() < until && found_.agrees()) cycle(true);
      if (random_.below(4) == 0) {
        found_.coverage.hit_if(!hosts_[0].is_idle(), "reset under way");
        cover();
        reset();
        continue;
      }
      drain();
    }
    cover();
  }

  /// One cycle of everything.
  void cycle(bool posts) {
    each([&](auto& nic, auto& other, std::uint32_t side) {
      memories_[side].drive(*nic, now(), stalls_);
      hosts_[side].drive(*nic, posts, stalls_);
      wires_[side].drive(*nic, *other, now(), stalls_);
    });
    each([](auto& nic, auto&, std::uint32_t) { nic.settle(); });
    each([&](auto& nic, auto& other, std::uint32_t side) {
      memories_[side].take(*nic, now(), stalls_);
      hosts_[side].take(*nic, now());
      wires_[side].take(*nic, *other, now(),
                        [&](const std::vector<std::byte>& frame) { judge(frame, side); });
      if (memories_[side].strayed()) found_.differ(now(), "an access outside of memory");
      if (nic->failed_o) found_.differ(now(), "the channel gave up");
    });
    each([](auto& nic, auto&, std::uint32_t) { nic.tick(); });
  }

  std::uint64_t now() const { return first_.cycles(); }
  std::uint64_t frames() const { return frames_; }
  void set_stalls(bool stalls) { stalls_ = stalls; }

  void reset() {
    each([&](auto& nic, auto&, std::uint32_t side) {
      wires_[side].reset();
      memories_[side].reset();
      hosts_[side].reset();
      nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
      nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = nic->tx_ready_i = 0;
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
    });
    for (NicHost& host : hosts_) host.expect();
  }

 private:
  /// Calls f(a NIC, the other one, which side the first is) for both.
  template <typename F>
  void each(F&& f) {
    f(first_, second_, 0U);
    f(second_, first_, 1U);
  }

  /// Nothing new; everything must end.
  void drain() {
    const std::uint64_t limit = now() + 60000;
    while (found_.agrees() && !(hosts_[0].is_idle() && hosts_[1].is_idle())) {
      cycle(false);
      if (now() > limit) found_.differ(now(), "requests that do not end" + state());
    }
    for (std::uint32_t side = 0; side < 2 && found_.agrees(); ++side) hosts_[side].compare(now());
    if (random_.below(2) == 0) inject();
  }

  /// What the NICs count, for people.
  std::string state() {
    std::string text;
    each([&](auto& nic, auto&, std::uint32_t) {
      text += "; counters, from the last:";
      for (std::uint32_t i = 0; i < 17; ++i) text += " " + std::to_string(nic->counters_o[i]);
      text += ", stages " + std::to_string(nic->stages_o);
    });
    return text;
  }

  /// Frames of nobody: any bytes; a packet of another channel; or one that was spoiled with care.
  void inject() {
    std::vector<std::byte> frame = last_frame_;
    if (frame.empty() || random_.below(2) == 0) {
      frame.resize(14 + random_.below(200));
      for (std::byte& byte : frame) byte = static_cast<std::byte>(random_.below(256));
    } else {
      frame[47 + random_.below(3)] ^= std::byte{0x10};  // The channel that it is for.
    }
    wires_[0].inject(frame, now());
  }

  /// Each frame is what the wire codec says, and nothing else: it encodes to the same bytes.
  void judge(const std::vector<std::byte>& frame, std::uint32_t side) {
    ++frames_;
    last_frame_ = frame;
    wire::Packet packet;
    const wire::DropReason reason = wire::decode(frame, wire::LinkType::kEthernet, packet);
    if (reason != wire::DropReason::kNone) {
      found_.differ(now(),
                    "a frame that the wire codec drops with " + std::to_string(static_cast<int>(reason)));
      return;
    }
    std::array<std::byte, 2048> again{};
    const std::size_t size = wire::encode(packet, again);
    if (size != frame.size() || std::memcmp(again.data(), frame.data(), size) != 0)
      found_.differ(now(), "a frame that the wire codec writes in another way");
    if (packet.source.number != side || packet.destination.number != 1 - side)
      found_.differ(now(), "the addresses of a frame");
    // What the order tags of one side are about, and what the other side answers.
    // The engine numbers the requests of a jetty as they leave, not as they were posted.
    if (packet.ub.transaction == wire::UbTransaction::kRequest && (kIsHardware || side == 0))
      hosts_[side].order().left(packet.ub.request, now());
    if (packet.ub.transaction == wire::UbTransaction::kResponse && (kIsHardware || side == 1))
      hosts_[1 - side].order().answered(packet.ub.response, packet.ub.rtph.last, now());
    if (frames_ % 64 == 0 && !wire::dissect(frame, wire::LinkType::kEthernet).reencodes)
      found_.differ(now(), "a frame that cannot be dissected");
  }

  void cover() {
    Coverage& coverage = found_.coverage;
    each([&](auto& nic, auto&, std::uint32_t side) {
      coverage.hit_if(wires_[side].lost > 0, "lost");
      coverage.hit_if(wires_[side].doubled > 0, "doubled");
      coverage.hit_if(wires_[side].spoiled > 0, "spoiled");
      coverage.hit_if(wires_[side].late > 0, "late");
      // nic_counters_t, from its last member on.
      const auto& counters = nic->counters_o;
      coverage.hit_if(counters[4] > 0, "went back");
      if (counters[8] > 0) found_.differ(now(), "a request without room for its response");
      coverage.hit_if(counters[9] > 0, "ahead");
      coverage.hit_if(counters[10] > 0, "duplicate");
      coverage.hit_if(counters[14] > 0, "foreign");
      if (counters[3] > 0) found_.differ(now(), "a completion was lost");
      if (counters[5] > 0) found_.differ(now(), "a response that nobody waits for");
      if (counters[7] > 0) found_.differ(now(), "an acknowledgement of what was never sent");
    });
  }

  RandomStream random_;
  Findings& found_;
  Clocked<Model>& first_;
  Clocked<Other> second_;
  std::array<NicMemory, 2> memories_;
  std::array<NicHost, 2> hosts_;
  std::array<NicWire, 2> wires_;  ///< [i]: from NIC i to the other.
  bool stalls_ = true;
  std::uint64_t frames_ = 0;
  std::vector<std::byte> last_frame_;
};

}  // namespace wharf::rtl
