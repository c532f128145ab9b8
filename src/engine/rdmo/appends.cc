// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/appends.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace wharf::rdmo {
namespace {

/// Puts `index` before the others, who must not overtake it.
template <typename Pool, typename Object>
void push_front(IndexList& list, Pool& pool, std::uint32_t index, std::uint32_t Object::*link) {
  pool[index].*link = list.head;
  list.head = index;
  if (list.tail == kNoSlot) list.tail = index;
}

bool passes_end(const Cell& cell, const Write& write) {
  return cell.is_queue && write.place % cell.capacity + write.length > cell.capacity;
}

RdmoStatus status_of(AccessStatus status) {
  switch (status) {
    case AccessStatus::kDone:
      return RdmoStatus::kDone;
    case AccessStatus::kMemoryFailed:
      return RdmoStatus::kMemoryFailed;
    case AccessStatus::kTargetLost:
      return RdmoStatus::kTargetLost;
    case AccessStatus::kSenderLost:
      return RdmoStatus::kSenderLost;
  }
  WHARF_UNREACHABLE();
}

}  // namespace

bool Appends::start(std::uint32_t index) {
  Request& request = core_.requests[index];
  const std::uint32_t client = core_.connections[request.connection].client;
  const std::uint32_t cell_region = core_.find_region(request.cell_key, client);
  const std::uint32_t data_region =
      request.data_key == request.cell_key ? cell_region : core_.find_region(request.data_key, client);
  if (cell_region == kNoSlot || data_region == kNoSlot) {
    core_.finish(index, RdmoStatus::kBadKey);
    return true;
  }
  const std::uint32_t bytes = request.is_queue ? wire::kRdmoQueueBytes : wire::kRdmoCellBytes;
  if (request.cell_address % 8 != 0 ||
      !WorkerCore::contains(core_.regions[cell_region], request.cell_address, bytes)) {
    core_.finish(index, RdmoStatus::kBadAddress);
    return true;
  }
  const std::uint32_t* found = core_.clients[client].cells.find(request.cell_address);
  const std::uint32_t cell_index = found != nullptr ? *found : acquire_cell(client, cell_region, request);
  if (cell_index == kNoSlot) return false;
  Cell& cell = core_.cells[cell_index];
  if (cell.is_queue != request.is_queue) {
    core_.finish(index, RdmoStatus::kMalformed);
    return true;
  }
  if (cell.region != cell_region && core_.regions[cell.region].leaving) {
    core_.use_region(cell_region);  // Another key for the same memory, which stays.
    core_.leave_region(cell.region);
    cell.region = cell_region;
  }
  request.cell = cell_index;
  request.cell_region = cell_region;
  request.data_region = data_region;
  core_.use_region(cell_region);
  core_.use_region(data_region);
  cell.touched = true;
  const bool waits = cell.reading || cell.swapping || !cell.waiting.empty();
  if (waits || !place(cell_index, index, false)) cell.waiting.push(core_.requests, index, &Request::next);
  return true;
}

std::uint32_t Appends::acquire_cell(std::uint32_t client, std::uint32_t region, const Request& request) {
  std::uint32_t index = core_.cells.acquire();
  if (index == kNoSlot && evict()) index = core_.cells.acquire();
  if (index == kNoSlot) return kNoSlot;
  Cell& cell = core_.cells[index];
  cell = {};
  cell.address = request.cell_address;
  cell.client = client;
  cell.region = region;
  cell.is_queue = request.is_queue;
  cell.reading = true;
  core_.use_region(region);
  core_.clients[client].cells.insert(cell.address, index);
  core_.clients[client].held.push(core_.cells, index, &Cell::in_held);
  ++core_.counters.cell_reads;
  cell.reading_group = core_.ask_target(Purpose::kReadCell, index, client);
  return index;
}

bool Appends::evict() {
  const std::uint32_t extent = core_.cells.extent();
  for (std::uint32_t step = 0; step < 2 * extent; ++step) {
    const std::uint32_t index = core_.eviction_hand++ % extent;
    Cell& cell = core_.cells[index];
    if (!core_.cells.is_used(index) || !idle(cell) || cell.damaged) continue;
    if (cell.touched) {
      cell.touched = false;
    } else if (clean(cell)) {
      ++core_.counters.cells_evicted;
      drop(index);
      return true;
    } else {
      break;  // The next one to go has to be written back.
    }
  }
  for (std::uint32_t client = 0; client < core_.clients.extent(); ++client) {
    Client& target = core_.clients[client];
    if (!core_.clients.is_used(client) || target.dirty.empty() || target.write_back) continue;
    target.write_back = target.round_drops = true;
    core_.attend(client);
  }
  return false;
}

