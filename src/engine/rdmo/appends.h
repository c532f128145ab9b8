// SPDX-License-Identifier: Apache-2.0
// Append: a place is reserved at the tail that a cell holds, the data is written there, and the tail that
// memory shows never passes what has landed. Nothing is reserved before every check has passed.
#pragma once

#include <cstdint>

#include "engine/rdmo/core.h"

namespace wharf::rdmo {

/// The rules:
/// - A cell is read once, then its tail is kept here (CellHolding::kSole) until a write-back lets go of it.
/// While it
///   is being read, only requests on that cell wait.
/// - Places are given in the order in which requests start. One path gives them, whatever way the data takes.
/// - Small neighbours are gathered into one write while an earlier write of the cell is under way.
/// - A place whose data never came is filled with zeros, so that later ones can be published. If that fails
/// too, the
///   cell is damaged: nothing more is appended to it, or published, until its memory is registered anew.
class Appends {
 public:
  explicit Appends(WorkerCore& core) : core_(core) {}

  /// Starts an append; false when there is no free cell: then start it again later, before others of its
  /// connection.
  bool start(std::uint32_t request);

  // Answers of memory.
  [[gnu::noinline]] void cell_read(std::uint32_t cell, const AccessResult& result);
  [[gnu::noinline]] void cell_swapped(std::uint32_t cell, const AccessResult& result);
  void written(std::uint32_t write, std::uint8_t part, AccessStatus status);
  [[gnu::noinline]] void fetched(std::uint32_t request, const AccessResult& result);

  /// Issues what a cell has gathered.
  void close(std::uint32_t cell);
  /// The same for all cells of a client.
  void close_all(std::uint32_t client);
  /// Gives cells that waited for a free write another chance.
  void retry_starved();
  /// Closes what has gathered for long enough.
  void expire();
  /// The cell may have become idle: somebody may wait for its slot, or for its region.
  void let_others(std::uint32_t cell);
  /// Lets go of a cell that nothing uses.
  [[gnu::noinline]] void drop(std::uint32_t cell);
  /// Lets go of all cells of a client that nothing uses and that memory agrees with.
  void drop_clean(std::uint32_t client);
  /// The cell is of no use any more: bytes of it are lost.
  [[gnu::noinline]] void damage(Cell& cell);
  /// The target is lost: ends what waits for the cell and what is gathered and not under way.
  void abandon(std::uint32_t cell);

  static bool idle(const Cell& cell) {
    return cell.writes.empty() && cell.waiting.empty() && !cell.reading && !cell.swapping && !cell.in_round &&
           !cell.storing;
  }
  static bool clean(const Cell& cell) { return !cell.dirty && cell.reserved == cell.published; }

 private:
  [[gnu::noinline]] std::uint32_t acquire_cell(std::uint32_t client, std::uint32_t region,
                                               const Request& request);
  [[gnu::noinline]] bool evict();
  /// Reserves and writes, or ends the request; false when it has to wait. `fresh`: the cell was just read.
  bool place(std::uint32_t cell, std::uint32_t request, bool fresh);
  bool put(std::uint32_t cell, std::uint32_t request);
  void refuse(std::uint32_t cell, std::uint32_t request, RdmoStatus status);
  void read_again(std::uint32_t cell);
  bool joins(const Cell& cell, const Request& request) const;
  void gather(std::uint32_t cell, std::uint32_t request);
  std::uint32_t new_write(std::uint32_t cell, const Request& request);
  void issue(std::uint32_t write);
  void complete(std::uint32_t write);
  void land(std::uint32_t cell);
  void drain(std::uint32_t cell, bool fresh);
  void make_dirty(std::uint32_t cell);
  [[gnu::noinline]] void delay(std::uint32_t cell);
  [[gnu::noinline]] void starve(std::uint32_t cell);
  void fail_waiting(std::uint32_t cell, RdmoStatus status);

  WorkerCore& core_;
};

}  // namespace wharf::rdmo
