// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect_roce.h"

#include <fmt/format.h>

namespace wharf::wire {
namespace {

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string syndrome_text(const Aeth& aeth) {
  switch (aeth.syndrome_class()) {
    case AethClass::kAck:
      return aeth.value() == 31 ? "ACK, credits not used" : fmt::format("ACK, credit code {}", aeth.value());
    case AethClass::kReceiverNotReady:
      return fmt::format("RNR NAK, timer code {}", aeth.value());
    case AethClass::kReserved:
      return "reserved";
    case AethClass::kNak:
      break;
  }
  switch (static_cast<NakCode>(aeth.value())) {
    case NakCode::kSequenceError:
      return "NAK, PSN sequence error";
    case NakCode::kInvalidRequest:
      return "NAK, invalid request";
    case NakCode::kRemoteAccess:
      return "NAK, remote access error";
    case NakCode::kRemoteOperation:
      return "NAK, remote operational error";
    case NakCode::kInvalidRdRequest:
      return "NAK, invalid RD request";
  }
  return fmt::format("NAK, reserved code {}", aeth.value());
}

void dissect_bth(const Bth& bth, std::uint32_t at, DissectTree& tree) {
  tree.header("BTH", std::string(roce_opcode_name(bth.opcode)), at, kBthBytes);
  tree.field("opcode", fmt::format("{:#04x}", static_cast<unsigned>(bth.opcode)), at, 1);
  tree.field("solicited event", yes_no(bth.solicited), at + 1, 1);
  tree.field("migration", yes_no(bth.migration), at + 1, 1);
  tree.field("pad count", fmt::format("{}", bth.pad), at + 1, 1);
  tree.field("partition key", fmt::format("{:#06x}", bth.partition_key), at + 2, 2);
  tree.field("FECN", yes_no(bth.forward_congestion), at + 4, 1);
  tree.field("BECN", yes_no(bth.backward_congestion), at + 4, 1);
  tree.field("destination QP", fmt::format("{:#08x}", bth.destination_queue_pair), at + 5, 3);
  tree.field("acknowledge request", yes_no(bth.acknowledge_request), at + 8, 1);
  tree.field("PSN", fmt::format("{}", bth.psn), at + 9, 3);
}

void dissect_reth(const Reth& reth, std::uint32_t at, DissectTree& tree) {
  tree.header("RETH", fmt::format("{:#018x}+{}", reth.address, reth.length), at, kRethBytes);
  tree.field("virtual address", fmt::format("{:#018x}", reth.address), at, 8);
  tree.field("remote key", fmt::format("{:#010x}", reth.remote_key), at + 8, 4);
  tree.field("DMA length", fmt::format("{}", reth.length), at + 12, 4);
}

void dissect_atomic(const AtomicEth& atomic, std::uint32_t at, DissectTree& tree) {
  tree.header("AtomicETH", fmt::format("{:#018x}", atomic.address), at, kAtomicEthBytes);
  tree.field("virtual address", fmt::format("{:#018x}", atomic.address), at, 8);
  tree.field("remote key", fmt::format("{:#010x}", atomic.remote_key), at + 8, 4);
  tree.field("swap or add", fmt::format("{:#018x}", atomic.swap_or_add), at + 12, 8);
  tree.field("compare", fmt::format("{:#018x}", atomic.compare), at + 20, 8);
}

}  // namespace

std::string dissect_roce(const Packet& packet, std::uint32_t at, DissectTree& tree) {
  const RocePacket& roce = packet.roce;
  const std::uint16_t headers = roce_headers(roce.bth.opcode);
  std::string summary = fmt::format("RoCEv2 {}, QP {:#x}, PSN {}", roce_opcode_name(roce.bth.opcode),
                                    roce.bth.destination_queue_pair, roce.bth.psn);
  dissect_bth(roce.bth, at, tree);
  at += kBthBytes;
  if ((headers & kRoceFeth) != 0) {
    tree.header("FETH",
                fmt::format("placement {}, selectivity {}", roce.feth.placement, roce.feth.selectivity), at,
                kFethBytes);
    at += kFethBytes;
  }
  if ((headers & kRoceDeth) != 0) {
    tree.header("DETH", fmt::format("source QP {:#08x}", roce.deth.source_queue_pair), at, kDethBytes);
    tree.field("queue key", fmt::format("{:#010x}", roce.deth.queue_key), at, 4);
    tree.field("source QP", fmt::format("{:#08x}", roce.deth.source_queue_pair), at + 5, 3);
    at += kDethBytes;
  }
  if ((headers & kRoceReth) != 0) {
    dissect_reth(roce.reth, at, tree);
    summary += fmt::format(", address {:#x}, {} bytes", roce.reth.address, roce.reth.length);
    at += kRethBytes;
  }
  if ((headers & kRoceAtomicEth) != 0) {
    dissect_atomic(roce.atomic, at, tree);
    summary += fmt::format(", address {:#x}", roce.atomic.address);
    at += kAtomicEthBytes;
  }
  if ((headers & kRoceAeth) != 0) {
    const Aeth& aeth = roce.ack.aeth;
    tree.header("AETH", syndrome_text(aeth), at, kAethBytes);
    tree.field("syndrome", fmt::format("{:#04x}", aeth.syndrome), at, 1);
    tree.field("MSN", fmt::format("{}", aeth.msn), at + 1, 3);
    summary += fmt::format(", {}, MSN {}", syndrome_text(aeth), aeth.msn);
    at += kAethBytes;
  }
  if ((headers & kRoceAtomicAckEth) != 0) {
    tree.header("AtomicAckETH", fmt::format("{:#018x}", roce.ack.atomic_original), at, kAtomicAckEthBytes);
    at += kAtomicAckEthBytes;
  }
  if ((headers & kRoceImmediate) != 0) {
    tree.header("ImmDt", fmt::format("{:#010x}", roce.immediate), at, kImmediateBytes);
    at += kImmediateBytes;
  }
  if ((headers & kRoceIeth) != 0)
    tree.header("IETH", fmt::format("{:#010x}", roce.invalidate_key), at, kIethBytes);
  if ((headers & kRoceCnpReserved) != 0) tree.header("reserved", "16 bytes", at, kCnpReservedBytes);
  if ((headers & kRocePayload) != 0) summary += fmt::format(", payload {}", packet.payload.length);
  return summary;
}

}  // namespace wharf::wire
