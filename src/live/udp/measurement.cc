// SPDX-License-Identifier: Apache-2.0
#include "live/udp/measurement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/units.h"
#include "live/udp/client.h"
#include "live/udp/live_protocol.h"
#include "live/udp/verb_measurement.h"

namespace wharf::live {
namespace {

using workload::LoopResult;
using workload::Party;
using workload::WorkloadConfig;
using workload::WorkloadKind;
using workload::WorkloadResult;

/// How often connections, the stop flag and progress are looked at.
constexpr TimePs kLookInterval = milliseconds(2);
/// Receive entries per worker at the server, so that no message waits for one.
constexpr std::uint32_t kEntriesPerWorker = 4;
/// Unless they take more bytes than this.
constexpr std::uint64_t kEntriesBytes = 1U << 20U;
/// Bytes of one request when a workload's region is written or read back.
constexpr std::uint64_t kRegionChunk = 64 * 1024;

template <engine::Engine E>
using Clients = std::vector<std::unique_ptr<Client<E>>>;

Error peer_silent(const MeasurementConfig& config, std::string_view how) {
  return Error{ErrorKind::kStalled, fmt::format("the server at {} {}", format_place(config.server), how)};
}

/// What a failed request means for the run.
Error request_failed(const MeasurementConfig& config, verbs::CompletionStatus status) {
  using verbs::CompletionStatus;
  const bool silent = status == CompletionStatus::kRetryExhausted || status == CompletionStatus::kFlushed ||
                      status == CompletionStatus::kReceiverNotReady;
  if (silent)
    return peer_silent(config,
                       fmt::format("stopped answering: a request ended with {}", verbs::name(status)));
  return input_error(fmt::format("a request to {} ended with {}, expected success",
                                 format_place(config.server), verbs::name(status)));
}

/// Turns the clients' reactors until their programs have ended.
template <engine::Engine E>
class Runner {
 public:
  enum class End : std::uint8_t { kDone, kStopped };

  Runner(const MeasurementConfig& config, Clients<E>& clients, const std::atomic<bool>& stop)
      : config_(config), clients_(clients), stop_(stop) {}

  /// `look` is called now and then. An error when a peer is gone or nothing moves any more.
  template <typename Look>
  Result<End> run(Look look) {
    IdlePolicy idle(config_.idle);
    TimePs next_look = kTimeZero;
    TimePs moved = clients_.front()->host().now();
    std::uint64_t completions = 0;
    for (;;) {
      bool worked = false;
      TimePs deadline = kNever;
      for (const auto& client : clients_) {
        worked |= client->host().step();
        deadline = min(deadline, client->host().deadline());
      }
      if (worked && finished()) return End::kDone;
      const TimePs now = clients_.front()->host().round_time();
      if (now >= next_look) {
        next_look = now + kLookInterval;
        if (finished()) return End::kDone;
        if (stop_.load(std::memory_order_relaxed)) return End::kStopped;
        std::uint64_t sum = 0;
        for (const auto& client : clients_) {
          if (client->peer_gone()) {
            if (const auto why = client->farewell()) return *why;
            return peer_silent(config_, "closed the connection in the middle of the run");
          }
          sum += client->host().counters().completions;
        }
        if (sum != completions) {
          completions = sum;
          moved = now;
        } else if (now - moved >= config_.stall_patience) {
          return stalled();
        }
        look();
      }
      if (worked) {
        idle.worked();
      } else {
        idle.idle(now, min(deadline, next_look), clients_.front()->host().port());
      }
    }
  }

 private:
  bool finished() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->host().core().finished(); });
  }
  Error stalled() const {
    std::vector<std::string> waiting;
    for (const auto& client : clients_) client->host().engine().describe_waiting(waiting);
    return peer_silent(config_, fmt::format("let nothing complete for {}: {}",
                                            format_time(config_.stall_patience), fmt::join(waiting, "; ")));
  }

  const MeasurementConfig& config_;
  Clients<E>& clients_;
  const std::atomic<bool>& stop_;
};

ClientConfig client_config(const MeasurementConfig& config, std::uint32_t concurrency, LiveCapture* capture) {
  ClientConfig client;
  client.server = config.server;
  client.queue_depth = std::clamp(concurrency, 16U, kQueueDepthMax);
  client.faults = config.faults;
  client.seed = config.seed;
  client.repetition = config.repetition;
  client.unlimited_retries = config.unlimited_retries;
  client.congestion = config.congestion;
  client.delivery = config.delivery;
  client.capture = capture;
  client.patience = config.connect_patience;
  client.psk = config.psk;
  client.seal_packets = config.seal_packets;
  return client;
}

