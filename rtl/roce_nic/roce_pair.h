// SPDX-License-Identifier: Apache-2.0
// Two RoCE NICs back to back: both in hardware, or the second one the C++ engine. Apart from the tests, which
// say for how long and what is measured.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_bench.h"
#include "rtl/cosim/packed.h"
#include "rtl/roce_nic/roce_host.h"
#include "rtl/roce_nic/roce_plan.h"
#include "rtl/roce_nic/roce_rules.h"
#include "wire/address_plan.h"
#include "wire/roce_opcode.h"

namespace wharf::rtl {

/// Who `nic` is: host `own` of the address plan.
template <typename Model>
void set_roce_route(Model& nic, std::uint32_t own) {
  Packed<176> bits;
  for (const std::uint32_t host : {own, 1 - own})
    bits.put(reinterpret_cast<const std::byte*>(wire::mac_of(wire::HostAddress{host}).data()), 6, 6);
  for (const std::uint32_t host : {own, 1 - own}) bits.put(wire::ipv4_of(wire::HostAddress{host}), 32);
  bits.put(0, 16);  // Each queue pair has a source port.
  std::memcpy(nic.route_i.data(), bits.words().data(), sizeof bits.words());
  nic.ring_i = (NicMemory::kBase + RocePlan::kRingAt) >> 6U;
}

/// Registers a region of the memory of `nic`.
template <typename Model>
void set_region(Clocked<Model>& nic, std::uint32_t region, std::uint32_t rights, std::uint32_t at,
                std::uint32_t size) {
  Packed<148> bits;
  bits.put(1, 1);
  bits.put(rights, 3);  // Read, write, atomic.
  bits.put(RocePlan::key_of(region), 32);
  bits.put(NicMemory::kBase + at, 64);
  bits.put(size, 48);
  std::memcpy(nic->segment_i.data(), bits.words().data(), sizeof bits.words());
  nic->segment_index_i = static_cast<std::uint16_t>(region + 1);
  nic->segment_valid_i = 1;
  nic.settle();
  nic.tick();
  nic->segment_valid_i = 0;
}

/// Connects a queue pair of `nic`.
template <typename Model>
void open_pair(Clocked<Model>& nic, std::uint32_t pair, std::uint32_t remote, std::uint32_t send_psn,
               std::uint32_t receive_psn) {
  nic->open_valid_i = 1;
  nic->open_pair_i = static_cast<std::uint16_t>(pair);
  nic->open_remote_i = remote;
  nic->open_send_psn_i = send_psn;
  nic->open_receive_psn_i = receive_psn;
  nic.settle();
  nic.tick();
  nic->open_valid_i = 0;
}

template <typename Model>
constexpr std::uint32_t first_number() {
  if constexpr (requires { Model::kFirstNumber; })
    return Model::kFirstNumber;
  else
    return RocePlan::kFirstNumber;
}

template <typename Model, typename Other = Model>
class RocePair : public NicBench<RocePair<Model, Other>, Model, Other> {
  using Base = NicBench<RocePair, Model, Other>;

 public:
  static constexpr bool kIsHardware = std::is_same_v<Model, Other>;  ///< Both sides.

  RocePair(Clocked<Model>& first, RandomStream random, Findings& found)
      : Base(first, random, found, RocePlan::kBytes),
        hosts_{RoceHost(memories_[0], memories_[1], first_number<Model>(), random.substream(3), found),
               RoceHost(memories_[1], memories_[0], first_number<Other>(), random.substream(4), found)} {
    hosts_[0].face(hosts_[1]);
    hosts_[1].face(hosts_[0]);
    for (auto& wire : this->wires_) wire.hide_spoiled();
    for (const TaOpcode operation :
         {TaOpcode::kWrite, TaOpcode::kWriteImmediate, TaOpcode::kSend, TaOpcode::kSendImmediate,
          TaOpcode::kRead, TaOpcode::kAtomicCompareSwap, TaOpcode::kAtomicFetchAdd})
      found.coverage.require(std::string(wire::ta_opcode_name(operation)));
    for (unsigned opcode = 0; opcode <= 0x14; ++opcode)
      found.coverage.require(std::string(wire::roce_opcode_name(static_cast<wire::RoceOpcode>(opcode))));
    for (const char* name : {"comparison that matches", "comparison that does not match", "several packets",
                             "no bytes", "inline", "fence", "refused", "flushed", "given up",
                             "retries exhausted", "too long for its receive", "receive queue full",
                             "queue full", "doorbell of no queue pair, or of no request",
                             "doorbell of one that has ended", "PSN wraps", "connected anew"})
      found.coverage.require(name);
    // Those that the wire codec knows before the NIC does, or that nothing here brings about, are not among
    // them.
    for (const char* name :
         {"receives_refused", "doorbells_refused", "dropped_stale_response", "dropped_out_of_order",
          "dropped_not_ready", "dropped_foreign", "duplicate_requests", "retries_exhausted",
          "rnr_naks_received", "implied_naks", "sequence_naks_received", "timeouts", "rnr_naks_sent",
          "naks_sent", "acknowledgements_sent", "requests_resent", "packets_received", "packets_sent"})
      found.coverage.require(name);
    // These take long where only one side is hardware.
    if constexpr (kIsHardware) {
      for (const char* name : {"dropped_unknown_queue", "acknowledgements_merged"})
        found.coverage.require(name);
    }
  }

