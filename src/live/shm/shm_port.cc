// SPDX-License-Identifier: Apache-2.0
#include "live/shm/shm_port.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace wharf::live {
namespace {

/// What send_queued() may write to one link before it is asked again.
constexpr std::uint32_t kBatchCells = DatagramPort::kBatch * ring_cells(DatagramPort::kFrameBytes);
static_assert(kBatchCells < kLinkRingCells / 3);

Error cannot_wait() {
  return Error{ErrorKind::kEnvironment,
               fmt::format("the system has no room to wait for shared memory: {}", std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<ShmPort>> ShmPort::create(std::uint16_t local_port, std::uint16_t first_remote) {
  Descriptor waits(::epoll_create1(EPOLL_CLOEXEC));
  if (!waits.open()) return cannot_wait();
  return std::unique_ptr<ShmPort>(new ShmPort(std::move(waits), local_port, first_remote));
}

ShmPort::ShmPort(Descriptor waits, std::uint16_t local_port, std::uint16_t first_remote)
    : DatagramPort(waits.number(), {kShmAddress, local_port}),
      waits_(std::move(waits)),
      first_remote_(first_remote) {}

std::optional<std::uint16_t> ShmPort::free_port() const {
  const auto gap = std::find(by_port_.begin(), by_port_.end(), nullptr);
  const auto index = static_cast<std::size_t>(gap - by_port_.begin());
  if (index >= kShmClientPorts) return std::nullopt;
  return static_cast<std::uint16_t>(first_remote_ + index);
}

Result<void> ShmPort::add(std::uint16_t port, SharedLink shared) {
  auto link = std::make_unique<Link>(Link{{kShmAddress, port}, std::move(shared)});
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = link.get();
  if (::epoll_ctl(waits_.number(), EPOLL_CTL_ADD, link->shared.doorbell(), &event) != 0) return cannot_wait();
  const auto index = static_cast<std::size_t>(port - first_remote_);
  if (by_port_.size() <= index) by_port_.resize(index + 1);
  WHARF_CHECK(by_port_[index] == nullptr);
  links_.push_back(link.get());
  by_port_[index] = std::move(link);
  return {};
}

void ShmPort::remove(std::uint16_t port) {
  Link* const link = find({kShmAddress, port});
  WHARF_CHECK(link != nullptr);
  stop_waiting_for(*link);
  std::erase(links_, link);
  by_port_[static_cast<std::size_t>(port - first_remote_)] = nullptr;
}

/// Closing it would not be enough: a forked process may hold it too.
void ShmPort::stop_waiting_for(const Link& link) const {
  ::epoll_ctl(waits_.number(), EPOLL_CTL_DEL, link.shared.doorbell(), nullptr);
}

ShmPort::Link* ShmPort::find(const UdpEndpoint& to) const {
  const std::size_t index = static_cast<std::size_t>(to.port) - first_remote_;  // Huge for a lower port.
  return to.address == kShmAddress && index < by_port_.size() ? by_port_[index].get() : nullptr;
}

std::size_t ShmPort::receive() {
  for (Link* const link : links_) {
    if (!link->taken) continue;
    if (link->shared.reader().release()) link->shared.ring();
    link->taken = false;
  }
  // In turns with equal shares, until the batch is full or nobody has more.
  std::size_t count = 0;
  const std::size_t share = std::max<std::size_t>(kBatch / std::max<std::size_t>(links_.size(), 1), 1);
  for (bool more = true; more && count < kBatch;) {
    more = false;
    for (std::size_t turn = 0; turn < links_.size() && count < kBatch; ++turn) {
      if (next_ >= links_.size()) next_ = 0;
      const std::size_t taken = take_from(*links_[next_++], count, std::min(share, kBatch - count));
      count += taken;
      more |= taken == share;
    }
  }
  return count;
}

std::size_t ShmPort::take_from(Link& link, std::size_t at, std::size_t most) {
  std::size_t taken = 0;
  while (taken < most) {
    const auto frame = link.shared.reader().take();
    if (!frame) break;
    datagrams_[at + taken++] = {link.remote, frame->bytes, frame->service};
  }
  link.taken |= taken != 0;
  return taken;
}

void ShmPort::send_queued(std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    const Outgoing& leaving = outgoing(index);
    Link* const link = find(leaving.to);
    if (link == nullptr || !link->shared.writer().put(outgoing_frame(index), leaving.service, leaving.data)) {
      ++dropped_;
    } else {
      link->written = true;
    }
  }
  for (std::size_t index = 0; index < count; ++index) {
    Link* const link = find(outgoing(index).to);
    if (link == nullptr || !std::exchange(link->written, false)) continue;
    if (link->shared.writer().wakes_reader()) link->shared.ring();
    full_ |= holds_back(*link);
  }
}

bool ShmPort::is_full() {
  bool full = false;
  for (Link* const link : links_) full |= link->way != Way::kFree && holds_back(*link);
  return full;
}

bool ShmPort::holds_back(Link& link) {
  FrameRingWriter& writer = link.shared.writer();
  if (link.way == Way::kGivenUp && !writer.is_half_empty()) return false;
  if (writer.takes(kBatchCells)) {
    // One that reads a little at a time begins no new wait.
    if (link.way == Way::kCrowded && !writer.is_half_empty()) return false;
    link.way = Way::kFree;
    return false;
  }
  const TimePs now = clock_.now();
  if (link.way != Way::kCrowded) {
    link.way = Way::kCrowded;
    link.crowded_since = now;
  }
  if (links_.size() == 1 || now - link.crowded_since < kPatience) return true;
  link.way = Way::kGivenUp;
  return false;
}

bool ShmPort::prepare_wait() {
  bool nothing = true;
  for (Link* const link : links_) {
    nothing &= link->shared.reader().prepare_sleep();
    if (full_ && link->way == Way::kCrowded) nothing &= link->shared.writer().prepare_wait(kBatchCells);
  }
  return nothing;
}

void ShmPort::waited() {
  for (Link* const link : links_) link->shared.reader().awake();
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(waits_.number(), events.data(), static_cast<int>(events.size()), 0);
  for (int index = 0; index < count; ++index) {
    const auto* const link = static_cast<const Link*>(events[static_cast<std::size_t>(index)].data.ptr);
    // Its end is closed for good: who closes a session says so on the control connection.
    if (!link->shared.quiet()) stop_waiting_for(*link);
  }
}

}  // namespace wharf::live
