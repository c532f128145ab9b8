// SPDX-License-Identifier: Apache-2.0
// The worker's process: channels, messages, actions. Accesses to memory are in worker_memory.cc.
#include "live/rdmo/worker_process.h"

#include <sys/random.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "live/rdmo/ucx_memory.h"

namespace wharf::live {
namespace {

constexpr int kAcceptsMost = 16;             ///< Channels that are taken before the others have their turn.
constexpr std::size_t kTargetlessMost = 64;  ///< Channels without a target.
constexpr std::size_t kStrangersMost = 64;   ///< Initiators without one.
constexpr TimePs kChannelPause = microseconds(100);  ///< Between two looks at channels.
constexpr TimePs kNoDescriptorPause = milliseconds(100);
constexpr std::uint64_t kPageBytes = 4096;

/// What this process's own UCX writes, to hold against it what others bring.
Result<PeerBlobs> learn_blobs(const UcxPort& port) {
  std::vector<std::byte> bytes(kPageBytes);
  const auto memory = UcxMemory::map(port, bytes);
  if (!memory) return memory.error();
  return PeerBlobs::learn(port.address(), memory->key());
}

}  // namespace

using rdmo::ActionKind;
using rdmo::Taken;

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::create(const WorkerProcessConfig& config) {
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(config));
  WHARF_TRY(process->open());
  return process;
}

Result<void> WorkerProcess::open() {
  if (config_.connect && config_.worker.layout == wire::RdmoLayout::kGuide)
    return input_error(
        "connect: keys of the guide's layout have 16 bits, which anybody guesses; expected the "
        "shipped layout");
  auto port = UcxPort::create(config_.transports, *this);
  if (!port) return port.error();
  port_ = *std::move(port);
  auto blobs = learn_blobs(*port_);
  if (!blobs) return blobs.error();
  blobs_ = *std::move(blobs);
  config_.worker.address = port_->address();
  auto worker = rdmo::Worker::create(config_.worker);
  if (!worker) return worker.error();
  worker_.emplace(*std::move(worker));
  auto listener = StreamListener::listen(config_.listen);
  if (!listener) return listener.error();
  listener_ = *std::move(listener);
  auto offers = MemoryOffers::listen(port_->address());
  if (!offers) return offers.error();
  offers_ = *std::move(offers);
  if (config_.connect) {
    const auto listening = port_->listen(config_.connect->host, config_.connect->port);
    if (!listening) return listening.error();
    connect_port_ = *listening;
    auto silent = SilentConnections::at(connect_port_);
    if (!silent) return silent.error();
    silent_ = *std::move(silent);
  }
  if (config_.listed) {
    auto entry = RosterEntry::enter();
    if (!entry) return entry.error();
    entry_.emplace(*std::move(entry));
  }
  return {};
}

WorkerReport WorkerProcess::report() const {
  const rdmo::WorkerCounters& counted = counters();
  WorkerReport report;
  report.state = WorkerState::kRunning;
  report.seconds = static_cast<std::uint64_t>(clock_.now() / seconds(1));
  report.clients = worker_->targets();
  report.queues = worker_->connections();
  report.appends = counted.appends;
  report.records = counted.records;
  report.flushes = counted.flushes;
  report.scatters = counted.scatters;
  report.address = config_.listen.host + ":" + std::to_string(listener_.port());
  return report;
}

WorkerProcess::~WorkerProcess() {
  if (!port_) return;
  for (std::size_t i = 0; i < memories_.extent(); ++i) {
    if (memories_[i].key != nullptr) ucp_rkey_destroy(memories_[i].key);
  }
  waiting_.for_each([this](const WaitingMessages::Message& each) {
    if (each.payload.length > 0) port_->release(each.payload.handle);
  });
  for (std::size_t i = 0; i < targets_.extent(); ++i)
    targets_[i].endpoint = nullptr;  // Nothing new goes there.
  port_.reset();                     // What is under way ends now, and is noted in what goes behind it.
}

Taken WorkerProcess::take(ucp_ep_h reply, std::uint32_t id, std::span<const std::byte> header,
                          const rdmo::Payload& payload) {
  const auto found = peer_of_.find(reply);
  const rdmo::PeerId peer = found == peer_of_.end() ? rdmo::kNoPeer : found->second;
  if (peer != rdmo::kNoPeer && peers_[peer].cut_off) return Taken::kDone;
  if (peer != rdmo::kNoPeer && peers_[peer].stranger && !worker_->has_connection(peer) &&
      std::exchange(peers_[peer].has_asked, true))
    return Taken::kDone;
  // What nobody known has sent is counted and dropped.
  if (peer == rdmo::kNoPeer || (reads(peer) && !waiting_.has(peer))) {
    const Taken taken = worker_->receive(now_, peer, id, header, payload);
    if (taken != Taken::kNoRoom) return taken;
  }
  if (!waiting_.add(peer, id, header, payload)) {
    ++(reads(peer) ? refusals_.floods : refusals_.unread);
    peers_[peer].cut_off = true;
    worker_->peer_lost(now_, peer);
    return Taken::kDone;
  }
  return payload.length > 0 ? Taken::kHeld : Taken::kDone;
}

