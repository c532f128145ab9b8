// SPDX-License-Identifier: Apache-2.0
// What a requester does otherwise: where nobody acknowledges, a request is complete when it has left; and a
// queue pair that drains. [IBTA vol 1 9.8, 10.3.1.5, 10.3.1.6]
#include "engine/roce/requester.h"
#include "engine/roce/retransmission.h"

namespace wharf::roce {

namespace {

/// A request whose Q_Key has this bit is sent with the Q_Key of its queue pair. [IBTA vol 1 10.2.5]
constexpr std::uint32_t kOwnQueueKey = 1U << 31U;

}  // namespace

void Requester::advance_draining(TimePs now, QueuePair& pair) {
  if (pair.context.state != QueueState::kDraining) return;
  RequesterContext& requester = pair.context.requester;
  if (requester.sending != requester.assigned && !pair.transmit.full()) prepare(now, pair);
  if (pair.drained || pair.context.state != QueueState::kDraining) return;
  if (pair.send.head() != requester.assigned || pair.responses_outstanding > 0) return;
  pair.drained = true;
  core_.push_event(engine::AsyncEventKind::kQueueDrained, pair);
}

const AddressHandle* Requester::find_handle(const QueuePair& pair, verbs::PeerId peer) {
  if (peer >= pair.handles.size() || pair.handles[peer].host == wire::kNoHost.number) return nullptr;
  return &pair.handles[peer];
}

// A handle may be gone before the datagram leaves: what it says is the request's from now on.
void Requester::aim(const QueuePair& pair, const verbs::WorkRequest& request, SendEntry& entry) {
  const AddressHandle* const handle = find_handle(pair, request.peer);
  if (handle == nullptr) return;  // An announced entry, which has no request yet.
  entry.remote_address = std::uint64_t{handle->host} << 32U | handle->queue_number;
  const bool own = (handle->queue_key & kOwnQueueKey) != 0;
  entry.remote_key = own ? pair.attributes.queue_key : handle->queue_key;
}

void Requester::address_datagram(const QueuePair& pair, const SendEntry& entry, wire::Packet& out) {
  out.destination = {static_cast<std::uint32_t>(entry.remote_address >> 32U)};
  out.roce.bth.destination_queue_pair = static_cast<std::uint32_t>(entry.remote_address);
  std::construct_at(&out.roce.deth, wire::Deth{entry.remote_key, pair.context.queue_number});
}

void Requester::note_left(QueuePair& pair, const TransmitEntry& packet) {
  RequesterContext& requester = pair.context.requester;
  requester.highest_sent = requester.unacknowledged = requester.sent;
  const bool ends = packet.packet + 1 == pair.send.front().packets;
  pair.transmit.pop();  // The payload reference goes with the packet.
  if (ends) complete_oldest(pair);
  give_up_front(pair);
  core_.kick(pair);
}

void Requester::fail_sending(TimePs now, QueuePair& pair, verbs::CompletionStatus status) {
  RequesterContext& requester = pair.context.requester;
  core_.step(now, pair, QueueEvent::kSendFault);
  pair.send.front().status = status;
  flush(pair);
  // PSNs that were given to packets which never left are given again.
  requester.next = requester.next_unassigned = requester.sent;
  core_.push_event(engine::AsyncEventKind::kQueueSuspended, pair);
  core_.kick(pair);
}

}  // namespace wharf::roce
