// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core/sim_remote.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace wharf::sim {

using trace::Stage;

namespace {

constexpr std::uint32_t kWorkRequestBytes = 64;
constexpr std::uint32_t kReceiveEntryBytes = 16;
constexpr std::uint32_t kDoorbellBytes = 8;
/// Each call has room for an old value.
constexpr std::uint32_t kAtomicResultBytes = 16;

constexpr std::uint64_t request_id(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32U | slot;
}

}  // namespace

SimRemote::SimRemote(const HostConfig& config, const RemoteParts& parts, Attachment attachment,
                     SubmissionPath submission, engine::QueueId queue, engine::PeerId peer,
                     const verbs::RemoteSegment& segment, std::uint32_t supported)
    : config_(config),
      parts_(parts),
      attachment_(attachment),
      submission_(submission),
      queue_(queue),
      peer_(peer),
      segment_(segment),
      supported_(supported),
      load_store_(parts.load_store),
      client_(parts.nic.attach(queue, *this)),
      calls_(64) {
  if (parts.stream != nullptr && parts.stream->queues() < MmioStream::kMostQueues)
    stream_queue_ = parts.stream->add_queue(*this);
  if (config.nic.atomic_result == AtomicResultRule::kMemory)
    atomic_results_ = parts.memory.allocate(Bytes{std::uint64_t{kMostCalls} * kAtomicResultBytes});
}

verbs::WorkRequest SimRemote::transfer(verbs::Verb verb, std::uint64_t local, verbs::RemoteAddress target,
                                       std::uint32_t length) const {
  verbs::WorkRequest request;
  request.verb = verb;
  request.local_count = 1;
  request.local[0] = {local, length};
  request.length = length;
  request.peer = peer_;
  request.remote = target;
  return request;
}

verbs::WorkRequest SimRemote::atomic(verbs::Verb verb, verbs::RemoteAddress target, std::uint64_t operand,
                                     std::uint64_t compare) const {
  verbs::WorkRequest request;
  request.verb = verb;
  request.peer = peer_;
  request.length = 8;
  request.remote = target;
  request.operand[0] = operand;
  request.compare[0] = compare;
  return request;
}

bool SimRemote::admits(Call& call) {
  if (call.is_receive_ || supports(call.request_.verb)) return true;
  call.completion_.id = call.request_.id;
  call.completion_.verb = call.request_.verb;
  call.completion_.queue = queue_;
  call.completion_.status = verbs::CompletionStatus::kUnsupportedOpcode;
  return false;
}

void SimRemote::start(Call& call) {
  const TimePs now = parts_.core.now();
  std::uint32_t slot = calls_.acquire();
  if (slot == kNoSlot) {
    calls_.reserve(2 * calls_.capacity());
    slot = calls_.acquire();
    WHARF_CHECK(calls_.capacity() <= kMostCalls);
  }
  Slot& place = calls_[slot];
  place.call = &call;
  ++place.generation;
  call.started_ = true;
  call.begin_ = now;
  const CoreConfig& core = config_.core;
  // The stores of an entry are part of building it; those of its payload are not.
  const TimePs stores = !call.is_receive_ && stream_queue_.has_value()
                            ? parts_.stream->store_time(kWorkRequestBytes + streamed_payload(call.request_))
                            : kTimeZero;
  const Core::Busy busy = parts_.core.occupy(now, core.library_post + core.work_request_build + stores);
  const TimePs built = busy.end - stores;
  if (call.is_receive_) {
    call.id_ = call.receive_.id;
    call.receive_.id = request_id(slot, place.generation);
    const SubmissionPath path =
        submission_ == SubmissionPath::kBusStore ? SubmissionPath::kBusStore : SubmissionPath::kDoorbell;
    const TimePs arrival = parts_.nic.port().submit(
        busy.end, path, path == SubmissionPath::kBusStore ? kReceiveEntryBytes : kDoorbellBytes);
    parts_.nic.submit_receive(arrival, parts_.core.id(), client_, slot);
    return;
  }
  verbs::WorkRequest& request = call.request_;
  call.id_ = request.id;
  call.tag_ = parts_.records.begin(now, parts_.nic.host(), request.verb, request.length);
  request.id = request_id(slot, place.generation);
  request.operation = call.tag_;
  if (request.peer == verbs::kNoPeer) request.peer = peer_;
  if (verbs::is_atomic(request.verb) && request.local_count == 0 && atomic_results_ != 0) {
    request.local_count = 1;
    request.local[0] = {atomic_results_ + std::uint64_t{slot} * kAtomicResultBytes, request.width};
  }
  trace::Tracer& tracer = parts_.records.tracer();
  const std::uint16_t host = parts_.nic.host();
  const TimePs posted = busy.begin + core.library_post;
  tracer.span(call.tag_, Stage::kCoreWait, now, busy.begin, host);
  tracer.span(call.tag_, Stage::kLibraryPost, busy.begin, posted, host);
  tracer.span(call.tag_, Stage::kWorkRequestBuild, posted, built, host);
  submit(call, slot, built);
}

