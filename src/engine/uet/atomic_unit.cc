// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/atomic_unit.h"

#include <cstring>

#include "engine/uet/atomic_math.h"
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using verbs::Verb;
using wire::UetAtomicOpcode;
using wire::UetReturnCode;

UetReturnCode AtomicUnit::check(const wire::UetAtomic& atomic, std::uint32_t length,
                                std::uint32_t operand_bytes, std::uint64_t address) {
  const std::uint32_t element = wire::uet_datatype_bytes(atomic.datatype);
  if (element == 0) return UetReturnCode::kAtomicUnsupportedDatatype;
  if (!atomic_defined(atomic.opcode, atomic.datatype)) return UetReturnCode::kAtomicUnsupportedOperation;
  const bool operandless = wire::uet_has_compare_swap(atomic.opcode) ||
                           atomic.opcode == UetAtomicOpcode::kRead ||
                           atomic.opcode == UetAtomicOpcode::kInvalidate;
  if (length == 0 || length % element != 0 || length > wire::PayloadPool::kLargestBytes ||
      operand_bytes != (operandless ? 0 : length)) {
    return UetReturnCode::kAtomicUnsupportedSize;
  }
  const std::uint32_t alignment = element > 16 ? 16 : element;
  if (address % alignment != 0) return UetReturnCode::kAtomicUnaligned;
  return UetReturnCode::kOk;
}

bool AtomicUnit::port_verb(const wire::UetAtomic& atomic, std::uint32_t length, Verb& verb) {
  const std::uint32_t element = wire::uet_datatype_bytes(atomic.datatype);
  const bool integer = atomic.datatype <= wire::UetDatatype::kUint64;
  if (length != element || (length != 4 && length != 8)) return false;
  switch (atomic.opcode) {
    case UetAtomicOpcode::kSum:
      verb = Verb::kFetchAdd;
      return integer;
    case UetAtomicOpcode::kDifference:
      verb = Verb::kFetchSub;
      return integer;
    case UetAtomicOpcode::kBitwiseAnd:
      verb = Verb::kFetchAnd;
      return integer;
    case UetAtomicOpcode::kBitwiseOr:
      verb = Verb::kFetchOr;
      return integer;
    case UetAtomicOpcode::kBitwiseXor:
      verb = Verb::kFetchXor;
      return integer;
    case UetAtomicOpcode::kRead:
      verb = Verb::kAtomicLoad;
      return true;
    case UetAtomicOpcode::kWrite:
      verb = Verb::kSwap;
      return true;
    case UetAtomicOpcode::kCompareSwap:
      verb = Verb::kCompareSwap;
      return integer;
    case UetAtomicOpcode::kMin:
    case UetAtomicOpcode::kMax:
    case UetAtomicOpcode::kProduct:
    case UetAtomicOpcode::kLogicalOr:
    case UetAtomicOpcode::kLogicalAnd:
    case UetAtomicOpcode::kLogicalXor:
    case UetAtomicOpcode::kCompareSwapNotEqual:
    case UetAtomicOpcode::kCompareSwapLessEqual:
    case UetAtomicOpcode::kCompareSwapLess:
    case UetAtomicOpcode::kCompareSwapGreaterEqual:
    case UetAtomicOpcode::kCompareSwapGreater:
    case UetAtomicOpcode::kMaskedSwap:
    case UetAtomicOpcode::kInvalidate:
      return false;
  }
  return false;
}

bool AtomicUnit::start(TimePs, std::uint32_t inbound, const wire::UetAtomic& atomic,
                       const MemoryRegion* region, verbs::AddressSpaceId space, std::uint64_t address,
                       std::uint32_t length, bool fetching, const wire::Payload& operand,
                       wire::OperationTag operation) {
  const std::uint32_t index = EngineParts::acquire(jobs_, parts_.config.packets_in_execution);
  if (index == kNoSlot) return false;
  Job& job = jobs_[index];
  job = Job{};
  job.inbound = inbound;
  job.atomic = atomic;
  if (region != nullptr) {
    job.in_region = true;
    job.job_id = region->job_id;
    job.memory_key = region->key;
  }
  job.space = space;
  job.address = address;
  job.length = length;
  job.fetching = fetching;
  job.operation = operation;
  job.operand = parts_.keep(operand);
  Verb verb = Verb::kAtomicLoad;
  job.by_port = port_verb(atomic, length, verb);
  // First come, first served where they touch the same bytes.
  if (!waiting_.empty() || blocked(index)) {
    waiting_.push(jobs_, index, &Job::next);
  } else {
    begin(index);
  }
  return true;
}

bool AtomicUnit::blocked(std::uint32_t index) const {
  const Job& job = jobs_[index];
  // Single steps of the port need no order among themselves.
  if (job.by_port && stepwise_ == 0) return false;
  for (std::uint32_t at = running_.head; at != kNoSlot; at = jobs_[at].next) {
    const Job& other = jobs_[at];
    if (job.by_port && other.by_port) continue;
    if (other.address < job.address + job.length && job.address < other.address + other.length) return true;
  }
  return false;
}

