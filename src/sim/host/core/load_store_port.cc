// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core/load_store_port.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "base/line.h"
#include "base/units.h"

namespace wharf::sim {

using trace::Stage;

namespace {

/// What a load request, and the acknowledgement of a store, occupy on the bus.
constexpr std::uint32_t kHeadBytes = 16;
/// Mapped addresses have at most this many bits, so that line numbers of several peers stay apart.
constexpr unsigned kAddressBits = 50;
constexpr unsigned kPeerShift = kAddressBits - kLineShift;
constexpr std::uint32_t kMaxPeer = (1U << (57U - kPeerShift)) - 1;

std::uint32_t offset_in_line(std::uint64_t address) {
  return static_cast<std::uint32_t>(address % kLineBytes);
}

}  // namespace

void LoadStorePort::CallList::push(Call& call) {
  call.next = nullptr;
  if (last == nullptr) {
    first = &call;
  } else {
    last->next = &call;
  }
  last = &call;
}

LoadStorePort::Call* LoadStorePort::CallList::pop() {
  Call* call = first;
  if (call == nullptr) return nullptr;
  first = call->next;
  if (first == nullptr) last = nullptr;
  return call;
}

LoadStorePort::LoadStorePort(const HostConfig& config, const LoadStoreParts& parts)
    : config_(config),
      parts_(parts),
      misses_(2 * config.core.outstanding_misses),
      publishers_(2 * config.core.outstanding_misses),
      waiting_(64),
      queued_write_backs_(64),
      lines_(parts.caches) {
  lines_in_flight_.reserve(256);
}

LineNumber LoadStorePort::line_number(engine::PeerId peer, std::uint64_t address) {
  return kRemoteLineBit | LineNumber{peer} << kPeerShift | line_of(address);
}
LineNumber LoadStorePort::line_number(const Call& call) {
  return line_number(call.peer, call.target.address);
}

bool LoadStorePort::admits(Call& call) {
  if (call.port == nullptr) {
    call.status = verbs::CompletionStatus::kUnsupportedOpcode;
    return false;
  }
  const std::uint32_t length = call.length;
  const bool sized = length == 1 || length == 2 || length == 4 || length == 8;
  if (!sized || offset_in_line(call.target.address) + length > kLineBytes) {
    call.status = verbs::CompletionStatus::kLocalLength;
    return false;
  }
  if (call.target.address >> kAddressBits != 0 || call.peer > kMaxPeer) {
    call.status = verbs::CompletionStatus::kLocalAccess;
    return false;
  }
  return true;
}

void LoadStorePort::finish(Call& call) {
  if (!call.started) return;
  LoadStorePort& port = *call.port;
  const TimePs now = port.parts_.core.now();
  port.parts_.records.end(call.tag, {.begin = call.begin,
                                     .latency = now - call.begin,
                                     .bytes = call.length,
                                     .host = port.parts_.nic.host(),
                                     .verb = call.verb,
                                     .status = call.status,
                                     .remote = !call.hit});
}

void LoadStorePort::start(Call& call, std::coroutine_handle<> handle) {
  const TimePs now = parts_.core.now();
  call.handle = handle;
  call.started = true;
  call.begin = now;
  call.tag = parts_.records.begin(now, parts_.nic.host(), call.verb, call.length);
  look_up(call, now);
}

bool LoadStorePort::joins_flight(Call& call, LineNumber line, TimePs now) {
  const std::uint32_t* found = lines_in_flight_.find(line);
  if (found == nullptr) return false;
  Miss& miss = misses_[*found];
  // A line may be written back from the last level while a copy lives on above it.
  if (miss.kind == MissKind::kWriteBack && parts_.caches.contains(line)) return false;
  ++counters_.merged;
  const bool write_through = parts_.caches.write_policy() == WritePolicy::kWriteThrough;
  if (miss.kind == MissKind::kFill && !(write_through && call.verb == verbs::Verb::kStore)) {
    call.ready = now + parts_.caches.latency(CacheLevel::kMemory);
    parts_.records.tracer().span(call.tag,
                                 config_.cache.miss_detection ? Stage::kMissDetection : Stage::kCacheLookup,
                                 now, call.ready, parts_.nic.host());
    miss.served.push(call);
  } else {
    call.ready = now;
    miss.behind.push(call);
  }
  return true;
}

void LoadStorePort::look_up(Call& call, TimePs now) {
  const LineNumber line = line_number(call);
  if (!lines_in_flight_.empty() && joins_flight(call, line, now)) return;
  const bool store = call.verb == verbs::Verb::kStore;
  WriteBacks out;
  const CacheAccess access = parts_.caches.access(line, store, out);
  lines_.settle(out);
  call.ready = now + access.latency;
  const bool hit = access.level != CacheLevel::kMemory;
  const bool flat = !hit && config_.cache.miss_detection.has_value();
  parts_.records.tracer().span(call.tag, flat ? Stage::kMissDetection : Stage::kCacheLookup, now, call.ready,
                               parts_.nic.host());
  if (hit) {
    RemoteLines::Bytes* cached = lines_.find(line).bytes;
    WHARF_CHECK(cached != nullptr);
    perform(call, *cached);
  }
  if (access.store_to_memory) {
    go_remote(call, line, MissKind::kStore);
  } else if (hit) {
    ++counters_.hits;
    call.hit = true;
    parts_.core.resume_at(call.ready, call.handle);
  } else {
    go_remote(call, line, access.needs_fill ? MissKind::kFill : MissKind::kLoad);
  }
  write_local_lines(parts_.dram, call.ready, out);
  send_write_backs(out);
}

std::uint32_t LoadStorePort::take_miss() {
  std::uint32_t tag = misses_.acquire();
  if (tag == kNoSlot) {
    misses_.reserve(2 * misses_.capacity());
    tag = misses_.acquire();
  }
  return tag;
}

void LoadStorePort::build_request(std::uint32_t tag, const Call& call) {
  Miss& miss = misses_[tag];
  verbs::LoadStore& request = miss.request;
  request = {};
  request.tag = tag;
  request.verb = miss.kind == MissKind::kStore ? verbs::Verb::kStore : verbs::Verb::kLoad;
  request.peer = call.peer;
  request.remote = {call.target.address & ~std::uint64_t{kLineBytes - 1}, call.target.token};
  request.length = kLineBytes;
  request.operation = call.tag;
  if (miss.kind != MissKind::kStore) return;
  const std::uint32_t offset = offset_in_line(call.target.address);
  request.byte_mask = ((std::uint64_t{1} << call.length) - 1) << offset;
  const wire::BufferId buffer = parts_.payloads.acquire(kLineBytes);
  std::byte* bytes = parts_.payloads.data(buffer);
  std::memset(bytes, 0, kLineBytes);
  std::memcpy(bytes + offset, &call.value, call.length);
  request.data = wire::bytes_payload(bytes, kLineBytes, buffer);
}

void LoadStorePort::go_remote(Call& call, LineNumber line, MissKind kind) {
  const std::uint32_t tag = take_miss();
  Miss& miss = misses_[tag];
  miss.kind = kind;
  miss.queued = false;
  miss.line = line;
  miss.since = call.ready;
  miss.served = {};
  miss.behind = {};
  miss.served.push(call);
  if (kind == MissKind::kFill) lines_.prefetch(line);
  if (kind == MissKind::kStore) {
    ++counters_.stores;
  } else {
    ++counters_.misses;
  }
  if (parts_.caches.write_policy() != WritePolicy::kUncached) lines_in_flight_.insert(line, tag);
  build_request(tag, call);
  if (has_room()) {
    ++slots_used_;
    issue(tag, call.ready);
    return;
  }
  miss.queued = true;
  if (waiting_.full()) waiting_.reserve(2 * waiting_.capacity());
  waiting_.push_back(tag);
}

void LoadStorePort::issue(std::uint32_t tag, TimePs at) {
  Miss& miss = misses_[tag];
  const wire::OperationTag operation = miss.request.operation;
  trace::Tracer& tracer = parts_.records.tracer();
  tracer.span(operation, Stage::kMissSlotWait, miss.since, at, parts_.nic.host());
  const std::uint32_t bytes = kHeadBytes + miss.request.data.length;
  const TimePs crossed = parts_.bus.cross(BusLane::kLoadStore, at, bytes);
  tracer.span(operation, Stage::kSubmitBus, at, crossed, parts_.nic.host());
  parts_.nic.submit_load_store(crossed, parts_.core.id(), tag);
}

void LoadStorePort::displaced(const WriteBacks& out) {
  lines_.settle(out);
  send_write_backs(out);
}

void LoadStorePort::send_write_backs(const WriteBacks& out) {
  for (std::uint32_t i = 0; i < out.count; ++i) {
    if ((out.lines[i] & kRemoteLineBit) != 0) write_back(out.lines[i]);
  }
}

void LoadStorePort::write_back(LineNumber line) {
  if (const std::uint32_t* found = lines_in_flight_.find(line)) {
    Miss& under_way = misses_[*found];
    WHARF_CHECK(under_way.kind == MissKind::kWriteBack);
    if (under_way.queued) return;
    ++counters_.write_backs;
    under_way.write_again = true;
    lines_.pin(line);
    return;
  }
  ++counters_.write_backs;
  const std::uint32_t tag = take_miss();
  Miss& miss = misses_[tag];
  miss.kind = MissKind::kWriteBack;
  miss.line = line;
  miss.served = {};
  miss.behind = {};
  miss.write_again = false;
  miss.publishers = kNoSlot;
  miss.queued = write_backs_out_ == config_.core.outstanding_misses;
  miss.since = parts_.core.now();
  lines_in_flight_.insert(line, tag);
  if (!miss.queued) {
    ++write_backs_out_;
    issue_write_back(tag);
    return;
  }
  lines_.pin(line);
  if (queued_write_backs_.full()) queued_write_backs_.reserve(2 * queued_write_backs_.capacity());
  queued_write_backs_.push_back(tag);
}

bool LoadStorePort::keeps(PublishCall& call) const {
  if (call.length_ == 0) return false;
  constexpr std::uint64_t kMostAddress = (std::uint64_t{1} << kAddressBits) - 1;
  if (call.peer_ > kMaxPeer || call.target_.address > kMostAddress ||
      call.length_ - 1 > kMostAddress - call.target_.address) {
    call.status_ = verbs::CompletionStatus::kLocalAccess;
    return false;
  }
  return parts_.caches.write_policy() == WritePolicy::kWriteBack;
}

void LoadStorePort::publish(PublishCall& call) {
  const LineNumber first = line_number(call.peer_, call.target_.address);
  const LineNumber last = line_number(call.peer_, call.target_.address + call.length_ - 1);
  const TimePs now = parts_.core.now();
  call.looked_ = now + static_cast<std::int64_t>(last - first + 1) * parts_.caches.latency(CacheLevel::kL1);
  call.lines_left_ = 1;  // Itself, so that it does not end before the last line has been looked at.
  for (LineNumber line = first; line <= last; ++line) {
    if (parts_.caches.is_dirty(line)) {
      parts_.caches.clean(line);
      ++counters_.published;
      write_back(line);
    }
    const std::uint32_t* under_way = lines_in_flight_.find(line);
    if (under_way != nullptr && misses_[*under_way].kind == MissKind::kWriteBack)
      await_write_back(*under_way, call);
  }
  if (--call.lines_left_ == 0) parts_.core.resume_at(call.looked_, call.handle_);
}

void LoadStorePort::await_write_back(std::uint32_t tag, PublishCall& call) {
  std::uint32_t slot = publishers_.acquire();
  if (slot == kNoSlot) {
    publishers_.reserve(2 * publishers_.capacity());
    slot = publishers_.acquire();
  }
  publishers_[slot] = {&call, misses_[tag].publishers};
  misses_[tag].publishers = slot;
  ++call.lines_left_;
}

void LoadStorePort::tell_publishers(TimePs now, const Miss& miss) {
  for (std::uint32_t slot = miss.publishers; slot != kNoSlot;) {
    PublishCall& call = *publishers_[slot].call;
    const std::uint32_t next = publishers_[slot].next;
    publishers_.release(slot);
    slot = next;
    if (call.status_ == verbs::CompletionStatus::kSuccess) call.status_ = miss.result.status;
    if (--call.lines_left_ == 0) parts_.core.resume_at(max(now, call.looked_), call.handle_);
  }
}

void LoadStorePort::end_write_back() {
  if (queued_write_backs_.empty()) {
    --write_backs_out_;
    return;
  }
  const std::uint32_t next = queued_write_backs_.front();
  queued_write_backs_.pop_front();
  misses_[next].queued = false;
  issue_write_back(next);
}

void LoadStorePort::issue_waiting(TimePs now) {
  while (!waiting_.empty() && has_room()) {
    const std::uint32_t next = waiting_.front();
    waiting_.pop_front();
    misses_[next].queued = false;
    ++slots_used_;
    issue(next, max(now, misses_[next].since));
  }
}

void LoadStorePort::issue_write_back(std::uint32_t tag) {
  Miss& miss = misses_[tag];
  const RemoteLines::Line cached = lines_.find(miss.line);
  WHARF_CHECK(cached.bytes != nullptr);
  const wire::BufferId buffer = parts_.payloads.acquire(kLineBytes);
  std::byte* bytes = parts_.payloads.data(buffer);
  std::memcpy(bytes, cached.bytes->data(), kLineBytes);
  constexpr LineNumber kAddressLines = (LineNumber{1} << kPeerShift) - 1;
  miss.request = {};
  miss.request.tag = tag;
  miss.request.verb = verbs::Verb::kStore;
  miss.request.write_back = true;
  miss.request.peer = static_cast<engine::PeerId>((miss.line & ~kRemoteLineBit) >> kPeerShift);
  miss.request.remote = {(miss.line & kAddressLines) << kLineShift, *cached.token};
  lines_.release(miss.line);
  miss.request.length = kLineBytes;
  miss.request.data = wire::bytes_payload(bytes, kLineBytes, buffer);
  issue(tag, miss.since = parts_.core.now());
}

void LoadStorePort::refused(std::uint32_t tag, engine::PostStatus status) {
  verbs::LoadStoreResult result;
  result.tag = tag;
  result.status = status == engine::PostStatus::kUnsupported ? verbs::CompletionStatus::kUnsupportedOpcode
                                                             : verbs::CompletionStatus::kLocalOperation;
  answered(result);
}

void LoadStorePort::answered(const verbs::LoadStoreResult& result) {
  Miss& miss = misses_[result.tag];
  miss.result = result;
  parts_.payloads.release(miss.request.data.buffer);
  miss.request.data = {};
  const TimePs now = parts_.core.now();
  const TimePs crossed = parts_.bus.cross(BusLane::kComplete, now, kHeadBytes + result.data.length);
  parts_.records.tracer().span(miss.request.operation, Stage::kCompleteBus, now, crossed, parts_.nic.host());
  parts_.core.schedule_device(crossed, parts_.nic.id(), result.tag);
}

void LoadStorePort::handle_device(std::uint32_t tag) {
  const TimePs now = parts_.core.now();
  Miss& miss = misses_[tag];
  if (miss.kind == MissKind::kWriteBack && miss.write_again) {
    miss.write_again = false;
    parts_.payloads.release(miss.result.data.buffer);
    issue_write_back(tag);
    return;
  }
  if (parts_.caches.write_policy() != WritePolicy::kUncached) lines_in_flight_.erase(miss.line);
  if (miss.kind == MissKind::kWriteBack && miss.result.status != verbs::CompletionStatus::kSuccess)
    lose_line(now, miss);
  if (miss.kind == MissKind::kWriteBack) tell_publishers(now, miss);
  const WriteBacks out = serve(now, miss);
  parts_.payloads.release(miss.result.data.buffer);
  CallList served = miss.served;
  CallList behind = miss.behind;
  const bool had_slot = miss.kind != MissKind::kWriteBack;
  misses_.release(tag);
  write_local_lines(parts_.dram, now, out);
  send_write_backs(out);
  if (had_slot) {
    --slots_used_;
  } else {
    end_write_back();
  }
  issue_waiting(now);
  while (Call* call = behind.pop()) {
    parts_.records.tracer().span(call->tag, Stage::kMergedMiss, call->ready, now, parts_.nic.host());
    look_up(*call, now);
  }
  // Programs run last: they may start new calls, and end the life of the one that they awaited.
  while (Call* call = served.pop()) {
    if (call->ready > now) {
      parts_.core.resume_at(call->ready, call->handle);
    } else {
      call->handle.resume();
    }
  }
}

void LoadStorePort::lose_line(TimePs now, const Miss& miss) {
  if (counters_.lines_lost++ == 0) first_lost_ = {miss.request.remote.address, miss.result.status};
  trace::Tracer& tracer = parts_.records.tracer();
  if (!tracer.wants(trace::EventKind::kLineLost)) return;
  tracer.emit({.kind = trace::EventKind::kLineLost,
               .host = parts_.nic.host(),
               .component = parts_.core.id().value,
               .begin = now,
               .end = now,
               .a = miss.request.remote.address,
               .b = static_cast<std::uint64_t>(miss.result.status)});
}

WriteBacks LoadStorePort::serve(TimePs now, const Miss& miss) {
  WriteBacks out;
  const bool ok = miss.result.status == verbs::CompletionStatus::kSuccess;
  // The calls act on a copy: where the line will lie in the caches has mostly to be fetched first.
  alignas(kLineBytes) RemoteLines::Bytes bytes;
  if (ok && miss.request.verb == verbs::Verb::kLoad) wire::fill(miss.result.data, bytes);
  bool dirty = false;
  for (Call* call = miss.served.first; call != nullptr; call = call->next) {
    dirty = dirty || call->verb == verbs::Verb::kStore;
    call->status = miss.result.status;
    if (call != miss.served.first)
      parts_.records.tracer().span(call->tag, Stage::kMergedMiss, call->ready, now, parts_.nic.host());
    if (ok && miss.kind != MissKind::kStore) perform(*call, bytes);
  }
  if (miss.kind == MissKind::kFill && ok) {
    parts_.caches.fill_absent(miss.line, dirty, out);
    lines_.settle(out);
    const RemoteLines::Line line = lines_.find(miss.line);
    WHARF_CHECK(line.bytes != nullptr);
    *line.bytes = bytes;
    *line.token = miss.request.remote.token;
  }
  return out;
}

void LoadStorePort::perform(Call& call, RemoteLines::Bytes& line) {
  std::byte* const at = line.data() + offset_in_line(call.target.address);
  if (call.verb == verbs::Verb::kStore) {
    std::memcpy(at, &call.value, call.length);
  } else {
    call.value = 0;
    std::memcpy(&call.value, at, call.length);
  }
}

void LoadStorePort::describe_waiting(std::vector<std::string>& lines) const {
  for (std::uint32_t tag = 0; tag < misses_.capacity(); ++tag) {
    if (!misses_.is_used(tag) || misses_[tag].queued) continue;
    const Miss& miss = misses_[tag];
    lines.push_back(fmt::format("a {} of remote line {:#x} waits for its answer since {}",
                                verbs::name(miss.request.verb), miss.request.remote.address,
                                format_time(miss.since)));
  }
  if (!waiting_.empty()) {
    lines.push_back(queued_write_backs_.empty()
                        ? fmt::format("{} misses wait for one of the core's {} miss slots", waiting_.size(),
                                      config_.core.outstanding_misses)
                        : fmt::format("{} misses wait until dirty lines have left", waiting_.size()));
  }
  if (!queued_write_backs_.empty())
    lines.push_back(fmt::format("{} dirty lines wait for room to leave", queued_write_backs_.size()));
}

}  // namespace wharf::sim
