// SPDX-License-Identifier: Apache-2.0
// The control path of a worker: commands and the notification that answers each, and how targets, connections
// and registered memory come and go. Nothing goes while something uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/rdmo/appends.h"
#include "engine/rdmo/core.h"
#include "engine/rdmo/write_back.h"

namespace wharf::rdmo {

class Control {
 public:
  Control(WorkerCore& core, Appends& appends, WriteBack& write_back)
      : core_(core), appends_(appends), write_back_(write_back) {}

  void command(DestinationId destination, std::span<const std::byte> bytes);
  void action_done(std::uint32_t action, const ActionResult& result);
  /// Makes a connection that no target has asked for, for an endpoint that has none and knows `key`.
  RdmoStatus join(PeerId peer, std::uint64_t id, std::uint64_t key);
  /// All of its connections end: what has not started is dropped, what has runs to its end.
  void peer_lost(PeerId peer);
  /// Everything asked of the target fails, its tails are dropped without write-back.
  [[gnu::noinline]] void target_lost(std::uint32_t client);
  void destination_lost(DestinationId destination);
  void stop();
  bool has_client(DestinationId destination) const { return find_client(destination) != kNoSlot; }

  /// Goes on with connections and regions that are to go.
  void advance();
  /// The same for a target that retires or is lost.
  void advance_client(std::uint32_t client);
  /// Fails what memory and senders have owed for too long.
  void expire();

 private:
  void client_init(const wire::RdmoCommand& command, DestinationId destination);
  void queue_create(const wire::RdmoCommand& command, DestinationId destination);
  void queue_destroy(const wire::RdmoCommand& command, DestinationId destination);
  void memory_register(const wire::RdmoCommand& command, DestinationId destination);
  void memory_deregister(const wire::RdmoCommand& command, DestinationId destination);
  void target_opened(std::uint32_t client, const ActionResult& result);
  void peer_opened(std::uint32_t connection, const ActionResult& result);
  void imported(std::uint32_t region, const ActionResult& result);

  std::uint32_t find_client(DestinationId destination) const;
  std::uint64_t make_key(std::uint64_t random) const;
  std::uint32_t remember(const wire::RdmoCommand& command, DestinationId destination);
  void refuse(const wire::RdmoCommand& command, DestinationId destination, wire::DocaError error);
  /// Answers a remembered command; kNoSlot: nobody waits.
  void notify(std::uint32_t& pending, wire::DocaError status, std::uint64_t value,
              std::span<const std::byte> address = {});
  Action& act(ActionKind kind, std::uint32_t object);
  void make_place(PeerId peer);
  void link(std::uint32_t connection, PeerId peer);
  void fail_queued(std::uint32_t connection, RdmoStatus status);
  void drain(std::uint32_t connection);
  void advance_connection(std::uint32_t connection);
  void close_peer(std::uint32_t connection);
  void peer_closed(std::uint32_t connection);
  void remove_connection(std::uint32_t connection);
  void unlink(std::uint32_t connection);
  void advance_region(std::uint32_t region);
  void leave(std::uint32_t region);
  void remove_region(std::uint32_t region);
  void advance_retiring(std::uint32_t client);
  void advance_lost(std::uint32_t client);
  void close_target(std::uint32_t client);
  void cancel_opening(std::uint32_t client);

  WorkerCore& core_;
  Appends& appends_;
  WriteBack& write_back_;
};

}  // namespace wharf::rdmo
