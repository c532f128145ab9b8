// SPDX-License-Identifier: Apache-2.0
// A worker with targets, initiators and memory around it, for tests: every access waits until the test
// answers it, in any order, and memory that is not direct shows writes late and in any order unless they are
// ordered.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/rdmo/worker.h"

namespace wharf::rdmo {

/// The memory of one target, from `base` on. What was written and not ordered is in `late`.
struct TestTarget {
  std::uint64_t base = 0;
  std::vector<std::byte> bytes;
  bool lost = false;
  bool silent = false;  ///< Answers nothing any more.
  struct Late {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Late> late;

  std::byte* at(std::uint64_t address) { return bytes.data() + (address - base); }
  std::uint64_t word(std::uint64_t address) { return load_le64(at(address)); }
  void set_word(std::uint64_t address, std::uint64_t value) { store_le64(at(address), value); }
  std::string text(std::uint64_t address, std::size_t length) {
    return {reinterpret_cast<const char*>(at(address)), length};
  }
  void show(std::size_t index) {
    std::memcpy(at(late[index].address), late[index].bytes.data(), late[index].bytes.size());
    late.erase(late.begin() + static_cast<std::ptrdiff_t>(index));
  }
  /// Writes to one place are shown in their order, as memory keeps them; others in any.
  void show_any(std::size_t index) {
    for (std::size_t i = 0; i < index;) {
      const bool apart = late[i].address + late[i].bytes.size() <= late[index].address ||
                         late[index].address + late[index].bytes.size() <= late[i].address;
      if (apart) {
        ++i;
      } else {
        show(i);
        --index;
      }
    }
    show(index);
  }
  void show_all() {
    while (!late.empty()) show(0);
  }
};

struct TestMemory {
  std::uint32_t target = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  bool forgotten = false;
};

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// What an initiator heard.
struct Heard {
  PeerId peer = kNoPeer;
  bool extended = false;
  std::uint64_t flush_id = 0;  ///< Published.
  wire::RdmoAnswer answer;     ///< Extended.
};

class WorkerWorld {
 public:
  explicit WorkerWorld(WorkerConfig config = small_config()) : worker(*Worker::create(std::move(config))) {}

  static WorkerConfig small_config() {
    WorkerConfig config;
    config.address = bytes_of("the worker");
    config.requests_max = 256;
    config.window = 64;
    config.cells_max = 16;
    config.writes_max = 64;
    config.coalesce_bytes = 256;
    config.clients_max = 4;
    config.connections_max = 16;
    config.connections_per_client_max = 8;
    config.regions_max = 32;
    config.regions_per_client_max = 8;
    return config;
  }

  // --- The control path ---

  /// Runs a command to its notification; actions are answered at once, accesses too.
  wire::RdmoNotification command(const wire::RdmoCommand& command, DestinationId destination = 0) {
    std::vector<std::byte> bytes;
    wire::encode(command, bytes);
    return raw_command(bytes, destination);
  }
  wire::RdmoNotification raw_command(const std::vector<std::byte>& bytes, DestinationId destination = 0) {
    worker.command(now, destination, bytes);
    run();
    EXPECT_EQ(notices.size(), 1U) << "every command is answered once";
    wire::RdmoNotification notification;
    if (notices.empty()) return notification;
    EXPECT_EQ(notices.front().destination, destination);
    last_notice = notices.front().bytes;
    EXPECT_EQ(wire::decode(last_notice, notification), wire::RdmoControlError::kNone);
    notices.pop_front();
    return notification;
  }

