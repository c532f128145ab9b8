// SPDX-License-Identifier: Apache-2.0
// The ways to reach remote memory that a two-host scenario can take: protocol, attachment and submission
// path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/host/config/host_config.h"
#include "wire/packet.h"
#include "workload/choice.h"

namespace wharf::sim {

enum class Stack : std::uint8_t {
  kUbLoadStore,    ///< UB loads and stores; work requests of other verbs go over the URMA path.
  kUbUrma,         ///< UB work requests, stored to a NIC on the on-chip bus.
  kRoceBlueFlame,  ///< RoCE, the work-queue entry copied to the NIC.
  kRoceDma,        ///< RoCE, doorbell and fetched entries.
  kUet,            ///< Ultra Ethernet, doorbell and fetched entries.
};

inline constexpr std::array<workload::Choice<Stack>, 5> kStacks{{
    {"ub_ldst", Stack::kUbLoadStore},
    {"ub_urma", Stack::kUbUrma},
    {"roce_bf", Stack::kRoceBlueFlame},
    {"roce_dma", Stack::kRoceDma},
    {"uet", Stack::kUet},
}};

/// What a stack stands for; the last two unless model.attachment and model.submission say otherwise.
struct StackTraits {
  wire::Protocol protocol = wire::Protocol::kUb;
  Attachment attachment = Attachment::kOnChipBus;
  SubmissionPath submission = SubmissionPath::kBusStore;
};

/// In the order of the stacks.
inline constexpr std::array<StackTraits, kStacks.size()> kStackTraits{{
    {wire::Protocol::kUb, Attachment::kOnChipBus, SubmissionPath::kBusStore},
    {wire::Protocol::kUb, Attachment::kOnChipBus, SubmissionPath::kBusStore},
    {wire::Protocol::kRoce, Attachment::kPcie, SubmissionPath::kBlueFlame},
    {wire::Protocol::kRoce, Attachment::kPcie, SubmissionPath::kDoorbell},
    {wire::Protocol::kUet, Attachment::kPcie, SubmissionPath::kDoorbell},
}};

constexpr std::string_view name(Stack stack) { return kStacks[static_cast<std::size_t>(stack)].name; }
constexpr const StackTraits& traits(Stack stack) { return kStackTraits[static_cast<std::size_t>(stack)]; }
constexpr wire::Protocol protocol_of(Stack stack) { return traits(stack).protocol; }

}  // namespace wharf::sim
