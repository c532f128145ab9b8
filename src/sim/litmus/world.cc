// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "sim/litmus/fabric.h"
#include "sim/litmus/machines.h"

namespace wharf::sim {
namespace {

bool is_on_mmio_path(LitmusAction action) { return action >= LitmusAction::kMmioStore; }
bool is_own_register(LitmusAction action) {
  return action == LitmusAction::kLocalRead || action == LitmusAction::kLocalWrite;
}

/// Fences, and locked instructions, whose sets are full.
bool orders_device(const LitmusOperation& operation) {
  return operation.action == LitmusAction::kFence || operation.action == LitmusAction::kAtomic;
}

/// What an instruction of one variable is about; a fence is about none.
LitmusVariable variable_of(const LitmusProgram& program, const LitmusOperation& operation) {
  return operation.variables.empty() ? LitmusVariable{} : program.variables[operation.variables[0]];
}

std::uint32_t channel_of(const Message& message, bool to_home) {
  return message.agent * 8U + static_cast<std::uint32_t>(class_of(message.kind)) * 2U + (to_home ? 1U : 0U);
}

bool has_mmio_loads(const LitmusProgram& program) {
  return std::any_of(program.agents.begin(), program.agents.end(), [](const LitmusAgent& agent) {
    return std::any_of(
        agent.operations.begin(), agent.operations.end(),
        [](const LitmusOperation& operation) { return operation.action == LitmusAction::kMmioLoad; });
  });
}

/// True when no request of one device thread constrains a request of another in the fabric, either way.
bool are_threads_independent(const LitmusProgram& program, LitmusDesign design) {
  struct Sent {
    ordering::Request request;
    std::uint8_t way;
  };
  std::vector<Sent> all;
  for (std::size_t agent = 0; agent < program.agents.size(); ++agent) {
    if (!program.agents[agent].is_device) continue;
    for (std::size_t at = 0; at < program.agents[agent].operations.size(); ++at) {
      const LitmusOperation& operation = program.agents[agent].operations[at];
      for (std::size_t line = 0; is_request(operation.action) && line < operation.lines(); ++line)
        all.push_back({request_of(program, design, agent, at, line),
                       way_of(program, program.agents[agent], operation)});
    }
  }
  for (const Sent& one : all) {
    for (const Sent& other : all) {
      if (one.way == other.way && !(one.request.domain == other.request.domain) &&
          !may_pass(design, program.settings, one.request, other.request))
        return false;
    }
  }
  return true;
}

}  // namespace

LitmusWorld::LitmusWorld(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps)
    : program_(&program),
      design_(design),
      steps_(steps),
      threads_are_independent_(are_threads_independent(program, design)),
      orders_completions_(has_mmio_loads(program) &&
                          !completion_may_pass_writes(design, program.settings, ordering::Label::kStrong)),
      home_(litmus_home_config(program)),
      registers_(program.registers()) {
  for (std::uint32_t number = 0; number < program.root_complexes(); ++number)
    roots_.push_back(make_litmus_root(program, design, number));
  for (const LitmusAgent& agent : program.agents) {
    if (agent.is_device) {
      places_.push_back(static_cast<std::uint8_t>(devices_.size()));
      devices_.emplace_back();
    } else {
      places_.push_back(static_cast<std::uint8_t>(hosts_.size()));
      hosts_.emplace_back(static_cast<AgentId>(hosts_.size()), program.settings,
                          litmus_cache_config(program.settings));
    }
  }
  if (is_source_side(design)) {
    source_.emplace(
        design == LitmusDesign::kSourceLine ? ordering::SourceUnit::kLine : ordering::SourceUnit::kMessage,
        static_cast<std::uint32_t>(devices_.size()) + 1);
  }
  if (program.uses_mmio()) mmio_.emplace(program, design, static_cast<std::uint32_t>(hosts_.size()));
  for (const LitmusVariable& variable : program.variables) {
    peer_words_.push_back(variable.is_peer ? variable.initial : 0);
    if (variable.is_mmio || variable.is_peer) continue;
    const std::size_t line = variable.address / kLineBytes;
    if (memory_.size() <= line) memory_.resize(line + 1);
    std::memcpy(memory_[line].data() + variable.address % kLineBytes, &variable.initial,
                sizeof variable.initial);
  }
  for (std::size_t line = 0; line < memory_.size(); ++line) observer_.set_initial(line, memory_[line]);
  observe();
  settle();
}

LitmusWorld::LitmusWorld(const LitmusWorld& other) = default;

void LitmusWorld::observe() {
  for (LitmusHostThread& host : hosts_) host.observe_with(&observer_);
  for (RlsqAgent& root : roots_) root.observe_with(&observer_);
}

bool LitmusWorld::may_execute(std::size_t agent) const {
  const LitmusHostThread& host = hosts_[places_[agent]];
  const LitmusOperation* next = host.next(program_->agents[agent]);
  if (next == nullptr || host.is_waiting()) return false;
  if (orders_device(*next) && mmio_ &&
      !mmio_->may_fence(places_[agent], next->predecessors, next->successors))
    return false;
  if (next->action == LitmusAction::kFence) {
    return host.is_drained() ||
           !ordering::fence_effect(next->predecessors, next->successors).wait_host_stores;
  }
  if (is_on_mmio_path(next->action))
    return mmio_->may_execute(*next, variable_of(*program_, *next), places_[agent], host.is_drained());
  return host.may_execute(*next, program_->variables[next->variables[0]]);
}

void LitmusWorld::list_mmio_steps(std::vector<LitmusStep>& steps) const {
  const auto add = [&](LitmusStep::Kind kind, std::size_t index, std::uint32_t choice) {
    steps.push_back({kind, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(choice)});
  };
  for (std::uint32_t thread = 0; thread < hosts_.size(); ++thread) {
    for (std::uint32_t choice = 0; choice < mmio_->open_lines(thread); ++choice)
      add(LitmusStep::Kind::kClose, thread, choice);
    for (std::uint32_t choice = 0; choice < mmio_->leaving(thread); ++choice) {
      if (mmio_->may_leave(thread, choice)) add(LitmusStep::Kind::kLeave, thread, choice);
    }
  }
  for (std::uint32_t place = 0; place < mmio_->moving(); ++place) {
    if (mmio_->may_move(place)) add(LitmusStep::Kind::kMove, place, 0);
  }
}

bool LitmusWorld::may_drain(std::size_t agent) const {
  const bool is_held = mmio_ && mmio_->holds_stores(places_[agent]);
  return hosts_[places_[agent]].may_drain() && (!is_held || is_mutated(LitmusMutation::kStoresPassUncached));
}

bool LitmusWorld::may_send(std::size_t agent) const {
  const LitmusDeviceThread& device = devices_[places_[agent]];
  if (!device.may_go_on(program_->agents[agent])) return false;
  const LitmusOperation& next = program_->agents[agent].operations[device.at];
  return !source_ || !is_request(next.action) || source_->may_send(agent, device.at);
}

void LitmusWorld::list_steps(std::vector<LitmusStep>& steps) const {
  const auto add = [&](LitmusStep::Kind kind, std::size_t index) {
    steps.push_back({kind, static_cast<std::uint16_t>(index), 0});
  };
  for (std::size_t agent = 0; agent < program_->agents.size(); ++agent) {
    if (is_host(agent)) {
      if (may_execute(agent)) add(LitmusStep::Kind::kExecute, agent);
      if (may_drain(agent)) add(LitmusStep::Kind::kDrain, agent);
    } else if (may_send(agent)) {
      add(LitmusStep::Kind::kSend, agent);
    }
  }
  for (std::size_t place = 0; place < fabric_.size(); ++place) {
    if (may_arrive(place)) add(LitmusStep::Kind::kArrive, place);
  }
  for (std::size_t flight = 0; flight < network_.size(); ++flight) {
    if (is_first_of_line(flight)) add(LitmusStep::Kind::kMessage, flight);
  }
  for (std::size_t place = 0; place < accesses_.size(); ++place) add(LitmusStep::Kind::kMemory, place);
  for (std::size_t place = 0; place < answers_.size(); ++place) {
    if (answers_[place].behind == 0) add(LitmusStep::Kind::kAnswer, place);
  }
  if (mmio_) list_mmio_steps(steps);
}

void LitmusWorld::take(LitmusStep step) {
  observe();  // This object may be a copy.
  switch (step.kind) {
    case LitmusStep::Kind::kExecute:
      execute(step.index);
      break;
    case LitmusStep::Kind::kDrain:
      hosts_[places_[step.index]].drain();
      break;
    case LitmusStep::Kind::kSend:
      send(step.index);
      break;
    case LitmusStep::Kind::kArrive:
      arrive(step.index);
      break;
    case LitmusStep::Kind::kMessage:
      deliver(step.index);
      break;
    case LitmusStep::Kind::kMemory:
      finish_access(step.index);
      break;
    case LitmusStep::Kind::kAnswer:
      answer(step.index);
      break;
    case LitmusStep::Kind::kClose:
      mmio_->close(step.index, step.choice);
      break;
    case LitmusStep::Kind::kLeave:
      mmio_->leave(step.index, step.choice);
      break;
    case LitmusStep::Kind::kMove:
      if (const auto device = mmio_->move(step.index)) {
        for (Answer& answer : answers_) {
          if (program_->agents[agent_of(answer.response.domain)].registers_of == *device)
            answer.behind -= std::min(answer.behind, 1U);
        }
      }
      break;
  }
  settle();
}

void LitmusWorld::execute(std::size_t agent) {
  LitmusHostThread& host = hosts_[places_[agent]];
  const LitmusOperation& next = *host.next(program_->agents[agent]);
  if (orders_device(next) && mmio_ && !mmio_->fence(places_[agent], next.predecessors, next.successors))
    return;  // It is executed again.
  if (next.action == LitmusAction::kFence) {
    host.skip();
  } else if (!execute_mmio(host, next, agent)) {
    host.execute(next, program_->variables[next.variables[0]], registers_of(agent));
  }
}

bool LitmusWorld::execute_mmio(LitmusHostThread& host, const LitmusOperation& next, std::size_t agent) {
  if (!is_on_mmio_path(next.action)) return false;
  switch (mmio_->execute(next, variable_of(*program_, next), places_[agent], host.is_drained(),
                         host.position())) {
    case LitmusMmioPath::Executed::kDone:
      host.skip();
      break;
    case LitmusMmioPath::Executed::kWaits:
      host.wait();
      break;
    case LitmusMmioPath::Executed::kAgain:
      break;
  }
  return true;
}

std::size_t LitmusWorld::agent_of(const ordering::Domain& domain) const {
  for (std::size_t agent = 0; agent < program_->agents.size(); ++agent) {
    const LitmusAgent& program = program_->agents[agent];
    if (program.is_device && domain == ordering::Domain{program.requester, program.thread}) return agent;
  }
  WHARF_UNREACHABLE();
}

// What a device does without the fabric.
bool LitmusWorld::do_own(LitmusDeviceThread& device, const LitmusOperation& next, std::size_t agent) {
  if (is_request(next.action)) return false;
  if (is_own_register(next.action)) {
    const std::uint32_t index = next.variables[0];
    const LitmusVariable& variable = program_->variables[index];
    if (next.action == LitmusAction::kLocalRead) {
      registers_of(agent)[next.registers[0]] =
          variable.is_peer ? peer_words_[index] : mmio_->word(variable.address);
    } else if (variable.is_peer) {
      peer_words_[index] = next.values[0];
    } else {
      mmio_->set_word(variable.address, next.values[0]);
    }
  }
  ++device.at;
  return true;
}

void LitmusWorld::send(std::size_t agent) {
  LitmusDeviceThread& device = devices_[places_[agent]];
  const LitmusAgent& program = program_->agents[agent];
  if (do_own(device, program.operations[device.at], agent)) return;
  const LitmusTransfer sent = device.send(program, agent);
  const LitmusOperation& operation = program.operations[sent.operation];
  const bool is_posted = operation.action == LitmusAction::kWrite;
  if (source_) source_->sent(agent, sent.operation, is_posted);
  if (orders_completions_ && is_posted &&
      sim::way_of(*program_, program, operation) == mmio_way(program.registers_of)) {
    const PostedLine posted{sent.agent, request_of(*program_, design_, agent, sent.operation, sent.line).tag};
    posted_.insert(std::lower_bound(posted_.begin(), posted_.end(), posted), posted);
  }
  // Where no thread constrains another, only the order within each counts.
  auto place = fabric_.end();
  while (threads_are_independent_ && place != fabric_.begin() && (place - 1)->agent > sent.agent) --place;
  fabric_.insert(place, sent);
}

bool LitmusWorld::may_arrive(std::size_t place) const {
  const LitmusTransfer& mover = fabric_[place];
  const ordering::Request request = request_of(*program_, design_, mover.agent, mover.operation, mover.line);
  const std::uint8_t way = way_of(mover);
  if (way != kLitmusPeerWay && !roots_[root_of(way)].can_accept(request)) return false;
  return std::all_of(fabric_.begin(), fabric_.begin() + static_cast<std::ptrdiff_t>(place),
                     [&](const LitmusTransfer& earlier) {
                       return way_of(earlier) != way || may_pass(design_, program_->settings,
                                                                 request_of(*program_, design_, earlier.agent,
                                                                            earlier.operation, earlier.line),
                                                                 request);
                     });
}

void LitmusWorld::arrive(std::size_t place) {
  const LitmusTransfer mover = fabric_[place];
  fabric_.erase(fabric_.begin() + static_cast<std::ptrdiff_t>(place));
  const std::uint8_t way = way_of(mover);
  if (way == kLitmusPeerWay) {
    reach_peer(mover);
    return;
  }
  WHARF_CHECK(
      roots_[root_of(way)].accept(request_of(*program_, design_, mover.agent, mover.operation, mover.line)));
}

// A peer device takes requests one after the other, as they come.
void LitmusWorld::reach_peer(const LitmusTransfer& transfer) {
  const LitmusOperation& operation = operation_of(transfer);
  const std::uint32_t index = operation.variables[0];
  if (operation.action == LitmusAction::kWrite) {
    peer_words_[index] = operation.values[0];
    return;
  }
  const ordering::Request request =
      request_of(*program_, design_, transfer.agent, transfer.operation, transfer.line);
  ordering::Response response;
  response.tag = request.tag;
  response.domain = request.domain;
  response.number = request.number;
  response.line = request.line;
  response.mask = request.mask;
  std::memcpy(response.bytes.data() + program_->variables[index].address % kLineBytes, &peer_words_[index],
              kLitmusWordBytes);
  add_answer(response, 0);  // By the switch.
}

void LitmusWorld::add_answer(const ordering::Response& response, std::uint32_t behind) {
  const auto key = [](const ordering::Response& it) { return std::tuple(it.domain.key(), it.tag); };
  const Answer made{response, behind};
  const auto place =
      std::upper_bound(answers_.begin(), answers_.end(), made,
                       [&](const Answer& a, const Answer& b) { return key(a.response) < key(b.response); });
  answers_.insert(place, made);
}

void LitmusWorld::answer(std::size_t place) {
  const ordering::Response response = answers_[place].response;
  answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(place));
  const std::size_t agent = agent_of(response.domain);
  if (source_) source_->answered(agent);
  devices_[places_[agent]].receive(response, *program_, program_->agents[agent], registers_of(agent));
}

