// SPDX-License-Identifier: Apache-2.0
// Lists of operations, and damaged, forged, repeated and late packets, into two connected UET engines whose
// hosts answer memory in any order, revoke regions, disable indices, and make and destroy queues: nothing may
// crash, hang, touch memory not granted (any more), complete twice, keep a buffer, or end unable to serve.
// LINK: wharf_uet
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/uet/uet_engine.h"
#include "fuzz/engine_machine.h"
#include "wire/packet.h"

namespace wharf::uet {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kSize = 0x10000;
/// Gather and receive entries lie here; no region does.
constexpr std::uint64_t kLocal = 0x100000;
/// Queues and regions can be made so often in one run.
constexpr std::uint32_t kChangesMax = 8;

struct Side : FuzzedHost<UetEngine> {
  engine::QueueId queue = 0;
  verbs::PeerId peer = 0;
  verbs::SegmentToken token;
  verbs::SegmentToken idempotent;
  std::vector<std::uint8_t> outstanding;  ///< By request id: 1 posted, 0 completed.
  bool granted = true;                    ///< `token` and `idempotent` stand.
  bool queue_live = true;
  std::uint32_t changes = 0;
  std::uint64_t wanted = ~std::uint64_t{0};  ///< The request whose end finish() waits for.
  bool served = false;
};

class Machine : public EngineMachine<Machine, Side> {
 public:
  explicit Machine(InputBytes& input) : EngineMachine(input) {
    const std::uint8_t options = input_.byte();
    const std::uint8_t more = input_.byte();
    unfinished_ = (more & 1U) != 0;
    for (std::uint32_t host = 0; host < 2; ++host) {
      UetConfig config;
      config.host = {host};
      config.payload_mtu = 256;
      config.default_mpr = 1;
      config.controller = congestion::ConstantWindowConfig{.packets = 8};
      config.medium_headers = (options & 1U) != 0;
      config.small_headers = (options & 2U) != 0;
      config.use_ri_generation = (options & 4U) != 0;
      config.unexpected = (options & 8U) != 0 ? UnexpectedSend::kRefuse : UnexpectedSend::kKeep;
      config.large_send = (options & 16U) != 0   ? LargeSend::kRendezvous
                          : (options & 32U) != 0 ? LargeSend::kDeferrable
                                                 : LargeSend::kEager;
      config.large_send_bytes = 300;
      const bool tight = (options & 64U) != 0;
      config.inbound_messages = tight ? 2 : 64;
      config.held_packets = tight ? 2 : 64;
      config.stored_responses = tight ? 4 : 64;
      config.packets_in_execution = tight ? 2 : 64;
      config.pdc_limit = 3;
      config.reserved_pdc_limit = 1;
      config.rudi_window = 4;
      config.max_rto_retries = 2;
      config.max_nack_retries = 2;
      config.message_retries = 2;
      config.idle_timeout = milliseconds(3);
      config.rto_cap = milliseconds(4);
      config.virtual_addresses = (more & 2U) == 0;
      config.tail_loss_time = (more & 4U) != 0 ? microseconds(500) : kTimeZero;
      config.max_ack_data_bytes = (more & 8U) != 0 ? 0 : 16;
      config.ack_per_packet = (more & 16U) != 0;
      config.eager_bytes = (more & 32U) != 0 ? 100 : 0;
      config.sack_base = (more & 64U) != 0 ? SackBase::kTrigger : SackBase::kTrack;
      config.nack_out_of_window = (more & 128U) == 0;
      if ((options & 128U) != 0) config.start_psn = 0xffff'fffd;
      sides_[host].engine =
          std::make_unique<UetEngine>(std::move(*UetEngine::create(config, pool_, arenas_[host])));
      UetEngine& engine = *sides_[host].engine;
      sides_[host].queue = *engine.create_queue(now_, kDepths);
      grant(host);
    }
    for (std::uint32_t host = 0; host < 2; ++host) connect(host);
  }

