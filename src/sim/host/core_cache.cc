// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core_cache.h"

#include <cstring>
#include <utility>

#include "sim/host/keep_slot.h"

namespace wharf::sim {

CoreCache::CoreCache(Simulation& simulation, CoherentMemory& memory, AgentId agent,
                     const CoreCacheConfig& config, std::string name)
    : simulation_(simulation),
      memory_(memory),
      config_(config),
      cache_(agent, config.cache),
      waiting_(16),
      answers_(64),
      messages_(64) {
  simulation.add(*this, std::move(name));
  memory.connect(agent, *this);
}

void CoreCache::load(TimePs now, Ticket ticket, std::uint64_t address, std::uint32_t size) {
  begin(now, {AccessKind::kLoad, ticket, address, size, {}, {}});
}

void CoreCache::store(TimePs now, Ticket ticket, std::uint64_t address, std::span<const std::byte> value) {
  Access access{AccessKind::kStore, ticket, address, static_cast<std::uint32_t>(value.size()), {}, {}};
  std::memcpy(access.bytes.data(), value.data(), value.size());
  begin(now, access);
}

void CoreCache::atomic(TimePs now, Ticket ticket, std::uint64_t address, std::uint32_t size,
                       const AtomicOperation& operation) {
  begin(now, {AccessKind::kAtomic, ticket, address, size, {}, operation});
}

void CoreCache::flush(TimePs now, Ticket ticket, LineNumber line) {
  begin(now, {AccessKind::kFlush, ticket, line * kLineBytes, 0, {}, {}});
}

void CoreCache::begin(TimePs now, const Access& access) {
  CacheAnswer answer;
  const CacheOutcome outcome = waiting_.empty() ? attempt(access, answer) : CacheOutcome::kRefused;
  switch (outcome) {
    case CacheOutcome::kLevel1:
      done(now + cycles(config_.level1_cycles), answer);
      break;
    case CacheOutcome::kLevel2:
      done(now + whole_way(), answer);
      break;
    case CacheOutcome::kPending:
      break;
    case CacheOutcome::kRefused:
      if (waiting_.full()) waiting_.reserve(2 * waiting_.capacity());
      waiting_.push_back(access);
      break;
  }
  drain(now, now);
}

CacheOutcome CoreCache::attempt(const Access& access, CacheAnswer& answer) {
  answer.ticket = access.ticket;
  switch (access.kind) {
    case AccessKind::kLoad:
      answer.size = access.size;
      return cache_.load(access.ticket, access.address, access.size, answer.bytes.data());
    case AccessKind::kStore:
      return cache_.store(access.ticket, access.address, {access.bytes.data(), access.size});
    case AccessKind::kAtomic: {
      std::uint64_t old = 0;
      const CacheOutcome outcome =
          cache_.atomic(access.ticket, access.address, access.size, access.operation, old);
      answer.size = access.size;
      std::memcpy(answer.bytes.data(), &old, sizeof old);
      return outcome;
    }
    case AccessKind::kFlush:
      return cache_.flush(access.ticket, access.address / kLineBytes);
  }
  return CacheOutcome::kRefused;
}

void CoreCache::done(TimePs at, const CacheAnswer& answer) {
  simulation_.schedule(at, id(), id(), kAnswer, keep_slot(answers_, answer));
}

void CoreCache::receive(TimePs now, const Message& message, TimePs data_at) {
  cache_.receive(message);
  drain(now, data_at);
  // What found no room may have found some now.
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    CacheAnswer answer;
    // The line that has come is used when its bytes are here.
    const TimePs from = waiting_.front().address / kLineBytes == message.line ? data_at : now;
    const CacheOutcome outcome = attempt(waiting_.front(), answer);
    if (outcome == CacheOutcome::kRefused) break;
    waiting_.pop_front();
    if (outcome != CacheOutcome::kPending)
      done(from + (outcome == CacheOutcome::kLevel1 ? cycles(config_.level1_cycles) : whole_way()), answer);
    drain(now, now);
  }
}

void CoreCache::drain(TimePs now, TimePs data_at) {
  Message message;
  CacheAnswer answer;
  for (;;) {
    bool moved = false;
    while (cache_.next_answer(answer)) {
      moved = true;
      // The bytes go up through both levels.
      done(data_at + cycles(config_.between_cycles + config_.level1_cycles), answer);
    }
    while (cache_.next_request(message)) {
      moved = true;
      // A miss is known when both levels have been looked through.
      simulation_.schedule(now + whole_way(), id(), id(), kSendRequest, keep_slot(messages_, message));
    }
    while (cache_.next_response(message)) {
      moved = true;
      simulation_.schedule(now + whole_way(), id(), id(), kSendResponse, keep_slot(messages_, message));
    }
    if (!moved) return;
  }
}

void CoreCache::handle(const Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case kAnswer: {
      const CacheAnswer answer = take_slot(answers_, event.argument);
      if (client_ != nullptr) client_->cache_done(event.time, answer);
      break;
    }
    case kSendRequest:
    case kSendResponse:
      memory_.send(event.time, take_slot(messages_, event.argument));
      break;
  }
}

void CoreCache::describe_waiting(std::vector<std::string>& lines) const {
  if (!cache_.is_idle()) lines.emplace_back("misses are under way");
  if (!waiting_.empty())
    lines.push_back(std::to_string(waiting_.size()) + " accesses wait for a miss register");
}

}  // namespace wharf::sim
