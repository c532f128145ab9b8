// SPDX-License-Identifier: Apache-2.0
// Watches a coherent memory from outside: every performed access and every change of a copy is told to it,
// and it says what cannot be. Apart because a protocol does not grade itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "sim/coherence/message.h"

namespace wharf::sim {

/// Knows the true bytes of every line (those of the last performed store) and who has a copy, and checks
/// - one writer or many readers: an exclusive or modified copy is the only copy;
/// - stores are performed by the agent that has the only copy;
/// - a load returns bytes that were the true ones at some instant since it was issued (for a hit: now);
/// - bytes that an agent tracks are the true ones as long as no invalidation was passed up;
/// - nothing is lost: at rest the modified copy, or else memory, has the true bytes.
/// Never aborts: the first thing that went wrong is kept as a sentence. For tests, explorers and checked
/// runs; it takes memory as lines appear. A machine has a plain pointer to it: who copies a machine points
/// the copy at the copy.
class CoherenceObserver {
 public:
  /// Sets the true bytes before anything happens; lines that are not set are zero.
  void set_initial(LineNumber line, const LineBytes& bytes);

  /// The copy of `agent` goes to `state`.
  void copy_changed(AgentId agent, LineNumber line, CopyState state);
  /// A load that will not be performed at once. Tickets are the agent's own.
  void load_issued(AgentId agent, std::uint64_t ticket, LineNumber line);
  /// It is performed. A load that was not announced is performed in the instant in which it is issued.
  void load_performed(AgentId agent, std::uint64_t ticket, LineNumber line, std::uint32_t offset,
                      std::span<const std::byte> bytes);
  void store_performed(AgentId agent, LineNumber line, std::uint32_t offset,
                       std::span<const std::byte> bytes);
  /// `agent` claims that these are the true bytes now.
  void check_current(AgentId agent, LineNumber line, const LineBytes& bytes);
  /// Everything is at rest: `memory` is what memory has, `modified` the modified copy or null.
  void check_at_rest(LineNumber line, const LineBytes& memory, const LineBytes* modified);

  /// The true bytes of a line.
  LineBytes truth(LineNumber line) const;
  CopyState copy(AgentId agent, LineNumber line) const;
  bool is_violated() const { return !violation_.empty(); }
  /// One sentence about the first thing that went wrong, or empty.
  const std::string& violation() const { return violation_; }
  std::uint64_t loads() const { return loads_; }
  std::uint64_t stores() const { return stores_; }

  /// All that decides its future judgements, lines in order of their numbers.
  void append_state(std::vector<std::byte>& state) const;

 private:
  struct Version {
    std::uint64_t number = 0;
    LineBytes bytes{};
  };
  struct PendingLoad {
    std::uint64_t ticket = 0;
    LineNumber line = 0;
    std::uint64_t version = 0;  ///< The true one when it was issued.
    AgentId agent = 0;
  };
  struct Line {
    LineNumber line = 0;
    std::uint64_t readers = 0;    ///< Agents with a copy, clean or not.
    std::uint64_t exclusive = 0;  ///< Those whose copy is exclusive or modified.
    std::uint64_t modified = 0;
    std::uint32_t pending = 0;     ///< Loads under way.
    std::vector<Version> history;  ///< Oldest first; the last one is true. One when no load is under way.
  };

  Line& entry_of(LineNumber line);
  void fail(std::string sentence);

  FlatMap index_;
  std::vector<Line> lines_;
  std::vector<PendingLoad> pending_;
  std::string violation_;
  std::uint64_t loads_ = 0;
  std::uint64_t stores_ = 0;
};

}  // namespace wharf::sim
