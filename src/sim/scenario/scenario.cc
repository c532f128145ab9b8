// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "sim/config/given_keys.h"
#include "sim/config/host_keys.h"
#include "sim/config/link_keys.h"
#include "sim/config/profile.h"
#include "sim/host/core/sim_remote.h"
#include "sim/scenario/group_errors.h"
#include "sim/scenario/hardware_nic.h"
#include "sim/scenario/idle_keys.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/replay_run.h"
#include "sim/scenario/scenario_kind.h"
#include "sim/scenario/stack_abilities.h"
#include "sim/scenario/summary_schema.h"
#include "verbs/verb.h"

namespace wharf::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReplay = "replay";
constexpr std::string_view kOnlyWithProgram = "only with run.workload = ";
constexpr std::array<std::string_view, 1> kTables{"expect"};

/// "stack" leaves the choice to the stack.
constexpr std::array<Choice<std::optional<Attachment>>, 3> kAttachments{{
    {"stack", std::nullopt},
    {"on_chip_bus", Attachment::kOnChipBus},
    {"pcie", Attachment::kPcie},
}};
constexpr std::array<Choice<NicSpread>, 2> kNicSpreads{{
    {"queue", NicSpread::kQueue},
    {"peer", NicSpread::kPeer},
}};
constexpr std::array<Choice<std::optional<SubmissionPath>>, 5> kSubmissions{{
    {"stack", std::nullopt},
    {"bus_store", SubmissionPath::kBusStore},
    {"doorbell", SubmissionPath::kDoorbell},
    {"blueflame", SubmissionPath::kBlueFlame},
    {"mmio_stream", SubmissionPath::kMmioStream},
}};

/// Names of run.workload: every program, and the replay.
std::vector<std::string_view> program_names() {
  const auto names = workload::workload_names();
  std::vector<std::string_view> all(names.begin(), names.end());
  all.push_back(kReplay);
  return all;
}

void bind_program(Binder& binder, ScenarioConfig& config) {
  std::vector<Choice<std::size_t>> choices;
  for (const std::string_view name : program_names()) choices.push_back({name, choices.size()});
  std::size_t chosen = config.program == ProgramKind::kReplay ? choices.size() - 1 : config.workload.index();
  const std::size_t before = chosen;
  binder.choice<std::size_t>("workload", chosen, choices, "the program that runs");
  if (chosen != before) {
    if (chosen == choices.size() - 1) {
      config.program = ProgramKind::kReplay;
    } else {
      config.program = ProgramKind::kWorkload;
      config.workload = workload::default_config(static_cast<workload::WorkloadKind>(chosen));
    }
  }
  const bool replay = config.program == ProgramKind::kReplay;
  {
    const std::string condition =
        replay ? std::string("not with run.workload = replay")
               : fmt::format("{}{}", kOnlyWithProgram, workload::name(workload::kind_of(config.workload)));
    const Binder::Section keys(binder, "", !replay, condition);
    workload::bind_keys(config.workload, binder);
  }
  bind_replay_run(binder, config.replay, replay);
  bind_placement(binder, config.placement);
}

/// What runs, "run.workload" first; nothing in the place of a replay.
std::vector<const workload::WorkloadConfig*> programs_of(const ScenarioConfig& config) {
  std::vector<const workload::WorkloadConfig*> programs;
  if (config.program == ProgramKind::kWorkload) programs.push_back(&config.workload);
  for (const ProgramSettings& program : config.programs) programs.push_back(&program.workload);
  return programs;
}

/// Whether `program` loads or stores memory of the host that it runs on.
bool loads_local_memory(const workload::WorkloadConfig& program, bool load_store_stack) {
  using workload::AccessPath;
  if (const auto* gets = std::get_if<workload::ItemGetsConfig>(&program))
    return gets->writer == workload::ItemWriter::kCore;
  const auto* chase = std::get_if<workload::PointerChaseConfig>(&program);
  if (chase == nullptr || !chase->local_load || chase->access == AccessPath::kLoadStore) return false;
  return chase->access != AccessPath::kAuto || !load_store_stack;
}

