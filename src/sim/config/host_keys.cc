// SPDX-License-Identifier: Apache-2.0
#include "sim/config/host_keys.h"

#include <fmt/format.h>

#include <array>

#include "sim/config/coherent_keys.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<StageRounding>, 2> kRoundings{{
    {"none", StageRounding::kNone},
    {"whole_nanoseconds", StageRounding::kWholeNanoseconds},
}};
constexpr std::array<Choice<WritePolicy>, 3> kWritePolicies{{
    {"write_back", WritePolicy::kWriteBack},
    {"write_through", WritePolicy::kWriteThrough},
    {"uncached", WritePolicy::kUncached},
}};
constexpr std::array<Choice<MemorySystem>, 2> kMemorySystems{{
    {"flat", MemorySystem::kFlat},
    {"coherent", MemorySystem::kCoherent},
}};
constexpr std::array<Choice<OrderPlace>, 2> kOrderPlaces{{
    {"destination", OrderPlace::kDestination},
    {"source", OrderPlace::kSource},
}};
constexpr std::array<Choice<PostedWriteRule>, 2> kPostedWrites{{
    {"posted", PostedWriteRule::kPosted},
    {"blocking", PostedWriteRule::kBlocking},
}};
constexpr std::array<Choice<ChargeRule>, 2> kChargeRules{{
    {"packet", ChargeRule::kPacket},
    {"payload", ChargeRule::kPayload},
}};
constexpr std::array<Choice<ReceiveEntryRule>, 2> kReceiveEntries{{
    {"fetched", ReceiveEntryRule::kFetched},
    {"prefetched", ReceiveEntryRule::kPrefetched},
}};
constexpr std::array<Choice<PayloadFetchRule>, 2> kPayloadFetches{{
    {"separate", PayloadFetchRule::kSeparate},
    {"with_entry", PayloadFetchRule::kWithEntry},
}};
constexpr std::array<Choice<NicImplementation>, 2> kImplementations{{
    {"engine", NicImplementation::kEngine},
    {"rtl", NicImplementation::kRtl},
}};
constexpr std::array<Choice<AtomicResultRule>, 2> kAtomicResults{{
    {"memory", AtomicResultRule::kMemory},
    {"completion", AtomicResultRule::kCompletion},
}};

void bind_cache_level(Binder& binder, std::string_view name, CacheLevelConfig& level) {
  const Binder::Section section(binder, name);
  binder.integer("lines", level.shape.lines, "64-byte lines; 0 leaves the level out", 0, kMaxCacheLines);
  binder.integer("ways", level.shape.ways, "associativity; as many as lines is fully associative", 0,
                 1 << 20);
  binder.time("latency", level.latency, "load to use when this level answers, the levels above included");
}

void bind_core(Binder& binder, CoreConfig& core, const HostKeyScope& scope, bool is_flat) {
  const Binder::Section section(binder, "core");
  {
    const Binder::Section queue(binder, "", scope.queue_path, "only work requests use it");
    binder.time("library_post", core.library_post, "software that turns a call into a work request");
    binder.time("work_request_build", core.work_request_build, "stores that write the work-queue entry");
    binder.time("library_poll", core.library_poll, "software that turns a completion into a return value");
    {
      const Binder::Section pcie(binder, "", scope.pcie,
                                 "only a NIC behind PCIe writes completions to host memory");
      binder.time("poll_host_memory", core.poll_host_memory,
                  "the core misses on a completion record in host memory");
    }
    {
      const Binder::Section bus(binder, "", !scope.pcie,
                                "only a NIC on the bus writes completions to an on-chip buffer");
      binder.time("poll_on_chip", core.poll_on_chip,
                  "the core reads a completion record in an on-chip buffer");
    }
  }
  // A core with coherent caches has their miss registers (core_cache.misses).
  const Binder::Section misses(binder, "",
                               scope.load_store_path || scope.replay || (scope.local_accesses && is_flat),
                               "only loads and stores of remote or flat memory use it");
  binder.integer(
      "outstanding_misses", core.outstanding_misses,
      "misses of local memory in flight; likewise those of remote memory, and dirty lines on their way there",
      1, 1024);
}

void bind_pcie_timing(Binder& binder, PcieConfig& pcie) {
  binder.time("read_round_trip", pcie.read_round_trip, "DMA read: request, root complex, completion");
  binder.time("posted_write", pcie.posted_write, "DMA write until it is visible");
  binder.rate("rate", pcie.rate, "bytes on the wire per direction after line coding; 0bps is unlimited");
  binder.integer("tags", pcie.tags, "non-posted requests in flight", 1, 4096);
  binder.integer("posted_credits", pcie.posted_credits,
                 "posted writes (TLPs) in flight per direction; 0 is unlimited", 0, 4096);
  binder.bytes("max_payload", pcie.max_payload, "data in one TLP", 64, 4096);
  binder.bytes("max_read_request", pcie.max_read_request, "data that one read request asks for", 64, 4096);
  binder.bytes("request_header", pcie.request_header, "header and framing of a memory request TLP", 0, 256);
  binder.bytes("completion_header", pcie.completion_header, "header and framing of a completion TLP", 0, 256);
}

