// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/idle_keys.h"

#include <fmt/format.h>

#include <variant>

#include "sim/protocols/request_rules.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/topology_source.h"
#include "verbs/verb.h"

namespace wharf::sim {
namespace {

using workload::AccessPath;

void remark_idle(const ConfigDocument& document, std::string_view path, std::string_view needs,
                 std::vector<std::string>& remarks) {
  const ConfigValue* const value = document.peek(path);
  if (value == nullptr || value->layer < kScenarioLayer) return;
  const std::string start = fmt::format("{} (", path);
  for (const std::string& remark : remarks) {
    if (remark.starts_with(start)) return;
  }
  remarks.push_back(fmt::format("{}{}) had no influence: {}", start, value->origin, needs));
}

/// The rules of one program.
class Rules {
 public:
  Rules(const ConfigDocument& document, std::string_view section, const HostSettings& hosts,
        std::vector<std::string>& remarks)
      : document_(document), section_(section), hosts_(hosts), remarks_(remarks) {}

  void operator()(const workload::PointerChaseConfig& chase) {
    unless(!uses_loads(chase.access), "local_load", "only with access by work requests");
  }
  void operator()(const workload::SequentialScanConfig& scan) {
    unless(uses_loads(scan.access), "load_step", "only with access by loads and stores");
  }
  void operator()(const workload::KeyValueConfig& table) {
    unless(table.put_fraction > 0, "torn_retries", "only with a put_fraction above 0");
  }
  void operator()(const workload::VerbLoopConfig& loop) {
    const bool queue = !verbs::is_load_store(loop.verb);
    const bool ordered = queue && orders_requests(hosts_.protocol());
    unless(ordered, "order_tag", "only with work requests of Unified Bus");
    unless(ordered, "completion_in_order", "only with work requests of Unified Bus");
    unless(queue, "fence", "only with work requests");
    using verbs::Verb;
    const bool touches =
        loop.verb != Verb::kSend && loop.verb != Verb::kSendImm && loop.verb != Verb::kSendInvalidate;
    for (const std::string_view key : {"region_bytes", "order", "hot_fraction"})
      unless(touches, key, "only with verbs that reach the region");
    unless(touches && loop.hot_fraction > 0, "hot_blocks", "only with a hot_fraction above 0");
    unless(verbs::is_send(loop.verb), "tags", "only with verbs that send");
    unless(loop.verb == Verb::kStore && hosts_.host.cache.write_policy == WritePolicy::kWriteBack,
           "publish_every", "only with verb = \"store\" and write-back caches");
    unless(workload::needs_receiver(loop), "start_delay", "only with verbs that take a receive entry");
  }
  void operator()(const workload::ItemGetsConfig& gets) {
    using workload::GetProtocol;
    unless(gets.protocol == GetProtocol::kPessimistic || gets.protocol == GetProtocol::kValidation, "posting",
           "only with protocol = \"pessimistic\" or \"validation\"");
    unless(hosts_.host.memory.system == MemorySystem::kCoherent, "read_order",
           "only with memory.system = coherent");
    unless(gets.protocol == GetProtocol::kFarm, "copy_line", "only with protocol = \"farm\"");
    const bool writes = gets.writer != workload::ItemWriter::kNone;
    unless(writes, "writers", "only with a writer");
    unless(writes, "write_gap", "only with a writer");
    unless(gets.writer == workload::ItemWriter::kCore, "start_delay", "only with writer = \"core\"");
  }
  void operator()(const workload::RingCollectiveConfig& ring) {
    unless(workload::ring_detail::reduces(ring), "time_per_mib",
           "only with collective = \"all_reduce\" or \"reduce_scatter\"");
  }
  void operator()(const workload::RdmoConfig& rdmo) {
    using workload::RdmoProtocol;
    using workload::RdmoUse;
    const bool attended = workload::is_attended(rdmo);
    const bool queue = rdmo.use == RdmoUse::kQueue;
    const bool watched = queue || rdmo.use == RdmoUse::kLog;
    unless(queue, "queue_bytes", "only with use = \"queue\"");
    unless(rdmo.use == RdmoUse::kLog, "readers", "only with use = \"log\"");
    unless(rdmo.use == RdmoUse::kScatter, "rows", "only with use = \"scatter\"");
    unless(!queue && rdmo.use != RdmoUse::kScatter, "log_bytes", "only with a use that keeps a log");
    unless(watched, "publish_delay", "only with use = \"log\" or \"queue\"");
    unless(watched || rdmo.protocol == RdmoProtocol::kClientLock, "retry_wait",
           "only with protocol = \"client_lock\", or use = \"log\" or \"queue\"");
    unless(rdmo.use != RdmoUse::kWriteAhead, "flush_every",
           "not with use = \"write_ahead\", which waits for each flush");
    unless(attended, "eager_most", "only with protocol = \"worker\" or \"server_thread\"");
    unless(attended, "start_delay", "only with protocol = \"worker\" or \"server_thread\"");
    unless(rdmo.load_percent > 0, "load_burst", "only with a load_percent above 0");
  }
  void operator()(const auto&) {}

