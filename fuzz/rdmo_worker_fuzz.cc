// SPDX-License-Identifier: Apache-2.0
// Hostile commands and messages into an RDMO worker whose memory answers in any order, with any status: it
// stays inside what targets granted, keeps no payload for ever, and comes to rest when all is answered.
// LINK: wharf_rdmo wharf_wire
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/rdmo/worker.h"
#include "fuzz/input_bytes.h"

namespace {

using namespace wharf;
using namespace wharf::rdmo;

constexpr std::uint64_t kBase = 0x1000;
constexpr std::uint64_t kBytes = 512;

/// The host of the worker: hands answers in as the input says.
class Host {
 public:
  explicit Host(InputBytes& input) : input_(input), worker_(*Worker::create(config())) {}

  void run() {
    // What a well-behaved target does first, so that inputs reach the data path.
    for (std::uint32_t target = 0; target < 2; ++target) {
      wire::RdmoCommand init;
      init.id = 7 + target;
      init.peer = kName;
      command(init, target);
      wire::RdmoCommand memory;
      memory.type = wire::RdmoCommandType::kMrRegister;
      memory.address = kBase;
      memory.length = kBytes;
      memory.rkey = kName;
      command(memory, target);
      wire::RdmoCommand queue;
      queue.type = wire::RdmoCommandType::kRqCreate;
      queue.peer = kName;
      command(queue, target);
    }
    while (!input_.empty()) step();
    settle();
    worker_.stop(now_);
    settle();
    WHARF_CHECK(worker_.held() == 0 && payloads_.empty());
    WHARF_CHECK(worker_.stopped() && worker_.cells() == 0 && worker_.regions() == 0);
    WHARF_CHECK(worker_.connections() == 0);
  }

 private:
  static WorkerConfig config() {
    WorkerConfig config;
    config.clients_max = 4;
    config.regions_max = 8;
    config.regions_per_client_max = 4;
    config.connections_max = 6;
    config.connections_per_client_max = 3;
    config.requests_max = 16;
    config.window = 8;
    config.cells_max = 3;
    config.writes_max = 4;
    config.coalesce_bytes = 32;
    config.message_bytes_max = 200;
    config.publish_delay = microseconds(3);
    return config;
  }

  void command(const wire::RdmoCommand& command, DestinationId destination) {
    std::vector<std::byte> bytes;
    wire::encode(command, bytes);
    worker_.command(now_, destination, bytes);
    settle();
  }

  std::uint64_t number() {
    // Few values, so that they meet: near the registered memory, keys that exist, and extremes.
    const std::uint32_t choice = input_.number();
    if (choice < 128) return kBase + choice * 8;
    if (choice < 192 && !keys_.empty()) return keys_[choice % keys_.size()];
    if (choice < 224) return choice - 192;
    return ~std::uint64_t{0} - (choice - 224);
  }

  void step() {
    now_ = now_ + nanoseconds(input_.number() * 16);
    if (worker_.deadline() <= now_) worker_.expire(now_);
    switch (input_.number() % 12) {
      case 0:
      case 1:
        return publish();
      case 2:
      case 3:
      case 4:
        return extend();
      case 5:
        return raw();
      case 6:
        return control();
      case 7:
      case 8:
      case 9:
        return answer();
      case 10:
        if (!actions_.empty()) return act(input_.number() % 4 == 0);
        return;
      default:
        return lose();
    }
  }

  void send(std::uint32_t id, std::span<const std::byte> header) {
    const std::uint64_t handle = next_handle_++;
    std::vector<std::byte>& data = payloads_[handle];
    data.resize(input_.number());
    for (std::size_t i = 0; i < data.size() && i < 40; ++i) data[i] = std::byte{input_.byte()};
    if (data.size() >= wire::kRdmoEntryBytes && input_.number() % 2 == 0) {
      encode(wire::RdmoEntry{number(), number(),
                             static_cast<std::uint16_t>(data.size() - wire::kRdmoEntryBytes)},
             data.data());
    }
    Payload payload{data.data(), static_cast<std::uint32_t>(data.size()), handle};
    if (input_.number() % 3 == 0) payload.data = nullptr;
    if (worker_.receive(now_, input_.number() % 4, id, header, payload) != Taken::kHeld)
      payloads_.erase(handle);
    drain();
  }
  void publish() {
    wire::RdmoRequest request;
    request.client = 7 + input_.number() % 3;
    request.operation = static_cast<wire::RdmoOperation>(input_.number() % 3);
    request.fence = input_.number() % 4 == 0;
    request.cell = number();
    request.cell_key = number();
    request.data_key = request.cell_key;
    request.count = input_.number() % 4;
    std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
    const std::uint32_t length = encode(request, wire::RdmoLayout::kShipped, header.data());
    send(wire::kRdmoMessageId, std::span(header).first(length));
  }
  void extend() {
    wire::RdmoExtendedRequest request;
    request.client = 7 + input_.number() % 3;
    request.operation = static_cast<wire::RdmoExtendedOperation>(input_.number() % 4);
    request.flags = static_cast<std::uint16_t>(input_.number() & wire::flags_of(request.operation));
    std::uint32_t& sequence = sequences_[request.client];
    request.sequence = input_.number() < 250 ? sequence++ : input_.number();
    if (request.operation == wire::RdmoExtendedOperation::kAppend) {
      request.cell = number();
      request.cell_key = number();
      request.data_key = input_.number() < 200 ? request.cell_key : number();
      request.expected = number();
    }
    if (request.operation == wire::RdmoExtendedOperation::kScatter) request.count = input_.number() % 4;
    std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
    const std::uint32_t length = encode(request, header.data());
    send(wire::kRdmoExtendedMessageId, std::span(header).first(length));
  }
  std::vector<std::byte> drawn(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) byte = std::byte{input_.byte()};
    return bytes;
  }
  void raw() {
    const std::vector<std::byte> header = drawn(input_.number() % 80);
    send(input_.number() % 3, header);
  }
  void control() {
    const std::uint32_t channel = input_.number() % 4;
    if (input_.number() < 30) {
      worker_.command(now_, channel, drawn(input_.number() % 120));
      return drain();
    }
    wire::RdmoCommand command;
    command.type = static_cast<wire::RdmoCommandType>(input_.number() % wire::kRdmoCommandTypes);
    command.id = input_.number() % 12;
    command.queue = input_.number() % 4;
    command.key = number();
    command.address = number();
    command.length = input_.number() * 4;
    if (command.type == wire::RdmoCommandType::kMrRegister) {
      command.address = kBase;
      command.length = kBytes;
      command.rkey = kName;
    } else if (command.type <= wire::RdmoCommandType::kRqCreate) {
      command.peer = kName;
    }
    std::vector<std::byte> bytes;
    wire::encode(command, bytes);
    worker_.command(now_, channel, bytes);
    drain();
  }
  void lose() {
    const std::uint32_t what = input_.number();
    if (what < 40) worker_.peer_lost(now_, what % 4);
    if (what >= 40 && what < 60) worker_.destination_lost(now_, what % 4);
    if (what >= 60 && what < 80) worker_.target_lost(now_, what % 4);
    drain();
  }