void LitmusWorld::finish_access(std::size_t place) {
  const MemoryAccess access = accesses_[place];
  accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(place));
  if (access.is_write) memory_[access.line] = access.data;
  home_.memory_done(access.line, access.is_write ? nullptr : &memory_[access.line]);
}

void LitmusWorld::fly(const Message& message, bool to_home) {
  const Flight made{channel_of(message, to_home), to_home, message};
  // Messages of one channel and line stay in order; where they stand otherwise says nothing, so it is fixed.
  const auto place =
      std::upper_bound(network_.begin(), network_.end(), made, [](const Flight& a, const Flight& b) {
        return std::pair(a.channel, a.message.line) < std::pair(b.channel, b.message.line);
      });
  network_.insert(place, made);
}

bool LitmusWorld::is_first_of_line(std::size_t flight) const {
  if (flight == 0) return true;
  const Flight& before = network_[flight - 1];
  return before.channel != network_[flight].channel || before.message.line != network_[flight].message.line;
}

void LitmusWorld::deliver(std::size_t flight) {
  const Flight moved = network_[flight];
  network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(flight));
  if (moved.to_home) {
    home_.receive(moved.message);
  } else if (is_root(moved.message.agent)) {
    roots_[moved.message.agent - hosts_.size()].receive(moved.message);
  } else {
    for (std::size_t agent = 0; agent < places_.size(); ++agent) {
      if (is_host(agent) && places_[agent] == moved.message.agent)
        hosts_[places_[agent]].receive(moved.message, program_->agents[agent], registers_of(agent));
    }
  }
}

