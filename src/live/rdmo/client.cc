// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/client.h"

#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "live/rdmo/memory_offers.h"

namespace wharf::live {
namespace {

/// So many events of UCX are taken before the program has its turn again.
constexpr int kLooksMost = 1000;

Error senseless() { return {ErrorKind::kEnvironment, "the worker's notification makes no sense"}; }
Error stalled(const char* what) { return {ErrorKind::kStalled, std::string(what) + ": no answer in time"}; }

}  // namespace

// --- Target
// -----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<RdmoTarget>> RdmoTarget::create(const RdmoTargetConfig& config) {
  std::unique_ptr<RdmoTarget> target(new RdmoTarget(config));
  WHARF_TRY(target->open());
  return target;
}

Result<void> RdmoTarget::open() {
  if (config_.bytes < 64)
    return input_error(fmt::format("bytes: found {}, expected at least 64", config_.bytes));
  auto port = UcxPort::create(config_.transports, *this);
  if (!port) return port.error();
  port_ = *std::move(port);
  WHARF_TRY(map_memory());
  auto channel = StreamChannel::connect(config_.worker, config_.time_max);
  if (!channel) return channel.error();
  channel_ = *std::move(channel);

  wire::RdmoCommand init;
  init.type = wire::RdmoCommandType::kClientInit;
  init.id = config_.client;
  init.peer = port_->address();
  auto made = command(init);
  if (!made) return made.error();
  worker_.assign(made->address.begin(), made->address.end());
  // Both directions are wired up before anybody relies on them: UCX 1.13 stops a process whose peer dies
  // earlier.
  auto endpoint = port_->connect(worker_);
  if (!endpoint) return endpoint.error();
  WHARF_TRY(port_->flush(*endpoint, config_.time_max));
  wire::RdmoCommand memory;
  memory.type = wire::RdmoCommandType::kMrRegister;
  memory.address = reinterpret_cast<std::uint64_t>(memory_.data());
  memory.length = memory_.size();
  memory.rkey = reached_.key();
  // Of another machine or user: UCX carries it.
  const auto offer =
      config_.shared ? OfferedMemory::offer(worker_, sealed_) : input_error("not to be shared");
  if (offer) {
    offer_.assign(offer->token().begin(), offer->token().end());
    memory.handle = offer_;
  }
  auto registered = command(memory);
  if (!registered) return registered.error();
  key_ = registered->value;
  shared_ = offer.ok() && offer->mapped();
  return {};
}

Result<void> RdmoTarget::map_memory() {
  if (config_.shared) {
    auto sealed = SealedMemory::create(config_.bytes);
    if (!sealed) return sealed.error();
    sealed_ = *std::move(sealed);
  }
  auto reached =
      config_.shared ? UcxMemory::map(*port_, sealed_.bytes()) : UcxMemory::allocate(*port_, config_.bytes);
  if (!reached) return reached.error();
  reached_ = *std::move(reached);
  memory_ = reached_.bytes();
  std::memset(memory_.data(), 0, memory_.size());
  reset();
  return {};
}

RdmoTarget::~RdmoTarget() {
  channel_.close();
  reached_ = {};
}

void RdmoTarget::reset() {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory_.data()))
      .store(reinterpret_cast<std::uint64_t>(memory_.data()) + 8, std::memory_order_release);
}

std::uint64_t RdmoTarget::tail() const {
  const std::uint64_t tail = std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory_.data()))
                                 .load(std::memory_order_acquire);
  return tail - reinterpret_cast<std::uint64_t>(memory_.data());
}

std::uint64_t RdmoTarget::write(wire::RdmoCommand& command) {
  command.context = ++context_;
  std::vector<std::byte> bytes;
  wire::encode(command, bytes);
  channel_.write(bytes);
  return context_;
}