  /// A target with so many bytes of memory, filled with '.'; its id is 100 + its number, its channel its
  /// number.
  std::uint32_t add_target(std::uint64_t bytes = 4096) {
    const auto number = static_cast<std::uint32_t>(targets.size());
    TestTarget& target = targets.emplace_back();
    target.base = 0x10000 + 0x10000 * std::uint64_t{number};
    target.bytes.assign(bytes, std::byte{'.'});
    wire::RdmoCommand init;
    init.type = wire::RdmoCommandType::kClientInit;
    init.context = 7;
    init.id = 100 + number;
    const std::vector<std::byte> address = bytes_of("target" + std::to_string(number));
    init.peer = address;
    const wire::RdmoNotification answer = command(init, number);
    EXPECT_EQ(answer.status, wire::DocaError::kSuccess);
    EXPECT_EQ(answer.address.size(), worker.config().address.size());
    return number;
  }
  /// Registers [address, address + length) and gives the key.
  std::uint64_t add_memory(std::uint32_t target, std::uint64_t address, std::uint64_t length) {
    wire::RdmoCommand reg;
    reg.type = wire::RdmoCommandType::kMrRegister;
    reg.address = address;
    reg.length = length;
    const std::vector<std::byte> rkey = bytes_of("key");
    reg.rkey = rkey;
    const wire::RdmoNotification answer = command(reg, target);
    EXPECT_EQ(answer.status, wire::DocaError::kSuccess);
    return answer.value;
  }
  std::uint64_t add_memory(std::uint32_t target) {
    return add_memory(target, targets[target].base, targets[target].bytes.size());
  }
  /// Connects the initiator `name` to a target; gives its peer number.
  PeerId connect(std::uint32_t target, const std::string& name) {
    wire::RdmoCommand create;
    create.type = wire::RdmoCommandType::kRqCreate;
    const std::vector<std::byte> address = bytes_of(name);
    create.peer = address;
    EXPECT_EQ(command(create, target).status, wire::DocaError::kSuccess);
    return peers.at(name);
  }

  // --- The data path ---

  Taken send(PeerId peer, std::uint32_t id, const std::vector<std::byte>& header, std::string_view text,
             bool rendezvous = false) {
    const std::uint64_t handle = next_handle++;
    payloads[handle] = bytes_of(text);
    Payload payload;
    payload.length = static_cast<std::uint32_t>(text.size());
    payload.handle = handle;
    if (!rendezvous) payload.data = payloads[handle].data();
    const Taken taken = worker.receive(now, peer, id, header, payload);
    if (taken != Taken::kHeld) payloads.erase(handle);
    drain_outputs();
    return taken;
  }
  Taken append(PeerId peer, std::uint32_t target, std::uint64_t cell, std::uint64_t key,
               std::string_view text, bool fence = false, bool rendezvous = false) {
    return send_published(peer,
                          {.client = 100 + target,
                           .operation = wire::RdmoOperation::kAppend,
                           .fence = fence,
                           .cell = cell,
                           .cell_key = key,
                           .data_key = key},
                          text, rendezvous);
  }
  Taken flush(PeerId peer, std::uint32_t target, std::uint64_t id, bool fence = true) {
    return send_published(
        peer,
        {.client = 100 + target, .operation = wire::RdmoOperation::kFlush, .fence = fence, .flush_id = id},
        {});
  }
  Taken send_published(PeerId peer, const wire::RdmoRequest& request, std::string_view text,
                       bool rendezvous = false) {
    std::vector<std::byte> header(wire::kRdmoHeaderBytesMax);
    header.resize(wire::encode(request, worker.config().layout, header.data()));
    return send(peer, wire::kRdmoMessageId, header, text, rendezvous);
  }
  /// An extended request; the sequence is filled in.
  Taken ask(PeerId peer, wire::RdmoExtendedRequest request, std::string_view text = {},
            bool rendezvous = false) {
    request.sequence = sequences[{peer, request.client}]++;
    std::vector<std::byte> header(wire::kRdmoHeaderBytesMax);
    header.resize(wire::encode(request, header.data()));
    const Taken taken = send(peer, wire::kRdmoExtendedMessageId, header, text, rendezvous);
    if (twice) send(peer, wire::kRdmoExtendedMessageId, header, text, rendezvous);
    return taken;
  }
  static wire::RdmoExtendedRequest extended_append(std::uint32_t target, std::uint64_t cell,
                                                   std::uint64_t key) {
    wire::RdmoExtendedRequest request;
    request.operation = Operation::kAppend;
    request.client = 100 + target;
    request.cell = cell;
    request.cell_key = request.data_key = key;
    request.records = 1;
    return request;
  }
  static wire::RdmoExtendedRequest extended_flush(std::uint32_t target, std::uint64_t cookie = 0) {
    wire::RdmoExtendedRequest request;
    request.operation = Operation::kFlush;
    request.client = 100 + target;
    request.cookie = cookie;
    request.flags = wire::RdmoFlag::kFence;
    return request;
  }

