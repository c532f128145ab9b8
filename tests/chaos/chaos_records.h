// SPDX-License-Identifier: Apache-2.0
// What the checker of a chaos run knows about memory, operations and messages, and what atomics do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/queues.h"
#include "verbs/verb.h"
#include "verbs/work_request.h"

namespace wharf::test {

inline constexpr std::uint32_t kNoCell = 0xffff'ffffU;

/// A piece of memory with one user at a time.
struct ChaosCell {
  std::uint64_t address = 0;
  std::uint32_t pattern = 0;  ///< What it must hold in its first `length` bytes.
  std::uint32_t length = 0;
  bool busy = false;
  bool doubtful = false;  ///< An operation on it failed: old or new bytes.
};
struct ChaosOperation {
  std::uint32_t host = 0;
  std::uint32_t queue = 0;
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint32_t local = kNoCell;
  std::uint32_t remote = kNoCell;
  std::uint32_t notify = kNoCell;
  std::uint64_t immediate = 0;
  std::uint32_t pattern = 0;
  std::uint32_t length = 0;
  std::uint64_t word = 0;  ///< Atomics: which word.
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  verbs::SegmentToken revoked;  ///< kSendInvalidate: the token that ends.
  bool done = false;
};
struct ChaosMessage {
  std::uint32_t pattern = 0;
  std::uint32_t length = 0;
  std::uint64_t immediate = 0;
  verbs::Verb verb = verbs::Verb::kSend;
  bool arrived = false;
  bool certain = true;  ///< False when the sender was told that it failed.
};
struct ChaosEndpoint {
  engine::QueueId queue = 0;
  verbs::PeerId peer = 0;
  std::uint32_t posted = 0;
  std::uint32_t outstanding = 0;
  bool broken = false;
  std::vector<ChaosMessage> sent;                   ///< Toward the peer, in posting order.
  std::size_t next_message = 0;                     ///< First message of the peer that has not arrived here.
  std::map<std::uint64_t, std::uint32_t> receives;  ///< Posted receive id to cell.
};
/// A word that every host adds 1 to: the old values seen must be 0, 1, 2, ... without gap or repeat.
struct ChaosCounter {
  std::uint64_t address = 0;
  std::uint64_t added = 0;
  std::uint64_t doubtful = 0;
  std::map<std::uint64_t, int> seen;
};
/// A word with one compare-and-swap at a time.
struct ChaosWord {
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  bool busy = false;
  bool doubtful = false;
};

/// Atomics on a word with one user at a time; fetch_add has the shared counters.
inline bool is_word_operation(verbs::Verb verb) {
  return verbs::is_atomic(verb) && verb != verbs::Verb::kFetchAdd;
}
/// What `word` holds after `operation`.
inline std::uint64_t after(const ChaosOperation& operation, std::uint64_t word) {
  const verbs::Verb verb = operation.verb;
  const std::uint64_t operand = operation.operand;
  if (verb == verbs::Verb::kCompareSwap) return word == operation.compare ? operand : word;
  if (verb == verbs::Verb::kSwap || verb == verbs::Verb::kAtomicStore) return operand;
  if (verb == verbs::Verb::kFetchSub) return word - operand;
  if (verb == verbs::Verb::kFetchAnd) return word & operand;
  if (verb == verbs::Verb::kFetchOr) return word | operand;
  if (verb == verbs::Verb::kFetchXor) return word ^ operand;
  return word;
}

}  // namespace wharf::test
