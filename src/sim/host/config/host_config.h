// SPDX-License-Identifier: Apache-2.0
// Every parameter of a host, one struct per component: the single definition that profiles fill. Defaults are
// those of profiles/connectx7-class.toml, but for the larger caches and the data rates, which are unlimited.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/host/config/cache_config.h"
#include "sim/host/config/coherent_setup.h"
#include "sim/kernel/charge_rule.h"
#include "sim/kernel/time_rule.h"
#include "wire/protocol_traits.h"

namespace wharf::sim {

/// Keys time.*.
struct TimeConfig {
  StageRounding rounding = StageRounding::kNone;  ///< time.rounding
};

/// Keys core.*: what software costs, and how many misses a core keeps in flight.
struct CoreConfig {
  TimePs library_post = nanoseconds(50);        ///< A call becomes a work request.
  TimePs work_request_build = nanoseconds(30);  ///< Stores that write the work-queue entry.
  TimePs library_poll = nanoseconds(30);        ///< A completion becomes a return value.
  TimePs poll_host_memory =
      nanoseconds(70);                   ///< The core misses on a record that the NIC wrote to host memory.
  TimePs poll_on_chip = nanoseconds(5);  ///< The same when the record lies in an on-chip buffer.
  /// In flight at a time, each for itself: misses of local memory, misses and stores of remote memory, dirty
  /// lines on their way to remote memory. 1 to 1024.
  std::uint32_t outstanding_misses = 16;
};

/// Keys memory.system: how accesses find memory.
enum class MemorySystem : std::uint8_t {
  kFlat,  ///< An access has a cost, whatever its lines; what a core and a NIC do to a line is not related.
  kCoherent,  ///< Lines with copies: private caches, home, DRAM and root complex of coherent_host.h.
};

/// Keys memory.*: DRAM of the host. All but `system` are those of the flat one.
struct MemoryConfig {
  MemorySystem system = MemorySystem::kFlat;
  TimePs row_hit = nanoseconds(30);       ///< A NIC's access to an open row.
  TimePs load_latency = nanoseconds(70);  ///< A core's, or a record fetch's, access to closed rows.
  BitsPerSecond rate{};                   ///< Data rate of the channels together; 0 is unlimited.
};

/// Keys bus.*: the on-chip bus between core, memory and an on-bus NIC.
struct OnChipBusConfig {
  TimePs crossing = nanoseconds(30);  ///< One transaction, request and reply together.
  BitsPerSecond rate{};               ///< Data rate per direction; 0 is unlimited.
};

/// Keys pcie.posted_writes.
enum class PostedWriteRule : std::uint8_t {
  kPosted,    ///< A write is done for the NIC when PCIe has accepted it; it becomes visible later, in order.
  kBlocking,  ///< The NIC waits until a write is in memory before it goes on (accounting of OpenURMA 5.2).
};

/// Keys pcie.*: a NIC behind PCIe and the root complex.
struct PcieConfig {
  TimePs mmio_write = nanoseconds(150);  ///< Posted write from the core to the NIC.
  TimePs read_round_trip =
      nanoseconds(500);  ///< DMA read of a small block from the last-level cache, root complex included.
  TimePs posted_write = nanoseconds(250);  ///< DMA write until it is visible.
  BitsPerSecond rate{};      ///< Bytes on the wire per direction, after line coding; 0 is unlimited.
  std::uint32_t tags = 256;  ///< Non-posted requests in flight, 1 to 4096.
  std::uint32_t posted_credits = 127;    ///< Posted TLPs in flight per direction, up to 4096; 0 is unlimited.
  std::uint32_t max_payload = 256;       ///< Bytes of data in one TLP, 64 to 4096.
  std::uint32_t max_read_request = 512;  ///< Bytes that one read request asks for, 64 to 4096.
  std::uint32_t request_header = 24;     ///< Header and framing of a memory request TLP, bytes.
  std::uint32_t completion_header = 20;  ///< Header and framing of a completion TLP, bytes.
  PostedWriteRule posted_writes = PostedWriteRule::kPosted;
};

/// Where a NIC sits.
enum class Attachment : std::uint8_t { kOnChipBus, kPcie };

/// How work requests reach a NIC. Loads and stores always cross the on-chip bus.
enum class SubmissionPath : std::uint8_t {
  kBusStore,    ///< The entry is stored to the NIC over the on-chip bus.
  kDoorbell,    ///< A doorbell announces it and the NIC fetches it by DMA.
  kBlueFlame,   ///< The entry, with up to nic.inline_limit bytes of payload, is copied to the NIC; else a
                ///< doorbell.
  kMmioStream,  ///< The entry and its payload, up to mmio_stream.largest, are written to the NIC; of more,
                ///< the entry alone.
};

/// Keys mmio_stream.*: submission by writing straight to the NIC. Source: "Stop Taking the Scenic Route"
/// (HotOS '25).
struct MmioStreamConfig {
  TimePs line = picoseconds(4'267);         ///< From one line of stores to the next: 120 Gbps, 2.1.
  TimePs spread = nanoseconds(20);          ///< A line may take so much longer than pcie.mmio_write. Choice.
  std::uint32_t combining_buffers = 8;      ///< Write-combining buffers of the core, 1 to 64; 3.4.
  std::uint32_t largest = 4096;             ///< Payload, 0 to 8192.
  std::uint32_t window_bytes = 256 * 1024;  ///< Addresses of a queue, a power of two; 3.3.
  std::uint32_t buffer_bytes = 16'384;      ///< Of a data buffer of the reorder unit, a power of two.
  std::uint32_t buffers = 16;               ///< Data buffers: queues with an incomplete message, 1 to 4096.
  std::uint32_t memory_bytes = 256 * 1024;  ///< NIC memory for messages until they are done.
  TimePs unit_cycle = nanoseconds(2);       ///< Clock period of the unit: 500 MHz, 3.2.
};

enum class ReceiveEntryRule : std::uint8_t {
  kFetched,     ///< The NIC reads each receive entry when a message needs it.
  kPrefetched,  ///< The entry is always in the NIC already (accounting of OpenURMA 5.2).
};

enum class PayloadFetchRule : std::uint8_t {
  kSeparate,   ///< Payload that is not inline is a read of its own.
  kWithEntry,  ///< Payload arrives together with the work-queue entry (accounting of OpenURMA 5.2).
};

enum class AtomicResultRule : std::uint8_t {
  kMemory,      ///< The old value is written to the program's memory.
  kCompletion,  ///< It is part of the completion record: the program posts atomics without a local buffer.
};

/// What a NIC is made of.
enum class NicImplementation : std::uint8_t {
  kEngine,  ///< An engine of src/engine, whose cycles are those of the profile.
  kRtl,     ///< The hardware of rtl/, clocked: its cycles are its own.
};

/// Keys nic.*.
struct NicConfig {
  NicImplementation implementation = NicImplementation::kEngine;
  TimePs rtl_cycle = nanoseconds(4);   ///< kRtl: period of its clock.
  TimePs cycle = picoseconds(3'106);   ///< Clock period of the pipelines (322 MHz).
  std::uint32_t bytes_per_cycle = 32;  ///< Width of the data path: one flit.
  /// Pipeline depth, transmit and receive alike, for packets of loads and stores,
  std::uint32_t load_store_cycles = 8;
  /// and for those of work requests, by protocol. Choice: those of which nothing is known take as many as
  /// queue pairs.
  std::array<std::uint32_t, wire::kProtocolCount> queue_cycles{25, 9, 9};
  std::uint32_t receive_match_cycles = 8;  ///< Matching a message to its receive entry.
  std::uint32_t transmit_queue = 8;        ///< Packets that wait before the transmit pipeline, 1 to 256.
  /// Packets behind the transmit pipeline wait for a link that is behind, up to so many bytes. Beyond, the
  /// pipeline is held back. Choice: what a link of 400 Gb/s carries while memory behind PCIe is read.
  std::uint32_t port_buffer = 16'384;
  std::uint32_t inline_limit = 64;  ///< BlueFlame: bytes of payload inside the entry.
  TimePs order_gate{};              ///< Serialisation of each work request of a queue.
  bool cut_through = true;          ///< The link transmits while flits still stream out of the pipeline.
  ChargeRule charged_bytes = ChargeRule::kPacket;
  std::uint32_t nominal_request_bytes = 64;  ///< kPayload: charge of a request without payload.
  std::uint32_t nominal_response_bytes = 8;  ///< kPayload: charge of a response without payload.
  ReceiveEntryRule receive_entries = ReceiveEntryRule::kFetched;
  PayloadFetchRule payload_fetch = PayloadFetchRule::kSeparate;
  AtomicResultRule atomic_result = AtomicResultRule::kMemory;
  bool request_receive_stage =
      true;  ///< False: requests skip the target's receive pipeline (accounting of OpenURMA 8.2).
  bool send_notify_crossing =
      false;  ///< A Send waits for one more crossing that notifies (accounting of OpenURMA 5.2).
};

/// The keys of pipeline depths, without "nic.". A protocol with loads and stores has two, the others one.
struct PipelineKeys {
  std::string load_store;  ///< Empty where there is none.
  std::string queue;
};
PipelineKeys pipeline_keys(wire::Protocol protocol);

/// All of one host.
struct HostConfig {
  TimeConfig time;
  CoreConfig core;
  CacheHierarchyConfig cache;
  MemoryConfig memory;
  OnChipBusConfig bus;
  PcieConfig pcie;
  NicConfig nic;
  MmioStreamConfig mmio_stream;
  CoherentSetup coherent;  ///< With memory.system = coherent.
};

/// Refuses what cannot be built, naming the key.
Result<void> validate(const HostConfig& config);

}  // namespace wharf::sim