/// Receive entries of `bytes` for `concurrency` messages in flight: fewer when they are long, but one each.
std::uint32_t entries_for(std::uint32_t concurrency, std::uint32_t bytes) {
  std::uint32_t entries = std::min(std::bit_ceil(kEntriesPerWorker * concurrency), kReceiveEntriesMax);
  while (entries / 2 >= concurrency && std::uint64_t{entries} * bytes > kEntriesBytes) entries /= 2;
  return entries;
}

template <engine::Engine E>
void add_counters(Measurement& measurement, Clients<E>& clients) {
  for (const auto& client : clients) {
    measurement.counters += client->host().counters();
    measurement.sealed |= client->sealed();
  }
}

double fraction_done(const workload::LoopConfig& loop, std::uint64_t operations) {
  if (loop.operations == 0) return 0;
  return static_cast<double>(operations) / static_cast<double>(loop.operations + loop.warmup_operations);
}

/// The server counts what arrives in receive entries: each message once.
template <engine::Engine E>
Result<void> check_report(Client<E>& client, LoopResult& loop) {
  auto report = client.report();
  if (!report) return report.error();
  const std::uint64_t sent = loop.operations + loop.warmup_operations;
  loop.verdict.expect(report->messages == sent, {"messages lost or doubled", 0, sent, report->messages});
  return {};
}

template <engine::Engine E>
Result<Measurement> measure_verb_run(const MeasurementConfig& config, const VerbRun& run,
                                     LiveCapture* capture, const MeasurementProgress& progress,
                                     const std::atomic<bool>& stop) {
  const LiveClock clock;
  const bool receives = verbs::consumes_receive_entry(run.verb);
  ClientConfig client = client_config(config, run.loop.concurrency, capture);
  client.rights.remote_atomic = verbs::is_atomic(run.verb);
  VerbMeasurementConfig program{.verb = run.verb, .size = run.size, .loop = run.loop, .tag = run.tag};
  client.tag = run.tag;
  if (receives) {
    // The data of a Write_imm does not land in its entry.
    client.receive_bytes = verbs::is_send(run.verb) ? run.size : 0;
    program.receive_entries = client.receive_entries =
        entries_for(run.loop.concurrency, client.receive_bytes);
  }
  Clients<E> clients;
  auto opened = Client<E>::open(client, clock);
  if (!opened) return opened.error();
  clients.push_back(*std::move(opened));
  program.slice_offset = clients[0]->slice_offset();
  program.slice_bytes = clients[0]->slice_bytes();
  if (slots_per_worker(program) == 0) {
    return input_error(
        fmt::format("messages of {} at concurrency {} need {} of memory, the server gives each client {}; "
                    "start it with a larger "
                    "--size or fewer --clients",
                    format_bytes(Bytes{run.size}), run.loop.concurrency,
                    format_bytes(Bytes{slot_stride(program) * run.loop.concurrency}),
                    format_bytes(Bytes{program.slice_bytes})));
  }

  Measurement measurement;
  measurement.program = verbs::name(run.verb);
  LoopResult& loop = measurement.loop;
  clients[0]->host().core().spawn(
      measure_verb(program, clients[0]->remote(), clients[0]->host().core(), loop));
  const auto look = [&] {
    const std::uint64_t done = loop.operations + loop.warmup_operations;
    if (progress) progress(fraction_done(run.loop, done), done);
  };
  const auto end = Runner<E>(config, clients, stop).run(look);
  add_counters(measurement, clients);
  if (!end) return end.error();
  measurement.interrupted = *end == Runner<E>::End::kStopped;
  if (measurement.interrupted) return measurement;
  if (loop.errors != 0) return request_failed(config, loop.first_error);
  if (receives) WHARF_TRY(check_report(*clients[0], loop));
  return measurement;
}

/// Moves a workload's region between this process and the server, several chunks at a time.
template <engine::Engine E>
class RegionTransfer {
 public:
  RegionTransfer(verbs::Verb verb, std::span<std::byte> region, std::uint64_t offset)
      : verb_(verb), region_(region), offset_(offset) {}

  void start(Client<E>& client) {
    constexpr int kWorkers = 4;
    for (int worker = 0; worker < kWorkers; ++worker) client.host().core().spawn(move_chunks(client));
  }
  verbs::CompletionStatus status() const { return status_; }

