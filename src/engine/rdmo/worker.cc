// SPDX-License-Identifier: Apache-2.0
// The worker's inputs: from bytes to requests, and whose turn it is. Its outputs are in worker_outputs.cc.
#include "engine/rdmo/worker.h"

#include <utility>

#include "base/check.h"
#include "engine/rdmo/worker_parts.h"

namespace wharf::rdmo {

using wire::RdmoError;
using wire::RdmoFlag;

Result<Worker> Worker::create(WorkerConfig config) {
  WHARF_TRY(check(config));
  return Worker(std::move(config));
}

Worker::Worker(WorkerConfig config) : parts_(std::make_unique<Parts>(std::move(config))) {}
Worker::Worker(Worker&&) noexcept = default;
Worker::~Worker() = default;

// --- Messages
// ---------------------------------------------------------------------------------------------------

std::uint32_t Worker::find_connection(PeerId peer, std::uint64_t client) const {
  const WorkerCore& core = parts_->core;
  for (std::uint32_t at = core.first_on_peer[peer]; at != kNoSlot; at = core.connections[at].next_on_peer) {
    if (core.clients[core.connections[at].client].id == client) return at;
  }
  return kNoSlot;
}

// What every message and every access passes is flattened: a quarter of its instructions were calls.
[[gnu::flatten]] Taken Worker::receive(TimePs now, PeerId peer, std::uint32_t message_id,
                                       std::span<const std::byte> header, const Payload& payload) {
  WorkerCore& core = parts_->core;
  core.now = now;
  if (peer >= core.first_on_peer.size() || core.first_on_peer[peer] == kNoSlot) {
    receive_stranger(peer, message_id, header);
    return Taken::kDone;
  }
  if (message_id == wire::kRdmoMessageId) return receive_published(peer, header, payload);
  if (message_id == wire::kRdmoExtendedMessageId) return receive_extended(peer, header, payload);
  ++core.counters.unknown_message;
  return Taken::kDone;
}

// Not a request: it uses up neither a number nor a credit of the connection that it makes.
[[gnu::noinline]] void Worker::receive_stranger(PeerId peer, std::uint32_t message_id,
                                                std::span<const std::byte> header) {
  WorkerCore& core = parts_->core;
  wire::RdmoExtendedRequest hello;
  const bool is_hello = peer != kNoPeer && message_id == wire::kRdmoExtendedMessageId &&
                        wire::decode(header, hello) == RdmoError::kNone &&
                        hello.operation == Operation::kHello;
  if (!is_hello) {
    ++core.counters.unknown_peer;
    return;
  }
  const RdmoStatus status = parts_->control.join(peer, hello.client, hello.cookie);
  if (status != RdmoStatus::kDone) ++core.counters.refused[static_cast<std::size_t>(status)];
  const std::uint32_t limit = status == RdmoStatus::kDone ? core.config.window : 0;
  core.answer(peer, {hello.operation, status, hello.sequence, hello.cookie, 0, limit});
}

Taken Worker::receive_published(PeerId peer, std::span<const std::byte> header, const Payload& payload) {
  WorkerCore& core = parts_->core;
  wire::RdmoRequest message;
  const RdmoError error = wire::decode(header, core.config.layout, message);
  const std::uint32_t found = error == RdmoError::kNone ? find_connection(peer, message.client) : kNoSlot;
  if (found == kNoSlot) {
    // Choice: nothing can be answered, so the initiator's next flush, to whatever target, reports it.
    ++(error == RdmoError::kNone ? core.counters.refused[static_cast<std::size_t>(RdmoStatus::kUnknownClient)]
                                 : core.counters.malformed);
    Connection& first = core.connections[core.first_on_peer[peer]];
    ++first.failed;
    first.broken = true;
    return Taken::kDone;
  }
  Connection& connection = core.connections[found];
  if (connection.draining || connection.gone) {
    ++core.counters.refused[static_cast<std::size_t>(RdmoStatus::kStopped)];
    return Taken::kDone;
  }
  const bool flush = message.operation == wire::RdmoOperation::kFlush;
  if (connection.broken && !flush) {
    ++core.counters.after_failure;  // Choice: nothing behind a lost append becomes visible.
    return Taken::kDone;
  }
  if (connection.held >= core.config.window || core.requests.in_use() == core.config.requests_max) {
    ++core.counters.over_limit;
    return Taken::kNoRoom;
  }
  const std::uint32_t index = core.requests.acquire();
  Request& request = core.requests[index];
  request = {};
  request.connection = found;
  request.operation = static_cast<Operation>(message.operation);
  request.fence = message.fence;
  request.cookie = message.flush_id;
  request.cell_address = message.cell;
  request.cell_key = message.cell_key;
  request.data_key = message.data_key;
  request.count = message.count;
  request.payload = payload;
  return take(index);
}

Taken Worker::receive_extended(PeerId peer, std::span<const std::byte> header, const Payload& payload) {
  WorkerCore& core = parts_->core;
  wire::RdmoExtendedRequest message;
  const RdmoError error = wire::decode(header, message);
  const bool named =
      header.size() >= wire::kRdmoExtendedFixedBytes && header.size() <= wire::kRdmoHeaderBytesMax;
  const std::uint32_t found = named ? find_connection(peer, message.client) : kNoSlot;
  Connection* connection = found == kNoSlot ? nullptr : &core.connections[found];
  const auto refuse = [&](RdmoStatus status, bool counts) {
    ++core.counters.refused[static_cast<std::size_t>(status)];
    if (connection != nullptr && counts) {  // It used up a number and a credit.
      ++connection->next_sequence;
      ++connection->ended;
      ++connection->failed;
      connection->limit_told = core.credit_limit(*connection);
    }
    const std::uint32_t limit = connection == nullptr ? 0 : core.credit_limit(*connection);
    core.answer(peer, {message.operation, status, message.sequence, message.cookie, 0, limit});
    return Taken::kDone;
  };
  if (!named) {
    ++core.counters.malformed;
    return Taken::kDone;
  }
  if (connection == nullptr) return refuse(RdmoStatus::kUnknownClient, false);
  // A number behind the next one came before: that arrival is answered, and a second answer would contradict
  // it.
  if (static_cast<std::int32_t>(message.sequence - connection->next_sequence) < 0) {
    ++core.counters.refused[static_cast<std::size_t>(RdmoStatus::kBadSequence)];
    return Taken::kDone;
  }
  if (message.sequence != connection->next_sequence) return refuse(RdmoStatus::kBadSequence, false);
  if (error != RdmoError::kNone) {
    ++core.counters.malformed;
    return refuse(RdmoStatus::kMalformed, true);
  }
  if (core.clients[connection->client].state == ClientState::kLost)
    return refuse(RdmoStatus::kTargetLost, true);
  if (connection->draining || connection->gone) return refuse(RdmoStatus::kStopped, true);
  if (connection->held >= core.config.window) return refuse(RdmoStatus::kNoCredit, false);
  if (core.requests.in_use() == core.config.requests_max) {
    ++core.counters.over_limit;
    return Taken::kNoRoom;
  }
  ++connection->next_sequence;
  const std::uint32_t index = core.requests.acquire();
  Request& request = core.requests[index];
  request = {};
  request.connection = found;
  request.operation = message.operation;
  request.extended = true;
  request.fence = (message.flags & RdmoFlag::kFence) != 0;
  request.quiet = (message.flags & RdmoFlag::kQuiet) != 0;
  request.compare = (message.flags & RdmoFlag::kCompare) != 0;
  request.is_queue = (message.flags & RdmoFlag::kQueue) != 0;
  request.records = message.records;
  request.sequence = message.sequence;
  request.cookie = message.cookie;
  request.cell_address = message.cell;
  request.cell_key = message.cell_key;
  request.data_key = message.data_key;
  request.expected = message.expected;
  request.count = message.count;
  request.payload = payload;
  return take(index);
}

Taken Worker::take(std::uint32_t index) {
  WorkerCore& core = parts_->core;
  Request& request = core.requests[index];
  const std::uint32_t connection_index = request.connection;
  Connection& connection = core.connections[connection_index];
  request.held = request.payload.length > 0;
  core.arriving = request.held ? index : kNoSlot;
  core.arriving_released = !request.held;
  ++connection.held;
  // Most often nobody is ahead of it, and it may start at once.
  const bool waits = !core.ready.empty() || !connection.queue.empty() || connection.blocked != kNoSlot ||
                     connection.broken || core.config.requests_per_second_max > 0 ||
                     (request.fence && connection.outstanding > 0);
  if (waits) {
    connection.queue.push(core.requests, index, &Request::next);
    core.make_ready(connection_index);
  } else {
    ++connection.outstanding;
    if (!start(index)) {
      connection.blocked = index;
      ++core.blocked;
    }
  }
  pump();
  core.arriving = kNoSlot;
  return core.arriving_released ? Taken::kDone : Taken::kHeld;
}

// --- Whose turn it is
// -------------------------------------------------------------------------------------------

bool Worker::start(std::uint32_t index) {
  const Request& request = parts_->core.requests[index];
  WorkerCore& core = parts_->core;
  const Client& client = core.clients[core.connections[request.connection].client];
  if (client.state == ClientState::kLost) {
    core.finish(index, RdmoStatus::kTargetLost);
    return true;
  }
  if (request.payload.length > core.config.message_bytes_max) {
    core.finish(index, RdmoStatus::kTooLong);
    return true;
  }
  switch (request.operation) {
    case Operation::kAppend:
      return parts_->appends.start(index);
    case Operation::kScatter:
      parts_->scatters.start(index);
      return true;
    case Operation::kFlush:
      parts_->write_back.flush(index);
      return true;
    case Operation::kHello:
    case Operation::kCredit:
      core.finish(index, RdmoStatus::kDone);
      return true;
  }
  WHARF_UNREACHABLE();
}

bool Worker::serve_one(std::uint32_t index) {
  WorkerCore& core = parts_->core;
  Connection& connection = core.connections[index];
  if (connection.blocked != kNoSlot) {
    if (!start(connection.blocked)) return false;
    connection.blocked = kNoSlot;
    --core.blocked;
    return true;
  }
  if (connection.queue.empty()) return false;
  const Request& head = core.requests[connection.queue.head];
  if (head.fence && connection.outstanding > 0) {
    parts_->appends.close_all(connection.client);
    return false;  // The end of the last one makes it ready again.
  }
  if (core.config.requests_per_second_max > 0) {
    const TimePs gap{1'000'000'000'000 / static_cast<std::int64_t>(core.config.requests_per_second_max)};
    if (connection.not_before > core.now) {
      core.wake_at(connection.not_before);
      return false;
    }
    // A burst of a window may go at once.
    connection.not_before = max(connection.not_before, core.now - gap * core.config.window) + gap;
  }
  const std::uint32_t request = connection.queue.pop(core.requests, &Request::next);
  ++connection.outstanding;
  if (connection.broken && core.requests[request].operation != Operation::kFlush &&
      !core.requests[request].extended) {
    ++core.counters.after_failure;
    core.finish(request, RdmoStatus::kEarlierFailed);
  } else if (!start(request)) {
    connection.blocked = request;
    ++core.blocked;
    return false;
  }
  return true;
}

void Worker::serve() {
  WorkerCore& core = parts_->core;
  while (!core.ready.empty()) {
    const std::uint32_t index = core.ready.pop(core.connections, &Connection::next_ready);
    core.connections[index].ready = false;
    if (serve_one(index) && !core.connections[index].queue.empty()) core.make_ready(index);
  }
}

void Worker::pump() {
  WorkerCore& core = parts_->core;
  const bool idle = core.ready.empty() && core.attention.empty() && !core.control_attention &&
                    core.starved.empty() && !parts_->scatters.starved();
  if (!idle) [[unlikely]]
    attend_to_all();
}

void Worker::attend_to_all() {
  WorkerCore& core = parts_->core;
  do {
    serve();
    while (!core.attention.empty()) {
      const std::uint32_t client = core.attention.pop(core.clients, &Client::next_attention);
      core.clients[client].attention = false;
      parts_->write_back.advance(client);
      parts_->control.advance_client(client);
    }
    if (core.control_attention) parts_->control.advance();
    if (!core.starved.empty()) parts_->appends.retry_starved();
    if (parts_->scatters.starved()) parts_->scatters.retry_starved();
  } while (!core.ready.empty() || !core.attention.empty() || core.control_attention);
}

// --- The other inputs
// -------------------------------------------------------------------------------------------

void Worker::command(TimePs now, DestinationId destination, std::span<const std::byte> bytes) {
  parts_->core.now = now;
  parts_->control.command(destination, bytes);
  pump();
}

void Worker::action_done(TimePs now, std::uint32_t action, const ActionResult& result) {
  parts_->core.now = now;
  parts_->control.action_done(action, result);
  pump();
}

void Worker::peer_lost(TimePs now, PeerId peer) {
  parts_->core.now = now;
  parts_->control.peer_lost(peer);
  pump();
}

void Worker::destination_lost(TimePs now, DestinationId destination) {
  parts_->core.now = now;
  parts_->control.destination_lost(destination);
  pump();
}

void Worker::target_lost(TimePs now, HostHandle target) {
  WorkerCore& core = parts_->core;
  core.now = now;
  for (std::uint32_t i = 0; i < core.clients.extent(); ++i) {
    const bool opened = core.clients.is_used(i) && core.clients[i].state != ClientState::kOpening;
    if (opened && core.clients[i].target == target) parts_->control.target_lost(i);
  }
  pump();
}

void Worker::expire(TimePs now) {
  WorkerCore& core = parts_->core;
  core.now = now;
  if (now < core.deadline) return;
  core.deadline = kNever;
  parts_->appends.expire();
  parts_->control.expire();
  pump();
}

void Worker::stop(TimePs now) {
  parts_->core.now = now;
  parts_->control.stop();
  pump();
}

[[gnu::flatten]] void Worker::access_done(TimePs now, std::uint32_t access, const AccessResult& result) {
  WorkerCore& core = parts_->core;
  core.now = now;
  if (!is_open(access)) return;
  const std::uint32_t index = access & kIndexMask;
  std::uint32_t lost = kNoSlot;
  switch (static_cast<Purpose>(access >> kPurposeShift)) {
    case Purpose::kWriteFirst:
    case Purpose::kWriteSecond: {
      const Write& write = core.writes[index];
      lost = core.regions[write.region].client;
      if (write.cell == kNoSlot) {
        parts_->scatters.written(index, result.status);
      } else {
        const bool first = static_cast<Purpose>(access >> kPurposeShift) == Purpose::kWriteFirst;
        parts_->appends.written(index, first ? 1 : 2, result.status);
      }
      break;
    }
    case Purpose::kReadCell:
      lost = core.cells[index].client;
      parts_->appends.cell_read(index, result);
      break;
    case Purpose::kStoreCell:
      lost = core.cells[index].client;
      parts_->write_back.stored(index, result.status);
      break;
    case Purpose::kSwapCell:
      lost = core.cells[index].client;
      parts_->appends.cell_swapped(index, result);
      break;
    case Purpose::kOrder:
      lost = index;
      parts_->write_back.ordered(index, result.status);
      break;
    case Purpose::kReadBack:
      lost = index;
      parts_->write_back.read_back(index, result.status);
      break;
    case Purpose::kFetch:
      if (core.requests[index].operation == Operation::kScatter) {
        parts_->scatters.fetched(index, result);
      } else {
        parts_->appends.fetched(index, result);
      }
      break;
  }
  if (result.status == AccessStatus::kTargetLost && lost != kNoSlot) parts_->control.target_lost(lost);
  pump();
}

}  // namespace wharf::rdmo