/// Which parts of the hosts matter to this run.
HostKeyScope scope_of(const ScenarioConfig& config) {
  HostKeyScope scope;
  scope.pcie = config.attachment == Attachment::kPcie;
  scope.protocol = config.protocol();
  scope.receive_entries = rules_of(scope.protocol).receive_entries;
  scope.receive_entries_only = "only " +
                               titles_of([](const ProtocolRules& rules) { return rules.receive_entries; }) +
                               " keep receive entries in host memory";
  scope.mmio_stream = config.submission == SubmissionPath::kMmioStream;
  const bool load_store_stack = traits(config.stack).load_store;
  const bool replay = config.program == ProgramKind::kReplay;
  const bool by_lines = config.replay.far_memory == FarMemory::kLines;
  scope.load_store_path = replay && load_store_stack && by_lines;
  scope.replay = replay;
  scope.local_accesses = false;
  scope.context_fetches = visit_protocol(scope.protocol, [&]<typename P>(std::type_identity<P>) {
    return P::fetches_contexts(std::get<typename P::Settings>(config.protocols));
  });
  scope.queue_path = replay && !scope.load_store_path;
  for (const workload::WorkloadConfig* program : programs_of(config)) {
    if (std::holds_alternative<workload::ItemGetsConfig>(*program)) scope.judges_order = true;
    if (loads_local_memory(*program, load_store_stack)) scope.local_accesses = true;
    for (const verbs::Verb verb : workload::verbs_needed(*program, load_store_stack))
      (verbs::is_load_store(verb) ? scope.load_store_path : scope.queue_path) = true;
  }
  return scope;
}

/// Whether a program has a party at the target that RDMO's messages keep busy.
bool serves_rdmo(const ScenarioConfig& config) {
  const auto programs = programs_of(config);
  return std::any_of(programs.begin(), programs.end(), [](const workload::WorkloadConfig* program) {
    const auto* rdmo = std::get_if<workload::RdmoConfig>(program);
    return rdmo != nullptr && workload::is_attended(*rdmo);
  });
}

Error unsupported(const std::string& what, std::string_view expected) {
  return input_error(fmt::format("{}, expected {}", what, expected));
}

/// Memory that a program may want of a host. Choice: what a large server has; the machine that simulates has
/// to find it twice.
constexpr Bytes kMostMemory = kibibytes(64 << 20);

/// The key that decides how much memory a program has at the target, and its value.
std::pair<std::string_view, std::string> size_key(const workload::WorkloadConfig& config) {
  return std::visit(
      [](const auto& chosen) -> std::pair<std::string_view, std::string> {
        if constexpr (requires { chosen.lines; }) {
          return {"lines", std::to_string(chosen.lines)};
        } else if constexpr (requires { chosen.worker_at; }) {
          return {"payload", format_bytes(Bytes{chosen.payload})};
        } else if constexpr (requires { chosen.keys; }) {
          return {"keys", std::to_string(chosen.keys)};
        } else if constexpr (requires { chosen.region_bytes; }) {
          return {"region_bytes", format_bytes(Bytes{chosen.region_bytes})};
        } else if constexpr (requires { chosen.table_bytes; }) {
          return {"table_bytes", format_bytes(Bytes{chosen.table_bytes})};
        } else if constexpr (requires { chosen.items; }) {
          return {"items", std::to_string(chosen.items)};
        } else if constexpr (requires { chosen.buffer_bytes; }) {
          return {"buffer_bytes", format_bytes(Bytes{chosen.buffer_bytes})};
        } else {
          return {"concurrency", std::to_string(chosen.loop.concurrency)};
        }
      },
      config);
}