void Appends::drop(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  WHARF_CHECK(idle(cell) && !cell.dirty);
  if (cell.starved) core_.starved.remove(core_.cells, index, &Cell::next_starved);
  if (cell.delayed) core_.delayed.remove(core_.cells, index, &Cell::in_delayed);
  Client& client = core_.clients[cell.client];
  client.cells.erase(cell.address);
  client.held.remove(core_.cells, index, &Cell::in_held);
  if (cell.damaged) --client.damaged;
  core_.leave_region(cell.region);
  core_.cells.release(index);
  if (core_.blocked == 0) return;
  for (std::uint32_t i = 0; i < core_.connections.extent(); ++i) {
    if (core_.connections.is_used(i) && core_.connections[i].blocked != kNoSlot) core_.make_ready(i);
  }
}

void Appends::drop_clean(std::uint32_t client) {
  for (std::uint32_t at = core_.clients[client].held.head; at != kNoSlot;) {
    const Cell& cell = core_.cells[at];
    const std::uint32_t next = cell.in_held.next;
    if (idle(cell) && clean(cell) && !cell.damaged) drop(at);
    at = next;
  }
}

void Appends::damage(Cell& cell) {
  if (cell.damaged) return;
  cell.damaged = true;
  ++core_.clients[cell.client].damaged;
}

void Appends::refuse(std::uint32_t cell, std::uint32_t index, RdmoStatus status) {
  core_.requests[index].place = core_.cells[cell].reserved;
  core_.finish(index, status);
}

void Appends::read_again(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  cell.reading = true;
  ++core_.counters.cell_reads;
  cell.reading_group = core_.ask_target(Purpose::kReadCell, index, cell.client);
}

bool Appends::place(std::uint32_t cell_index, std::uint32_t index, bool fresh) {
  Cell& cell = core_.cells[cell_index];
  const Request& request = core_.requests[index];
  const Region& data = core_.regions[request.data_region];
  const std::uint32_t length = request.payload.length;
  const auto ends = [&](RdmoStatus status) {
    // Others may have moved a shared cell since: what it said then refuses nobody.
    const bool stale = !fresh && !core_.holds_tail(cell);
    if (stale) {
      read_again(cell_index);
    } else {
      refuse(cell_index, index, status);
    }
    return !stale;
  };
  if (cell.damaged) {
    refuse(cell_index, index, RdmoStatus::kDamaged);
    return true;
  }
  if (request.compare && request.expected != cell.reserved) return ends(RdmoStatus::kTailMoved);
  if (cell.is_queue) {
    if (!WorkerCore::contains(data, cell.base, cell.capacity)) return ends(RdmoStatus::kBadAddress);
    if (length > cell.capacity - (cell.reserved - cell.head)) {
      if (fresh || length > cell.capacity) return ends(RdmoStatus::kNoRoom);
      read_again(cell_index);  // The consumer may have moved on.
      return false;
    }
  } else {
    if (!WorkerCore::contains(data, cell.reserved, 0)) return ends(RdmoStatus::kBadAddress);
    // Choice: an append that does not fit is refused and the tail stays, so that shorter ones may still fit.
    if (length > data.address + data.length - cell.reserved) return ends(RdmoStatus::kNoRoom);
  }
  if (length == 0) {
    const bool ended = ends(RdmoStatus::kDone);
    core_.counters.appends += ended ? 1 : 0;
    return ended;
  }
  // While a shared cell is advanced, the write that the append would join may be closed: it is promised one.
  if ((!core_.holds_tail(cell) || !joins(cell, request)) && !core_.has_free_write()) {
    starve(cell_index);
    return false;
  }
  if (!core_.holds_tail(cell)) {
    cell.swapping = true;
    ++core_.writes_promised;
    ++core_.counters.cell_swaps;
    cell.swap_value = cell.reserved + length;
    cell.swapping_group = core_.ask_target(Purpose::kSwapCell, cell_index, cell.client);
    return false;
  }
  return put(cell_index, index);
}

bool Appends::joins(const Cell& cell, const Request& request) const {
  if (cell.open == kNoSlot || request.payload.data == nullptr) return false;
  const Write& open = core_.writes[cell.open];
  // A queue's write passes its end once: it is never longer than the queue's bytes.
  const std::uint64_t most = cell.is_queue
                                 ? std::min<std::uint64_t>(core_.config.coalesce_bytes, cell.capacity)
                                 : core_.config.coalesce_bytes;
  return open.region == request.data_region && open.place + open.length == cell.reserved &&
         request.payload.length <= most - open.length;
}