  void loop(const workload::LoopConfig& loop) {
    const bool open = loop.pacing == workload::Pacing::kOpen;
    unless(!open, "think_time", "only with pacing = \"closed\"");
    unless(open, "arrivals_per_second", "only with pacing = \"open\"");
  }

 private:
  bool uses_loads(AccessPath access) const {
    return access == AccessPath::kLoadStore ||
           (access == AccessPath::kAuto && traits(hosts_.stack).load_store);
  }
  void unless(bool acts, std::string_view key, std::string_view needs) {
    if (!acts) remark_idle(document_, fmt::format("{}.{}", section_, key), needs, remarks_);
  }

  const ConfigDocument& document_;
  std::string_view section_;
  const HostSettings& hosts_;
  std::vector<std::string>& remarks_;
};

/// Links of a world: those of a file are as it says, and fabric.* counts before model.link.*.
void remark_idle_links(const ConfigDocument& document, const std::string& topology,
                       std::vector<std::string>& remarks) {
  struct Rule {
    std::string_view link;  ///< What is as `network` unless that is given.
    std::string_view network;
  };
  constexpr Rule kRules[] = {{"model.link.rate", "fabric.link_speed"},
                             {"model.link.delay", "fabric.hop_latency"},
                             {"", "fabric.switch_latency"}};
  const bool file = !topology.empty() && !means_topology_name(topology);
  for (const Rule& rule : kRules) {
    if (file) {
      const std::string needs = "only with a topology by name; \"" + topology + "\" says what its links are";
      remark_idle(document, rule.link, needs, remarks);
      remark_idle(document, rule.network, needs, remarks);
      continue;
    }
    const ConfigValue* const stronger = document.peek(rule.network);
    if (stronger != nullptr)
      remark_idle(document, rule.link, fmt::format("{} stands beside it", rule.network), remarks);
  }
}

/// Of one program, whose keys are in `section`.
void remark_idle_program(const ConfigDocument& document, std::string_view section,
                         const workload::WorkloadConfig& program, const HostSettings& hosts,
                         std::vector<std::string>& remarks) {
  Rules rules(document, section, hosts, remarks);
  rules.loop(workload::loop_config(program));
  std::visit([&rules](const auto& chosen) { rules(chosen); }, program);
}

}  // namespace

void remark_idle_keys(const ConfigDocument& document, const ScenarioConfig& config,
                      std::vector<std::string>& remarks) {
  if (config.program == ProgramKind::kWorkload)
    remark_idle_program(document, "run", config.workload, config, remarks);
  for (const ProgramSettings& program : config.programs)
    remark_idle_program(document, "program." + program.name, program.workload, config, remarks);
  if (config.world.given) remark_idle_links(document, config.world.fabric.topology, remarks);
}

}  // namespace wharf::sim
