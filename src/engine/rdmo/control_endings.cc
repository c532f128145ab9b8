// SPDX-License-Identifier: Apache-2.0
// How connections, regions and targets go: refuse what is new, let what runs end, write back, close, notify.
#include "base/check.h"
#include "engine/rdmo/control.h"

namespace wharf::rdmo {

using wire::DocaError;

// --- Connections
// ------------------------------------------------------------------------------------------------

void Control::drain(std::uint32_t index) {
  Connection& connection = core_.connections[index];
  if (!connection.draining) ++core_.connections_ending;
  connection.draining = true;
  core_.control_attention = true;
}

void Control::fail_queued(std::uint32_t index, RdmoStatus status) {
  Connection& connection = core_.connections[index];
  if (connection.blocked != kNoSlot) {
    const std::uint32_t request = connection.blocked;
    connection.blocked = kNoSlot;
    --core_.blocked;
    core_.finish(request, status);
  }
  while (!connection.queue.empty()) {
    const std::uint32_t request = connection.queue.pop(core_.requests, &Request::next);
    ++connection.outstanding;
    core_.finish(request, status);
  }
}

void Control::peer_lost(PeerId peer) {
  if (peer >= core_.first_on_peer.size()) return;
  for (std::uint32_t at = core_.first_on_peer[peer]; at != kNoSlot; at = core_.connections[at].next_on_peer) {
    Connection& connection = core_.connections[at];
    if (connection.gone) continue;
    ++core_.counters.peers_lost;
    connection.gone = true;
    drain(at);
    fail_queued(at, RdmoStatus::kSenderLost);
  }
}

void Control::advance_connection(std::uint32_t index) {
  Connection& connection = core_.connections[index];
  Client& client = core_.clients[connection.client];
  if (connection.lying) {
    connection.lying = false;
    --core_.connections_lying;
    ++core_.counters.connections_closed;
    peer_lost(connection.peer);  // Whatever else it asked for ends with it.
  }
  if (!connection.draining || !connection.open) return;
  const bool first = core_.first_on_peer[connection.peer] == index;
  const bool alone = first && connection.next_on_peer == kNoSlot;
  if (connection.gone) {
    // Closed at once, so that what the initiator announced and never sent fails.
    if (first && !connection.closing) close_peer(index);
    if (connection.held == 0 && connection.closed) remove_connection(index);
    return;
  }
  if (connection.held > 0) return;
  if (client.state != ClientState::kLost) {
    if (connection.last_round == 0) {
      connection.last_round = client.rounds_begun + 1;
      client.write_back = true;
      core_.attend(connection.client);
    }
    if (client.rounds_ended < connection.last_round) return;
  }
  if (alone && !connection.closing) close_peer(index);
  if (connection.closing ? connection.closed : !alone) remove_connection(index);
}

void Control::close_peer(std::uint32_t index) {
  core_.connections[index].closing = true;
  act(ActionKind::kClosePeer, index).peer = core_.connections[index].peer;
}

void Control::unlink(std::uint32_t index) {
  Connection& connection = core_.connections[index];
  std::uint32_t* at = &core_.first_on_peer[connection.peer];
  while (*at != index) at = &core_.connections[*at].next_on_peer;
  *at = connection.next_on_peer;
}

void Control::peer_closed(std::uint32_t index) {
  core_.connections[index].closed = true;
  for (std::uint32_t at = core_.first_on_peer[core_.connections[index].peer]; at != kNoSlot;
       at = core_.connections[at].next_on_peer) {
    if (core_.connections[at].gone) core_.connections[at].closing = core_.connections[at].closed = true;
  }
  core_.control_attention = true;
}

void Control::remove_connection(std::uint32_t index) {
  Connection& connection = core_.connections[index];
  WHARF_CHECK(connection.held == 0);
  if (connection.open) {
    unlink(index);
    --core_.connections_ending;
  }
  notify(connection.pending, DocaError::kSuccess, connection.queue_id);
  if (connection.ready) core_.ready.remove(core_.connections, index, &Connection::next_ready);
  Client& client = core_.clients[connection.client];
  --client.connections;
  core_.attend(connection.client);
  core_.connections.release(index);
}

// --- Memory
// -----------------------------------------------------------------------------------------------------

void Control::leave(std::uint32_t index) {
  Region& region = core_.regions[index];
  if (region.leaving) return;
  region.leaving = true;
  ++core_.regions_leaving;
  core_.control_attention = true;
}

void Control::advance_region(std::uint32_t index) {
  Region& region = core_.regions[index];
  if (!region.leaving || region.forgetting) return;
  const bool lost = core_.clients[region.client].state == ClientState::kLost;
  for (std::uint32_t at = 0; region.users > 0 && at < core_.cells.extent(); ++at) {
    Cell& cell = core_.cells[at];
    if (!core_.cells.is_used(at) || cell.region != index || !Appends::idle(cell)) continue;
    Client& client = core_.clients[cell.client];
    if (cell.dirty && !cell.damaged && !lost) {
      client.write_back = client.round_drops = true;
      core_.attend(cell.client);
      continue;
    }
    if (cell.dirty) client.dirty.remove(core_.cells, at, &Cell::next_dirty);
    cell.dirty = false;
    appends_.drop(at);
  }
  if (region.users > 0) return;
  region.forgetting = true;
  act(ActionKind::kForget, index).memory = region.memory;
}

void Control::remove_region(std::uint32_t index) {
  Region& region = core_.regions[index];
  notify(region.pending, DocaError::kSuccess, region.key);
  if (region.ready) core_.region_by_key.erase(region.key);
  if (region.leaving) --core_.regions_leaving;
  Client& client = core_.clients[region.client];
  --client.regions;
  client.bytes -= region.length;
  core_.attend(region.client);
  core_.regions.release(index);
}

// --- Targets
// ----------------------------------------------------------------------------------------------------

void Control::destination_lost(DestinationId destination) {
  const std::uint32_t client = find_client(destination);
  if (client != kNoSlot) target_lost(client);
}

void Control::target_lost(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (client.state == ClientState::kLost) return;
  ++core_.counters.targets_lost;
  const bool opening = client.state == ClientState::kOpening;
  client.state = ClientState::kLost;
  client.detached = true;
  core_.client_by_id.erase(client.id);
  if (opening) return cancel_opening(index);
  for (std::uint32_t i = 0; i < core_.connections.extent(); ++i) {
    if (!core_.connections.is_used(i) || core_.connections[i].client != index) continue;
    fail_queued(i, RdmoStatus::kTargetLost);
  }
  write_back_.abandon(index);
  for (std::uint32_t i = 0; i < core_.cells.extent(); ++i) {
    if (core_.cells.is_used(i) && core_.cells[i].client == index) appends_.abandon(i);
  }
  close_target(index);
  core_.attend(index);
}

// A target that does not answer while it is opened would keep its place, and the worker from stopping.
void Control::cancel_opening(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (client.open_until == kNever) return;
  client.open_until = kNever;
  act(ActionKind::kCancelOpening, index).opening = client.opening;
}

void Control::close_target(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (client.closing) return;
  client.closing = true;
  act(ActionKind::kCloseTarget, index).target = client.target;
}

void Control::advance_client(std::uint32_t index) {
  const ClientState state = core_.clients[index].state;
  if (state == ClientState::kRetiring) advance_retiring(index);
  if (state == ClientState::kLost) advance_lost(index);
}

void Control::advance_retiring(std::uint32_t index) {
  Client& client = core_.clients[index];
  if (client.connections > 0) return;
  for (std::uint32_t i = 0; client.regions > 0 && i < core_.regions.extent(); ++i) {
    if (core_.regions.is_used(i) && core_.regions[i].client == index && core_.regions[i].ready) leave(i);
  }
  if (client.regions > 0) return;
  close_target(index);
  if (!client.closed) return;
  core_.client_by_id.erase(client.id);
  core_.clients.release(index);
}

void Control::advance_lost(std::uint32_t index) {
  Client& client = core_.clients[index];
  close_target(index);
  if (!client.closed || client.accesses > 0) return;
  // The host answered everything. Now its connections end, which tells the initiators, and its memory.
  core_.control_attention = true;
  for (std::uint32_t i = 0; i < core_.connections.extent(); ++i) {
    if (core_.connections.is_used(i) && core_.connections[i].client == index && core_.connections[i].open)
      drain(i);
  }
  for (std::uint32_t i = 0; i < core_.regions.extent(); ++i) {
    if (core_.regions.is_used(i) && core_.regions[i].client == index && core_.regions[i].ready) leave(i);
  }
  if (client.connections > 0 || client.regions > 0) return;
  core_.clients.release(index);
}

void Control::stop() {
  core_.stopping = true;
  for (std::uint32_t i = 0; i < core_.clients.extent(); ++i) {
    if (!core_.clients.is_used(i) || core_.clients[i].state != ClientState::kReady) continue;
    core_.clients[i].state = ClientState::kRetiring;
    for (std::uint32_t at = 0; at < core_.connections.extent(); ++at) {
      const bool its = core_.connections.is_used(at) && core_.connections[at].client == i;
      if (its && core_.connections[at].open) drain(at);
    }
    core_.attend(i);
  }
}

void Control::advance() {
  core_.control_attention = false;
  for (std::uint32_t i = 0;
       core_.connections_ending + core_.connections_lying > 0 && i < core_.connections.extent(); ++i) {
    if (core_.connections.is_used(i)) advance_connection(i);
  }
  for (std::uint32_t i = 0; core_.regions_leaving > 0 && i < core_.regions.extent(); ++i) {
    if (core_.regions.is_used(i)) advance_region(i);
  }
}

void Control::expire() {
  for (std::uint32_t i = 0; i < core_.clients.extent(); ++i) {
    Client& client = core_.clients[i];
    if (!core_.clients.is_used(i)) continue;
    if (client.publish_at <= core_.now) {
      core_.attend(i);
    } else if (client.publish_at != kNever) {
      core_.wake_at(client.publish_at);
    }
    if (client.open_until <= core_.now) {
      cancel_opening(i);
    } else if (client.open_until != kNever) {
      core_.wake_at(client.open_until);
    }
    if (client.accesses == 0 || client.state == ClientState::kLost) continue;
    const TimePs end = client.awaited_since + core_.config.memory_time_max;
    if (end <= core_.now) {
      target_lost(i);
    } else {
      core_.wake_at(end);
    }
  }
  for (std::uint32_t i = 0; i < core_.connections.extent(); ++i) {
    Connection& connection = core_.connections[i];
    if (!core_.connections.is_used(i)) continue;
    if (!connection.queue.empty()) core_.make_ready(i);
    if (connection.owed.empty() || connection.gone) continue;
    const TimePs end = connection.owed_since + core_.config.sender_time_max;
    if (end <= core_.now) {
      peer_lost(connection.peer);
    } else {
      core_.wake_at(end);
    }
  }
}

}  // namespace wharf::rdmo