  // --- Memory ---

  void drain_outputs() {
    Access access;
    while (worker.next_access(access)) pending.push_back(access);
    Message message;
    while (worker.next_message(message)) hear(message);
    std::uint64_t handle = 0;
    while (worker.next_release(handle)) {
      EXPECT_EQ(payloads.erase(handle), 1U) << "a payload is released once";
    }
    Action action;
    while (worker.next_action(action)) actions.push_back(action);
    Notice notice;
    while (worker.next_notice(notice)) notices.push_back(notice);
  }

  /// Answers the `index`-th access that waits.
  void answer(std::size_t index) {
    const Access access = pending[index];
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(index));
    const AccessResult result = perform(access);
    worker.access_done(now, access.id, result);
    drain_outputs();
  }
  void answer(std::size_t index, AccessStatus status) {
    const Access access = pending[index];
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(index));
    AccessResult result;
    result.status = status;
    worker.access_done(now, access.id, result);
    drain_outputs();
  }
  void act() {
    const Action action = actions.front();
    actions.pop_front();
    worker.action_done(now, action.id, do_action(action));
    drain_outputs();
  }
  /// Answers everything, in order, until nothing waits.
  void run() {
    drain_outputs();
    for (;;) {
      const auto ready = std::find_if(pending.begin(), pending.end(),
                                      [&](const Access& access) { return !is_silent(access); });
      if (!actions.empty()) {
        act();
      } else if (ready != pending.end()) {
        answer(static_cast<std::size_t>(ready - pending.begin()));
      } else {
        return;
      }
    }
  }
  bool is_silent(const Access& access) const {
    return access.kind == AccessKind::kFetch ? false
                                             : targets[access.target].silent && !targets[access.target].lost;
  }
  std::size_t waiting(AccessKind kind) const {
    return static_cast<std::size_t>(std::count_if(pending.begin(), pending.end(),
                                                  [&](const Access& access) { return access.kind == kind; }));
  }
  std::size_t index_of(AccessKind kind) const {
    const auto found = std::find_if(pending.begin(), pending.end(),
                                    [&](const Access& access) { return access.kind == kind; });
    EXPECT_NE(found, pending.end());
    return static_cast<std::size_t>(found - pending.begin());
  }
  std::vector<Heard> heard_by(PeerId peer) const {
    std::vector<Heard> found;
    std::copy_if(heard.begin(), heard.end(), std::back_inserter(found),
                 [&](const Heard& each) { return each.peer == peer; });
    return found;
  }
  /// The status of the last extended answer.
  RdmoStatus last_status() const {
    return heard.empty() ? RdmoStatus::kTimedOut : heard.back().answer.status;
  }
  std::uint64_t last_place() const { return heard.empty() ? 0 : heard.back().answer.place; }

  Worker worker;
  TimePs now = kTimeZero;
  bool twice = false;  ///< Every extended message arrives twice.
  bool direct = true;  ///< Of memory that is registered from now on.
  std::vector<TestTarget> targets;
  std::vector<TestMemory> memories;
  std::map<std::string, PeerId> peers;
  std::vector<PeerId> closed_peers;
  std::map<std::uint64_t, std::vector<std::byte>> payloads;
  std::vector<std::uint64_t> lost_payloads;  ///< Their sender is gone.
  std::deque<Access> pending;
  std::deque<Action> actions;
  std::deque<Notice> notices;
  std::vector<Heard> heard;
  std::vector<std::byte> last_notice;
  std::uint64_t next_handle = 1;
  std::uint64_t next_key = 0x1234'5678'9abc'def0;
  wire::DocaError next_action_status = wire::DocaError::kSuccess;
  std::map<std::pair<PeerId, std::uint64_t>, std::uint32_t> sequences;

 private:
  void hear(const Message& message) {
    Heard each;
    each.peer = message.peer;
    const std::span<const std::byte> bytes(message.header.data(), message.length);
    each.extended = message.message_id == wire::kRdmoExtendedMessageId;
    if (each.extended) {
      EXPECT_EQ(wire::decode(bytes, each.answer), wire::RdmoError::kNone);
    } else {
      EXPECT_EQ(wire::decode_rdmo_response(bytes, worker.config().layout, each.flush_id),
                wire::RdmoError::kNone);
    }
    heard.push_back(each);
  }

