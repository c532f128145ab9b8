// SPDX-License-Identifier: Apache-2.0
// Two connected engines of one kind, driven by an input: memory answers in any order or fails, packets are
// lost, repeated, reordered and forged, time jumps, and control calls come in between. The fuzzer of a
// protocol adds its posts, its forgeries and what an access may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/check.h"
#include "engine/driver/engine_driver.h"
#include "fuzz/engine_host.h"
#include "fuzz/input_bytes.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf {

/// `Side` is a FuzzedHost with more. `Machine`, which derives from this, has:
/// - post(host), post_other(host), receive_entry(host), control(host), forge(packet): steps of the input;
/// - repeat(at): the same packet once more;
/// - check(side, access): what an access may touch at the time it is asked for;
/// - completed(side, completion);
/// - keep_context(host, access, result): performs an access to a context record;
/// - finish(): what must still work in the end.
template <typename Machine, typename Side>
class EngineMachine {
 public:
  explicit EngineMachine(InputBytes& input) : input_(input) {}

  void run() {
    for (int steps = 0; !input_.empty() && steps < 400; ++steps) step();
    if (!unfinished_) self().finish();
    for (const wire::Packet& packet : wire_) pool_.release(packet.payload.buffer);
    wire_.clear();
    std::vector<std::string> text;
    for (Side& side : sides_) {
      side.engine->describe_waiting(text);
      side.engine.reset();
    }
    WHARF_CHECK(pool_.in_use() == 0);
  }

 protected:
  /// Packets under way at most; more are lost.
  static constexpr std::size_t kWireMax = 64;

  /// Everything is answered and carried for a while, and time passes, until nothing is left to happen or
  /// `served()`; false when it comes to neither in so many rounds.
  template <typename Served>
  bool settle(int rounds, Served served) {
    for (int round = 0; round < rounds; ++round) {
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
      if (served()) return true;
      if (any) continue;
      const TimePs next = min(sides_[0].engine->deadline(), sides_[1].engine->deadline());
      if (next == kNever) return true;
      now_ = max(now_, next);
      for (Side& side : sides_) side.engine->expire(now_);
    }
    return false;
  }

  /// Takes out what the engine of `host` has to give; true when there was an access or a packet.
  bool drain(std::uint32_t host) {
    Inside inside{*this, sides_[host]};
    engine::EngineDriver(*sides_[host].engine, inside, inside, inside).settle(now_);
    return inside.moved;
  }

  /// Answers access `at` of `host`, context records always with success.
  void answer(std::uint32_t host, std::size_t at, engine::AccessStatus status) {
    const engine::Access access = sides_[host].take(at);
    engine::AccessResult result;
    if (touches_context(access)) {
      self().keep_context(host, access, result);
    } else {
      result.status = status;
      if (access.kind == engine::AccessKind::kRead && status == engine::AccessStatus::kDone)
        result.data = filled_payload(pool_, access.length, std::byte{2});
    }
    sides_[host].engine->access_done(now_, access.id, result);
    pool_.release(result.data.buffer);
    drain(host);
  }

  void arrive(const wire::Packet& packet) {
    const std::uint32_t target = packet.destination.number & 1U;
    sides_[target].engine->receive(now_, 0, packet);
    drain(target);
  }
  wire::Packet take_packet(std::size_t at) {
    const wire::Packet packet = wire_[at];
    wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(at));
    return packet;
  }
  void deliver(std::size_t at) {
    const wire::Packet packet = take_packet(at);
    sides_[packet.destination.number & 1U].engine->receive(now_, 0, packet);
    pool_.release(packet.payload.buffer);
    drain(packet.destination.number & 1U);
  }

  InputBytes& input_;
  wire::PayloadPool pool_;
  Arena arenas_[2];
  Side sides_[2];
  std::deque<wire::Packet> wire_;
  TimePs now_;
  bool unfinished_ = false;  ///< It ends in the middle of everything.
  bool forged_ = false;

 private:
  Machine& self() { return static_cast<Machine&>(*this); }

  /// Memory, wire and user of a side, as the engine's driver sees them.
  struct Inside {
    EngineMachine& machine;
    Side& side;
    bool moved = false;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult&) {
      moved = true;
      machine.self().check(side, access);
      side.keep(access);
      return false;
    }
    wire::TrafficClassMask open(TimePs) const { return side.classes; }
    void send(TimePs, const wire::Packet& packet) {
      moved = true;
      if (machine.wire_.size() < kWireMax) {
        machine.wire_.push_back(packet);
      } else {
        machine.pool_.release(packet.payload.buffer);
      }
    }
    void completed(TimePs, const verbs::Completion& completion) {
      machine.self().completed(side, completion);
    }
    void answered(TimePs, const verbs::LoadStoreResult& result) { machine.pool_.release(result.data.buffer); }
    void event(TimePs, const engine::AsyncEvent&) {}
  };

  void step() {
    const std::uint32_t host = input_.byte() & 1U;
    switch (input_.byte() % 14) {
      case 0:
        self().post(host);
        break;
      case 1:
        self().receive_entry(host);
        break;
      case 2:
        self().post_other(host);
        break;
      case 3:
      case 4:
        drain(host);
        if (!sides_[host].accesses.empty()) answer_any(host);
        break;
      case 5:
        drain(host);
        if (!wire_.empty()) deliver(input_.byte() % wire_.size());
        break;
      case 6:
        if (wire_.empty()) break;
        forged_ = true;
        self().forge(wire_[input_.byte() % wire_.size()]);
        break;
      case 7:
        if (!wire_.empty()) pool_.release(take_packet(input_.byte() % wire_.size()).payload.buffer);
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
      case 10:
        drain(host);  // What is asked for before a grant ends is not judged by it.
        self().control(host);
        drain(host);
        break;
      case 11:
        // The same packet once more, now or late.
        drain(host);
        if (!wire_.empty()) self().repeat();
        break;
      case 12: {
        const std::uint8_t classes = input_.byte();
        sides_[host].classes =
            classes % 3 == 0 ? static_cast<wire::TrafficClassMask>(classes) : wire::kAllTrafficClasses;
        break;
      }
      case 13:
        // A while without trouble.
        for (std::uint32_t left = input_.byte() % 32; left > 0; --left) {
          drain(host);
          if (!sides_[host].accesses.empty()) answer(host, 0, engine::AccessStatus::kDone);
          if (!wire_.empty()) deliver(0);
        }
        break;
    }
  }

  void answer_any(std::uint32_t host) {
    const std::size_t at = input_.byte() % sides_[host].accesses.size();
    const std::uint8_t how = input_.byte();
    answer(host, at,
           how < 230   ? engine::AccessStatus::kDone
           : how < 245 ? engine::AccessStatus::kFault
                       : engine::AccessStatus::kPoison);
  }
};

}  // namespace wharf
