// SPDX-License-Identifier: Apache-2.0
// Lists of operations, and damaged, forged, repeated and late packets, into two connected UB engines whose
// hosts answer memory in any order, revoke segments, and make and destroy queues: nothing may crash, hang,
// touch memory not granted (any more), complete twice, keep a buffer, or end unable to serve a good peer.
// LINK: wharf_ub
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "base/check.h"
#include "engine/ub/ub_engine.h"
#include "fuzz/engine_machine.h"
#include "fuzz/ub_controllers.h"
#include "wire/packet.h"

namespace wharf::ub {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kSize = 0x8000;
/// A second segment, which may only be read.
constexpr std::uint64_t kReadOnlyBase = 0x20000;
/// Gather and receive entries lie here; no segment does.
constexpr std::uint64_t kLocal = 0x100000;
constexpr std::uint32_t kLocalSize = 0x10000;
constexpr std::uint32_t kQueues = 2;
/// Peers and queues can be made so often in one run.
constexpr std::uint32_t kChangesMax = 8;

struct Segment {
  std::uint64_t base = kBase;
  verbs::SegmentToken token;
  bool live = false;
};

struct Queue {
  engine::QueueId id = 0;
  verbs::PeerId peer = 0;
};

struct Side : FuzzedHost<UbEngine> {
  std::array<Queue, kQueues> queues;
  std::array<Segment, 2> segments{Segment{kBase, {}, false}, Segment{kReadOnlyBase, {}, false}};
  std::uint64_t last_id = 0;
  std::set<std::uint64_t> open;  ///< Requests and receive entries without a completion.
  std::uint32_t changes = 0;
};

class Machine : public EngineMachine<Machine, Side> {
 public:
  explicit Machine(InputBytes& input) : EngineMachine(input) {
    const std::uint8_t options = input_.byte();
    const std::uint8_t more = input_.byte();
    unfinished_ = (more & 1U) != 0;
    if ((more & 2U) != 0) tracer_.attach(silence_, ~std::uint32_t{0});
    for (std::uint32_t host = 0; host < 2; ++host) {
      UbConfig config;
      config.host = {host};
      config.mtu = 256;
      config.segment_bytes = 1024;
      config.send_window = 8;
      config.receive_window = 64;
      config.recovery = (options & 1U) != 0 ? LossRecovery::kGoBackN : LossRecovery::kSelective;
      config.context_cache_entries = (options & 2U) != 0 ? 1U + (options >> 4U & 3U) : 0;
      config.context_region = 0x4000'0000;
      config.context_records_max = kRecords;
      config.fetch_ahead_packets = (more & 4U) != 0 ? 1 : 64;
      config.acknowledge_every = (more & 8U) != 0 ? 3 : 1;
      config.transactions_per_jetty = (more & 16U) != 0 ? 2 : 256;
      config.full_jetty_records = (more & 32U) != 0;
      config.tracer = (more & 2U) != 0 ? &tracer_ : nullptr;
      config.first_psn = (options & 4U) != 0 ? wire::kPsnMask - 3 : 0;
      config.inbound_messages = (options & 8U) != 0 ? 2 : 64;
      config.parked_packets = (options & 8U) != 0 ? 3 : 64;
      config.load_store_services = 4;
      config.load_store_slots = 4;
      config.rnr_retry = 2;
      config.page_fault_retry = 2;
      if ((more & 64U) != 0) control_congestion(options >> 6U, config);
      sides_[host].engine =
          std::make_unique<UbEngine>(std::move(*UbEngine::create(config, pool_, arenas_[host])));
      for (std::uint32_t queue = 0; queue < kQueues; ++queue) create_queue(host, queue);
      for (std::uint32_t which = 0; which < 2; ++which) add_segment(host, which);
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t queue = 0; queue < kQueues; ++queue) connect(host, queue);
    }
  }

 private:
  friend EngineMachine;

  bool settle() {
    return EngineMachine::settle(300, [] { return false; });
  }

