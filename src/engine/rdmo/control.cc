// SPDX-License-Identifier: Apache-2.0
// Commands and what the host did about them; endings are in control_endings.cc.
#include "engine/rdmo/control.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::rdmo {

using wire::DocaError;
using wire::RdmoCommand;
using wire::RdmoCommandType;
using wire::RdmoControlError;

void Control::command(DestinationId destination, std::span<const std::byte> bytes) {
  RdmoCommand command;
  ++core_.counters.commands;
  const RdmoControlError error = wire::decode(bytes, command);
  if (error == RdmoControlError::kShort) {
    ++core_.counters.commands_unanswerable;
    return;
  }
  if (error != RdmoControlError::kNone) return refuse(command, destination, DocaError::kInvalidValue);
  if (core_.stopping) return refuse(command, destination, DocaError::kShutdown);
  switch (command.type) {
    case RdmoCommandType::kClientInit:
      return client_init(command, destination);
    case RdmoCommandType::kRqCreate:
      return queue_create(command, destination);
    case RdmoCommandType::kRqDestroy:
      return queue_destroy(command, destination);
    case RdmoCommandType::kMrRegister:
      return memory_register(command, destination);
    case RdmoCommandType::kMrDeregister:
      return memory_deregister(command, destination);
  }
}

std::uint32_t Control::find_client(DestinationId destination) const {
  for (std::uint32_t i = 0; i < core_.clients.extent(); ++i) {
    const Client& client = core_.clients[i];
    if (core_.clients.is_used(i) && !client.detached && client.destination == destination) return i;
  }
  return kNoSlot;
}

std::uint32_t Control::remember(const RdmoCommand& command, DestinationId destination) {
  core_.commands.grow(core_.commands.in_use() + 1);
  const std::uint32_t index = core_.commands.acquire();
  core_.commands[index] = {destination, command.plugin, command.context, command.type, 0};
  return index;
}

void Control::refuse(const RdmoCommand& command, DestinationId destination, DocaError error) {
  ++core_.counters.commands_refused;
  wire::RdmoNotification notification;
  notification.plugin = command.plugin;
  notification.context = command.context;
  notification.status = error;
  notification.type = command.type;
  notification.value = command.type == RdmoCommandType::kRqDestroy ? command.queue : command.key;
  Notice& notice = core_.notices.emplace_back();
  notice.destination = destination;
  wire::encode(notification, notice.bytes);
}

void Control::notify(std::uint32_t& pending, DocaError status, std::uint64_t value,
                     std::span<const std::byte> address) {
  if (pending == kNoSlot) return;
  const PendingCommand& command = core_.commands[pending];
  if (status != DocaError::kSuccess) ++core_.counters.commands_refused;
  wire::RdmoNotification notification;
  notification.plugin = command.plugin;
  notification.context = command.context;
  notification.status = status;
  notification.type = command.type;
  notification.value = value;
  notification.address = address;
  Notice& notice = core_.notices.emplace_back();
  notice.destination = command.destination;
  wire::encode(notification, notice.bytes);
  core_.commands.release(pending);
  pending = kNoSlot;
}

Action& Control::act(ActionKind kind, std::uint32_t object) {
  core_.actions_open.grow(core_.actions_open.in_use() + 1);
  const std::uint32_t index = core_.actions_open.acquire();
  core_.actions_open[index] = {kind, object};
  Action& action = core_.actions.emplace_back();
  action.id = index;
  action.kind = kind;
  return action;
}

void Control::action_done(std::uint32_t index, const ActionResult& result) {
  if (!core_.actions_open.is_used(index)) return;
  const PendingAction action = core_.actions_open[index];
  core_.actions_open.release(index);
  switch (action.kind) {
    case ActionKind::kOpenTarget:
      return target_opened(action.object, result);
    case ActionKind::kOpenPeer:
      return peer_opened(action.object, result);
    case ActionKind::kImport:
      return imported(action.object, result);
    case ActionKind::kForget:
      return remove_region(action.object);
    case ActionKind::kClosePeer:
      return peer_closed(action.object);
    case ActionKind::kCancelOpening:
      return;  // The opening itself is answered.
    case ActionKind::kCloseTarget:
      core_.clients[action.object].closed = true;
      return core_.attend(action.object);
  }
}

// --- Targets
// ----------------------------------------------------------------------------------------------------