 private:
  verbs::Task<void> move_chunks(Client<E>& client) {
    while (status_ == verbs::CompletionStatus::kSuccess && next_ < region_.size()) {
      const std::uint64_t at = next_;
      const auto length =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(kRegionChunk, region_.size() - at));
      next_ += length;
      const auto local = reinterpret_cast<std::uint64_t>(region_.data() + at);
      const verbs::RemoteAddress target = client.remote().segment().at(offset_ + at);
      const verbs::Completion done = verb_ == verbs::Verb::kRead
                                         ? co_await client.remote().read(local, target, length)
                                         : co_await client.remote().write(local, target, length);
      if (!done.ok()) status_ = done.status;
    }
  }

  verbs::Verb verb_;
  std::span<std::byte> region_;
  std::uint64_t offset_;
  std::uint64_t next_ = 0;
  verbs::CompletionStatus status_ = verbs::CompletionStatus::kSuccess;
};

bool is_two_sided(const WorkloadConfig& config) {
  const auto* loop = std::get_if<workload::VerbLoopConfig>(&config);
  return workload::kind_of(config) == WorkloadKind::kPingPong || (loop != nullptr && needs_receiver(*loop));
}

std::uint32_t payload_of(const WorkloadConfig& config) {
  if (const auto* ping = std::get_if<workload::PingPongConfig>(&config)) return ping->payload;
  if (const auto* loop = std::get_if<workload::VerbLoopConfig>(&config)) return loop->payload;
  return 0;
}

/// Moves the program's memory to where the client's slice begins.
void set_region_offset(WorkloadConfig& config, std::uint64_t offset) {
  std::visit(
      [offset](auto& chosen) {
        if constexpr (requires { chosen.region_offset; }) chosen.region_offset += offset;
      },
      config);
}

/// Requests that a party may have under way.
std::uint32_t requests_at_once(const WorkloadConfig& config) {
  const std::uint32_t workers = workload::loop_config(config).concurrency;
  const auto* gets = std::get_if<workload::ItemGetsConfig>(&config);
  return gets == nullptr ? workers : 2 * workers + gets->writers;
}

Result<void> check_workload(const WorkloadRun& run) {
  const std::string_view program = workload::name(workload::kind_of(run.config));
  const workload::PartyRange range = workload::party_range(workload::kind_of(run.config));
  if (const auto* gets = std::get_if<workload::ItemGetsConfig>(&run.config)) {
    if (gets->protocol == workload::GetProtocol::kFarm) {
      return input_error(
          fmt::format("workload {} runs live with protocol pessimistic, validation or "
                      "single_read, found farm, whose lines must be read at once: memory "
                      "between processes keeps only words whole",
                      program));
    }
    if (gets->writer == workload::ItemWriter::kCore) {
      return input_error(fmt::format(
          "workload {} runs live with writer none or remote, found core: the server runs no program",
          program));
    }
  }
  if (const auto* appends = std::get_if<workload::RdmoConfig>(&run.config);
      appends != nullptr && workload::is_attended(*appends)) {
    return input_error(
        fmt::format("workload {} runs live over a server with protocol two_step or client_lock, found {}: "
                    "the server runs "
                    "no program; `wharf rdmo` has a worker",
                    program, workload::kRdmoProtocols[static_cast<std::size_t>(appends->protocol)].name));
  }
  if (workload::arrangement(run.config) == workload::Arrangement::kPeers) {
    return input_error(fmt::format(
        "workload {} runs in simulation alone, expected one whose clients use the memory of a server: its "
        "ranks use each other's",
        program));
  }
  const bool two_sided = is_two_sided(run.config);
  const std::uint32_t least = two_sided ? 1 : std::max(range.least, workload::parties_needed(run.config));
  const std::uint32_t most = two_sided ? 1 : range.most;
  if (run.parties < least || run.parties > most) {
    return input_error(fmt::format("workload {} runs live with {} to {} clients, found {}", program, least,
                                   most, run.parties));
  }
  return workload::check(run.config, {0, two_sided ? 2 : run.parties});
}

