// SPDX-License-Identifier: Apache-2.0
// A host that is gone for good: what each part of the engine keeps for it, and how that ends.
#include <fmt/format.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

using verbs::CompletionStatus;

Result<void> UetEngine::forget_host(TimePs now, wire::HostAddress remote) {
  EngineParts& parts = *parts_;
  if (parts.target.is_at_work_for(remote) || parts.initiator.is_at_work_for(remote)) {
    return input_error(
        fmt::format("host {}: memory is at work on a packet of it or for it, expected none", remote.number));
  }
  parts.initiator.flush_posted(remote);
  // First, or a receive that the end of a PDC gives back would ask the host for another message.
  parts.target.forget_host(remote);
  parts.pds.forget_host(now, remote);
  parts.rudi.forget_host(now, remote);
  parts.initiator.forget_host(now, remote);
  parts.cms.forget_host(now, remote);
  parts.initiator.settle(now);
  parts.pds.settle(now);
  return {};
}

bool Initiator::is_at_work_for(wire::HostAddress host) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.extent(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.host == host && (message.accesses > 0 || parts_.rudi.is_fetching(slot))) return true;
  }
  return false;
}

void Initiator::flush_posted(wire::HostAddress host) {
  for (engine::QueueId queue = 0; queue < parts_.endpoints.count(); ++queue) {
    Ring<PostedRequest>& posted = parts_.endpoints[queue].posted;
    for (std::size_t i = 0; i < posted.size(); ++i) {
      if (peers_[posted[i].request.peer].to.host == host) posted[i].end = CompletionStatus::kFlushed;
    }
  }
}

void Initiator::forget_host(TimePs now, wire::HostAddress host) {
  for (std::uint32_t slot = 0; slot < parts_.outbound.extent(); ++slot) {
    if (!parts_.outbound.is_used(slot) || parts_.outbound[slot].host != host) continue;
    // No PDC carries it: it waits to start again, or to be asked for.
    OutboundMessage& message = parts_.outbound[slot];
    retries_.set(slot, kNever);
    message.unanswered = 0;
    message.pdc = kNoSlot;
    fail(now, slot, CompletionStatus::kRetryExhausted);
    try_end(now, slot);
  }
  for (Peer& peer : peers_) peer.used = peer.used && peer.to.host != host;
  first_free_peer_ = 0;
  forget_plain();
  for (engine::QueueId queue = 0; queue < parts_.endpoints.count(); ++queue) admit(now, queue);
}

void Pds::forget_host(TimePs now, wire::HostAddress host) {
  for (std::uint32_t index = 0; index < pdc_count(); ++index) {
    const Pdc& record = *pdcs_[index];
    if (record.state == PdcState::kClosed || record.peer != host) continue;
    end_in_error(now, index, CompletionStatus::kRetryExhausted, false);
  }
  for (Ring<ControlJob>* jobs : {&acknowledgements_, &control_}) {
    for (std::size_t left = jobs->size(); left > 0; --left) {
      const ControlJob job = jobs->front();
      jobs->pop_front();
      if (job.peer == host) {
        parts_.payloads.release(job.data.buffer);
      } else {
        jobs->push_back(job);
      }
    }
  }
  // Packets of what it opened may still be under way, and would open it again. The next host of that number
  // may well use the same identifiers and numbers: it is refused alike, and repeats all on another PDC.
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    if (closed_[i].key >> 16U == host.number) closed_[i].end = ClosedPdc::End::kRefused;
  }
}

bool Rudi::is_fetching(std::uint32_t slot) const {
  for (std::uint32_t at = 0; at < outstanding_.extent(); ++at) {
    if (!outstanding_.is_used(at) || outstanding_[at].message != slot) continue;
    if (outstanding_[at].sent_at == kNever && !waits_to_repeat(at)) return true;
  }
  return false;
}

bool Rudi::waits_to_repeat(std::uint32_t packet) const {
  std::uint32_t at = resend_.head;
  while (at != kNoSlot && at != packet) at = outstanding_[at].next;
  return at != kNoSlot;
}

void Rudi::forget_host(TimePs now, wire::HostAddress host) {
  for (std::uint32_t at = 0; at < outstanding_.extent(); ++at) {
    if (!outstanding_.is_used(at)) continue;
    const std::uint32_t slot = outstanding_[at].message;
    if (parts_.outbound[slot].host != host) continue;
    resend_.remove(outstanding_, at, &Outstanding::next);
    parts_.initiator.fail(now, slot, CompletionStatus::kRetryExhausted);
    finish_packet(now, at);
  }
  for (std::size_t left = answers_.size(); left > 0; --left) {
    const Answer answer = answers_.front();
    answers_.pop_front();
    if (answer.peer == host) {
      parts_.payloads.release(answer.data.buffer);
    } else {
      answers_.push_back(answer);
    }
  }
}

bool Target::is_at_work_for(wire::HostAddress host) const {
  for (std::uint32_t at = 0; at < parts_.inbound.extent(); ++at) {
    if (parts_.inbound.is_used(at) && parts_.inbound[at].source == host) return true;
  }
  for (std::uint32_t at = 0; at < parts_.inbound_messages.extent(); ++at) {
    if (!parts_.inbound_messages.is_used(at)) continue;
    const InboundMessage& message = parts_.inbound_messages[at];
    if (message.source == host && message.accesses > 0) return true;
  }
  return false;
}

void Target::forget_host(wire::HostAddress host) {
  // Whole messages that no receive has taken: the next host of that number has not sent them.
  for (std::uint32_t at = 0; at < parts_.inbound_messages.extent(); ++at) {
    if (!parts_.inbound_messages.is_used(at)) continue;
    const InboundMessage& message = parts_.inbound_messages[at];
    if (message.source == host && message.unexpected) release_message(at);
  }
  // Nobody would answer when it is asked for the rest.
  for (std::uint32_t at = 0; at < deferred_.extent(); ++at) {
    if (!deferred_.is_used(at) || deferred_[at].source != host || deferred_[at].receive != kNoSlot) continue;
    parts_.endpoints[deferred_[at].endpoint].deferred.remove(deferred_, at, &DeferredSend::next);
    release_deferred(at);
  }
}

void Cms::forget_host(TimePs now, wire::HostAddress host) {
  const std::uint32_t* found = by_host_.find(host.number);
  // Credit is counted from the first packet on: the next host of that number goes on with the count.
  if (found == nullptr || by_credit_) return;
  const std::uint32_t ccc = *found;
  by_host_.erase(host.number);
  update(now, ccc);
  parts_.pds.stop_fetching(ccc);
  timers_.set(ccc, kNever);
  contexts_[ccc]->used = false;
  free_.push_back(ccc);
}

}  // namespace wharf::uet