bool Appends::put(std::uint32_t cell_index, std::uint32_t index) {
  Cell& cell = core_.cells[cell_index];
  Request& request = core_.requests[index];
  request.place = cell.reserved;
  ++core_.counters.appends;
  core_.counters.records += request.records;
  core_.counters.bytes += request.payload.length;
  if (request.payload.data != nullptr && request.payload.length <= core_.config.coalesce_bytes) {
    gather(cell_index, index);
    return true;
  }
  close(cell_index);
  const std::uint32_t write = new_write(cell_index, request);
  core_.writes[write].data = request.payload.data;
  core_.writes[write].payload = request.payload.handle;
  core_.writes[write].from_sender = request.payload.data == nullptr;
  core_.writes[write].length = request.payload.length;
  core_.writes[write].requests.push(core_.requests, index, &Request::next);
  cell.reserved += request.payload.length;
  make_dirty(cell_index);
  if (core_.writes[write].from_sender && passes_end(cell, core_.writes[write])) {
    // Nobody can be told to send the halves of a message to two places: it is brought here first.
    request.fetching = true;
    request.pieces = write;
    ++core_.counters.payload_fetches;
    core_.ask_sender(index);
    core_.ask(Purpose::kFetch, index);
  } else {
    issue(write);
  }
  return true;
}

void Appends::fetched(std::uint32_t index, const AccessResult& result) {
  Request& request = core_.requests[index];
  request.fetching = false;
  core_.sender_answered(index);
  Write& write = core_.writes[request.pieces];
  write.from_sender = false;
  // The host may have given the target's number to another since: nothing is asked of one that is lost.
  const bool lost = core_.clients[core_.cells[write.cell].client].state == ClientState::kLost;
  if (result.status == AccessStatus::kDone && !lost) {
    write.data = result.data;
    issue(request.pieces);
    return;
  }
  ++core_.cells[write.cell].in_flight;
  write.failure = lost ? AccessStatus::kTargetLost : AccessStatus::kSenderLost;
  complete(request.pieces);
}

std::uint32_t Appends::new_write(std::uint32_t cell_index, const Request& request) {
  const std::uint32_t index = core_.writes.acquire();
  WHARF_CHECK(index != kNoSlot);
  Write& write = core_.writes[index];
  write = {};
  write.cell = cell_index;
  write.region = request.data_region;
  write.place = core_.cells[cell_index].reserved;
  core_.use_region(write.region);
  core_.cells[cell_index].writes.push(core_.writes, index, &Write::next);
  return index;
}

void Appends::gather(std::uint32_t cell_index, std::uint32_t index) {
  Cell& cell = core_.cells[cell_index];
  Request& request = core_.requests[index];
  const bool joined = joins(cell, request);
  if (joined) {
    ++core_.counters.coalesced;
  } else {
    close(cell_index);
    cell.open = new_write(cell_index, request);
    core_.writes[cell.open].staging = core_.free_staging.back();
    core_.free_staging.pop_back();
    cell.opened = core_.now;
  }
  Write& write = core_.writes[cell.open];
  std::byte* buffer = core_.staging.data() + std::size_t{write.staging} * core_.config.coalesce_bytes;
  std::memcpy(buffer + write.length, request.payload.data, request.payload.length);
  write.data = buffer;
  write.length += request.payload.length;
  write.requests.push(core_.requests, index, &Request::next);
  core_.release_payload(request);
  cell.reserved += request.payload.length;
  make_dirty(cell_index);

  const bool full = write.length == core_.config.coalesce_bytes;
  const bool waits = core_.config.coalesce_delay > kTimeZero;
  if (full || core_.regions[write.region].direct || (cell.in_flight == 0 && !waits)) {
    close(cell_index);
  } else if (waits && !joined) {
    delay(cell_index);
  }
}

/// Behind all that opened before it, also if it was there for a write that is closed.
void Appends::delay(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  if (cell.delayed) core_.delayed.remove(core_.cells, index, &Cell::in_delayed);
  cell.delayed = true;
  core_.delayed.push(core_.cells, index, &Cell::in_delayed);
  core_.wake_at(core_.now + core_.config.coalesce_delay);
}

void Appends::close(std::uint32_t cell_index) {
  Cell& cell = core_.cells[cell_index];
  if (cell.open == kNoSlot) return;
  const std::uint32_t write = cell.open;
  cell.open = kNoSlot;
  issue(write);
}

