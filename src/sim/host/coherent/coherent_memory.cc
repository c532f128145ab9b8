// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent/coherent_memory.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "sim/kernel/keep_slot.h"

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
      controller_(config.ddr),
      channels_(config.ddr.channels,
                MemoryChannel{lane_of(config.coherence, config.coherence.memory_request_cycles), {}, {}, {}}),
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
      line_time_(config_.cycle *
                 (config_.header_cycles + (kLineBytes + config_.width_bytes - 1) / config_.width_bytes)),
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
  flying_.grow(flying_.in_use() + 1);
  const std::uint32_t slot = flying_.acquire();
  copy_message(flying_[slot].message, message);
  flying_[slot].data_at = data_at;
  simulation_.schedule(at, id(), id(), kind, slot);
}

void CoherentMemory::handle(const Event& event) {
  const TimePs now = event.time;
  is_agents_turn_ = false;
  switch (static_cast<EventKind>(event.kind)) {
    case kAtHome: {
      home_.receive(flying_[event.argument].message);
      flying_.release(event.argument);
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
      home_.memory_done(take_slot(reading_, event.argument), nullptr);
      drain(now);
      break;
    }
    case kMemoryRoom:
      enter_held(now + memory_request_, event.argument / 2, event.argument % 2 != 0);
      drain(now);
      break;
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
    if (home_.has_snoop()) drain_snoops(now);
    while (home_.has_response()) {
      respond(now, home_.first_response());
      home_.first_response_taken();
    }
    if (home_.has_memory_access()) drain_accesses(now);
  }
}

[[gnu::noinline]] void CoherentMemory::drain_snoops(TimePs now) {
  Message message;
  while (home_.has_snoop() && home_.next_snoop(message)) snoop(now, message);
}

void CoherentMemory::drain_accesses(TimePs now) {
  MemoryAccess access;
  while (home_.has_memory_access() && home_.next_memory_access(access)) access_memory(now, access);
}

void CoherentMemory::snoop(TimePs now, const Message& message) {
  const MessageLane::Crossing crossing = snoops_.lane.send(now, payload_bytes(message));
  arrive(now, crossing.header, crossing.data, snoops_.last_pending, message);
}

/// Acknowledgements and data have lanes of their own, as AMBA CHI has the channels RSP and DAT, but none
/// arrives before one that was sent earlier.
void CoherentMemory::respond(TimePs now, Message& message) {
  Answers& answers = answers_[message.agent];
  MessageLane& lane = message.has_data ? answers.data : answers.acknowledgements;
  const MessageLane::Crossing crossing = lane.send(now, payload_bytes(message));
  answers.last = max(answers.last, crossing.header);
  if (message.has_data) {
    const std::byte* const newest = memory_.line(message.line * kLineBytes);
    if (newest != nullptr) std::memcpy(message.data.data(), newest, kLineBytes);
  }
  arrive(now, answers.last, max(crossing.data, answers.last), answers.last_pending, message);
}

void CoherentMemory::stored(LineNumber line, std::uint32_t offset, std::span<const std::byte> bytes) {
  std::byte* const newest = memory_.line(line * kLineBytes);
  if (newest != nullptr) std::memcpy(newest + offset, bytes.data(), bytes.size());
}

void CoherentMemory::access_memory(TimePs now, const MemoryAccess& access) {
  if (last_level_answers(access)) {
    if (access.is_write) {
      home_.memory_done(access.line, nullptr);
    } else {
      simulation_.schedule(now + memory_request_ + config_.last_level + memory_response_, id(), id(),
                           kMemoryRead, keep_slot(reading_, access.line));
    }
    return;
  }
  const std::uint32_t at = controller_.channel_of(access.line);
  MemoryChannel& channel = channels_[at];
  const MessageLane::Crossing crossing = channel.requests.send(now, access.is_write ? kLineBytes : 0);
  const TimePs arrived = access.is_write ? crossing.data : crossing.header;
  if (!channel.held[access.is_write].empty() ||
      !controller_.has_room(arrived, access.line, access.is_write)) {
    hold(at, access.is_write, {access.line, arrived});
    return;
  }
  channel.latest = arrived;
  enter_controller(arrived, access.line, access.is_write);
}

/// The controller has room for the access, which is there at `at`.
void CoherentMemory::enter_controller(TimePs at, LineNumber line, bool is_write) {
  if (is_write) {
    // The bytes are there since they were stored, and reads see them from the queue: nobody waits longer.
    controller_.write(at, line);
    home_.memory_done(line, nullptr);
    return;
  }
  const TimePs done = controller_.read(at, line);
  const TimePs begin = channels_[controller_.channel_of(line)].answers.take(done, line_time_);
  simulation_.schedule(begin + memory_response_, id(), id(), kMemoryRead, keep_slot(reading_, line));
}

void CoherentMemory::hold(std::uint32_t channel, bool is_write, const HeldAccess& access) {
  ++(is_write ? counters_.held_writes : counters_.held_reads);
  Ring<HeldAccess>& held = channels_[channel].held[is_write];
  if (held.full()) held.reserve(2 * held.capacity() + 1);
  held.push_back(access);
  if (held.size() == 1) wake_for_room(channel, is_write);
}

/// The home's time is that of the controller less the way between the two, so that who comes there at the
/// time of this event is compared with what comes now.
void CoherentMemory::wake_for_room(std::uint32_t channel, bool is_write) {
  simulation_.schedule(controller_.room_at(channel, is_write) - memory_request_, id(), id(), kMemoryRoom,
                       2 * channel + (is_write ? 1U : 0U));
}

void CoherentMemory::enter_held(TimePs at, std::uint32_t channel, bool is_write) {
  Ring<HeldAccess>& held = channels_[channel].held[is_write];
  while (!held.empty()) {
    const HeldAccess first = held.front();
    // Not before who came through the other queue, either.
    const TimePs enters = max(max(at, first.at), channels_[channel].latest);
    if (!controller_.has_room(enters, first.line, is_write)) {
      wake_for_room(channel, is_write);
      return;
    }
    held.pop_front();
    enter_controller(enters, first.line, is_write);
  }
}

bool CoherentMemory::last_level_answers(const MemoryAccess& access) {
  if (!is_device_[access.agent]) return false;
  const bool hit = ddio_.chance(ddio_hits_);
  counters_.last_level_hits += hit ? 1 : 0;
  return hit;
}

void CoherentMemory::describe_waiting(std::vector<std::string>& lines) const {
  if (!home_.is_idle()) lines.emplace_back("a transaction of the home is under way");
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const auto& [reads, writes] = channels_[i].held;
    if (reads.empty() && writes.empty()) continue;
    lines.push_back(fmt::format("{} reads and {} writes wait for the queues of memory channel {}",
                                reads.size(), writes.size(), i));
  }
}

}  // namespace wharf::sim