/// Takes what the machines hand out.
void LitmusWorld::collect() {
  if (mmio_) take_mmio_answers();
  Message message;
  for (LitmusHostThread& host : hosts_) {
    while (host.next_message(message)) fly(message, true);
  }
  for (RlsqAgent& root : roots_) {
    while (root.next_message(message)) fly(message, true);
  }
  while (home_.next_snoop(message)) fly(message, false);
  while (home_.next_response(message)) fly(message, false);
  MemoryAccess access;
  while (home_.next_memory_access(access)) {
    const auto place =
        std::upper_bound(accesses_.begin(), accesses_.end(), access,
                         [](const MemoryAccess& a, const MemoryAccess& b) { return a.line < b.line; });
    accesses_.insert(place, access);
  }
  ordering::Response response;
  for (RlsqAgent& root : roots_) {
    while (root.next_response(response)) {
      if (response.kind == ordering::Kind::kWrite) {
        written(response);  // No device sees it.
      } else {
        add_answer(response, writes_before(response));
      }
    }
  }
  if (mmio_) finish_mmio_loads();
}

// After each step, whatever cannot be told from being delayed is done at once. Each of these steps commutes
// with every step that could come before it instead, so that an outcome reached with it late is reached with
// it early as well (a test compares both explorations on every small program):
// - answers to a device only set registers and let the device send, which is a step of its own;
// - a fence and a store into a store buffer touch one thread, whose drain and next load are steps;
// - sending touches the fabric only, and arriving is a step, as long as no other thread's requests care; a
//   posted write that an answer to an MMIO load would have to stay behind is a step;
// - a memory access blocks its own line in the home only, and its answer travels as a step, or is certain;
// - a private cache's request is certain because the load or drain that caused it can be late instead: an
//   in-order core does nothing in between but what its buffer does to other lines;
// - its snoops, and all answers to snoops, are certain because the request that caused the snoop can be late
//   instead: the line is blocked for everybody until the last answer;
// - its data is certain because nobody but the waiting instruction sees it arrive;
// - what goes to a device's own registers, and MMIO below the store buffer, are steps throughout;
// - what the root complex gives up may come at any time without changing a value.
// What stays: loads, drains, arrivals, the root complex's requests, and everything the home sends to it.
void LitmusWorld::settle() {
  collect();
  if (steps_ == LitmusSteps::kEvery) return;
  while (take_certain_step()) collect();
}

