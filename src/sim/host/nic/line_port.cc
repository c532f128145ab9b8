// SPDX-License-Identifier: Apache-2.0
#include "sim/host/nic/line_port.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/slot_pool.h"

namespace wharf::sim {

using engine::Access;
using engine::AccessKind;
using ordering::Label;
using verbs::AccessOrder;

namespace {

bool is_write(AccessKind kind) {
  return kind == AccessKind::kWrite || kind == AccessKind::kWriteCompletion ||
         kind == AccessKind::kWriteContext;
}

ordering::Kind kind_of(AccessKind kind) {
  if (kind == AccessKind::kAtomic) return ordering::Kind::kAtomic;
  return is_write(kind) ? ordering::Kind::kWrite : ordering::Kind::kRead;
}

/// What is left to PCIe when the device keeps the order.
Label label_at_source(const Access& access) {
  return is_write(access.kind) && access.order != AccessOrder::kRelaxed ? Label::kStrong : Label::kRelaxed;
}

bool is_ascending_read(const Access& access) {
  return access.kind == AccessKind::kRead && access.order == AccessOrder::kAscending;
}

}  // namespace

LinePort::LinePort(Simulation& simulation, RequestSink& sink, const CoherentSetup& setup,
                   std::uint32_t requester, LinePortClient& client, HostMemory& memory,
                   wire::PayloadPool& payloads, std::string name)
    : dma_(simulation, sink, setup.dma, std::move(name)),
      order_(setup.order),
      requester_(requester),
      client_(client),
      memory_(memory),
      payloads_(payloads),
      scratch_(memory.allocate(kibibytes(4))) {
  dma_.connect(*this);
}

LinePort::Stream& LinePort::find(std::uint64_t stream, std::uint32_t& index) {
  if (const std::uint32_t* known = index_.find(stream)) {
    index = *known;
    return streams_[index];
  }
  index = static_cast<std::uint32_t>(streams_.size());
  index_.insert(stream, index);
  Stream made;
  made.dma = dma_.add_stream({requester_, 2 * index}, SourceOrdering::kNone);
  made.waiting.reserve(16);
  streams_.push_back(std::move(made));
  return streams_.back();
}

bool LinePort::is_mapped(const Access& access) const {
  switch (access.kind) {
    case AccessKind::kFetchWorkRequest:
    case AccessKind::kFetchReceiveEntry:
    case AccessKind::kWriteCompletion:
      return true;
    case AccessKind::kAtomic:
      return access.address % access.width == 0 && memory_.is_mapped(access.address, access.width) &&
             memory_.has_bytes(access.address);
    case AccessKind::kRead:
    case AccessKind::kWrite:
    case AccessKind::kFetchContext:
    case AccessKind::kWriteContext:
      return memory_.is_mapped(access.address, access.length);
  }
  WHARF_UNREACHABLE();
}

std::uint64_t LinePort::address_of(const Access& access) const {
  const std::uint32_t length = access.kind == AccessKind::kAtomic ? access.width : access.length;
  return length > 0 && memory_.is_mapped(access.address, length) ? access.address : scratch_;
}

bool LinePort::order_allows(const Stream& stream, const Access& access) const {
  if (order_ == OrderPlace::kDestination) return true;
  if (stream.acquires > 0) return false;
  const bool after_reads = access.order == AccessOrder::kRelease || access.order == AccessOrder::kReadRelease;
  return !after_reads || stream.reads == 0;
}

void LinePort::begin(TimePs now, std::uint32_t slot, const Access& access) {
  if (slot >= under_way_.size()) under_way_.resize(std::max<std::size_t>(2 * under_way_.size(), slot + 1));
  UnderWay& made = under_way_[slot];
  made = UnderWay{};
  made.access = access;
  Stream& stream = find(access.stream, made.stream);
  if (stream.waiting.empty() && order_allows(stream, access)) {
    start(now, slot);
    return;
  }
  if (stream.waiting.full()) stream.waiting.reserve(2 * stream.waiting.capacity());
  stream.waiting.push_back(slot);
}

void LinePort::start(TimePs now, std::uint32_t slot) {
  UnderWay& work = under_way_[slot];
  const Access& access = work.access;
  Stream& stream = streams_[work.stream];
  const bool at_source = order_ == OrderPlace::kSource;
  work.begun = now;

  DmaAccess dma;
  dma.kind = kind_of(access.kind);
  dma.label = dma.first_label = dma.last_label =
      at_source ? label_at_source(access) : ordering::label_of(access.order);
  dma.ticket = slot;
  dma.address = address_of(access);
  dma.length = std::max<std::uint32_t>(access.kind == AccessKind::kAtomic ? access.width : access.length, 1);
  dma.atomic = access.atomic;
  dma.operand = access.operand;
  dma.compare = access.compare;
  const bool has_bytes = memory_.has_bytes(dma.address) && access.length > 0;
  switch (access.kind) {
    case AccessKind::kRead:
    case AccessKind::kFetchContext:
      if (!has_bytes) break;
      work.buffer = payloads_.acquire(access.length);
      dma.bytes = payloads_.data(work.buffer);
      break;
    case AccessKind::kWrite:
    case AccessKind::kWriteContext:
      if (!has_bytes) break;
      if (access.data.buffer != wire::kNoBuffer) {
        work.buffer = access.data.buffer;
        payloads_.retain(work.buffer);
        dma.bytes = payloads_.data(work.buffer) + (access.data.bytes - payloads_.data(work.buffer));
      } else {
        work.buffer = payloads_.acquire(access.length);
        dma.bytes = payloads_.data(work.buffer);
        wire::fill(access.data, {dma.bytes, access.length});
      }
      break;
    case AccessKind::kAtomic:
    case AccessKind::kFetchWorkRequest:
    case AccessKind::kFetchReceiveEntry:
    case AccessKind::kWriteCompletion:
      break;
  }
  // A message that is cut for the wire stays one request: its parts are in ascending order too.
  dma.continues_previous = !at_source && is_ascending_read(access) && stream.ascending_end == access.address;
  stream.ascending_end = is_ascending_read(access) ? access.address + access.length : 0;
  if (!is_write(access.kind)) ++stream.reads;
  if (access.order == AccessOrder::kAcquire) ++stream.acquires;
  std::uint32_t through = stream.dma;
  if (at_source && is_ascending_read(access)) {
    if (stream.dma_by_line == kNoSlot)
      stream.dma_by_line = dma_.add_stream({requester_, 2 * work.stream + 1}, SourceOrdering::kLine);
    through = stream.dma_by_line;
  }
  dma_.start(now, through, dma);
}

engine::AccessResult LinePort::take(std::uint32_t slot) {
  UnderWay& work = under_way_[slot];
  const Access& access = work.access;
  engine::AccessResult result;
  result.old_value = work.old_value;
  if (is_write(access.kind)) {
    payloads_.release(work.buffer);
  } else if (access.kind == AccessKind::kRead || access.kind == AccessKind::kFetchContext) {
    if (work.buffer != wire::kNoBuffer) {
      result.data = wire::bytes_payload(payloads_.data(work.buffer), access.length, work.buffer);
    } else if (const auto described = memory_.read(access.address, access.length, payloads_)) {
      result.data = *described;
    }
  }
  work = UnderWay{};
  return result;
}

void LinePort::dma_sent(TimePs now, std::uint32_t, std::uint64_t ticket) {
  client_.line_access_sent(now, static_cast<std::uint32_t>(ticket));
}

void LinePort::dma_done(TimePs now, std::uint32_t, std::uint64_t ticket,
                        const std::array<std::uint64_t, 2>& old_value) {
  const auto slot = static_cast<std::uint32_t>(ticket);
  UnderWay& work = under_way_[slot];
  work.old_value = old_value;
  Stream& stream = streams_[work.stream];
  if (!is_write(work.access.kind)) --stream.reads;
  if (work.access.order == AccessOrder::kAcquire) --stream.acquires;
  client_.line_access_done(now, slot);
  while (!stream.waiting.empty()) {
    const std::uint32_t next = stream.waiting.front();
    if (!order_allows(stream, under_way_[next].access)) break;
    stream.waiting.pop_front();
    start(now, next);
  }
}

}  // namespace wharf::sim