void WorkerProcess::offer_waiting() {
  waiting_.offer([this](const WaitingMessages::Message& each) {
    if (!reads(each.peer)) return Taken::kNoRoom;
    const Taken taken = worker_->receive(now_, each.peer, each.id, each.header, each.payload);
    if (taken == Taken::kDone && each.payload.length > 0) port_->release(each.payload.handle);
    return taken;
  });
}

// An initiator that reads nothing would have its answers kept here for ever: beyond some, its requests are
// not looked at any more, and when too many of those wait it is cut off.
void WorkerProcess::answer(const rdmo::Message& message) {
  if (message.peer >= peers_.extent() || peers_[message.peer].endpoint == nullptr) return;
  Peer& peer = peers_[message.peer];
  ++peer.unread;
  port_->send(peer.endpoint, message.message_id, {message.header.data(), message.length}, {}, 0,
              message.peer);
}

void WorkerProcess::take_answered() {
  std::uint64_t peer = 0;
  while (port_->take_sent(peer)) --peers_[peer].unread;
  // A place is given again only when nothing is on its way to who had it, and no connection of the dead has
  // its number: it may wait for what others owe.
  std::erase_if(leaving_, [this](rdmo::PeerId each) {
    if (peers_[each].unread != 0 || worker_->has_connection(each)) return false;
    peers_.leave(each);
    return true;
  });
}

void WorkerProcess::close_peer(rdmo::PeerId peer) {
  if (peer >= peers_.extent() || peers_[peer].endpoint == nullptr) return;
  waiting_.drop(peer, [this](const WaitingMessages::Message& each) {
    if (each.payload.length > 0) port_->release(each.payload.handle);
  });
  if (peers_[peer].stranger)
    std::erase_if(strangers_, [peer](const Stranger& each) { return each.peer == peer; });
  peer_of_.erase(peers_[peer].endpoint);
  port_->close(std::exchange(peers_[peer].endpoint, nullptr));
  leaving_.push_back(peer);
}

void WorkerProcess::fail_endpoints() {
  ucp_ep_h endpoint = nullptr;
  while (port_->take_failed(endpoint)) {
    const auto found = peer_of_.find(endpoint);
    if (found != peer_of_.end() && peers_[found->second].stranger &&
        !worker_->has_connection(found->second)) {
      close_peer(found->second);  // Nobody else would.
    } else if (found != peer_of_.end()) {
      worker_->peer_lost(now_, found->second);
    }
    for (std::size_t i = 0; i < targets_.extent(); ++i) {
      if (targets_[i].endpoint == endpoint) worker_->target_lost(now_, i);
    }
  }
}

// Who has connected by a network address is a stranger until it has joined a target.
void WorkerProcess::take_strangers() {
  ucp_ep_h endpoint = nullptr;
  const TimePs now = attentive_.now();
  while (port_->take_connected(endpoint)) {
    const auto peer = static_cast<rdmo::PeerId>(peers_.put({endpoint, 0, false, true, false}));
    peer_of_.emplace(endpoint, peer);
    strangers_.push_back({peer, now});
  }
  for (auto at = strangers_.begin(); at != strangers_.end();) {
    const rdmo::PeerId peer = at->peer;
    const bool joined = worker_->has_connection(peer);
    const bool overdue = strangers_.size() > kStrangersMost || now - at->since > config_.targetless_max;
    if (!joined && !overdue) {
      ++at;
      continue;
    }
    at = strangers_.erase(at);
    peers_[peer].stranger = false;
    if (joined) continue;
    ++refusals_.strangers;
    close_peer(peer);
  }
}

bool WorkerProcess::accept_channels() {
  if (clock_.now() < accepts_after_) return false;
  for (int i = 0; i < kAcceptsMost; ++i) {
    StreamChannel channel = listener_.accept();
    if (!channel.open()) {
      if (listener_.exhausted()) accepts_after_ = clock_.now() + kNoDescriptorPause;
      return i > 0;
    }
    channels_.emplace(next_destination_++, Control{std::move(channel), attentive_.now()});
  }
  return true;
}