bool LitmusWorld::is_certain(const Flight& flight) const {
  if (!is_root(flight.message.agent)) return true;
  return flight.to_home &&
         (is_put(flight.message.kind) || class_of(flight.message.kind) == MessageClass::kResponse);
}

bool LitmusWorld::take_certain_step() {
  for (std::size_t place = 0; place < answers_.size(); ++place) {
    if (answers_[place].behind != 0) continue;
    answer(place);
    return true;
  }
  if (!accesses_.empty()) {
    finish_access(0);
    return true;
  }
  for (std::size_t flight = 0; flight < network_.size(); ++flight) {
    if (!is_first_of_line(flight) || !is_certain(network_[flight])) continue;
    deliver(flight);
    return true;
  }
  for (std::size_t agent = 0; agent < program_->agents.size(); ++agent) {
    if (is_host(agent)) {
      if (!may_execute(agent)) continue;
      const LitmusAction next = hosts_[places_[agent]].next(program_->agents[agent])->action;
      if (next != LitmusAction::kFence && next != LitmusAction::kWrite) continue;
      execute(agent);
      return true;
    }
    if (!threads_are_independent_ && devices_.size() > 1) continue;
    if (!may_send(agent)) continue;
    const LitmusAction next = program_->agents[agent].operations[devices_[places_[agent]].at].action;
    if (is_own_register(next) || (orders_completions_ && next == LitmusAction::kWrite)) continue;
    send(agent);
    return true;
  }
  return false;
}