  void write(const Access& access, const std::byte* data) {
    TestTarget& target = targets[access.target];
    const TestMemory& memory = memories[access.memory];
    ASSERT_FALSE(memory.forgotten) << "memory is used after it was forgotten";
    ASSERT_GE(access.address, memory.address);
    ASSERT_LE(access.address + access.length, memory.address + memory.length);
    if (direct) {
      std::memcpy(target.at(access.address), data, access.length);
    } else {
      target.late.push_back({access.address, {data, data + access.length}});
    }
  }

  AccessResult perform(const Access& access) {
    AccessResult result;
    const bool from_sender =
        access.kind == AccessKind::kFetch || (access.kind == AccessKind::kWrite && access.data == nullptr);
    if (from_sender && std::count(lost_payloads.begin(), lost_payloads.end(), access.payload) > 0) {
      result.status = AccessStatus::kSenderLost;
      return result;
    }
    if (access.kind == AccessKind::kFetch) {
      result.data = payloads.at(access.payload).data();
      return result;
    }
    TestTarget& target = targets[access.target];
    if (target.lost) {
      result.status = AccessStatus::kTargetLost;
      return result;
    }
    switch (access.kind) {
      case AccessKind::kRead: {
        // A read sees what was written to its place before it.
        for (std::size_t i = 0; i < target.late.size();) {
          const bool hit = target.late[i].address < access.address + access.length &&
                           access.address < target.late[i].address + target.late[i].bytes.size();
          if (hit) {
            target.show(i);
          } else {
            ++i;
          }
        }
        std::memcpy(result.words.data(), target.at(access.address), access.length);
        break;
      }
      case AccessKind::kWrite:
        write(access, access.data != nullptr ? access.data : payloads.at(access.payload).data());
        break;
      case AccessKind::kFill: {
        const std::vector<std::byte> zeros(access.length);
        write(access, zeros.data());
        break;
      }
      case AccessKind::kWriteCell: {
        std::array<std::byte, 8> bytes{};
        store_le64(bytes.data(), access.value);
        write(access, bytes.data());
        break;
      }
      case AccessKind::kCompareSwap:
        result.words[0] = target.word(access.address);
        if (result.words[0] == access.compare) target.set_word(access.address, access.value);
        break;
      case AccessKind::kOrder:
        target.show_all();
        break;
      case AccessKind::kFetch:
        break;
    }
    return result;
  }

  ActionResult do_action(const Action& action) {
    ActionResult result;
    result.status = next_action_status;
    next_action_status = wire::DocaError::kSuccess;
    if (result.status != wire::DocaError::kSuccess) return result;
    switch (action.kind) {
      case ActionKind::kOpenTarget:
        result.handle = std::stoul(
            std::string(reinterpret_cast<const char*>(action.bytes.data()) + 6, action.bytes.size() - 6));
        break;
      case ActionKind::kOpenPeer: {
        const std::string name(reinterpret_cast<const char*>(action.bytes.data()), action.bytes.size());
        if (!peers.contains(name)) peers[name] = next_peer_++;
        result.peer = peers[name];
        break;
      }
      case ActionKind::kImport:
        result.handle = memories.size();
        result.direct = direct;
        result.random = next_key;
        next_key = next_key * 6364136223846793005ULL + 1442695040888963407ULL;
        memories.push_back({static_cast<std::uint32_t>(action.target), action.address, action.length, false});
        break;
      case ActionKind::kForget:
        memories[action.memory].forgotten = true;
        break;
      case ActionKind::kClosePeer:
        closed_peers.push_back(action.peer);
        for (auto at = peers.begin(); at != peers.end();)
          at = at->second == action.peer ? peers.erase(at) : ++at;
        break;
      case ActionKind::kCloseTarget:
        targets[action.target].lost = true;
        break;
      case ActionKind::kCancelOpening:
        break;
    }
    return result;
  }

  PeerId next_peer_ = 0;
};

}  // namespace wharf::rdmo