/// Calls that each worker of a program may have under way on one queue.
std::uint32_t calls_per_worker(const workload::WorkloadConfig& config) {
  // A message of its own, and two receive entries for the answers.
  if (std::holds_alternative<workload::PingPongConfig>(config)) return 3;
  // Two requests of a get, and as many writers for each reader as there may be.
  if (const auto* gets = std::get_if<workload::ItemGetsConfig>(&config))
    return 2 + (gets->writers + gets->loop.concurrency - 1) / gets->loop.concurrency;
  // Two messages, each with two receive entries and a hand that sends.
  if (std::holds_alternative<workload::RdmoConfig>(config)) return 16;
  const auto* loop = std::get_if<workload::VerbLoopConfig>(&config);
  return loop != nullptr && workload::needs_receiver(*loop) ? workload::kEntriesPerWorker : 1;
}

/// Refuses programs that want more memory, or more calls at a time, than a host can have.
Result<void> check_needs(const workload::WorkloadConfig& config, std::string_view section,
                         workload::Party party) {
  const std::uint64_t offset = workload::region_offset(config);
  if (offset > kMostMemory.count) {
    return input_error(fmt::format("{}.region_offset is {}, expected at most {}, the memory of a host",
                                   section, format_bytes(Bytes{offset}), format_bytes(kMostMemory)));
  }
  const std::uint64_t needed = workload::memory_needed(config, party);
  if (needed > kMostMemory.count - offset) {
    const auto [key, value] = size_key(config);
    return input_error(fmt::format(
        "{}.{} is {}, which needs {} of memory, expected a need of at most {}, the memory of a host", section,
        key, value, format_bytes(Bytes{needed}), format_bytes(Bytes{kMostMemory.count - offset})));
  }
  const std::uint32_t workers = workload::loop_config(config).concurrency;
  const std::uint32_t most = SimRemote::kMostCalls / calls_per_worker(config);
  if (workers > most) {
    return input_error(
        fmt::format("{}.concurrency is {}, expected at most {}: each worker has up to {} calls under way, "
                    "and a queue {}",
                    section, workers, most, calls_per_worker(config), SimRemote::kMostCalls));
  }
  return {};
}

Result<void> check_program(const workload::WorkloadConfig& config, std::string_view section,
                           workload::Party party) {
  if (auto checked = workload::check(config, party); !checked) {
    return input_error(fmt::format("{}.{} ({}.workload = \"{}\")", section, checked.error().message, section,
                                   workload::name(workload::kind_of(config))));
  }
  return check_needs(config, section, party);
}

/// The parameters of the protocol that is in use.
Result<void> check_protocol(const ScenarioConfig& config) {
  return visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
    return P::check(std::get<typename P::Settings>(config.protocols), config.link, config.host);
  });
}

/// Refuses a program that needs more than any host has, or than its protocol carries as it is set.
Result<void> check_one_program(const workload::WorkloadConfig& config, std::string_view section,
                               const ScenarioConfig& scenario) {
  WHARF_TRY(check_program(config, section, {0, workload::parties_needed(config)}));
  return visit_protocol(scenario.protocol(), [&]<typename P>(std::type_identity<P>) -> Result<void> {
    if constexpr (requires { &P::check_program; }) {
      if (!traits(scenario.stack).load_store)
        return P::check_program(std::get<typename P::Settings>(scenario.protocols), config, section);
    }
    return {};
  });
}

/// Machine and protocol: combinations of keys that make no sense together.
Result<void> check_hosts(const ConfigDocument& document, const ScenarioConfig& config) {
  WHARF_TRY(validate(config.host));
  WHARF_TRY(validate(config.host.cache));
  WHARF_TRY(validate(config.link));
  WHARF_TRY(check_protocol(config));
  const bool on_bus = config.attachment == Attachment::kOnChipBus;
  if (on_bus != (config.submission == SubmissionPath::kBusStore)) {
    return on_bus ? unsupported("model.submission is a PCIe path, but the NIC sits on the on-chip bus",
                                "model.submission = \"bus_store\" or model.attachment = \"pcie\"")
                  : unsupported("model.submission is \"bus_store\", but the NIC sits behind PCIe",
                                "model.submission = \"doorbell\", \"blueflame\" or \"mmio_stream\"");
  }
  if (traits(config.stack).load_store && !on_bus) {
    return unsupported(
        "model.attachment is \"pcie\", but loads and stores of mapped remote memory need a NIC on the bus",
        fmt::format("model.attachment = \"on_chip_bus\" or model.stack = \"{}\"", name(kDefaultStack)));
  }
  if (traits(config.stack).load_store && config.nics.count > 1) {
    return input_error(
        fmt::format("nics is {}, expected 1 with model.stack = \"{}\": loads and stores of mapped remote "
                    "memory leave by one NIC",
                    config.nics.count, name(config.stack)));
  }
  return check_hardware(document, config);
}