void bind_pcie(Binder& binder, PcieConfig& pcie, const HostKeyScope& scope, bool is_flat) {
  const Binder::Section section(binder, "pcie", scope.pcie, "only with a NIC behind PCIe");
  binder.time("mmio_write", pcie.mmio_write, "posted write from the core to the NIC");
  {
    const Binder::Section flat(binder, "", is_flat, "only with memory.system = flat");
    bind_pcie_timing(binder, pcie);
  }
  binder.choice<PostedWriteRule>(
      "posted_writes", pcie.posted_writes, kPostedWrites,
      "whether the NIC goes on when a write is accepted or only when it is visible");
}

void bind_pipelines(Binder& binder, NicConfig& nic, const HostKeyScope& scope) {
  for (const wire::Protocol protocol : wire::kProtocols) {
    const PipelineKeys keys = pipeline_keys(protocol);
    const std::string_view title = wire::title_of(protocol);
    const bool two = !keys.load_store.empty();
    if (two) {
      const Binder::Section part(binder, "", scope.load_store_path, "only loads and stores use it");
      binder.integer(keys.load_store, nic.load_store_cycles,
                     fmt::format("pipeline depth for {} loads and stores", title), 1, 10'000);
    }
    const Binder::Section part(
        binder, "", (scope.queue_path || !two) && scope.protocol == protocol,
        fmt::format("only {}{} use{} it", title, two ? " work requests" : "", two ? "" : "s"));
    binder.integer(keys.queue, nic.queue_cycles[wire::index_of(protocol)],
                   two ? fmt::format("pipeline depth for packets of {} work requests", title)
                       : fmt::format("pipeline depth for {} packets", title),
                   1, 10'000);
  }
}

/// What the profile charges for the work of a NIC. The hardware counts its own cycles.
void bind_charged(Binder& binder, NicConfig& nic, const HostKeyScope& scope) {
  const bool is_charged = nic.implementation == NicImplementation::kEngine;
  const std::string_view only = "only with nic.implementation = \"engine\"";
  const Binder::Section charged(binder, "", is_charged, only);
  binder.time("cycle", nic.cycle, "clock period of the pipelines");
  binder.bytes("bytes_per_cycle", nic.bytes_per_cycle, "width of the data path: one flit", 1, 4096);
  bind_pipelines(binder, nic, scope);
  {
    const Binder::Section part(binder, "", is_charged && scope.queue_path,
                               is_charged ? "only work requests use it" : only);
    {
      const Binder::Section entries(binder, "", is_charged && scope.queue_path && scope.receive_entries,
                                    scope.receive_entries_only);
      binder.integer("receive_match_cycles", nic.receive_match_cycles,
                     "matching a message to its receive entry", 0, 10'000);
      binder.choice<ReceiveEntryRule>("receive_entries", nic.receive_entries, kReceiveEntries,
                                      "whether the NIC reads a receive entry when a message needs it");
    }
    binder.choice<PayloadFetchRule>("payload_fetch", nic.payload_fetch, kPayloadFetches,
                                    "whether payload that is not inline is a read of its own");
    binder.flag("send_notify_crossing", nic.send_notify_crossing,
                "a Send waits for one more bus crossing that notifies");
  }
  binder.integer("transmit_queue", nic.transmit_queue, "packets that wait before the transmit pipeline", 1,
                 256);
  binder.flag("cut_through", nic.cut_through,
              "the link transmits while flits still stream out of the pipeline");
  binder.flag("request_receive_stage", nic.request_receive_stage,
              "requests pass the target's receive pipeline");
  binder.choice<ChargeRule>("charged_bytes", nic.charged_bytes, kChargeRules,
                            "which bytes of a packet occupy the data path");
  const Binder::Section nominal(binder, "", is_charged && nic.charged_bytes == ChargeRule::kPayload,
                                is_charged ? "only with charged_bytes = \"payload\"" : only);
  binder.bytes("nominal_request_bytes", nic.nominal_request_bytes, "charge of a request without payload", 0,
               4096);
  binder.bytes("nominal_response_bytes", nic.nominal_response_bytes, "charge of a response without payload",
               0, 4096);
}

void bind_nic(Binder& binder, NicConfig& nic, const HostKeyScope& scope) {
  const Binder::Section section(binder, "nic");
  const bool is_rtl = nic.implementation == NicImplementation::kRtl;
  {
    const Binder::Section clock(binder, "", is_rtl, "only with nic.implementation = \"rtl\"");
    binder.time("rtl_cycle", nic.rtl_cycle, "clock period of the hardware");
  }
  bind_charged(binder, nic, scope);
  {
    const Binder::Section part(binder, "", scope.pcie, "only with a NIC behind PCIe");
    binder.bytes("inline_limit", nic.inline_limit, "payload that fits into an entry", 0, 256);
  }
  {
    const Binder::Section part(binder, "", scope.queue_path, "only work requests use it");
    binder.time("order_gate", nic.order_gate, "serialisation of each work request of a queue");
    binder.choice<AtomicResultRule>("atomic_result", nic.atomic_result, kAtomicResults,
                                    "where the old value of an atomic goes");
  }
  binder.bytes("port_buffer", nic.port_buffer,
               "packets behind the transmit pipeline that may wait for a link that is behind; beyond, the "
               "pipeline is held back",
               0, 1U << 24U);
}

void bind_stream(Binder& binder, MmioStreamConfig& stream, const HostKeyScope& scope) {
  const Binder::Section section(binder, "mmio_stream", scope.mmio_stream,
                                "only with model.submission = \"mmio_stream\"");
  binder.time("line", stream.line, "from one line of a core's stores to the next");
  binder.time("spread", stream.spread, "what a line may take longer, at random, on its way to the NIC");
  binder.integer("combining_buffers", stream.combining_buffers, "write-combining buffers of the core", 1, 64);
  binder.bytes("largest", stream.largest,
               "payload that is written to the NIC behind the entry; more is fetched", 0, 8192);
  binder.bytes("window_bytes", stream.window_bytes, "addresses of a queue, which wrap; a power of two", 128,
               1U << 30U);
  binder.bytes("buffer_bytes", stream.buffer_bytes, "a data buffer of the reorder unit; a power of two", 64,
               65'536);
  binder.integer("buffers", stream.buffers, "data buffers: queues that can have an incomplete message", 1,
                 4'096);
  binder.bytes("memory_bytes", stream.memory_bytes, "NIC memory of messages that are not done", 64,
               1U << 30U);
  binder.time("unit_cycle", stream.unit_cycle, "clock period of the reorder unit");
}

}  // namespace

void bind_implementation(Binder& binder, NicConfig& nic) {
  const Binder::Section section(binder, "nic");
  binder.choice<NicImplementation>(
      "implementation", nic.implementation, kImplementations,
      "whether the NIC is an engine with charged cycles or the clocked hardware");
}

void bind_host(Binder& binder, HostConfig& config, const HostKeyScope& scope) {
  {
    // Before all others, which depend on it.
    const Binder::Section section(binder, "memory");
    binder.choice<MemorySystem>("system", config.memory.system, kMemorySystems,
                                "a cost per access, or lines with copies in caches and an ordering queue");
  }
  const bool is_flat = config.memory.system == MemorySystem::kFlat;
  {
    const Binder::Section section(binder, "time");
    binder.choice<StageRounding>("rounding", config.time.rounding, kRoundings,
                                 "how the duration of each stage is rounded");
  }
  bind_core(binder, config.core, scope, is_flat);
  {
    const Binder::Section section(binder, "cache",
                                  scope.load_store_path || scope.replay || (scope.local_accesses && is_flat),
                                  "only loads and stores of the core use it");
    bind_cache_level(binder, "l1", config.cache.l1);
    bind_cache_level(binder, "l2", config.cache.l2);
    bind_cache_level(binder, "llc", config.cache.llc);
    binder.choice<WritePolicy>("write_policy", config.cache.write_policy, kWritePolicies,
                               "what a store does");
    binder.optional_time("miss_detection", config.cache.miss_detection,
                         "flat time until a miss may leave; none: the tag checks of the levels");
  }
  {
    const Binder::Section section(binder, "memory");
    const Binder::Section flat(binder, "", is_flat, "only with memory.system = flat");
    binder.time("row_hit", config.memory.row_hit, "a NIC's access to an open row");
    {
      const Binder::Section core(
          binder, "", scope.local_accesses || scope.replay || (scope.context_fetches && !scope.pcie),
          "only with loads and stores of memory by its own core, or context records that a "
          "NIC on the bus fetches");
      binder.time("load_latency", config.memory.load_latency, "a core's access");
    }
    binder.rate("rate", config.memory.rate, "data rate of the channels together; 0bps is unlimited");
  }
  {
    const Binder::Section section(binder, "bus",
                                  !scope.pcie || scope.load_store_path || config.nic.send_notify_crossing,
                                  "only with a NIC on the on-chip bus");
    binder.time("crossing", config.bus.crossing, "one transaction, request and reply together");
    binder.rate("rate", config.bus.rate, "data rate per direction; 0bps is unlimited");
  }
  bind_pcie(binder, config.pcie, scope, is_flat);
  bind_nic(binder, config.nic, scope);
  bind_stream(binder, config.mmio_stream, scope);
  const Binder::Section coherent(binder, "", !is_flat, "only with memory.system = coherent");
  bind_coherent_memory(binder, config.coherent, {.has_link = scope.pcie, .judges_order = scope.judges_order});
  const Binder::Section dma(binder, "dma");
  binder.choice<OrderPlace>("order", config.coherent.order, kOrderPlaces,
                            "who keeps the order that accesses ask for: root complex or NIC");
}

}  // namespace wharf::sim
