// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/core.h"

#include <utility>

#include "base/check.h"

namespace wharf::rdmo {

WorkerCore::WorkerCore(WorkerConfig chosen)
    : config(std::move(chosen)),
      requests(config.requests_max),
      writes(config.writes_max),
      cells(config.cells_max),
      regions(config.regions_max),
      clients(config.clients_max),
      connections(config.connections_max),
      region_by_key(config.regions_max),
      client_by_id(config.clients_max),
      staging(std::size_t{config.writes_max} * config.coalesce_bytes),
      accesses(std::size_t{2} * config.writes_max + 3 * std::size_t{config.cells_max} +
               2 * std::size_t{config.clients_max} + config.requests_max),
      messages(std::size_t{2} * config.requests_max + 2 * std::size_t{config.connections_max}),
      releases(std::size_t{2} * config.requests_max) {
  free_staging.reserve(config.writes_max);
  for (std::uint32_t i = config.writes_max; i > 0; --i) free_staging.push_back(i - 1);
}

std::uint8_t WorkerCore::ask_target(Purpose purpose, std::uint32_t index, std::uint32_t client) {
  Client& target = clients[client];
  const bool alone = target.accesses++ == 0;
  const auto group = static_cast<std::uint8_t>(alone ? target.awaited : 1U - target.awaited);
  ++target.asked[group];
  if (alone) await(target);
  ask(purpose, index);
  return group;
}

void WorkerCore::await(Client& target) {
  target.awaited_since = now;
  wake_at(now + config.memory_time_max);
}

// One that never comes must not be kept alive by others that do, and memory that is slow but answers each is
// not lost: a group of accesses has its time, then those that were asked for meanwhile have theirs.
void WorkerCore::target_answered(std::uint32_t client, std::uint8_t group) {
  Client& target = clients[client];
  WHARF_CHECK(target.accesses > 0 && target.asked[group] > 0);
  --target.asked[group];
  --target.accesses;
  if (target.accesses > 0 && target.asked[target.awaited] == 0) {
    target.awaited = static_cast<std::uint8_t>(1U - target.awaited);
    await(target);
  }
  if (target.accesses == 0 && target.state != ClientState::kReady) attend(client);
}

void WorkerCore::ask_sender(std::uint32_t request) {
  Connection& sender = connections[requests[request].connection];
  if (sender.owed.empty()) {
    sender.owed_since = now;
    wake_at(now + config.sender_time_max);
  }
  sender.owed.push(requests, request, &Request::owed);
}

// Patience is with the oldest: one that never comes must not be kept alive by others that do, and a slow
// sender of much that comes in turn is not lost.
void WorkerCore::sender_answered(std::uint32_t request) {
  Connection& sender = connections[requests[request].connection];
  WHARF_CHECK(!sender.owed.empty());
  if (sender.owed.head == request) sender.owed_since = now;
  sender.owed.remove(requests, request, &Request::owed);
}

void WorkerCore::answer(PeerId peer, const wire::RdmoAnswer& answer) {
  if (messages.full())
    return;  // Cannot be: as many places as requests, twice; a flood of refusals is cut short.
  Message& message = messages.push_stale();
  message.peer = peer;
  message.message_id = wire::kRdmoExtendedMessageId;
  message.length = wire::encode(answer, message.header.data());
}

void WorkerCore::tell_credits(Connection& connection) {
  const std::uint32_t limit = credit_limit(connection);
  if (limit - connection.limit_told < (config.window + 1) / 2 || connection.gone || !connection.open) return;
  connection.limit_told = limit;
  answer(connection.peer, {.operation = Operation::kCredit, .credit_limit = limit});
}

void WorkerCore::release_payload(Request& request) {
  if (!request.held) return;
  request.held = false;
  if (arriving != kNoSlot && &requests[arriving] == &request) {
    arriving_released = true;
  } else {
    releases.push_back(request.payload.handle);
  }
}

void WorkerCore::finish(std::uint32_t index, RdmoStatus status) {
  Request& request = requests[index];
  const std::uint32_t connection_index = request.connection;
  Connection& connection = connections[connection_index];
  release_payload(request);
  if (request.cell_region != kNoSlot) leave_region(request.cell_region);
  if (request.data_region != kNoSlot) leave_region(request.data_region);
  if (status != RdmoStatus::kDone) {
    ++counters.refused[static_cast<std::size_t>(status)];
    if (request.operation != Operation::kFlush) ++connection.failed;
    if (!request.extended && request.operation != Operation::kFlush) connection.broken = true;
  }
  const bool hears = connection.open && !connection.gone && !connection.closing;
  if (request.extended) {
    ++connection.ended;
    if (hears && !(request.quiet && status == RdmoStatus::kDone)) {
      connection.limit_told = credit_limit(connection);
      answer(connection.peer, {request.operation, status, request.sequence, request.cookie, request.place,
                               connection.limit_told});
    } else {
      tell_credits(connection);
    }
  } else if (request.operation == Operation::kFlush && status == RdmoStatus::kDone && hears &&
             !messages.full()) {
    Message& message = messages.push_stale();
    message.peer = connection.peer;
    message.message_id = wire::kRdmoMessageId;
    // Bytes are copied: the id is unaligned in the answer.
    message.length = wire::encode_rdmo_response(request.cookie, config.layout, message.header.data());
  }
  WHARF_CHECK(connection.outstanding > 0 && connection.held > 0);
  --connection.outstanding;
  --connection.held;
  requests.release(index);
  if (!connection.queue.empty()) make_ready(connection_index);
  if (connection.held == 0 && (connection.draining || connection.gone)) control_attention = true;
}

void WorkerCore::make_ready(std::uint32_t index) {
  Connection& connection = connections[index];
  if (connection.ready) return;
  connection.ready = true;
  ready.push(connections, index, &Connection::next_ready);
}

void WorkerCore::attend(std::uint32_t index) {
  Client& client = clients[index];
  if (client.attention) return;
  client.attention = true;
  attention.push(clients, index, &Client::next_attention);
}

std::uint32_t WorkerCore::find_region(std::uint64_t key, std::uint32_t client) const {
  const std::uint32_t* found = region_by_key.find(key);
  if (found == nullptr) return kNoSlot;
  const Region& region = regions[*found];
  return region.client == client && region.ready && !region.leaving ? *found : kNoSlot;
}

void WorkerCore::leave_region(std::uint32_t index) {
  Region& region = regions[index];
  WHARF_CHECK(region.users > 0);
  if (--region.users == 0 && region.leaving) control_attention = true;
}

}  // namespace wharf::rdmo
