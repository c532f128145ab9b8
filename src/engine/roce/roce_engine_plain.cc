// SPDX-License-Identifier: Apache-2.0
// The usual inputs of an interface, each in one pass: a request, packet or answer of memory that nothing
// holds back and that concerns one queue pair alone. What turns out to be unusual goes on to roce_engine.cc
// with nothing done, and the results are the same either way. Each call there is the last thing done, so that
// the usual way saves few registers.
#include <utility>

#include "base/check.h"
#include "engine/roce/roce_engine.h"
#include "engine/roce/roce_engine_drain.h"

namespace wharf::roce {

using engine::PostStatus;
using wire::RoceOpcode;

// --- Application ---

PostStatus RoceEngine::post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                            engine::Submission submission) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return PostStatus::kBadQueue;
  if ((core_.attention && core_.unprepared != pair) || submission != engine::Submission::kInHand ||
      !pair->usual.storing || !pair->usual.preparing || !requester_.post_plain(*pair, request)) {
    return post_asking(now, *pair, request, submission);
  }
  note_posted(now, *pair);
  return PostStatus::kOk;
}

// Not plain, unless the last general way has made it so.
PostStatus RoceEngine::post_asking(TimePs now, QueuePair& pair, const verbs::WorkRequest& request,
                                   engine::Submission submission) {
  if (core_.unprepared != nullptr) {
    prepare_posted(now);
    return post(now, pair.id, request, submission);
  }
  if (!core_.attention && submission == engine::Submission::kInHand &&
      (pair.usual.storing || Requester::find_storing(pair))) {
    const bool is_news = !pair.usual.preparing && Requester::find_preparing(pair);
    if (is_news && requester_.post_plain(pair, request)) {
      note_posted(now, pair);
      return PostStatus::kOk;
    }
    if (requester_.post_behind_others(pair, request)) return PostStatus::kOk;
  }
  return post_other(now, pair, request, submission);
}

// Requests that come one after the other are prepared together, before any output and any other input.
void RoceEngine::prepare_posted(TimePs now) {
  QueuePair& pair = *std::exchange(core_.unprepared, nullptr);
  core_.attention = needs_attention();
  if (pair.usual.storing && pair.usual.preparing && requester_.prepare_posted(pair)) return;
  if (pair.in_use) run(now, pair);
  settle(now);
}

// --- Network ---

// The usual packet: of one message, in order, and nothing else to do. Everything else goes on to
// receive_other(), and so does a packet that turns out not to be usual; each call is the last thing done.
void RoceEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  const wire::Bth& bth = packet.roce.bth;
  const std::uint32_t number = bth.destination_queue_pair - kFirstQueueNumber;
  if (core_.attention || core_.is_paced || packet.protocol != wire::Protocol::kRoce ||
      packet.destination != core_.config.host || packet.trim != wire::TrimState::kWhole || bth.version != 0 ||
      bth.partition_key != wire::kDefaultPartitionKey || number >= core_.queue_count) {
    return receive_other(now, packet);
  }
  QueuePair& pair = core_.queue(number);
  if (packet.source.number != pair.context.remote_host || packet.payload.length > pair.context.path_mtu)
    return receive_other(now, packet);
  if (bth.opcode == RoceOpcode::kRcWriteOnly) {
    if (!pair.usual.taking || !responder_.take_plain_write(pair, packet))
      return receive_asking(now, pair, packet);
  } else {
    return bth.opcode == RoceOpcode::kRcSendOnly ? receive_send(now, pair, packet)
                                                 : receive_read(now, pair, packet);
  }
  ++core_.counters.packets_received;
  core_.pool->retain(packet.payload.buffer);
}

void RoceEngine::receive_send(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  if (!pair.usual.taking || !responder_.take_plain_send(pair, packet))
    return receive_asking(now, pair, packet);
  ++core_.counters.packets_received;
  core_.pool->retain(packet.payload.buffer);
}

// Not plain, unless the last general way has made it so.
void RoceEngine::receive_asking(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  if (!pair.usual.taking && responder_.find_taking(pair)) return receive(now, 0, packet);
  receive_other(now, packet);
}

// The same for READs, their data, and the results of atomics.
void RoceEngine::receive_read(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  if (!pair.in_use || pair.context.state != QueueState::kReadyToSend ||
      pair.context.partition_key != wire::kDefaultPartitionKey) {
    return receive_other(now, packet);
  }
  const RoceOpcode opcode = packet.roce.bth.opcode;
  const bool is_result =
      opcode == RoceOpcode::kRcReadResponseOnly || opcode == RoceOpcode::kRcAtomicAcknowledge;
  const bool taken = opcode == RoceOpcode::kRcReadRequest
                         ? responder_.take_plain_read(pair, packet)
                         : is_result && requester_.take_plain_data(now, pair, packet);
  if (!taken) return receive_other(now, packet);
  ++core_.counters.packets_received;
  settle(now);
}

bool RoceEngine::refill(TimePs now, QueuePair& pair) {
  const bool is_news = !pair.usual.storing || !pair.usual.preparing;
  if (is_news && Requester::find_storing(pair)) {
    Requester::find_preparing(pair);
    if (refill_plain(now, pair)) return true;
  }
  run(now, pair);
  settle(now);
  return true;
}

bool RoceEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask classes, wire::Packet& out) {
  return transmit_one(now, classes, out);
}

// What comes after a general way, and the data of READs.
bool RoceEngine::transmit_asking(TimePs now, wire::TrafficClassMask classes, wire::Packet& out) {
  if (core_.unprepared != nullptr) {
    prepare_posted(now);
    return transmit(now, 0, classes, out);
  }
  if (core_.classes_listed == 0 && !congestion_.owes_notification()) return false;  // Asked mostly in vain.
  constexpr wire::TrafficClassMask kData = wire::mask_of(wire::TrafficClass::kData);
  const Ring<std::uint32_t>& list = core_.ready_flows[kDataList];
  if ((core_.classes_listed & classes) != kData || core_.attention || core_.is_paced || list.size() != 1)
    return transmit_other(now, classes, out);
  if (QueuePair* const pair = core_.lone_requests) {
    return !pair->usual.sending && Requester::find_sending(*pair) ? transmit(now, 0, classes, out)
                                                                  : transmit_other(now, classes, out);
  }
  QueuePair& pair = core_.queue(list.front() / 2);
  if (!responder_.transmit_plain_read(pair, out)) return transmit_other(now, classes, out);
  seal(out);
  const std::size_t next = Responder::ready_class(pair);
  if (next == kDataList && !core_.attention) return true;
  return relist_answers(now, pair, kDataList, next);
}

// The last thing of transmit(): the answers of `pair` leave list `at` for list `next`, if for any.
bool RoceEngine::relist_answers(TimePs now, QueuePair& pair, std::size_t at, std::size_t next) {
  if (next != at) {
    core_.unlist_flow(pair, Flow::kAnswers, at);
    if (next != kSendClassCount) core_.list_flow(pair, Flow::kAnswers, next);
  }
  settle(now);
  return true;
}

// --- Memory ---

void RoceEngine::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result) {
  if (!core_.port.is_asked(access)) return;
  answered(now, core_.port.slot(access), result);
}

}  // namespace wharf::roce