 private:
  friend Base;
  using Base::found_;
  using Base::memories_;
  using Base::random_;

  /// roce_counters_t, from its last member on.
  static constexpr std::array<const char*, 29> kCounterNames{"receives_refused",
                                                             "doorbells_refused",
                                                             "completions_lost",
                                                             "frames_without_room",
                                                             "dropped_service",
                                                             "dropped_no_resources",
                                                             "dropped_duplicate",
                                                             "dropped_stale_response",
                                                             "dropped_out_of_order",
                                                             "dropped_partition",
                                                             "dropped_not_ready",
                                                             "dropped_unknown_queue",
                                                             "dropped_version",
                                                             "dropped_unknown_opcode",
                                                             "dropped_foreign",
                                                             "congestion_notifications",
                                                             "duplicate_requests",
                                                             "retries_exhausted",
                                                             "rnr_naks_received",
                                                             "implied_naks",
                                                             "sequence_naks_received",
                                                             "timeouts",
                                                             "rnr_naks_sent",
                                                             "naks_sent",
                                                             "acknowledgements_merged",
                                                             "acknowledgements_sent",
                                                             "requests_resent",
                                                             "packets_received",
                                                             "packets_sent"};

  RoceHost& host(std::uint32_t side) { return hosts_[side]; }

  template <typename Nic>
  void set_up(Clocked<Nic>& nic, std::uint32_t side) {
    set_roce_route(*nic, side);
    nic.reset();
    set_region(nic, 0, 7, RocePlan::kCounters, 64);
    set_region(nic, 1, 4, RocePlan::kConstant, RocePlan::kConstantBytes);
    set_region(nic, 2, 6, RocePlan::kTarget, RocePlan::kTargetBytes);
    if (side == 0) {
      // (The engine has one for all of its queue pairs.)
      for (auto& psns : psns_)
        for (std::uint32_t& psn : psns) psn = 0xff'ffff - static_cast<std::uint32_t>(random_.below(40));
    }
    if constexpr (!kIsHardware) psns_[1].fill(Other::kStartingPsn);
    rules_.reset(psns_);
    for (std::uint32_t pair = 0; pair < RocePlan::kPairs; ++pair)
      open_pair(nic, pair, hosts_[1 - side].number() + pair, psns_[side][pair], psns_[1 - side][pair]);
  }
  template <typename Nic>
  void check(Nic&) {}

  /// A queue pair that has ended stays so.
  void settled() {
    if (!hosts_[0].is_troubled() && !hosts_[1].is_troubled()) return;
    found_.coverage.hit("connected anew");
    this->each([&](auto& nic, auto&, std::uint32_t side) { note(*nic, side); });
    this->reset();
  }

  /// Of another queue pair, with a CRC that is wrong or, mostly, right.
  void turn(std::vector<std::byte>& frame) {
    wire::Packet packet;
    if (wire::decode(frame, wire::LinkType::kEthernet, packet) != wire::DropReason::kNone) return;
    packet.roce.bth.destination_queue_pair ^= 0x100U << random_.below(16);
    std::vector<std::byte> turned(2048);
    turned.resize(wire::encode(packet, turned));
    if (random_.below(4) == 0) turned.back() ^= std::byte{1};
    frame = turned;
  }

  void seen(const wire::Packet& packet, std::uint32_t side) {
    rules_.seen(packet, side, packet.roce.bth.destination_queue_pair - hosts_[1 - side].number(),
                kIsHardware || side == 0, this->now());
    found_.coverage.hit(wire::roce_opcode_name(packet.roce.bth.opcode));
    found_.coverage.hit_if(packet.roce.bth.psn == 0, "PSN wraps");
    // Acknowledgements and results are urgent, and everything may be marked.
    using wire::RoceOpcode;
    const RoceOpcode opcode = packet.roce.bth.opcode;
    const bool is_urgent = packet.traffic_class == wire::TrafficClass::kAcknowledgement;
    if (is_urgent != (opcode == RoceOpcode::kRcAcknowledge || opcode == RoceOpcode::kRcAtomicAcknowledge) ||
        packet.mark != wire::CongestionMark::kCapable)
      found_.differ(this->now(), "the traffic class of a frame");
  }

  template <typename Nic>
  void note(Nic& nic, std::uint32_t) {
    for (std::uint32_t i = 0; i < kCounterNames.size(); ++i)
      found_.coverage.hit_if(nic.counters_o[i] > 0, kCounterNames[i]);
    if (nic.counters_o[2] > 0) found_.differ(this->now(), "a completion was lost");
  }

  std::array<RoceHost, 2> hosts_;
  RoceRules rules_{found_};
  std::array<std::array<std::uint32_t, RocePlan::kPairs>, 2> psns_{};  ///< First ones, of each side.
};

}  // namespace wharf::rtl
