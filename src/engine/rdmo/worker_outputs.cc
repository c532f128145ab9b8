// SPDX-License-Identifier: Apache-2.0
// What a worker gives its host, and what it shows of itself.
#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "engine/rdmo/worker.h"
#include "engine/rdmo/worker_parts.h"

namespace wharf::rdmo {

bool Worker::is_open(std::uint32_t access) const {
  const WorkerCore& core = parts_->core;
  const std::uint32_t index = access & kIndexMask;
  switch (static_cast<Purpose>(access >> kPurposeShift)) {
    case Purpose::kWriteFirst:
      return core.writes.is_used(index) && (core.writes[index].parts & 1U) != 0;
    case Purpose::kWriteSecond:
      return core.writes.is_used(index) && (core.writes[index].parts & 2U) != 0;
    case Purpose::kReadCell:
      return core.cells.is_used(index) && core.cells[index].reading;
    case Purpose::kStoreCell:
      return core.cells.is_used(index) && core.cells[index].storing;
    case Purpose::kSwapCell:
      return core.cells.is_used(index) && core.cells[index].swapping;
    case Purpose::kOrder:
      return core.clients.is_used(index) && core.clients[index].ordering;
    case Purpose::kReadBack:
      return core.clients.is_used(index) && core.clients[index].reading_back;
    case Purpose::kFetch:
      return core.requests.is_used(index) && core.requests[index].fetching;
  }
  return false;
}

[[gnu::flatten]] bool Worker::next_access(Access& out) {
  WorkerCore& core = parts_->core;
  if (core.accesses.empty()) return false;
  fill(core.accesses.front(), out);
  core.accesses.pop_front();
  return true;
}

void Worker::fill(std::uint32_t id, Access& out) const {
  const WorkerCore& core = parts_->core;
  const std::uint32_t index = id & kIndexMask;
  const auto purpose = static_cast<Purpose>(id >> kPurposeShift);
  out = {};
  out.id = id;
  const auto in_cell = [&](const Cell& cell) {
    out.memory = core.regions[cell.region].memory;
    out.target = core.clients[cell.client].target;
    out.address = cell.address;
    out.length = wire::kRdmoCellBytes;
  };
  switch (purpose) {
    case Purpose::kWriteFirst:
    case Purpose::kWriteSecond: {
      const Write& write = core.writes[index];
      const Region& region = core.regions[write.region];
      out.kind = write.filling ? AccessKind::kFill : AccessKind::kWrite;
      out.memory = region.memory;
      out.target = core.clients[region.client].target;
      out.address = write.place;
      out.length = write.length;
      out.data = write.filling ? nullptr : write.data;
      out.payload = write.payload;
      if (write.cell == kNoSlot || !core.cells[write.cell].is_queue) return;
      const Cell& cell = core.cells[write.cell];
      const std::uint64_t offset = write.place % cell.capacity;
      const std::uint64_t before_end = cell.capacity - offset;
      const bool passes = write.length > before_end;
      if (purpose == Purpose::kWriteFirst) {
        out.address = cell.base + offset;
        if (passes) out.length = static_cast<std::uint32_t>(before_end);
      } else {
        out.address = cell.base;
        out.length = static_cast<std::uint32_t>(write.length - before_end);
        if (out.data != nullptr) out.data += before_end;
      }
      return;
    }
    case Purpose::kReadCell:
      out.kind = AccessKind::kRead;
      in_cell(core.cells[index]);
      if (core.cells[index].is_queue) out.length = wire::kRdmoQueueBytes;
      return;
    case Purpose::kStoreCell:
      out.kind = AccessKind::kWriteCell;
      in_cell(core.cells[index]);
      out.value = core.cells[index].storing_value;
      return;
    case Purpose::kSwapCell:
      out.kind = AccessKind::kCompareSwap;
      in_cell(core.cells[index]);
      out.compare = core.cells[index].reserved;
      out.value = core.cells[index].swap_value;
      return;
    case Purpose::kOrder:
      out.kind = AccessKind::kOrder;
      out.target = core.clients[index].target;
      return;
    case Purpose::kReadBack:
      out.kind = AccessKind::kRead;
      if (core.clients[index].round_cells.empty()) {
        out.kind = AccessKind::kOrder;  // The target was lost meanwhile; the answer changes nothing.
        out.target = core.clients[index].target;
      } else {
        in_cell(core.cells[core.clients[index].round_cells.head]);
      }
      return;
    case Purpose::kFetch:
      out.kind = AccessKind::kFetch;
      out.payload = core.requests[index].payload.handle;
      out.length = core.requests[index].payload.length;
      return;
  }
}

bool Worker::next_message(Message& out) {
  WorkerCore& core = parts_->core;
  if (core.messages.empty()) return false;
  out = core.messages.front();
  core.messages.pop_front();
  return true;
}

bool Worker::next_release(std::uint64_t& handle) {
  WorkerCore& core = parts_->core;
  if (core.releases.empty()) return false;
  handle = core.releases.front();
  core.releases.pop_front();
  return true;
}

bool Worker::next_action(Action& out) {
  std::vector<Action>& actions = parts_->core.actions;
  if (actions.empty()) return false;
  out = std::move(actions.front());
  actions.erase(actions.begin());
  return true;
}

bool Worker::next_notice(Notice& out) {
  std::vector<Notice>& notices = parts_->core.notices;
  if (notices.empty()) return false;
  out = std::move(notices.front());
  notices.erase(notices.begin());
  return true;
}

TimePs Worker::deadline() const { return parts_->core.deadline; }
bool Worker::stopped() const { return parts_->core.stopping && targets() == 0; }
const WorkerConfig& Worker::config() const { return parts_->core.config; }
const WorkerCounters& Worker::counters() const { return parts_->core.counters; }
std::uint32_t Worker::held() const { return parts_->core.requests.in_use(); }
std::uint32_t Worker::targets() const { return parts_->core.clients.in_use(); }
bool Worker::has_target(DestinationId destination) const { return parts_->control.has_client(destination); }
std::uint32_t Worker::connections() const { return parts_->core.connections.in_use(); }
bool Worker::has_connection(PeerId peer) const {
  const WorkerCore& core = parts_->core;
  return peer < core.first_on_peer.size() && core.first_on_peer[peer] != kNoSlot;
}
std::uint32_t Worker::regions() const { return parts_->core.regions.in_use(); }
std::uint32_t Worker::cells() const { return parts_->core.cells.in_use(); }

void Worker::describe_waiting(std::vector<std::string>& lines) const {
  const WorkerCore& core = parts_->core;
  for (std::uint32_t i = 0; i < core.connections.extent(); ++i) {
    const Connection& connection = core.connections[i];
    if (!core.connections.is_used(i) || connection.held == 0) continue;
    lines.push_back(fmt::format("queue {} of target {}: {} requests, {} under way{}", connection.queue_id,
                                core.clients[connection.client].id, connection.held, connection.outstanding,
                                connection.blocked != kNoSlot ? ", one waits for a cell" : ""));
  }
  for (std::uint32_t i = 0; i < core.cells.extent(); ++i) {
    const Cell& cell = core.cells[i];
    if (!core.cells.is_used(i) || (Appends::idle(cell) && core.blocked + core.regions_leaving == 0)) continue;
    lines.push_back(fmt::format("cell {:#x} of target {}: {}{}{}{}{}{}", cell.address,
                                core.clients[cell.client].id, cell.writes.empty() ? "no writes" : "writes",
                                cell.waiting.empty() ? "" : ", requests wait",
                                cell.reading ? ", is read" : "", cell.swapping ? ", is advanced" : "",
                                cell.in_round ? ", is written back" : "", cell.dirty ? ", has moved" : ""));
  }
  for (std::uint32_t i = 0; i < core.clients.extent(); ++i) {
    const Client& client = core.clients[i];
    if (!core.clients.is_used(i) || client.accesses == 0) continue;
    lines.push_back(
        fmt::format("target {}: {} accesses to memory are not answered", client.id, client.accesses));
  }
}

}  // namespace wharf::rdmo