bool WorkerProcess::serve_channels() {
  bool worked = accept_channels();
  offers_.progress(attentive_.now());
  if (config_.connect) {
    take_strangers();
    refusals_.silent += silent_->look(attentive_.now(), config_.targetless_max);
  }
  if (entry_) entry_->progress([this] { return report(); });
  std::vector<std::byte> message;
  std::size_t targetless = 0;
  for (auto& [destination, control] : channels_) {
    control.channel.progress();
    while (control.channel.take(message)) {
      worker_->command(clock_.now(), destination, message);
      had_target_ = worked = true;
    }
    if (worker_->has_target(destination)) {
      control.since = attentive_.now();
    } else {
      ++targetless;
    }
  }
  for (auto at = channels_.begin(); at != channels_.end();) {
    StreamChannel& channel = at->second.channel;
    if (!worker_->has_target(at->first)) {
      if (targetless > kTargetlessMost || attentive_.now() - at->second.since > config_.targetless_max)
        channel.close();
      if (!channel.open()) --targetless;
    }
    if (channel.open()) {
      ++at;
      continue;
    }
    worker_->destination_lost(clock_.now(), at->first);
    at = channels_.erase(at);
  }
  return worked;
}

bool WorkerProcess::serve_worker() {
  bool worked = false;
  rdmo::Access access;
  rdmo::Message message;
  rdmo::Action action;
  rdmo::Notice notice;
  std::uint64_t handle = 0;
  for (;;) {
    bool more = false;
    now_ = clock_.now();
    while (worker_->next_access(access)) {
      perform(access);
      more = true;
    }
    for (std::size_t i = 0; i < opened_.size(); ++i) {
      const std::unique_ptr<Opening> opening = std::move(opened_[i]);
      if (opening->result.status != wire::DocaError::kSuccess) close_target(opening->result.handle);
      let_go(opening->result.handle);
      worker_->action_done(now_, opening->action, opening->result);
      more = true;
    }
    opened_.clear();
    for (std::size_t i = 0; i < done_.size(); ++i) {
      worker_->access_done(now_, done_[i].first, done_[i].second);
      more = true;
    }
    done_.clear();
    while (worker_->next_message(message)) {
      answer(message);
      more = true;
    }
    while (worker_->next_release(handle)) release(handle);
    while (worker_->next_action(action)) {
      const rdmo::ActionResult result = act(action);
      const bool opens = action.kind == ActionKind::kOpenTarget && result.status == wire::DocaError::kSuccess;
      if (opens) {
        wire_up(action.id, result);
      } else {
        worker_->action_done(now_, action.id, result);
      }
      more = true;
    }
    while (worker_->next_notice(notice)) {
      const auto channel = channels_.find(notice.destination);
      if (channel != channels_.end()) channel->second.channel.write(notice.bytes);
      more = true;
    }
    worked = worked || more;
    if (!more) return worked;
  }
}

bool WorkerProcess::round() {
  now_ = clock_.now();
  // Who has waited comes before who comes now.
  if (!waiting_.empty()) offer_waiting();
  bool worked = port_->progress();
  take_answered();
  fail_endpoints();
  if (worker_->deadline() <= now_) worker_->expire(now_);
  worked = serve_worker() || worked;
  return worked;
}

void WorkerProcess::run(const std::atomic<bool>& stop) {
  bool stopping = false;
  TimePs next_look = kTimeZero;
  while (!worker_->stopped()) {
    bool worked = round();
    // Channels cost system calls, for which a message that comes meanwhile would wait.
    if (now_ >= next_look) {
      worked = serve_channels() || worked;
      next_look = now_ + kChannelPause;
    }
    const bool left = config_.once && had_target_ && worker_->targets() == 0;
    const bool asked = entry_ && entry_->asked_to_stop();
    if (!stopping && (stop.load(std::memory_order_relaxed) || left || asked)) {
      stopping = true;
      worker_->stop(clock_.now());
    }
    if (worked) {
      idle_.worked();
    } else {
      const TimePs now = clock_.now();
      idle_.idle(now, min(worker_->deadline(), now + microseconds(200)),
                 now < accepts_after_ ? -1 : listener_.descriptor());
    }
  }
}