Result<bool> RdmoTarget::hear(wire::RdmoNotification& notification) {
  channel_.progress();
  if (!channel_.take(answer_)) return false;
  if (wire::decode(answer_, notification) != wire::RdmoControlError::kNone || notification.context > context_)
    return senseless();
  return true;
}

/// One that nobody waits for here: an initiator that has asked does, or it comes late.
void RdmoTarget::answered(const wire::RdmoNotification& notification) {
  const bool created = notification.type == wire::RdmoCommandType::kRqCreate &&
                       notification.status == wire::DocaError::kSuccess;
  const auto asked = asked_.find(notification.context);
  if (asked == asked_.end()) {
    if (created) forget(notification.value);  // Nobody knows the queue that it made.
    return;
  }
  asked->second = {created ? Admission::State::kIn : Admission::State::kRefused, notification.value};
}

Result<wire::RdmoNotification> RdmoTarget::command(wire::RdmoCommand command) {
  const std::uint64_t context = write(command);
  const LiveClock clock;
  for (;;) {
    // The worker may need this process to answer on its endpoint meanwhile.
    port_->progress();
    wire::RdmoNotification notification;
    const auto heard = hear(notification);
    if (!heard) return heard.error();
    if (!*heard) {
      if (!channel_.open())
        return Error{ErrorKind::kEnvironment, "the worker has closed the control channel"};
      if (clock.now() > config_.time_max) return stalled("the worker");
      ::sched_yield();
      continue;
    }
    if (notification.context != context) {
      answered(notification);
      continue;
    }
    if (notification.type != command.type) return senseless();
    if (notification.status != wire::DocaError::kSuccess)
      return Error{ErrorKind::kEnvironment,
                   fmt::format("the worker refuses: {}", wire::name(notification.status))};
    return notification;
  }
}

Result<std::uint64_t> RdmoTarget::admit(std::span<const std::byte> initiator) {
  wire::RdmoCommand create;
  create.type = wire::RdmoCommandType::kRqCreate;
  create.peer = initiator;
  auto made = command(create);
  if (!made) return made.error();
  return made->value;
}

Result<void> RdmoTarget::dismiss(std::uint64_t queue) {
  wire::RdmoCommand destroy;
  destroy.type = wire::RdmoCommandType::kRqDestroy;
  destroy.queue = queue;
  auto done = command(destroy);
  if (!done) return done.error();
  return {};
}

Result<void> RdmoTarget::withdraw() {
  wire::RdmoCommand deregister;
  deregister.type = wire::RdmoCommandType::kMrDeregister;
  deregister.key = key_;
  auto done = command(deregister);
  if (!done) return done.error();
  return {};
}

bool RdmoTarget::connected() {
  channel_.progress();
  return channel_.open();
}

MeetingHost::Ticket RdmoTarget::ask_admit(std::span<const std::byte> initiator) {
  wire::RdmoCommand create;
  create.type = wire::RdmoCommandType::kRqCreate;
  create.peer = initiator;
  const Ticket ticket = write(create);
  asked_[ticket] = {};
  return ticket;
}

MeetingHost::Admission RdmoTarget::admission(Ticket ticket) {
  const auto asked = asked_.find(ticket);
  if (asked == asked_.end()) return {Admission::State::kRefused, 0};
  const Admission now = asked->second;
  if (now.state != Admission::State::kAsked) asked_.erase(asked);
  return now;
}

void RdmoTarget::give_up(Ticket ticket) {
  const auto asked = asked_.find(ticket);
  if (asked == asked_.end()) return;
  if (asked->second.state == Admission::State::kIn) forget(asked->second.queue);
  asked_.erase(asked);
}

void RdmoTarget::forget(std::uint64_t queue) {
  wire::RdmoCommand destroy;
  destroy.type = wire::RdmoCommandType::kRqDestroy;
  destroy.queue = queue;
  write(destroy);
}