 private:
  friend EngineMachine;

  static constexpr engine::QueueConfig kDepths{.send_depth = 16, .receive_depth = 4};

  /// Until nothing is left to happen or the wanted request of `waiting` has ended.
  bool settle(const Side* waiting) {
    return EngineMachine::settle(600, [waiting] { return waiting != nullptr && waiting->served; });
  }

  /// Whatever has happened: once it has settled, a new queue and a new region must work.
  void finish() {
    for (Side& side : sides_) side.classes = wire::kAllTrafficClasses;
    // A forged acknowledgement may have ended what a peer still waits for: that peer then asks for ever.
    WHARF_CHECK(settle(nullptr) || forged_);
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto made = sides_[host].engine->create_queue(now_, kDepths);
      WHARF_CHECK(made.ok());
      sides_[host].queue = *made;
      sides_[host].queue_live = true;
      grant(host);
    }
    for (std::uint32_t host = 0; host < 2; ++host) connect(host);
    for (std::uint32_t host = 0; host < 2; ++host) {
      Side& side = sides_[host];
      verbs::WorkRequest request;
      request.verb = verbs::Verb::kRead;
      request.id = side.wanted = side.outstanding.size();
      request.peer = side.peer;
      request.length = 600;
      request.local_count = 1;
      request.local[0] = {kLocal, 600};
      request.remote = {side.engine->config().virtual_addresses ? kBase : 0, sides_[1 - host].token};
      side.outstanding.push_back(1);
      WHARF_CHECK(side.engine->post(now_, side.queue, request, engine::Submission::kInHand) ==
                  engine::PostStatus::kOk);
      WHARF_CHECK(settle(&side) && side.served);
    }
  }

  void grant(std::uint32_t host) {
    Side& side = sides_[host];
    side.token = *side.engine->register_segment(now_, {.base = kBase, .length = kSize});
    side.idempotent =
        *side.engine->register_region(now_, {.base = kBase, .length = kSize}, 1, std::nullopt, true);
    side.granted = true;
  }
  void connect(std::uint32_t host) {
    Side& side = sides_[host];
    const auto blob = sides_[1 - host].engine->export_queue(sides_[1 - host].queue);
    if (!blob || !side.queue_live) return;
    const auto peer = side.engine->connect(now_, side.queue, *blob);
    if (peer) side.peer = *peer;
  }

  void control(std::uint32_t host) {
    Side& side = sides_[host];
    const std::uint8_t what = input_.byte();
    switch (what & 7U) {
      case 0:
        if (side.granted && side.engine->deregister_segment(now_, side.token) &&
            side.engine->deregister_segment(now_, side.idempotent)) {
          side.granted = false;
        }
        break;
      case 1:
        if (!side.granted && ++side.changes < kChangesMax) grant(host);
        break;
      case 2:
        if (side.engine->destroy_queue(now_, side.queue)) side.queue_live = false;
        break;
      case 3:
        if (++side.changes < kChangesMax && side.engine->destroy_queue(now_, side.queue)) {
          side.queue = *side.engine->create_queue(now_, kDepths);
          side.queue_live = true;
        }
        break;
      case 4:
        static_cast<void>(side.engine->disconnect(now_, side.queue, side.peer));
        break;
      case 5:
        static_cast<void>(side.engine->set_enabled(now_, side.queue, (what & 8U) != 0));
        break;
      default:
        if (++side.changes < 2 * kChangesMax) connect(host);
        break;
    }
  }