/// What runs, on hosts that passed their check.
Result<void> check_programs(const ScenarioConfig& config) {
  if (config.program == ProgramKind::kReplay) {
    if (config.replay.trace.empty())
      return unsupported("run.trace is empty", "the file name of a memory trace");
    if (!config.programs.empty() && traits(config.stack).load_store)
      return input_error(fmt::format(
          "program.{}.* stands beside run.workload = \"replay\" over model.stack = \"{}\", where the "
          "replay has the caches of its host, expected another stack or no program beside it",
          config.programs.front().name, name(config.stack)));
    WHARF_TRY(check_replay(config));
  } else {
    WHARF_TRY(check_one_program(config.workload, "run", config));
  }
  for (const ProgramSettings& program : config.programs)
    WHARF_TRY(check_one_program(program.workload, "program." + program.name, config));
  return {};
}

/// Refuses a world that cannot be: who runs what where.
Result<void> check_world(const ScenarioConfig& config) {
  const auto plan = plan_world(config);
  if (!plan) return plan.error();
  auto by_host = settings_by_host(config.groups, plan->roles);
  if (!by_host) return by_host.error();
  WHARF_TRY(check_hardware_world(config, *by_host));
  const auto check = [&](std::size_t number, const workload::WorkloadConfig& program,
                         std::string_view section) -> Result<void> {
    const HostSettings* checked = nullptr;
    std::vector<const HostSettings*> clients;
    for (const std::uint32_t client : plan->programs[number].clients) {
      const HostSettings& host = (*by_host)[client] != nullptr ? *(*by_host)[client] : config;
      clients.push_back(&host);
      if (&host == checked) continue;
      checked = &host;
      WHARF_TRY(check_abilities(program, section, host, config.link));
    }
    WHARF_TRY(check_shared_lines(program, section, clients));
    return check_program(program, section, {0, plan->programs[number].parties(program)});
  };
  if (config.program != ProgramKind::kReplay) WHARF_TRY(check(0, config.workload, "run"));
  for (std::size_t i = 0; i < config.programs.size(); ++i)
    WHARF_TRY(check(i + 1, config.programs[i].workload, "program." + config.programs[i].name));
  return {};
}

/// Names that the checks of lower layers give to keys, which scenarios call otherwise; protocols have theirs.
constexpr std::array<LowerName, 2> kLowerNames{{
    {"replay.miss_slots", "core.outstanding_misses"},
    {"replay.local_memory", "memory.load_latency"},
}};

/// The name that scenarios give to a key of a lower layer.
std::string_view scenario_name(std::string_view name) {
  const auto look = [&](std::span<const LowerName> names) {
    for (const auto& [lower, ours] : names) {
      if (name == lower) name = ours;
    }
  };
  look(kLowerNames);
  for (const ProtocolRules& protocol : kProtocolRules) look(protocol.lower_names);
  return name;
}

