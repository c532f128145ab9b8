// SPDX-License-Identifier: Apache-2.0
// How a NIC reaches memory: serves the accesses of an engine over the on-chip bus or over PCIe, says where
// the time went, and moves the bytes. The engine never knows which of the two it was.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "sim/host/config/host_config.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/memory/on_chip_bus.h"
#include "sim/host/nic/stream_gate.h"
#include "sim/host/pcie/pcie.h"
#include "trace/tracer.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// The parts of a host that its NICs share.
struct HostParts {
  HostMemory& memory;
  Dram& dram;
  OnChipBus& bus;
  trace::Tracer& tracer;
  wire::PayloadPool& payloads;
};

/// The memory side of one NIC. Pure arithmetic: the NIC turns the instants into events.
///
/// Where data lie: at a target in DRAM; what belongs to the initiator's own requests (payload, returned data,
/// completion records, work-queue and receive entries) in the last-level cache, where core and NIC meet;
/// context records in closed rows of DRAM. Reads take their data, and atomics act, at the end of the access.
class MemoryPort {
 public:
  MemoryPort(const HostConfig& config, Attachment attachment, const HostParts& parts, std::uint16_t host);

  /// When `access`, handed over at `now`, may begin.
  TimePs earliest(TimePs now, const engine::Access& access) {
    return needs_gate(access) ? gate_.earliest(now, access) : now;
  }

  /// The course of an access that begins at a certain time.
  struct Course {
    TimePs done;     ///< When the engine gets its answer; a posted write: when PCIe has taken it.
    TimePs visible;  ///< Writes: when the bytes are in memory; not before `done` for posted ones, equal
                     ///< otherwise.
  };
  /// Begins `access` at `now`; calls come with non-decreasing `now`. Reports the spans.
  Course begin(TimePs now, const engine::Access& access);

  /// Moves the bytes of a read, atomic or fetch, or of a write that is visible now. The data of the result
  /// hold a reference that the caller releases.
  engine::AccessResult perform(const engine::Access& access);

  /// Whether the range of a write that the NIC may forget early can be written.
  bool is_mapped(const engine::Access& access) const {
    return host_.memory.is_mapped(access.address, access.length);
  }

  /// What matching a message to its receive entry takes, once the NIC has the entry.
  TimePs receive_match() const;

  /// MMIO write or bus store of a submission that leaves the core at `at`; returns when the NIC has it.
  TimePs submit(TimePs at, SubmissionPath path, std::uint32_t bytes) {
    return path == SubmissionPath::kBusStore ? host_.bus.cross(BusLane::kSubmit, at, bytes)
                                             : pcie_.mmio_write(at, bytes);
  }

 private:
  static bool needs_gate(const engine::Access& access) {
    return access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kWrite ||
           access.kind == engine::AccessKind::kAtomic;
  }
  Course begin_ungated(TimePs now, const engine::Access& access);
  Course read(TimePs now, const engine::Access& access);
  Course write(TimePs now, const engine::Access& access);
  Course atomic(TimePs now, const engine::Access& access);
  Course fetch_receive_entry(TimePs now, const engine::Access& access);
  Course write_completion(TimePs now, const engine::Access& access);
  Course fetch_context(TimePs now, const engine::Access& access);
  /// A read of something that lies in the last-level cache; reports it as `stage`.
  TimePs read_cached(TimePs now, const engine::Access& access, trace::Stage stage);
  void span(const engine::Access& access, trace::Stage stage, TimePs begin, TimePs end) {
    host_.tracer.span(access.operation, stage, begin, end, host_number_);
  }
  bool on_bus() const { return attachment_ == Attachment::kOnChipBus; }

  HostConfig config_;
  Attachment attachment_;
  HostParts host_;
  std::uint16_t host_number_;
  Pcie pcie_;
  StreamGate gate_;
  TimePs last_visible_;      ///< Bus: writes become visible in order.
  TimePs atomic_unit_free_;  ///< The serial unit next to memory.
};

}  // namespace wharf::sim
