// SPDX-License-Identifier: Apache-2.0
// What a worker counts: work done, and one count for each reason that it refuses something.
#pragma once

#include <array>
#include <cstdint>

#include "wire/rdmo_extended.h"

namespace wharf::rdmo {

struct WorkerCounters {
  // Work.
  std::uint64_t appends = 0;   ///< Executed, batches counted once.
  std::uint64_t records = 0;   ///< In them; published appends are one each.
  std::uint64_t flushes = 0;   ///< Answered.
  std::uint64_t scatters = 0;  ///< Executed.
  std::uint64_t bytes = 0;     ///< Appended and scattered.

  // Accesses, by purpose.
  std::uint64_t data_writes = 0;
  std::uint64_t coalesced = 0;  ///< Appends that joined the write of an earlier one.
  std::uint64_t cell_reads = 0;
  std::uint64_t cell_writes = 0;
  std::uint64_t cell_swaps = 0;
  std::uint64_t orders = 0;
  std::uint64_t payload_fetches = 0;
  std::uint64_t holes_filled = 0;  ///< Reserved places whose data never came.
  std::uint64_t cells_evicted = 0;
  std::uint64_t rounds = 0;  ///< Of write-back: a flush, or several at once.

  /// Requests that ended so; the place of kDone is zero.
  std::array<std::uint64_t, wire::kRdmoStatusLast + 1> refused{};

  // Messages that are no requests.
  std::uint64_t unknown_peer = 0;
  std::uint64_t malformed = 0;
  std::uint64_t unknown_message = 0;  ///< Another active message than 0 and 1.
  std::uint64_t after_failure = 0;    ///< Published requests behind one that failed: dropped, in order.
  std::uint64_t over_limit = 0;       ///< Times that a message found no room.

  // Control.
  std::uint64_t commands = 0;
  std::uint64_t commands_refused = 0;
  std::uint64_t commands_unanswerable = 0;  ///< Too short to have a context.
  std::uint64_t connections_closed =
      0;  ///< By the worker, because a flush could not say that something failed.
  std::uint64_t targets_lost = 0;
  std::uint64_t peers_lost = 0;
};

}  // namespace wharf::rdmo
