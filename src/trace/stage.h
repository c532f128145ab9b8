// SPDX-License-Identifier: Apache-2.0
// The named places where an operation can spend time. Attribution has no bucket called other: time that no
// stage claims is an error of the model.
#pragma once

#include <cstdint>
#include <string_view>

namespace wharf::trace {

/// One stage of an operation's path. The text of name() is used in tables, JSON keys and timelines.
enum class Stage : std::uint8_t {
  kCoreWait,            ///< The core is busy with other work.
  kLibraryPost,         ///< Software that turns a call into a work request.
  kWorkRequestBuild,    ///< Stores that write the work-queue entry.
  kDoorbell,            ///< MMIO write from the core to the NIC, the BlueFlame copy included.
  kSubmitBus,           ///< On-chip bus crossing from the core to the NIC.
  kWorkRequestFetch,    ///< NIC reads the work-queue entry.
  kCacheLookup,         ///< Core cache levels, hits and the tag checks of a miss.
  kMissSlotWait,        ///< All outstanding-miss slots of the core are taken.
  kMergedMiss,          ///< Waiting for the miss or write-back of another access to the same line.
  kSendQueueWait,       ///< In the send queue, or before it when it is full, behind earlier requests.
  kContextFetch,        ///< A context record is read into the NIC's cache, at the initiator.
  kContextFetchTarget,  ///< The same at the target.
  kOrderWait,           ///< Held back by an ordering rule or fence.
  kWindowWait,          ///< Transport window or credit exhausted.
  kPayloadFetch,        ///< NIC reads the initiator's data.
  kNicQueue,            ///< Waiting for a NIC pipeline to accept it.
  kNicTransmit,         ///< NIC transmit pipeline, requests.
  kLinkQueue,           ///< Waiting for the link to be free.
  kWireForward,         ///< Serialisation and propagation toward the target.
  kNicReceive,          ///< NIC receive pipeline at the target.
  kReorderWait,         ///< Arrived, but delivery waits for earlier packets.
  kReceiveEntryFetch,   ///< NIC reads a receive entry.
  kReceiveMatch,        ///< Matching a message to its receive entry and notifying.
  kTargetBus,           ///< On-chip bus crossing between the target's NIC and memory.
  kTargetPcieRead,      ///< PCIe non-posted round trip at the target.
  kTargetPcieWrite,     ///< PCIe posted write at the target.
  kTargetMemory,        ///< The target's memory itself.
  kAtomicUnit,          ///< Waiting for and using the serial atomic unit at the target.
  kNicTransmitResponse,
  kWireBack,
  kNicReceiveResponse,
  kResponseWrite,       ///< NIC places returned data in the initiator's memory.
  kCompletionWrite,     ///< NIC writes the completion record.
  kCompleteBus,         ///< On-chip bus crossing from the NIC back to the core.
  kCompletionPoll,      ///< The core notices the completion record.
  kLibraryPoll,         ///< Software that turns a completion into a return value.
  kRetransmissionWait,  ///< A loss was not yet noticed: timers and their back-off.
  kReceiverBackoff,     ///< Receiver-not-ready delay.
  kLocalMemory,         ///< The initiator's own memory.
  kPageFaultKernel,     ///< Kernel cost of a page fault.
  kMissDetection,       ///< A profile's flat cost for finding out that an access is remote.
  kRounding,            ///< A profile's rule that rounds each stage to whole nanoseconds.
};

inline constexpr int kStageCount = static_cast<int>(Stage::kRounding) + 1;

/// "nic_transmit", "wire_forward", ...
std::string_view name(Stage stage);
/// One sentence for legends.
std::string_view describe(Stage stage);

}  // namespace wharf::trace