template <engine::Engine E>
Result<Measurement> measure_workload_run(const MeasurementConfig& config, const WorkloadRun& run,
                                         LiveCapture* capture, const MeasurementProgress& progress,
                                         const std::atomic<bool>& stop) {
  const LiveClock clock;
  WorkloadConfig program = run.config;
  const bool two_sided = is_two_sided(program);
  const std::uint32_t concurrency = workload::loop_config(program).concurrency;
  ClientConfig client = client_config(config, requests_at_once(program), capture);
  if (two_sided) {
    const bool returned = workload::kind_of(program) == WorkloadKind::kPingPong;
    client.arrivals = returned ? ArrivalRule::kReturn : ArrivalRule::kKeep;
    client.receive_bytes = payload_of(program);
    client.receive_entries = entries_for(concurrency, client.receive_bytes);
  }
  const std::vector<verbs::Verb> used = workload::verbs_needed(program, false);
  client.rights.remote_atomic = std::any_of(used.begin(), used.end(), verbs::is_atomic);
  Clients<E> clients;
  for (std::uint32_t party = 0; party < run.parties; ++party) {
    auto opened = Client<E>::open(client, clock);
    if (!opened) return opened.error();
    clients.push_back(*std::move(opened));
    client.slice_key = clients.front()->slice_key();  // All parties meet in the memory of the first.
  }
  Client<E>& first = *clients.front();
  const Party all{0, two_sided ? 2 : run.parties};
  const std::uint64_t needed = workload::region_offset(program) + workload::memory_needed(program, all);
  if (needed > first.slice_bytes()) {
    return input_error(
        fmt::format("workload {} needs {}, the server gives each client {}; start it with a larger "
                    "--size or fewer --clients",
                    workload::name(workload::kind_of(program)), format_bytes(Bytes{needed}),
                    format_bytes(Bytes{first.slice_bytes()})));
  }
  set_region_offset(program, first.slice_offset());
  WHARF_TRY(workload::check_remote(program, all, first.remote()));

  Measurement measurement;
  measurement.program = workload::name(workload::kind_of(program));
  Runner<E> runner(config, clients, stop);
  std::vector<std::byte> region(workload::memory_needed(program, all));
  const std::uint64_t offset = first.slice_offset() + workload::region_offset(run.config);
  workload::prepare(program, all, region, config.seed);

  using End = typename Runner<E>::End;
  const auto no_look = [] {};
  RegionTransfer<E> write(verbs::Verb::kWrite, region, offset);
  write.start(first);
  auto end = runner.run(no_look);
  if (!end) return end.error();
  if (write.status() != verbs::CompletionStatus::kSuccess) return request_failed(config, write.status());

  std::vector<WorkloadResult> results(run.parties, workload::empty_result(program));
  const auto operations = [&results] {
    std::uint64_t sum = 0;
    for (const WorkloadResult& result : results) sum += workload::loop_result(result).operations;
    return sum;
  };
  if (*end == End::kDone) {
    for (std::uint32_t party = 0; party < run.parties; ++party) {
      LiveCore& core = clients[party]->host().core();
      core.spawn(workload::run(program, Party{party, all.count}, config.seed, clients[party]->remote(), core,
                               results[party]));
    }
    end = runner.run([&] {
      const std::uint64_t done = operations();
      if (progress) progress(fraction_done(workload::loop_config(program), done / run.parties), done);
    });
    if (!end) return end.error();
  }
  for (const WorkloadResult& result : results) {
    const LoopResult& from = workload::loop_result(result);
    LoopResult& to = measurement.loop;
    if (from.errors != 0 && to.errors == 0) to.first_error = from.first_error;
    to.errors += from.errors;
    to.operations += from.operations;
    to.warmup_operations += from.warmup_operations;
    to.bytes += from.bytes;
    to.begin = min(to.begin, from.begin);
    to.end = max(to.end, from.end);
    to.queued += from.queued;
    to.latency.merge(from.latency);
    to.verdict += from.verdict;
    const auto counts = workload::own_counts(result);
    if (measurement.counts.empty()) {
      measurement.counts = counts;
    } else {
      for (std::size_t i = 0; i < counts.size(); ++i) measurement.counts[i].value += counts[i].value;
    }
  }
  measurement.interrupted = *end == End::kStopped;
  if (measurement.interrupted) {
    add_counters(measurement, clients);
    return measurement;
  }
  if (measurement.loop.errors != 0) return request_failed(config, measurement.loop.first_error);

  RegionTransfer<E> read(verbs::Verb::kRead, region, offset);
  std::fill(region.begin(), region.end(), std::byte{0});
  read.start(first);
  end = runner.run(no_look);
  if (!end) return end.error();
  add_counters(measurement, clients);
  if (read.status() != verbs::CompletionStatus::kSuccess) return request_failed(config, read.status());
  measurement.interrupted = *end == End::kStopped;
  if (!measurement.interrupted) {
    measurement.loop.verdict += workload::verify(program, all, region, config.seed, results);
  }
  return measurement;
}

