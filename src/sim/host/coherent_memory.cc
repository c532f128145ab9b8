// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent_memory.h"

#include <cstring>
#include <utility>

#include "sim/host/keep_slot.h"

namespace wharf::sim {

namespace {

HomeConfig home_config(const CoherenceConfig& config,
                       const std::vector<CoherentMemory::AgentConfig>& agents) {
  HomeConfig home;
  home.directory_sets = config.directory_sets;
  home.directory_ways = config.directory_ways;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    home.credits.push_back(agents[i].credits);
    if (agents[i].supplies) home.suppliers |= std::uint64_t{1} << i;
  }
  return home;
}

MessageLane lane_of(const CoherenceConfig& config, std::uint32_t cycles) {
  return {config.cycle, config.width_bytes, config.header_cycles, config.cycle * cycles};
}

constexpr TimePs kNeverYet = picoseconds(-1);

}  // namespace

CoherentMemory::CoherentMemory(Simulation& simulation, const CoherentConfig& config,
                               const std::vector<AgentConfig>& agents, HostMemory& memory, std::uint64_t seed,
                               std::string name)
    : simulation_(simulation),
      config_(config.coherence),
      memory_(memory),
      home_(home_config(config.coherence, agents)),
      ddr_(config.ddr),
      receivers_(agents.size(), nullptr),
      requests_{lane_of(config_, config_.request_cycles), kNeverYet},
      snoops_{lane_of(config_, config_.snoop_cycles), kNeverYet},
      snoop_responses_{lane_of(config_, config_.snoop_response_cycles), kNeverYet},
      answers_(agents.size(), Answers{lane_of(config_, config_.grant_cycles),
                                      lane_of(config_, config_.grant_cycles), kTimeZero, kNeverYet}),
      flying_(1024),
      reading_(1024),
      arrived_(64),
      memory_request_(config_.cycle * config_.memory_request_cycles),
      memory_response_(config_.cycle * config_.memory_response_cycles),
      ddio_(seed, "ddio"),
      ddio_hits_(Probability::from(config_.ddio_hit_ratio)) {
  for (const AgentConfig& agent : agents) is_device_.push_back(agent.is_device);
  simulation.add(*this, std::move(name));
}

void CoherentMemory::send(TimePs now, const Message& message) {
  Lane& lane = class_of(message.kind) == MessageClass::kRequest ? requests_ : snoop_responses_;
  const MessageLane::Crossing crossing = lane.lane.send(now, payload_bytes(message));
  ++counters_.messages;
  // A notice in passing may come early: its agent has given the copy up, and what it asks for later comes
  // later.
  const bool is_notice = message.kind == MessageKind::kDropShared;
  if (!is_notice && (crossing.header > now || lane.last_pending == now)) {
    lane.last_pending = crossing.header;
    fly(crossing.header, kAtHome, message, crossing.data);
    return;
  }
  home_.receive(message);
  drain(now);
}

void CoherentMemory::fly(TimePs at, EventKind kind, const Message& message, TimePs data_at) {
  simulation_.schedule(at, id(), id(), kind, keep_slot(flying_, {message, data_at}));
}

void CoherentMemory::handle(const Event& event) {
  const TimePs now = event.time;
  is_agents_turn_ = false;
  switch (static_cast<EventKind>(event.kind)) {
    case kAtHome: {
      const Flying flying = take_slot(flying_, event.argument);
      home_.receive(flying.message);
      drain(now);
      break;
    }
    case kAtAgent: {
      const Flying flying = take_slot(flying_, event.argument);
      receivers_[flying.message.agent]->receive(now, flying.message, flying.data_at);
      break;
    }
    case kMemoryRead: {
      // What the home hands on gets its bytes when it leaves.
      static constexpr LineBytes kToBeFilled{};
      home_.memory_done(take_slot(reading_, event.argument), &kToBeFilled);
      drain(now);
      break;
    }
  }
  deliver(now);
  is_agents_turn_ = true;
}

/// Agents act one after another; what they send may add to what has arrived.
void CoherentMemory::deliver(TimePs now) {
  while (!arrived_.empty()) {
    const Flying flying = arrived_.front();
    arrived_.pop_front();
    receivers_[flying.message.agent]->receive(now, flying.message, flying.data_at);
  }
}

/// A message's header is with its agent at `at`. None overtakes one that an event is still to bring.
void CoherentMemory::arrive(TimePs now, TimePs at, TimePs data_at, TimePs& last_pending,
                            const Message& message) {
  if (at > now || last_pending == now || is_agents_turn_) {
    last_pending = at;
    fly(at, kAtAgent, message, data_at);
    return;
  }
  if (arrived_.full()) arrived_.reserve(2 * arrived_.capacity());
  arrived_.push_back({message, data_at});
}

void CoherentMemory::drain(TimePs now) {
  while (home_.has_output()) {
    Message message;
    while (home_.next_snoop(message)) snoop(now, message);
    while (home_.next_response(message)) respond(now, message);
    if (!home_.has_memory_access()) continue;
    MemoryAccess access;
    while (home_.next_memory_access(access)) access_memory(now, access);
  }
}

void CoherentMemory::snoop(TimePs now, const Message& message) {
  const MessageLane::Crossing crossing = snoops_.lane.send(now, payload_bytes(message));
  arrive(now, crossing.header, crossing.data, snoops_.last_pending, message);
}

/// Acknowledgements and data have lanes of their own, as AMBA CHI has the channels RSP and DAT, but none
/// arrives before one that was sent earlier.
void CoherentMemory::respond(TimePs now, const Message& message) {
  Answers& answers = answers_[message.agent];
  MessageLane& lane = message.has_data ? answers.data : answers.acknowledgements;
  const MessageLane::Crossing crossing = lane.send(now, payload_bytes(message));
  answers.last = max(answers.last, crossing.header);
  Message filled = message;
  if (message.has_data) {
    const std::byte* const newest = memory_.line(message.line * kLineBytes);
    if (newest != nullptr) std::memcpy(filled.data.data(), newest, kLineBytes);
  }
  arrive(now, answers.last, max(crossing.data, answers.last), answers.last_pending, filled);
}

void CoherentMemory::stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes) {
  std::byte* const newest = memory_.line(line * kLineBytes);
  if (newest != nullptr) std::memcpy(newest + offset, bytes.data(), bytes.size());
}

void CoherentMemory::access_memory(TimePs now, const MemoryAccess& access) {
  const std::uint64_t address = access.line * kLineBytes;
  if (access.is_write) {
    // The bytes are there since they were stored; what is left is the time that the banks take.
    if (!last_level_answers(access)) (void)ddr_.access(now + memory_request_, address, true);
    home_.memory_done(access.line, nullptr);
    return;
  }
  const TimePs asked = now + memory_request_;
  const TimePs done =
      last_level_answers(access) ? asked + config_.last_level : ddr_.access(asked, address, false);
  simulation_.schedule(done + memory_response_, id(), id(), kMemoryRead, keep_slot(reading_, access.line));
}

bool CoherentMemory::last_level_answers(const MemoryAccess& access) {
  if (!is_device_[access.agent]) return false;
  const bool hit = ddio_.chance(ddio_hits_);
  counters_.last_level_hits += hit ? 1 : 0;
  return hit;
}

void CoherentMemory::describe_waiting(std::vector<std::string>& lines) const {
  if (!home_.is_idle()) lines.emplace_back("a transaction of the home is under way");
}

}  // namespace wharf::sim
