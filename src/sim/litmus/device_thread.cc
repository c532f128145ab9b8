// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/device_thread.h"

#include <cstring>

#include "base/check.h"

namespace wharf::sim {
namespace {

ordering::Kind kind_of(LitmusAction action) {
  if (action == LitmusAction::kRead) return ordering::Kind::kRead;
  return action == LitmusAction::kWrite ? ordering::Kind::kWrite : ordering::Kind::kAtomic;
}

verbs::Verb verb_of(AtomicKind kind) {
  if (kind == AtomicKind::kFetchAdd) return verbs::Verb::kFetchAdd;
  return kind == AtomicKind::kSwap ? verbs::Verb::kSwap : verbs::Verb::kCompareSwap;
}

// A tag names the operation and the line.
constexpr std::uint32_t kLineBits = 16;
static_assert(kLitmusMaxInstructions <= 1U << (32U - kLineBits) && kLitmusMaxLines <= 1U << kLineBits);
std::uint32_t tag_of(std::size_t operation, std::size_t line) {
  return static_cast<std::uint32_t>(operation << kLineBits | line);
}

}  // namespace

LitmusTag tag_names(std::uint32_t tag) { return {tag >> kLineBits, tag & ((1U << kLineBits) - 1U)}; }

ordering::Request request_of(const LitmusProgram& program, LitmusDesign design, std::size_t agent,
                             std::size_t operation, std::size_t line) {
  const LitmusAgent& from = program.agents[agent];
  const LitmusOperation& what = from.operations[operation];
  ordering::Request request;
  request.kind = kind_of(what.action);
  // Choice: a device that makes the order itself sends everything as today's devices do by default.
  request.label = is_source_side(design) ? ordering::Label::kStrong : what.label;
  request.is_first = line == 0;
  request.is_last = line + 1 == what.lines();
  request.domain = {from.requester, from.thread};
  request.number = operation;
  request.tag = tag_of(operation, line);
  request.line = program.variables[what.variables[what.line_begins[line]]].address / kLineBytes;
  request.mask = 0;
  for (std::size_t word = what.line_begins[line]; word < what.line_end(line); ++word) {
    const auto offset =
        static_cast<std::uint32_t>(program.variables[what.variables[word]].address % kLineBytes);
    request.mask |= ordering::byte_mask(offset, kLitmusWordBytes);
    if (what.action == LitmusAction::kWrite)
      std::memcpy(request.bytes.data() + offset, &what.values[word], kLitmusWordBytes);
  }
  if (what.action == LitmusAction::kAtomic) {
    request.atomic = verb_of(what.atomic);
    request.operand[0] = what.values[0];
    if (what.values.size() > 1) request.compare[0] = what.values[1];
  }
  return request;
}

std::uint8_t way_of(const LitmusProgram& program, const LitmusAgent& agent,
                    const LitmusOperation& operation) {
  if (program.variables[operation.variables[0]].is_peer) return kLitmusPeerWay;
  return operation.root == 0 ? mmio_way(agent.registers_of) : operation.root;
}

bool LitmusDeviceThread::may_go_on(const LitmusAgent& agent) const {
  if (at == agent.operations.size()) return false;
  return agent.operations[at].action != LitmusAction::kWait || awaited == 0;
}

LitmusTransfer LitmusDeviceThread::send(const LitmusAgent& agent, std::size_t index) {
  const LitmusOperation& what = agent.operations[at];
  const LitmusTransfer sent{static_cast<std::uint32_t>(index), at, line};
  if (what.action != LitmusAction::kWrite) ++awaited;
  if (++line == what.lines()) {
    line = 0;
    ++at;
  }
  return sent;
}

void LitmusDeviceThread::receive(const ordering::Response& response, const LitmusProgram& program,
                                 const LitmusAgent& agent, std::uint64_t* registers) {
  const auto [operation, part] = tag_names(response.tag);
  const LitmusOperation& what = agent.operations[operation];
  WHARF_CHECK(awaited > 0);
  --awaited;
  for (std::size_t word = what.line_begins[part]; word < what.line_end(part); ++word) {
    std::uint64_t value = response.old_value[0];
    if (response.kind == ordering::Kind::kRead) {
      const std::uint64_t address = program.variables[what.variables[word]].address;
      std::memcpy(&value, response.bytes.data() + address % kLineBytes, kLitmusWordBytes);
    }
    registers[what.registers[word]] = value;
  }
}

}  // namespace wharf::sim