std::vector<std::uint32_t> widths_of(const engine::Capabilities& can, verbs::Verb verb) {
  std::vector<std::uint32_t> widths;
  for (const std::uint32_t width : {4U, 8U, 16U}) {
    if (can.supports(verb, width)) widths.push_back(width);
  }
  return widths;
}

Result<void> check_verb(const MeasurementConfig& config, const VerbRun& run) {
  using verbs::Verb;
  const std::string_view verb = verbs::name(run.verb);
  if (verbs::is_load_store(run.verb)) {
    return input_error(
        fmt::format("verb {} is a CPU instruction that needs hardware in front of memory, expected a "
                    "work request such as {}",
                    verb, run.verb == Verb::kLoad ? "read" : "write"));
  }
  if (run.verb == Verb::kSendInvalidate) {
    return input_error(
        "verb send_invalidate would revoke the memory that is measured, expected another such as send");
  }
  const engine::Capabilities can = capabilities_of(config.protocol);
  if (!can.supports(run.verb)) {
    return input_error(
        fmt::format("verb {} does not exist in {}, expected one such as fetch_add or another --protocol",
                    verb, name(config.protocol)));
  }
  if (!config.delivery.reliable && !verbs::carries_payload(run.verb)) {
    return input_error(
        fmt::format("--delivery {}: a {} needs an answer, expected write or send, or another "
                    "--delivery",
                    config.delivery.name, verb));
  }
  if (!config.delivery.reliable && run.size > kMtuMax) {
    return input_error(fmt::format("--size {}: --delivery {} carries one packet of {} bytes at most",
                                   run.size, config.delivery.name, kMtuMax));
  }
  if (verbs::is_atomic(run.verb) && !can.supports(run.verb, run.size)) {
    return input_error(fmt::format("--size {}: a {} of {} has {} bytes", run.size, verb,
                                   name(config.protocol), fmt::join(widths_of(can, run.verb), " or ")));
  }
  if (verbs::consumes_receive_entry(run.verb) && run.size > can.max_send_bytes) {
    return input_error(fmt::format("--size {}: a {} of {} has at most {} bytes", run.size, verb,
                                   name(config.protocol), can.max_send_bytes));
  }
  if (run.tag && (!can.tagged || !verbs::is_send(run.verb))) {
    return input_error(fmt::format("--tag: a {} of {} has none, expected a send of a protocol with tags",
                                   verb, name(config.protocol)));
  }
  if (run.size == 0) return input_error("--size 0: expected at least 1 byte");
  if (run.loop.concurrency == 0 || run.loop.concurrency > kQueueDepthMax) {
    return input_error(
        fmt::format("--concurrency {}: expected 1 to {}", run.loop.concurrency, kQueueDepthMax));
  }
  return workload::check(run.loop);
}

}  // namespace

Result<void> check(const MeasurementConfig& config) {
  if (const auto* run = std::get_if<VerbRun>(&config.program)) return check_verb(config, *run);
  if (!config.delivery.reliable) {
    return input_error(
        fmt::format("--delivery {}: workloads need answers, expected --verb write or send, or another "
                    "--delivery",
                    config.delivery.name));
  }
  return check_workload(std::get<WorkloadRun>(config.program));
}

Result<Measurement> measure(const MeasurementConfig& config, const MeasurementProgress& progress,
                            const std::atomic<bool>& stop) {
  WHARF_TRY(check(config));
  auto capture = LiveCapture::create(config.capture);
  if (!capture) return capture.error();
  auto measured =
      with_engine_type(config.protocol, [&]<typename E>(std::type_identity<E>) -> Result<Measurement> {
        if (const auto* run = std::get_if<VerbRun>(&config.program)) {
          return measure_verb_run<E>(config, *run, capture->get(), progress, stop);
        }
        return measure_workload_run<E>(config, std::get<WorkloadRun>(config.program), capture->get(),
                                       progress, stop);
      });
  if (*capture != nullptr) {
    const auto closed = (*capture)->close();
    if (measured && !closed) return closed.error();
  }
  return measured;
}

}  // namespace wharf::live
