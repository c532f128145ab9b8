// SPDX-License-Identifier: Apache-2.0
// A hostile peer and an unhelpful host: lists of hand-made, repeated and late packets, posts, memory answers
// in any order, time steps and control calls against one RoCE engine. It must not crash, touch memory that
// nobody has granted (any more), complete a request twice, keep payload buffers, go on asking for ever, or be
// left unable to serve a well-behaved peer.
// LINK: wharf_roce
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "engine/driver/engine_driver.h"
#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"
#include "fuzz/engine_host.h"
#include "fuzz/input_bytes.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

constexpr std::uint64_t kSegmentBytes = 4096;
/// Gather and receive entries lie here; no segment does.
constexpr std::uint64_t kLocal = 0x100000;
constexpr std::uint64_t kLocalBytes = 0x10000;
constexpr std::uint32_t kQueues = 3;
constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kQueueKey = 0x1234;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Segment {
  std::uint64_t base = 0;
  verbs::AccessRights rights;
  verbs::SegmentToken token;
  bool live = false;
};

struct Queue {
  bool exists = false;
  wire::Psn theirs = 0;  ///< The PSN that the engine expects, as far as one can tell from here.
  wire::Psn ours = 0;    ///< One past the newest request PSN that the engine sent.
};

class World {
 public:
  /// `ending`, the last byte of the input, chooses congestion control, 0xe0 to 0xef, or the services of the
  /// queue pairs, 0xd1 to 0xdf.
  World(InputBytes& script, std::uint32_t ending) : script_(script) {
    const std::uint32_t caches = script_.number();
    const std::uint32_t sizes = script_.number();
    options_ = script_.number();
    roce::RoceConfig config;
    config.host = {1};
    config.path_mtu = kMtu;
    config.ack_timeout = 1;
    config.starting_psn = ours_ = (options_ & 1U) != 0 ? 0xfffffcU : 1000U;
    theirs_ = (options_ & 2U) != 0 ? 0xfffffcU : 5000U;
    config.queue_cache_entries = caches % 4;
    config.key_cache_entries = caches / 4 % 4;
    config.deferred_packets = 1U << (caches / 16 % 4);
    config.access_slots = 64;
    config.responses_ahead = 2U << (sizes % 4);
    config.transmit_ahead = 1U << (sizes / 4 % 4);
    config.receive_prefetch = static_cast<std::uint8_t>(sizes / 16 % 4 * 3);
    config.fetch_batch = static_cast<std::uint8_t>(1 + sizes / 64);
    config.max_read_atomic = (options_ & 4U) != 0 ? 1 : 4;
    config.window_packets = (options_ & 8U) != 0 ? 2 : 128;
    config.rnr_retry = (options_ & 16U) != 0 ? 1 : 7;
    config.acknowledge_every_request = (options_ & 32U) != 0;
    config.advertise_credits = config.acknowledge_every_request;
    if ((options_ & 64U) != 0) {
      tracer_.attach(silence_, ~std::uint32_t{0});
      config.tracer = &tracer_;
    }
    if (ending / 16 == 14) control_congestion(ending % 16, config);
    if (ending / 16 == 13) services_ = ending % 16;
    host_.engine =
        std::make_unique<roce::RoceEngine>(roce::RoceEngine::create(config, pool_, arena_).value());
    add_segment(0, verbs::kFullAccess);
    add_segment(1, {.remote_read = true, .remote_write = false, .remote_atomic = false});
    for (engine::QueueId queue = 0; queue < kQueues; ++queue) create(queue);
    drain();
  }
  ~World() {
    for (const wire::Packet& packet : past_) pool_.release(packet.payload.buffer);
    host_.engine.reset();
    require(pool_.in_use() == 0);
  }

