// SPDX-License-Identifier: Apache-2.0
// Work requests that a core writes straight to its NIC, payload and all: stores through write-combining
// buffers, writes that arrive in any order, the NIC's reorder unit. Apart from the doorbell's arithmetic,
// because here a request consists of many writes that wait for one another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/line.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/ordering/reorder_unit.h"
#include "engine/ordering/write_combining.h"
#include "sim/host/config/host_config.h"
#include "sim/host/nic/memory_port.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// Whose messages they are: one queue's.
class StreamClient {
 public:
  virtual ~StreamClient() = default;
  /// The NIC has the whole message `ticket`, and every one before it.
  virtual void message_in(TimePs now, std::uint32_t ticket) = 0;
};

/// What a stream counts.
struct MmioStreamCounters {
  std::uint64_t lines = 0;
  std::uint64_t passed = 0;  ///< Lines that arrived before one which was stored before them.
  std::uint64_t held = 0;    ///< Lines that waited for a data buffer or for NIC memory.
  std::uint64_t messages = 0;
  std::uint32_t stalls = 0;  ///< Times that the core could not store because every buffer waited for credits.
};

/// The core's side and the NIC's side of one stream, for all queues of the core. A message is written to the
/// next addresses of its queue's window, which wraps; its first bytes say its length, its last line is
/// filled up. A line leaves when it is full, takes a credit of the link until the reorder unit has it, and
/// may be passed by others on the way. The NIC keeps a message until its owner says so: there is no other
/// copy that it could send again.
///
/// Choice: when the NIC is slow the core's next message waits; what else the core does goes on, as with a
/// store buffer of any depth. Choice: a doorbell that the core has rung for a later time goes before the
/// lines that it stores meanwhile. Source: "Stop Taking the Scenic Route" (HotOS '25), 3.
class MmioStream final : public Component {
 public:
  /// Queues that can have a window.
  static constexpr std::uint32_t kMostQueues = 4096;

  /// Adds itself to the simulation. `config` has passed validate(); `port` outlives it; `random` draws the
  /// spread.
  MmioStream(Simulation& simulation, const HostConfig& config, MemoryPort& port, RandomStream random,
             std::string name);

  /// A window for one more queue, below kMostQueues of them; returns its number.
  std::uint32_t add_queue(StreamClient& client);
  std::uint32_t queues() const { return static_cast<std::uint32_t>(queues_.size()); }

  /// Bytes that a message of `bytes` takes in its window, at the NIC, and on the way: whole lines.
  static std::uint32_t message_bytes(std::uint32_t bytes) {
    return (bytes + kLineBytes - 1) & ~(kLineBytes - 1);
  }
  /// What the core needs to store the lines behind the first.
  TimePs store_time(std::uint32_t bytes) const {
    return config_.line * (message_bytes(bytes) / kLineBytes - 1);
  }

  /// A message of `bytes` whose first line can be stored at `at`. Calls come with non-decreasing `at`; the
  /// code of `source` runs now.
  void send(TimePs at, ComponentId source, std::uint32_t queue, std::uint32_t bytes, std::uint32_t ticket);
  /// The NIC needs its message of message_bytes() `bytes` no longer; the code of `source` runs now.
  void forget(ComponentId source, std::uint32_t bytes);

  const MmioStreamCounters& counters() const { return counters_; }
  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kStore, kArrive, kMessage, kForget };

  struct Message {
    TimePs at;
    std::uint32_t queue = 0;
    std::uint32_t bytes = 0;
    std::uint32_t done = 0;  ///< Bytes stored.
  };
  struct Expected {
    std::uint32_t bytes = 0;
    std::uint32_t ticket = 0;
  };
  struct Queue {
    StreamClient* client = nullptr;
    std::uint32_t next_offset = 0;  ///< In its window.
    Ring<Expected> expected;        ///< Messages that the NIC does not have, oldest first.
  };
  struct Line {
    ordering::MmioOperation write;
    std::uint64_t number = 0;  ///< In the order in which lines left the core.
  };
  struct Complete {
    std::uint32_t queue = 0;
    std::uint32_t ticket = 0;
  };

  void store_lines(TimePs now);
  void send_lines(TimePs now);
  void take_lines(TimePs now);
  /// Gives what arrived to the unit; true when it took any.
  bool offer_arrived();

  Simulation& simulation_;
  MmioStreamConfig config_;
  MemoryPort& port_;
  std::uint32_t credits_;  ///< 0 is unlimited.
  RandomStream random_;
  ordering::WriteCombining combining_;
  ordering::ReorderUnit unit_;
  std::vector<Queue> queues_;
  Ring<Message> messages_;  ///< Not stored entirely, oldest first.
  SlotPool<Line> flying_;
  std::vector<Line> arrived_;  ///< Lines that the unit has not taken.
  SlotPool<Complete> complete_;
  std::vector<std::byte> content_;  ///< Of a message that leaves the unit.
  std::uint32_t on_link_ = 0;       ///< Lines that hold a credit.
  std::uint64_t next_number_ = 0;
  std::uint64_t newest_arrived_ = 0;  ///< One more than the highest number.
  TimePs store_free_;                 ///< When the core may store the next line.
  TimePs unit_free_;
  bool stalled_ = false;
  MmioStreamCounters counters_;
};

}  // namespace wharf::sim
