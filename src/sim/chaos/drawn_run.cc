// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/drawn_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/random.h"

namespace wharf::sim {
namespace {

using Words = std::initializer_list<std::string_view>;

/// Draws keys into a run.
class Draw {
 public:
  Draw(DrawnRun& run, std::uint64_t seed) : run_(run), random_(seed, "chaos.run") {}

  std::uint64_t below(std::uint64_t count) { return random_.below(count); }
  bool one_in(std::uint64_t count) { return random_.below(count) == 0; }
  /// From `least` to `most`, each doubling as likely as the next.
  std::uint64_t scaled(std::uint64_t least, std::uint64_t most) {
    unsigned doublings = 0;
    while (least << doublings < most) ++doublings;
    const std::uint64_t low = least << random_.below(doublings + 1);
    const std::uint64_t high = std::min(2 * low - 1, most);
    return std::min(low, most) + (high > low ? random_.below(high - low + 1) : 0);
  }
  std::uint64_t power_of_two(unsigned least, unsigned most) {
    return std::uint64_t{1} << (least + random_.below(most - least + 1));
  }
  std::string_view any(Words words) { return *(words.begin() + random_.below(words.size())); }

  void number(std::string key, std::uint64_t value) { add(std::move(key), fmt::format("{}", value)); }
  void text(std::string key, std::string_view value) { add(std::move(key), fmt::format("\"{}\"", value)); }
  void flag(std::string key, bool value) { add(std::move(key), value ? "true" : "false"); }
  void bytes(std::string key, std::uint64_t value) { text(std::move(key), fmt::format("{}B", value)); }
  void nanoseconds(std::string key, std::uint64_t value) { text(std::move(key), fmt::format("{}ns", value)); }
  void essential(std::string key, std::string_view value) {
    text(std::move(key), value);
    keep();
  }
  /// The key before is essential.
  void keep() { run_.keys.back().essential = true; }
  /// A share from 0.01 % to `most_percent`.
  void share(std::string key, std::uint64_t most_percent) {
    const std::uint64_t hundredths = scaled(1, most_percent * 100);
    text(std::move(key), fmt::format("{}.{:02}%", hundredths / 100, hundredths % 100));
  }

 private:
  void add(std::string key, std::string value) { run_.keys.push_back({std::move(key), std::move(value)}); }