  /// Whatever has happened: once it has settled, new queues and a new segment must work.
  void finish() {
    for (Side& side : sides_) side.classes = wire::kAllTrafficClasses;
    // A forged acknowledgement may have ended what a peer still waits for: that peer then asks for ever.
    const bool settled = settle();
    WHARF_CHECK(settled || forged_);
    if (forged_) return;
    for (const Side& side : sides_) {
      // A forged answer may have ended a channel at one side alone.
      if (side.engine->counters().channels_failed > 0) return;
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      create_queue(host, 0);
      add_segment(host, 0);
    }
    for (std::uint32_t host = 0; host < 2; ++host) connect(host, 0);
    for (std::uint32_t host = 0; host < 2; ++host) {
      Side& side = sides_[host];
      verbs::WorkRequest request;
      request.verb = verbs::Verb::kRead;
      request.id = ++side.last_id;
      request.peer = side.queues[0].peer;
      request.length = 600;
      request.local_count = 1;
      request.local[0] = {kLocal, 600};
      request.remote = {kBase, sides_[1 - host].segments[0].token};
      side.open.insert(request.id);
      good_ = verbs::CompletionStatus::kFlushed;
      WHARF_CHECK(side.engine->post(now_, side.queues[0].id, request, engine::Submission::kInHand) ==
                  engine::PostStatus::kOk);
      wanted_ = request.id;
      WHARF_CHECK(settle() && good_ == verbs::CompletionStatus::kSuccess);
    }
  }

  void create_queue(std::uint32_t host, std::uint32_t queue) {
    sides_[host].queues[queue].id =
        *sides_[host].engine->create_queue(now_, {.send_depth = 8, .receive_depth = 4});
  }
  void connect(std::uint32_t host, std::uint32_t queue) {
    Side& side = sides_[host];
    const auto blob = sides_[1 - host].engine->export_queue(sides_[1 - host].queues[queue].id);
    if (!blob) return;
    const auto peer = side.engine->connect(now_, side.queues[queue].id, *blob);
    if (peer) side.queues[queue].peer = *peer;
  }
  void add_segment(std::uint32_t host, std::uint32_t which) {
    Segment& segment = sides_[host].segments[which];
    const verbs::AccessRights read_only{.remote_read = true, .remote_write = false, .remote_atomic = false};
    const auto token =
        sides_[host].engine->register_segment(now_, {.base = segment.base,
                                                     .length = kSize,
                                                     .rights = which == 0 ? verbs::kFullAccess : read_only,
                                                     .token_value = 7});
    if (!token) return;
    segment.token = *token;
    segment.live = true;
  }

  void control(std::uint32_t host) {
    Side& side = sides_[host];
    const std::uint8_t what = input_.byte();
    const std::uint32_t queue = what >> 3U & 1U;
    const std::uint32_t which = what >> 4U & 1U;
    switch (what & 7U) {
      case 0:
        if (side.engine->deregister_segment(now_, side.segments[which].token)) {
          side.segments[which].live = false;
        }
        break;
      case 1:
        if (!side.segments[which].live && ++side.changes < kChangesMax) add_segment(host, which);
        break;
      case 2:
        static_cast<void>(side.engine->destroy_queue(now_, side.queues[queue].id));
        break;
      case 3:
        if (++side.changes < kChangesMax && side.engine->destroy_queue(now_, side.queues[queue].id)) {
          create_queue(host, queue);
        }
        break;
      case 4:
        static_cast<void>(side.engine->disconnect(now_, side.queues[queue].id, side.queues[queue].peer));
        break;
      default:
        // Also the way to a channel that has failed.
        if (++side.changes < 2 * kChangesMax) connect(host, queue);
        break;
    }
  }

  void post(std::uint32_t host) {
    Side& side = sides_[host];
    verbs::WorkRequest request;
    request.verb = static_cast<verbs::Verb>(input_.byte() % verbs::kVerbCount);
    request.id = ++side.last_id;
    const std::uint8_t place = input_.byte();
    const Queue& queue = side.queues[place & 1U];
    request.peer = queue.peer;
    request.order = static_cast<verbs::OrderTag>(input_.byte() % 3);
    const std::uint8_t flags = input_.byte();
    request.fence = (flags & 1U) != 0;
    request.completion_in_order = (flags & 2U) != 0;
    request.signaled = (flags & 4U) != 0;
    request.width = (flags & 8U) != 0 ? 8 : 4;
    request.length = input_.word() % 3000;
    request.local_count = 2;
    request.local[0] = {kLocal, request.length / 2};
    request.local[1] = {kLocal + 0x4000, request.length - request.length / 2};
    const Segment& target = sides_[1 - host].segments[(place & 14U) == 0 ? 1 : 0];
    request.remote = {target.base + input_.word() / 2, target.token};
    if ((flags & 16U) != 0) request.remote.token.value = 8;
    request.notify = request.remote;
    request.invalidate = {input_.byte(), 7};
    if ((flags & 32U) != 0 && verbs::carries_payload(request.verb) && request.length > 0) {
      const wire::BufferId buffer = pool_.acquire(request.length);
      std::memset(pool_.data(buffer), 1, request.length);
      request.inline_data = wire::bytes_payload(pool_.data(buffer), request.length, buffer);
    }
    const auto how = (flags & 64U) != 0 ? engine::Submission::kDoorbell : engine::Submission::kInHand;
    request.operation = {request.id};
    if (side.engine->post(now_, queue.id, request, how) == engine::PostStatus::kOk) {
      side.open.insert(request.id);
    }
    pool_.release(request.inline_data.buffer);
  }

