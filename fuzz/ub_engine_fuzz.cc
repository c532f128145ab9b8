// SPDX-License-Identifier: Apache-2.0
// Lists of operations, and damaged and forged packets, into two connected UB engines: nothing may crash,
// hang, touch memory outside the rights that were given, complete a request twice, or keep a payload buffer.
// LINK: wharf_ub
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/check.h"
#include "engine/ub/ub_engine.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::ub {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kSize = 0x10000;

/// The input, byte by byte; zeros when it ends.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint32_t word() { return byte() | (std::uint32_t{byte()} << 8U); }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct Side {
  std::unique_ptr<UbEngine> engine;
  engine::QueueId queue = 0;
  verbs::PeerId peer = 0;
  verbs::SegmentToken token;
  std::deque<engine::Access> accesses;
  std::vector<std::uint8_t> outstanding;  ///< By request id: 1 posted, 0 completed.
};

class Machine {
 public:
  explicit Machine(Input& input) : input_(input) {
    const std::uint8_t options = input_.byte();
    for (std::uint32_t host = 0; host < 2; ++host) {
      UbConfig config;
      config.host = {host};
      config.mtu = 256;
      config.segment_bytes = 1024;
      config.send_window = 8;
      config.receive_window = 64;
      config.recovery = (options & 1U) != 0 ? LossRecovery::kGoBackN : LossRecovery::kSelective;
      config.context_cache_entries = (options & 2U) != 0 ? 1 : 0;
      config.context_region = 0x4000'0000;
      config.context_records_max = 8;
      config.first_psn = (options & 4U) != 0 ? wire::kPsnMask - 3 : 0;
      config.inbound_messages = (options & 8U) != 0 ? 2 : 64;
      config.parked_packets = (options & 8U) != 0 ? 3 : 64;
      config.load_store_services = 4;
      config.rnr_retry = 2;
      config.page_fault_retry = 2;
      sides_[host].engine =
          std::make_unique<UbEngine>(std::move(*UbEngine::create(config, pool_, arenas_[host])));
      UbEngine& engine = *sides_[host].engine;
      sides_[host].queue = *engine.create_queue(now_, {.send_depth = 16, .receive_depth = 4});
      sides_[host].token = *engine.register_segment(
          now_, {.base = kBase, .length = kSize, .rights = verbs::kFullAccess, .token_value = 7});
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = *sides_[1 - host].engine->export_queue(sides_[1 - host].queue);
      sides_[host].peer = *sides_[host].engine->connect(now_, sides_[host].queue, blob);
    }
  }

  void run() {
    for (int steps = 0; !input_.empty() && steps < 400; ++steps) step();
    // Then everything is answered and carried for a while, and time passes.
    for (int round = 0; round < 200; ++round) {
      bool any = false;
      for (std::uint32_t host = 0; host < 2; ++host) {
        drain(host);
        while (!sides_[host].accesses.empty()) answer(host, 0, engine::AccessStatus::kDone);
        any |= drain(host);
      }
      while (!wire_.empty()) {
        deliver(0);
        any = true;
      }
      if (any) continue;
      const TimePs next = min(sides_[0].engine->deadline(), sides_[1].engine->deadline());
      if (next == kNever) break;
      now_ = max(now_, next);
      for (Side& side : sides_) side.engine->expire(now_);
    }
    for (const wire::Packet& packet : wire_) pool_.release(packet.payload.buffer);
    wire_.clear();
    std::vector<std::string> text;
    for (Side& side : sides_) {
      side.engine->describe_waiting(text);
      side.engine.reset();
    }
    WHARF_CHECK(pool_.in_use() == 0);
  }