/// `error` of a check of the whole, which begins with a key as lower layers name it: with the key's full
/// name, and the place that set it; `fallback` stands for the place when it has its default.
Error located(const Error& error, const ConfigDocument& document, const std::vector<KeyDoc>& keys,
              const std::string& fallback) {
  const std::string& text = error.message;
  const std::size_t end = std::min(text.find_first_of(" :"), text.size());
  std::string_view name = scenario_name(std::string_view(text.data(), end));
  for (const std::string_view prefix : {"", "model.", "run."}) {
    const std::string path = fmt::format("{}{}", prefix, name);
    const auto is_path = [&path](const KeyDoc& key) { return key.path == path; };
    if (std::none_of(keys.begin(), keys.end(), is_path)) continue;
    const ConfigValue* value = document.peek(path);
    return Error{error.kind, fmt::format("{}: {}{}", value == nullptr ? fallback : value->origin, path,
                                         text.substr(end))};
  }
  // Keys of groups are not among those that are bound.
  if (const ConfigValue* value = document.peek(name); value != nullptr)
    return Error{error.kind, fmt::format("{}: {}", value->origin, text)};
  // A section stands for the first of its keys that was given: "hosts.*", "model.faults".
  if (name.ends_with(".*")) name.remove_suffix(2);
  for (const auto& [path, value] : document.values()) {
    if (path.size() > name.size() && path.starts_with(name) && path[name.size()] == '.')
      return Error{error.kind, fmt::format("{}: {}{}", value.origin, path, text.substr(end))};
  }
  return Error{error.kind, fmt::format("{}: {}", fallback, text)};
}

/// Program, machine and protocol.
void bind_hosts(Binder& binder, ScenarioConfig& config) {
  const Binder::Section model_first(binder, "model");
  binder.text("profile", config.profile, "parameters of the machine: a file under profiles/");
  binder.choice("stack", config.stack, std::span<const workload::Choice<Stack>>(kStacks),
                "how the program reaches remote memory");
  std::optional<Attachment> attachment;
  std::optional<SubmissionPath> submission;
  binder.choice<std::optional<Attachment>>("attachment", attachment, kAttachments, "where both NICs sit");
  binder.choice<std::optional<SubmissionPath>>("submission", submission, kSubmissions,
                                               "how work requests reach the NIC");
  binder.integer(
      "nics", config.nics.count,
      "NICs of each host, all alike, each with ports of its own: port p belongs to NIC p modulo nics", 1,
      kMostNics);
  {
    const Binder::Section several(binder, "", config.nics.count > 1, "only with several NICs (model.nics)");
    binder.choice<NicSpread>(
        "nic_spread", config.nics.spread, kNicSpreads,
        "which NIC, modulo nics, a queue between hosts a and b takes: a + b + k the k-th one, "
        "counted from 0, or a + b all of them");
  }
  config.attachment = attachment.value_or(traits(config.stack).attachment);
  config.submission = submission.value_or(traits(config.stack).submission);
  {
    const Binder::Section run(binder, Binder::kRoot, "run");
    bind_program(binder, config);
    binder.integer("seed", config.seed, "seed of every random stream, below 2^63");
    binder.time("time_limit", config.time_limit,
                "simulated time after which an unfinished run counts as stalled");
    binder.integer("record_operations", config.record_limit,
                   "rows of operations.csv; sums and latencies cover every operation");
  }
  for (ProgramSettings& program : config.programs) bind_beside(binder, program);
  bind_replay_model(binder, config.replay, config.program == ProgramKind::kReplay);
  bind_implementation(binder, config.host.nic);
  // A protocol's settings decide about keys of the host.
  each_protocol([&]<typename P>(std::type_identity<P>) {
    const HostKeyScope paths = scope_of(config);
    // The traffic of a world consists of work requests.
    P::bind(binder, std::get<typename P::Settings>(config.protocols),
            {config.protocol() == P::kProtocol, config.host.nic.implementation == NicImplementation::kEngine,
             paths.queue_path || config.world.given, paths.load_store_path});
  });
  bind_host(binder, config.host, scope_of(config));
  {
    const Binder::Section rdmo(binder, "rdmo", serves_rdmo(config),
                               "only with an RDMO worker, or a thread that serves appends");
    binder.time("request", config.rdmo.request,
                "what an RDMO worker, or a thread that serves appends, computes for one message");
    binder.time("line", config.rdmo.line, "the same for each 64 bytes of data that came in the message");
  }
  bind_link(binder, config.link);
}

}  // namespace