void Appends::close_all(std::uint32_t client) {
  for (std::uint32_t at = core_.clients[client].dirty.head; at != kNoSlot; at = core_.cells[at].next_dirty)
    close(at);
}

void Appends::issue(std::uint32_t index) {
  Write& write = core_.writes[index];
  Cell& cell = core_.cells[write.cell];
  write.parts = 1;
  write.groups = 0;
  if (passes_end(cell, write)) write.parts = 3;
  if (write.from_sender) {
    core_.ask_sender(write.requests.head);  // Small neighbours do not wait for it.
  } else if (!write.filling) {
    ++cell.in_flight;
  }
  for (std::uint8_t part = 1; part <= 2; part = static_cast<std::uint8_t>(part << 1U)) {
    if ((write.parts & part) == 0) continue;
    ++core_.counters.data_writes;
    const Purpose purpose = part == 1 ? Purpose::kWriteFirst : Purpose::kWriteSecond;
    if (write.from_sender) {
      core_.ask(purpose, index);
    } else {
      const std::uint8_t group = core_.ask_target(purpose, index, cell.client);
      if (group != 0) write.groups = static_cast<std::uint8_t>(write.groups | part);
    }
  }
}

void Appends::written(std::uint32_t index, std::uint8_t part, AccessStatus status) {
  Write& write = core_.writes[index];
  const std::uint32_t client = core_.cells[write.cell].client;
  if (!write.from_sender) core_.target_answered(client, (write.groups & part) != 0 ? 1 : 0);
  write.parts = static_cast<std::uint8_t>(write.parts & ~part);
  write.failure = std::max(write.failure, status);
  // Only now: an order that was asked for before this write ended may not have covered it.
  if (!core_.regions[write.region].direct) core_.clients[client].unordered = true;
  if (write.parts != 0) return;
  if (write.from_sender) core_.sender_answered(write.requests.head);
  complete(index);
}

void Appends::complete(std::uint32_t index) {
  Write& write = core_.writes[index];
  Cell& cell = core_.cells[write.cell];
  const RdmoStatus status = status_of(write.failure);
  while (!write.requests.empty()) core_.finish(write.requests.pop(core_.requests, &Request::next), status);
  const bool lost = core_.clients[cell.client].state == ClientState::kLost;
  if (status != RdmoStatus::kDone && !write.filling && !lost && status != RdmoStatus::kTargetLost) {
    write.filling = true;
    if (write.from_sender) ++cell.in_flight;
    write.from_sender = false;
    write.failure = AccessStatus::kDone;
    ++core_.counters.holes_filled;
    issue(index);
    return;
  }
  if (status != RdmoStatus::kDone) damage(cell);
  write.done = true;
  if (!write.from_sender) --cell.in_flight;
  land(write.cell);
}

void Appends::land(std::uint32_t cell_index) {
  Cell& cell = core_.cells[cell_index];
  while (!cell.writes.empty() && core_.writes[cell.writes.head].done) {
    const std::uint32_t index = cell.writes.pop(core_.writes, &Write::next);
    Write& write = core_.writes[index];
    if (!cell.damaged) cell.landed = write.place + write.length;
    if (write.staging != kNoSlot) core_.free_staging.push_back(write.staging);
    core_.leave_region(write.region);
    core_.writes.release(index);
    if (cell.round_left > 0) --cell.round_left;
  }
  if (cell.open != kNoSlot && cell.in_flight == 0 && core_.config.coalesce_delay == kTimeZero)
    close(cell_index);
  if (cell.in_round && !cell.settled && cell.round_left == 0) {
    cell.settled = true;
    if (--core_.clients[cell.client].unsettled == 0) core_.attend(cell.client);
  }
  if (core_.clients[cell.client].state == ClientState::kLost) core_.attend(cell.client);
  let_others(cell_index);
}

void Appends::let_others(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  if (core_.regions[cell.region].leaving) core_.control_attention = true;
  if (core_.blocked == 0) return;
  if (!idle(cell) || cell.damaged) return;
  if (clean(cell)) {
    ++core_.counters.cells_evicted;
    drop(index);
  } else {
    Client& client = core_.clients[cell.client];
    client.write_back = client.round_drops = true;
    core_.attend(cell.client);
  }
}

void Appends::make_dirty(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  if (cell.dirty || cell.in_round) return;
  cell.dirty = true;
  Client& client = core_.clients[cell.client];
  client.dirty.push(core_.cells, index, &Cell::next_dirty);
  if (core_.config.publish_delay != kNever && client.publish_at == kNever) {
    client.publish_at = core_.now + core_.config.publish_delay;
    core_.wake_at(client.publish_at);
  }
}

