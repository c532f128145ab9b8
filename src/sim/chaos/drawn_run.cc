// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/drawn_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/chaos/peers_plan.h"
#include "sim/protocols/protocols.h"

namespace wharf::sim {
namespace {

/// A program that knows what memory must hold.
void draw_program(KeyDraw& draw, const StackTraits& stack, bool world) {
  const bool load_store = stack.load_store;
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
    // What takes no receive entry does not reach the program, which counts entries.
    if (verb == "write" && rules_of(stack.protocol).write_imm_takes_receive && draw.one_in(2))
      verb = "write_imm";
    if (load_store) verb = draw.any({"load", "store"});
    draw.essential("run.verb", verb);
    const bool atomic = verb == "fetch_add" || verb == "compare_swap";
    payload = atomic || load_store ? 8 : draw.scaled(1, 32768);
    draw.bytes("run.payload", payload);
    if (!load_store && draw.one_in(3)) draw.flag("run.fence", true);
    visit_protocol(stack.protocol, [&]<typename P>(std::type_identity<P>) {
      if constexpr (requires { P::draw_requests(draw); }) {
        if (!load_store) P::draw_requests(draw);
      }
    });
  }
  // A run takes a fraction of a second: many small ones find more than a few large ones.
  const std::uint64_t budget = (load_store ? 64U << 10U : 1U << 20U) / (world ? 4 : 1);
  draw.number("run.operations", std::min(operations, std::max<std::uint64_t>(budget / payload, 2)));
  draw.keep();
}

/// Links that send again what was lost or damaged on them. `table`: "fabric." or "model.faults.". `trims`:
/// ports of switches trim.
void draw_link_retry(KeyDraw& draw, const std::string& table, bool trims) {
  draw.flag(table + "link_retry", true);
  if (draw.one_in(2)) draw.number(table + "link_retry_limit", draw.below(4));
  if (draw.one_in(3)) {
    draw.number(table + "llr_outstanding_frames_max", draw.scaled(2, 64));
    if (trims) {
      // Such a link carries few frames. Trimmed packets that always go first take all of them, what they
      // bring is sent again at once and trimmed once more, and no run would end.
      draw.number("fabric.trimmed_share", 10 + draw.below(41));
      draw.keep();
    }
  }
  if (draw.one_in(3)) draw.bytes(table + "llr_ctlos_target_spacing", draw.scaled(64, 8192));
  // A link that discards while it begins again loses what protocols send again.
  if (draw.one_in(3)) draw.text(table + "llr_flush_frame_action", draw.any({"block", "discard"}));
}

/// What the links of full hosts do to packets.
void draw_faults(KeyDraw& draw, bool trims) {
  if (draw.one_in(8)) return;
  if (draw.one_in(2)) draw.share("model.faults.loss", 5);
  if (draw.one_in(3)) draw.share("model.faults.corruption", 3);
  if (draw.one_in(4)) {
    draw_link_retry(draw, "model.faults.", trims);
    return;  // Such links keep frames in order and drop copies.
  }
  if (draw.one_in(3)) draw.share("model.faults.duplication", 10);
  if (draw.one_in(2)) {
    draw.share("model.faults.reordering", 20);
    draw.nanoseconds("model.faults.reorder_delay", draw.scaled(10, 20000));
  }
  if (draw.one_in(3)) draw.nanoseconds("model.faults.jitter", draw.scaled(1, 5000));
}

/// A topology that exists: generated trees are full.
std::uint64_t draw_hosts(KeyDraw& draw, std::string_view family, std::uint64_t most) {
  std::uint64_t hosts = draw.scaled(3, most);
  if (family == "fat_tree") hosts = draw.one_in(3) && most >= 54 ? 54 : 16;
  if (family == "leaf_spine") hosts = draw.one_in(2) ? 8 : 18;
  if (family == "dragonfly") {
    // Hosts and global links of a router, routers of a group: groups of 2 to 8 hosts, 3 to 9 of them.
    struct Shape {
      std::string_view text;
      std::uint64_t hosts;
    };
    constexpr std::array<Shape, 7> kShapes{{{"1x2x1", 6},
                                            {"1x2x2", 10},
                                            {"2x2x1", 12},
                                            {"1x3x1x3", 9},
                                            {"1x4x1", 20},
                                            {"2x4x1x4", 32},
                                            {"2x3x1", 24}}};
    const Shape* shape = &kShapes[draw.below(kShapes.size())];
    while (shape->hosts > most) shape = &kShapes[draw.below(kShapes.size())];
    draw.essential("topology.from", fmt::format("dragonfly:{}", shape->text));
    return shape->hosts;
  }
  draw.essential("topology.from", fmt::format("{}:{}", family, hosts));
  return hosts;
}

const StackTraits& draw_stack(KeyDraw& draw) {
  std::vector<const StackTraits*> lots;
  for (const StackTraits& each : kStackTraits) lots.insert(lots.end(), each.lots, &each);
  return *draw.any(std::span<const StackTraits* const>(lots));
}

void draw_programs(KeyDraw& draw, DrawnRun& run) {
  const bool world = draw.one_in(3);
  const StackTraits& stack = draw_stack(draw);
  draw.essential("model.stack", stack.name);
  if (world) {
    const std::uint64_t hosts = draw_hosts(draw, draw.any({"star", "leaf_spine", "dragonfly"}), 20);
    draw.number("hosts.servers", hosts > 3 ? 1 + draw.below(2) : 1);
    draw.keep();  // Without it these would be thin hosts.
    if (draw.one_in(4)) run.threads = static_cast<std::uint32_t>(2 + draw.below(3));
  }
  if (draw.one_in(4)) {
    const bool bus = draw.one_in(2);
    draw.essential("model.attachment", bus ? "on_chip_bus" : "pcie");
    if (!stack.load_store) {
      draw.essential("model.submission", bus ? "bus_store" : draw.any({"doorbell", "blueflame"}));
    }
  }
  if (draw.one_in(4)) draw.text("model.memory.system", "coherent");
  visit_protocol(stack.protocol, [&]<typename P>(std::type_identity<P>) { P::draw(draw, stack, world); });
  if (!world) {
    if (draw.one_in(2)) draw.nanoseconds("model.link.delay", draw.scaled(10, 5000));
    if (draw.one_in(2)) draw.text("model.link.rate", draw.any({"10Gbps", "100Gbps", "800Gbps", "0bps"}));
  }
  draw_program(draw, stack, world);
  draw_faults(draw, world && wire::tells_trims(stack.protocol));
  if (world || stack.load_store) return;
  visit_protocol(stack.protocol, [&]<typename P>(std::type_identity<P>) {
    if constexpr (requires { P::draw_transport(draw, run.keys); }) P::draw_transport(draw, run.keys);
  });
}

/// Engines on a wire, one of whose hosts is not to be relied on.
void draw_unreliable_peers(KeyDraw& draw, const DrawnRun& run) {
  const StackTraits* stack = &draw_stack(draw);
  while (stack->load_store) stack = &draw_stack(draw);
  draw.essential("model.stack", stack->name);
  bool may_die = false;
  visit_protocol(stack->protocol, [&]<typename P>(std::type_identity<P>) {
    P::draw(draw, *stack, true);
    may_die = P::kDrawsDeath;
  });
  // Some services serve one peer.
  const bool any_service = std::none_of(run.keys.begin(), run.keys.end(),
                                        [](const DrawnKey& each) { return each.key.ends_with(".service"); });
  draw_peers(draw, any_service, may_die);
}

/// Thin hosts on a fabric: many packets, switches, links that fail.
void draw_flows(KeyDraw& draw, DrawnRun& run) {
  const std::string_view family = draw.any({"star", "fat_tree", "leaf_spine", "dragonfly"});
  const std::uint64_t hosts = draw_hosts(draw, family, 54);
  const std::string_view collective = draw.any(
      {"all_to_all", "incast", "outcast", "permutation", "broadcast", "ring_all_reduce", "all_gather"});
  draw.essential("traffic.collective", collective);
  const bool everybody = collective == "all_to_all";
  draw.bytes("traffic.size", draw.scaled(hosts, everybody ? 10'000 : 200'000));
  std::vector<wire::Protocol> protocols;
  each_protocol(FabricProtocols(),
                [&]<typename P>(std::type_identity<P>) { protocols.push_back(P::kProtocol); });
  const wire::Protocol protocol = draw.any(std::span<const wire::Protocol>(protocols));
  draw.essential("fabric.protocol", wire::key_of(protocol));
  draw.bytes("fabric.payload", draw.power_of_two(8, 12));
  if (draw.one_in(2))
    draw.text("fabric.load_balancing", draw.any({"ecmp", "spray", "round_robin", "adaptive"}));
  if (draw.one_in(4)) draw.text("fabric.switching", "cut_through");
  const std::uint64_t queue = draw.one_in(3) ? draw.scaled(4, 200) : 0;
  const bool dragonfly = family == "dragonfly";
  if (dragonfly) draw.text("fabric.routing", draw.any({"minimal", "valiant", "ugal"}));
  // Ways through three groups may close a circle of full queues: a dragonfly has no virtual channels here.
  const bool lossless = !dragonfly && draw.one_in(4);
  // Under flow control a queue holds all that may come.
  if (queue != 0 && !lossless) draw.number("fabric.queue_packets", queue);
  const bool trims = !lossless && wire::tells_trims(protocol) && !draw.one_in(3);
  if (!trims) {
    draw.flag("fabric.trimming", false);
    draw.keep();
  } else if (draw.one_in(4)) {
    draw.number("fabric.last_hop_threshold", draw.scaled(20, 400));
  }
  if (lossless) draw.text("fabric.flow_control", draw.any({"pause", "credit"}));
  visit_protocol(protocol, [&]<typename P>(std::type_identity<P>) {
    if constexpr (requires { P::draw_flows(draw); }) P::draw_flows(draw);
  });
  if (draw.one_in(2)) draw.share("fabric.loss", 2);
  if (draw.one_in(3)) {
    draw.share("fabric.damage", 2);
  }
  if (draw.one_in(4)) draw_link_retry(draw, "fabric.", trims);
  if (family == "fat_tree" && hosts == 16 && draw.one_in(2)) {
    const std::uint64_t down = draw.scaled(1, 40);
    draw.text("fabric.link_changes", fmt::format("leaf0-middle0 down at {}us, leaf0-middle0 up at {}us", down,
                                                 down + draw.scaled(5, 60)));
    draw.text("fabric.reroute_delay", "5us");
  }
  // Senders that lose nearly everything to one short queue end, but late: their time-outs double up to
  // seconds.
  draw.text("run.time_limit", "100000s");
  draw.keep();
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
  KeyDraw draw(run.keys, seed);
  run.flows = draw.one_in(4);
  run.peers = !run.flows && draw.one_in(3);
  if (run.flows) {
    draw_flows(draw, run);
  } else if (run.peers) {
    draw_unreliable_peers(draw, run);
    return run;
  } else {
    draw_programs(draw, run);
  }
  draw.number("run.seed", seed & 0x7fff'ffffU);
  draw.keep();
  return run;
}

std::string describe(const DrawnRun& run) {
  const auto word = [&](const std::string& key) {
    std::string value = run.value_of(key);
    std::erase(value, '"');
    return value;
  };
  if (run.flows)
    return fmt::format("{}, {} on {}", word("fabric.protocol"), word("traffic.collective"),
                       word("topology.from"));
  if (run.peers) {
    const auto plan = plan_of(run);
    return fmt::format("{}, {}", word("model.stack"), plan ? describe(*plan) : plan.error().message);
  }
  const std::string on = word("topology.from");
  return fmt::format("{}, {} on {}", word("model.stack"), word("run.workload"), on.empty() ? "a wire" : on);
}

std::string scenario_text(const DrawnRun& run) {
  std::string text =
      fmt::format("# SPDX-License-Identifier: Apache-2.0\ntitle = \"Drawn by wharf chaos, seed {}: {}\"\n\n",
                  run.seed, describe(run));
  for (const DrawnKey& each : run.keys) text += fmt::format("{} = {}\n", each.key, each.value);
  return text;
}

}  // namespace wharf::sim
