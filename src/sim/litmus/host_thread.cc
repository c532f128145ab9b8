// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/host_thread.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>

#include "base/check.h"

namespace wharf::sim {
namespace {

std::uint64_t word_of(const std::byte* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, kLitmusWordBytes);
  return value;
}

}  // namespace

bool LitmusHostThread::may_execute(const LitmusOperation& operation, const LitmusVariable& variable) const {
  if (waits_for_load_) return false;
  if (operation.action == LitmusAction::kRead) {
    std::array<std::byte, kLitmusWordBytes> bytes{};
    return stores_.load(variable.address, bytes) != ordering::ForwardedLoad::kWait;
  }
  if (operation.action == LitmusAction::kWrite) return !stores_.full();
  return stores_.drained();  // Atomics are locked instructions of x86: they drain, too.
}

void LitmusHostThread::execute(const LitmusOperation& operation, const LitmusVariable& variable,
                               std::uint64_t* registers) {
  std::array<std::byte, kLitmusWordBytes> bytes{};
  CacheOutcome outcome = CacheOutcome::kLevel1;
  std::uint64_t value = 0;
  if (operation.action == LitmusAction::kRead) {
    if (stores_.load(variable.address, bytes) == ordering::ForwardedLoad::kFromMemory)
      outcome = cache_.load(kLoadTicket, variable.address, kLitmusWordBytes, bytes.data());
    value = word_of(bytes.data());
  } else if (operation.action == LitmusAction::kAtomic) {
    AtomicOperation atomic{operation.atomic, operation.values[0], 0};
    if (operation.values.size() > 1) atomic.compare = operation.values[1];
    outcome = cache_.atomic(kLoadTicket, variable.address, kLitmusWordBytes, atomic, value);
  } else if (operation.action == LitmusAction::kWrite) {
    stores_.store(variable.address, std::as_bytes(std::span(operation.values)));
  }
  if (outcome == CacheOutcome::kRefused) return;
  if (outcome == CacheOutcome::kPending) {
    waits_for_load_ = true;
    return;
  }
  if (!operation.registers.empty()) registers[operation.registers[0]] = value;
  ++at_;
}

void LitmusHostThread::drain() {
  ordering::StoreBuffer next = stores_;
  ordering::HostStore store;
  WHARF_CHECK(next.next_store(store));
  const CacheOutcome outcome = cache_.store(kStoreTicket, store.address, store.bytes());
  if (outcome == CacheOutcome::kRefused) return;
  stores_ = next;
  is_draining_ = outcome == CacheOutcome::kPending;
  if (!is_draining_) stores_.performed();
}

void LitmusHostThread::receive(const Message& message, const LitmusAgent& agent, std::uint64_t* registers) {
  cache_.receive(message);
  take_answers(agent, registers);
}

void LitmusHostThread::take_answers(const LitmusAgent& agent, std::uint64_t* registers) {
  CacheAnswer answer;
  while (cache_.next_answer(answer)) {
    if (answer.ticket == kStoreTicket) {
      WHARF_CHECK(is_draining_);
      is_draining_ = false;
      stores_.performed();
      continue;
    }
    WHARF_CHECK(waits_for_load_);
    waits_for_load_ = false;
    registers[agent.operations[at_].registers[0]] = word_of(answer.bytes.data());
    ++at_;
  }
}

void LitmusHostThread::append_state(std::vector<std::byte>& state) const {
  append_bytes(state, at_);
  append_bytes(state, static_cast<std::uint8_t>((waits_for_load_ ? 1U : 0U) | (is_draining_ ? 2U : 0U)));
  stores_.append_state(state);
  cache_.append_state(state);
}

void LitmusHostThread::who_waits(const LitmusAgent& agent, std::vector<std::string>& lines) const {
  if (waits_for_load_) {
    lines.push_back(fmt::format("{} waits for the value of {}", agent.name, agent.operations[at_].text));
  } else if (at_ < agent.operations.size()) {
    lines.push_back(fmt::format("{} has not executed {}", agent.name, agent.operations[at_].text));
  }
  if (!stores_.drained()) {
    lines.push_back(fmt::format("{} has {} store(s) in its buffer{}", agent.name, stores_.size(),
                                is_draining_ ? ", the oldest waits for its line" : ""));
  }
}

}  // namespace wharf::sim
