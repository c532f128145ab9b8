// SPDX-License-Identifier: Apache-2.0
// The one loop that feeds an engine and drains it, for every caller: simulated hosts full and thin, live
// hosts, tests and fuzzers. Here stands what an engine may expect of its caller; engine_driver_test.cc tests
// it.
//
//   input(s) --> settle():  +-> accesses ----> memory answers at once, later, or with described data
//                           |   packets -----> wire, while it takes any
//                           |   completions -> user
//                           |   answers of loads and stores -> user
//                           |   events ------> user
//                           |   accesses that transmit() asked for
//                           |   answers of memory that need no time
//                           +-- again, while the last two or the user gave the engine an input
//                           deadline() -> user
//
// 1. `now` never decreases. Several inputs of one instant may come before one settle().
// 2. Outputs are taken in the order above. Each is taken until it is empty, packets while the wire takes any.
// 3. A memory that answers at once does so before the next access is taken.
// 4. settle() ends when a round gave the engine no input. Nothing is left then but packets that the wire
//    does not take; the wire has settle() called when it does.
// 5. deadline() is asked last, after every input. expire() is called when it has been reached, before the
//    other inputs that wait for the same settle() or after them.
// 6. The reference of a packet's or answer's payload goes to the wire or the user. A memory that lends a
//    buffer in its answer takes it back when the engine has been told.
// 7. An output may be answered by an input before the next one is taken: memory answers, and the user may
//    post, while they are told. No input is given from within an input.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/time.h"
#include "base/unfilled.h"
#include "engine/contract.h"

namespace wharf::engine {

/// Memory as an engine's host sees it. It may have more than begin():
/// - `Access& place()`: where the next access is put, the same until begin(). Without it the access lies in
///   the driver's own place and is gone after begin().
/// - `void reclaim(AccessResult&)`: the engine has been told; takes back what the result lent.
/// - `bool take_answer(now, AccessId&, AccessResult&)`: an answer that needs no time but is not given before
///   the outputs of the round are out; false: no more of them.
template <typename M>
concept DriverMemory = requires(M& memory, TimePs now, Access& access, AccessResult& result) {
  /// True: `access` is done, and `result`, which came empty, says how. False: its answer comes later.
  { memory.begin(now, access, result) } -> std::same_as<bool>;
};

/// A wire that is handed packets. It may have `wire::Packet& place()`: where the next packet is built, the
/// same until send(). Without it the packet lies in the driver's own place and is gone after send().
template <typename W>
concept DriverWire = requires(W& out, TimePs now, wire::Packet& packet) {
  /// The classes that may leave now, asked before every packet. 0: it is full; it then has settle() called
  /// when it has room.
  { out.open(now) } -> std::same_as<wire::TrafficClassMask>;
  /// Takes the packet, its payload's reference with it.
  out.send(now, packet);
};

/// A wire that fetches its packets itself, by EngineDriver::pull().
struct PullingWire {};

/// What the round of settle() took for the user.
struct Taken {
  bool completions = false;
  bool answers = false;
  bool any() const { return completions || answers; }
};

/// Who uses the engine. It may have more:
/// - `void answered(now, LoadStoreResult&)`: wanted where the engine has loads; the reference of its data is
///   the user's.
/// - `void event(now, const AsyncEvent&)`: without it somebody else polls events.
/// - `bool gave(now, Taken)`: the outputs of a round are out. True: the user has given the engine an input,
///   now or in completed() or answered().
/// - `void wake_at(now, TimePs)`: the engine's deadline after this input.
/// - `void sent(const wire::Packet&)`: pull() is about to hand out the packet.
template <typename U>
concept DriverUser = requires(U& user, TimePs now, const verbs::Completion& completion) {
  user.completed(now, completion);
};

/// Drives one engine. Holds references alone: cheap to make for one call. The parts may be one object.
///
/// An engine may hand out many outputs in one call, which does what a call for each of them does:
/// - `bool perform(now, host)`: all accesses. host.begin(access, result) and host.told(result) are the
///   memory's begin() and reclaim(); the access may lie in the engine. Not for a memory that has place().
/// - `bool transmit_all(now, out)`: packets of port 0 while out.open() allows a class. out.place() is where
/// the
///   next one is built, out.send(packet) takes it.
/// Both say whether there was anything.
template <Engine E, DriverMemory Memory, typename Wire, DriverUser User>
class EngineDriver {
 public:
  static constexpr bool kPulls = std::same_as<Wire, PullingWire>;
  static_assert(kPulls || DriverWire<Wire>);

  EngineDriver(E& engine, Memory& memory, Wire& wire, User& user)
      : engine_(engine), memory_(memory), wire_(wire), user_(user) {}

  // Inputs that come alone. Others are given to the engine and followed by settle().
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) {
    engine_.receive(now, port, packet);
    settle(now);
  }
  void answer(TimePs now, AccessId access, const AccessResult& result) {
    engine_.access_done(now, access, result);
    settle(now);
  }
  /// Early calls do no harm.
  void wake(TimePs now) {
    if (engine_.deadline() <= now) engine_.expire(now);
    settle(now);
  }

  /// Takes out everything that the engine has to give; true when there was anything.
  bool settle(TimePs now) {
    bool any = false;
    for (bool again = true; again;) {
      any |= perform(now);
      bool sent = false;
      if constexpr (!kPulls) sent = send(now);
      const Taken taken = deliver(now);
      any |= sent || taken.any();
      again = sent && perform(now);
      again |= answer_due(now);
      again |= let_user_act(now, taken);
    }
    note_deadline(now);
    return any;
  }

