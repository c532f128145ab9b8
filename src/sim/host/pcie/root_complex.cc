// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/root_complex.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace wharf::sim {

namespace {

IoAgentConfig agent_config(const RootComplexConfig& config) {
  IoAgentConfig agent;
  agent.operations = config.queue.trackers + config.queue.posted_reserve;
  // Those that the queue works on, and as many again that are on their way home or still tracked.
  agent.lines = 4 * agent.operations;
  agent.credits = RootComplex::agent_credits(config);
  agent.drops = config.drops;
  return agent;
}

/// A read has no bytes and no operands: what lies before them is enough, and two cache lines less to touch.
void copy_request(ordering::Request& to, const ordering::Request& from) {
  using ordering::Request;
  static_assert(std::is_trivially_copyable_v<Request> && std::is_standard_layout_v<Request>);
  static_assert(offsetof(Request, bytes) < offsetof(Request, operand));
  const bool is_read = from.kind == ordering::Kind::kRead;
  std::memcpy(&to, &from, is_read ? offsetof(Request, bytes) : sizeof(Request));
}

}  // namespace

std::uint32_t RootComplex::agent_credits(const RootComplexConfig& config) {
  // One for each line that the queue can ask for, and as many that go home at the same time.
  return 2 * (config.queue.trackers + config.queue.posted_reserve);
}

Result<std::unique_ptr<RootComplex>> RootComplex::create(Simulation& simulation, CoherentMemory& memory,
                                                         AgentId agent, const CoherentConfig& config,
                                                         const RandomStream& random, std::string name) {
  Result<ordering::Rlsq> queue = ordering::Rlsq::create(config.root_complex.queue);
  if (!queue.ok()) return queue.error();
  std::unique_ptr<RootComplex> made(
      new RootComplex(simulation, memory, agent, config, random, std::move(queue.value())));
  simulation.add(*made, std::move(name));
  memory.connect(agent, *made);
  return made;
}

RootComplex::RootComplex(Simulation& simulation, CoherentMemory& memory, AgentId agent,
                         const CoherentConfig& config, const RandomStream& random, ordering::Rlsq queue)
    : simulation_(simulation),
      memory_(memory),
      config_(config.root_complex),
      credit_limit_{config.io_link.posted_credits, config.io_link.non_posted_credits},
      complex_(std::move(queue), IoAgent(agent, agent_config(config.root_complex))),
      link_(config.io_link, tlp_form_of(config.root_complex.queue.design)),
      link_passing_(config.root_complex, random.substream(0)),
      home_passing_(config.root_complex, random.substream(1)),
      credit_way_(config.io_link.down),
      requests_(1024),
      responses_(1024),
      messages_(64) {
  for (Ring<Held>& ring : held_) ring.reserve(1024);
  for (std::size_t flow = 0; flow < credits_.size(); ++flow) credits_[flow].reserve(credit_limit_[flow]);
}

bool RootComplex::can_submit(ordering::Kind kind) {
  const Flow flow = flow_of(kind);
  if (has_credit(simulation_.now(), flow)) return true;
  if (!refused_[flow] && !credits_[flow].empty()) wake_for_credit(flow);
  refused_[flow] = true;
  return false;
}

/// Counts the credits that are back by now.
bool RootComplex::has_credit(TimePs now, Flow flow) {
  if (credit_limit_[flow] == 0) return true;
  Ring<TimePs>& credits = credits_[flow];
  while (!credits.empty() && credits.front() <= now) {
    credits.pop_front();
    --under_way_[flow];
  }
  return under_way_[flow] < credit_limit_[flow];
}

/// Only a device that waits for a credit hears of it.
void RootComplex::wake_for_credit(Flow flow) {
  simulation_.schedule(credits_[flow].front(), id(), id(), kCredit, flow);
}

