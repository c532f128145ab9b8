// SPDX-License-Identifier: Apache-2.0
// The four ways to reach remote memory that a two-host scenario can take: protocol, attachment and submission
// path.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/host/host_config.h"
#include "sim/scenario/binder.h"

namespace wharf::sim {

enum class Stack : std::uint8_t {
  kUbLoadStore,    ///< UB loads and stores; work requests of other verbs go over the URMA path.
  kUbUrma,         ///< UB work requests, stored to a NIC on the on-chip bus.
  kRoceBlueFlame,  ///< RoCE, the work-queue entry copied to the NIC.
  kRoceDma,        ///< RoCE, doorbell and fetched entries.
};

inline constexpr std::array<Choice<Stack>, 4> kStacks{{
    {"ub_ldst", Stack::kUbLoadStore},
    {"ub_urma", Stack::kUbUrma},
    {"roce_bf", Stack::kRoceBlueFlame},
    {"roce_dma", Stack::kRoceDma},
}};

constexpr std::string_view name(Stack stack) { return kStacks[static_cast<std::size_t>(stack)].name; }
constexpr bool is_ub(Stack stack) { return stack == Stack::kUbLoadStore || stack == Stack::kUbUrma; }
/// Where the stack's NIC sits unless model.attachment says otherwise.
constexpr Attachment usual_attachment(Stack stack) {
  return is_ub(stack) ? Attachment::kOnChipBus : Attachment::kPcie;
}
/// How the stack submits work requests unless model.submission says otherwise.
constexpr SubmissionPath usual_submission(Stack stack) {
  return is_ub(stack)                     ? SubmissionPath::kBusStore
         : stack == Stack::kRoceBlueFlame ? SubmissionPath::kBlueFlame
                                          : SubmissionPath::kDoorbell;
}

}  // namespace wharf::sim