void Appends::starve(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  if (cell.starved) return;
  cell.starved = true;
  core_.starved.push(core_.cells, index, &Cell::next_starved);
}

void Appends::retry_starved() {
  while (!core_.starved.empty() && core_.has_free_write()) {
    const std::uint32_t index = core_.starved.pop(core_.cells, &Cell::next_starved);
    core_.cells[index].starved = false;
    drain(index, false);
  }
}

void Appends::expire() {
  while (!core_.delayed.empty()) {
    const std::uint32_t index = core_.delayed.head;
    Cell& cell = core_.cells[index];
    const TimePs end = cell.opened + core_.config.coalesce_delay;
    if (cell.open != kNoSlot && end > core_.now) {
      core_.wake_at(end);
      return;
    }
    core_.delayed.remove(core_.cells, index, &Cell::in_delayed);
    cell.delayed = false;
    close(index);
    let_others(index);
  }
}

void Appends::drain(std::uint32_t index, bool fresh) {
  Cell& cell = core_.cells[index];
  while (!cell.waiting.empty() && !cell.reading && !cell.swapping) {
    const std::uint32_t request = cell.waiting.pop(core_.requests, &Request::next);
    if (place(index, request, fresh)) continue;
    push_front(cell.waiting, core_.requests, request, &Request::next);
    break;
  }
  let_others(index);
}

void Appends::fail_waiting(std::uint32_t index, RdmoStatus status) {
  Cell& cell = core_.cells[index];
  while (!cell.waiting.empty()) core_.finish(cell.waiting.pop(core_.requests, &Request::next), status);
}

void Appends::abandon(std::uint32_t index) {
  Cell& cell = core_.cells[index];
  fail_waiting(index, RdmoStatus::kTargetLost);
  if (cell.open == kNoSlot) return;
  const std::uint32_t write = cell.open;
  cell.open = kNoSlot;
  ++cell.in_flight;
  core_.writes[write].failure = AccessStatus::kTargetLost;
  complete(write);
}

void Appends::cell_read(std::uint32_t index, const AccessResult& result) {
  Cell& cell = core_.cells[index];
  core_.target_answered(cell.client, cell.reading_group);
  cell.reading = false;
  const auto& words = result.words;
  RdmoStatus status = status_of(result.status);
  if (core_.clients[cell.client].state == ClientState::kLost) status = RdmoStatus::kTargetLost;
  if (status == RdmoStatus::kDone && cell.is_queue) {
    const std::uint64_t tail = cell.known ? cell.reserved : words[0];
    // The header lies in memory that initiators write, too. Nobody consumes what has not landed: room that is
    // given for it would be room that is taken.
    const std::uint64_t landed = cell.known ? cell.landed : words[0];
    const bool sensible = words[1] <= tail && words[1] <= landed && tail - words[1] <= words[3] &&
                          words[3] > 0 &&
                          (!cell.known || (words[2] == cell.base && words[3] == cell.capacity));
    if (sensible) {
      cell.head = words[1];
      cell.base = words[2];
      cell.capacity = words[3];
    } else {
      status = RdmoStatus::kDamaged;
    }
  }
  if (status != RdmoStatus::kDone) {
    fail_waiting(index, status);
    if (!cell.known) {
      drop(index);
    } else {
      let_others(index);
    }
    return;
  }
  if (!cell.known) {
    cell.reserved = cell.landed = cell.published = words[0];
  } else if (!core_.holds_tail(cell)) {
    cell.reserved = cell.published = words[0];
    if (cell.writes.empty()) cell.landed = words[0];
  }
  cell.known = true;
  drain(index, true);
}

void Appends::cell_swapped(std::uint32_t index, const AccessResult& result) {
  Cell& cell = core_.cells[index];
  core_.target_answered(cell.client, cell.swapping_group);
  cell.swapping = false;
  --core_.writes_promised;
  const bool lost = core_.clients[cell.client].state == ClientState::kLost;
  if (result.status != AccessStatus::kDone || lost) {
    fail_waiting(index, lost ? RdmoStatus::kTargetLost : status_of(result.status));
    let_others(index);
    return;
  }
  const bool advanced = result.words[0] == cell.reserved;
  if (!advanced) cell.reserved = result.words[0];  // Somebody else was there: begin anew from there.
  if (cell.writes.empty()) cell.landed = cell.reserved;
  if (advanced) put(index, cell.waiting.pop(core_.requests, &Request::next));
  cell.published = cell.reserved;
  drain(index, true);
}

}  // namespace wharf::rdmo
