// SPDX-License-Identifier: Apache-2.0
// Write-back: tails that appends moved reach memory in rounds, one round at a time for each target. A flush
// is a request to be told when a round that began after it is over.
#pragma once

#include <cstdint>

#include "engine/rdmo/appends.h"
#include "engine/rdmo/core.h"

namespace wharf::rdmo {

/// A round, for all cells of the target whose tails moved:
///   settle       everything reserved before the round began has landed
///   order data   ... and is visible to the target's cores
///   store cells  each cell gets its commit watermark, never more
///   order cells  ... and shows it
///   read back    one cell, if the worker is told to
/// Then all flushes that it served are answered, and idle cells are let go of: the consumer may reset them.
/// Flushes that come meanwhile share the next round. Each step ends by an answer of memory or by its
/// patience.
class WriteBack {
 public:
  WriteBack(WorkerCore& core, Appends& appends) : core_(core), appends_(appends) {}

  /// Takes a flush that has started.
  [[gnu::noinline]] void flush(std::uint32_t request);
  /// Goes on as far as it can.
  [[gnu::noinline]] void advance(std::uint32_t client);

  // Answers of memory.
  [[gnu::noinline]] void ordered(std::uint32_t client, AccessStatus status);
  [[gnu::noinline]] void stored(std::uint32_t cell, AccessStatus status);
  [[gnu::noinline]] void read_back(std::uint32_t client, AccessStatus status);

  /// The target is lost: ends what waits. Cells are dropped without write-back by whoever calls.
  void abandon(std::uint32_t client);

 private:
  bool wanted(const Client& client) const;
  void begin(std::uint32_t client);
  void store(std::uint32_t client);
  void end(std::uint32_t client);
  void answer(std::uint32_t request, RdmoStatus status);
  void fail_step(Client& client, AccessStatus status);
  void order_if_needed(std::uint32_t client);
  static bool failed(const Client& client);

  WorkerCore& core_;
  Appends& appends_;
};

}  // namespace wharf::rdmo
