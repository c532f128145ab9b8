// SPDX-License-Identifier: Apache-2.0
// The state of a worker that its parts share, and the few steps that all of them take: asking for accesses,
// ending requests, waking what waits. The parts (appends, scatters, write-back, control) hold the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/rdmo/config.h"
#include "engine/rdmo/counters.h"
#include "engine/rdmo/ports.h"
#include "engine/rdmo/records.h"

namespace wharf::rdmo {

/// What an access is about: the upper bits of its id, whose lower bits are the index of the record.
enum class Purpose : std::uint32_t {
  kWriteFirst,
  kWriteSecond,  ///< Behind the end of a queue's bytes, at their beginning.
  kReadCell,
  kStoreCell,
  kSwapCell,
  kOrder,
  kReadBack,
  kFetch,
};
inline constexpr unsigned kPurposeShift = 28;
inline constexpr std::uint32_t kIndexMask = (1U << kPurposeShift) - 1;

struct WorkerCore {
  explicit WorkerCore(WorkerConfig chosen);

  // --- Steps ---

  /// Puts an access in the queue to the host.
  void ask(Purpose purpose, std::uint32_t index) {
    accesses.push_back(static_cast<std::uint32_t>(purpose) << kPurposeShift | index);
  }
  /// The same for one that the patience with the target counts, as one of the group that it returns.
  std::uint8_t ask_target(Purpose purpose, std::uint32_t index, std::uint32_t client);
  void target_answered(std::uint32_t client, std::uint8_t group);
  void await(Client& target);
  /// The same for data that an initiator still has.
  void ask_sender(std::uint32_t request);
  void sender_answered(std::uint32_t request);

  /// Ends a request that has started: answers it, gives its payload back, lets what waited for it go on.
  void finish(std::uint32_t request, RdmoStatus status);
  /// Gives the payload back to the host.
  void release_payload(Request& request);
  /// Answers an extended request that is, or never became, a record.
  void answer(PeerId peer, const wire::RdmoAnswer& answer);
  /// Tells the initiator of more credits when half of its window is unannounced.
  void tell_credits(Connection& connection);
  std::uint32_t credit_limit(const Connection& connection) const { return connection.ended + config.window; }

  void make_ready(std::uint32_t connection);
  void attend(std::uint32_t client);
  /// expire() is needed at `time`.
  void wake_at(TimePs time) { deadline = min(deadline, time); }

  /// The region that `key` names, if it is that client's and may be used; kNoSlot otherwise.
  std::uint32_t find_region(std::uint64_t key, std::uint32_t client) const;
  /// Whether [address, address + length) lies in the region. No sum can wrap.
  static bool contains(const Region& region, std::uint64_t address, std::uint64_t length) {
    return address >= region.address && length <= region.length &&
           address - region.address <= region.length - length;
  }
  bool has_free_write() const { return writes.in_use() + writes_promised < config.writes_max; }
  /// Whether the tail is kept here, and memory learns of it by write-back.
  bool holds_tail(const Cell& cell) const { return cell.is_queue || config.holding == CellHolding::kSole; }
  void use_region(std::uint32_t region) { ++regions[region].users; }
  void leave_region(std::uint32_t region);

  // --- State ---

  WorkerConfig config;
  WorkerCounters counters;
  TimePs now = kTimeZero;
  TimePs deadline = kNever;
  bool stopping = false;

  SlotPool<Request> requests;
  SlotPool<Write> writes;
  SlotPool<Cell> cells;
  SlotPool<Region> regions;
  SlotPool<Client> clients;
  SlotPool<Connection> connections;
  FlatMap region_by_key;
  FlatMap client_by_id;
  std::vector<std::uint32_t> first_on_peer;  ///< Connection, by peer.

  std::vector<std::byte> staging;
  std::vector<std::uint32_t> free_staging;

  IndexList ready;            ///< Connections, served in turn.
  IndexList attention;        ///< Clients.
  IndexList starved;          ///< Cells that wait for a free write.
  TwoWayList delayed;         ///< Cells whose gathering ends by time, the earliest first.
  std::uint32_t blocked = 0;  ///< Connections that wait for a cell.
  std::uint32_t eviction_hand = 0;
  std::uint32_t writes_promised = 0;  ///< To appends whose place is being taken in memory.

  /// The request whose message receive() looks at: its payload need not be released, it was never held.
  std::uint32_t arriving = kNoSlot;
  bool arriving_released = false;

  // Outputs.
  Ring<std::uint32_t> accesses;
  Ring<Message> messages;
  Ring<std::uint64_t> releases;
  std::vector<Action> actions;
  std::vector<Notice> notices;
  SlotPool<PendingCommand> commands;
  SlotPool<PendingAction> actions_open;
  bool control_attention = false;        ///< Something that is to go may be able to.
  std::uint32_t connections_ending = 0;  ///< Those that drain.
  std::uint32_t connections_lying = 0;
  std::uint32_t regions_leaving = 0;
};

}  // namespace wharf::rdmo
