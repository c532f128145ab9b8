// SPDX-License-Identifier: Apache-2.0
#include "sim/config/coherent_keys.h"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "engine/ordering/names.h"
#include "sim/config/profile.h"

namespace wharf::sim {

namespace {

void bind_ddr(Binder& binder, DdrConfig& ddr) {
  const Binder::Section section(binder, "ddr");
  binder.integer("channels", ddr.channels, "memory channels; a power of two", 1, 64);
  binder.integer("ranks", ddr.ranks, "ranks of a channel; a power of two", 1, 8);
  binder.integer("banks", ddr.banks, "banks of a rank; a power of two", 1, 64);
  binder.bytes("row_bytes", ddr.row_bytes, "a row of a rank; a power of two", 64, 65536);
  binder.bytes("interleave_bytes", ddr.interleave_bytes, "neighbours that share a channel; a power of two",
               64, 65536);
  binder.time("rcd", ddr.rcd, "activate to read or write");
  binder.time("cl", ddr.cl, "read to its first data");
  binder.time("rp", ddr.rp, "precharge to activate");
  binder.time("ras", ddr.ras, "activate to precharge");
  binder.time("burst", ddr.burst, "64 bytes on the data bus");
  binder.time("rrd", ddr.rrd, "activate to activate of another bank");
  binder.time("faw", ddr.faw, "the time that four activates of a rank take at least");
  binder.time("rtp", ddr.rtp, "read to precharge");
  binder.time("wr", ddr.wr, "end of write data to precharge");
  binder.time("wtr", ddr.wtr, "end of write data to the next read of the rank");
  binder.time("rtw", ddr.rtw, "end of read data to the next write data");
  binder.time("rfc", ddr.rfc, "a refresh");
  binder.time("refi", ddr.refi, "between refreshes of a rank; 0ps is never");
  binder.time("front_end", ddr.front_end, "controller, before the first command");
  binder.time("back_end", ddr.back_end, "controller, after the last data");
  binder.integer("read_entries", ddr.read_entries, "lines in a channel's queue of reads", 1, 4'096);
  binder.integer("write_entries", ddr.write_entries, "lines in a channel's queue of writes", 1, 4'096);
  binder.integer("write_high_percent", ddr.write_high_percent,
                 "of write_entries: so many that wait are written at once", 1, 100);
  binder.integer("write_low_percent", ddr.write_low_percent,
                 "of write_entries: so many are left then; below write_high_percent", 0, 99);
}

void bind_bus(Binder& binder, CoherenceConfig& bus) {
  const Binder::Section section(binder, "coherence");
  binder.time("cycle", bus.cycle, "clock of the bus between caches, root complexes and memory");
  binder.bytes("width_bytes", bus.width_bytes, "data that cross in one cycle; a power of two", 1, 64);
  binder.integer("header_cycles", bus.header_cycles, "what every message occupies of its lane", 0, 64);
  binder.integer("request_cycles", bus.request_cycles, "agent to home, where the order is made", 0, 1'000);
  binder.integer("snoop_cycles", bus.snoop_cycles, "home to the caches", 0, 1'000);
  binder.integer("snoop_response_cycles", bus.snoop_response_cycles, "cache to home", 0, 1'000);
  binder.integer("grant_cycles", bus.grant_cycles, "home to the agent that asked", 0, 1'000);
  binder.integer("memory_request_cycles", bus.memory_request_cycles, "home to the memory controller", 0,
                 1'000);
  binder.integer("memory_response_cycles", bus.memory_response_cycles, "memory controller to home", 0, 1'000);
  binder.integer("directory_sets", bus.directory_sets, "sets of the directory; a power of two", 1, 1 << 20);
  binder.integer("directory_ways", bus.directory_ways, "entries of a set; an eviction takes the line back", 1,
                 64);
  binder.probability("ddio_hit_ratio", bus.ddio_hit_ratio,
                     "accesses of devices past the private caches that the last-level cache answers");
  const Binder::Section answers(binder, "", bus.ddio_hit_ratio > 0,
                                "only with coherence.ddio_hit_ratio above 0");
  binder.time("last_level", bus.last_level, "what such an answer takes instead of DRAM");
}

void bind_caches(Binder& binder, CoreCacheConfig& cache) {
  const Binder::Section section(binder, "core_cache");
  binder.time("cycle", cache.cycle, "clock of a core and its caches");
  binder.integer("level1_cycles", cache.level1_cycles, "level 1, load to use", 0, 1'000);
  binder.integer("between_cycles", cache.between_cycles, "the bus between the levels", 0, 1'000);
  binder.integer("level2_cycles", cache.level2_cycles, "level 2", 0, 1'000);
  binder.bytes("width_bytes", cache.width_bytes,
               "data that cross the bus between the levels in one cycle; a power of two", 1, 64);
  binder.integer("header_cycles", cache.header_cycles, "what every crossing of it occupies beside its data",
                 0, 64);
  CacheLinesConfig& lines = cache.cache.lines;
  binder.integer("level1_sets", lines.level1_sets, "sets of level 1; a power of two", 1, 1 << 20);
  binder.integer("level1_ways", lines.level1_ways, "lines of a set; 0 leaves level 1 out", 0, 64);
  binder.integer("level2_sets", lines.level2_sets, "sets of level 2; a power of two", 1, 1 << 20);
  binder.integer("level2_ways", lines.level2_ways, "lines of a set", 1, 64);
  binder.integer("misses", cache.cache.misses, "miss registers", 1, 1'024);
  binder.integer("targets", cache.cache.targets, "accesses that can wait for missing lines", 1, 1'024);
}

void bind_link(Binder& binder, IoLinkConfig& link) {
  const Binder::Section section(binder, "io_link");
  binder.time("cycle", link.cycle, "clock of the link between device and root complex");
  binder.bytes("width_bytes", link.width_bytes, "data that cross in one cycle; a power of two", 1, 1'024);
  binder.bytes("header_bytes", link.header_bytes, "header and framing of every packet", 0, 256);
  binder.flag("tlp_sizes", link.tlp_sizes,
              "packets take the bytes of their TLPs, framing and prefixes included, instead of header_bytes");
  binder.time("up", link.up, "device to root complex");
  binder.time("down", link.down, "root complex to device");
  binder.integer("posted_credits", link.posted_credits, "writes on their way to the queue; 0 is unlimited", 0,
                 65'536);
  binder.integer("non_posted_credits", link.non_posted_credits,
                 "reads and atomics on their way to the queue; 0 is unlimited", 0, 65'536);
}

constexpr std::array<Choice<DropNotice>, kDropNoticeCount> kDropNotices{{{"answered", DropNotice::kAnswered},
                                                                         {"passing", DropNotice::kPassing},
                                                                         {"silent", DropNotice::kSilent}}};

constexpr std::array<Choice<LegalPassing>, 3> kPassings{
    {{"auto", LegalPassing::kWhereJudged}, {"off", LegalPassing::kOff}, {"on", LegalPassing::kOn}}};

void bind_root_complex(Binder& binder, RootComplexConfig& complex, bool judges_order) {
  const Binder::Section section(binder, "root_complex");
  binder.time("lookup", complex.lookup, "from the link to the ordering queue");
  binder.time("answer", complex.answer, "from the queue to the link");
  binder.time("spacing", complex.spacing, "between two answers");
  std::vector<Choice<ordering::RlsqDesign>> designs;
  for (const std::string_view design : ordering::rlsq_design_names())
    designs.push_back({design, *ordering::parse_rlsq_design(design)});
  binder.choice<ordering::RlsqDesign>("design", complex.queue.design,
                                      std::span<const Choice<ordering::RlsqDesign>>(designs),
                                      "what the ordering queue keeps in order");
  binder.integer("entries", complex.queue.entries, "lines in the queue", 1, 16'384);
  binder.integer("trackers", complex.queue.trackers, "different lines in the queue", 1, 16'384);
  binder.integer("posted_reserve", complex.queue.posted_reserve, "further entries, for writes alone", 1,
                 16'384);
  binder.choice<DropNotice>("drops", complex.drops, kDropNotices,
                            "how the home hears that a line read ahead is tracked no more");
  binder.flag("answers_in_order", complex.queue.answers_in_order,
              "answers leave in the order of the requests, not as they are ready");
  binder.flag("write_before_annotated_read", complex.queue.order.write_before_annotated_read,
              "reads with a proposed label wait for earlier writes, as legacy reads do");
  {
    const Binder::Section acquires(binder, "", false,
                                   "only where a NIC asks for an acquire, which no scenario's does");
    binder.flag("release_before_acquire", complex.queue.order.release_before_acquire,
                "a release before a later acquire (RCsc)");
  }
  binder.choice<LegalPassing>(
      "passing", complex.passing, kPassings,
      "requests pass each other on the link and on the way to memory as far as they may; "
      "auto: in runs that judge the order of accesses (run.workload = \"item_gets\")");
  if (complex.passing == LegalPassing::kWhereJudged)
    complex.passing = judges_order ? LegalPassing::kOn : LegalPassing::kOff;
  const Binder::Section held(binder, "", complex.passing == LegalPassing::kOn,
                             "only where requests pass each other (root_complex.passing)");
  binder.probability("passing_share", complex.passing_share, "requests that are held up for others to pass");
  binder.time("passing_delay", complex.passing_delay, "the longest time that they are held up, each way");
}

constexpr std::array<Choice<MmioOrderPlace>, 2> kPlaces{
    {{"root_complex", MmioOrderPlace::kRootComplex}, {"device", MmioOrderPlace::kDevice}}};
constexpr std::array<Choice<ordering::ReleaseRule>, 2> kReleaseRules{
    {{"strict", ordering::ReleaseRule::kStrict}, {"refined", ordering::ReleaseRule::kRefined}}};

void bind_mmio(Binder& binder, MmioConfig& mmio) {
  const Binder::Section section(binder, "mmio");
  binder.time("cycle", mmio.cycle, "clock of the core and of the way to the root complex");
  binder.integer("store_cycles", mmio.store_cycles, "a line of stores", 1, 1'000);
  binder.integer("fence_cycles", mmio.fence_cycles, "sfence, beside what it waits for", 0, 10'000);
  binder.integer("down_cycles", mmio.down_cycles, "core to root complex", 0, 10'000);
  binder.integer("up_cycles", mmio.up_cycles, "the root complex's response back to the core", 0, 10'000);
  binder.time("spread", mmio.spread,
              "what a write may take longer, at random, on its way to the root complex");
  binder.time("way_gap", mmio.way_gap, "between two operations that enter that way; 0ps is unlimited");
  binder.integer("way_entries", mmio.way_entries, "operations on that way", 1, 1'024);
  binder.time("root_complex", mmio.root_complex, "a write inside the root complex");
  binder.integer("root_complex_entries", mmio.root_complex_entries, "writes inside the root complex", 1,
                 1'024);
  binder.time("root_complex_answer", mmio.root_complex_answer,
              "the answer to a load inside the root complex");
  binder.time("device", mmio.device, "from the link until the device has a write or answers a load");
  binder.integer("link_credits", mmio.link_credits, "writes on the link; 0 is unlimited", 0, 4'096);
  binder.time("link_spread", mmio.link_spread, "as mmio.spread, for the link");
  binder.integer("combining_buffers", mmio.combining.buffers, "write-combining buffers of the core", 1, 64);
  binder.choice<MmioOrderPlace>("order_at", mmio.place, kPlaces, "where numbered stores are put in order");
  binder.choice<ordering::ReleaseRule>("release_rule", mmio.reorder.rule, kReleaseRules,
                                       "whether plain stores wait for lower numbers, too");
  binder.integer("reorder_entries", mmio.reorder.entries_per_network,
                 "entries of the reorder buffer for stores, and as many for releases; a power of two", 1, 64);
}

Result<void> finish_mmio(const IoLinkConfig& link, MmioConfig& mmio) {
  const std::uint32_t entries = mmio.reorder.entries_per_network;
  if (!std::has_single_bit(entries))
    return input_error(
        fmt::format("mmio.reorder_entries is {}, expected a power of two from 1 to 64", entries));
  mmio.link = link;
  // The core sends as far ahead as the buffer has promised room.
  mmio.sequencer.windows = {entries, entries, entries};
  return {};
}

std::string section_of(const std::string& path) { return path.substr(0, path.rfind('.') + 1); }

/// A section that a profile describes has every latency of it: a figure must not rest on a default that
/// nobody chose. What takes no time by default may be left out.
Result<void> require_latencies(const ConfigDocument& document, const std::vector<KeyDoc>& keys,
                               const std::string& profile) {
  for (const KeyDoc& key : keys) {
    if (key.expected != "time" || key.default_value == format_time(kTimeZero) ||
        document.peek(key.path) != nullptr)
      continue;
    const std::string section = section_of(key.path);
    const auto first = document.values().lower_bound(section);
    if (first == document.values().end() || !first->first.starts_with(section)) continue;
    return input_error(fmt::format("profile {} has [{}] without {}, expected a time: {}", profile,
                                   section.substr(0, section.size() - 1), key.path.substr(section.size()),
                                   key.doc));
  }
  return {};
}

}  // namespace

void bind_coherent_memory(Binder& binder, CoherentSetup& setup, const CoherentKeyScope& scope) {
  bind_ddr(binder, setup.host.ddr);
  bind_bus(binder, setup.host.coherence);
  bind_caches(binder, setup.host.core_cache);
  {
    const Binder::Section link(binder, "", scope.has_link, "only with a NIC behind PCIe");
    bind_link(binder, setup.host.io_link);
  }
  bind_root_complex(binder, setup.host.root_complex, scope.judges_order);
  const Binder::Section section(binder, "dma");
  binder.time("issue", setup.dma.issue, "from one access of a stream to the next");
  binder.flag("shared_issue", setup.dma.shared_issue, "all streams share one issue slot");
}

void bind_coherent(Binder& binder, CoherentSetup& setup) {
  bind_coherent_memory(binder, setup, {.has_link = true});
  bind_mmio(binder, setup.mmio);
}

Result<CoherentSetup> load_coherent(const std::filesystem::path& directory, const std::string& name,
                                    const std::vector<std::string>& overrides) {
  ConfigDocument document;
  std::vector<std::filesystem::path> files;
  WHARF_TRY(add_profile(document, files, directory, {name, "model.profile", {}}, ""));
  for (const std::string& assignment : overrides) WHARF_TRY(document.add_override(assignment));
  CoherentSetup setup;
  Binder binder(document);
  bind_coherent(binder, setup);
  WHARF_TRY(binder.finish({}));
  WHARF_TRY(require_latencies(document, binder.keys(), name));
  WHARF_TRY(validate(setup.host));
  WHARF_TRY(finish_mmio(setup.host.io_link, setup.mmio));
  return setup;
}

}  // namespace wharf::sim