void bind_scenario(Binder& binder, ScenarioConfig& config) {
  binder.text("title", config.title, "one line about the scenario");
  bind_hosts(binder, config);
  const std::uint32_t payload = visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
    return P::payload(std::get<typename P::Settings>(config.protocols));
  });
  bind_world(binder, config.world, config.link, config.stack, payload);
}

EngineConfigs derive_engines(const HostSettings& settings, const LinkConfig& link) {
  EngineConfigs engines;
  visit_protocol(settings.protocol(), [&]<typename P>(std::type_identity<P>) {
    std::get<typename P::Config>(engines) =
        P::derive(std::get<typename P::Settings>(settings.protocols), link, settings.host);
  });
  return engines;
}

std::vector<KeyDoc> every_key() {
  std::vector<KeyDoc> keys;
  std::map<std::string, std::size_t> place;            // By path and meaning.
  std::map<std::size_t, std::vector<std::string>> of;  // Programs that a run.* key belongs to.
  for (int kind = 0; kind < workload::kWorkloadKindCount; ++kind) {
    const auto each = static_cast<workload::WorkloadKind>(kind);
    ScenarioConfig config;
    config.workload = workload::default_config(each);
    config.programs.push_back({std::string(kAnyProgram), {}, config.workload});
    Binder binder;
    bind_scenario(binder, config);
    for (const KeyDoc& key : binder.keys()) {
      const auto [at, fresh] = place.try_emplace(key.path + "\n" + key.doc, keys.size());
      if (fresh) keys.push_back(key);
      if (key.path.starts_with("run.")) of[at->second].emplace_back(workload::name(each));
    }
  }
  for (KeyDoc& key : group_keys()) keys.push_back(std::move(key));
  for (const auto& [index, programs] : of) {
    if (programs.size() == workload::kWorkloadKindCount) {
      // Keys of every program, but not of a replay; others have the condition of their section.
      if (keys[index].condition == fmt::format("{}{}", kOnlyWithProgram, programs.front()))
        keys[index].condition = "not with run.workload = replay";
    } else {
      keys[index].condition = fmt::format("{}{}", kOnlyWithProgram, fmt::join(programs, ", "));
    }
  }
  std::stable_sort(keys.begin(), keys.end(), [](const KeyDoc& a, const KeyDoc& b) {
    return a.path.substr(0, a.path.rfind('.') + 1) < b.path.substr(0, b.path.rfind('.') + 1);
  });
  return keys;
}

namespace {

void note_timeout(const ConfigDocument& document, HostSettings& hosts) {
  const auto* rto = document.peek(fmt::format("model.{}", rules_of(hosts.protocol()).timeout_key));
  hosts.timeout_of_user = rto != nullptr && rto->layer >= kScenarioLayer;
}

/// Binds the keys of all hosts with those of `group` in their place, and takes what its hosts are from that.
Result<void> add_group(Scenario& scenario, const GroupKeys& group, const ConfigDocument& document,
                       const ScenarioSource& source, const std::string& place,
                       std::vector<fs::path>& profile_files) {
  auto own = document_of(group, document, source.profile_directory, profile_files);
  if (!own) return own.error();
  ScenarioConfig config;
  config.world.given = scenario.config.world.given;
  config.programs = programs_in(*own);
  Binder binder(*own);
  bind_scenario(binder, config);
  if (auto known = binder.finish(kTables); !known) return named_in_group(known.error(), group.name);
  const auto refuse = [&](const Error& error) {
    return named_in_group(located(error, *own, binder.keys(), place), group.name);
  };
  if (config.protocol() != scenario.config.protocol()) {
    return refuse(
        input_error(fmt::format("model.stack is \"{}\" in group.{} and \"{}\" elsewhere, expected one "
                                "protocol for all hosts",
                                name(config.stack), group.name, name(scenario.config.stack))));
  }
  if (auto checked = check_hosts(*own, config); !checked) return refuse(checked.error());
  for (const std::string& line : binder.without_influence()) {
    if (group.model.contains(line.substr(0, line.find(' '))))
      scenario.no_influence.push_back(fmt::format("group.{}.{}", group.name, line));
  }
  note_timeout(*own, config);
  scenario.config.groups.push_back({group.name, group.hosts.text, config});
  return {};
}

}  // namespace

