// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/write_back.h"

#include "base/check.h"

namespace wharf::rdmo {

void WriteBack::flush(std::uint32_t request) {
  const std::uint32_t client = core_.connections[core_.requests[request].connection].client;
  core_.clients[client].flushes_waiting.push(core_.requests, request, &Request::next);
  core_.attend(client);
}

bool WriteBack::wanted(const Client& client) const {
  return !client.flushes_waiting.empty() || client.write_back || client.publish_at <= core_.now;
}

void WriteBack::advance(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (client.state == ClientState::kLost) return;
  for (;;) {
    switch (client.round) {
      case Round::kIdle:
        if (!wanted(client)) return;
        begin(index);
        client.round = Round::kSettle;
        break;
      case Round::kSettle:
        if (client.unsettled > 0) return;
        // What lands from now on may not be ordered yet: the watermarks of this moment are those that are
        // stored.
        for (std::uint32_t at = client.round_cells.head; at != kNoSlot; at = core_.cells[at].next_round)
          core_.cells[at].storing_value = core_.cells[at].landed;
        client.round = Round::kOrderData;
        order_if_needed(index);
        break;
      case Round::kOrderData:
        if (client.ordering) return;
        client.round = Round::kStoreCells;
        store(index);
        break;
      case Round::kStoreCells:
        if (client.storing > 0) return;
        client.round = Round::kOrderCells;
        order_if_needed(index);
        break;
      case Round::kOrderCells:
        if (client.ordering) return;
        client.round = Round::kReadBack;
        if (core_.config.read_back && !client.round_cells.empty() &&
            client.round_status == RdmoStatus::kDone) {
          client.reading_back = true;
          client.round_group = core_.ask_target(Purpose::kReadBack, index, index);
        }
        break;
      case Round::kReadBack:
        if (client.reading_back) return;
        end(index);
        client.round = Round::kIdle;
        break;
    }
  }
}

void WriteBack::begin(std::uint32_t index) {
  Client& client = core_.clients[index];
  ++core_.counters.rounds;
  ++client.rounds_begun;
  client.flushes_running = client.flushes_waiting;
  client.flushes_waiting = {};
  client.round_drops = client.round_drops || !client.flushes_running.empty();
  client.write_back = false;
  client.publish_at = kNever;
  client.round_status = client.damaged > 0 ? RdmoStatus::kDamaged : RdmoStatus::kDone;
  client.unsettled = 0;
  while (!client.dirty.empty()) {
    const std::uint32_t at = client.dirty.pop(core_.cells, &Cell::next_dirty);
    appends_.close(at);
    Cell& cell = core_.cells[at];
    cell.dirty = false;
    cell.in_round = true;
    cell.round_left = 0;
    for (std::uint32_t write = cell.writes.head; write != kNoSlot; write = core_.writes[write].next)
      ++cell.round_left;
    cell.settled = cell.round_left == 0;
    client.unsettled += cell.settled ? 0 : 1;
    client.round_cells.push(core_.cells, at, &Cell::next_round);
  }
}

bool WriteBack::failed(const Client& client) {
  return client.round_status != RdmoStatus::kDone && client.round_status != RdmoStatus::kDamaged;
}

void WriteBack::order_if_needed(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (!client.unordered || failed(client)) return;
  client.unordered = false;
  client.ordering = true;
  ++core_.counters.orders;
  client.round_group = core_.ask_target(Purpose::kOrder, index, index);
}

void WriteBack::store(std::uint32_t index) {
  Client& client = core_.clients[index];
  client.storing = 0;
  for (std::uint32_t at = client.round_cells.head; at != kNoSlot; at = core_.cells[at].next_round) {
    Cell& cell = core_.cells[at];
    if (cell.damaged && client.round_status == RdmoStatus::kDone) client.round_status = RdmoStatus::kDamaged;
  }
  if (failed(client)) return;
  for (std::uint32_t at = client.round_cells.head; at != kNoSlot; at = core_.cells[at].next_round) {
    Cell& cell = core_.cells[at];
    if (cell.damaged || !core_.holds_tail(cell) || cell.storing_value == cell.published) continue;
    cell.storing = true;
    ++client.storing;
    ++core_.counters.cell_writes;
    cell.storing_group = core_.ask_target(Purpose::kStoreCell, at, index);
  }
}

void WriteBack::end(std::uint32_t index) {
  Client& client = core_.clients[index];
  const bool flushed = !client.flushes_running.empty();
  while (!client.flushes_running.empty()) {
    answer(client.flushes_running.pop(core_.requests, &Request::next), client.round_status);
  }
  const bool drops = client.round_drops || core_.blocked > 0;
  client.round_drops = false;
  while (!client.round_cells.empty()) {
    const std::uint32_t at = client.round_cells.pop(core_.cells, &Cell::next_round);
    Cell& cell = core_.cells[at];
    cell.in_round = false;
    // It moved on meanwhile. What is damaged never shows more: the client knows how many of those it has.
    cell.dirty = !cell.writes.empty() || (!cell.damaged && cell.reserved != cell.published);
    if (cell.dirty) {
      client.dirty.push(core_.cells, at, &Cell::next_dirty);
      if (core_.config.publish_delay != kNever && client.publish_at == kNever) {
        client.publish_at = core_.now + core_.config.publish_delay;
        core_.wake_at(client.publish_at);
      }
      appends_.let_others(at);
    } else if (drops && Appends::idle(cell) && !cell.damaged) {
      appends_.drop(at);
    }
  }
  // Also of those that did not move: after a flush the consumer may reset any cell.
  if (flushed) appends_.drop_clean(index);
  ++client.rounds_ended;
  core_.control_attention = true;
}

void WriteBack::answer(std::uint32_t index, RdmoStatus status) {
  Request& request = core_.requests[index];
  Connection& connection = core_.connections[request.connection];
  ++core_.counters.flushes;
  request.place = connection.failed;
  if (status == RdmoStatus::kDone && connection.failed > 0) status = RdmoStatus::kEarlierFailed;
  if (request.extended) {
    connection.failed = 0;
  } else if (status != RdmoStatus::kDone) {
    // Choice: the published answer cannot say that something failed, so the connection ends instead of lying.
    if (!connection.lying) ++core_.connections_lying;
    connection.lying = true;
    core_.control_attention = true;
  }
  core_.finish(index, status);
}

void WriteBack::fail_step(Client& client, AccessStatus status) {
  if (status == AccessStatus::kDone) return;
  client.round_status =
      status == AccessStatus::kTargetLost ? RdmoStatus::kTargetLost : RdmoStatus::kMemoryFailed;
}

void WriteBack::ordered(std::uint32_t index, AccessStatus status) {
  Client& client = core_.clients[index];
  core_.target_answered(index, client.round_group);
  client.ordering = false;
  if (status != AccessStatus::kDone) client.unordered = true;
  fail_step(client, status);
  core_.attend(index);
}

void WriteBack::stored(std::uint32_t index, AccessStatus status) {
  Cell& cell = core_.cells[index];
  Client& client = core_.clients[cell.client];
  core_.target_answered(cell.client, cell.storing_group);
  cell.storing = false;
  if (client.state == ClientState::kLost) return;
  if (!core_.regions[cell.region].direct) client.unordered = true;
  if (status == AccessStatus::kDone) {
    cell.published = cell.storing_value;
  } else {
    appends_.damage(cell);  // Nobody knows what the cell says now.
  }
  fail_step(client, status);
  WHARF_CHECK(client.storing > 0);
  if (--client.storing == 0) core_.attend(cell.client);
}

void WriteBack::read_back(std::uint32_t index, AccessStatus status) {
  Client& client = core_.clients[index];
  core_.target_answered(index, client.round_group);
  client.reading_back = false;
  fail_step(client, status);
  core_.attend(index);
}

void WriteBack::abandon(std::uint32_t index) {
  Client& client = core_.clients[index];
  for (IndexList* flushes : {&client.flushes_running, &client.flushes_waiting}) {
    while (!flushes->empty()) answer(flushes->pop(core_.requests, &Request::next), RdmoStatus::kTargetLost);
  }
  while (!client.dirty.empty()) core_.cells[client.dirty.pop(core_.cells, &Cell::next_dirty)].dirty = false;
  while (!client.round_cells.empty()) {
    core_.cells[client.round_cells.pop(core_.cells, &Cell::next_round)].in_round = false;
  }
  client.round = Round::kIdle;
  client.unsettled = client.storing = 0;
}

}  // namespace wharf::rdmo
