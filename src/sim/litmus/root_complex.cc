// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/root_complex.h"

#include <cstring>

#include "base/check.h"

namespace wharf::sim {
namespace {

std::uint64_t word(const LineBytes& bytes, std::uint32_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

AtomicOperation operation_of(const ordering::Perform& perform) {
  AtomicOperation operation;
  operation.operand = perform.operand[0];
  operation.compare = perform.compare[0];
  if (perform.atomic == verbs::Verb::kFetchAdd) {
    operation.kind = AtomicKind::kFetchAdd;
  } else if (perform.atomic == verbs::Verb::kSwap) {
    operation.kind = AtomicKind::kSwap;
  } else {
    WHARF_CHECK(perform.atomic == verbs::Verb::kCompareSwap);
    operation.kind = AtomicKind::kCompareSwap;
  }
  return operation;
}

}  // namespace

void LitmusRootComplex::accept(const ordering::Request& request) {
  WHARF_CHECK(queue_.accept(request));
  settle();
}

void LitmusRootComplex::receive(const Message& message) {
  agent_.receive(message);
  settle();
}

// Performs before the next event of the agent: an owner that is being fetched may write in that instant only.
void LitmusRootComplex::settle() {
  for (;;) {
    if (perform()) continue;
    ordering::MemoryRequest request;
    if (queue_.next_memory_request(request)) {
      switch (request.operation) {
        case ordering::MemoryOperation::kRead:
        case ordering::MemoryOperation::kReadTracked:
          agent_.read(0, request.line, request.operation == ordering::MemoryOperation::kReadTracked);
          break;
        case ordering::MemoryOperation::kOwn:
          agent_.own(0, request.line, request.is_whole_line);
          break;
        case ordering::MemoryOperation::kDrop:
          agent_.drop_tracking(request.line);
          break;
      }
      continue;
    }
    IoEvent event;
    if (!agent_.next_event(event)) return;
    switch (event.kind) {
      case IoEvent::Kind::kRead:
        queue_.read_done(event.line, event.bytes);
        break;
      case IoEvent::Kind::kOwned:
        queue_.owned(event.line);
        break;
      case IoEvent::Kind::kInvalidated:
        queue_.snoop_invalidate(event.line);
        break;
      case IoEvent::Kind::kDowngraded:
        queue_.snoop_share(event.line);
        break;
    }
  }
}

bool LitmusRootComplex::perform() {
  ordering::Perform perform;
  if (!queue_.next_perform(perform)) return false;
  std::array<std::uint64_t, 2> old{};
  if (perform.kind == ordering::Kind::kWrite) {
    agent_.perform_write(perform.line, perform.bytes, perform.mask, perform.keeps_ownership);
  } else {
    // The words of a litmus program are 8 bytes wide.
    WHARF_CHECK(ordering::byte_count(perform.mask) == sizeof old[0]);
    const LineBytes* bytes = agent_.owned_bytes(perform.line);
    WHARF_CHECK(bytes != nullptr);
    const std::uint32_t offset = ordering::first_byte(perform.mask);
    LineBytes changed = *bytes;
    old[0] = word(changed, offset);
    const std::uint64_t value = result_of(operation_of(perform), old[0]);
    std::memcpy(changed.data() + offset, &value, sizeof value);
    agent_.perform_write(perform.line, changed, perform.mask, perform.keeps_ownership);
  }
  queue_.performed(perform.line, old);
  return true;
}

}  // namespace wharf::sim