bool LitmusWorld::is_finished() const {
  for (std::size_t agent = 0; agent < program_->agents.size(); ++agent) {
    const LitmusAgent& program = program_->agents[agent];
    const bool finished = is_host(agent) ? hosts_[places_[agent]].is_finished(program)
                                         : devices_[places_[agent]].is_finished(program);
    if (!finished) return false;
  }
  return fabric_.empty() && network_.empty() && accesses_.empty() && answers_.empty() &&
         completions_.empty() && home_.is_idle() &&
         std::all_of(roots_.begin(), roots_.end(),
                     [](const RlsqAgent& root) { return root.queue().is_idle(); }) &&
         (!mmio_ || mmio_->is_finished());
}

const LineBytes* LitmusWorld::modified_bytes(LineNumber line) const {
  for (const LitmusHostThread& host : hosts_) {
    if (const LineBytes* found = host.cache().modified_bytes(line)) return found;
  }
  for (const RlsqAgent& root : roots_) {
    if (const LineBytes* found = root.agent().modified_bytes(line)) return found;
  }
  return nullptr;
}

std::string LitmusWorld::violation() {
  if (mmio_ && !mmio_->failure().empty()) return mmio_->failure();
  if (observer_.is_violated() || !is_finished()) return observer_.violation();
  for (std::size_t line = 0; line < memory_.size(); ++line)
    observer_.check_at_rest(line, memory_[line], modified_bytes(line));
  return observer_.violation();
}