void Control::client_init(const RdmoCommand& command, DestinationId destination) {
  if (find_client(destination) != kNoSlot) return refuse(command, destination, DocaError::kAlreadyExist);
  if (core_.client_by_id.contains(command.id)) return refuse(command, destination, DocaError::kInUse);
  const bool fits = core_.config.layout == wire::RdmoLayout::kShipped || command.id <= 0xffff'ffffU;
  if (command.peer.empty() || !fits) return refuse(command, destination, DocaError::kInvalidValue);
  const std::uint32_t index = core_.clients.acquire();
  if (index == kNoSlot) return refuse(command, destination, DocaError::kFull);
  Client& client = core_.clients[index];
  client = {};
  client.destination = destination;
  client.id = command.id;
  client.cells.reserve(core_.config.cells_max);
  client.pending = remember(command, destination);
  core_.client_by_id.insert(command.id, index);
  client.open_until = core_.now + core_.config.memory_time_max;
  core_.wake_at(client.open_until);
  Action& open = act(ActionKind::kOpenTarget, index);
  open.bytes.assign(command.peer.begin(), command.peer.end());
  client.opening = open.id;
}

void Control::target_opened(std::uint32_t index, const ActionResult& result) {
  Client& client = core_.clients[index];
  client.open_until = kNever;
  if (result.status != DocaError::kSuccess) {
    notify(client.pending, result.status, 0);
    if (!client.detached) core_.client_by_id.erase(client.id);
    core_.clients.release(index);
    return;
  }
  client.target = result.handle;
  if (client.state == ClientState::kLost) return core_.attend(index);  // Gone before it was here.
  client.state = ClientState::kReady;
  notify(client.pending, DocaError::kSuccess, 0, core_.config.address);
  if (core_.stopping) stop();
}

// --- Connections
// ------------------------------------------------------------------------------------------------

void Control::queue_create(const RdmoCommand& command, DestinationId destination) {
  const std::uint32_t client = find_client(destination);
  if (client == kNoSlot || core_.clients[client].state != ClientState::kReady)
    return refuse(command, destination, DocaError::kNotFound);
  if (command.peer.empty()) return refuse(command, destination, DocaError::kInvalidValue);
  if (core_.clients[client].connections == core_.config.connections_per_client_max)
    return refuse(command, destination, DocaError::kFull);
  const std::uint32_t index = core_.connections.acquire();
  if (index == kNoSlot) return refuse(command, destination, DocaError::kFull);
  Connection& connection = core_.connections[index];
  connection = {};
  connection.client = client;
  connection.pending = remember(command, destination);
  ++core_.clients[client].connections;
  act(ActionKind::kOpenPeer, index).bytes.assign(command.peer.begin(), command.peer.end());
}

void Control::peer_opened(std::uint32_t index, const ActionResult& result) {
  Connection& connection = core_.connections[index];
  const Client& client = core_.clients[connection.client];
  DocaError status = result.status;
  if (status == DocaError::kSuccess) {
    WHARF_CHECK(result.peer != kNoPeer);
    make_place(result.peer);
    // Two queues of one initiator at one target could not be told apart by their messages.
    for (std::uint32_t at = core_.first_on_peer[result.peer]; at != kNoSlot;
         at = core_.connections[at].next_on_peer) {
      if (core_.connections[at].client == connection.client) status = DocaError::kAlreadyExist;
    }
  }
  if (status != DocaError::kSuccess) {
    notify(connection.pending, status, 0);
    return remove_connection(index);
  }
  link(index, result.peer);
  notify(connection.pending, DocaError::kSuccess, connection.queue_id);
  if (client.state != ClientState::kReady) drain(index);
}

void Control::make_place(PeerId peer) {
  if (peer >= core_.first_on_peer.size()) core_.first_on_peer.resize(peer + 1, kNoSlot);
}

void Control::link(std::uint32_t index, PeerId peer) {
  Connection& connection = core_.connections[index];
  connection.peer = peer;
  connection.next_on_peer = core_.first_on_peer[peer];
  core_.first_on_peer[peer] = index;
  connection.queue_id = core_.clients[connection.client].queues_made++;
  connection.open = true;
}

