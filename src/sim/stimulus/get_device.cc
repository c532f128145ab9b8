// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/get_device.h"

#include <algorithm>

namespace wharf::sim {

GetDevice::GetDevice(Simulation& simulation, DmaEngine& engine, const GetLoad& load, std::uint64_t item,
                     TimePs issue)
    : simulation_(simulation), engine_(engine), load_(load), item_(item), issue_(issue) {
  simulation.add(*this, "device");
  engine.connect(*this);
  for (std::uint32_t i = 0; i < load.queue_pairs; ++i) engine.add_stream({0, i + 1}, load.ordering);
}

void GetDevice::start() {
  if (load_.ordering == SourceOrdering::kNone) {
    start_batch(simulation_.now());
    return;
  }
  for (std::uint32_t i = 0; i < load_.queue_pairs; ++i) get(simulation_.now(), i);
}

void GetDevice::start_batch(TimePs now) {
  const std::uint64_t count = std::min<std::uint64_t>(load_.batch, load_.gets - issued_);
  for (std::uint64_t i = 0; i < count; ++i) get(now, static_cast<std::uint32_t>(i % load_.queue_pairs));
}

void GetDevice::get(TimePs now, std::uint32_t stream) {
  if (issued_ == load_.gets) return;
  ++issued_;
  DmaAccess item;
  item.address = item_;
  item.length = load_.item_bytes;
  item.ticket = load_.rereads_header ? 0 : 1;
  engine_.start(now, stream, item);
  if (!load_.rereads_header) return;
  DmaAccess header;
  header.address = item_;
  header.length = 64;
  header.with_previous = true;
  header.ticket = 1;
  engine_.start(now, stream, header);
}

void GetDevice::dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                         const std::array<std::uint64_t, 2>&) {
  // A get is complete with its last access: the queue answers those of a stream in order, or the source
  // waits.
  const bool is_item = ticket == 0 || !load_.rereads_header;
  const TimePs free = send(now, is_item ? load_.item_bytes : 64);
  if (ticket == 0) return;
  ++completed_;
  last_completion_ = max(now, link_free_);
  const bool batch_ends = completed_ % load_.batch == 0;
  const TimePs pause = issue_ + load_.pause;
  if (load_.ordering != SourceOrdering::kNone) {
    if (batch_ends) {
      simulation_.schedule(free + pause, id(), id(), 0, stream);
    } else if (free > now) {
      simulation_.schedule(free, id(), id(), 0, stream);
    } else {
      get(now, stream);
    }
  } else if (completed_ == issued_ && issued_ < load_.gets) {
    simulation_.schedule(free + pause, id(), id(), 0, 0);
  }
}

TimePs GetDevice::send(TimePs now, std::uint32_t bytes) {
  const AnswerLink& link = load_.link;
  if (link.rate.value == 0) return now;
  const std::uint64_t packets = (bytes + link.packet_payload - 1) / link.packet_payload;
  link_free_ = max(link_free_, now) + transfer_time(Bytes{bytes + packets * link.packet_overhead}, link.rate);
  return max(now, link_free_ - transfer_time(link.buffer, link.rate));
}

void GetDevice::handle(const Event& event) {
  if (load_.ordering == SourceOrdering::kNone) {
    start_batch(event.time);
  } else {
    get(event.time, event.argument);
  }
}

}  // namespace wharf::sim
