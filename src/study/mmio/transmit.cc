// SPDX-License-Identifier: Apache-2.0
// How a work request reaches its NIC, between two hosts: Figures 3 and 4, and beyond the paper the same for
// every protocol, with its stream of stores beside doorbell and BlueFlame.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/protocols/protocols.h"
#include "sim/scenario/assembly.h"
#include "study/frame/parallel.h"
#include "study/frame/reference_table.h"
#include "study/frame/runs.h"
#include "study/frame/three_steps.h"
#include "study/mmio/mmio.h"
#include "verbs/task.h"

namespace wharf::study::mmio {
namespace {

constexpr const char* kRoce = "mmio-roce";

/// Writes of one size.
struct Writes {
  std::string profile;
  std::string stack;
  std::uint64_t bytes = 64;
  std::uint64_t operations = 50;
  std::uint32_t in_flight = 1;
  std::vector<std::string> keys;
};

RunRequest request(const Writes& writes) {
  RunRequest request{
      writes.profile,
      writes.stack,
      {"run.workload=verb_loop", "run.verb=write", fmt::format("run.payload={}B", writes.bytes),
       fmt::format("run.operations={}", writes.operations),
       fmt::format("run.concurrency={}", writes.in_flight)}};
  request.keys.insert(request.keys.end(), writes.keys.begin(), writes.keys.end());
  return request;
}

double latency_ns(const sim::RunReport& report) { return report.program_latency.p50_ns; }
double gigabits(const sim::RunReport& report) { return report.goodput_bps / 1e9; }

template <typename... Parts>
std::vector<std::string> joined(std::vector<std::string> first, const Parts&... parts) {
  (first.insert(first.end(), parts.begin(), parts.end()), ...);
  return first;
}

/// Cores that work side by side on one NIC.
constexpr std::uint32_t kCores = 64;

verbs::Task<void> write_on(sim::SimRemote& remote, std::uint64_t local, std::uint32_t bytes,
                           std::uint32_t operations, std::uint64_t& failed) {
  for (std::uint32_t i = 0; i < operations; ++i) {
    if (!(co_await remote.write(local, remote.segment().at(0), bytes)).ok()) ++failed;
  }
}

/// Gb/s of kCores cores, each with a queue pair of its own and `in_flight` writes under way.
Result<double> many_cores(const StudyContext& context, const Writes& writes) {
  const auto scenario = load_request(context, {writes.profile, writes.stack, writes.keys});
  if (!scenario) return scenario.error();
  sim::RunOptions options;
  options.attribution = false;
  sim::TwoHostsConfig config = sim::two_hosts_config(scenario->config, options);
  config.cores = {kCores, 1};
  auto made = sim::TwoHosts::create(config);
  if (!made) return made.error();
  sim::TwoHosts& two = **made;
  auto segment = two.expose(1, Bytes{writes.bytes});
  if (!segment) return segment.error();
  const auto bytes = static_cast<std::uint32_t>(writes.bytes);
  const std::uint64_t local = two.host(0).core().allocate(Bytes{bytes});
  const auto each = static_cast<std::uint32_t>(writes.operations / (kCores * writes.in_flight));
  std::uint64_t failed = 0;
  for (std::uint32_t i = 0; i < kCores; ++i) {
    auto pair = two.world().connect(0, 1, *segment, {}, writes.in_flight, {i, 0});
    if (!pair) return pair.error();
    for (std::uint32_t worker = 0; worker < writes.in_flight; ++worker)
      two.host(0).core(i).spawn(write_on(*pair->near, local, bytes, each, failed));
  }
  two.run(seconds(1));
  if (!two.programs_ended() || failed > 0)
    return Error{ErrorKind::kStalled, fmt::format("writes of {} cores did not end", kCores)};
  const double bits = 8.0 * bytes * each * kCores * writes.in_flight;
  return bits * 1e3 / static_cast<double>(two.now().ps);
}

}  // namespace

Result<StudyResult> figure3(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "mmio" / "fig3_fig4_rdma.csv");
  if (!reference) return reference.error();
  auto saving = reference->at("BlueFlame latency saving", "small messages");
  if (!saving) return saving.error();
  constexpr std::array<std::uint64_t, 9> kSizes{2, 8, 32, 64, 128, 256, 512, 1024, 4096};
  RunBatch batch(context);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const std::uint64_t bytes : kSizes)
    places.emplace_back(batch.add(request({kRoce, "roce_dma", bytes, 50, 1, {}})),
                        batch.add(request({kRoce, "roce_bf", bytes, 50, 1, {}})));
  const auto parameters = load_request(context, {kRoce, "roce_bf", {}});
  if (!parameters) return parameters.error();
  const sim::HostConfig& host = parameters->config.host;
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {{"bytes", "bytes", 0},
                    {"doorbell_ns", "doorbell ns", 1},
                    {"blueflame_ns", "BlueFlame ns", 1},
                    {"saved_ns", "saved ns", 1},
                    {"paper_saved_ns", "paper: saved", 0}};
  Plot plot{"latency",
            "RDMA writes",
            "bytes",
            "ns",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kFitting,
            {{"doorbell", {}}, {"BlueFlame", {}}}};
  double first_saved = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const double off = latency_ns(batch[places[i].first]);
    const double on = latency_ns(batch[places[i].second]);
    const bool fits = kSizes[i] <= host.nic.inline_limit;
    Json row{{"bytes", kSizes[i]}, {"doorbell_ns", off}, {"blueflame_ns", on}, {"saved_ns", off - on}};
    if (fits) row["paper_saved_ns"] = *saving;
    result.rows.push_back(row);
    plot.series[0].points.push_back({static_cast<double>(kSizes[i]), off, ""});
    plot.series[1].points.push_back({static_cast<double>(kSizes[i]), on, ""});
    if (i == 0) first_saved = off - on;
    if (fits)
      result.checks.push_back(between(fmt::format("{} B: saved, ns: two DMA reads", kSizes[i]), off - on,
                                      2 * as_nanoseconds(host.pcie.read_round_trip) - 20,
                                      2 * as_nanoseconds(host.pcie.read_round_trip) + 20));
  }
  result.plots = {plot};
  result.checks.push_back(between("2 B: saved, ns: about 800", first_saved, *saving * 0.85, *saving * 1.15));
  result.checks.push_back(batch.integrity());
  result.sentences = {fmt::format(
      "BlueFlame saves the fetch of the entry and that of the payload, two round trips of {:.0f} ns which "
      "the paper's "
      "217 ns for one way give: {:.0f} ns, {:+.1f} % from its about {:.0f}. Latencies are those of a "
      "reliable "
      "connection until its completion has been polled; the paper shows unreliable ones until the far side "
      "sees the "
      "data, which the difference does not feel. Beyond {} B, where perftest no longer puts the payload into "
      "the "
      "entry, the model rings the doorbell; the paper's NIC then still saves the fetch of the entry.",
      as_nanoseconds(host.pcie.read_round_trip), first_saved, deviation_percent(first_saved, *saving),
      *saving, host.nic.inline_limit)};
  return result;
}

