// SPDX-License-Identifier: Apache-2.0
// The worker of remote direct memory operations: it stands near the memory of targets and appends, flushes
// and scatters there for initiators. A machine without clock, socket or thread; no data path input takes
// memory. [DOCA UROM RDMO Application Guide; doca-samples 3.0 to 3.3, applications/urom_rdmo;
// wire/rdmo_message.h, wire/rdmo_extended.h]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/rdmo/appends.h"
#include "engine/rdmo/config.h"
#include "engine/rdmo/control.h"
#include "engine/rdmo/core.h"
#include "engine/rdmo/ports.h"
#include "engine/rdmo/scatters.h"
#include "engine/rdmo/write_back.h"

namespace wharf::rdmo {

/// One worker. Call any input with `now`, which never decreases; then take from every output until it is
/// empty, because one can fill another; then ask deadline().
///
/// Order: requests of one connection start in the order in which they came. A fenced one starts when all
/// before it have ended, and those behind it start after it has. Connections are served in turn, one request
/// each.
///
/// Every input that comes from outside is untrusted: commands, messages, the bytes of cells and queues.
class Worker {
 public:
  /// Refuses a config that makes no sense, by naming the key.
  static Result<Worker> create(WorkerConfig config);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  // --- Inputs ---

  /// A command of the control path, with its wrapper. Every one whose wrapper is there is answered by a
  /// notice.
  void command(TimePs now, DestinationId destination, std::span<const std::byte> bytes);
  /// An active message of an initiator. `header` is read before the call returns. One that no target has let
  /// in yet, but that the host knows, may join by itself: with an extended HELLO that names a target, and in
  /// the place of its cookie a key of that target's memory. To have the key is to have the right.
  Taken receive(TimePs now, PeerId peer, std::uint32_t message_id, std::span<const std::byte> header,
                const Payload& payload);
  /// Answers next_access(). An id that was not given, or was answered, does nothing.
  void access_done(TimePs now, std::uint32_t access, const AccessResult& result);
  /// Answers next_action(). The same.
  void action_done(TimePs now, std::uint32_t action, const ActionResult& result);
  /// The endpoint is dead. The host keeps its number until kClosePeer.
  void peer_lost(TimePs now, PeerId peer);
  /// The host channel, and with it its target, is gone.
  void destination_lost(TimePs now, DestinationId destination);
  /// The endpoint to the target is dead.
  void target_lost(TimePs now, HostHandle target);
  void expire(TimePs now);
  /// Ends in order: refuses what is new, finishes what runs, writes back, closes.
  void stop(TimePs now);
  bool stopped() const;

  // --- Outputs ---

  bool next_access(Access& out);
  bool next_message(Message& out);
  /// Handles of payloads that are not needed any more.
  bool next_release(std::uint64_t& handle);
  bool next_action(Action& out);
  bool next_notice(Notice& out);
  TimePs deadline() const;

  // --- Observation ---

  const WorkerConfig& config() const;
  const WorkerCounters& counters() const;
  /// Requests that it holds.
  std::uint32_t held() const;
  std::uint32_t targets() const;
  /// Whether the host channel has a target, or one that is being opened.
  bool has_target(DestinationId destination) const;
  std::uint32_t connections() const;
  /// Whether the endpoint has a connection to a target.
  bool has_connection(PeerId peer) const;
  std::uint32_t regions() const;
  /// Tails that it holds.
  std::uint32_t cells() const;
  /// Who waits for what, one line each.
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  struct Parts;
  explicit Worker(WorkerConfig config);

  std::uint32_t find_connection(PeerId peer, std::uint64_t client) const;
  void receive_stranger(PeerId peer, std::uint32_t message_id, std::span<const std::byte> header);
  Taken receive_published(PeerId peer, std::span<const std::byte> header, const Payload& payload);
  Taken receive_extended(PeerId peer, std::span<const std::byte> header, const Payload& payload);
  Taken take(std::uint32_t request);
  void serve();
  bool serve_one(std::uint32_t connection);
  bool start(std::uint32_t request);
  bool is_open(std::uint32_t access) const;
  void fill(std::uint32_t id, Access& out) const;
  void pump();
  [[gnu::noinline]] void attend_to_all();

  std::unique_ptr<Parts> parts_;
};

}  // namespace wharf::rdmo