void RootComplex::submit(TimePs now, const ordering::Request& request) {
  const Flow flow = flow_of(request.kind);
  // can_submit() has counted what is back.
  WHARF_CHECK(credit_limit_[flow] == 0 || under_way_[flow] < credit_limit_[flow]);
  ++under_way_[flow];
  ++counters_.requests;
  if (order_ != nullptr) order_->requested(request);
  const TimePs arrived = link_passing_.arrival(now, link_.send_up(now, request), request);
  requests_.grow(requests_.in_use() + 1);
  const std::uint32_t slot = requests_.acquire();
  copy_request(requests_[slot], request);
  simulation_.schedule(arrived + config_.lookup, id(), id(), kAtQueue, slot);
}

void RootComplex::handle(const Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case kAtQueue:
      at_queue(event.time, event.argument);
      break;
    case kAtDevice:
      at_device(event.time, event.argument);
      break;
    case kToHome: {
      const Message message = messages_[event.argument];
      messages_.release(event.argument);
      home_passing_.left(message.line);
      memory_.send(event.time, message);
      break;
    }
    case kCredit:
      refused_[event.argument] = false;
      device_->credits_back(event.time);
      break;
  }
}

/// How many stores of cores an answer that is made now has before it on the link.
std::uint64_t RootComplex::stores_before(ordering::Label label) const {
  const ordering::PacketOrder store;
  ordering::PacketOrder answer;
  answer.packet_class = ordering::PacketClass::kCompletion;
  answer.label = label;
  const bool is_free = config_.on_bus || ordering::may_pass(ordering::fabric_of(config_.queue.design),
                                                            config_.queue.order, answer, store);
  return is_free ? 0 : order_->stores();
}

/// An answer is through the link.
void RootComplex::at_device(TimePs now, std::uint32_t slot) {
  const auto behind =
      std::find_if(behind_.begin(), behind_.end(), [slot](const Behind& each) { return each.slot == slot; });
  if (behind != behind_.end()) {
    behind->is_there = true;
    if (!order_->have_stores_arrived(behind->stores)) return;
    behind_.erase(behind);
  }
  tell_device(now, slot);
}

void RootComplex::writes_arrived(TimePs now) {
  for (std::size_t at = 0; at < behind_.size();) {
    const Behind each = behind_[at];
    if (!each.is_there || !order_->have_stores_arrived(each.stores)) {
      ++at;
      continue;
    }
    behind_.erase(behind_.begin() + static_cast<std::ptrdiff_t>(at));
    tell_device(now, each.slot);
  }
}

/// No response is made while the device hears of one.
void RootComplex::tell_device(TimePs now, std::uint32_t slot) {
  device_->answered(now, responses_[slot]);
  responses_.release(slot);
}

void RootComplex::at_queue(TimePs now, std::uint32_t slot) {
  const Flow flow = flow_of(requests_[slot].kind);
  const bool behind_others = !held_[flow].empty() || (flow == kNonPosted && !held_[kPosted].empty());
  if (!behind_others && may_pass_held(slot, next_number_) && offer(now, slot)) {
    drain(now, now);
    return;
  }
  ++(flow == kPosted ? counters_.held_posted : counters_.held_non_posted);
  if (held_[flow].full()) held_[flow].reserve(2 * held_[flow].capacity());
  held_[flow].push_back({slot, next_number_++});
  counters_.held_most =
      std::max(counters_.held_most, static_cast<std::uint32_t>(held_[0].size() + held_[1].size()));
}

/// Gives a request to the queue, if it takes it.
bool RootComplex::offer(TimePs now, std::uint32_t slot) {
  if (!complex_.accept(requests_[slot])) return false;
  const Flow flow = flow_of(requests_[slot].kind);
  requests_.release(slot);
  if (credit_limit_[flow] == 0) {
    --under_way_[flow];
    return true;
  }
  credits_[flow].push_back(now + credit_way_);
  if (refused_[flow] && credits_[flow].size() == 1) wake_for_credit(flow);
  return true;
}

/// Whether a write may go before the reads and atomics that wait here and came before `number`: the queue can
/// only order what reaches it in order. The one that came first never waits for another here, so this ends.
bool RootComplex::may_pass_held(std::uint32_t slot, std::uint64_t number) const {
  if (flow_of(requests_[slot].kind) != kPosted) return true;
  const Ring<Held>& others = held_[kNonPosted];
  if (config_.on_bus) return others.empty() || others.front().number >= number;  // Nothing passes there.
  for (std::size_t at = 0; at < others.size() && others[at].number < number; ++at) {
    if (!ordering::may_pass_on_link(config_.queue.design, config_.queue.order, requests_[others[at].slot],
                                    requests_[slot]))
      return false;
  }
  return true;
}

