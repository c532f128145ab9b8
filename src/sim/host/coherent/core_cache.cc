// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent/core_cache.h"

#include <cstring>
#include <utility>

#include "sim/kernel/keep_slot.h"

namespace wharf::sim {

CoreCache::CoreCache(Simulation& simulation, CoherentMemory& memory, AgentId agent,
                     const CoreCacheConfig& config, std::string name)
    : simulation_(simulation),
      memory_(memory),
      config_(config),
      line_beats_((kLineBytes + config.width_bytes - 1) / config.width_bytes),
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
    case CacheOutcome::kLevel2:
      hit(now, outcome, answer);
      break;
    case CacheOutcome::kPending:
      break;
    case CacheOutcome::kRefused:
      if (waiting_.full()) waiting_.reserve(2 * waiting_.capacity());
      waiting_.push_back(access);
      break;
  }
  drain(now, now, false);
}

void CoreCache::hit(TimePs from, CacheOutcome outcome, const CacheAnswer& answer) {
  const TimePs level1 = from + cycles(config_.level1_cycles);
  done(outcome == CacheOutcome::kLevel1 ? level1 : up_.take(down_through(level1, false), crossing(true)),
       answer);
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
  drain(now, data_at, message.has_data);
  // What found no room may have found some now.
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    CacheAnswer answer;
    // The line that has come is used when its bytes are here.
    const TimePs from = waiting_.front().address / kLineBytes == message.line ? data_at : now;
    const CacheOutcome outcome = attempt(waiting_.front(), answer);
    if (outcome == CacheOutcome::kRefused) break;
    waiting_.pop_front();
    if (outcome != CacheOutcome::kPending) hit(from, outcome, answer);
    drain(now, now, false);
  }
}

/// `has_line`: a line has come with what the cache was told, all of it at `data_at`.
void CoreCache::drain(TimePs now, TimePs data_at, bool has_line) {
  Message message;
  CacheAnswer answer;
  TimePs answered = kNever;
  for (;;) {
    bool moved = false;
    while (cache_.next_answer(answer)) {
      moved = true;
      // The bytes go up through both levels, once for all who wait for them.
      if (answered == kNever) {
        const TimePs begin = up_.take(now, crossing(has_line));
        answered = max(data_at, has_line ? begin + cycles(line_beats_) : begin) +
                   cycles(config_.between_cycles + config_.level1_cycles);
      }
      done(answered, answer);
    }
    while (cache_.next_request(message)) {
      moved = true;
      // A miss is known when both levels have been looked through.
      leave(down_through(now + cycles(config_.level1_cycles), message.has_data), kSendRequest,
            latest_request_, message);
    }
    while (cache_.next_response(message)) {
      moved = true;
      const TimePs asked = up_.take(now, crossing(false)) + cycles(config_.level1_cycles);
      leave(down_through(asked, message.has_data), kSendResponse, latest_response_, message);
    }
    if (!moved) return;
  }
}

void CoreCache::leave(TimePs at, EventKind kind, TimePs& latest, const Message& message) {
  latest = max(latest, at);
  simulation_.schedule(latest, id(), id(), kind, keep_slot(messages_, message));
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
