// SPDX-License-Identifier: Apache-2.0
// Sizes that follow from keys are computed; constants are what a world of hosts held beside that, by the
// resident size of `wharf run` with 32 to 1,024 hosts on a star (estimate_test.cc compares the sum with real
// runs).
#include "sim/scenario/memory_estimate.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <variant>

#include "base/line.h"
#include "base/zeroed_pages.h"
#include "sim/host/core/operation_log.h"
#include "sim/scenario/queue_depth.h"
#include "workload/workload.h"

namespace wharf::sim {
namespace {

/// The program itself with its libraries, and a scenario's documents.
constexpr std::uint64_t kProgramBytes = 14U << 20U;
/// A host beside its caches and queues: event loop, NIC, ports, an engine without queues.
constexpr std::uint64_t kHostBytes = 96U << 10U;
/// What a full host held besides all that follows from keys; what huge pages round up to is in it.
constexpr std::uint64_t kFullHostBytes = 512U << 10U;
/// Of a port of a switch: its queues and counters.
constexpr std::uint64_t kPortBytes = 512;
/// Rings of send, receive and completion entries in host memory (Host::create_queue).
constexpr std::uint64_t kRingBytesPerEntry = 4 * 64;
/// Of the memory for the results of atomics that each remote has (SimRemote): what its calls touch.
constexpr std::uint64_t kRemoteBytes = 4U << 10U;
/// What the engine and the NIC keep of a queue, and of each of its entries.
constexpr std::uint64_t kQueueBytes = 64U << 10U;
constexpr std::uint64_t kBytesPerEntry = 448;
/// A worker of a program: its frame and small buffers.
constexpr std::uint64_t kWorkerBytes = 4U << 10U;
/// Tags and places of a line that the load/store path caches, beside its bytes.
constexpr std::uint64_t kPlaceBytes = 10;
/// Coherent memory: directory, private caches, controllers and trackers of a host.
constexpr std::uint64_t kCoherentBytes = 5760U << 10U;
/// A record of the log, one of the merged log, and what sorting latencies takes.
constexpr std::uint64_t kBytesPerRecord = 2 * sizeof(OperationEntry) + 16;
/// A client that replays a trace, beside its caches and its frames of pages: what it has read ahead.
constexpr std::uint64_t kReplayBytes = 2U << 20U;
/// What a pager keeps of a frame.
constexpr std::uint64_t kFrameBytes = 64;

/// Bytes that one operation of the program moves.
std::uint64_t payload_of(const workload::WorkloadConfig& config) {
  return std::visit(
      [](const auto& chosen) -> std::uint64_t {
        if constexpr (requires { chosen.payload; }) {
          return chosen.payload;
        } else if constexpr (requires { chosen.value_bytes; }) {
          return chosen.value_bytes;
        } else {
          return kLineBytes;
        }
      },
      config);
}

/// Of zeroed memory of which the first `touched` bytes are used: pieces smaller than half a huge page are
/// cleared when they are made.
std::uint64_t backed(std::uint64_t length, std::uint64_t touched) {
  return length < ZeroedPages::kHugePage / 2 ? length : std::min(touched, length);
}

std::uint64_t host_bytes(const HostGroup& group) {
  if (group.thin) return kHostBytes;
  const CacheHierarchyConfig& cache = group.host.cache;
  const std::uint64_t lines =
      std::uint64_t{cache.l1.shape.lines} + cache.l2.shape.lines + cache.llc.shape.lines;
  std::uint64_t bytes = kHostBytes + kFullHostBytes + lines * sizeof(LineNumber);
  if (traits(group.engine.stack).load_store) bytes += lines * kPlaceBytes;
  if (group.host.memory.system == MemorySystem::kCoherent) bytes += kCoherentBytes;
  return bytes;
}

/// One end of a connection.
std::uint64_t queue_bytes(std::uint64_t depth) {
  return kRemoteBytes + kQueueBytes + depth * (kRingBytesPerEntry + kBytesPerEntry);
}

/// What a client has beside what every host has: its end of the connection, its program, and lines of remote
/// memory.
std::uint64_t client_bytes(const ScenarioConfig& config, const workload::WorkloadConfig& program,
                           std::uint64_t segment) {
  const workload::LoopConfig& loop = workload::loop_config(program);
  const std::uint64_t payload = payload_of(program);
  // A buffer of each worker, and the bytes of one operation on their way.
  std::uint64_t bytes = loop.concurrency * (payload + kWorkerBytes) + payload;
  bytes += backed(segment, 0);
  // Three versions and a bit of each key, and when each put was, for the judge.
  if (const auto* store = std::get_if<workload::KeyValueConfig>(&program)) {
    bytes += std::uint64_t{store->keys} * 97 / 8;
    bytes += sizeof(workload::KeyTime) *
             workload::puts_to_expect(loop.operations + loop.warmup_operations, store->put_fraction);
  }
  if (traits(config.stack).load_store) {
    const CacheHierarchyConfig& cache = config.host.cache;
    const std::uint64_t last = cache.llc.shape.lines != 0 ? cache.llc.shape.lines : cache.l2.shape.lines;
    bytes += std::min(last * kLineBytes, segment);
  }
  return bytes;
}

std::uint64_t program_bytes(const ScenarioConfig& config, const workload::WorkloadConfig& program,
                            const ProgramHosts& hosts) {
  const std::uint64_t clients = hosts.threads();
  const std::uint32_t parties = hosts.parties(program);
  const std::uint64_t offset = workload::region_offset(program);
  const std::uint64_t needed = workload::memory_needed(program, {0, parties});
  const std::uint64_t segment = std::max<std::uint64_t>(offset + needed, kLineBytes);
  const workload::Arrangement arrangement = workload::arrangement(program);
  const std::uint64_t regions = arrangement == workload::Arrangement::kShared ||
                                        arrangement == workload::Arrangement::kAttended ||
                                        arrangement == workload::Arrangement::kBeside
                                    ? std::min<std::uint64_t>(clients, hosts.servers.size())
                                    : clients;
  std::uint64_t bytes = regions * backed(segment, needed);
  const std::uint64_t own = workload::own_memory_needed(program);
  const std::uint64_t queues = arrangement == workload::Arrangement::kBeside ? 4 : 2;
  bytes += clients * (client_bytes(config, program, own != 0 ? own : segment) +
                      queues * queue_bytes(queue_depth(program)));
  const workload::LoopConfig& loop = workload::loop_config(program);
  const std::uint64_t all =
      loop.operations == 0 ? config.record_limit : loop.operations + loop.warmup_operations;
  return bytes + clients * std::min(all, config.record_limit) * kBytesPerRecord;
}

/// Clients that replay a trace; the memory that they reach holds nothing.
std::uint64_t replay_bytes(const ScenarioConfig& config, std::uint64_t clients) {
  const CacheHierarchyConfig& cache = config.host.cache;
  const std::uint64_t lines =
      std::uint64_t{cache.l1.shape.lines} + cache.l2.shape.lines + cache.llc.shape.lines;
  std::uint64_t each = kReplayBytes + lines * sizeof(LineNumber) + 2 * queue_bytes(kReplayQueueDepth);
  if (config.replay.far_memory == FarMemory::kPaged)
    each += std::uint64_t{config.replay.paging.resident_pages} * kFrameBytes;
  std::uint64_t bytes = clients * each;
  std::error_code status;
  const auto file = std::filesystem::file_size(config.replay.trace, status);
  if (!status && clients > 1) bytes += file;  // They share its bytes.
  return bytes;
}

}  // namespace

Result<std::uint64_t> estimate_memory(const ScenarioConfig& config) {
  auto plan = plan_world(config);
  if (!plan) return plan.error();
  std::uint64_t bytes = kProgramBytes;
  for (const HostGroup& group : plan->config.groups) bytes += group.count * host_bytes(group);
  bytes += plan->config.topology.ports().size() * kPortBytes;
  bytes += config.program == ProgramKind::kReplay ? replay_bytes(config, plan->programs[0].clients.size())
                                                  : program_bytes(config, config.workload, plan->programs[0]);
  for (std::size_t i = 0; i < config.programs.size(); ++i)
    bytes += program_bytes(config, config.programs[i].workload, plan->programs[i + 1]);
  return bytes;
}

}  // namespace wharf::sim