  void step() {
    switch (script_.number() % 16) {
      default:
        receive();
        break;
      case 5:
        receive_again();
        break;
      case 6:
        post();
        break;
      case 7:
        post_receive();
        break;
      case 8:
        now_ += picoseconds(static_cast<std::int64_t>(script_.word()) * 10'000);
        break;
      case 9:
        now_ = max(now_, min(host_.engine->deadline(), now_ + seconds(1)));
        break;
      case 10:
      case 11:
      case 12:
        answer(script_.number());
        break;
      case 13:
        control();
        break;
      case 14:
        host_.classes =
            static_cast<wire::TrafficClassMask>(script_.number() % 3 == 0 ? script_.number() : 0xff);
        break;
      case 15:
        for (std::uint32_t left = script_.number() % 32; left > 0 && !host_.accesses.empty(); --left)
          answer(0);
        break;
    }
    if (host_.engine->deadline() <= now_) host_.engine->expire(now_);
    drain();
  }

  /// Everything is answered, time passes, and then a new peer must find the engine in working order.
  void finish() {
    if ((options_ & 128U) != 0) return;  // It ends in the middle of everything.
    host_.classes = wire::kAllTrafficClasses;
    for (int round = 0; round < 300; ++round) {
      answer_all();
      const TimePs next = host_.engine->deadline();
      if (next == kNever) break;
      now_ = max(now_, next);
      host_.engine->expire(now_);
      drain();
    }
    for (engine::QueueId queue = 0; queue < kQueues; ++queue) {
      if (queues_[queue].exists) require(host_.engine->destroy_queue(now_, queue).ok());
    }
    drain();
    answer_all();
    require(host_.engine->deadline() == kNever);  // Nobody is left to wait for anything.
    services_ = 0;
    create(0);
    add_segment(0, verbs::kFullAccess);
    answer_all();
    wire::Packet read = begin(0, wire::RoceOpcode::kRcReadRequest, theirs_);
    read.roce.reth = {segments_[0].base, segments_[0].token.id, 8};
    const std::uint64_t before = sent_;
    host_.engine->receive(now_, 0, read);
    drain();
    answer_all();
    require(sent_ == before + 1);
  }

 private:
  void control_congestion(std::uint32_t choice, roce::RoceConfig& config) {
    congestion::DcqcnConfig dcqcn;
    dcqcn.rpg_time_reset = microseconds(1);
    if ((choice & 8U) != 0) dcqcn.rpg_min_rate = gigabits_per_second(1);
    const std::array<congestion::ControllerConfig, 4> controllers{
        dcqcn, congestion::SwiftConfig{}, congestion::ConstantWindowConfig{.packets = 1},
        congestion::ConstantWindowConfig{.packets = 3}};
    config.congestion = controllers[choice % 4];
    marks_ = (choice & 4U) != 0;
    if (marks_) config.min_time_between_cnps = nanoseconds(500);
  }

  void add_segment(std::uint32_t at, verbs::AccessRights rights) {
    Segment& segment = segments_[at];
    segment.base = 0x10000 * (at + std::uint64_t{1});
    segment.rights = rights;
    segment.token =
        host_.engine
            ->register_segment(now_, {.base = segment.base, .length = kSegmentBytes, .rights = rights})
            .value();
    segment.live = true;
  }

  /// The second and the third choose by two bits each.
  roce::Service service_of(engine::QueueId queue) const {
    constexpr roce::Service kServices[] = {roce::Service::kReliable, roce::Service::kUnreliable,
                                           roce::Service::kDatagram, roce::Service::kUnreliable};
    return queue == 0 ? roce::Service::kReliable : kServices[services_ >> (2 * queue - 2) & 3U];
  }

  void create(engine::QueueId queue) {
    engine::QueueConfig config;
    config.token = kQueueKey;
    if (service_of(queue) == roce::Service::kUnreliable) config.service = engine::ServiceMode::kUnreliable;
    if (service_of(queue) == roce::Service::kDatagram) config.service = engine::ServiceMode::kUnordered;
    config.send_depth = 4;
    config.receive_depth = 8;
    config.receive_ring = queue == 1 ? 0x8000 : 0;
    require(host_.engine->create_queue(now_, config).value() == queue);
    queues_[queue].exists = true;
    connect(queue);
  }

  void connect(engine::QueueId queue) {
    roce::ExchangeRecord peer;
    peer.host = {0};
    peer.queue_number = roce::kFirstQueueNumber + queue;
    peer.starting_psn = theirs_;
    peer.path_mtu = kMtu;
    peer.responder_resources = 2;
    peer.service = service_of(queue);
    peer.queue_key = kQueueKey;
    if (!host_.engine->connect(now_, queue, roce::encode(peer)).ok()) return;
    queues_[queue].theirs = theirs_;
    queues_[queue].ours = ours_;
  }

  wire::Packet begin(engine::QueueId queue, wire::RoceOpcode opcode, wire::Psn psn) const {
    wire::Packet packet = wire::roce_packet();
    packet.source = {0};
    packet.destination = {1};
    packet.roce.bth.opcode = opcode;
    packet.roce.bth.destination_queue_pair = roce::kFirstQueueNumber + queue;
    packet.roce.bth.psn = psn & wire::kPsnMask;
    return packet;
  }

  void receive() {
    const std::uint32_t oddity = script_.number();
    std::uint32_t code = oddity == 255 ? 0x81 : script_.number() % 32;
    const engine::QueueId at = script_.number() % (kQueues + 1);
    if (services_ != 0 && oddity < 248) {
      code |= static_cast<std::uint32_t>(service_of(at % kQueues)) << wire::kRoceTransportShift;
      if (code > 0x60) code = 0x64 | (code & 1U);
    }
    const auto opcode = static_cast<wire::RoceOpcode>(code);
    Queue& queue = queues_[at % kQueues];
    const bool answers =
        opcode >= wire::RoceOpcode::kRcReadResponseFirst && opcode <= wire::RoceOpcode::kRcAtomicAcknowledge;
    // Mostly the right number; sometimes one from the past or from the future.
    const std::uint32_t shift = script_.number();
    const std::uint32_t off = shift < 128 ? 0 : shift < 240 ? shift % 16 : shift << 16U;
    const wire::Psn psn = answers          ? queue.ours - 1 - off
                          : shift % 2 == 0 ? queue.theirs - off
                                           : queue.theirs + off;
    wire::Packet packet = begin(at, opcode, psn);
    if (oddity == 254) packet.source = {9};
    if (oddity == 253) packet.trim = wire::TrimState::kTrimmed;
    if (oddity == 252) packet.roce.bth.partition_key = 0x7fff;
    packet.operation = {++operations_};
    wire::RocePacket& roce = packet.roce;
    roce.bth.acknowledge_request = oddity % 2 == 0;
    const std::uint16_t headers = wire::roce_headers(opcode);
    const Segment& segment = segments_[oddity / 2 % 8 == 7 ? 1 : 0];
    const std::uint32_t key = oddity == 251 ? script_.word() : segment.token.id;
    const std::uint32_t shape = script_.number();
    std::uint32_t length = shape % 4 == 0 ? kMtu : shape % 4 == 1 ? shape : shape % 4 == 2 ? 0 : 8;
    if (shape == 255) length = 2 * kMtu;
    if ((headers & wire::kRoceReth) != 0) {
      const std::uint32_t place = script_.word();
      roce.reth.address = segment.base + place % 4400 - (place >= 0xff00 ? 4500U : 0U);
      roce.reth.remote_key = key;
      // A WRITE announces as much as it carries, or some packets of it.
      const bool only = (code & 0x1fU) == 0x0a || (code & 0x1fU) == 0x0b;
      roce.reth.length = only && shape < 200 ? length : length + kMtu * (shape % 8);
    }
    if ((headers & wire::kRoceAtomicEth) != 0) {
      roce.atomic = {segment.base + script_.number() * (shape < 200 ? 8U : 17U), 1, 0, key};
    }
    if (answers) {
      const std::uint32_t syndrome = script_.number();
      roce.ack.aeth.syndrome = static_cast<std::uint8_t>(syndrome % 4 == 0 ? wire::kAckUnlimited : syndrome);
      roce.ack.aeth.msn = script_.number();
    }
    if ((headers & wire::kRoceDeth) != 0) roce.deth = {shape == 254 ? key : kQueueKey, at};
    roce.invalidate_key = key;
    if ((headers & wire::kRocePayload) != 0 && length > 0) {
      const wire::BufferId buffer = pool_.acquire(length);
      std::fill_n(pool_.data(buffer), length, std::byte{5});
      packet.payload = wire::bytes_payload(pool_.data(buffer), length, buffer);
    }
    if (!answers && off == 0) {
      const std::uint32_t numbers =
          opcode == wire::RoceOpcode::kRcReadRequest ? std::max(1U, (roce.reth.length + kMtu - 1) / kMtu) : 1;
      queue.theirs = wire::psn_add(queue.theirs, numbers);
    }
    if (marks_ && operations_ % 3 == 0) packet.mark = wire::CongestionMark::kExperienced;
    host_.engine->receive(now_, 0, packet);
    // Kept, buffer and all, to come again.
    if (past_.size() == 16) {
      pool_.release(past_.front().payload.buffer);
      past_.pop_front();
    }
    past_.push_back(packet);
  }

  void receive_again() {
    if (past_.empty()) return;
    host_.engine->receive(now_, 0, past_[script_.number() % past_.size()]);
  }

  verbs::ScatterEntry local_piece(std::uint32_t length) { return {kLocal + script_.number() * 16, length}; }

  void post() {
    verbs::WorkRequest request;
    request.id = ++requests_;
    request.verb = static_cast<verbs::Verb>(script_.number() % verbs::kVerbCount);
    request.length = verbs::is_atomic(request.verb) ? 8 : script_.number() * 8;
    const std::uint32_t flags = script_.number();
    if ((flags & 1U) != 0) {
      request.local_count = 2;
      request.local[0] = local_piece(request.length / 3);
      request.local[1] = local_piece(request.length - request.length / 3);
    } else {
      request.local_count = 1;
      request.local[0] = local_piece(request.length);
    }
    request.remote = {0x10000, {17, 0}};
    request.peer = 0;
    request.fence = (flags & 2U) != 0;
    request.signaled = (flags & 4U) == 0;
    request.operation = {++operations_};
    if ((flags & 8U) != 0 && request.length > 0) {
      const wire::BufferId buffer = pool_.acquire(request.length);
      std::fill_n(pool_.data(buffer), request.length, std::byte{6});
      request.inline_data = wire::bytes_payload(pool_.data(buffer), request.length, buffer);
    }
    const auto how = (flags & 16U) != 0 ? engine::Submission::kInHand : engine::Submission::kDoorbell;
    if (host_.engine->post(now_, script_.number() % kQueues, request, how) == engine::PostStatus::kOk) {
      open_.insert(request.id);
    }
    pool_.release(request.inline_data.buffer);
  }

  void post_receive() {
    for (std::uint32_t left = 1 + script_.number() % 4; left > 0; --left) {
      verbs::ReceiveRequest request;
      request.id = ++requests_;
      request.local_count = verbs::kMaxScatterEntries;
      for (verbs::ScatterEntry& piece : request.local) piece = local_piece(script_.number() * 2);
      if (host_.engine->post_receive(now_, script_.number() % kQueues, request) == engine::PostStatus::kOk) {
        open_.insert(request.id);
      }
    }
  }

  void control() {
    const engine::QueueId at = script_.number() % kQueues;
    const std::uint32_t which = script_.number() % 2;
    switch (script_.number() % 8) {
      case 0:
        static_cast<void>(host_.engine->reset(now_, at));
        break;
      case 1:
        static_cast<void>(host_.engine->disconnect(now_, at, at));
        break;
      case 2:
        if (host_.engine->deregister_segment(now_, segments_[which].token).ok())
          segments_[which].live = false;
        break;
      case 3:
        if (!segments_[which].live) add_segment(which, segments_[which].rights);
        break;
      case 4:
        // Numbers of destroyed queues are given again, the lowest first.
        if (queues_[at].exists && host_.engine->destroy_queue(now_, at).ok()) queues_[at].exists = false;
        break;
      case 5:
        for (engine::QueueId queue = 0; queue < kQueues; ++queue) {
          if (!queues_[queue].exists) return create(queue);
        }
        break;
      case 6:
        connect(at);
        break;
      default:
        stand_still(at);
    }
  }

  void stand_still(engine::QueueId at) {
    roce::RoceEngine& engine = *host_.engine;
    const std::uint32_t what = script_.number();
    roce::QueueChanges changes;
    if ((what & 4U) != 0) changes.retry_count = static_cast<std::uint8_t>(what / 8 % 8);
    if ((what & 8U) != 0) changes.ack_timeout = static_cast<std::uint8_t>(1 + what / 16 % 4);
    if ((what & 16U) != 0) changes.max_read_atomic = static_cast<std::uint8_t>(1 + what / 32);
    if ((what & 32U) != 0) changes.min_rnr_timer = static_cast<std::uint8_t>(what / 8);
    if (what % 4 == 0) static_cast<void>(engine.suspend_queue(now_, at));
    if (what % 4 == 1) static_cast<void>(engine.resume_queue(now_, at));
    if (what % 4 == 2) static_cast<void>(engine.change_queue(now_, at, changes));
    if (what % 4 == 3) static_cast<void>(engine.disconnect(now_, at, what / 4 % 4));
  }

  /// A release: seen after the one before it, in whatever order the two are answered.
  void write_record(const engine::Access& access) {
    require(access.order == verbs::AccessOrder::kRelease);
    std::vector<std::byte>& record = contexts_[access.address % contexts_.size()];
    record.resize(access.length);
    wire::fill(access.data, record);
  }

  void answer(std::uint32_t which) {
    if (host_.accesses.empty()) return;
    const engine::Access access = host_.take(which % host_.accesses.size());
    engine::AccessResult result;
    const bool context = touches_context(access);
    const bool reads =
        access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kFetchContext;
    if (!context && which >= 240) {
      result.status = which < 248 ? engine::AccessStatus::kFault : engine::AccessStatus::kPoison;
    } else if (reads) {
      result.data = filled_payload(pool_, access.length, std::byte{0});
      if (context) {
        const std::vector<std::byte>& record = contexts_[access.address % contexts_.size()];
        require(record.size() == access.length);
        std::copy(record.begin(), record.end(), pool_.data(result.data.buffer));
      }
    }
    host_.engine->access_done(now_, access.id, result);
    pool_.release(result.data.buffer);
    drain();
  }

  void answer_all() {
    for (int round = 0; round < 100000 && !host_.accesses.empty(); ++round) answer(0);
    require(host_.accesses.empty());
  }

  /// What an access may touch at the time it is asked for.
  void check(const engine::Access& access) const {
    if (!touches_data(access)) return;
    const bool writes = access.kind == engine::AccessKind::kWrite;
    // Local buffers, and the receive entries among them.
    if (inside(access, kLocal, kLocalBytes)) return require(!access.at_target || writes);
    require(access.at_target);
    for (const Segment& segment : segments_) {
      if (!inside(access, segment.base, kSegmentBytes)) continue;
      require(segment.live);
      return require(writes                                     ? segment.rights.remote_write
                     : access.kind == engine::AccessKind::kRead ? segment.rights.remote_read
                                                                : segment.rights.remote_atomic);
    }
    std::abort();
  }

  /// Memory, wire and user, as the engine's driver sees them.
  struct Inside {
    World& world;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult&) {
      world.check(access);
      if (access.kind == engine::AccessKind::kWriteContext) world.write_record(access);
      world.host_.keep(access);
      return false;
    }
    wire::TrafficClassMask open(TimePs) const { return world.host_.classes; }
    void send(TimePs, const wire::Packet& packet) { world.take(packet); }
    void completed(TimePs, const verbs::Completion& completion) {
      require(world.open_.erase(completion.id) == 1);
    }
    void event(TimePs, const engine::AsyncEvent&) {}
  };

