// SPDX-License-Identifier: Apache-2.0
// How the driver's rounds drain a RoceEngine, inline: accesses are answered where they lie, without a copy
// and without looking them up again, and packets leave without a call each. Apart from roce_engine.h, which
// says what the engine does.
#pragma once

#include <algorithm>

#include "base/check.h"
#include "engine/roce/roce_engine.h"

namespace wharf::roce {

[[gnu::always_inline]] inline bool RoceEngine::note_written(QueuePair& pair,
                                                            PositionRing<CompletionEntry>& ring,
                                                            Position position) {
  if (!ring.contains(position)) return false;
  ring[position].visible = true;
  if (position == ring.head()) core_.note_completed(pair);
  return true;
}

[[gnu::always_inline]] inline bool RoceEngine::take_plain_answer(QueuePair& pair, AccessSlot& slot,
                                                                 const engine::AccessResult& result) {
  if (slot.purpose == AccessPurpose::kPlacement) return responder_.note_placed(pair, slot);
  switch (slot.purpose) {
    case AccessPurpose::kRequestPayload:
      return requester_.take_payload(pair, slot, result);
    case AccessPurpose::kReadPayload:
      return responder_.take_read_data(pair, slot, result);
    case AccessPurpose::kResponseData:
      return requester_.note_response_placed(pair, slot);
    case AccessPurpose::kSendCompletion:
      return note_written(pair, pair.send_completions, slot.position);
    case AccessPurpose::kReceiveCompletion:
      return note_written(pair, pair.receive_completions, slot.position);
    case AccessPurpose::kPlacement:
    case AccessPurpose::kResendPayload:
    case AccessPurpose::kFetchWork:
    case AccessPurpose::kFetchReceive:
    case AccessPurpose::kSharedCompletion:
    case AccessPurpose::kAtomic:
    case AccessPurpose::kFetchQueueContext:
    case AccessPurpose::kWriteQueueContext:
    case AccessPurpose::kFetchKeyRecord:
    case AccessPurpose::kWriteKeyRecord:
    case AccessPurpose::kSharedReceive:
      return false;
  }
  WHARF_UNREACHABLE();
}

[[gnu::always_inline]] inline void RoceEngine::answered(TimePs now, AccessSlot& slot,
                                                        const engine::AccessResult& result) {
  if (core_.attention || result.status != engine::AccessStatus::kDone || AccessPort::is_apart(slot.purpose))
    return other_answered(now, slot, result);
  QueuePair& pair = core_.queue(slot.access.queue);
  if (!take_plain_answer(pair, slot, result)) return other_answered(now, slot, result);
  core_.port.close_empty(slot, pair.share);
}

// One access of no run: what is not usual goes the general way.
template <typename Host>
[[gnu::always_inline]] inline void RoceEngine::perform_one(TimePs now, AccessSlot& slot, Host& host) {
  engine::AccessResult result;
  if (host.begin(slot.access, result)) {
    answered(now, slot, result);
    host.told(result);
  } else {
    slot.asked = true;
  }
}

// The run in front, whose elements lie in `ring`. `fill` completes the access of an element. `take` takes
// note of an answer without an error, or says that there is more to do, and nothing has happened.
template <typename Host, typename Element, typename Fill, typename Take>
[[gnu::always_inline]] inline void RoceEngine::perform_run(TimePs now, QueuePair& pair, AccessSlot& slot,
                                                           PositionRing<Element>& ring, Host& host, Fill fill,
                                                           Take take) {
  if (!ring.contains(slot.position)) {  // What they are for is gone.
    const std::uint32_t gone = std::min(slot.run, ring.head() - slot.position);
    slot.access.address += std::uint64_t{gone} * slot.access.length;
    return core_.port.close_front(gone, pair.share);
  }
  const std::uint32_t count = slot.run;
  std::uint32_t done = 0;
  for (; done < count; ++done) {
    const Position position = slot.position + done;
    Element& element = ring[position];
    fill(element);
    engine::AccessResult result;
    const bool is_answered = host.begin(slot.access, result);
    if (!is_answered || result.status != engine::AccessStatus::kDone || !take(element, position, result)) {
      core_.port.close_front(done, pair.share);
      core_.port.split_front();
      if (is_answered) {
        other_answered(now, slot, result);
        host.told(result);
      } else {
        slot.asked = true;
      }
      return;
    }
    host.told(result);
  }
  core_.port.close_front(count, pair.share);
}

template <typename Host>
void RoceEngine::perform_payloads(TimePs now, AccessSlot& slot, Host& host) {
  QueuePair& pair = core_.queue(slot.access.queue);
  perform_run(
      now, pair, slot, pair.transmit, host,
      [&](TransmitEntry& packet) { EngineCore::fill_payload(pair, packet, slot.access); },
      [&](TransmitEntry& packet, Position position, const engine::AccessResult& result) {
        return requester_.take_payload(pair, packet, position, slot.access.length, result);
      });
}

template <typename Host>
void RoceEngine::perform_completions(TimePs now, AccessSlot& slot, Host& host) {
  QueuePair& pair = core_.queue(slot.access.queue);
  const std::uint32_t length = slot.access.length;
  perform_run(
      now, pair, slot, pair.send_completions, host,
      [&](CompletionEntry& record) { slot.access.operation = record.operation; },
      [&](CompletionEntry& record, Position position, const engine::AccessResult&) {
        record.visible = true;
        if (position == pair.send_completions.head()) core_.note_completed(pair);
        slot.access.address += length;
        return true;
      });
}

template <typename Host>
bool RoceEngine::perform(TimePs now, Host& host) {
  AccessPort& port = core_.port;
  if (core_.unprepared != nullptr) prepare_posted(now);
  if (!port.has_next()) return false;
  do {
    AccessSlot& front = port.front();
    if (front.run == 0) {
      port.pop_front();
      perform_one(now, front, host);
    } else if (core_.attention) {
      if (AccessSlot* const slot = core_.take_access()) perform_one(now, *slot, host);
    } else if (front.purpose == AccessPurpose::kRequestPayload) {
      perform_payloads(now, front, host);
    } else {
      perform_completions(now, front, host);
    }
  } while (port.has_next());
  return true;
}

[[gnu::always_inline]] inline void RoceEngine::note_posted(TimePs now, QueuePair& pair) {
  if (core_.unprepared == &pair || pair.transmit.full()) return;
  core_.unprepared = &pair;
  core_.unprepared_since = now;
  core_.attention = true;
}

// A packet has left: what comes next is noted, when it is usual.
[[gnu::always_inline]] inline bool RoceEngine::refill_plain(TimePs now, QueuePair& pair) {
  bool is_ready = false;
  if (!Requester::may_refill_plain(pair, is_ready)) return false;
  if (is_ready) note_posted(now, pair);
  return true;
}

[[gnu::always_inline]] inline bool RoceEngine::transmit_one(TimePs now, wire::TrafficClassMask classes,
                                                            wire::Packet& out) {
  QueuePair* const pair = core_.lone_requests;
  if (pair == nullptr || (classes & wire::mask_of(wire::TrafficClass::kData)) == 0 || core_.is_paced ||
      (core_.attention && core_.unprepared != pair) || !pair->usual.sending) {
    return transmit_asking(now, classes, out);
  }
  if (!requester_.transmit_plain(*pair, out)) return transmit_other(now, classes, out);
  seal(out);
  if (pair->transmit.empty() || pair->transmit.front().pending > 0) {
    core_.unlist_flow(*pair, Flow::kRequests, kDataList);
  }
  if (pair->context.requester.sending != pair->send.tail() && core_.unprepared != pair &&
      !refill_plain(now, *pair)) {
    return refill(now, *pair);
  }
  return true;
}

template <typename Out>
bool RoceEngine::transmit_all(TimePs now, Out& out) {
  for (bool any = false;; any = true) {
    const wire::TrafficClassMask classes = out.open();
    if (classes == 0) return any;
    wire::Packet& packet = out.place();
    if (!transmit_one(now, classes, packet)) return any;
    out.send(packet);
  }
}

}  // namespace wharf::roce