  void receive_entry(std::uint32_t host) {
    verbs::ReceiveRequest receive;
    Side& side = sides_[host];
    const std::uint32_t value = input_.word();
    receive.id = ++side.last_id;
    receive.local_count = 2;
    receive.local[0] = {kLocal, value % 500};
    receive.local[1] = {kLocal + 0x8000, value % 1500};
    if (side.engine->post_receive(now_, side.queues[value >> 15U & 1U].id, receive) ==
        engine::PostStatus::kOk) {
      side.open.insert(receive.id);
    }
  }

  /// A load or a store.
  void post_other(std::uint32_t host) {
    verbs::LoadStore access;
    access.peer = sides_[host].queues[0].peer;
    const std::uint32_t place = input_.word();
    const Segment& target = sides_[1 - host].segments[place & 1U];
    access.remote = {target.base + place / 128 * 64, target.token};
    const std::uint8_t flags = input_.byte();
    access.length = 64U << (flags & 3U);
    if ((flags & 4U) != 0) {
      access.verb = verbs::Verb::kStore;
      access.data = wire::pattern_payload(1, 0, access.length);
      if (access.length == 64) access.byte_mask = (flags & 8U) != 0 ? 0xf0f1 : ~std::uint64_t{0};
    }
    static_cast<void>(sides_[host].engine->issue(now_, access));
  }

  void completed(Side& side, const verbs::Completion& completion) {
    WHARF_CHECK(side.open.erase(completion.id) == 1);
    if (completion.id == wanted_) good_ = completion.status;
  }

  /// What an access may touch at the time it is asked for.
  static void check(const Side& side, const engine::Access& access) {
    if (!touches_data(access)) return;
    const bool writes = access.kind == engine::AccessKind::kWrite;
    // Local buffers, and the receive entries among them.
    if (inside(access, kLocal, kLocalSize)) {
      WHARF_CHECK(!access.at_target || writes);
      return;
    }
    WHARF_CHECK(access.at_target);
    const Segment& segment = side.segments[access.address >= kReadOnlyBase ? 1 : 0];
    WHARF_CHECK(segment.live && inside(access, segment.base, kSize));
    WHARF_CHECK(segment.base == kBase || access.kind == engine::AccessKind::kRead);
  }