  void post(std::uint32_t host) {
    Side& side = sides_[host];
    verbs::WorkRequest request;
    request.verb = static_cast<verbs::Verb>(input_.byte() % verbs::kVerbCount);
    request.id = side.outstanding.size();
    request.peer = side.peer;
    const std::uint8_t flags = input_.byte();
    request.fence = (flags & 1U) != 0;
    request.remote_complete = (flags & 2U) != 0;
    request.signaled = (flags & 4U) != 0;
    request.width = (flags & 8U) != 0 ? 8 : 4;
    request.delivery = static_cast<verbs::Delivery>(input_.byte() % 5);
    request.tagged = verbs::is_send(request.verb) && (flags & 128U) != 0;
    request.tag = input_.byte() & 3U;
    request.length = input_.word() % 3000;
    request.local_count = 2;
    request.local[0] = {kLocal, request.length / 2};
    request.local[1] = {kLocal + 0x4000, request.length - request.length / 2};
    const std::uint64_t base = side.engine->config().virtual_addresses ? kBase : 0;
    request.remote = {base + input_.word(), sides_[1 - host].token};
    if (request.delivery == verbs::Delivery::kIdempotent) request.remote.token = sides_[1 - host].idempotent;
    if ((flags & 16U) != 0) request.remote.token.id ^= 8;
    if (verbs::is_atomic(request.verb) && (flags & 128U) != 0) {
      request.atomic_function = static_cast<verbs::AtomicFunction>(input_.byte() % 0x16);
      request.atomic_type = static_cast<verbs::AtomicType>(input_.byte() % 0x13);
      request.length = request.length % 4 * 32 + 32;
      request.local_count = 1;
      request.local[0] = {kLocal, request.length};
    }
    if ((flags & 32U) != 0 && verbs::carries_payload(request.verb) && request.length > 0) {
      const wire::BufferId buffer = pool_.acquire(request.length);
      std::memset(pool_.data(buffer), 1, request.length);
      request.inline_data = wire::bytes_payload(pool_.data(buffer), request.length, buffer);
    }
    const auto how = (flags & 64U) != 0 ? engine::Submission::kDoorbell : engine::Submission::kInHand;
    // A completion may come from within post(): the id counts before it.
    side.outstanding.push_back(1);
    if (side.engine->post(now_, side.queue, request, how) != engine::PostStatus::kOk)
      side.outstanding.pop_back();
    pool_.release(request.inline_data.buffer);
  }

  void post_other(std::uint32_t host) { post(host); }

  void receive_entry(std::uint32_t host) {
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {kLocal, input_.word() % 3000};
    const std::uint8_t flags = input_.byte();
    receive.tagged = (flags & 1U) != 0;
    receive.tag = flags >> 1U & 3U;
    receive.ignore = flags >> 3U & 3U;
    static_cast<void>(sides_[host].engine->post_receive(now_, sides_[host].queue, receive));
  }

  void completed(Side& side, const verbs::Completion& completion) {
    if (completion.kind == verbs::CompletionKind::kReceive) return;
    WHARF_CHECK(completion.id < side.outstanding.size() && side.outstanding[completion.id] == 1);
    side.outstanding[completion.id] = 0;
    if (completion.id == side.wanted) side.served = completion.ok();
  }

  /// Accesses for others stay inside the region, and inside buffers that a receive gave or a send offers.
  static void check(const Side& side, const engine::Access& access) {
    if (!touches_data(access) || !access.at_target) return;
    WHARF_CHECK(inside(access, kLocal, kSize) || (inside(access, kBase, kSize) && side.granted));
  }

  /// UET keeps its records on the interface.
  static void keep_context(std::uint32_t, const engine::Access&, engine::AccessResult&) {
    WHARF_CHECK(false);
  }

  void repeat() {
    if (wire_.size() >= kWireMax) return;
    wire_.push_back(wire_[input_.byte() % wire_.size()]);
    pool_.retain(wire_.back().payload.buffer);
  }