Result<Scenario> load_scenario(const ScenarioSource& source) {
  ConfigDocument document;
  if (!source.file.empty() && source.text.empty()) {
    WHARF_TRY(document.add_file(source.file, "", kScenarioLayer));
  } else {
    const std::string name = source.file.empty() ? "scenario" : source.file.string();
    WHARF_TRY(document.add_text(source.text, name, "", kScenarioLayer));
  }
  for (const std::string& assignment : source.overrides) WHARF_TRY(document.add_override(assignment));
  if (!source.profile.empty()) document.set("model.profile", source.profile, "--profile");

  WHARF_TRY(refuse_many_host_keys(document));
  Scenario scenario;
  const ConfigValue* profile = document.find("model.profile");
  std::vector<fs::path> profile_files;
  WHARF_TRY(add_profile(document, profile_files, source.profile_directory,
                        {profile ? profile->text : scenario.config.profile,
                         profile ? profile->origin : "model.profile", profile_beside(profile)},
                        "model."));

  scenario.config.world.given = describes_world(document);
  const ConfigDocument whole = document;  // With its groups, which the binder of most hosts does not know.
  auto groups = take_groups(document);
  if (!groups) return groups.error();
  scenario.config.programs = programs_in(document);
  std::vector<std::string> replaced;
  if (scenario.config.world.given) {
    auto others = keep_one_traffic(document);
    if (!others) return others.error();
    replaced = *std::move(others);
  }
  Binder binder(document);
  bind_scenario(binder, scenario.config);
  WHARF_TRY(binder.result());
  if (scenario.config.world.given)
    WHARF_TRY(refuse_flow_keys(document, binder.keys(), scenario.config.protocol()));
  WHARF_TRY(binder.finish(kTables));
  scenario.config.link.wire = source.wire;
  note_timeout(document, scenario.config);
  const std::string place = source.file.empty() ? std::string("scenario") : source.file.string();
  if (auto checked = check_hosts(document, scenario.config); !checked)
    return located(checked.error(), document, binder.keys(), place);
  scenario.no_influence = binder.without_influence();
  remark_idle_keys(document, scenario.config, scenario.no_influence);
  for (const GroupKeys& group : *groups)
    WHARF_TRY(add_group(scenario, group, document, source, place, profile_files));
  if (auto checked = check_programs(scenario.config); !checked)
    return located(checked.error(), document, binder.keys(), place);
  auto expectations = read_expectations(document);
  if (!expectations) return expectations.error();
  scenario.expectations = *std::move(expectations);
  WHARF_TRY(check_expectations(scenario));
  if (!scenario.config.replay.trace.empty()) {
    const fs::path beside = source.file.parent_path() / scenario.config.replay.trace;
    std::error_code status;
    if (fs::exists(beside, status)) scenario.config.replay.trace = beside.string();
  }
  WorldSettings& world = scenario.config.world;
  if (world.given) find_files(document, source.file, world.fabric);
  if (const auto checked = check_world(scenario.config); !checked) {
    // What is wrong in a topology file has its place there.
    const bool placed =
        !world.fabric.topology.empty() && checked.error().message.starts_with(world.fabric.topology + ":");
    return placed ? checked.error() : located(checked.error(), whole, binder.keys(), place);
  }
  scenario.keys = binder.keys();
  scenario.no_influence.insert(scenario.no_influence.end(), replaced.begin(), replaced.end());
  scenario.effective = effective_text(whole, scenario.config.profile);
  scenario.identity = identity_of(whole);
  scenario.profile_files = std::move(profile_files);
  return scenario;
}

}  // namespace wharf::sim
