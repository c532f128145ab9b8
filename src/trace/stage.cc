// SPDX-License-Identifier: Apache-2.0
#include "trace/stage.h"

#include <array>
#include <cstddef>

namespace wharf::trace {
namespace {

struct StageText {
  std::string_view name;
  std::string_view description;
};

constexpr std::array<StageText, kStageCount> kStages{{
    {"core_wait", "the core is busy with other work"},
    {"library_post", "software that turns a call into a work request"},
    {"work_request_build", "stores that write the work-queue entry"},
    {"doorbell", "MMIO write from the core to the NIC"},
    {"submit_bus", "on-chip bus from the core to the NIC"},
    {"work_request_fetch", "the NIC reads the work-queue entry"},
    {"cache_lookup", "cache levels of the core"},
    {"miss_slot_wait", "every outstanding-miss slot of the core is taken"},
    {"merged_miss", "the miss or write-back of another access to the same line"},
    {"send_queue_wait", "behind earlier requests of the send queue"},
    {"context_fetch", "a context record is read into the initiator's NIC"},
    {"context_fetch_target", "a context record is read into the target's NIC"},
    {"order_wait", "held back by an ordering rule or fence"},
    {"window_wait", "transport window exhausted"},
    {"payload_fetch", "the NIC reads the initiator's data"},
    {"nic_queue", "waiting for a NIC pipeline"},
    {"nic_transmit", "transmit pipeline of the initiator's NIC"},
    {"link_queue", "waiting for the link to be free"},
    {"wire_forward", "serialisation and propagation to the target"},
    {"nic_receive", "receive pipeline of the target's NIC"},
    {"reorder_wait", "arrived, but earlier packets are missing"},
    {"receive_entry_fetch", "the NIC reads a receive entry"},
    {"receive_match", "matching a message to its receive entry"},
    {"target_bus", "on-chip bus between the target's NIC and memory"},
    {"target_pcie_read", "PCIe read round trip at the target"},
    {"target_pcie_write", "PCIe posted write at the target"},
    {"target_memory", "the target's memory"},
    {"atomic_unit", "the serial atomic unit of the target"},
    {"nic_transmit_response", "transmit pipeline of the target's NIC"},
    {"wire_back", "serialisation and propagation back"},
    {"nic_receive_response", "receive pipeline of the initiator's NIC"},
    {"response_write", "returned data goes to the initiator's memory"},
    {"completion_write", "the NIC writes the completion record"},
    {"complete_bus", "on-chip bus from the NIC to the core"},
    {"completion_poll", "the core notices the completion record"},
    {"library_poll", "software that turns a completion into a return value"},
    {"retransmission_wait", "a loss was not yet noticed"},
    {"receiver_backoff", "receiver-not-ready delay"},
    {"local_memory", "the initiator's own memory"},
    {"page_fault_kernel", "kernel cost of a page fault"},
    {"miss_detection", "flat cost for finding out that an access is remote (profile rule)"},
    {"rounding", "stages rounded to whole nanoseconds (profile rule)"},
}};

}  // namespace

std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)].name; }
std::string_view describe(Stage stage) { return kStages[static_cast<std::size_t>(stage)].description; }

}  // namespace wharf::trace