  void keep_context(std::uint32_t host, const engine::Access& access, engine::AccessResult& result) {
    auto& record = records_[host][(access.address - 0x4000'0000) / kContextStride];
    if (access.kind == engine::AccessKind::kWriteContext) {
      wire::fill(access.data, record);
    } else {
      result.data = wire::bytes_payload(record.data(), access.length);
    }
  }

  void repeat() { arrive(wire_[input_.byte() % wire_.size()]); }

  /// Delivers a changed copy of a packet under way; what a decoder could give and what it never would.
  void forge(wire::Packet packet) {
    wire::UbPacket& ub = packet.ub;
    for (int changes = 1 + input_.byte() % 3; changes > 0; --changes) {
      const std::uint32_t value = input_.word();
      switch (input_.byte() % 16) {
        case 0:
          ub.rtph.psn = wire::psn_add(ub.rtph.psn, value - 0x8000) & wire::kPsnMask;
          break;
        case 1:
          ub.rtph.tpmsn = wire::psn_add(ub.rtph.tpmsn, value % 5 + wire::kPsnMask - 2);
          break;
        case 2:
          ub.rtph.opcode = static_cast<wire::TpOpcode>(value & 0x7fU);
          break;
        case 3:
          ub.rtph.last = !ub.rtph.last;
          break;
        case 4:
          ub.rtph.status = static_cast<wire::UbResponseStatus>(value & 7U);
          break;
        case 5:
          if ((value & 4U) == 0) {
            ub.rtph.destination_tpn = value & 3U;
          } else if (wire::has_cetph(ub)) {
            ub.ack.cetph = {.acknowledged_bytes = ub.ack.cetph.acknowledged_bytes + (value >> 8U) - 0x80U,
                            .hint = static_cast<std::uint16_t>(value >> 3U),
                            .congested_packets = static_cast<std::uint8_t>(value >> 4U),
                            .location = false,
                            .increase = (value & 8U) != 0};
          } else {
            ub.cc = wire::congestion_field(static_cast<std::uint16_t>(value >> 3U));
          }
          break;
        case 6:
          packet.source.number = value % 4;
          break;
        case 7:
          packet.payload = wire::pattern_payload(value, 0, value % 300);
          break;
        case 8:
          if (ub.transaction == wire::UbTransaction::kRequest)
            ub.request.opcode = static_cast<wire::TaOpcode>(value & 0x1fU);
          if (ub.transaction == wire::UbTransaction::kResponse) {
            ub.response.opcode = static_cast<wire::TaOpcode>(0x11 + value % 3);
          }
          break;
        case 9:
          if (ub.transaction == wire::UbTransaction::kRequest)
            ub.request.tassn ^= static_cast<std::uint16_t>(value);
          if (ub.transaction == wire::UbTransaction::kResponse)
            ub.response.tassn ^= static_cast<std::uint16_t>(value & 7U);
          break;
        case 10:
          if (ub.transaction == wire::UbTransaction::kRequest)
            ub.extension.maetah.address += value - 0x8000ULL;
          break;
        case 11:
          if (ub.transaction == wire::UbTransaction::kRequest) ub.extension.maetah.length = value;
          break;
        case 12:
          if (ub.transaction == wire::UbTransaction::kRequest) ub.extension.maetah.token_id = value & 7U;
          break;
        case 13:
          if (ub.transaction == wire::UbTransaction::kRequest) ub.extension.mtetah.target_id = value & 63U;
          if (ub.transaction == wire::UbTransaction::kRequest) ub.extension.invalidate.token_id = value & 7U;
          break;
        case 14:
          if (ub.transaction == wire::UbTransaction::kResponse) {
            ub.response.status = static_cast<wire::UbResponseStatus>(value & 7U);
          }
          break;
        case 15:
          if (ub.transaction == wire::UbTransaction::kNone && wire::has_saetph(ub) &&
              ub.ack.saetph.size_code <= 2) {
            ub.ack.saetph.max_received = value;
            ub.ack.sack_bitmap[value % 32] ^= static_cast<std::uint8_t>(value >> 8U);
          }
          break;
      }
    }
    // An acknowledgement must say what extension it has: a decoder never gives one without.
    const bool selective =
        ub.rtph.opcode == wire::TpOpcode::kSack || ub.rtph.opcode == wire::TpOpcode::kSackCetph;
    if (ub.transport == wire::UbTransport::kRtp && selective && ub.transaction != wire::UbTransaction::kNone)
      return;
    if (selective && ub.ack.saetph.size_code > 2 &&
        (packet.payload.kind != wire::PayloadKind::kBytes ||
         packet.payload.length != wire::sack_bitmap_bytes(ub.ack.saetph.size_code))) {
      return;
    }
    arrive(packet);
  }

  /// Records of each kind in the context region: queues are never given the same number again.
  static constexpr std::uint32_t kRecords = 2 * kQueues + kChangesMax + 2;

  Silence silence_;
  trace::Tracer tracer_;
  std::uint64_t wanted_ = ~std::uint64_t{0};
  verbs::CompletionStatus good_ = verbs::CompletionStatus::kSuccess;
  std::array<std::array<std::byte, kContextStride>, std::size_t{3} * kRecords> records_[2]{};
};

}  // namespace
}  // namespace wharf::ub

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wharf::InputBytes input(data, size);
  std::make_unique<wharf::ub::Machine>(input)->run();
  return 0;
}
