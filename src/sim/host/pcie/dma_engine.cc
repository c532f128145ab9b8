// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/dma_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/line.h"

namespace wharf::sim {

DmaEngine::DmaEngine(Simulation& simulation, RequestSink& sink, const DmaConfig& config, std::string name)
    : simulation_(simulation), sink_(sink), config_(config), operations_(1024) {
  simulation.add(*this, std::move(name));
  sink.connect(*this);
}

std::uint32_t DmaEngine::add_stream(ordering::Domain domain, SourceOrdering ordering, RequestSink* sink) {
  Stream stream;
  stream.sink = sink != nullptr ? sink : &sink_;
  if (sink != nullptr) sink->connect(*this);
  stream.domain = domain;
  stream.ordering = ordering;
  stream.waiting.reserve(64);
  streams_.push_back(std::move(stream));
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

void DmaEngine::start(TimePs now, std::uint32_t stream_at, const DmaAccess& access) {
  WHARF_CHECK(access.length > 0);
  Stream& stream = streams_[stream_at];
  std::uint32_t slot = operations_.acquire();
  if (slot == kNoSlot) {
    operations_.reserve(2 * operations_.capacity());
    slot = operations_.acquire();
  }
  Operation& made = operations_[slot];
  made = Operation{};
  made.access = access;
  made.number =
      access.continues_previous && stream.next_number > 0 ? stream.next_number - 1 : stream.next_number++;
  made.stream = stream_at;
  if (stream.waiting.full()) stream.waiting.reserve(2 * stream.waiting.capacity());
  stream.waiting.push_back(slot);
  wake_at(max(now, max(ready_at(stream), stream.sink->link_free())));
}

TimePs DmaEngine::ready_at(const Stream& stream) const {
  if (stream.waiting.empty()) return kNever;
  const Operation& next = operations_[stream.waiting.front()];
  if (stream.ordering == SourceOrdering::kLine && stream.under_way > 0) return kNever;
  if (next.sent > 0) return kTimeZero;
  if (stream.ordering == SourceOrdering::kMessage && stream.under_way > 0) return kNever;
  if (next.access.with_previous && stream.ordering != SourceOrdering::kNone) return kTimeZero;
  return config_.shared_issue ? max(stream.issue_from, shared_issue_from_) : stream.issue_from;
}

void DmaEngine::wake_at(TimePs at) {
  if (at == kNever) return;
  at = max(at, simulation_.now());
  if (at >= wake_) return;
  wake_ = at;
  simulation_.schedule(at, id(), id(), 0, 0);
}

void DmaEngine::handle(const Event& event) {
  if (event.time != wake_) return;  // Overtaken by an earlier one.
  wake_ = kNever;
  send_some(event.time);
}

/// A line of each stream in turn, as far as links are free.
void DmaEngine::send_some(TimePs now) {
  const auto count = static_cast<std::uint32_t>(streams_.size());
  is_sending_ = true;
  TimePs earliest = kNever;
  bool sent = true;
  while (sent) {
    sent = false;
    earliest = kNever;
    for (std::uint32_t i = 0; i < count && !sent; ++i) {
      const std::uint32_t after = next_stream_ + i;
      const std::uint32_t at = after < count ? after : after - count;
      Stream& stream = streams_[at];
      const TimePs ready = ready_at(stream);
      const TimePs at_link = max(ready, stream.sink->link_free());
      if (at_link > now) {
        // Without a credit the link's being free is of no use: credits_back() comes.
        if (ready <= now && !stream.sink->can_submit(operations_[stream.waiting.front()].access.kind))
          continue;
        earliest = min(earliest, at_link);
        continue;
      }
      if (!stream.sink->can_submit(operations_[stream.waiting.front()].access.kind)) continue;
      send_line(now, stream);
      next_stream_ = at + 1 == count ? 0 : at + 1;
      sent = true;
    }
  }
  is_sending_ = false;
  wake_at(earliest);
}

void DmaEngine::send_line(TimePs now, Stream& stream) {
  const std::uint32_t slot = stream.waiting.front();
  Operation& operation = operations_[slot];
  const DmaAccess& access = operation.access;
  const std::uint64_t address = access.address + operation.sent;
  const auto in_line = static_cast<std::uint32_t>(address % kLineBytes);
  const std::uint32_t length = std::min(kLineBytes - in_line, access.length - operation.sent);
  ordering::Request request;
  request.kind = access.kind;
  request.is_first = operation.sent == 0 && !access.continues_previous;
  request.is_last = operation.sent + length == access.length;
  request.label = request.is_first ? access.first_label : request.is_last ? access.last_label : access.label;
  request.domain = stream.domain;
  request.number = operation.number;
  request.tag = slot;
  request.line = address / kLineBytes;
  request.mask = ordering::byte_mask(in_line, length);
  if (access.kind == ordering::Kind::kWrite && access.bytes != nullptr)
    std::memcpy(request.bytes.data() + in_line, access.bytes + operation.sent, length);
  request.atomic = access.atomic;
  request.operand = access.operand;
  request.compare = access.compare;

  if (operation.sent == 0 && !access.with_previous) {
    stream.issue_from = now + config_.issue;
    shared_issue_from_ = now + config_.issue;
  }
  operation.sent += length;
  ++operation.pending;
  ++stream.under_way;
  if (request.is_last) stream.waiting.pop_front();
  const bool is_sent = operation.sent == access.length && access.kind == ordering::Kind::kWrite;
  const std::uint64_t ticket = access.ticket;
  const std::uint32_t stream_at = operation.stream;
  stream.sink->submit(now, request);
  if (is_sent) client_->dma_sent(now, stream_at, ticket);
}

void DmaEngine::answered(TimePs now, const ordering::Response& response) {
  Operation& operation = operations_[response.tag];
  Stream& stream = streams_[operation.stream];
  const DmaAccess& access = operation.access;
  if (response.kind == ordering::Kind::kRead && access.bytes != nullptr) {
    const std::uint32_t in_line = ordering::first_byte(response.mask);
    const std::uint64_t at = response.line * kLineBytes + in_line - access.address;
    std::memcpy(access.bytes + at, response.bytes.data() + in_line, ordering::byte_count(response.mask));
  }
  if (response.kind == ordering::Kind::kAtomic) operation.old_value = response.old_value;
  --operation.pending;
  --stream.under_way;
  const std::uint32_t stream_at = operation.stream;
  if (operation.pending == 0 && operation.sent == access.length) {
    if (stream.ordering != SourceOrdering::kNone) stream.issue_from = now + config_.issue;
    const std::uint64_t ticket = access.ticket;
    const std::array<std::uint64_t, 2> old_value = operation.old_value;
    operations_.release(response.tag);
    client_->dma_done(now, stream_at, ticket, old_value);
  }
  // Where the device keeps no order, nothing waits for an answer.
  const Stream& asked = streams_[stream_at];
  if (asked.ordering != SourceOrdering::kNone) wake_at(max(ready_at(asked), asked.sink->link_free()));
}

void DmaEngine::credits_back(TimePs now) {
  // A switch may tell of room while it takes a line.
  if (is_sending_) {
    wake_at(now);
  } else {
    send_some(now);
  }
}

void DmaEngine::describe_waiting(std::vector<std::string>& lines) const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].under_way > 0)
      lines.push_back("stream " + std::to_string(i) + " waits for " + std::to_string(streams_[i].under_way) +
                      " lines");
  }
}

}  // namespace wharf::sim
