// SPDX-License-Identifier: Apache-2.0
// One thread of an explored device: its requests in program order, and what it waits for. Apart from the
// world, which carries the requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_port.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

/// A line of a request of a device thread as the fabric carries it: which operation of which agent. Each line
/// is a packet of its own, as the timed device sends it: PCIe orders no write behind a read, be it one packet
/// or several, so that a write may come between two lines of a read.
struct LitmusTransfer {
  std::uint32_t agent = 0;
  std::uint32_t operation = 0;
  std::uint32_t line = 0;

  bool operator==(const LitmusTransfer&) const = default;
};

/// The `line`-th line of a request of `agent`, as the design's device sends it.
ordering::Request request_of(const LitmusProgram& program, LitmusDesign design, std::size_t agent,
                             std::size_t operation, std::size_t line);

/// What the tag of an answer names.
struct LitmusTag {
  std::uint32_t operation = 0;
  std::uint32_t line = 0;
};
LitmusTag tag_names(std::uint32_t tag);

/// The way that a request takes: to a root complex, by number, or to a peer device. Nothing orders requests
/// on different ways.
inline constexpr std::uint8_t kLitmusPeerWay = kLitmusMaxRoots;
/// The link of the second device that has registers, to the first root complex.
inline constexpr std::uint8_t kLitmusSecondWay = kLitmusPeerWay + 1;
std::uint8_t way_of(const LitmusProgram& program, const LitmusAgent& agent, const LitmusOperation& operation);
/// The root complex at the end of a way that is not to a peer.
constexpr std::uint8_t root_of(std::uint8_t way) { return way == kLitmusSecondWay ? 0 : way; }
/// The way on whose link MMIO of a device travels: devices with registers hang at the first root complex.
constexpr std::uint8_t mmio_way(std::uint8_t device) { return device == 0 ? 0 : kLitmusSecondWay; }

/// Where a thread of a device is in its program.
struct LitmusDeviceThread {
  std::uint32_t at = 0;       ///< The next operation.
  std::uint32_t line = 0;     ///< Its next line.
  std::uint32_t awaited = 0;  ///< Lines of reads and atomics without an answer.

  /// Whether its own program lets it do the next operation now.
  bool may_go_on(const LitmusAgent& agent) const;
  bool is_finished(const LitmusAgent& agent) const { return at == agent.operations.size() && awaited == 0; }
  /// Sends the next line of the next operation.
  LitmusTransfer send(const LitmusAgent& agent, std::size_t index);
  /// An answer arrives: its words go to the registers.
  void receive(const ordering::Response& response, const LitmusProgram& program, const LitmusAgent& agent,
               std::uint64_t* registers);
};

}  // namespace wharf::sim