  void take(const wire::Packet& packet) {
    ++sent_;
    const wire::Bth& bth = packet.roce.bth;
    const bool answer = bth.opcode >= wire::RoceOpcode::kRcReadResponseFirst &&
                        bth.opcode <= wire::RoceOpcode::kRcAtomicAcknowledge;
    const bool notification = bth.opcode == wire::RoceOpcode::kCnp;
    if (notification) require(marks_ && bth.psn == 0 && packet.payload.length == 0);
    // Nobody acknowledges what is unreliable.
    if (bth.opcode >= wire::RoceOpcode::kUcSendFirst && !notification) require(!bth.acknowledge_request);
    Queue& queue = queues_[(bth.destination_queue_pair - roce::kFirstQueueNumber) % kQueues];
    if (!answer && !notification) queue.ours = wire::psn_add(bth.psn, 1);
    pool_.release(packet.payload.buffer);
  }

  void drain() {
    Inside inside{*this};
    engine::EngineDriver(*host_.engine, inside, inside, inside).settle(now_);
  }

  InputBytes& script_;
  Silence silence_;
  trace::Tracer tracer_;
  wire::PayloadPool pool_;
  Arena arena_;
  FuzzedHost<roce::RoceEngine> host_;
  std::uint32_t options_ = 0;
  std::uint32_t services_ = 0;
  bool marks_ = false;  ///< Switches mark, and CNPs are sent.
  wire::Psn ours_ = 0;
  wire::Psn theirs_ = 0;
  std::array<Segment, 2> segments_;
  std::array<Queue, kQueues> queues_;
  TimePs now_;
  std::uint64_t sent_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t requests_ = 0;
  std::set<std::uint64_t> open_;  ///< Requests and receive entries without a completion.
  std::deque<wire::Packet> past_;
  std::array<std::vector<std::byte>, 4099> contexts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputBytes script(data, size);
  const auto world = std::make_unique<World>(script, size == 0 ? 0U : data[size - 1]);
  for (int steps = 0; !script.empty() && steps < 600; ++steps) world->step();
  world->finish();
  return 0;
}