std::vector<std::byte> RdmoTarget::packed_grant() const {
  std::vector<std::byte> grant(config_.client == 0 ? 16 : 24);
  store_le64(grant.data(), key_);
  store_le64(grant.data() + 8, reinterpret_cast<std::uint64_t>(memory_.data()));
  if (config_.client != 0) store_le64(grant.data() + 16, config_.client);
  return grant;
}

Result<void> RdmoTarget::meet(StreamListener& listener) {
  for (StreamChannel channel = listener.accept(); channel.open(); channel = listener.accept())
    meetings_.begin(std::move(channel));
  wire::RdmoNotification notification;
  for (;;) {
    const auto heard = hear(notification);
    if (!heard) return heard.error();
    if (!*heard) break;
    answered(notification);
  }
  return meetings_.progress();
}

// --- Initiator
// --------------------------------------------------------------------------------------------------

Result<std::unique_ptr<RdmoInitiator>> RdmoInitiator::create(const RdmoInitiatorConfig& config) {
  std::unique_ptr<RdmoInitiator> initiator(new RdmoInitiator(config));
  auto port = UcxPort::create(config.transports, *initiator);
  if (!port) return port.error();
  initiator->port_ = *std::move(port);
  return initiator;
}

Result<std::unique_ptr<RdmoInitiator>> RdmoInitiator::meet(const StreamAddress& target,
                                                           RdmoInitiatorConfig config) {
  auto made = create(config);
  if (!made) return made.error();
  std::unique_ptr<RdmoInitiator> initiator = *std::move(made);
  auto channel = StreamChannel::connect(target, config.initiator.time_max);
  if (!channel) return channel.error();
  const TimePs patience = config.initiator.time_max;
  RdmoGrant grant;
  channel->write(initiator->address());
  if (!channel->wait_for(grant.worker_address, patience)) return stalled("the target");
  std::vector<std::byte> item;
  channel->write({});
  if (!channel->wait_for(item, patience)) return stalled("the target");
  if (item.size() != 16 && item.size() != 24)
    return Error{ErrorKind::kEnvironment, "the target's grant makes no sense"};
  grant.key = load_le64(item.data());
  grant.cell = load_le64(item.data() + 8);
  if (item.size() == 24) grant.client = load_le64(item.data() + 16);
  channel->write({});
  if (!channel->wait_for(item, patience)) return stalled("the target");
  WHARF_TRY(initiator->connect(grant));
  return initiator;
}

Result<std::unique_ptr<RdmoInitiator>> RdmoInitiator::join(const StreamAddress& worker,
                                                           const RdmoGrant& grant,
                                                           const RdmoInitiatorConfig& config) {
  auto made = create(config);
  if (!made) return made.error();
  const auto joined = (*made)->connect(worker, grant);
  if (joined) return made;
  return Error{joined.error().kind, fmt::format("joining target {} at the worker {}:{}: {}", grant.client,
                                                worker.host, worker.port, joined.error().message)};
}

Result<void> RdmoInitiator::begin(const RdmoGrant& grant) {
  grant_ = grant;
  config_.initiator.client = grant.client;
  auto engine = rdmo::Initiator::create(config_.initiator);
  if (!engine) return engine.error();
  engine_.emplace(*std::move(engine));
  engine_->hear_limit(joined_limit_);
  return {};
}

Result<void> RdmoInitiator::connect(const StreamAddress& worker, const RdmoGrant& grant) {
  grant_ = grant;
  auto endpoint = port_->connect(worker.host, worker.port);
  if (!endpoint) return endpoint.error();
  endpoint_ = *endpoint;
  WHARF_TRY(port_->flush(endpoint_, config_.initiator.time_max));
  WHARF_TRY(say_hello());
  return begin(grant);
}

