// SPDX-License-Identifier: Apache-2.0
// What a worker is made with: the layout that it speaks, its limits, and its choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/rdmo_message.h"

namespace wharf::rdmo {

/// Who else may write a cell while the worker appends through it.
enum class CellHolding : std::uint8_t {
  kSole,    ///< Nobody: the worker keeps the tail and writes it back when a flush asks. The published rule.
  kShared,  ///< Others too: the worker advances the cell in memory, by compare and swap, for every append.
};

struct WorkerConfig {
  wire::RdmoLayout layout = wire::RdmoLayout::kShipped;  ///< Of active message 0.
  std::vector<std::byte> address;                        ///< The worker's own: what CLIENT_INIT answers.
  CellHolding holding = CellHolding::kSole;

  // Limits. All memory but that of the control path is taken when the worker is made.
  std::uint32_t clients_max = 64;    ///< Targets.
  std::uint32_t regions_max = 4096;  ///< Of all targets.
  std::uint32_t regions_per_client_max = 256;
  std::uint64_t bytes_per_client_max = std::uint64_t{1} << 40U;  ///< Registered memory of a target.
  std::uint32_t connections_max = 1024;                          ///< Request queues, of all targets.
  std::uint32_t connections_per_client_max = 256;
  std::uint32_t requests_max = 16384;  ///< Held at once, of all connections.
  std::uint32_t window = 64;           ///< Held at once of one connection: its credits.
  std::uint32_t cells_max = 4096;      ///< Tails held at once.
  std::uint32_t writes_max = 1024;     ///< Writes to memory under way.
  std::uint32_t message_bytes_max = 16U << 20U;
  /// Requests per second of one connection, with a burst of its window; 0: no limit.
  std::uint64_t requests_per_second_max = 0;

  // Coalescing. Neighbouring appends of at most `coalesce_bytes` become one write of at most that length,
  // while an earlier write of their cell is under way, or until `coalesce_delay` has passed.
  std::uint32_t coalesce_bytes = 4096;
  TimePs coalesce_delay = kTimeZero;

  /// Tails are written back so long after they moved, also without a flush. kNever: by flushes alone.
  TimePs publish_delay = kNever;
  /// A flush reads one cell back after the last write: for memory systems whose "complete" says too little.
  bool read_back = false;
  /// Memory that has not answered for so long is lost, and its target with it. So every flush ends.
  TimePs memory_time_max = seconds(5);
  /// Data that a sender announced and that has not come for so long is lost, and the sender with it.
  TimePs sender_time_max = seconds(5);
};

/// Refuses a config that makes no sense, by naming the key.
Result<void> check(const WorkerConfig& config);

}  // namespace wharf::rdmo
