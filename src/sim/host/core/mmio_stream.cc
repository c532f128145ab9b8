// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core/mmio_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/line.h"
#include "sim/kernel/keep_slot.h"

namespace wharf::sim {

using ordering::MmioKind;
using ordering::MmioOperation;
using ordering::ReorderedWrite;

namespace {

constexpr std::uint32_t kLengthBytes = 2;

ordering::ReorderUnitConfig unit_config(const MmioStreamConfig& config) {
  ordering::ReorderUnitConfig unit;
  unit.queues = MmioStream::kMostQueues;
  unit.active_buffers = config.buffers;
  unit.buffer_bytes = config.buffer_bytes;
  unit.window_bytes = config.window_bytes;
  unit.length_bytes = kLengthBytes;
  unit.alignment = kLineBytes;
  unit.memory_bytes = config.memory_bytes;
  return unit;
}

}  // namespace

MmioStream::MmioStream(Simulation& simulation, const HostConfig& config, MemoryPort& port,
                       RandomStream random, std::string name)
    : simulation_(simulation),
      config_(config.mmio_stream),
      port_(port),
      credits_(config.pcie.posted_credits),
      random_(random),
      combining_({.buffers = config.mmio_stream.combining_buffers}),
      unit_(unit_config(config.mmio_stream)),
      messages_(64),
      flying_(256),
      complete_(64),
      content_(unit_.reach()) {
  simulation.add(*this, std::move(name));
}

std::uint32_t MmioStream::add_queue(StreamClient& client) {
  WHARF_CHECK(queues() < kMostQueues);
  queues_.push_back({&client, 0, Ring<Expected>(16)});
  return queues() - 1;
}

void MmioStream::send(TimePs at, ComponentId source, std::uint32_t queue, std::uint32_t bytes,
                      std::uint32_t ticket) {
  const std::uint32_t padded = message_bytes(bytes);
  WHARF_CHECK(padded >= kLineBytes && padded <= config_.largest + kLineBytes);
  Ring<Expected>& expected = queues_[queue].expected;
  if (expected.full()) expected.reserve(2 * expected.capacity());
  expected.push_back({padded, ticket});
  if (messages_.full()) messages_.reserve(2 * messages_.capacity());
  messages_.push_back({at, queue, padded, 0});
  if (messages_.size() > 1 || stalled_) return;
  simulation_.schedule(max(at, store_free_), id(), source, kStore, 0);
}

void MmioStream::forget(ComponentId source, std::uint32_t bytes) {
  simulation_.schedule(simulation_.now(), id(), source, kForget, bytes);
}

void MmioStream::handle(const Event& event) {
  const TimePs now = event.time;
  switch (static_cast<EventKind>(event.kind)) {
    case kStore:
      store_lines(now);
      break;
    case kArrive: {
      Line line = take_slot(flying_, event.argument);
      if (line.number < newest_arrived_) ++counters_.passed;
      newest_arrived_ = std::max(newest_arrived_, line.number + 1);
      arrived_.push_back(line);
      take_lines(now);
      break;
    }
    case kMessage: {
      const Complete complete = take_slot(complete_, event.argument);
      queues_[complete.queue].client->message_in(now, complete.ticket);
      break;
    }
    case kForget:
      unit_.transmitted(event.argument);
      take_lines(now);
      break;
  }
}

/// One line after another; the core stops where no write-combining buffer is free.
void MmioStream::store_lines(TimePs now) {
  while (!messages_.empty()) {
    Message& message = messages_.front();
    const TimePs ready = message.at + config_.line * (message.done / kLineBytes);
    const TimePs next = max(ready, store_free_);
    if (next > now) {
      simulation_.schedule(next, id(), id(), kStore, 0);
      return;
    }
    Queue& queue = queues_[message.queue];
    std::array<std::byte, kLineBytes> content{};
    if (message.done == 0) {
      content[0] = static_cast<std::byte>(message.bytes & 0xffU);
      content[1] = static_cast<std::byte>(message.bytes >> 8U);
    }
    MmioOperation store = ordering::mmio_store(
        MmioKind::kWriteCombiningStore,
        std::uint64_t{message.queue} * config_.window_bytes + queue.next_offset, content);
    if (!combining_.store(store)) {
      stalled_ = true;
      ++counters_.stalls;
      return;
    }
    queue.next_offset = (queue.next_offset + kLineBytes) & (config_.window_bytes - 1U);
    message.done += kLineBytes;
    if (message.done == message.bytes) messages_.pop_front();
    store_free_ = now + config_.line;
    send_lines(now);
  }
}

void MmioStream::send_lines(TimePs now) {
  MmioOperation write;
  while ((credits_ == 0 || on_link_ < credits_) && combining_.next_leaving(write)) {
    ++on_link_;
    ++counters_.lines;
    combining_.arrived();  // Nobody fences.
    TimePs at = port_.submit(now, SubmissionPath::kMmioStream, write.length);
    if (config_.spread > kTimeZero)
      at +=
          TimePs{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(config_.spread.ps) + 1))};
    simulation_.schedule(at, id(), id(), kArrive, keep_slot(flying_, Line{write, next_number_++}));
  }
}

bool MmioStream::offer_arrived() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < arrived_.size(); ++i) {
    const MmioOperation& write = arrived_[i].write;
    const auto queue = static_cast<std::uint32_t>(write.address / config_.window_bytes);
    const auto offset = static_cast<std::uint32_t>(write.address % config_.window_bytes);
    const ReorderedWrite result = unit_.write(queue, offset, write.bytes());
    if (result == ReorderedWrite::kHeld) {
      arrived_[kept++] = arrived_[i];
      continue;
    }
    // The data buffer covers what a line can be ahead, by validate().
    WHARF_CHECK(result == ReorderedWrite::kTaken);
    --on_link_;
  }
  const bool any = kept < arrived_.size();
  arrived_.resize(kept);
  return any;
}

/// What has arrived goes into the unit, and complete messages leave it, as far as there is room.
void MmioStream::take_lines(TimePs now) {
  const std::uint32_t before = on_link_;
  const std::size_t waiting = arrived_.size();
  for (bool again = true; again;) {
    again = offer_arrived();
    ordering::ReorderedMessage out;
    while (unit_.next_message(out, content_)) {
      again = true;
      ++counters_.messages;
      Queue& queue = queues_[out.queue];
      const Expected expected = queue.expected.front();
      queue.expected.pop_front();
      WHARF_CHECK(out.length == expected.bytes);
      unit_free_ = max(unit_free_, now) +
                   config_.unit_cycle * static_cast<std::int64_t>(ordering::ReorderUnit::kCyclesPerMessage);
      simulation_.schedule(unit_free_, id(), id(), kMessage,
                           keep_slot(complete_, Complete{out.queue, expected.ticket}));
    }
  }
  if (!arrived_.empty() && arrived_.size() >= waiting) ++counters_.held;
  if (on_link_ == before) return;
  send_lines(now);
  if (!std::exchange(stalled_, false)) return;
  simulation_.schedule(max(now, store_free_), id(), id(), kStore, 0);
}

void MmioStream::describe_waiting(std::vector<std::string>& lines) const {
  if (!messages_.empty())
    lines.push_back(std::to_string(messages_.size()) + " messages wait to be stored to the NIC");
  if (!arrived_.empty())
    lines.push_back(std::to_string(arrived_.size()) + " lines wait for room in the reorder unit");
}

}  // namespace wharf::sim
