// SPDX-License-Identifier: Apache-2.0
#include "examples/add_a_protocol/datagram_write_engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "verbs/verb.h"

namespace wharf::examples {

using engine::QueueState;
using verbs::CompletionStatus;

// guide: begin
Result<DatagramWriteEngine> DatagramWriteEngine::create(const DatagramWriteConfig& config,
                                                        wire::PayloadPool& pool, Arena&) {
  if (config.mtu == 0) return input_error("mtu is 0, expected at least 1");
  if (config.accesses_max == 0) return input_error("accesses_max is 0, expected at least 1");
  return DatagramWriteEngine(config, pool);
}
// guide: end

DatagramWriteEngine::DatagramWriteEngine(const DatagramWriteConfig& config, wire::PayloadPool& pool)
    : config_(config), pool_(&pool), pending_(config.accesses_max), accesses_(config.accesses_max) {}

// --- Control

// guide: begin
engine::Capabilities DatagramWriteEngine::capabilities() const {
  engine::Capabilities can;
  can.protocol = "utph";
  can.mtu = config_.mtu;
  can.max_message_bytes = config_.mtu;
  can.max_scatter_entries = 1;
  can.max_queues = 1U << 16U;
  can.max_queue_depth = config_.accesses_max;
  can.widths[static_cast<std::size_t>(verbs::Verb::kWrite)] = engine::kNoWidth;
  return can;
}
// guide: end

Result<QueueId> DatagramWriteEngine::create_queue(TimePs, const engine::QueueConfig& config) {
  if (config.send_depth == 0) return input_error("send_depth is 0, expected at least 1");
  Queue queue;
  queue.depth = config.send_depth;
  queue.completions.reserve(config.send_depth);
  outgoing_.reserve(outgoing_.capacity() + config.send_depth);
  queues_.push_back(std::move(queue));
  return static_cast<QueueId>(queues_.size() - 1);
}

// guide: begin
Result<void> DatagramWriteEngine::destroy_queue(TimePs, QueueId queue) {
  if (!has_queue(queue)) return input_error("no such queue");
  take_outstanding(queue);
  queues_[queue].completions.clear();
  queues_[queue].state = QueueState::kGone;
  return {};
}

Result<void> DatagramWriteEngine::fail_queue(TimePs, QueueId queue) {
  if (!has_queue(queue)) return input_error("no such queue");
  queues_[queue].state = QueueState::kError;
  for (const verbs::Completion& flushed : take_outstanding(queue)) complete(queue, flushed, true);
  return {};
}

Result<void> DatagramWriteEngine::reset_queue(TimePs, QueueId queue) {
  if (queue_state(queue) != QueueState::kError) return input_error("the queue is not in error");
  queues_[queue].state = QueueState::kReady;
  return {};
}
// guide: end

QueueState DatagramWriteEngine::queue_state(QueueId queue) const {
  return queue < queues_.size() ? queues_[queue].state : QueueState::kGone;
}

std::vector<verbs::Completion> DatagramWriteEngine::take_outstanding(QueueId queue) {
  std::map<std::uint64_t, verbs::Completion> found;
  for (std::uint32_t id = 0; id < pending_.capacity(); ++id) {
    if (!pending_.is_used(id)) continue;
    Pending& pending = pending_[id];
    if (pending.placing || pending.flushed || pending.queue != queue) continue;
    pending.flushed = true;
    found[pending.number] = failed(pending, CompletionStatus::kFlushed);
  }
  for (std::size_t left = outgoing_.size(); left > 0; --left) {
    Outgoing packet = outgoing_.front();
    outgoing_.pop_front();
    if (packet.completion.queue != queue) {
      outgoing_.push_back(packet);
      continue;
    }
    pool_->release(packet.packet.payload.buffer);
    packet.completion.status = CompletionStatus::kFlushed;
    found[packet.number] = packet.completion;
  }
  std::vector<verbs::Completion> completions;
  for (const auto& [number, completion] : found) completions.push_back(completion);
  return completions;
}

Result<verbs::SegmentToken> DatagramWriteEngine::register_segment(TimePs,
                                                                  const verbs::SegmentConfig& config) {
  if (config.base == 0) return input_error("segment base is 0");
  if (config.length > ~config.base) return input_error("the segment wraps around");
  segments_.push_back({config, true});
  return verbs::SegmentToken{static_cast<std::uint32_t>(segments_.size()), config.token_value};
}

Result<void> DatagramWriteEngine::deregister_segment(TimePs, verbs::SegmentToken token) {
  if (token.id == 0 || token.id > segments_.size() || !segments_[token.id - 1].used) {
    return input_error("no such segment");
  }
  segments_[token.id - 1].used = false;
  return {};
}

Result<engine::ExchangeBlob> DatagramWriteEngine::export_queue(QueueId queue) const {
  if (!has_queue(queue)) return input_error("no such queue");
  engine::ExchangeBlob blob(4);
  store_be32(blob.data(), config_.host.number);
  return blob;
}

Result<PeerId> DatagramWriteEngine::connect(TimePs, QueueId queue, std::span<const std::byte> blob) {
  if (!has_queue(queue)) return input_error("no such queue");
  if (blob.size() != 4) return input_error("exchange blob of the wrong length, expected 4 bytes");
  peers_.push_back({load_be32(blob.data())});
  return static_cast<PeerId>(peers_.size() - 1);
}

Result<void> DatagramWriteEngine::disconnect(TimePs, QueueId, PeerId peer) {
  if (!has_peer(peer)) return input_error("no such peer");
  peers_[peer] = wire::kNoHost;
  return {};
}

Result<void> DatagramWriteEngine::forget_host(TimePs, wire::HostAddress host) {
  std::replace(peers_.begin(), peers_.end(), host, wire::kNoHost);
  return {};
}

// --- Initiator: a request becomes a read of its data, the data becomes a packet, the packet leaves.

// guide: begin
PostStatus DatagramWriteEngine::post(TimePs, QueueId queue, const verbs::WorkRequest& request,
                                     engine::Submission submission) {
  if (queue_state(queue) != QueueState::kReady) return PostStatus::kBadQueue;
  if (!supports(request.verb) || submission != engine::Submission::kInHand) return PostStatus::kUnsupported;
  if (!has_peer(request.peer) || request.length == 0 || request.length > config_.mtu ||
      request.local_count != 1 || request.local[0].length != request.length) {
    return PostStatus::kBadRequest;
  }
  const std::uint32_t id = queues_[queue].outstanding < queues_[queue].depth ? pending_.acquire() : kNoSlot;
  if (id == kNoSlot) return PostStatus::kQueueFull;
  ++queues_[queue].outstanding;
  pending_[id] = {.request = request, .number = requests_++, .queue = queue};

  Access read;
  read.id = id;
  read.kind = engine::AccessKind::kRead;
  read.queue = queue;
  read.stream = queue;
  read.address = request.local[0].address;
  read.length = request.length;
  read.operation = request.operation;
  accesses_.push_back(read);
  return PostStatus::kOk;
}
// guide: end

// guide: begin
void DatagramWriteEngine::access_done(TimePs, AccessId id, const AccessResult& result) {
  if (!pending_.is_used(id) || !pending_[id].asked) return;  // Not given, or answered already.
  const Pending pending = pending_[id];
  pending_.release(id);
  const bool done = result.status == engine::AccessStatus::kDone;
  if (pending.placing) {
    pool_->release(pending.buffer);
    ++(done ? counters_.writes_placed : counters_.writes_failed);
    return;
  }
  if (pending.flushed) return;
  if (!done || result.data.length != pending.request.length) {
    complete(pending.queue, failed(pending, CompletionStatus::kLocalAccess), true);
  } else if (!has_peer(pending.request.peer)) {  // Gone in the meantime.
    complete(pending.queue, failed(pending, CompletionStatus::kRetryExhausted), true);
  } else {
    enqueue(pending, result.data);
  }
}
// guide: end

verbs::Completion DatagramWriteEngine::failed(const Pending& pending, CompletionStatus status) {
  verbs::Completion completion;
  completion.id = pending.request.id;
  completion.verb = pending.request.verb;
  completion.queue = pending.queue;
  completion.operation = pending.request.operation;
  completion.status = status;
  return completion;
}

void DatagramWriteEngine::enqueue(const Pending& pending, const wire::Payload& data) {
  const verbs::WorkRequest& request = pending.request;
  const QueueId queue = pending.queue;
  Outgoing outgoing;
  // guide: begin
  wire::Packet& packet = outgoing.packet;  // Protocol UB over UDP: what a Packet is by default.
  packet.source = config_.host;
  packet.destination = peers_[request.peer];
  packet.operation = request.operation;
  packet.ub.transport = wire::UbTransport::kUtp;
  wire::Btah& header = wire::use_request(packet.ub);
  header.opcode = wire::TaOpcode::kWrite;
  header.tassn = queues_[queue].tassn_next++;
  header.requester_id = queue;
  header.token_value_present = true;
  packet.ub.extension.token_value = request.remote.token.value;
  packet.ub.extension.maetah = {request.remote.address, request.remote.token.id, request.length};
  packet.payload = data;
  pool_->retain(data.buffer);  // access_done() only lends it.
  packet.header_bytes = wire::wire_header_bytes(packet);
  // guide: end
  outgoing.completion.id = request.id;
  outgoing.completion.verb = request.verb;
  outgoing.completion.queue = queue;
  outgoing.completion.length = request.length;
  outgoing.completion.operation = request.operation;
  outgoing.number = pending.number;
  outgoing.signaled = request.signaled;
  outgoing_.push_back(outgoing);
}

bool DatagramWriteEngine::transmit(TimePs, std::uint32_t, wire::TrafficClassMask classes, wire::Packet& out) {
  if (outgoing_.empty() || (classes & wire::mask_of(wire::TrafficClass::kData)) == 0) return false;
  const Outgoing& first = outgoing_.front();
  out = first.packet;  // The caller releases the payload.
  complete(first.completion.queue, first.completion, first.signaled);
  outgoing_.pop_front();
  return true;
}

void DatagramWriteEngine::complete(QueueId queue, const verbs::Completion& completion, bool visible) {
  if (visible) {
    queues_[queue].completions.push_back(completion);
  } else {
    --queues_[queue].outstanding;
  }
}

bool DatagramWriteEngine::poll(QueueId queue, verbs::Completion& out) {
  if (!has_queue(queue) || queues_[queue].completions.empty()) return false;
  out = queues_[queue].completions.front();
  queues_[queue].completions.pop_front();
  --queues_[queue].outstanding;
  return true;
}

bool DatagramWriteEngine::next_completed_queue(QueueId& out) const {
  for (QueueId queue = 0; queue < queues_.size(); ++queue) {
    if (queues_[queue].completions.empty()) continue;
    out = queue;
    return true;
  }
  return false;
}

// --- Target: a packet that passes every check becomes a write; any other is counted and dropped.

const DatagramWriteEngine::Segment* DatagramWriteEngine::writable(const wire::UbPacket& ub) const {
  const wire::Maetah& access = ub.extension.maetah;
  if (access.token_id == 0 || access.token_id > segments_.size()) return nullptr;
  const Segment& segment = segments_[access.token_id - 1];
  const verbs::SegmentConfig& config = segment.config;
  const bool proven = !config.check_value ||
                      (ub.request.token_value_present && ub.extension.token_value == config.token_value);
  const bool inside = access.address >= config.base && access.length <= config.length &&
                      access.address - config.base <= config.length - access.length;
  return segment.used && proven && inside && config.rights.remote_write ? &segment : nullptr;
}

// guide: begin
void DatagramWriteEngine::receive(TimePs, std::uint32_t, const wire::Packet& packet) {
  if (packet.protocol != wire::Protocol::kUb || packet.ub.transport != wire::UbTransport::kUtp ||
      packet.ub.transaction != wire::UbTransaction::kRequest ||
      packet.ub.request.opcode != wire::TaOpcode::kWrite) {
    ++counters_.dropped_foreign;
    return;
  }
  const wire::Maetah& target = packet.ub.extension.maetah;
  const Segment* segment = writable(packet.ub);
  if (segment == nullptr || target.length != packet.payload.length) {
    ++counters_.dropped_access;
    return;
  }
  const std::uint32_t id = pending_.acquire();
  if (id == kNoSlot) {
    ++counters_.dropped_no_room;
    return;
  }
  pool_->retain(packet.payload.buffer);  // receive() only lends it.
  pending_[id] = {.request = {}, .buffer = packet.payload.buffer, .placing = true};

  Access write;
  write.id = id;
  write.kind = engine::AccessKind::kWrite;
  write.order = segment->config.write_order;
  write.at_target = true;
  write.address = target.address;
  write.length = target.length;
  write.data = packet.payload;
  write.operation = packet.operation;
  accesses_.push_back(write);
}
// guide: end

bool DatagramWriteEngine::next_access(Access& out) {
  if (accesses_.empty()) return false;
  out = accesses_.front();
  accesses_.pop_front();
  pending_[out.id].asked = true;
  return true;
}

void DatagramWriteEngine::describe_waiting(std::vector<std::string>& lines) const {
  if (pending_.in_use() != 0) {
    lines.push_back(std::to_string(pending_.in_use()) + " accesses wait for the memory port");
  }
  if (!outgoing_.empty()) lines.push_back(std::to_string(outgoing_.size()) + " packets wait for the wire");
}

}  // namespace wharf::examples
