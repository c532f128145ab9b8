// SPDX-License-Identifier: Apache-2.0
#include "sim/host/nic/memory_port.h"

#include "base/check.h"

namespace wharf::sim {

using engine::Access;
using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using trace::Stage;

namespace {

/// Where writes to the last-level cache land: there, as they arrive.
TimePs in_cache(TimePs arrived, std::uint32_t) { return arrived; }

}  // namespace

MemoryPort::MemoryPort(const HostConfig& config, Attachment attachment, const HostParts& parts,
                       std::uint16_t host)
    : config_(config),
      attachment_(attachment),
      host_(parts),
      host_number_(host),
      pcie_(config.pcie, config.time.rounding) {}

MemoryPort::Course MemoryPort::begin(TimePs now, const Access& access) {
  const Course course = begin_ungated(now, access);
  if (needs_gate(access)) gate_.began(access, course.visible);
  return course;
}

MemoryPort::Course MemoryPort::begin_ungated(TimePs now, const Access& access) {
  switch (access.kind) {
    case AccessKind::kRead:
      return read(now, access);
    case AccessKind::kWrite:
      return write(now, access);
    case AccessKind::kAtomic:
      return atomic(now, access);
    case AccessKind::kFetchWorkRequest: {
      const TimePs done = read_cached(now, access, Stage::kWorkRequestFetch);
      return {done, done};
    }
    case AccessKind::kFetchReceiveEntry:
      return fetch_receive_entry(now, access);
    case AccessKind::kWriteCompletion:
      return write_completion(now, access);
    case AccessKind::kFetchContext:
      return fetch_context(now, access);
    case AccessKind::kWriteContext: {
      // An evicted record leaves in the background.
      if (!on_bus()) {
        const Pcie::Posted posted = pcie_.write(now, access.length, in_cache);
        return {posted.accepted, posted.visible};
      }
      last_visible_ = max(host_.bus.cross(BusLane::kMemory, now, access.length), last_visible_);
      return {now, last_visible_};
    }
  }
  WHARF_UNREACHABLE();
}

TimePs MemoryPort::read_cached(TimePs now, const Access& access, Stage stage) {
  const TimePs done =
      on_bus() ? host_.bus.cross(BusLane::kMemory, now, access.length) : pcie_.read(now, access.length);
  span(access, stage, now, done);
  return done;
}

MemoryPort::Course MemoryPort::read(TimePs now, const Access& access) {
  if (!access.at_target) {
    if (config_.nic.payload_fetch == PayloadFetchRule::kWithEntry) return {now, now};
    const TimePs done = read_cached(now, access, Stage::kPayloadFetch);
    return {done, done};
  }
  const TimePs reached =
      on_bus() ? host_.bus.cross(BusLane::kMemory, now, access.length) : pcie_.read(now, access.length);
  span(access, on_bus() ? Stage::kTargetBus : Stage::kTargetPcieRead, now, reached);
  const TimePs done = host_.dram.row_hit(reached, access.length);
  span(access, Stage::kTargetMemory, reached, done);
  host_.memory.prefetch(access.address);
  return {done, done};
}

MemoryPort::Course MemoryPort::write(TimePs now, const Access& access) {
  if (!on_bus()) {
    if (!access.at_target) {
      const Pcie::Posted posted = pcie_.write(now, access.length, in_cache);
      span(access, Stage::kResponseWrite, now, posted.visible);
      return {posted.accepted, posted.visible};
    }
    const Pcie::Posted posted = pcie_.write(now, access.length, [this](TimePs arrived, std::uint32_t bytes) {
      return host_.dram.row_hit(arrived, bytes);
    });
    span(access, Stage::kTargetPcieWrite, now, posted.arrived);
    span(access, Stage::kTargetMemory, posted.arrived, posted.visible);
    return {posted.accepted, posted.visible};
  }
  if (!access.at_target) {
    last_visible_ = max(host_.bus.cross(BusLane::kComplete, now, access.length), last_visible_);
    span(access, Stage::kResponseWrite, now, last_visible_);
    return {now, last_visible_};
  }
  // The bus acknowledges a target's write when memory has it.
  const TimePs crossed = host_.bus.cross(BusLane::kMemory, now, access.length);
  span(access, Stage::kTargetBus, now, crossed);
  last_visible_ = max(host_.dram.row_hit(crossed, access.length), last_visible_);
  span(access, Stage::kTargetMemory, crossed, last_visible_);
  return {last_visible_, last_visible_};
}

MemoryPort::Course MemoryPort::atomic(TimePs now, const Access& access) {
  const TimePs reached =
      on_bus() ? host_.bus.cross(BusLane::kMemory, now, access.length) : pcie_.read(now, access.length);
  span(access, on_bus() ? Stage::kTargetBus : Stage::kTargetPcieRead, now, reached);
  const TimePs begin = max(reached, atomic_unit_free_);
  span(access, Stage::kAtomicUnit, reached, begin);
  const TimePs done = host_.dram.row_hit(begin, access.length);
  span(access, Stage::kTargetMemory, begin, done);
  atomic_unit_free_ = done;
  return {done, done};
}

TimePs MemoryPort::receive_match() const {
  const StageRounding rounding = config_.time.rounding;
  const TimePs matched = stage_time(config_.nic.cycle * config_.nic.receive_match_cycles, rounding);
  return config_.nic.send_notify_crossing ? matched + stage_time(config_.bus.crossing, rounding) : matched;
}

MemoryPort::Course MemoryPort::fetch_receive_entry(TimePs now, const Access& access) {
  const TimePs fetched = config_.nic.receive_entries == ReceiveEntryRule::kPrefetched
                             ? now
                             : read_cached(now, access, Stage::kReceiveEntryFetch);
  const TimePs matched = fetched + receive_match();
  span(access, Stage::kReceiveMatch, fetched, matched);
  return {matched, matched};
}

MemoryPort::Course MemoryPort::write_completion(TimePs now, const Access& access) {
  if (!on_bus()) {
    const Pcie::Posted posted = pcie_.write(now, access.length, in_cache);
    span(access, Stage::kCompletionWrite, posted.begun, posted.visible);
    return {posted.visible, posted.visible};
  }
  last_visible_ = max(host_.bus.cross(BusLane::kComplete, now, access.length), last_visible_);
  span(access, Stage::kCompleteBus, now, last_visible_);
  return {last_visible_, last_visible_};
}

MemoryPort::Course MemoryPort::fetch_context(TimePs now, const Access& access) {
  const TimePs reached =
      on_bus() ? host_.bus.cross(BusLane::kMemory, now, access.length) : pcie_.read(now, access.length);
  const TimePs done = on_bus() ? host_.dram.closed_row(reached, access.length) : reached;
  span(access, access.at_target ? Stage::kContextFetchTarget : Stage::kContextFetch, now, done);
  return {done, done};
}

AccessResult MemoryPort::perform(const Access& access) {
  AccessResult result;
  switch (access.kind) {
    case AccessKind::kRead:
    case AccessKind::kFetchContext:
      if (const auto data = host_.memory.read(access.address, access.length, host_.payloads)) {
        result.data = *data;
      } else {
        result.status = AccessStatus::kFault;
      }
      break;
    case AccessKind::kWrite:
    case AccessKind::kWriteContext:
      if (!host_.memory.write(access.address, access.data)) result.status = AccessStatus::kFault;
      break;
    case AccessKind::kAtomic:
      if (const auto old = host_.memory.atomic(access.atomic, access.address, access.width, access.operand,
                                               access.compare)) {
        result.old_value = *old;
      } else {
        result.status = AccessStatus::kFault;
      }
      break;
    case AccessKind::kFetchWorkRequest:
    case AccessKind::kFetchReceiveEntry:
    case AccessKind::kWriteCompletion:
      // The engine keeps what these entries say; here they only take time.
      break;
  }
  return result;
}

}  // namespace wharf::sim