  /// The wire asks for a packet of a class in `allowed`; false: there is none.
  bool pull(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed,
            wire::Packet& packet) requires kPulls {
    for (;;) {
      const bool sent = engine_.transmit(now, port, allowed, packet);
      // What left may have made room for reading more payload, which in turn may be what is to leave next.
      const bool moved = perform(now);
      if (sent) {
        if constexpr (requires { user_.sent(packet); }) user_.sent(packet);
        if (let_user_act(now, deliver(now))) {
          settle(now);
        } else {
          note_deadline(now);
        }
        return true;
      }
      if (!moved) {
        note_deadline(now);
        return false;
      }
    }
  }

  /// The accesses alone: for callers with many inputs at a time, who would let the engine's queues grow.
  bool perform(TimePs now) {
    bool any = false;
    if constexpr (requires { memory_.place(); }) {
      while (engine_.next_access(memory_.place())) {
        any = true;
        begin(now, memory_.place());
      }
    } else if constexpr (requires(Answering & host) { engine_.perform(now, host); }) {
      Answering host{memory_, now};
      any = engine_.perform(now, host);
    } else {
      Unfilled<Access> place;
      while (engine_.next_access(place.value)) {
        any = true;
        begin(now, place.value);
      }
    }
    return any;
  }

 private:
  /// The memory as E::perform() sees it, if the engine has that.
  struct Answering {
    Memory& memory;
    TimePs now;

    bool begin(Access& access, AccessResult& result) { return memory.begin(now, access, result); }
    void told(AccessResult& result) {
      if constexpr (requires { memory.reclaim(result); }) memory.reclaim(result);
    }
  };

  void begin(TimePs now, Access& access) {
    const AccessId id = access.id;
    AccessResult result;
    if (memory_.begin(now, access, result)) tell(now, id, result);
  }

  void tell(TimePs now, AccessId access, AccessResult& result) {
    engine_.access_done(now, access, result);
    if constexpr (requires { memory_.reclaim(result); }) memory_.reclaim(result);
  }

  bool send(TimePs now) {
    if constexpr (requires { wire_.place(); }) {
      return send_from(now, [this]() -> wire::Packet& { return wire_.place(); });
    } else {
      Unfilled<wire::Packet> place;
      return send_from(now, [&place]() -> wire::Packet& { return place.value; });
    }
  }

  /// The wire as E::transmit_all() sees it, if the engine has that.
  template <typename Place>
  struct Sending {
    Wire& to;
    TimePs now;
    Place next;

    wire::TrafficClassMask open() { return to.open(now); }
    wire::Packet& place() { return next(); }
    void send(wire::Packet& packet) { to.send(now, packet); }
  };

  template <typename Place>
  bool send_from(TimePs now, Place place) {
    if constexpr (requires(Sending<Place> & out) { engine_.transmit_all(now, out); }) {
      Sending<Place> out{wire_, now, place};
      return engine_.transmit_all(now, out);
    } else {
      bool any = false;
      for (;;) {
        const wire::TrafficClassMask allowed = wire_.open(now);
        if (allowed == 0) return any;
        wire::Packet& packet = place();
        if (!engine_.transmit(now, kPort, allowed, packet)) return any;
        any = true;
        wire_.send(now, packet);
      }
    }
  }

  /// Completions, answers and events, to the user.
  Taken deliver(TimePs now) {
    Taken taken;
    QueueId queue = 0;
    Unfilled<verbs::Completion> completion;
    while (engine_.next_completed_queue(queue)) {
      while (engine_.poll(queue, completion.value)) {
        taken.completions = true;
        user_.completed(now, completion.value);
      }
    }
    if constexpr (requires(verbs::LoadStoreResult & result) { user_.answered(now, result); }) {
      if (E::supports(verbs::Verb::kLoad)) {
        Unfilled<verbs::LoadStoreResult> result;
        while (engine_.poll_load_store(result.value)) {
          taken.answers = true;
          user_.answered(now, result.value);
        }
      }
    }
    if constexpr (requires(const AsyncEvent& event) { user_.event(now, event); }) {
      Unfilled<AsyncEvent> event;
      while (engine_.poll_event(event.value)) user_.event(now, event.value);
    }
    return taken;
  }

  bool answer_due(TimePs now) {
    bool any = false;
    if constexpr (requires(AccessId & id, AccessResult & result) { memory_.take_answer(now, id, result); }) {
      for (;;) {
        AccessId id = 0;
        AccessResult result;
        if (!memory_.take_answer(now, id, result)) break;
        any = true;
        tell(now, id, result);
      }
    }
    return any;
  }

  bool let_user_act(TimePs now, Taken taken) {
    if constexpr (requires { user_.gave(now, taken); }) {
      return user_.gave(now, taken);
    } else {
      return false;
    }
  }

  void note_deadline(TimePs now) {
    if constexpr (requires { user_.wake_at(now, now); }) user_.wake_at(now, engine_.deadline());
  }

  static constexpr std::uint32_t kPort = 0;

  E& engine_;
  Memory& memory_;
  Wire& wire_;
  User& user_;
};

}  // namespace wharf::engine