Result<StudyResult> figure4(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "mmio" / "fig3_fig4_rdma.csv");
  if (!reference) return reference.error();
  auto one = reference->at("pipelined write, 1 thread", "64 B");
  auto many = reference->at("pipelined write, 64 cores", "64 B");
  auto full = reference->at("message size to saturate, 1 thread", "-");
  if (!one) return one.error();
  if (!many) return many.error();
  if (!full) return full.error();
  constexpr std::array<std::uint64_t, 10> kSizes{64,    256,    1024,   4096,   16384,
                                                 65536, 131072, 262144, 524288, 1048576};
  constexpr std::array<std::uint64_t, 3> kSmall{64, 256, 1024};
  constexpr std::uint64_t kBytesMost = 8 << 20;
  const auto operations = [](std::uint64_t bytes, std::uint64_t least, std::uint64_t most) {
    return std::clamp<std::uint64_t>(kBytesMost / bytes, least, most);
  };
  // What RoCE keeps in flight must not be what limits long messages.
  const std::vector<std::string> window{"model.roce.window=4096", "run.region_bytes=64MiB"};
  RunBatch batch(context);
  std::array<std::vector<std::size_t>, 2> places;
  for (const std::uint64_t bytes : kSizes) {
    places[0].push_back(batch.add(request({kRoce, "roce_dma", bytes, operations(bytes, 4, 200), 1, window})));
    places[1].push_back(
        batch.add(request({kRoce, "roce_dma", bytes, operations(bytes, 32, 1'500), 16, window})));
  }
  WHARF_TRY(batch.run());
  std::array<double, kSmall.size()> cores{};
  WHARF_TRY(for_each_in_parallel(context, kSmall.size(), [&](std::size_t i) -> Result<void> {
    auto rate = many_cores(context, {kRoce, "roce_dma", kSmall[i], 16'384, 16, {}});
    if (!rate) return rate.error();
    cores[i] = *rate;
    return {};
  }));

  StudyResult result;
  result.columns = {
      {"bytes", "bytes", 0},    {"serial", "one at a time", 2}, {"pipelined", "16 at a time", 2},
      {"cores", "64 cores", 1}, {"paper", "paper: thread", 0},  {"paper_cores", "64 cores", 0}};
  Plot plot{"throughput",
            "RDMA writes",
            "bytes",
            "Gb/s",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {{"one at a time", {}}, {"16 at a time", {}}, {"64 cores", {}}}};
  const double peak = gigabits(batch[places[1].back()]);
  std::array<std::uint64_t, 2> enough{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    Json row{{"bytes", kSizes[i]}};
    constexpr std::array<const char*, 2> kKeys{"serial", "pipelined"};
    for (std::size_t c = 0; c < places.size(); ++c) {
      const double rate = gigabits(batch[places[c][i]]);
      row[kKeys[c]] = rate;
      plot.series[c].points.push_back({static_cast<double>(kSizes[i]), rate, ""});
      if (enough[c] == 0 && rate >= 0.9 * peak) enough[c] = kSizes[i];
    }
    if (i < kSmall.size()) {
      row["cores"] = cores[i];
      plot.series[2].points.push_back({static_cast<double>(kSizes[i]), cores[i], ""});
    }
    if (i == 0) {
      row["paper"] = *one;
      row["paper_cores"] = *many;
    }
    result.rows.push_back(row);
  }
  result.plots = {plot};
  const double serial64 = gigabits(batch[places[0][0]]);
  const double pipelined64 = gigabits(batch[places[1][0]]);
  const double cores64 = cores[0];
  result.checks.push_back(
      between("64 B, one thread: the paper's about 1 Gb/s lies between one and 16 at a time", *one, serial64,
              pipelined64));
  result.checks.push_back(between("64 B: 64 cores over one", cores64 / pipelined64, 5, 64));
  result.checks.push_back(between("largest messages, Gb/s of 100", peak, 90, 100));
  result.checks.push_back(
      between("size of 90 %, one at a time, KiB", static_cast<double>(enough[0]) / 1024, 128, 512));
  result.checks.push_back(batch.integrity());
  result.sentences = {
      fmt::format(
          "One thread gets {:.2f} Gb/s of 64 B writes one at a time and {:.1f} with 16 under way, where its "
          "software of 180 ns per write is the limit; the paper's about {:.0f} Gb/s would be four or five "
          "under way. Sixty-four cores with a queue pair each get {:.1f} Gb/s, {:+.0f} % from the paper's "
          "about {:.0f}.",
          serial64, pipelined64, *one, cores64, deviation_percent(cores64, *many), *many),
      fmt::format(
          "Nine tenths of the line are reached from {} KiB on one at a time and from {} KiB on with 16 under "
          "way. The paper's {:.0f} KiB fit a thread that waits for each message, not one that "
          "pipelines: both of its figures for one thread do not come from one depth.",
          enough[0] / 1024, enough[1] / 1024, *full)};
  return result;
}

namespace {

struct Protocol {
  std::string name;
  std::string stack;
  bool has_bus = false;
  std::vector<std::string> keys;  ///< What is in flight is not to be the limit.
};

/// Each with the last of its stacks, whose NIC fetches entries or has them stored to it.
std::vector<Protocol> protocols_by_name() {
  std::vector<Protocol> all;
  for (const sim::ProtocolRules& rules : sim::kProtocolRules) {
    const sim::StackTraits& stack = rules.stacks.back();
    Protocol& one = all.emplace_back();
    one.name = wire::title_of(rules.protocol);
    one.stack = stack.name;
    one.has_bus = stack.attachment == sim::Attachment::kOnChipBus;
    if (!rules.wide_open.empty()) one.keys = {fmt::format("model.{}", rules.wide_open)};
  }
  std::sort(all.begin(), all.end(), [](const Protocol& a, const Protocol& b) { return a.name < b.name; });
  return all;
}

/// How a write reaches the NIC.
struct Path {
  const char* name;
  const char* key;
  const char* column;
  bool on_bus;
};
constexpr std::array<Path, 4> kPaths{{{"doorbell", "doorbell", "doorbell", false},
                                      {"BlueFlame", "blueflame", "blueflame", false},
                                      {"stream", "mmio_stream", "stream", false},
                                      {"bus", "bus_store", "bus", true}}};
enum : std::size_t { kDoorbell, kBlueFlame, kStream };
constexpr std::array<std::uint64_t, 7> kPayloads{64, 128, 256, 512, 1024, 2048, 4096};
/// Payload that fits into an entry.
constexpr std::uint64_t kInline = 64;

class Transmit {
 public:
  explicit Transmit(const StudyContext& context)
      : context_(context), protocols_(protocols_by_name()), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  /// Runs of one protocol, size and path.
  struct Place {
    std::size_t latency;
    std::size_t throughput;
  };
  /// Of one protocol and size, by path.
  struct Measured {
    std::array<double, kPaths.size()> ns{};
    std::array<double, kPaths.size()> gigabits{};
  };

  Place add_runs(const Protocol& protocol, std::uint64_t bytes, const Path& path);
  void judge_protocol(std::size_t protocol);
  Measured measured(std::size_t protocol, std::size_t size, std::size_t first_line);
  void judge_size(const Protocol& protocol, std::uint64_t bytes, const Measured& found);

  const StudyContext& context_;
  std::vector<Protocol> protocols_;
  TimePs line_;  ///< A core's store of a line.
  RunBatch batch_;
  std::vector<std::optional<Place>> places_;  ///< By protocol, size, path.
  Plot latency_{"latency",
                "Writes, one at a time",
                "bytes",
                "ns",
                PlotKind::kLines,
                AxisScale::kLogarithmic,
                AxisScale::kFitting,
                {}};
  Plot throughput_{"throughput",
                   "Writes, 256 under way",
                   "bytes",
                   "Gb/s",
                   PlotKind::kLines,
                   AxisScale::kLogarithmic,
                   AxisScale::kFitting,
                   {}};
  // For the sentences.
  std::vector<double> saved_;         ///< By the stream, ns; by protocol and size.
  double most_ = 0;                   ///< Gb/s of the stream.
  std::vector<std::uint64_t> ahead_;  ///< By protocol: largest size at which the stream carries more.
};

Result<void> Transmit::run() {
  const auto parameters = load_request(context_, {"mmio-transmit", "roce_bf", {}});
  if (!parameters) return parameters.error();
  line_ = parameters->config.host.mmio_stream.line;
  for (const Protocol& protocol : protocols_) {
    for (const std::uint64_t bytes : kPayloads) {
      for (const Path& path : kPaths) {
        if (path.on_bus && !protocol.has_bus) {
          places_.emplace_back();
        } else {
          places_.emplace_back(add_runs(protocol, bytes, path));
        }
      }
    }
  }
  return batch_.run();
}

Transmit::Place Transmit::add_runs(const Protocol& protocol, std::uint64_t bytes, const Path& path) {
  Writes writes{"mmio-transmit",
                protocol.stack,
                bytes,
                50,
                1,
                {path.on_bus ? "model.attachment=on_chip_bus" : "model.attachment=pcie",
                 fmt::format("model.submission={}", path.key)}};
  const std::size_t latency = batch_.add(request(writes));
  writes.in_flight = 256;
  writes.operations = 1'500;
  // Software costs nothing but the stores to the NIC, which are as fast for BlueFlame as for the stream.
  const bool stores = path.key == std::string_view("blueflame") && bytes <= kInline;
  writes.keys =
      joined(writes.keys, protocol.keys,
             std::vector<std::string>{
                 "model.core.library_post=0ps",
                 fmt::format("model.core.work_request_build={}", format_time(stores ? line_ * 2 : kTimeZero)),
                 "model.core.library_poll=0ps",
                 path.on_bus ? "model.core.poll_on_chip=0ps" : "model.core.poll_host_memory=0ps"});
  return {latency, batch_.add(request(writes))};
}

Result<void> Transmit::judge() {
  result.columns = {{"protocol", "protocol", 0},
                    {"bytes", "bytes", 0},
                    {"doorbell_ns", "doorbell ns", 0},
                    {"blueflame_ns", "BlueFlame", 0},
                    {"stream_ns", "stream", 0},
                    {"bus_ns", "bus", 0},
                    {"doorbell_gbps", "doorbell Gb/s", 1},
                    {"blueflame_gbps", "BlueFlame", 1},
                    {"stream_gbps", "stream", 1},
                    {"bus_gbps", "bus", 1}};
  for (std::size_t protocol = 0; protocol < protocols_.size(); ++protocol) judge_protocol(protocol);
  result.plots = {latency_, throughput_};
  result.checks.push_back(batch_.integrity());
  return {};
}

void Transmit::judge_protocol(std::size_t at) {
  const Protocol& protocol = protocols_[at];
  const std::size_t first = latency_.series.size();
  for (const Path& path : kPaths) {
    if (path.on_bus && !protocol.has_bus) continue;
    latency_.series.push_back({fmt::format("{}, {}", protocol.name, path.name), {}});
    throughput_.series.push_back(latency_.series.back());
  }
  ahead_.push_back(0);
  for (std::size_t size = 0; size < kPayloads.size(); ++size)
    judge_size(protocol, kPayloads[size], measured(at, size, first));
}

/// The figures of a row, which it adds; lines of plots begin at `first_line`.
Transmit::Measured Transmit::measured(std::size_t protocol, std::size_t size, std::size_t first_line) {
  const std::uint64_t bytes = kPayloads[size];
  const auto x = static_cast<double>(bytes);
  Measured found;
  Json row{{"protocol", protocols_[protocol].name}, {"bytes", bytes}};
  for (std::size_t p = 0; p < kPaths.size(); ++p) {
    const auto& place = places_[(protocol * kPayloads.size() + size) * kPaths.size() + p];
    if (!place) continue;
    found.ns[p] = latency_ns(batch_[place->latency]);
    found.gigabits[p] = gigabits(batch_[place->throughput]);
    row[fmt::format("{}_ns", kPaths[p].column)] = found.ns[p];
    row[fmt::format("{}_gbps", kPaths[p].column)] = found.gigabits[p];
    latency_.series[first_line + p].points.push_back({x, found.ns[p], ""});
    throughput_.series[first_line + p].points.push_back({x, found.gigabits[p], ""});
  }
  result.rows.push_back(row);
  return found;
}

void Transmit::judge_size(const Protocol& protocol, std::uint64_t bytes, const Measured& found) {
  const double saved = found.ns[kDoorbell] - found.ns[kStream];
  saved_.push_back(saved);
  result.checks.push_back(
      between(fmt::format("{}, {} B: doorbell less stream, ns", protocol.name, bytes), saved, 500, 1'100));
  const double rate = found.gigabits[kStream];
  most_ = std::max(most_, rate);
  if (rate > found.gigabits[kDoorbell]) ahead_.back() = bytes;
  // One core's stores: the entry's line and those of the payload.
  const double stored = 8.0 * static_cast<double>(bytes) /
                        (as_nanoseconds(line_) * (1.0 + static_cast<double>((bytes + 63) / 64)));
  result.checks.push_back(between(fmt::format("{}, {} B: stream over a core's stores", protocol.name, bytes),
                                  rate / stored, 0.9, 1));
}

Result<void> Transmit::tell() {
  const auto carries_more = [](std::uint64_t bytes) {
    return bytes == 0 ? std::string("more at no size") : fmt::format("more up to {} B", bytes);
  };
  result.sentences = {
      fmt::format(
          "A stream of stores saves both fetches at every size: {:.0f} ns at 64 B, {:.0f} ns at 4 KiB, since "
          "the core stores lines more slowly than a DMA read brings them. BlueFlame does as well "
          "where the payload fits into its entry, and rings the doorbell beyond.",
          saved_.front(), saved_[kPayloads.size() - 1]),
      fmt::format(
          "Throughput is that of software which costs nothing but its stores. Those bound the stream, a line "
          "for the entry and 120 Gb/s in all: {:.0f} Gb/s at 4 KiB. DMA fetches overlap, but a RoCE queue "
          "fetches four entries at a time and twice ahead: with the doorbell it carries less than the "
          "stream up to {} B. UB and Ultra Ethernet queues fetch every entry as it is announced: there the "
          "stream carries {} and {}.",
          most_, ahead_[0], carries_more(ahead_[1]), carries_more(ahead_[2]))};
  return {};
}

}  // namespace

Result<StudyResult> transmit(const StudyContext& context) { return in_three_steps<Transmit>(context); }

}  // namespace wharf::study::mmio
