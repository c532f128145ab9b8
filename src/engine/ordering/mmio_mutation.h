// SPDX-License-Identifier: Apache-2.0
// Deliberate mistakes in the machines of the MMIO path, so that a test can show that it would find them.
// Apart because no shipped program knows them: there the choice is a constant, and the compiler drops every
// branch.
#pragma once

#include <cstdint>

namespace wharf::ordering {

/// One mistake. The names say what the machine forgets.
enum class MmioMutation : std::uint8_t {
  kNone,
  kReleaseDoesNotWait,     ///< ROB: an MMIO-Release is handed on although lower numbers are missing.
  kForgottenWrap,          ///< ROB: numbers are compared as plain integers instead of modulo their width.
  kEarlyCredit,            ///< ROB: a slot is promised to the core before the operation in it has left.
  kForgottenFence,         ///< Sequencer: a fence does not order later operations after earlier ones.
  kValidBitsStay,          ///< Reorder unit: the valid bits of a message that was handed over stay set.
  kStaleBytesAccepted,     ///< Reorder unit: bytes below the start of the oldest message set valid bits.
  kLengthByteAlone,        ///< Reorder unit: one valid byte of a wide length field is taken for all.
  kForwardOldest,          ///< Store buffer: a load is answered by the oldest matching store.
  kOwnBytesForgotten,      ///< Sequencer: an operation does not wait for an earlier one on its bytes.
  kFenceForgetsOpenLines,  ///< Write combining: sfence waits only for lines that were leaving already.
};
inline constexpr int kMmioMutationCount = static_cast<int>(MmioMutation::kFenceForgetsOpenLines) + 1;

#ifdef WHARF_WITH_MUTATIONS
/// The test program that is compiled with mutations chooses one at run time.
inline MmioMutation mmio_mutation = MmioMutation::kNone;
inline bool mutated(MmioMutation mutation) { return mmio_mutation == mutation; }
#else
inline constexpr MmioMutation mmio_mutation = MmioMutation::kNone;
constexpr bool mutated(MmioMutation mutation) { return mmio_mutation == mutation; }
#endif

}  // namespace wharf::ordering
