// SPDX-License-Identifier: Apache-2.0
// The sending side of a channel beside reliability::SendWindow, with numbers of few bits so that they wrap
// many times.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_tp_channel.h"
#include "Vwharf_tp_channel_planted.h"
#include "base/arena.h"
#include "engine/reliability/send_window.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kWindow = 8, kFlits = 16, kPacketFlits = 3, kMask = 63;

struct Shown {
  Flit flit{};
  std::uint32_t bytes = 0;
  bool last = false;
  bool operator==(const Shown&) const = default;
};

/// The window of the engines; what is kept of each packet stands in `packets`, from the oldest on.
struct Reference {
  Reference() : window(arena, kWindow, 0) {}
  Arena arena;
  reliability::SendWindow<std::uint32_t> window;
  std::deque<std::vector<Shown>> packets;
  std::uint64_t cursor = 0;   ///< The packet that is going out,
  std::size_t flit = 0;       ///< and its next flit.
  std::uint64_t reached = 0;  ///< One past the newest packet that was ever sent.
  std::uint64_t covered = 0;  ///< Acknowledged, but kept until the packet that is going out has gone.
  bool back = false;
  std::uint64_t whole() const {
    return window.una() + packets.size() - (packets.empty() || packets.back().back().last ? 0 : 1);
  }
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"number", "in", "out", "ack", "back"});
  for (const char* name :
       {"window full", "no room for flits", "acknowledged inside a packet", "back inside a packet",
        "acknowledgement of the past", "what was never sent is missing",
        "acknowledgement of what was never sent", "numbers wrap", "everything acknowledged", "sent again",
        "acknowledged while sent again"})
    coverage.require(name);
  Stall number(random.substream(0)), in(random.substream(1)), out(random.substream(2)),
      ack(random.substream(3)), back(random.substream(4));
  StreamRule<Shown> rule;
  std::unique_ptr<Reference> reference;
  std::deque<std::uint32_t> to_come;  // Flits of packets that have a number, packet by packet.
  std::uint64_t quiet = 0;
  const auto reset = [&] {
    dut.reset();
    reference = std::make_unique<Reference>();
    to_come.clear();
    rule.reset();
    quiet = 0;
  };
  dut->number_ready_i = dut->in_valid_i = dut->ack_valid_i = dut->ack_missing_i = dut->back_valid_i =
      dut->out_ready_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(3000) == 0) reset();
    Reference& r = *reference;
    const std::uint64_t una = r.window.una();
    const bool number_open = number.open(), in_open = in.open(), out_open = out.open();
    const bool acks = ack.open() && random.below(4) == 0, goes_back = back.open() && random.below(24) == 0;
    coverage.hit_stalls((number_open ? 1U : 0U) | (in_open ? 2U : 0U) | (out_open ? 4U : 0U) |
                        (acks ? 8U : 0U) | (goes_back ? 16U : 0U));
    const std::uint64_t heard =
        random.below(8) == 0 ? random.below(64) : una + random.below(r.reached - una + 1);
    dut->number_ready_i = number_open;
    dut->in_valid_i = in_open && !to_come.empty();
    Shown coming;
    if (dut->in_valid_i) {
      coming.last = to_come.front() == 1;
      coming.bytes = coming.last ? 1 + static_cast<std::uint32_t>(random.below(64)) : 64;
      for (std::byte& byte : coming.flit) byte = static_cast<std::byte>(random.below(256));
      put_flit(coming.flit, dut->in_data_i.data());
      dut->in_bytes_i = static_cast<std::uint8_t>(coming.bytes);
      dut->in_last_i = coming.last;
    }
    dut->out_ready_i = out_open;
    dut->ack_valid_i = acks;
    dut->ack_number_i = static_cast<std::uint8_t>(heard & kMask);
    dut->ack_missing_i = random.below(4) == 0;
    dut->back_valid_i = goes_back;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    const std::uint64_t distance = (heard - una) & kMask;
    const bool is_inside_packet = r.flit != 0;
    // What was heard before this cycle takes effect in it.
    const std::uint64_t covered = is_inside_packet ? 0 : r.covered;
    const bool returns = !is_inside_packet && r.back;
    // What goes out: the flits of the packets in their order, from where the channel stands.
    const Shown shown{flit_of(dut->out_data_o.data()), dut->out_bytes_o, dut->out_last_o != 0};
    if (!rule.holds(dut->out_valid_o, out_open, shown)) found.differ(now, "an offered flit changed");
    if (dut->number_o != (r.window.next() & kMask)) found.differ(now, "the number of the next packet");
    if (dut->number_valid_o && r.window.full()) found.differ(now, "a number beyond the window");
    if (!dut->in_ready_o) found.differ(now, "no room for flits that were promised it");
    std::size_t kept = to_come.size();
    for (const auto& packet : r.packets) kept += packet.size();
    if (kept > kFlits) found.differ(now, "more flits than there is room for");
    coverage.hit_if(r.window.full(), "window full");
    coverage.hit_if(!dut->number_valid_o && !r.window.full(), "no room for flits");
    if (r.packets.empty() && to_come.empty() && r.covered == 0 && !dut->number_valid_o)
      found.differ(now, "no number though nothing is kept");
    // Acknowledgements: what they mean is known at once.
    const bool is_inside = acks && distance + dut->ack_missing_i <= r.reached - una;
    coverage.hit_if(acks && !is_inside && distance == r.reached - una, "what was never sent is missing");
    if (dut->ack_inside_o != is_inside) found.differ(now, "whether an acknowledgement is inside");
    if (dut->ack_refused_o != (acks && !is_inside && distance < 32))
      found.differ(now, "which acknowledgement is refused");
    if (dut->ack_progress_o != (is_inside && distance > r.covered))
      found.differ(now, "whether it is progress");
    if (is_inside && distance > r.covered) r.covered = distance;
    coverage.hit_if(acks && !is_inside && distance >= 32, "acknowledgement of the past");
    coverage.hit_if(acks && !is_inside && distance < 32, "acknowledgement of what was never sent");
    r.back = (r.back && !returns) || goes_back;
    coverage.hit_if(is_inside_packet && is_inside && distance > 0, "acknowledged inside a packet");
    coverage.hit_if(is_inside_packet && goes_back, "back inside a packet");

    const bool load = !dut->out_valid_o || out_open;
    const bool applies = covered != 0 || returns;
    const bool may_begin = !applies && r.cursor < r.whole();
    const bool reads = load && (is_inside_packet || may_begin);
    if (dut->sends_o != (reads && !is_inside_packet)) found.differ(now, "whether a packet begins to go out");
    if (!found.agrees()) break;
    // A flit that is read stands at the output in the next cycle: it is compared there.
    Shown next;
    if (reads) {
      const std::vector<Shown>& packet = r.packets[static_cast<std::size_t>(r.cursor - una)];
      next = packet[r.flit];
      coverage.hit_if(r.cursor < r.reached, "sent again");
      if (++r.flit == packet.size()) {
        r.flit = 0;
        ++r.cursor;
        r.reached = std::max(r.reached, r.cursor);
      }
    }
    if (dut->number_valid_o && number_open) {
      r.window.push() = 0;
      coverage.hit_if((r.window.next() & kMask) == 0, "numbers wrap");
      const auto flits = 1 + static_cast<std::uint32_t>(random.below(kPacketFlits));
      for (std::uint32_t i = flits; i > 0; --i) to_come.push_back(i);
    }
    if (dut->in_valid_i) {
      if (r.packets.empty() || r.packets.back().back().last) r.packets.emplace_back();
      r.packets.back().push_back(coming);
      to_come.pop_front();
    }
    if (applies) {
      coverage.hit_if(covered != 0 && una + covered > r.cursor, "acknowledged while sent again");
      r.window.acknowledge_before(una + covered, [](std::uint32_t) {});
      r.packets.erase(r.packets.begin(), r.packets.begin() + static_cast<std::ptrdiff_t>(covered));
      r.cursor = returns ? r.window.una() : std::max(r.cursor, r.window.una());
      coverage.hit_if(covered != 0 && r.packets.empty(), "everything acknowledged");
      r.covered -= covered;
    }
    dut.tick();
    dut.settle();
    const Shown after{flit_of(dut->out_data_o.data()), dut->out_bytes_o, dut->out_last_o != 0};
    if (load && dut->out_valid_o != reads) found.differ(now, "a flit lost, or too many");
    if (reads && !(after == next)) found.differ(now, "a flit that goes out");
  }
};

TEST(TpChannel, AgreesWithTheWindowOfTheEngines) { expect_agreement<Vwharf_tp_channel>(kRun, 100000); }

TEST(TpChannel, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_tp_channel_planted>(kRun, "rtl/tp_channel/faults.txt", 30000);
}

}  // namespace
}  // namespace wharf::rtl
