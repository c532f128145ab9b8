// SPDX-License-Identifier: Apache-2.0
// Between the memory port of the hardware NIC, which moves lines in order and knows no delay but its own, and
// the memory side of an engine, where accesses may end in any order. Apart from the NIC's other ports.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/contract.h"
#include "engine/ub/hardware/port_bits.h"

namespace wharf::hardware {

/// One entry of the ring of completions, as the NIC wrote it.
using RingEntry = std::array<std::byte, 32>;

/// Lines in, accesses out. Writes are under way together. A read, and a completion, begins when every write
/// before it is done, and reads answer in order. So data is in memory before its completion, and a frame that
/// waits for done_before() leaves after what was written before it.
class MemoryBridge {
 public:
  static constexpr std::size_t kRoom = 128;  ///< Lines that it takes before they are done.

  MemoryBridge(std::uint64_t ring, std::uint64_t ring_bytes) : ring_(ring), ring_bytes_(ring_bytes) {}

  // --- The NIC's side.
  bool has_room() const { return waiting_.size() + under_way_ < kRoom; }
  /// memory_request_t.
  void take(const std::array<std::uint32_t, 20>& words);
  struct Answer {
    bool tag = false;
    Line line{};
  };
  bool has_answer() const { return !reads_.empty() && reads_.front().is_there; }
  Answer take_answer();

  // --- The engine's side.
  bool next_access(engine::Access& access);
  /// The NIC reads whole lines. What of the line that `access` reads belongs to anybody: the rest need not be
  /// memory, and reads as zeros.
  void narrow(engine::Access& access, std::uint64_t from, std::uint64_t to);
  struct Done {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    bool is_write = false;
    std::optional<RingEntry> entry;  ///< A completion that memory shows now.
    bool failed = false;
  };
  /// Nothing: no such access.
  std::optional<Done> done(engine::AccessId id, const engine::AccessResult& result);

  /// Numbers every write and completion that was taken,
  std::uint64_t writes_taken() const { return first_ + written_.size(); }
  /// and whether all below `number` are done.
  bool done_before(std::uint64_t number) const { return first_ >= number; }
  bool is_idle() const { return waiting_.empty() && under_way_ == 0 && reads_.empty(); }
  /// What is under way is forgotten.
  void reset();

 private:
  enum class Kind : std::uint8_t { kFree, kRead, kWrite, kCompletion };
  struct Slot {
    Kind kind = Kind::kFree;
    std::uint32_t generation = 0;
    std::uint64_t address = 0, number = 0;
    std::uint32_t length = 0;
    Line data{};
  };
  struct Read {
    std::uint64_t number = 0;
    bool tag = false, is_there = false;
    Line line{};
  };
  Slot& add(Kind kind, std::uint64_t address, std::uint32_t length);

  std::uint64_t ring_, ring_bytes_;
  std::deque<Slot> slots_;  ///< Do not move: accesses point at their data.
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> waiting_;  ///< Not begun, in order.
  std::size_t under_way_ = 0, writes_under_way_ = 0;
  std::deque<Read> reads_;  ///< Without an answer, in order.
  std::uint64_t reads_taken_ = 0;
  std::deque<bool> written_;  ///< From write number `first_` on: whether it is done.
  std::uint64_t first_ = 0;
};

}  // namespace wharf::hardware
