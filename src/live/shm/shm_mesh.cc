// SPDX-License-Identifier: Apache-2.0
#include "live/shm/shm_mesh.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "base/vector_room.h"

namespace wharf::live {
namespace {

constexpr std::uint64_t kListenerTag = 0;
constexpr std::uint64_t kNudgeTag = 1;
/// Who never waits looks at names and doorbells that often, in calls of receive().
constexpr std::uint32_t kLookEvery = 64;
/// Each link has one descriptor, each newcomer too; the name and the nudge are beside them.
constexpr std::size_t kHeldMost = 2 * ShmMesh::kLinksMost + ShmMesh::kNewcomersMost + 3;

/// Held by whoever makes or ends a link, and by whoever forks.
constinit std::mutex fork_gate;

std::uint64_t key_of(const UdpEndpoint& end) { return (std::uint64_t{end.address} << 16U) | end.port; }

Error cannot_wait() {
  return Error{ErrorKind::kEnvironment,
               fmt::format("the system has no room to wait for shared memory: {}", std::strerror(errno))};
}

}  // namespace

std::string ShmMesh::name_of(const UdpEndpoint& end) {
  return fmt::format("mesh.{}.{}", end.address, end.port);
}

Result<std::unique_ptr<ShmMesh>> ShmMesh::open(const UdpEndpoint& local) {
  auto listener = ShmListener::open(name_of(local));
  if (!listener) return listener.error();
  Descriptor waits(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor nudge(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waits.open() || !nudge.open()) return cannot_wait();
  std::unique_ptr<ShmMesh> made(new ShmMesh(std::move(waits), std::move(nudge), *std::move(listener), local));
  // A connection that cannot be taken for want of descriptors does not keep anybody awake.
  made->gone_.reserve(kLinksMost);
  if (!made->watch(made->listener_.descriptor(), kListenerTag, EPOLLIN | EPOLLET) ||
      !made->watch(made->nudge_.number(), kNudgeTag, EPOLLIN)) {
    return cannot_wait();
  }
  return made;
}

ShmMesh::ShmMesh(Descriptor waits, Descriptor nudge, ShmListener listener, const UdpEndpoint& local)
    : DatagramPort(waits.number(), local),
      waits_(std::move(waits)),
      nudge_(std::move(nudge)),
      listener_(std::move(listener)),
      held_(std::make_unique<std::atomic<int>[]>(kHeldMost)) {
  for (std::size_t at = 0; at < kHeldMost; ++at) held_[at].store(-1, std::memory_order_relaxed);
  held_[0].store(waits_.number());
  held_[1].store(nudge_.number());
  held_[2].store(listener_.descriptor());
}

ShmMesh::~ShmMesh() {
  const std::lock_guard still(fork_gate);
  newcomers_.clear();
  inbound_.clear();
  outbound_.clear();
}

void ShmMesh::before_fork() { fork_gate.lock(); }
void ShmMesh::after_fork_in_parent() { fork_gate.unlock(); }
/// The thread that has locked it is the child's only one.
void ShmMesh::after_fork_in_child() { fork_gate.unlock(); }

// --- What the system is asked to watch

ShmMesh::Held ShmMesh::hold(int descriptor) {
  std::size_t at = 3;
  while (held_[at].load(std::memory_order_relaxed) >= 0) ++at;
  return {&held_[at], descriptor};
}

void ShmMesh::abandon() {
  for (std::size_t at = 0; at < kHeldMost; ++at) {
    const int number = held_[at].load();
    if (number >= 0) ::close(number);
  }
}

bool ShmMesh::watch(int descriptor, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(waits_.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

/// Closing it would not be enough: a forked process may hold it too.
void ShmMesh::unwatch(int descriptor) const {
  ::epoll_ctl(waits_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void ShmMesh::look(bool strokes) {
  std::array<epoll_event, 32> events;
  const int count = ::epoll_wait(waits_.number(), events.data(), static_cast<int>(events.size()), 0);
  const std::span<const epoll_event> seen(events.data(), static_cast<std::size_t>(std::max(count, 0)));
  if (seen.empty() && !newcomers_wait_) return;
  const std::lock_guard still(fork_gate);
  // It is told once, and what comes before it in the list may find no memory.
  for (const epoll_event& event : seen) newcomers_wait_ |= event.data.u64 == kListenerTag;
  for (const epoll_event& event : seen) {
    const std::uint64_t tag = event.data.u64;
    if (tag == kListenerTag) continue;
    if (tag == kNudgeTag) {
      std::uint64_t ignored = 0;
      if (strokes) [[maybe_unused]]
        const ssize_t got = ::read(nudge_.number(), &ignored, sizeof ignored);
      continue;
    }
    const auto in = std::find_if(inbound_.begin(), inbound_.end(),
                                 [&](const std::unique_ptr<Link>& each) { return each->tag == tag; });
    if (in != inbound_.end()) {
      notice(**in, strokes);
      continue;
    }
    const auto out = std::find_if(outbound_.begin(), outbound_.end(),
                                  [&](const auto& each) { return each.second->tag == tag; });
    if (out != outbound_.end()) {
      notice(*out->second, strokes);
      continue;
    }
    take_link(tag);
  }
  if (newcomers_wait_) take_newcomers();
}

/// Takes what has rung, or finds that nothing will any more.
void ShmMesh::notice(Link& link, bool strokes) {
  // Whoever waits needs the strokes: they wake it.
  if (link.ended || (strokes ? link.shared.quiet() : link.shared.is_open())) return;
  if (outbound(link.remote) == &link) {
    // What it has sent before it ended is taken first.
    const Link* const in = inbound(link.remote);
    if (in == nullptr || !in->proven) tell_gone(link.remote);
    // Who has as many links as it takes lets go of this one as soon as it sees it.
    if (clock_.now() - link.made_at < kTurnedAway) turned_away(link.remote);
    remove_outbound(link);
  } else {
    end_inbound(link);
  }
}

void ShmMesh::end_inbound(Link& link) {
  if (link.ended) return;
  unwatch(link.shared.doorbell());
  link.ended = true;
  ++ending_;
  wake_sleeper();  // Nothing is watched any more that would.
}

void ShmMesh::wake_sleeper() const {
  if (!asleep_) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(nudge_.number(), &one, sizeof one);
}

// --- Links that come

void ShmMesh::take_newcomers() {
  newcomers_wait_ = true;  // Memory or descriptors may run out, and they may come faster than they are taken.
  for (std::size_t turn = 0; turn < kNewcomersMost; ++turn) {
    make_room_for_one(newcomers_);  // Whoever is let go for want of memory would take this end for dead.
    auto connection = listener_.accept();
    if (!connection) {
      newcomers_wait_ = errno != EAGAIN;
      return;
    }
    if (newcomers_.size() == kNewcomersMost) {
      unwatch(newcomers_.front().connection.control.number());
      newcomers_.erase(newcomers_.begin());
    }
    const int descriptor = connection->control.number();
    const std::uint64_t tag = next_tag_++;
    if (!watch(descriptor, tag, EPOLLIN)) continue;
    newcomers_.push_back({tag, *std::move(connection), hold(descriptor)});
    take_link(tag);  // It is there most of the time.
  }
}

/// The newcomer `tag` has said something, or is gone.
void ShmMesh::take_link(std::uint64_t tag) {
  const auto found = std::find_if(newcomers_.begin(), newcomers_.end(),
                                  [&](const Newcomer& each) { return each.tag == tag; });
  if (found == newcomers_.end()) return;
  // What the link needs comes first: without memory the newcomer stays, and is looked at again.
  make_room_for_one(inbound_);
  LinkRoom link_room;
  ShmPorts ports;
  auto link = take_over(found->connection, ports);
  if (!link) return;
  unwatch(found->connection.control.number());
  const Newcomer newcomer = std::move(*found);
  newcomers_.erase(found);
  if (*link) adopt(newcomer.connection, {ports.client, ports.server}, **std::move(link), link_room);
}

void ShmMesh::adopt(const ShmConnection& from, const UdpEndpoint& remote, SharedLink shared, LinkRoom& room) {
  // A name is one process's. Who else claims it is no peer; after its death it may be another's.
  if (Link* const way_back = outbound(remote); way_back != nullptr && way_back->process != from.process) {
    if (way_back->shared.is_open()) return;
    remove_outbound(*way_back);
  }
  const auto earlier = std::find_if(inbound_.begin(), inbound_.end(), [&](const std::unique_ptr<Link>& each) {
    return each->remote == remote;
  });
  if (earlier != inbound_.end()) remove_inbound(static_cast<std::size_t>(earlier - inbound_.begin()));
  if (inbound_.size() == kLinksMost || inbound_of(from.process) >= kLinksOfProcessMost) return;
  shared.keep_from_children();
  const std::uint64_t tag = next_tag_++;
  const int doorbell = shared.doorbell();
  inbound_.emplace_back(::new (room.take())
                            Link{tag, remote, from.process, std::move(shared), hold(doorbell), clock_.now()});
  if (!watch(doorbell, tag, EPOLLIN)) {
    inbound_.pop_back();
    return;
  }
  const Link* const way_back = outbound(remote);
  inbound_.back()->proven = way_back != nullptr && way_back->process == from.process;
  wake_sleeper();
}

std::size_t ShmMesh::inbound_of(pid_t process) const {
  return static_cast<std::size_t>(std::count_if(inbound_.begin(), inbound_.end(),
                                                [&](const auto& each) { return each->process == process; }));
}

std::size_t ShmMesh::outbound_of(pid_t process) const {
  return static_cast<std::size_t>(std::count_if(
      outbound_.begin(), outbound_.end(), [&](const auto& each) { return each.second->process == process; }));
}

/// What it has sent and nobody has taken is lost, as on a way that breaks.
void ShmMesh::remove_inbound(std::size_t at) {
  Link& link = *inbound_[at];
  if (link.ended) {
    --ending_;
  } else {
    unwatch(link.shared.doorbell());
  }
  // Somebody who has claimed a name and left says nothing about whose name it is.
  if (link.proven && !link.refused) tell_gone(link.remote);
  Link* const way_back = outbound(link.remote);
  if (way_back != nullptr && way_back->process == link.process && !way_back->shared.is_open())
    remove_outbound(*way_back);  // The same death is not told twice.
  inbound_.erase(inbound_.begin() + static_cast<std::ptrdiff_t>(at));
}

// --- Frames that come

std::size_t ShmMesh::receive() {
  for (const auto& link : inbound_) {
    if (!link->taken) continue;
    if (link->shared.reader().release()) link->shared.ring();
    link->taken = false;
  }
  // Before frames are taken: what is replaced here goes with its memory.
  if (++calls_ % kLookEvery == 0) look(false);
  const std::size_t count = take_frames();
  if (ending_ != 0) remove_ended();
  return count;
}

/// In turns with equal shares, until the batch is full or nobody has more.
std::size_t ShmMesh::take_frames() {
  std::size_t count = 0;
  const std::size_t share = std::max<std::size_t>(kBatch / std::max<std::size_t>(inbound_.size(), 1), 1);
  for (bool more = true; more && count < kBatch;) {
    more = false;
    for (std::size_t turn = 0; turn < inbound_.size() && count < kBatch; ++turn) {
      if (next_ >= inbound_.size()) next_ = 0;
      const std::size_t taken = take_from(*inbound_[next_++], count, std::min(share, kBatch - count));
      count += taken;
      more |= taken == share;
    }
  }
  return count;
}

std::size_t ShmMesh::take_from(Link& link, std::size_t at, std::size_t most) {
  std::size_t taken = 0;
  while (taken < most && !link.refused) {
    const auto frame = link.shared.reader().take();
    link.empty = !frame;
    if (!frame) {
      if (link.shared.reader().lied()) end_inbound(link);
      break;
    }
    datagrams_[at + taken++] = {link.remote, frame->bytes, frame->service};
  }
  link.taken |= taken != 0;
  return taken;
}

/// Those whose rings are empty.
void ShmMesh::remove_ended() {
  const std::lock_guard still(fork_gate);
  for (std::size_t at = 0; at < inbound_.size();) {
    const Link& link = *inbound_[at];
    if (link.ended && !link.taken && (link.empty || link.refused)) {
      remove_inbound(at);
    } else {
      ++at;
    }
  }
}

void ShmMesh::tell_gone(const UdpEndpoint& end) {
  const bool told = std::find(gone_.begin(), gone_.end(), end) != gone_.end();
  if (!told && gone_.size() < kLinksMost) gone_.push_back(end);  // There is room, see open().
}

std::optional<UdpEndpoint> ShmMesh::next_gone() const {
  return gone_.empty() ? std::nullopt : std::optional(gone_.back());
}

void ShmMesh::gone_is_known() { gone_.pop_back(); }

// --- Frames that leave

ShmMesh::Link* ShmMesh::outbound(const UdpEndpoint& to) const {
  const auto found = outbound_.find(key_of(to));
  return found == outbound_.end() ? nullptr : found->second.get();
}

ShmMesh::Link* ShmMesh::inbound(const UdpEndpoint& from) const {
  const auto found = std::find_if(inbound_.begin(), inbound_.end(),
                                  [&](const std::unique_ptr<Link>& each) { return each->remote == from; });
  return found == inbound_.end() ? nullptr : found->get();
}

void ShmMesh::remove_outbound(Link& link) {
  unwatch(link.shared.doorbell());
  outbound_.erase(key_of(link.remote));
}

ShmMesh::Link* ShmMesh::reach(const UdpEndpoint& to) {
  if (Link* const known = outbound(to)) return known;
  if (!turned_away_.empty()) {
    const auto found = turned_away_.find(key_of(to));
    if (found != turned_away_.end() && clock_.now() < found->second) return nullptr;
    if (found != turned_away_.end()) turned_away_.erase(found);
  }
  try {
    return connect(to);
  } catch (const std::bad_alloc&) {
    return nullptr;  // The frame is lost, as on the way.
  }
}

void ShmMesh::turned_away(const UdpEndpoint& by) {
  if (turned_away_.size() >= kLinksMost) turned_away_.clear();
  turned_away_[key_of(by)] = clock_.now() + kTurnedAway;
}

ShmMesh::Link* ShmMesh::connect(const UdpEndpoint& to) {
  if (outbound_.size() == kLinksMost) return nullptr;
  const std::lock_guard still(fork_gate);
  const auto connection = connect_shm(name_of(to), kTimeZero);
  if (!connection) return nullptr;
  if (outbound_of(connection->process) >= kLinksOfProcessMost) {
    turned_away(to);
    return nullptr;
  }
  SharedLink::OtherEnd other;
  auto shared = SharedLink::create(other);
  if (!shared) return nullptr;
  shared->keep_from_children();
  const std::uint64_t tag = next_tag_++;
  const int doorbell = shared->doorbell();
  auto link = std::make_unique<Link>(
      Link{tag, to, connection->process, *std::move(shared), hold(doorbell), clock_.now()});
  Link* const made = link.get();
  outbound_.emplace(key_of(to), std::move(link));
  const ShmPorts own{static_cast<std::uint16_t>(local().address), local().port};
  if (!watch(doorbell, tag, EPOLLIN) || !hand_over(*connection, own, other)) {
    outbound_.erase(key_of(to));
    return nullptr;
  }
  // Who has claimed the name before and is not the one that has it is no peer.
  for (const auto& each : inbound_) {
    if (each->remote != to) continue;
    each->proven = each->process == made->process;
    each->refused = !each->proven;
    if (each->refused) end_inbound(*each);
  }
  return made;
}

void ShmMesh::send_queued(std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    const Outgoing& leaving = outgoing(index);
    Link* const link = reach(leaving.to);
    if (link == nullptr || !link->shared.writer().put(outgoing_frame(index), leaving.service, leaving.data)) {
      ++dropped_;
    } else {
      link->written = true;
    }
  }
  for (std::size_t index = 0; index < count; ++index) {
    Link* const link = outbound(outgoing(index).to);
    if (link == nullptr || !std::exchange(link->written, false)) continue;
    if (link->shared.writer().wakes_reader()) link->shared.ring();
  }
}

// --- Waiting

bool ShmMesh::prepare_wait() {
  asleep_ = true;
  bool nothing = gone_.empty() && ending_ == 0;
  for (const auto& link : inbound_) nothing &= link->shared.reader().prepare_sleep();
  return nothing;
}

void ShmMesh::waited() {
  asleep_ = false;
  for (const auto& link : inbound_) link->shared.reader().awake();
  look(true);
}

}  // namespace wharf::live
