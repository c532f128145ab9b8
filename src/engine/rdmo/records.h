// SPDX-License-Identifier: Apache-2.0
// What a worker remembers: targets and their memory, connections of initiators, requests, cells, writes under
// way. Plain records in pools, linked by index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/time.h"
#include "engine/rdmo/ports.h"
#include "engine/rdmo/two_way_list.h"
#include "wire/rdmo_extended.h"

namespace wharf::rdmo {

using wire::RdmoStatus;
using Operation = wire::RdmoExtendedOperation;

/// One request of an initiator, from its arrival to its answer. It is on one list at a time: the queue of its
/// connection, the waiting list of its cell, the chain of its write, or the flushes of its target.
struct Request {
  std::uint32_t next = kNoSlot;
  std::uint32_t connection = kNoSlot;
  Operation operation = Operation::kHello;
  bool extended = false;
  bool fence = false;
  bool quiet = false;
  bool compare = false;
  bool is_queue = false;  ///< APPEND to a queue with a consumer.
  bool held = false;      ///< The host keeps its payload until it is released.
  bool fetching = false;  ///< SCATTER: the payload was asked for.
  std::uint16_t records = 1;
  std::uint32_t sequence = 0;
  std::uint64_t cookie = 0;  ///< FLUSH of a published form: the flush id.
  std::uint64_t cell_address = 0;
  std::uint64_t cell_key = 0;
  std::uint64_t data_key = 0;
  union {
    std::uint64_t expected = 0;  ///< APPEND: until it has its place.
    TwoWayLinks owed;            ///< From then on: among those whose data is still with their initiator.
  };
  std::uint64_t count = 0;  ///< SCATTER: entries.
  std::uint64_t place = 0;
  Payload payload;
  // Once it has started:
  std::uint32_t cell = kNoSlot;
  std::uint32_t cell_region = kNoSlot;
  std::uint32_t data_region = kNoSlot;
  std::uint32_t offset = 0;  ///< SCATTER: payload bytes whose writes were issued.
  std::uint32_t pieces = 0;  ///< SCATTER: writes under way.
  RdmoStatus status = RdmoStatus::kDone;
};

/// One range of target memory on its way to being written: of one append, of neighbouring ones, of a scatter
/// entry.
struct Write {
  std::uint32_t next = kNoSlot;  ///< In its cell, in the order of places.
  IndexList requests;            ///< Those whose data it is.
  std::uint32_t cell = kNoSlot;  ///< kNoSlot: of a scatter.
  std::uint32_t region = kNoSlot;
  std::uint32_t staging = kNoSlot;  ///< The buffer that neighbouring appends are gathered in.
  std::uint32_t length = 0;
  std::uint64_t place = 0;
  const std::byte* data = nullptr;
  std::uint64_t payload = 0;  ///< When the data is not here.
  std::uint8_t parts = 0;     ///< Accesses under way, as bits: a queue's range may pass its end.
  bool filling = false;       ///< Its data never came: zeros are written instead.
  bool done = false;
  bool from_sender = false;  ///< The data comes from its sender while it is written.
  std::uint8_t groups = 0;   ///< Client::asked, of each part: its bit, or 0.
  AccessStatus failure = AccessStatus::kDone;
};

/// A tail that this worker holds.
struct Cell {
  std::uint64_t address = 0;
  std::uint32_t client = kNoSlot;
  std::uint32_t region = kNoSlot;
  bool is_queue = false;
  bool reading = false;   ///< Its bytes, or the consumer's number, were asked for.
  bool known = false;     ///< It was read once.
  bool swapping = false;  ///< CellHolding::kShared: an advance is under way.
  bool damaged = false;  ///< Bytes before the tail were lost for good: nothing more is appended or published.
  bool dirty = false;    ///< On its client's list.
  bool in_round = false;
  bool settled = true;  ///< In a round: what it waits for has landed.
  bool storing = false;
  bool starved = false;  ///< On the list of those that wait for a free write.
  bool delayed = false;  ///< On the list of those whose gathering ends by time.
  bool touched = false;  ///< Since eviction last looked.
  // Client::asked, of each of its accesses.
  std::uint8_t reading_group = 0;
  std::uint8_t swapping_group = 0;
  std::uint8_t storing_group = 0;
  RdmoStatus read_failure = RdmoStatus::kDone;
  std::uint64_t reserved = 0;   ///< The next free place.
  std::uint64_t landed = 0;     ///< All places before it are written: the commit watermark.
  std::uint64_t published = 0;  ///< What the cell in memory says.
  std::uint64_t storing_value = 0;
  std::uint64_t swap_value = 0;
  std::uint32_t round_left = 0;  ///< In a round: writes that it waits for.
  std::uint64_t head = 0;        ///< Queues: what the consumer had consumed when it was last asked.
  std::uint64_t base = 0;
  std::uint64_t capacity = 0;
  IndexList waiting;             ///< Requests, in order.
  IndexList writes;              ///< In the order of places, the last maybe open.
  std::uint32_t open = kNoSlot;  ///< The write that still gathers.
  std::uint32_t in_flight = 0;   ///< Writes, but those that wait for their sender.
  TimePs opened = kTimeZero;
  std::uint32_t next_dirty = kNoSlot;
  std::uint32_t next_round = kNoSlot;
  std::uint32_t next_starved = kNoSlot;
  TwoWayLinks in_delayed{};
  TwoWayLinks in_held{};  ///< Among all of its client.
};

/// Registered memory of a target.
struct Region {
  std::uint32_t client = kNoSlot;
  std::uint64_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  HostHandle memory = 0;
  bool direct = false;
  bool ready = false;               ///< Imported.
  bool leaving = false;             ///< Refused to new requests; goes when nothing uses it.
  bool forgetting = false;          ///< The host was asked to.
  std::uint32_t users = 0;          ///< Requests, writes and cells.
  std::uint32_t pending = kNoSlot;  ///< The command that waits for it.
};

enum class Round : std::uint8_t { kIdle, kSettle, kOrderData, kStoreCells, kOrderCells, kReadBack };
enum class ClientState : std::uint8_t { kOpening, kReady, kRetiring, kLost };

/// A target: in the words of the control path, a client.
struct Client {
  DestinationId destination = 0;
  std::uint64_t id = 0;
  HostHandle target = 0;
  ClientState state = ClientState::kOpening;
  std::uint32_t opening = kNoSlot;  ///< kOpening: the action that is to be answered.
  TimePs open_until = kNever;       ///< So long is waited for it. kNever: it is not, or was cancelled.
  bool detached = false;            ///< Its host channel has nothing to do with it any more.
  bool closing = false;             ///< kCloseTarget was asked for.
  bool closed = false;
  std::uint32_t regions = 0;
  std::uint64_t bytes = 0;
  std::uint32_t connections = 0;
  std::uint64_t queues_made = 0;
  FlatMap cells;    ///< By address.
  TwoWayList held;  ///< The same.
  // Writing back.
  Round round = Round::kIdle;
  IndexList dirty;
  IndexList round_cells;
  IndexList flushes_waiting;
  IndexList flushes_running;
  std::uint32_t unsettled = 0;
  std::uint32_t storing = 0;
  std::uint32_t damaged = 0;  ///< Cells.
  bool ordering = false;
  bool reading_back = false;
  std::uint8_t round_group = 0;  ///< `asked`, of what the round asks for by itself.
  bool unordered = false;        ///< Something was written that only a kOrder makes visible.
  bool write_back = false;       ///< A round is wanted though no flush waits.
  bool round_drops = false;      ///< Cells are let go of when they are written back.
  RdmoStatus round_status = RdmoStatus::kDone;
  std::uint64_t rounds_begun = 0;
  std::uint64_t rounds_ended = 0;
  TimePs publish_at = kNever;
  bool attention = false;  ///< On the list of those that have something to go on with.
  std::uint32_t next_attention = kNoSlot;
  // Patience.
  std::uint32_t accesses = 0;  ///< Under way.
  /// Of those: the ones of each group. One group is waited for, and what is asked for meanwhile is the other.
  std::array<std::uint32_t, 2> asked{};
  std::uint8_t awaited = 0;          ///< The group that is waited for,
  TimePs awaited_since = kTimeZero;  ///< and since when.
  std::uint32_t pending = kNoSlot;
};

/// A request queue: what one initiator asks of one target.
struct Connection {
  std::uint32_t client = kNoSlot;
  PeerId peer = kNoPeer;
  std::uint32_t next_on_peer = kNoSlot;
  std::uint64_t queue_id = 0;
  IndexList queue;                  ///< Requests that have not started.
  std::uint32_t blocked = kNoSlot;  ///< One that has started and waits for a cell.
  std::uint32_t held = 0;           ///< Requests of it.
  std::uint32_t outstanding = 0;    ///< Those that have started.
  std::uint32_t next_sequence = 0;
  std::uint32_t ended = 0;  ///< Extended requests; with the window they make the credit limit.
  std::uint32_t limit_told = 0;
  bool open = false;
  bool draining = false;  ///< Refuses requests; goes when the last has ended.
  bool gone = false;      ///< Its initiator is lost.
  bool lying = false;     ///< A published flush could only be answered with a lie: its initiator is shut out.
  bool closing = false;   ///< kClosePeer was asked for.
  bool closed = false;
  bool broken = false;       ///< A published request failed: those behind it are dropped.
  bool ready = false;        ///< On the list of those that are served in turn.
  std::uint32_t failed = 0;  ///< Since the last flush.
  TwoWayList owed;           ///< Requests whose data is still with the initiator, as they were asked for.
  TimePs owed_since = kTimeZero;  ///< The first of them is waited for alone.
  TimePs not_before = kTimeZero;
  std::uint64_t last_round =
      0;  ///< Draining: goes when this round of its client has ended. 0: not asked for.
  std::uint32_t next_ready = kNoSlot;
  std::uint32_t pending = kNoSlot;
};

/// A command that has not been answered.
struct PendingCommand {
  DestinationId destination = 0;
  std::uint64_t plugin = 0;
  std::uint64_t context = 0;
  wire::RdmoCommandType type = wire::RdmoCommandType::kClientInit;
  std::uint64_t value = 0;
};

/// What an action is about, to find it again when it is done.
struct PendingAction {
  ActionKind kind = ActionKind::kOpenTarget;
  std::uint32_t object = kNoSlot;  ///< Client, connection or region.
};

}  // namespace wharf::rdmo