/// What waits before the queue: writes as far as they go, and whatever is not behind a write.
void RootComplex::retry(TimePs now) {
  Ring<Held>& posted = held_[kPosted];
  Ring<Held>& others = held_[kNonPosted];
  for (;;) {
    if (!others.empty() && (posted.empty() || others.front().number < posted.front().number)) {
      if (offer(now, others.front().slot)) {
        others.pop_front();
        continue;
      }
    }
    if (posted.empty() || !may_pass_held(posted.front().slot, posted.front().number) ||
        !offer(now, posted.front().slot))
      return;
    posted.pop_front();
  }
}

void RootComplex::receive(TimePs now, const Message& message, TimePs data_at) {
  complex_.receive(message);
  drain(now, data_at);
}

void RootComplex::drain(TimePs now, TimePs data_at) {
  // After a retry there is more room only when an answer has left.
  bool has_new_room = true;
  for (;;) {
    bool moved = complex_.has_message() && send_messages(now);
    while (complex_.has_response()) {
      // Made where it is kept until its event.
      responses_.grow(responses_.in_use() + 1);
      const std::uint32_t slot = responses_.acquire();
      if (!complex_.next_response(responses_[slot])) {
        responses_.release(slot);
        break;
      }
      moved = has_new_room = true;
      answer(now, data_at, slot);
    }
    if (!moved) return;
    if (has_new_room && (!held_[kPosted].empty() || !held_[kNonPosted].empty())) retry(now);
    has_new_room = false;
  }
}

void RootComplex::send_request(TimePs now, const Message& message) {
  const TimePs leaves = home_passing_.departure(now, message.line);
  if (leaves == now) {
    memory_.send(now, message);
    return;
  }
  messages_.grow(messages_.in_use() + 1);
  const std::uint32_t slot = messages_.acquire();
  messages_[slot] = message;
  simulation_.schedule(leaves, id(), id(), kToHome, slot);
}

bool RootComplex::send_messages(TimePs now) {
  bool moved = false;
  for (;;) {
    if (const Message* const request = complex_.first_request()) {
      send_request(now, *request);
      complex_.first_request_taken();
    } else {
      Message message;
      if (!complex_.next_message(message)) return moved;
      if (class_of(message.kind) == MessageClass::kRequest) {
        send_request(now, message);
      } else {
        memory_.send(now, message);
      }
    }
    moved = true;
  }
}

/// The response in `slot`, which is free again when the device has it.
void RootComplex::answer(TimePs now, TimePs data_at, std::uint32_t slot) {
  const ordering::Response& response = responses_[slot];
  if (order_ != nullptr) {
    const std::uint64_t stores = stores_before(order_->answered(now, response));
    if (response.kind != ordering::Kind::kWrite && !order_->have_stores_arrived(stores))
      behind_.push_back({slot, stores, false});
  }
  if (response.kind == ordering::Kind::kWrite) {
    tell_device(now, slot);
    return;
  }
  ++counters_.answers;
  // Cut through: the data may still be on their way to the queue when it acts on their header.
  const TimePs leaves = max(now + config_.answer, answer_from_);
  answer_from_ = leaves + config_.spacing;
  const TimePs arrived = link_.send_down(now, leaves, response);
  const TimePs complete = max(arrived, data_at + config_.answer + link_.way_down());
  simulation_.schedule(complete, id(), id(), kAtDevice, slot);
}

void RootComplex::describe_waiting(std::vector<std::string>& lines) const {
  complex_.who_waits(lines);
  const std::size_t held = held_[0].size() + held_[1].size();
  if (held > 0) lines.push_back(std::to_string(held) + " requests wait before the queue");
  if (messages_.in_use() > 0)
    lines.push_back(std::to_string(messages_.in_use()) + " requests are held up on their way to memory");
}

}  // namespace wharf::sim
