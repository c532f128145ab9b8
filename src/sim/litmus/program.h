// SPDX-License-Identifier: Apache-2.0
// A litmus program as data: who accesses what in which order, and which outcomes it asks about. Apart from
// its text form and from the machines that run it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ordering/mmio_fence.h"
#include "engine/ordering/request.h"
#include "sim/coherence/atomic_operation.h"
#include "sim/coherence/message.h"
#include "sim/litmus/design.h"

namespace wharf::sim {

/// Every variable is a word of this size.
inline constexpr std::uint32_t kLitmusWordBytes = 8;
/// Root complexes of one home, at most.
inline constexpr std::uint32_t kLitmusMaxRoots = 2;
/// Columns of a program at most: every host thread is an agent of the home, beside the root complexes.
inline constexpr std::uint32_t kLitmusMaxAgents = 64 - kLitmusMaxRoots;
/// Instructions of a column, and lines of one request, at most. A search over so many ends at its bound, but
/// what it says until then is right.
inline constexpr std::uint32_t kLitmusMaxInstructions = 4096;
inline constexpr std::uint32_t kLitmusMaxLines = 4096;
/// Lines of the requests of all devices together, at most: each is compared with each.
inline constexpr std::uint32_t kLitmusMaxRequestLines = kLitmusMaxLines;
inline constexpr std::uint32_t kLitmusMaxVariables = 4096;
inline constexpr std::uint32_t kLitmusMaxRegisters = 4096;  ///< Of a column.
/// Parentheses and ~ in one another, at most.
inline constexpr std::uint32_t kLitmusMaxDepth = 100;
/// Lines of peers are numbered from here, so that a line says where it is.
inline constexpr std::uint64_t kLitmusPeerLine = 1U << 20U;

/// Where something stands in a litmus file; lines and columns from 1.
struct LitmusPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

enum class LitmusAction : std::uint8_t {
  kRead,        ///< Of host memory.
  kWrite,       ///< Of host memory.
  kAtomic,      ///< On host memory.
  kFence,       ///< Host: what is in `predecessors` comes before what is in `successors`.
  kWait,        ///< Device: waits for the answers of all its earlier reads and atomics.
  kLocalRead,   ///< Device: looks at its own register, which MMIO stores change.
  kLocalWrite,  ///< Device: sets its own register.
  kMmioStore,   ///< Host: MMIO-Store, or MMIO-Release with the label kRelease.
  kMmioLoad,    ///< Host: MMIO-Load, or MMIO-Acquire with the label kAcquire.
  kCombining,   ///< Host: a store to write-combining device memory.
  kUncached,    ///< Host: a store to uncached device memory.
  kStoreFence,  ///< Host: sfence, waits for the write-combining buffers.
};

/// A request of a device on host memory.
constexpr bool is_request(LitmusAction action) { return action <= LitmusAction::kAtomic; }

/// One instruction of a host thread or one request of a device. Every access is of 8-byte words.
struct LitmusOperation {
  LitmusAction action = LitmusAction::kRead;
  ordering::Label label = ordering::Label::kStrong;
  AtomicKind atomic = AtomicKind::kFetchAdd;
  /// One, or several that are accessed as one: words of one line and, device reads and writes, of the lines
  /// that follow it. Ascending; words of one line are read or written at one instant.
  std::vector<std::uint32_t> variables;
  std::vector<std::uint32_t> line_begins;  ///< Place in `variables` of the first one of each line.
  std::vector<std::uint64_t> values;     ///< Writes: one per variable. Atomics: operand, then compare value.
  std::vector<std::uint32_t> registers;  ///< Of the agent; reads and atomics, one per variable.
  ordering::FenceSet predecessors{true, true, true, true};  ///< Fences: full ones, if they say nothing.
  ordering::FenceSet successors{true, true, true, true};
  std::uint8_t root = 0;  ///< Requests: the root complex that the device sends it to.
  std::string text;       ///< As written, for traces.
  LitmusPlace place;

  std::size_t lines() const { return line_begins.size(); }
  /// Place in `variables` behind the last one of a line.
  std::size_t line_end(std::size_t line) const {
    return line + 1 < line_begins.size() ? line_begins[line + 1] : variables.size();
  }
};

struct LitmusAgent {
  std::string name;
  bool is_device = false;
  std::uint32_t requester = 0;  ///< Devices: their function, dense from 0.
  std::uint32_t thread = 0;     ///< Devices: the stream of this function, dense from 0.
  std::uint8_t root = 0;        ///< Devices: the root complex that requests go to unless they name another.
  /// Devices: whose registers it has, those of the first or of the second device.
  std::uint8_t registers_of = 0;
  std::vector<LitmusOperation> operations;
  std::vector<std::string> registers;
  std::uint32_t first_register = 0;  ///< Place of its registers among those of all agents.
};

struct LitmusVariable {
  std::string name;
  std::uint64_t address = 0;  ///< In host memory, in the device's window, or in the peer's memory.
  std::uint64_t initial = 0;
  bool is_mmio = false;     ///< A register of the device, for cores.
  std::uint8_t device = 0;  ///< Registers: of the first or of the second device that has some.
  bool is_peer = false;     ///< Memory of a device, for other devices: behind a switch, not behind a queue.
};

/// A condition on final registers and memory, as a tree in one array: a node stands behind those it is made
/// of.
struct LitmusCondition {
  enum class Kind : std::uint8_t { kRegister, kMemory, kNot, kAnd, kOr };
  struct Node {
    Kind kind = Kind::kRegister;
    std::uint32_t index = 0;  ///< Register among all, or variable.
    std::uint64_t value = 0;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;
  std::string text;

  bool holds(const std::vector<std::uint64_t>& registers, const std::vector<std::uint64_t>& memory) const;
};

/// What a file says of an outcome under one design.
enum class LitmusClass : std::uint8_t { kForbidden, kAllowed, kRequired };
std::string_view name(LitmusClass what);

struct LitmusJudgement {
  LitmusDesign design;
  LitmusClass what;
};

/// One outcome that a file asks about. A `forall` is kept as the outcome that breaks it.
struct LitmusOutcome {
  LitmusCondition condition;
  bool is_forall = false;
  std::vector<LitmusJudgement> judgements;
  LitmusPlace place;

  /// What the file says under `design`; null when it says nothing.
  const LitmusJudgement* judgement(LitmusDesign design) const;
};

struct LitmusProgram {
  std::string name;
  std::string description;
  LitmusSettings settings;
  std::vector<LitmusVariable> variables;
  std::vector<LitmusAgent> agents;
  std::vector<LitmusOutcome> outcomes;

  std::uint32_t registers() const;
  bool uses_mmio() const;
  bool uses_devices() const;
  /// Devices that have registers, at least 1.
  std::uint32_t mmio_devices() const;
  /// Root complexes of the host, from 1.
  std::uint32_t root_complexes() const;
  /// Why `design` cannot be asked of this program, as what was expected instead; empty when it can.
  std::string why_not(LitmusDesign design) const;
  /// Some outcome says what is forbidden, allowed or required; otherwise the file asks for everything.
  bool has_statements() const;
  /// Designs that some outcome names, or all that apply where there are no statements; in the order of their
  /// enumeration.
  std::vector<LitmusDesign> designs() const;
};

}  // namespace wharf::sim