  DrawnRun& run_;
  RandomStream random_;
};

bool is_ub(std::string_view stack) { return stack.starts_with("ub"); }
bool is_roce(std::string_view stack) { return stack.starts_with("roce"); }

/// Peers are never given up: whatever the faults, everything completes.
void draw_patience(Draw& draw, std::string_view stack) {
  if (is_ub(stack)) {
    draw.essential("model.ub.rto_attempts", "unlimited");
    if (stack == "ub_ldst") draw.essential("model.ub.reissue_attempts", "unlimited");
  } else if (is_roce(stack)) {
    draw.flag("model.roce.unlimited_retries", true);
    draw.keep();
    draw.number("model.roce.ack_timeout", 5 + draw.below(4));
  } else {
    draw.essential("model.uet.max_rto_retries", "unlimited");
    draw.essential("model.uet.max_nack_retries", "unlimited");
  }
}

void draw_ub(Draw& draw, bool load_store, bool world) {
  if (!world && draw.one_in(3)) draw.text("model.ub.encapsulation", draw.any({"ip_on_link", "cna24"}));
  if (load_store) return;
  const std::uint64_t mtu = draw.power_of_two(8, 12);
  draw.bytes("model.ub.mtu", mtu);
  if (draw.one_in(2)) draw.bytes("model.ub.segment", std::max<std::uint64_t>(mtu, draw.power_of_two(10, 16)));
  if (draw.one_in(3)) draw.text("model.ub.service", draw.any({"roi", "rot", "rol"}));
  if (draw.one_in(2)) draw.text("model.ub.recovery", draw.any({"go_back_n", "selective"}));
  if (draw.one_in(3)) draw.number("model.ub.send_window", draw.power_of_two(3, 9));
  if (draw.one_in(3)) draw.number("model.ub.receive_window", draw.power_of_two(6, 11));
  if (draw.one_in(3)) {
    draw.number("model.ub.acknowledge_every", draw.scaled(2, 32));
    draw.nanoseconds("model.ub.acknowledge_delay", draw.scaled(100, 8000));
  }
  if (draw.one_in(3)) draw.number("model.ub.first_psn", (1U << 24U) - 1 - draw.below(200));
  if (draw.one_in(4)) draw.number("model.ub.transactions_per_jetty", draw.power_of_two(0, 6));
  if (draw.one_in(4)) draw.number("model.ub.fetch_ahead", draw.scaled(1, 32));
  if (draw.one_in(5)) draw.number("model.ub.inbound_messages", draw.scaled(4, 64));
  if (draw.one_in(5)) draw.number("model.ub.parked_packets", draw.scaled(64, 512));
  if (draw.one_in(5)) draw.number("model.ub.context_cache", draw.scaled(4, 32));
}

void draw_roce(Draw& draw) {
  draw.bytes("model.roce.mtu", draw.power_of_two(8, 12));
  if (draw.one_in(2)) draw.number("model.roce.window", draw.scaled(2, 256));
  if (draw.one_in(3)) draw.number("model.roce.max_read_atomic", draw.scaled(1, 32));
  if (draw.one_in(3)) draw.number("model.roce.backoff_limit", draw.below(4));
  if (draw.one_in(3)) draw.flag("model.roce.acknowledge_every_request", true);
  if (draw.one_in(3)) draw.number("model.roce.fetch_batch", draw.scaled(1, 16));
  if (draw.one_in(4)) draw.number("model.roce.receive_prefetch", draw.scaled(1, 8));
  if (draw.one_in(4)) draw.text("model.roce.ip_version", "v6");
  if (draw.one_in(4)) draw.flag("model.roce.advertise_credits", true);
  if (draw.one_in(4)) draw.number("model.roce.transmit_ahead", draw.power_of_two(0, 6));
  if (draw.one_in(5)) draw.number("model.roce.queue_cache", draw.scaled(1, 16));
  if (draw.one_in(5)) draw.number("model.roce.key_cache", draw.scaled(1, 16));
}

void draw_uet(Draw& draw) {
  if (draw.one_in(2)) draw.bytes("model.uet.payload", draw.power_of_two(8, 12));
  bool nscc = true;
  if (draw.one_in(3)) {
    const std::string_view control = draw.any({"none", "sender", "receiver", "both"});
    draw.essential("model.uet.control", control);
    nscc = control == "sender" || control == "both";
  }
  if (draw.one_in(3)) draw.text("model.uet.one_sided", draw.any({"rud", "rod"}));
  if (draw.one_in(3)) draw.text("model.uet.two_sided", draw.any({"rud", "rod"}));
  if (draw.one_in(3)) draw.number("model.uet.default_mpr", draw.scaled(1, 16));
  if (draw.one_in(3)) draw.bytes("model.uet.max_ack_data", 16U << draw.below(5));
  if (draw.one_in(4)) draw.flag("model.uet.ack_per_packet", true);
  if (nscc && draw.one_in(4)) draw.flag("model.uet.sleek", true);
  if (draw.one_in(4)) draw.text("model.uet.path_selection", draw.any({"mixed", "bitmap", "reps", "flow"}));
  if (draw.one_in(4)) draw.text("model.uet.large_send", draw.any({"rendezvous", "deferrable"}));
  if (draw.one_in(4)) draw.text("model.uet.sack_base", "trigger");
  if (draw.one_in(5)) draw.nanoseconds("model.uet.tail_loss_time", draw.scaled(2000, 50000));
}

/// A program that knows what memory must hold.
void draw_program(Draw& draw, std::string_view stack, bool world) {
  const bool load_store = stack == "ub_ldst";
  std::string_view workload =
      draw.any({"pointer_chase", "bulk_read", "bulk_write", "sequential_scan", "key_value", "verb_loop"});
  if (!load_store && draw.one_in(2))
    workload = world ? draw.any({"barrier", "cas_lock", "key_value", "ring_collective"})
                     : draw.any({"barrier", "cas_lock", "ping_pong", "verb_loop"});
  // Caches of several hosts know nothing of each other: what one stores another may overwrite with its copy
  // of the line.
  if (load_store && world) workload = draw.any({"pointer_chase", "bulk_read", "sequential_scan"});
  draw.essential("run.workload", workload);
  draw.number("run.concurrency", draw.scaled(1, world ? (workload == "cas_lock" ? 2 : 8) : 32));
  if (draw.one_in(4)) draw.nanoseconds("run.think_time", draw.scaled(10, 2000));
  std::uint64_t operations = draw.scaled(20, 400);
  std::uint64_t payload = 64;
  if (workload == "pointer_chase") {
    draw.number("run.lines", draw.scaled(2, 4096));
  } else if (workload == "bulk_read" || workload == "bulk_write") {
    payload = 8 * draw.scaled(1, 4096);
    draw.bytes("run.payload", payload);
    draw.bytes("run.region_bytes", draw.power_of_two(20, 21));
    if (draw.one_in(2)) draw.text("run.order", "random");
  } else if (workload == "sequential_scan") {
    payload = 8 * draw.scaled(1, 512);
    draw.bytes("run.element_bytes", payload);
  } else if (workload == "key_value") {
    draw.number("run.keys", draw.scaled(world ? 40 : 2, 2000));
    payload = 8 * draw.scaled(3, 128);
    draw.bytes("run.value_bytes", payload);
    draw.share("run.put_fraction", 60);
  } else if (workload == "ping_pong") {
    payload = 8 * draw.scaled(2, 1024);
    draw.bytes("run.payload", payload);
  } else if (workload == "barrier") {
    operations = draw.scaled(5, 40);
  } else if (workload == "cas_lock") {
    operations = draw.scaled(10, 100);
    if (draw.one_in(2)) draw.text("run.release", "compare_swap");
  } else if (workload == "ring_collective") {
    operations = 1 + draw.below(3);
    draw.bytes("run.buffer_bytes", draw.power_of_two(10, 15));
    draw.text("run.collective", draw.any({"all_reduce", "reduce_scatter", "all_gather"}));
  } else {
    std::string_view verb = draw.any({"read", "write", "send", "send_imm", "fetch_add", "compare_swap"});
    // Ultra Ethernet's write with immediate data takes no receive entry, which is what the program counts.
    if (verb == "write" && stack != "uet" && draw.one_in(2)) verb = "write_imm";
    if (load_store) verb = draw.any({"load", "store"});
    draw.essential("run.verb", verb);
    const bool atomic = verb == "fetch_add" || verb == "compare_swap";
    payload = atomic || load_store ? 8 : draw.scaled(1, 32768);
    draw.bytes("run.payload", payload);
    if (!load_store && draw.one_in(3)) draw.flag("run.fence", true);
    if (stack == "ub_urma" && draw.one_in(2)) draw.text("run.order_tag", draw.any({"relaxed", "strong"}));
    if (stack == "ub_urma" && draw.one_in(3)) draw.flag("run.completion_in_order", false);
  }
  // A run takes a fraction of a second: many small ones find more than a few large ones.
  const std::uint64_t budget = (load_store ? 64U << 10U : 1U << 20U) / (world ? 4 : 1);
  draw.number("run.operations", std::min(operations, std::max<std::uint64_t>(budget / payload, 2)));
  draw.keep();
}

/// What the links of full hosts do to packets.
void draw_faults(Draw& draw) {
  if (draw.one_in(8)) return;
  if (draw.one_in(2)) draw.share("model.faults.loss", 5);
  if (draw.one_in(3)) draw.share("model.faults.corruption", 3);
  if (draw.one_in(3)) draw.share("model.faults.duplication", 10);
  if (draw.one_in(2)) {
    draw.share("model.faults.reordering", 20);
    draw.nanoseconds("model.faults.reorder_delay", draw.scaled(10, 20000));
  }
  if (draw.one_in(3)) draw.nanoseconds("model.faults.jitter", draw.scaled(1, 5000));
}

/// A topology that exists: generated trees are full.
std::uint64_t draw_hosts(Draw& draw, std::string_view family, std::uint64_t most) {
  std::uint64_t hosts = draw.scaled(3, most);
  if (family == "fat_tree") hosts = draw.one_in(3) && most >= 54 ? 54 : 16;
  if (family == "leaf_spine") hosts = draw.one_in(2) ? 8 : 18;
  draw.essential("topology.from", fmt::format("{}:{}", family, hosts));
  return hosts;
}

void draw_programs(Draw& draw, DrawnRun& run) {
  const bool world = draw.one_in(3);
  const std::string_view stack =
      draw.any({"ub_ldst", "ub_urma", "ub_urma", "roce_bf", "roce_dma", "uet", "uet"});
  draw.essential("model.stack", stack);
  if (world) {
    const std::uint64_t hosts = draw_hosts(draw, draw.any({"star", "leaf_spine"}), 20);
    draw.number("hosts.servers", hosts > 3 ? 1 + draw.below(2) : 1);
    draw.keep();  // Without it these would be thin hosts.
    if (draw.one_in(4)) run.threads = static_cast<std::uint32_t>(2 + draw.below(3));
  }
  if (draw.one_in(4)) {
    const bool bus = draw.one_in(2);
    draw.essential("model.attachment", bus ? "on_chip_bus" : "pcie");
    if (stack != "ub_ldst") {
      draw.essential("model.submission", bus ? "bus_store" : draw.any({"doorbell", "blueflame"}));
    }
  }
  if (draw.one_in(4)) draw.text("model.memory.system", "coherent");
  draw_patience(draw, stack);
  if (is_ub(stack)) {
    draw_ub(draw, stack == "ub_ldst", world);
  } else if (is_roce(stack)) {
    draw_roce(draw);
  } else {
    draw_uet(draw);
  }
  if (!world) {
    if (draw.one_in(2)) draw.nanoseconds("model.link.delay", draw.scaled(10, 5000));
    if (draw.one_in(2)) draw.text("model.link.rate", draw.any({"10Gbps", "100Gbps", "800Gbps", "0bps"}));
  }
  draw_program(draw, stack, world);
  draw_faults(draw);
}

/// Thin hosts on a fabric: many packets, switches, links that fail.
void draw_flows(Draw& draw, DrawnRun& run) {
  const std::string_view family = draw.any({"star", "fat_tree", "leaf_spine"});
  const std::uint64_t hosts = draw_hosts(draw, family, 54);
  const std::string_view collective = draw.any(
      {"all_to_all", "incast", "outcast", "permutation", "broadcast", "ring_all_reduce", "all_gather"});
  draw.essential("traffic.collective", collective);
  const bool everybody = collective == "all_to_all";
  draw.bytes("traffic.size", draw.scaled(hosts, everybody ? 10'000 : 200'000));
  const std::string_view protocol = draw.any({"uet", "ub", "roce"});
  draw.essential("fabric.protocol", protocol);
  draw.bytes("fabric.payload", draw.power_of_two(8, 12));
  if (draw.one_in(2))
    draw.text("fabric.load_balancing", draw.any({"ecmp", "spray", "round_robin", "adaptive"}));
  if (draw.one_in(4)) draw.text("fabric.switching", "cut_through");
  if (draw.one_in(3)) draw.number("fabric.queue_packets", draw.scaled(4, 200));
  const bool lossless = draw.one_in(4);
  if (lossless || protocol != "uet" || draw.one_in(3)) {
    draw.flag("fabric.trimming", false);
    draw.keep();
  }
  if (lossless) draw.text("fabric.flow_control", draw.any({"pause", "credit"}));
  if (protocol == "uet" && draw.one_in(2)) {
    draw.text("fabric.control", draw.any({"sender", "receiver", "both"}));
  }
  if (draw.one_in(2)) draw.share("fabric.loss", 2);
  if (draw.one_in(3)) {
    draw.share("fabric.damage", 2);
    if (draw.one_in(2)) draw.flag("fabric.link_retry", true);
  }
  if (family == "fat_tree" && hosts == 16 && draw.one_in(2)) {
    const std::uint64_t down = draw.scaled(1, 40);
    draw.text("fabric.link_changes", fmt::format("leaf0-middle0 down at {}us, leaf0-middle0 up at {}us", down,
                                                 down + draw.scaled(5, 60)));
    draw.text("fabric.reroute_delay", "5us");
  }
  if (draw.one_in(4)) run.threads = static_cast<std::uint32_t>(2 + draw.below(3));
}

}  // namespace

std::string DrawnRun::value_of(const std::string& key) const {
  for (const DrawnKey& each : keys) {
    if (each.key == key) return each.value;
  }
  return "";
}

void DrawnRun::set(const std::string& key, std::string value) {
  for (DrawnKey& each : keys) {
    if (each.key == key) each.value = std::move(value);
  }
}

DrawnRun draw_run(std::uint64_t seed) {
  DrawnRun run;
  run.seed = seed;
  Draw draw(run, seed);
  run.flows = draw.one_in(4);
  if (run.flows) {
    draw_flows(draw, run);
  } else {
    draw_programs(draw, run);
  }
  draw.number("run.seed", seed & 0x7fff'ffffU);
  draw.keep();
  return run;
}

std::string scenario_text(const DrawnRun& run) {
  std::string text = fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\ntitle = \"Drawn by wharf chaos, seed {}\"\n\n", run.seed);
  for (const DrawnKey& each : run.keys) text += fmt::format("{} = {}\n", each.key, each.value);
  return text;
}

}  // namespace wharf::sim
