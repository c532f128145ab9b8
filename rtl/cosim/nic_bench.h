// SPDX-License-Identifier: Apache-2.0
// Two NICs back to back, each with its host and its memory, and a wire that loses frames between them. Apart
// from what they speak: a bench of one protocol says how its NICs are set up, what a frame must be, and what
// must have been seen.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/nic_wire.h"
#include "wire/dissect.h"
#include "wire/frame.h"

namespace wharf::rtl {

/// `Bench` derives from it and has: `host(side)`; `set_up(nic, side)`, after a reset; `seen(packet, side)`,
/// for each packet that leaves; `turn(frame)`, a frame of its protocol that nobody should take; `note(nic,
/// side)`, what a NIC has counted; `check(nic)`, each cycle; `settled()`, when nothing is under way.
template <typename Bench, typename Model, typename Other = Model>
class NicBench {
 public:
  NicBench(Clocked<Model>& first, RandomStream random, Findings& found, std::uint32_t memory_bytes)
      : random_(random),
        found_(found),
        first_(first),
        memories_{NicMemory(memory_bytes, random.substream(1)), NicMemory(memory_bytes, random.substream(2))},
        wires_{NicWire(random.substream(5)), NicWire(random.substream(6))} {
    if constexpr (requires {
                    first->planted_i;
                    second_->planted_i;
                  })
      second_->planted_i = first->planted_i;
    if constexpr (requires { second_->memory; }) second_->memory = &memories_[1];
    for (const char* name : {"lost", "doubled", "spoiled", "late", "reset under way"})
      found.coverage.require(name);
  }

  void run(std::uint64_t cycles) {
    reset();
    while (now() < cycles && found_.agrees()) {
      const bool is_spoiled = random_.below(3) != 0;
      stalls_ = random_.below(4) != 0;
      for (NicWire& wire : wires_) wire.spoil(is_spoiled ? 20 : 0);
      const std::uint64_t until = now() + 500 + random_.below(3000);
      while (now() < until && found_.agrees()) cycle(true);
      if (random_.below(4) == 0) {
        found_.coverage.hit_if(!bench().host(0).is_idle(), "reset under way");
        cover();
        reset();
        continue;
      }
      drain();
    }
    cover();
  }

  /// One cycle of everything.
  void cycle(bool posts) {
    each([&](auto& nic, auto& other, std::uint32_t side) {
      memories_[side].drive(*nic, now(), stalls_);
      bench().host(side).drive(*nic, posts, stalls_);
      wires_[side].drive(*nic, *other, now(), stalls_);
    });
    each([](auto& nic, auto&, std::uint32_t) { nic.settle(); });
    each([&](auto& nic, auto& other, std::uint32_t side) {
      memories_[side].take(*nic, now(), stalls_);
      bench().host(side).take(*nic, now());
      wires_[side].take(*nic, *other, now(),
                        [&](const std::vector<std::byte>& frame) { judge(frame, side); });
      if (memories_[side].strayed()) found_.differ(now(), "an access outside of memory");
      bench().check(*nic);
    });
    each([](auto& nic, auto&, std::uint32_t) { nic.tick(); });
  }

  std::uint64_t now() const { return first_.cycles(); }
  std::uint64_t frames() const { return frames_; }
  void set_stalls(bool stalls) { stalls_ = stalls; }

  void reset() {
    each([&](auto& nic, auto&, std::uint32_t side) {
      wires_[side].reset();
      memories_[side].reset();
      bench().host(side).reset();
      nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
      nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = nic->tx_ready_i = 0;
      bench().set_up(nic, side);
    });
    for (std::uint32_t side = 0; side < 2; ++side) bench().host(side).expect();
  }

 protected:
  /// Calls f(a NIC, the other one, which side the first is) for both.
  template <typename F>
  void each(F&& f) {
    f(first_, second_, 0U);
    f(second_, first_, 1U);
  }

  RandomStream random_;
  Findings& found_;
  Clocked<Model>& first_;
  Clocked<Other> second_;
  std::array<NicMemory, 2> memories_;
  std::array<NicWire, 2> wires_;  ///< [i]: from NIC i to the other.
  bool stalls_ = true;
  std::uint64_t frames_ = 0;

 private:
  Bench& bench() { return static_cast<Bench&>(*this); }

  /// Nothing new; everything must end.
  void drain() {
    const std::uint64_t limit = now() + 60000;
    while (found_.agrees() && !(bench().host(0).is_idle() && bench().host(1).is_idle())) {
      cycle(false);
      if (now() > limit) found_.differ(now(), "requests that do not end" + state());
    }
    for (std::uint32_t side = 0; side < 2 && found_.agrees(); ++side) bench().host(side).compare(now());
    bench().settled();
    if (random_.below(2) == 0) inject();
  }

  /// What the NICs count, for people.
  std::string state() {
    std::string text;
    each([&](auto& nic, auto&, std::uint32_t) {
      text += "; counters, from the last:";
      for (std::size_t i = 0; i < sizeof nic->counters_o / sizeof(std::uint32_t); ++i)
        text += " " + std::to_string(nic->counters_o[i]);
      text += ", stages " + std::to_string(nic->stages_o);
    });
    return text;
  }

  /// Frames of nobody: any bytes, or one of this protocol that was turned with care.
  void inject() {
    std::vector<std::byte> frame = last_frame_;
    if (frame.empty() || random_.below(2) == 0) {
      frame.resize(14 + random_.below(200));
      for (std::byte& byte : frame) byte = static_cast<std::byte>(random_.below(256));
    } else {
      bench().turn(frame);
    }
    wires_[0].inject(frame, now());
  }

  /// Each frame is what the wire codec says, and nothing else: it encodes to the same bytes.
  void judge(const std::vector<std::byte>& frame, std::uint32_t side) {
    ++frames_;
    last_frame_ = frame;
    wire::Packet packet;
    const wire::DropReason reason = wire::decode(frame, wire::LinkType::kEthernet, packet);
    if (reason != wire::DropReason::kNone) {
      found_.differ(now(),
                    "a frame that the wire codec drops with " + std::to_string(static_cast<int>(reason)));
      return;
    }
    std::array<std::byte, 2048> again{};
    const std::size_t size = wire::encode(packet, again);
    if (size != frame.size() || std::memcmp(again.data(), frame.data(), size) != 0)
      found_.differ(now(), "a frame that the wire codec writes in another way");
    if (packet.source.number != side || packet.destination.number != 1 - side)
      found_.differ(now(), "the addresses of a frame");
    bench().seen(packet, side);
    if (frames_ % 64 == 0 && !wire::dissect(frame, wire::LinkType::kEthernet).reencodes)
      found_.differ(now(), "a frame that cannot be dissected");
  }

  void cover() {
    Coverage& coverage = found_.coverage;
    each([&](auto& nic, auto&, std::uint32_t side) {
      coverage.hit_if(wires_[side].lost > 0, "lost");
      coverage.hit_if(wires_[side].doubled > 0, "doubled");
      coverage.hit_if(wires_[side].spoiled > 0, "spoiled");
      coverage.hit_if(wires_[side].late > 0, "late");
      bench().note(*nic, side);
    });
  }

  std::vector<std::byte> last_frame_;
};

}  // namespace wharf::rtl