std::vector<std::uint64_t> LitmusWorld::memory() const {
  std::vector<std::uint64_t> words;
  for (std::size_t index = 0; index < program_->variables.size(); ++index) {
    const LitmusVariable& variable = program_->variables[index];
    words.push_back(peer_words_[index]);
    if (variable.is_peer) continue;
    if (variable.is_mmio) {
      if (mmio_) words.back() = mmio_->word(variable.address);
      continue;
    }
    const LineNumber line = variable.address / kLineBytes;
    const LineBytes* modified = modified_bytes(line);
    const LineBytes& bytes = modified != nullptr ? *modified : memory_[line];
    std::memcpy(&words.back(), bytes.data() + variable.address % kLineBytes, sizeof words.back());
  }
  return words;
}

void LitmusWorld::append_state(std::vector<std::byte>& state) const {
  for (const std::uint64_t value : registers_) append_bytes(state, value);
  for (const LitmusHostThread& host : hosts_) host.append_state(state);
  for (const LitmusDeviceThread& device : devices_) append_bytes(state, device);
  append_bytes(state, static_cast<std::uint32_t>(fabric_.size()));
  for (const LitmusTransfer& transfer : fabric_) {
    append_bytes(state, transfer.agent);
    append_bytes(state, transfer.operation);
    append_bytes(state, transfer.line);
  }
  if (source_) source_->append_state(state);
  if (mmio_) mmio_->append_state(state);
  for (const RlsqAgent& root : roots_) root.append_state(state);
  for (const std::uint64_t word : peer_words_) append_bytes(state, word);
  home_.append_state(state);
  append_bytes(state, static_cast<std::uint32_t>(network_.size()));
  for (const Flight& flight : network_) {
    append_bytes(state, flight.channel);
    sim::append_state(state, flight.message);
  }
  append_bytes(state, static_cast<std::uint32_t>(accesses_.size()));
  for (const MemoryAccess& access : accesses_) {
    append_bytes(state, access.line);
    append_bytes(state, static_cast<std::uint8_t>(access.is_write));
    if (access.is_write) append_bytes(state, access.data);
  }
  append_bytes(state, static_cast<std::uint32_t>(answers_.size()));
  for (const Answer& answer : answers_) {
    append_bytes(state, answer.response.domain.key());
    append_bytes(state, answer.response.tag);
    append_bytes(state, answer.response.bytes);
    append_bytes(state, answer.response.old_value);
    append_bytes(state, answer.behind);
  }
  for (const Completion& completion : completions_) {
    append_bytes(state, completion.answer.thread);
    append_bytes(state, completion.answer.tag);
    append_bytes(state, completion.answer.value);
    append_bytes(state, static_cast<std::uint32_t>(completion.behind.size()));
    for (const PostedLine& line : completion.behind) {
      append_bytes(state, line.agent);
      append_bytes(state, line.tag);
    }
  }
  for (const LineBytes& bytes : memory_) append_bytes(state, bytes);
  observer_.append_state(state);
}

}  // namespace wharf::sim
