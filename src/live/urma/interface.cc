// SPDX-License-Identifier: Apache-2.0
// The reactor of one address: packets, memory, completions, and the thread beside the program.
#include "live/urma/interface.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <new>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/ub/exchange.h"
#include "live/shm/shared_link.h"
#include "live/udp/direct_memory.h"
#include "live/udp/ub_live.h"
#include "live/urma/guarded.h"
#include "live/urma/identity.h"
#include "wire/packet.h"

namespace wharf::live::urma {
namespace {

using Ub = LiveProtocol<ub::UbEngine>;

/// IP, UDP and the longest UB headers.
constexpr std::uint32_t kHeaderBytes = 128;
/// Records that wait to be taken, here; others wait in the engine.
constexpr std::uint32_t kCompletionDepth = 65536;
/// After the system gave no memory it is asked again.
constexpr TimePs kMemoryPause = milliseconds(1);
/// Of the thread, in a row, before others may have the lock; and then so many times it lets them go first.
constexpr int kRoundsMost = 64;
constexpr int kYieldsMost = 100;

std::uint32_t mtu_of(std::uint32_t address) {
  if (is_shared_memory(address)) return 4096;
  const std::uint32_t path = interface_mtu(address);
  std::uint32_t mtu = 4096;
  while (mtu > 256 && mtu + kHeaderBytes > path) mtu /= 2;
  return mtu;
}

/// Packets that may be on their way to one peer: as many as the socket of a peer with the same settings, or
/// half of its ring, holds while its process is not running; a power of two. What is beyond is dropped, and
/// costs a timer.
std::uint32_t window_of(std::uint32_t mtu, const DatagramPort& port) {
  if (is_shared_memory(port.local().address))
    return std::bit_floor(kLinkRingCells / 2 / ring_cells(mtu + kHeaderBytes) + 1);
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (::getsockopt(port.descriptor(), SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0 || bytes <= 0)
    bytes = 1 << 18;
  // The kernel counts a datagram as the pages that it lies in.
  const std::uint32_t each = 2 * (mtu + kHeaderBytes);
  return std::clamp(std::bit_floor(static_cast<std::uint32_t>(bytes) / each), 16U, 1024U);
}

ub::UbConfig config_for(std::uint32_t mtu, const DatagramPort& port) {
  ub::UbConfig config;
  config.host = wire::HostAddress{0};
  config.mtu = mtu;
  config.send_window = window_of(mtu, port);
  // A TPACK costs a datagram: one for several packets will do, long before the peer's timer.
  config.acknowledge_every = std::min(16U, config.send_window / 4);
  config.acknowledge_delay = microseconds(500);
  // 4 + 8 + ... + 256 + 512 ms.
  config.retransmission = {.base = milliseconds(4), .cap = milliseconds(512), .attempts_max = 7};
  return config;
}

/// Signals are the program's, which may wait for them in a thread of its own: threads begun meanwhile take
/// none.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

struct Interface::Inside {
  Interface& self;

  bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
    result = perform(access);
    return true;
  }
  wire::TrafficClassMask open(TimePs) const {
    return self.port_->open() ? wire::kAllTrafficClasses : wire::TrafficClassMask{0};
  }
  void send(TimePs, wire::Packet& packet) { self.send_packet(packet); }
  void completed(TimePs, const verbs::Completion& completion) {
    const bool received = completion.kind == verbs::CompletionKind::kReceive;
    ++(received ? self.counters_.messages : self.counters_.completions);
    if (QueueOwner* owner = self.owner(completion.queue)) owner->completed(completion);
  }
  void event(TimePs, const engine::AsyncEvent& event) { self.happened(event); }
  /// One event may end more requests than the queue of records holds.
  bool gave(TimePs now, engine::Taken taken) {
    return taken.completions && self.engine_->completions_polled(now);
  }
};

Interface::Section::Section(Interface& interface)
    : lock_(interface.mutex_, std::defer_lock), interface_(interface) {
  interface_.callers_.fetch_add(1, std::memory_order_relaxed);
  lock_.lock();
  interface_.callers_.fetch_sub(1, std::memory_order_relaxed);
  interface_.now_ = interface_.clock_.now();
}

Interface::Section::~Section() {
  interface_.short_of_memory_ = !attempted([this] { interface_.settle(); });
  if (interface_.short_of_memory_) attempted([this] { interface_.lent_.send(); });
  if (!interface_.sleeping_) return;
  const TimePs due = interface_.deadline();
  if (due >= interface_.sleep_until_) return;
  interface_.sleep_until_ = due;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(interface_.wake_, &one, sizeof one);
}

Interface::Interface(std::unique_ptr<DatagramPort> port, std::uint32_t uasid, std::uint32_t mtu)
    : port_(std::move(port)), uasid_(uasid), mtu_(mtu) {}

Result<std::unique_ptr<Interface>> Interface::open(std::unique_ptr<DatagramPort> port, std::uint32_t uasid) {
  const std::uint32_t mtu = mtu_of(port->local().address);
  std::unique_ptr<Interface> made(new Interface(std::move(port), uasid, mtu));
  WHARF_TRY(made->start());
  return made;
}

Result<void> Interface::start() {
  const auto unavailable = [](const char* what) {
    return Error{ErrorKind::kEnvironment, fmt::format("{} cannot be had from the system", what)};
  };
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return unavailable("a descriptor for wake-ups");
  if (::getrandom(&instance_, sizeof instance_, 0) != sizeof instance_ ||
      ::getrandom(secret_, sizeof secret_, 0) != sizeof secret_) {
    return unavailable("random bytes");
  }
  now_ = clock_.now();
  // Peers are numbered from 1 by whoever meets them: the number of an engine is its own affair, see
  // send_packet().
  auto engine = ub::UbEngine::create(config_for(mtu_, *port_), memory_.payloads, memory_.arena);
  if (!engine) return engine.error();
  engine_ = std::make_unique<ub::UbEngine>(*std::move(engine));
  auto completions = engine_->create_completion_queue(now_, {.depth = kCompletionDepth});
  if (!completions) return completions.error();
  completions_ = *completions;
  WHARF_TRY(engine_->keep_records(completions_));
  auto control = engine_->create_queue(now_, {.send_depth = 1, .receive_depth = 1});
  if (!control) return control.error();
  control_ = *control;
  begin_metrics();
  const WithoutSignals inherited;
  thread_ = std::thread([this] { serve(); });
  return {};
}

Interface::~Interface() {
  if (thread_.joinable()) {
    {
      const Section section(*this);
      stop_ = true;
      // Acknowledgements that would have waited for company.
      engine_->expire(now_ + milliseconds(1));
      do {
        settle();
      } while (port_->turn_is_over());
      for (const auto& [key, each] : peers_) {
        if (each->state != Peer::State::kUp) continue;
        send_message(
            each->endpoint,
            {.kind = PeerMessageKind::kBye, .own_number = each->number, .peer_number = each->own_number});
      }
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
    }
    thread_.join();
    // What stays belongs to a process that was killed.
    if (!metrics_path_.empty()) ::unlink(metrics_path_.c_str());
  }
  if (wake_ >= 0) ::close(wake_);
}

void Interface::abandon() {
  port_->abandon();
  ::close(wake_);
}

// The thread takes what the program does not. It sleeps in the kernel, so a packet or a deadline wakes it at
// once.
void Interface::serve() {
  for (;;) {
    timespec limit{};
    bool forever = false;
    std::optional<ServerState> counted;
    {
      const std::lock_guard lock(mutex_);
      sleeping_ = false;
      const bool waited = attempted([&] { port_->waited(); });
      bool worked = true;
      for (int round = 0; !stop_ && worked && round < kRoundsMost; ++round) {
        worked = false;
        short_of_memory_ = !attempted([&] { worked = step(); });
        if (short_of_memory_) attempted([&] { lent_.send(); });
      }
      short_of_memory_ |= !waited;
      if (stop_) return;
      if (now_ >= metrics_due_) {
        metrics_due_ = now_ + MetricsFile::kInterval;
        attempted([&] { counted = metrics_state(); });
      }
      sleep_until_ = deadline();
      sleeping_ = true;
      forever = sleep_until_ == kNever;
      const std::int64_t left = forever ? 0 : std::max<std::int64_t>((sleep_until_ - now_).ps / 1'000 + 1, 0);
      limit = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
      // Who never ends to send keeps neither the program nor newcomers out.
      if (!port_->prepare_wait() || worked) {
        limit = {};
        forever = false;
      }
    }
    // A folder that is full is no reason to stand still.
    if (counted) attempted([&] { static_cast<void>(metrics_.write(kTimeZero, *counted)); });
    // Whoever waits for the lock comes first; it may take its time to wake.
    for (int turn = 0; turn < kYieldsMost && callers_.load(std::memory_order_relaxed) != 0; ++turn)
      std::this_thread::yield();
    pollfd wait[2] = {{port_->descriptor(), POLLIN, 0}, {wake_, POLLIN, 0}};
    ::ppoll(wait, 2, forever ? nullptr : &limit, nullptr);
    if ((wait[1].revents & POLLIN) != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    }
  }
}

bool Interface::step() {
  bool worked = take_datagrams();
  now_ = clock_.now();
  if (engine_->deadline() <= now_) {
    engine_->expire(now_);
    worked = true;
  }
  expire_peers();
  settle();
  return worked;
}

TimePs Interface::deadline() const {
  if (port_->turn_is_over()) return now_;  // There may be more to send.
  if (short_of_memory_) return now_ + kMemoryPause;
  TimePs due = min(engine_->deadline(), metrics_due_);
  if (port_->short_of_room()) due = min(due, now_ + kMemoryPause);
  for (const Peer* each : asking_) due = min(due, min(each->ask_at, each->give_up_at));
  for (const SendQueue* queue : parking_) {
    for (const SendQueue::Import& each : queue->imports) due = min(due, each.ask_at);
  }
  return due;
}

void Interface::settle() {
  Inside inside{*this};
  engine::EngineDriver driver(*engine_, inside, inside, inside);
  port_->begin_turn();
  driver.settle(now_);
  while (!lost_.empty()) {
    Peer& peer = *lost_.back();
    lost_.pop_back();
    lose(peer);
    review(peer);
    driver.settle(now_);
  }
  if (!parking_.empty()) {
    unpark_all();
    driver.settle(now_);
  }
  port_->flush();
  lent_.send();
}

// --- Packets

bool Interface::take_datagrams() {
  const std::size_t count = port_->receive();
  lose_gone();
  if (count == 0) return false;
  now_ = clock_.now();
  for (std::size_t at = 0; at < count; ++at) {
    // A datagram that finds no memory is lost, as on the way.
    if (!attempted([&] { take(port_->datagram(at)); })) ++counters_.no_memory;
  }
  return true;
}

void Interface::take(const DatagramPort::Datagram& datagram) {
  ++counters_.datagrams_received;
  counters_.bytes_received += datagram.bytes.size();
  if (is_peer_message(datagram.bytes)) {
    const std::optional<PeerMessage> message = decode_peer_message(datagram.bytes);
    if (message && port_of(message->uasid) == datagram.source.port) {
      take_message(datagram.source, *message);
    } else {
      ++counters_.malformed;
    }
    return;
  }
  Peer* const peer = find(datagram.source);
  if (peer == nullptr || peer->state != Peer::State::kUp || datagram.bytes.empty()) {
    ++counters_.unknown_sender;
    return;
  }
  ++peer->traffic.datagrams_received;
  peer->traffic.bytes_received += datagram.bytes.size();
  // The socket reuses its buffers, while the engine may keep the payload: copy it into the pool.
  const wire::BufferId buffer = memory_.payloads.acquire(static_cast<std::uint32_t>(datagram.bytes.size()));
  const std::span<std::byte> bytes(memory_.payloads.data(buffer), datagram.bytes.size());
  std::copy(datagram.bytes.begin(), datagram.bytes.end(), bytes.begin());
  wire::Packet packet;
  const wire::DropReason reason = Ub::decode(bytes, {datagram.source, port_->local(), 0}, packet);
  if (reason == wire::DropReason::kNone) {
    greeted_.heard(*peer);
    packet.source = wire::HostAddress{peer->number};
    packet.destination = wire::HostAddress{0};
    packet.payload.buffer = packet.payload.length != 0 ? buffer : wire::kNoBuffer;
    // See send_packet().
    std::uint32_t& tpn = packet.ub.rtph.source_tpn;
    tpn = (tpn + wire::kPsnMask - peer->own_number) % wire::kPsnMask;
    const std::uint64_t before = Ub::repetitions(*engine_).received;
    engine_->receive(now_, 0, packet);
    peer->traffic.duplicates += Ub::repetitions(*engine_).received - before;
    // Accesses are performed before the next datagram so that the engine's queues stay short.
    Inside inside{*this};
    engine::EngineDriver(*engine_, inside, inside, inside).perform(now_);
  } else {
    ++counters_.malformed;
    ++counters_.malformed_by[static_cast<std::size_t>(reason)];
    ++peer->traffic.dropped;
  }
  memory_.payloads.release(buffer);
}

// TPNs follow from the number that each end gave the other (ub::tpn_toward), and the engine takes its own for
// 0. On the wire stands what the owner of each number knows: the destination's as the peer counts, which is
// this engine's 0 plus what it is called there; the receiver takes the same off the source's.
void Interface::send_packet(wire::Packet& packet) {
  const auto found = peer_of_number_.find(packet.destination.number);
  const std::uint64_t repeated = Ub::repetitions(*engine_).sent;
  const std::uint64_t again = repeated - std::exchange(repeated_, repeated);
  if (found != peer_of_number_.end()) {
    Peer& peer = *found->second;
    std::uint32_t& tpn = packet.ub.rtph.destination_tpn;
    tpn = (tpn + peer.own_number) % wire::kPsnMask;
    const std::span<std::byte> room = port_->queue(peer.endpoint);
    const std::span<const std::byte> data = Ub::data_apart(packet);
    const std::size_t length = data.empty() ? Ub::encode(packet, port_->local(), peer.endpoint, room)
                                            : Ub::encode_head(packet, room);
    port_->set_queued_length(length);
    if (!data.empty()) port_->queue_data(data);
    ++counters_.datagrams_sent;
    counters_.bytes_sent += length + data.size();
    ++peer.traffic.datagrams_sent;
    peer.traffic.bytes_sent += length + data.size();
    peer.traffic.retransmissions += again;
  }
  lent_.release(packet.payload.buffer);
}

// --- Queues

QueueOwner* Interface::owner(engine::QueueId queue) const {
  return queue < owners_.size() ? owners_[queue] : nullptr;
}

void Interface::happened(const engine::AsyncEvent& event) {
  switch (event.kind) {
    case engine::AsyncEventKind::kPeerUnreachable:
      if (event.peer < imported_.size() && imported_[event.peer] != nullptr) {
        Peer* const peer = imported_[event.peer];
        if (std::find(lost_.begin(), lost_.end(), peer) == lost_.end()) lost_.push_back(peer);
      }
      break;
    case engine::AsyncEventKind::kReceiveLimit: {
      const auto found = receive_owners_.find(event.queue);
      if (found != receive_owners_.end()) found->second->happened(event.kind);
      break;
    }
    case engine::AsyncEventKind::kQueueError:
    case engine::AsyncEventKind::kQueueSuspended:
      if (QueueOwner* told = owner(event.queue)) told->happened(event.kind);
      break;
    case engine::AsyncEventKind::kCompletionError:
    case engine::AsyncEventKind::kCompletionQueueFull:
    case engine::AsyncEventKind::kCompletionReady:
    case engine::AsyncEventKind::kQueueDrained:
      break;
  }
}

Result<engine::QueueId> Interface::create_queue(engine::QueueConfig config, QueueOwner& told) {
  config.send_completions = completions_;
  config.receive_completions = completions_;
  auto made = engine_->create_queue(now_, config);
  if (!made) return made;
  if (*made >= owners_.size() && !attempted([&] { owners_.resize(*made + 1, nullptr); })) {
    WHARF_CHECK(engine_->destroy_queue(now_, *made).ok());
    throw std::bad_alloc();
  }
  owners_[*made] = &told;
  return made;
}

void Interface::destroy_queue(SendQueue& queue) {
  std::erase(parking_, &queue);
  for (SendQueue::Parked& each : queue.parked) memory_.payloads.release(each.request.inline_data.buffer);
  queue.parked.clear();
  queue.leaving.clear();
  if (queue.queue == engine::kOwn) return;
  while (!queue.imports.empty()) {
    const SendQueue::Import each = queue.imports.back();
    queue.imports.pop_back();
    const Peer& peer = *each.remote->peer;
    if (each.life == peer.life && peer.state == Peer::State::kUp) unbind(queue, peer, each.nonce);
  }
  owners_[queue.queue] = nullptr;
  // Without memory the engine may keep its place for good; nobody hears of it any more.
  bool ended = true;
  attempted([&] { ended = engine_->destroy_queue(now_, queue.queue).ok(); });
  WHARF_CHECK(ended);
  queue.queue = engine::kOwn;
}

void Interface::watch_receives(engine::QueueId queue, QueueOwner* told) {
  if (told == nullptr) {
    receive_owners_.erase(queue);
  } else {
    receive_owners_[queue] = told;
  }
}

}  // namespace wharf::live::urma
