// SPDX-License-Identifier: Apache-2.0
// What the adapter of the hardware NIC holds: the model with its clock, the queues of its driver, and what
// waits at each of its ports. Apart from hardware_nic.h so that its users do not see it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ub/exchange.h"
#include "engine/ub/hardware/hardware_nic.h"
#include "engine/ub/hardware/memory_bridge.h"
#include "engine/ub/hardware/nic_module.h"
#include "trace/stage.h"

namespace wharf::hardware {

/// A request, until its completion has been shown.
struct OpenRequest {
  bool is_open = false, has_ended = false, in_nic = false;
  std::uint16_t generation = 0;
  engine::QueueId queue = 0;
  verbs::WorkRequest request;
  bool is_inline = false;
  std::array<std::byte, 16> data{};  ///< Inline, or operands as the doorbell takes them.
  std::uint64_t local = 0;           ///< Where its bytes come from or go to.
  verbs::Completion completion;
  TimePs mark{};  ///< Where its account stands.
};

struct OpenReceive {
  bool is_open = false;
  std::uint16_t generation = 0;
  engine::QueueId queue = 0;
  std::uint64_t id = 0, address = 0;
  std::uint32_t capacity = 0;
};

/// A request of the peer, for the account of its operation alone.
struct Served {
  std::uint32_t requester = 0;
  std::uint16_t number = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  bool takes_receive = false;
  wire::OperationTag operation;
  TimePs mark{};
};

struct Frame {
  std::vector<std::byte> bytes;
  std::uint64_t after = 0;  ///< Writes that must be done before it leaves.
};

struct Jetty {
  engine::QueueState state = engine::QueueState::kGone;
  engine::QueueConfig config;
  std::deque<std::uint32_t> requests;  ///< Open ones, in posting order, by slot.
  std::deque<std::uint32_t> receives;  ///< Likewise.
  std::uint32_t rung = 0,
                posted = 0;  ///< Of those, the first ones that the NIC has been, or will be, offered.
  std::uint32_t in_nic = 0;  ///< Requests that it has not answered.
  std::deque<verbs::Completion> shown;
  bool is_listed = false;                      ///< In `completed`.
  std::array<std::uint32_t, 256> by_number{};  ///< The slot of a request, by its TASSN.
  std::uint16_t number = 0;
};

struct Peer {
  bool is_there = false;
  engine::QueueId queue = 0;
  std::uint32_t jetty = 0, token = 0;
};

struct Segment {
  bool is_there = false;
  verbs::SegmentConfig config;
};

struct HardwareNic::State {
  State(const HardwareConfig& given, wire::PayloadPool& pool, const NicModule& module, std::uint64_t memory);

  // --- The clock.
  /// Cycles without a beat at any port after which nothing inside moves but what counts time. The longest way
  /// from port to port is 33 cycles, and a page of memory 64 (rtl/ub_nic/README.md).
  static constexpr std::uint32_t kQuietCycles = 128;
  bool has_input() const;
  bool is_awake() const { return quiet < kQuietCycles || outputs.counts_time || has_input(); }
  /// Something for the NIC to do: the next edge is the first one from `now` on.
  void wake(TimePs now);
  void cycle(TimePs now);
  void restart();

  // --- The driver.
  Jetty* find(engine::QueueId queue);
  const Jetty* find(engine::QueueId queue) const;
  void ring();
  void set_open(engine::QueueId queue, bool open);
  void set_segment(std::uint32_t index);
  void end(std::uint32_t slot, verbs::CompletionStatus status, std::uint32_t length);
  void show(engine::QueueId queue, const verbs::Completion& completion);
  void release(std::uint32_t slot);
  void flush(engine::QueueId queue, verbs::CompletionStatus requests_end, bool receives_too);
  void give_up(TimePs now, verbs::CompletionStatus status);
  void completed(const RingEntry& entry);
  void report(engine::AsyncEventKind kind, engine::QueueId queue, engine::PeerId peer);
  std::array<std::uint32_t, 15> doorbell_of(std::uint32_t slot) const;

  // --- The account of operations.
  void span(wire::OperationTag operation, trace::Stage stage, TimePs& mark, TimePs now);
  OpenRequest* own_at(std::uint64_t address, std::uint32_t length);
  Served* served_at(std::uint64_t address, std::uint32_t length);
  /// What of a line is memory of requests or segments.
  std::pair<std::uint64_t, std::uint64_t> known_of(std::uint64_t line) const;
  OpenRequest* own_of(std::uint32_t jetty, std::uint16_t number);
  Served* served_of(std::uint32_t requester, std::uint16_t number);

  HardwareConfig config;
  wire::PayloadPool& payloads;
  NicSizes sizes;
  OwnedModel model;
  std::uint64_t scratch;  ///< For results of atomics that have no place, a word for each slot.
  MemoryBridge bridge;
  NicInputs inputs;
  NicOutputs outputs;
  TimePs now{};
  TimePs next_edge{};
  std::uint32_t quiet = kQuietCycles;
  std::uint64_t cycles = 0;
  bool has_failed = false;

  std::vector<Jetty> jetties;
  std::vector<Peer> peers;
  std::vector<Segment> segments;
  bool has_peer = false;
  wire::HostAddress peer_host{};
  std::deque<OpenRequest> requests;
  std::vector<std::uint32_t> free_requests;
  std::deque<OpenReceive> receives;
  std::vector<std::uint32_t> free_receives;
  std::deque<Served> served;
  std::deque<engine::QueueId> completed_queues;
  std::deque<engine::AsyncEvent> events;

  // At the ports.
  struct Setting {
    bool is_segment = false, value = false;
    std::uint32_t index = 0, token = 0;
    std::array<std::uint32_t, 5> segment{};
  };
  std::deque<Setting> settings;
  std::deque<std::uint32_t> doorbells;  ///< Slots of requests,
  std::deque<std::uint32_t> posts;      ///< and of receives.
  std::uint32_t consumed = 0;
  std::deque<std::vector<std::byte>> heard;
  std::size_t heard_at = 0;
  std::vector<std::byte> leaving;
  std::deque<Frame> frames;
  std::uint64_t frames_refused = 0;
};

/// Requests that are open at a time, here and in the NIC.
inline constexpr std::uint32_t kRequestsMost = 4096;

/// A slot and how often it was taken, as the tag of a doorbell.
constexpr std::uint32_t tag_of(std::uint32_t slot, std::uint16_t generation) {
  return std::uint32_t{generation} << 16U | slot;
}

}  // namespace wharf::hardware