RdmoStatus Control::join(PeerId peer, std::uint64_t id, std::uint64_t key) {
  if (core_.stopping) return RdmoStatus::kStopped;
  const std::uint32_t* client = core_.client_by_id.find(id);
  // Keys of 16 bits are no right: whoever asks often enough finds one.
  const bool keys_are_rights = core_.config.layout == wire::RdmoLayout::kShipped;
  if (client == nullptr || core_.clients[*client].state != ClientState::kReady || !keys_are_rights)
    return RdmoStatus::kUnknownClient;
  if (core_.find_region(key, *client) == kNoSlot) return RdmoStatus::kBadKey;
  if (core_.clients[*client].connections == core_.config.connections_per_client_max)
    return RdmoStatus::kNoRoom;
  const std::uint32_t index = core_.connections.acquire();
  if (index == kNoSlot) return RdmoStatus::kNoRoom;
  core_.connections[index] = {};
  core_.connections[index].client = *client;
  ++core_.clients[*client].connections;
  core_.connections[index].limit_told = core_.config.window;
  make_place(peer);
  link(index, peer);
  return RdmoStatus::kDone;
}

void Control::queue_destroy(const RdmoCommand& command, DestinationId destination) {
  const std::uint32_t client = find_client(destination);
  for (std::uint32_t i = 0; client != kNoSlot && i < core_.connections.extent(); ++i) {
    Connection& connection = core_.connections[i];
    if (!core_.connections.is_used(i) || connection.client != client || !connection.open ||
        connection.queue_id != command.queue)
      continue;
    if (connection.pending != kNoSlot) return refuse(command, destination, DocaError::kInProgress);
    connection.pending = remember(command, destination);
    return drain(i);
  }
  refuse(command, destination, DocaError::kNotFound);
}

// --- Memory
// -----------------------------------------------------------------------------------------------------

void Control::memory_register(const RdmoCommand& command, DestinationId destination) {
  const std::uint32_t index = find_client(destination);
  if (index == kNoSlot || core_.clients[index].state != ClientState::kReady)
    return refuse(command, destination, DocaError::kNotFound);
  Client& client = core_.clients[index];
  const bool sensible =
      command.length > 0 && !command.rkey.empty() && command.address + command.length > command.address;
  if (!sensible) return refuse(command, destination, DocaError::kInvalidValue);
  if (command.length > core_.config.bytes_per_client_max - client.bytes)
    return refuse(command, destination, DocaError::kTooBig);
  if (client.regions == core_.config.regions_per_client_max)
    return refuse(command, destination, DocaError::kFull);
  const std::uint32_t region_index = core_.regions.acquire();
  if (region_index == kNoSlot) return refuse(command, destination, DocaError::kFull);
  Region& region = core_.regions[region_index];
  region = {};
  region.client = index;
  region.address = command.address;
  region.length = command.length;
  region.pending = remember(command, destination);
  ++client.regions;
  client.bytes += command.length;
  Action& action = act(ActionKind::kImport, region_index);
  action.target = client.target;
  action.address = command.address;
  action.length = command.length;
  action.bytes.assign(command.rkey.begin(), command.rkey.end());
  action.more.assign(command.handle.begin(), command.handle.end());
}

std::uint64_t Control::make_key(std::uint64_t random) const {
  const std::uint64_t mask = core_.config.layout == wire::RdmoLayout::kGuide ? 0xffffU : ~std::uint64_t{0};
  std::uint64_t key = random & mask;
  while (key == 0 || core_.region_by_key.contains(key)) key = (key + 1) & mask;
  return key;
}

void Control::imported(std::uint32_t index, const ActionResult& result) {
  Region& region = core_.regions[index];
  if (result.status != DocaError::kSuccess) {
    notify(region.pending, result.status, 0);
    return remove_region(index);
  }
  region.memory = result.handle;
  region.direct = result.direct;
  region.key = make_key(result.random);
  region.ready = true;
  core_.region_by_key.insert(region.key, index);
  notify(region.pending, DocaError::kSuccess, region.key);
  if (core_.clients[region.client].state != ClientState::kReady) leave(index);
}

void Control::memory_deregister(const RdmoCommand& command, DestinationId destination) {
  const std::uint32_t client = find_client(destination);
  const std::uint32_t* found = core_.region_by_key.find(command.key);
  if (client == kNoSlot || found == nullptr || core_.regions[*found].client != client)
    return refuse(command, destination, DocaError::kNotFound);
  Region& region = core_.regions[*found];
  if (region.leaving) return refuse(command, destination, DocaError::kInProgress);
  region.pending = remember(command, destination);
  leave(*found);
}

}  // namespace wharf::rdmo