  void drain() {
    Access access;
    while (worker_.next_access(access)) {
      if (access.kind != AccessKind::kOrder && access.kind != AccessKind::kFetch) {
        WHARF_CHECK(access.address >= kBase && access.length <= kBytes);
        WHARF_CHECK(access.address - kBase <= kBytes - access.length);
        WHARF_CHECK(imported_.contains(access.memory));
      }
      if (access.kind == AccessKind::kWrite && access.data == nullptr)
        WHARF_CHECK(payloads_.contains(access.payload));
      accesses_.push_back(access);
    }
    Message message;
    while (worker_.next_message(message)) WHARF_CHECK(message.length <= message.header.size());
    std::uint64_t handle = 0;
    while (worker_.next_release(handle)) WHARF_CHECK(payloads_.erase(handle) == 1);
    Action action;
    while (worker_.next_action(action)) actions_.push_back(action);
    Notice notice;
    while (worker_.next_notice(notice)) {
      wire::RdmoNotification notification;
      WHARF_CHECK(wire::decode(notice.bytes, notification) == wire::RdmoControlError::kNone);
      const bool key = notification.type == wire::RdmoCommandType::kMrRegister &&
                       notification.status == wire::DocaError::kSuccess;
      if (key) keys_.push_back(notification.value);
    }
  }
  void answer() {
    if (accesses_.empty()) return;
    const std::size_t at = input_.number() % accesses_.size();
    const Access access = accesses_[at];
    accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(at));
    AccessResult result;
    const std::uint32_t fate = input_.number();
    if (fate >= 240) result.status = AccessStatus::kMemoryFailed;
    if (fate >= 250) result.status = AccessStatus::kTargetLost;
    finish(access, result);
  }
  void finish(const Access& access, AccessResult result) {
    if (access.kind == AccessKind::kFetch) result.data = payloads_.at(access.payload).data();
    if (access.kind == AccessKind::kRead || access.kind == AccessKind::kCompareSwap) {
      for (std::uint64_t& word : result.words) word = number();
    }
    worker_.access_done(now_, access.id, result);
    if (input_.number() == 1) worker_.access_done(now_, access.id, result);  // Twice.
    drain();
  }
  void act(bool fails) {
    const Action action = actions_.front();
    actions_.pop_front();
    ActionResult result;
    const bool may_fail = action.kind <= ActionKind::kImport;
    if (fails && may_fail) result.status = wire::DocaError::kInputOutputFailed;
    result.peer = input_.number() % 4;
    result.handle = next_memory_++;
    result.random = input_.number();
    result.direct = input_.number() % 2 == 0;
    if (action.kind == ActionKind::kImport && result.status == wire::DocaError::kSuccess)
      imported_[result.handle] = true;
    if (action.kind == ActionKind::kForget) WHARF_CHECK(imported_.erase(action.memory) == 1);
    worker_.action_done(now_, action.id, result);
    drain();
  }
  void settle() {
    drain();
    for (std::uint32_t turn = 0; turn < 100000; ++turn) {
      if (!actions_.empty()) {
        act(false);
      } else if (!accesses_.empty()) {
        const Access access = accesses_.front();
        accesses_.pop_front();
        finish(access, {});
      } else {
        return;
      }
    }
    WHARF_CHECK(false && "the worker asks for ever");
  }

  static inline const std::vector<std::byte> kName{std::byte{'n'}};
  InputBytes& input_;
  TimePs now_ = kTimeZero;
  Worker worker_;
  std::map<std::uint64_t, std::vector<std::byte>> payloads_;
  std::map<std::uint64_t, std::uint32_t> sequences_;
  std::map<HostHandle, bool> imported_;
  std::vector<std::uint64_t> keys_;
  std::deque<Access> accesses_;
  std::deque<Action> actions_;
  std::uint64_t next_handle_ = 1;
  HostHandle next_memory_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wharf::InputBytes input(data, size);
  Host(input).run();
  return 0;
}