/// The key is what lets it in.
Result<void> RdmoInitiator::say_hello() {
  wire::RdmoExtendedRequest hello;
  hello.operation = wire::RdmoExtendedOperation::kHello;
  hello.client = grant_.client;
  hello.cookie = grant_.key;
  std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
  const auto length = wire::encode(hello, header.data());
  port_->send(endpoint_, wire::kRdmoExtendedMessageId, std::span(header).first(length), {},
              UCP_AM_SEND_FLAG_REPLY, UcxPort::kNoTag);
  AttentiveClock patience;
  while (!joined_) {
    ucp_ep_h failed = nullptr;
    if (!port_->progress()) ::sched_yield();
    if (port_->take_failed(failed))
      return Error{ErrorKind::kEnvironment, "the worker has ended the connection"};
    if (patience.now() > config_.initiator.time_max) return stalled("the worker");
  }
  if (*joined_ != wire::RdmoStatus::kDone)
    return Error{ErrorKind::kEnvironment, fmt::format("the worker refuses: {}", wire::name(*joined_))};
  return {};
}

Result<void> RdmoInitiator::connect(const RdmoGrant& grant) {
  WHARF_TRY(begin(grant));
  auto endpoint = port_->connect(grant.worker_address);
  if (!endpoint) return endpoint.error();
  endpoint_ = *endpoint;
  // Wired up before anything is sent, as in RdmoTarget::open().
  return port_->flush(endpoint_, config_.initiator.time_max);
}

// What is under way needs the engine and the caller's bytes: UCX goes first.
RdmoInitiator::~RdmoInitiator() { port_.reset(); }

rdmo::Taken RdmoInitiator::take(ucp_ep_h, std::uint32_t id, std::span<const std::byte> header,
                                const rdmo::Payload&) {
  if (engine_) {
    engine_->receive(looked_, id, header);
    return rdmo::Taken::kDone;
  }
  wire::RdmoAnswer answer;
  if (id == wire::kRdmoExtendedMessageId && wire::decode(header, answer) == wire::RdmoError::kNone &&
      answer.operation == wire::RdmoExtendedOperation::kHello) {
    joined_ = answer.status;
    joined_limit_ = answer.credit_limit;
  }
  return rdmo::Taken::kDone;
}

bool RdmoInitiator::progress() {
  bool worked = false;
  rdmo::Outgoing message;
  while (engine_->next_message(message)) {
    try {
      port_->send(endpoint_, message.message_id, {message.header.data(), message.header_length},
                  message.payload, UCP_AM_SEND_FLAG_REPLY, message.id);
    } catch (...) {  // No memory: it did not leave, and those behind it must not.
      engine_->lost(clock_.now());
      engine_->sent(clock_.now(), message.id);
      throw;
    }
    worked = true;
  }
  looked_ = clock_.now();
  // Before anybody's patience ends, all that has come. A look that finds nothing costs a system call.
  const bool due = engine_->deadline() <= looked_;
  for (int looks = 0; (due || looks == 0) && looks < kLooksMost && port_->progress(); ++looks) worked = true;
  // First who is dead: a send that failed is over, but nothing was sent.
  ucp_ep_h failed = nullptr;
  while (port_->take_failed(failed)) engine_->lost(looked_);
  if (due) engine_->expire(looked_);
  if (engine_->is_lost() && endpoint_ != nullptr) {
    port_->close(endpoint_);  // So that UCX lets go of what it still sends: outcomes wait for that.
    endpoint_ = nullptr;
  }
  std::uint64_t tag = 0;
  while (port_->take_sent(tag)) engine_->sent(looked_, static_cast<std::uint32_t>(tag));
  return worked;
}

bool RdmoInitiator::wait(rdmo::Outcome& outcome, const std::atomic<bool>* stop) {
  std::uint32_t empty = 0;
  while (!engine_->poll(outcome)) {
    if (engine_->in_flight() == 0) return false;
    if (engine_->only_gathers()) engine_->push(clock_.now());
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
    if (progress()) {
      empty = 0;
    } else if (++empty > 100) {
      ::sched_yield();  // The worker may need this processor.
    }
  }
  return true;
}

}  // namespace wharf::live