std::uint32_t SimRemote::payload_bytes(const verbs::WorkRequest& request) {
  return verbs::carries_payload(request.verb) && request.inline_data.kind == wire::PayloadKind::kNone
             ? request.length
             : 0;
}

std::uint32_t SimRemote::streamed_payload(const verbs::WorkRequest& request) const {
  const std::uint32_t payload = payload_bytes(request);
  return payload <= config_.mmio_stream.largest && request.local_count == 1 ? payload : 0;
}

void SimRemote::copy_payload(verbs::WorkRequest& request, std::uint32_t payload) {
  if (payload == 0) return;
  const auto data = parts_.memory.read(request.local[0].address, payload, parts_.payloads);
  if (data.has_value()) request.inline_data = *data;
}

void SimRemote::submit(Call& call, std::uint32_t slot, TimePs at) {
  verbs::WorkRequest& request = call.request_;
  SubmissionPath path = submission_;
  std::uint32_t bytes = kWorkRequestBytes;
  if (stream_queue_.has_value()) {
    const std::uint32_t streamed = streamed_payload(request);
    copy_payload(request, streamed);
    calls_[slot].stream_bytes = MmioStream::message_bytes(bytes + streamed);
    calls_[slot].submitted = at;
    parts_.stream->send(at, parts_.core.id(), *stream_queue_, bytes + streamed, slot);
    return;
  }
  const std::uint32_t payload = payload_bytes(request);
  if (path == SubmissionPath::kMmioStream) path = SubmissionPath::kDoorbell;
  if (path == SubmissionPath::kBlueFlame) {
    if (payload > config_.nic.inline_limit || (payload > 0 && request.local_count != 1)) {
      path = SubmissionPath::kDoorbell;
    } else {
      copy_payload(request, payload);
      bytes += payload;
    }
  }
  if (path == SubmissionPath::kDoorbell) bytes = kDoorbellBytes;
  const TimePs reached = parts_.nic.port().submit(at, path, bytes);
  parts_.records.tracer().span(call.tag_,
                               path == SubmissionPath::kBusStore ? Stage::kSubmitBus : Stage::kDoorbell, at,
                               reached, parts_.nic.host());
  hand_over(call, slot, reached, parts_.core.id(),
            path == SubmissionPath::kDoorbell ? engine::Submission::kDoorbell : engine::Submission::kInHand);
}

void SimRemote::message_in(TimePs now, std::uint32_t slot) {
  Call& call = *calls_[slot].call;
  parts_.records.tracer().span(call.tag_, Stage::kDoorbell, calls_[slot].submitted, now, parts_.nic.host());
  hand_over(call, slot, now, parts_.stream->id(), engine::Submission::kInHand);
}

void SimRemote::hand_over(Call& call, std::uint32_t slot, TimePs reached, ComponentId source,
                          engine::Submission submission) {
  // A queue that serialises its requests lets one in per gate time.
  const TimePs arrival = max(reached, order_free_) + config_.nic.order_gate;
  order_free_ = arrival;
  parts_.records.tracer().span(call.tag_, Stage::kOrderWait, reached, arrival, parts_.nic.host());
  parts_.nic.submit(arrival, source, client_, slot, submission);
}