UetReturnCode AtomicUnit::still_allowed(const Job& job) const {
  if (job.in_region) {
    return parts_.regions.find(job.memory_key, job.job_id) != kNoSlot ? UetReturnCode::kOk
                                                                      : UetReturnCode::kBadMemoryKey;
  }
  // A receive goes with its queue.
  const InboundPacket& inbound = parts_.inbound[job.inbound];
  const bool fills = parts_.inbound_messages.is_used(inbound.message) &&
                     parts_.inbound_messages[inbound.message].generation == inbound.message_generation &&
                     parts_.inbound_messages[inbound.message].matched;
  return fills ? UetReturnCode::kOk : UetReturnCode::kCancelled;
}

UetReturnCode AtomicUnit::ask(std::uint32_t index, engine::AccessKind kind) {
  Job& job = jobs_[index];
  // [UE 1.0 3.4] A key ends when its region does: an operation that waited, or that has only read, is
  // refused.
  const UetReturnCode allowed = still_allowed(job);
  if (allowed != UetReturnCode::kOk) return allowed;
  PendingAccess owner;
  owner.owner = AccessOwner::kAtomic;
  owner.object = index;
  engine::Access& access = parts_.accesses.request(kind, job.length, owner);
  access.at_target = true;
  access.space = job.space;
  access.address = job.address;
  const InboundPacket& inbound = parts_.inbound[job.inbound];
  access.stream = target_stream(inbound.source, inbound.resource_index);
  access.operation = job.operation;
  if (kind == engine::AccessKind::kAtomic) {
    Verb verb = Verb::kAtomicLoad;
    port_verb(job.atomic, job.length, verb);
    access.atomic = verb;
    access.width = static_cast<std::uint8_t>(job.length);
    if (verb == Verb::kCompareSwap) {
      std::memcpy(access.operand.data(), job.atomic.swap.data(), job.length);
      std::memcpy(access.compare.data(), job.atomic.compare.data(), job.length);
    } else if (job.operand.length > 0) {
      std::byte bytes[16];
      wire::fill(job.operand, bytes);
      std::memcpy(access.operand.data(), bytes, job.length);
    }
  } else if (kind == engine::AccessKind::kWrite) {
    access.data = wire::bytes_payload(parts_.payloads.data(job.result), job.length, job.result);
  }
  return UetReturnCode::kOk;
}

UetReturnCode AtomicUnit::begin(std::uint32_t index) {
  running_.push(jobs_, index, &Job::next);
  if (!jobs_[index].by_port) ++stepwise_;
  return ask(index, jobs_[index].by_port ? engine::AccessKind::kAtomic : engine::AccessKind::kRead);
}

void AtomicUnit::access_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  const std::uint32_t index = owner.object;
  Job& job = jobs_[index];
  if (result.status != engine::AccessStatus::kDone) {
    end(now, index,
        result.status == engine::AccessStatus::kPoison ? UetReturnCode::kHostPoisoned
                                                       : UetReturnCode::kNoTranslation);
    return;
  }
  if (job.by_port) {
    const wire::BufferId buffer = parts_.payloads.acquire(job.length);
    std::memcpy(parts_.payloads.data(buffer), result.old_value.data(), job.length);
    job.old = wire::bytes_payload(parts_.payloads.data(buffer), job.length, buffer);
    end(now, index, UetReturnCode::kOk);
    return;
  }
  if (job.writing) {
    end(now, index, UetReturnCode::kOk);
    return;
  }
  const wire::BufferId old = parts_.payloads.acquire(job.length);
  std::byte* before = parts_.payloads.data(old);
  wire::fill(result.data, {before, job.length});
  job.old = wire::bytes_payload(before, job.length, old);
  job.result = parts_.payloads.acquire(job.length);
  std::byte* after = parts_.payloads.data(job.result);
  std::memcpy(after, before, job.length);
  const wire::BufferId operand = parts_.payloads.acquire(job.length);
  if (job.operand.length > 0) wire::fill(job.operand, {parts_.payloads.data(operand), job.length});
  apply_atomic(job.atomic, {after, job.length}, {parts_.payloads.data(operand), job.length});
  parts_.payloads.release(operand);
  job.writing = true;
  const UetReturnCode code = ask(index, engine::AccessKind::kWrite);
  if (code != UetReturnCode::kOk) end(now, index, code);
}

void AtomicUnit::end(TimePs now, std::uint32_t index, UetReturnCode code) {
  finish(now, index, code);
  while (!waiting_.empty() && !blocked(waiting_.head)) {
    const std::uint32_t next = waiting_.pop(jobs_, &Job::next);
    const UetReturnCode begun = begin(next);
    if (begun != UetReturnCode::kOk) finish(now, next, begun);
  }
}

void AtomicUnit::finish(TimePs now, std::uint32_t index, UetReturnCode code) {
  running_.remove(jobs_, index, &Job::next);
  const Job job = jobs_[index];
  if (!job.by_port) --stepwise_;
  jobs_.release(index);
  parts_.target.atomic_done(now, job.inbound, code, job.fetching ? job.old : wire::Payload{});
  parts_.payloads.release(job.old.buffer);
  parts_.payloads.release(job.result);
  parts_.payloads.release(job.operand.buffer);
}

void AtomicUnit::release_buffers() {
  for (std::uint32_t at = 0; at < jobs_.capacity(); ++at) {
    if (!jobs_.is_used(at)) continue;
    parts_.payloads.release(jobs_[at].old.buffer);
    parts_.payloads.release(jobs_[at].result);
    parts_.payloads.release(jobs_[at].operand.buffer);
  }
}

}  // namespace wharf::uet