rdmo::ActionResult WorkerProcess::act(const rdmo::Action& action) {
  rdmo::ActionResult result;
  switch (action.kind) {
    case ActionKind::kOpenTarget:
    case ActionKind::kOpenPeer: {
      if (!blobs_->is_address(action.bytes)) {
        ++refusals_.addresses;
        result.status = wire::DocaError::kInvalidValue;
        return result;
      }
      auto endpoint = port_->connect(action.bytes);
      if (!endpoint) {
        result.status = wire::DocaError::kInputOutputFailed;
        return result;
      }
      if (action.kind == ActionKind::kOpenTarget) {
        result.handle = targets_.put({*endpoint, 1});
        return result;
      }
      auto at = peer_of_.find(*endpoint);
      if (at == peer_of_.end()) {
        const std::size_t place = peers_.put({*endpoint, 0, false, false, false});
        at = peer_of_.emplace(*endpoint, static_cast<rdmo::PeerId>(place)).first;
      }
      result.peer = at->second;
      return result;
    }
    case ActionKind::kImport:
      return import(action);
    case ActionKind::kForget: {
      Memory& memory = memories_[action.memory];
      if (memory.key != nullptr) ucp_rkey_destroy(memory.key);
      memories_.leave(action.memory);
      return result;
    }
    case ActionKind::kClosePeer:
      close_peer(action.peer);
      return result;
    case ActionKind::kCloseTarget:
      close_target(action.target);
      return result;
    case ActionKind::kCancelOpening: {
      const auto found = opening_.find(action.opening);
      if (found == opening_.end()) return result;  // It has just ended.
      found->second->cancelled = true;
      close_target(found->second->result.handle);  // Which ends the wiring.
      return result;
    }
  }
  WHARF_UNREACHABLE();
}

// A target's endpoint is used when it is wired up: UCX 1.13 stops a process whose peer dies before that, and
// memory that is written in place would never wire it up. The target waits for the notification meanwhile,
// and progresses.
void WorkerProcess::wire_up(std::uint32_t action, const rdmo::ActionResult& result) {
  opened_.reserve(targets_.extent());  // So that the callback takes no memory.
  ++targets_[result.handle].users;
  auto* opening = new Opening{this, action, result};
  opening_.emplace(action, opening);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = opening;
  param.cb.send = [](void* request, ucs_status_t status, void* user) {
    auto* wired = static_cast<Opening*>(user);
    wired->process->wired_up(wired, status);
    ucp_request_free(request);
  };
  ucs_status_ptr_t request = ucp_ep_flush_nbx(targets_[result.handle].endpoint, &param);
  if (!UCS_PTR_IS_PTR(request)) wired_up(opening, UCS_PTR_STATUS(request));
}

void WorkerProcess::wired_up(Opening* opening, ucs_status_t status) {
  opening_.erase(opening->action);
  if (status != UCS_OK || opening->cancelled) opening->result.status = wire::DocaError::kInputOutputFailed;
  opened_.emplace_back(opening);
}

void WorkerProcess::close_target(rdmo::HostHandle target) {
  if (targets_[target].endpoint == nullptr) return;
  port_->close(std::exchange(targets_[target].endpoint, nullptr));
  let_go(target);
}

void WorkerProcess::let_go(rdmo::HostHandle target) {
  if (--targets_[target].users == 0) targets_.leave(target);
}

rdmo::ActionResult WorkerProcess::import(const rdmo::Action& action) {
  rdmo::ActionResult result;
  Memory memory;
  memory.address = action.address;
  offers_.progress(attentive_.now());  // It came before the command.
  // A handle that nothing was offered under is another system's: such memory is reached by its key.
  if (const auto offer = offers_.take(action.more)) {
    result.status = map(action, *offer, memory);
    if (result.status == wire::DocaError::kSuccess) {
      offer->confirm();
    } else {
      ++refusals_.memories;
    }
  } else if (!blobs_->is_key(action.bytes) ||
             ucp_ep_rkey_unpack(targets_[action.target].endpoint, action.bytes.data(), &memory.key) !=
                 UCS_OK) {
    ++refusals_.keys;
    result.status = wire::DocaError::kInvalidValue;
  }
  // Keys come from the kernel: nobody guesses them.
  if (result.status == wire::DocaError::kSuccess &&
      ::getrandom(&result.random, sizeof result.random, 0) != static_cast<ssize_t>(sizeof result.random))
    result.status = wire::DocaError::kInputOutputFailed;
  if (result.status != wire::DocaError::kSuccess) {
    if (memory.key != nullptr) ucp_rkey_destroy(memory.key);
    return result;
  }
  result.direct = memory.mapped != nullptr;
  result.handle = memories_.put(std::move(memory));
  return result;
}

// The worker checks each access against the range that the target names: all of it has to be in what was
// offered.
wire::DocaError WorkerProcess::map(const rdmo::Action& action, const MemoryOffer& offer, Memory& memory) {
  auto shared = SealedMemory::map(offer.file);
  if (!shared) return wire::DocaError::kInvalidValue;
  const std::uint64_t size = shared->bytes().size();
  const std::uint64_t offset = action.address - offer.address;
  if (action.address < offer.address || offer.address % kPageBytes != 0 || offset > size ||
      action.length > size - offset)
    return wire::DocaError::kInvalidValue;
  memory.shared = *std::move(shared);
  memory.mapped = memory.shared.bytes().data() + offset;
  return wire::DocaError::kSuccess;
}

}  // namespace wharf::live