void SimRemote::end_call(std::uint32_t slot, TimePs at) {
  Call& call = *calls_[slot].call;
  calls_[slot].call = nullptr;
  if (const std::uint32_t bytes = std::exchange(calls_[slot].stream_bytes, 0); bytes > 0)
    parts_.stream->forget(parts_.nic.id(), bytes);
  calls_.release(slot);
  call.completion_.id = call.id_;
  parts_.core.resume_at(at, call.handle_, parts_.nic.id());
}

void SimRemote::posted(std::uint32_t slot, engine::PostStatus status) {
  Call& call = *calls_[slot].call;
  parts_.payloads.release(call.request_.inline_data.buffer);
  call.request_.inline_data = {};
  const bool taken = status == engine::PostStatus::kOk;
  if (taken && (call.is_receive_ || call.request_.signaled)) return;
  // Refused, or nothing will be reported: the operation ends here for the program.
  call.completion_.verb = call.request_.verb;
  call.completion_.queue = queue_;
  call.completion_.length = call.request_.length;
  if (!taken) {
    call.completion_.status = status == engine::PostStatus::kUnsupported
                                  ? verbs::CompletionStatus::kUnsupportedOpcode
                                  : verbs::CompletionStatus::kLocalOperation;
  }
  end_call(slot, parts_.core.now());
}

SimRemote::Polled SimRemote::poll() {
  const CoreConfig& core = config_.core;
  const TimePs poll = attachment_ == Attachment::kOnChipBus ? core.poll_on_chip : core.poll_host_memory;
  const Core::Busy busy = parts_.core.occupy(parts_.core.now(), poll + core.library_poll);
  return {busy, busy.begin + poll};
}

void SimRemote::completed(const verbs::Completion& completion) {
  if (completion.id == 0) {  // No call has this one.
    if (completion.kind != verbs::CompletionKind::kReceive || !completion.ok()) return;
    poll();
    ++unasked_arrivals_;
    return;
  }
  const auto slot = static_cast<std::uint32_t>(completion.id);
  if (slot >= calls_.capacity() || !calls_.is_used(slot) ||
      calls_[slot].generation != static_cast<std::uint32_t>(completion.id >> 32U))
    return;  // An error of a request that nobody waits for.
  Call& call = *calls_[slot].call;
  call.completion_ = completion;
  const TimePs now = parts_.core.now();
  const auto [busy, found] = poll();
  trace::Tracer& tracer = parts_.records.tracer();
  const std::uint16_t host = parts_.nic.host();
  tracer.span(call.tag_, Stage::kCoreWait, now, busy.begin, host);
  tracer.span(call.tag_, Stage::kCompletionPoll, busy.begin, found, host);
  tracer.span(call.tag_, Stage::kLibraryPoll, found, busy.end, host);
  end_call(slot, busy.end);
}

verbs::Completion SimRemote::finish(Call& call) {
  if (!call.started_ || call.is_receive_) return call.completion_;
  parts_.records.end(call.tag_, {.begin = call.begin_,
                                 .latency = parts_.core.now() - call.begin_,
                                 .bytes = call.request_.length,
                                 .host = parts_.nic.host(),
                                 .verb = call.request_.verb,
                                 .status = call.completion_.status});
  return call.completion_;
}

void SimRemote::describe_waiting(std::vector<std::string>& lines) const {
  for (std::uint32_t slot = 0; slot < calls_.capacity(); ++slot) {
    if (!calls_.is_used(slot)) continue;
    const Call& call = *calls_[slot].call;
    if (call.is_receive_) {
      lines.push_back(fmt::format("a receive on queue {} waits for a message since {}", queue_,
                                  format_time(call.begin_)));
    } else {
      lines.push_back(fmt::format("a {} of {} bytes on queue {} waits for its completion since {}",
                                  verbs::name(call.request_.verb), call.request_.length, queue_,
                                  format_time(call.begin_)));
    }
  }
}

}  // namespace wharf::sim