  /// Delivers a changed copy of a packet under way.
  void forge(wire::Packet packet) {
    wire::UetPacket& uet = packet.uet;
    const bool request = wire::is_uet_pdc_request(uet.prologue.type);
    const bool ack = wire::is_uet_ack(uet.prologue.type);
    const bool nack = wire::is_uet_nack(uet.prologue.type);
    const bool control = uet.prologue.type == wire::UetPdsType::kControl;
    const bool asks = wire::is_uet_request_form(uet.prologue.next);
    const bool responds = wire::is_uet_response_form(uet.prologue.next);
    for (int changes = 1 + input_.byte() % 3; changes > 0; --changes) {
      const std::uint32_t value = input_.word();
      const std::uint32_t near = value - 0x8000U;
      switch (input_.byte() % 18) {
        case 0:
          if (request) uet.request.psn += value % 9 - 4;
          if (ack) uet.ack.cumulative_psn += value % 9 - 4;
          if (nack) uet.nack.psn += value % 9 - 4;
          if (control) uet.control.psn += value % 9 - 4;
          break;
        case 1:
          if (request) uet.request.psn += near;
          if (ack) uet.ack.cumulative_psn += near;
          if (control) uet.control.payload += near;
          break;
        case 2:
          uet.prologue.flags ^= static_cast<std::uint8_t>(value & 0x7fU);
          break;
        case 3:
          if (request) uet.request.destination_pdcid ^= static_cast<std::uint16_t>(value & 3U);
          if (ack) uet.ack.destination_pdcid ^= static_cast<std::uint16_t>(value & 3U);
          if (nack) uet.nack.destination_pdcid ^= static_cast<std::uint16_t>(value & 3U);
          break;
        case 4:
          if (request) uet.request.source_pdcid ^= static_cast<std::uint16_t>(value & 3U);
          if (ack) uet.ack.source_pdcid ^= static_cast<std::uint16_t>(value & 3U);
          break;
        case 5:
          if (request) uet.request.clear_psn_offset = static_cast<std::int16_t>(near);
          if (ack) uet.ack.ack_psn_offset = static_cast<std::int16_t>(near % 8);
          break;
        case 6:
          packet.source.number = value % 4;
          break;
        case 7:
          packet.payload = wire::pattern_payload(value, 0, value % 300);
          break;
        case 8:
          if (asks && wire::uet_extension(uet.ses.opcode) == wire::UetExtension::kNone) {
            const auto opcode = static_cast<wire::UetOpcode>(value & 0x3fU);
            if (wire::uet_extension(opcode) == wire::UetExtension::kNone) uet.ses.opcode = opcode;
          }
          if (responds) uet.response.opcode = static_cast<wire::UetResponseOpcode>(value & 3U);
          break;
        case 9:
          if (asks) uet.ses.message_id ^= static_cast<std::uint16_t>(value & 7U);
          if (responds) uet.response.read_request_message_id ^= static_cast<std::uint16_t>(value & 7U);
          break;
        case 10:
          if (asks) uet.ses.buffer_offset += near;
          break;
        case 11:
          if (asks) uet.ses.request_length = value;
          break;
        case 12:
          if (asks) uet.ses.flags ^= static_cast<std::uint8_t>(value & 0x3fU);
          break;
        case 13:
          if (asks) uet.ses.message_offset = value;
          if (responds) uet.response.message_offset = value;
          break;
        case 14:
          if (responds) uet.response.return_code = static_cast<wire::UetReturnCode>(value & 0x3fU);
          break;
        case 15:
          if (nack) uet.nack.code = static_cast<wire::UetNackCode>(value % 0x1c);
          if (nack) uet.nack.payload += near;
          if (control) uet.prologue.control = static_cast<wire::UetControlType>(value % 11);
          break;
        case 16:
          packet.trim = static_cast<wire::TrimState>(value % 3);
          break;
        case 17:
          if (uet.prologue.type == wire::UetPdsType::kAckCc) {
            uet.ack_congestion.sack_bitmap ^= std::uint64_t{value} << (value % 48);
            uet.ack_congestion.mpr = static_cast<std::uint8_t>(value);
          }
          break;
      }
    }
    arrive(packet);
  }
};

}  // namespace
}  // namespace wharf::uet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wharf::InputBytes input(data, size);
  const auto machine = std::make_unique<wharf::uet::Machine>(input);
  machine->run();
  return 0;
}