 private:
  void step() {
    const std::uint32_t host = input_.byte() & 1U;
    switch (input_.byte() % 10) {
      case 0:
        post(host);
        break;
      case 1:
        receive_entry(host);
        break;
      case 2:
        issue(host);
        break;
      case 3:
      case 4:
        drain(host);
        if (!sides_[host].accesses.empty()) {
          const std::size_t at = input_.byte() % sides_[host].accesses.size();
          const std::uint8_t how = input_.byte();
          answer(host, at,
                 how < 230   ? engine::AccessStatus::kDone
                 : how < 245 ? engine::AccessStatus::kFault
                             : engine::AccessStatus::kPoison);
        }
        break;
      case 5:
        drain(host);
        if (!wire_.empty()) deliver(input_.byte() % wire_.size());
        break;
      case 6:
        if (!wire_.empty()) forge(input_.byte() % wire_.size());
        break;
      case 7:
        if (!wire_.empty()) {
          const std::size_t at = input_.byte() % wire_.size();
          pool_.release(wire_[at].payload.buffer);
          wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 8: {
        const TimePs next = sides_[host].engine->deadline();
        if (next != kNever) now_ = max(now_, next);
        for (Side& side : sides_) side.engine->expire(now_);
        break;
      }
      case 9:
        drain(host);
        break;
    }
  }

  void post(std::uint32_t host) {
    Side& side = sides_[host];
    verbs::WorkRequest request;
    request.verb = static_cast<verbs::Verb>(input_.byte() % verbs::kVerbCount);
    request.id = side.outstanding.size();
    request.peer = side.peer;
    request.order = static_cast<verbs::OrderTag>(input_.byte() % 3);
    const std::uint8_t flags = input_.byte();
    request.fence = (flags & 1U) != 0;
    request.completion_in_order = (flags & 2U) != 0;
    request.signaled = (flags & 4U) != 0;
    request.width = (flags & 8U) != 0 ? 8 : 4;
    request.length = input_.word() % 3000;
    request.local_count = 2;
    request.local[0] = {kBase, request.length / 2};
    request.local[1] = {kBase + 0x4000, request.length - request.length / 2};
    request.remote = {kBase + input_.word(), sides_[1 - host].token};
    if ((flags & 16U) != 0) request.remote.token.value = 8;
    request.notify = request.remote;
    request.invalidate = {input_.byte(), 7};
    if ((flags & 32U) != 0 && verbs::carries_payload(request.verb) && request.length > 0) {
      const wire::BufferId buffer = pool_.acquire(request.length);
      std::memset(pool_.data(buffer), 1, request.length);
      request.inline_data = wire::bytes_payload(pool_.data(buffer), request.length, buffer);
    }
    const auto how = (flags & 64U) != 0 ? engine::Submission::kDoorbell : engine::Submission::kInHand;
    if (side.engine->post(now_, side.queue, request, how) == engine::PostStatus::kOk) {
      side.outstanding.push_back(1);
    }
    pool_.release(request.inline_data.buffer);
  }

  void receive_entry(std::uint32_t host) {
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {kBase, input_.word() % 3000};
    static_cast<void>(sides_[host].engine->post_receive(now_, sides_[host].queue, receive));
  }

  void issue(std::uint32_t host) {
    verbs::LoadStore access;
    access.peer = sides_[host].peer;
    access.remote = {kBase + input_.word() / 64 * 64, sides_[1 - host].token};
    const std::uint8_t flags = input_.byte();
    access.length = 64U << (flags & 3U);
    if ((flags & 4U) != 0) {
      access.verb = verbs::Verb::kStore;
      access.data = wire::pattern_payload(1, 0, access.length);
      if (access.length == 64) access.byte_mask = (flags & 8U) != 0 ? 0xf0f1 : ~std::uint64_t{0};
    }
    static_cast<void>(sides_[host].engine->issue(now_, access));
  }

  /// Takes out what the engine of `host` has to give.
  bool drain(std::uint32_t host) {
    Side& side = sides_[host];
    bool any = false;
    engine::Access access;
    wire::Packet packet;
    for (bool more = true; more;) {
      more = false;
      while (side.engine->next_access(access)) {
        check(access);
        side.accesses.push_back(access);
        any = more = true;
      }
      while (side.engine->transmit(now_, 0, wire::kAllTrafficClasses, packet)) {
        any = more = true;
        if (wire_.size() < 64) {
          wire_.push_back(packet);
        } else {
          pool_.release(packet.payload.buffer);
        }
      }
    }
    engine::QueueId queue = 0;
    verbs::Completion completion;
    while (side.engine->next_completed_queue(queue)) {
      while (side.engine->poll(queue, completion)) {
        if (completion.kind == verbs::CompletionKind::kReceive) continue;
        WHARF_CHECK(completion.id < side.outstanding.size() && side.outstanding[completion.id] == 1);
        side.outstanding[completion.id] = 0;
      }
    }
    verbs::LoadStoreResult result;
    while (side.engine->poll_load_store(result)) pool_.release(result.data.buffer);
    engine::AsyncEvent event;
    while (side.engine->poll_event(event)) {
    }
    return any;
  }

  /// Accesses for others stay inside the segment.
  static void check(const engine::Access& access) {
    const bool data = access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kWrite ||
                      access.kind == engine::AccessKind::kAtomic;
    if (!data || !access.at_target) return;
    WHARF_CHECK(access.address >= kBase && access.length <= kSize &&
                access.address - kBase <= kSize - access.length);
    WHARF_CHECK(access.kind != engine::AccessKind::kWrite || access.data.length == access.length);
  }

  void answer(std::uint32_t host, std::size_t at, engine::AccessStatus status) {
    Side& side = sides_[host];
    const engine::Access access = side.accesses[at];
    side.accesses.erase(side.accesses.begin() + static_cast<std::ptrdiff_t>(at));
    engine::AccessResult result;
    const bool context =
        access.kind == engine::AccessKind::kFetchContext || access.kind == engine::AccessKind::kWriteContext;
    if (!context) result.status = status;
    if (access.kind == engine::AccessKind::kWriteContext) {
      auto& record = records_[host][(access.address - 0x4000'0000) / kContextStride];
      wire::fill(access.data, record);
    } else if (access.kind == engine::AccessKind::kFetchContext) {
      const auto& record = records_[host][(access.address - 0x4000'0000) / kContextStride];
      result.data = wire::bytes_payload(record.data(), access.length);
    } else if (access.kind == engine::AccessKind::kRead && result.status == engine::AccessStatus::kDone) {
      const wire::BufferId buffer = pool_.acquire(access.length);
      std::memset(pool_.data(buffer), 2, access.length);
      result.data = wire::bytes_payload(pool_.data(buffer), access.length, buffer);
    }
    side.engine->access_done(now_, access.id, result);
    pool_.release(result.data.buffer);
    // A second answer is ignored, unless the id serves another access already.
    drain(host);
  }

  void deliver(std::size_t at) {
    const wire::Packet packet = wire_[at];
    wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint32_t target = packet.destination.number & 1U;
    sides_[target].engine->receive(now_, 0, packet);
    pool_.release(packet.payload.buffer);
    drain(target);
  }

  /// Delivers a changed copy of a packet under way; what a decoder could give and what it never would.
  void forge(std::size_t at) {
    wire::Packet packet = wire_[at];
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
          ub.rtph.destination_tpn = value & 3U;
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
    const std::uint32_t target = packet.destination.number & 1U;
    sides_[target].engine->receive(now_, 0, packet);
    drain(target);
  }

  Input& input_;
  wire::PayloadPool pool_;
  Arena arenas_[2];
  Side sides_[2];
  std::deque<wire::Packet> wire_;
  std::array<std::array<std::byte, kContextStride>, 3 * 8> records_[2]{};
  TimePs now_;
};

}  // namespace
}  // namespace wharf::ub

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wharf::ub::Input input(data, size);
  const auto machine = std::make_unique<wharf::ub::Machine>(input);
  machine->run();
  return 0;
}
