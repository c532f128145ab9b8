// SPDX-License-Identifier: Apache-2.0
// wharf perf: latency, message rate and bandwidth against `wharf serve`, with every byte checked.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/nearest_name.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/live_options.h"
#include "cli/perf_rivals.h"
#include "cli/perf_verdict.h"
#include "cli/perftest_mode.h"
#include "cli/progress.h"
#include "live/udp/live_protocol.h"
#include "live/udp/measurement.h"
#include "live/udp/place.h"
#include "report/text_table.h"
#include "sim/config/binder.h"
#include "workload/workload.h"

namespace wharf::cli {
namespace {

using live::Measurement;
using live::MeasurementConfig;

constexpr std::uint32_t kSmallestSweepSize = 8;
constexpr std::uint32_t kLargestSweepSize = 1U << 20U;
/// With --all-sizes, at most so many bytes for one size: larger messages are fewer.
constexpr std::uint64_t kSweepBytes = std::uint64_t{256} << 20U;

/// One line of the result.
struct Row {
  std::uint32_t size = 0;
  Measurement measurement;
};

double microseconds_at(const Histogram& latency, double percent) {
  return static_cast<double>(latency.value_at_percentile(percent)) / 1e6;
}

double per_second(const workload::LoopResult& loop, std::uint64_t count) {
  const TimePs span = loop.operations == 0 ? kTimeZero : loop.end - loop.begin;
  return span <= kTimeZero ? 0 : static_cast<double>(count) * 1e12 / static_cast<double>(span.ps);
}

/// CPUs that this process may use.
int usable_cpus() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

class PerfCommand : public Command {
 public:
  std::string_view name() const override { return "perf"; }
  std::string_view summary() const override { return "Measure latency and rate against `wharf serve`."; }
  std::string_view examples() const override {
    static const std::string kText =
        "  wharf perf 127.0.0.1 --verb write --size 64B\n" +
        protocol_examples("perf", &live::ProtocolDescription::perf_example) +
        "  wharf perf 127.0.0.1 --verb send --all-sizes --duration 2s \\\n"
        "      --html out/sizes.html\n"
        "  wharf perf shm:bench --verb write --size 64B\n"
        "  wharf perf 127.0.0.1 --psk bench.key --encrypt\n"
        "  wharf perf 127.0.0.1 --busy-poll --against udp,ucx,libfabric\n"
        "  wharf perf 127.0.0.1 --workload cas_lock --parties 2 --set operations=500\n"
        "  wharf perf 127.0.0.1 --perftest write_lat \\\n"
        "      --ethernet 127.0.0.1:6001,127.0.0.1:6002\n";
    return kText;
  }
  void declare(Options& app) override {
    app.add_option("host", host_,
                   "Address of the server, with :PORT if it is not the protocol's own; or shm:NAME")
        .type_name("HOST");
    live_.declare(app);
    verb_option_ = app.add_option("--verb", verb_, "read, write, send, fetch_add, ...; write by default")
                       .type_name("VERB");
    size_option_ =
        app.add_option("--size", size_, "Bytes of a message, such as 64, 64B or 4KiB; atomics: 4, 8, 16")
            .type_name("SIZE");
    iterations_option_ = app.add_option("--iterations", iterations_, "Measured operations, 10000 by default")
                             .type_name("N")
                             .positive();
    duration_option_ =
        app.add_option("--duration", duration_, "Measure for so long instead, such as 5s").type_name("TIME");
    warmup_option_ =
        app.add_option("--warmup", warmup_, "Operations before the measured ones, 100 by default")
            .type_name("N");
    concurrency_option_ = app.add_option("--concurrency", concurrency_, "Operations in flight, 1 by default")
                              .type_name("N")
                              .positive();
    all_sizes_option_ =
        app.add_flag("--all-sizes", all_sizes_,
                     "Every power of two from 8B to 1MiB, or to the longest send, at most 256MiB of each");
    tag_option_ =
        app.add_option("--tag", tag_,
                       fmt::format("Sends carry this tag, and meet receives of it ({})", tagged_protocols()))
            .type_name("N");
    Option workload =
        app.add_option("--workload", workload_, "Run this workload on the server's memory instead")
            .type_name("NAME");
    app.add_option("--parties", parties_, "Clients that run the workload together, 1 by default")
        .type_name("N")
        .needs(workload)
        .range(1, 64);
    app.add_option("--set", overrides_, "Override one key of the workload, as key=value; may be repeated")
        .type_name("KEY=VALUE")
        .needs(workload)
        .one_value_each();
    verb_option_.excludes(workload);
    size_option_.excludes(workload);
    tag_option_.excludes(workload);
    all_sizes_option_.excludes(workload);
    all_sizes_option_.excludes(size_option_);
    iterations_option_.excludes(duration_option_);
    Option perftest = perftest_.declare(app);
    for (Option* each :
         {&verb_option_, &duration_option_, &warmup_option_, &all_sizes_option_, &tag_option_, &workload})
      each->excludes(perftest);
    live_.exclude_key(perftest);
    Option against = rivals_.declare(app);
    against.excludes(workload);
    against.excludes(perftest);
    html_.declare(app);
  }

  Result<ExitCode> run(const Console& console) override {
    if (perftest_.wanted()) return run_perftest(console);
    if (host_.empty())
      return Error{ErrorKind::kUsage,
                   "wharf perf: HOST is required; `wharf perf --help` shows what it takes"};
    MeasurementConfig config;
    WHARF_TRY(live_.read_into(config));
    auto server = live::parse_place(host_, live::describe(config.protocol).port);
    if (!server) return server.error();
    config.server = *server;
    WHARF_TRY(html_.open());
    warn_about_cpus(console, config);
    return workload_.empty() ? run_verb(console, config) : run_workload(console, config);
  }

 private:
  Result<ExitCode> run_perftest(const Console& console) {
    if (html_.wanted()) return input_error("--html: --perftest makes no page, expected --json or the table");
    PerftestWishes wishes;
    wishes.host = host_;
    if (size_option_.given()) {
      const auto size = message_size();
      if (!size) return size.error();
      wishes.bytes = *size;
    }
    if (iterations_option_.given()) wishes.iterations = iterations_;
    if (concurrency_option_.given()) wishes.depth = concurrency_;
    return perftest_.run(console, live_, wishes);
  }

  Result<ExitCode> run_verb(const Console& console, MeasurementConfig& config) {
    live::VerbRun run;
    const auto verb = verbs::parse_verb(verb_);
    if (!verb) {
      const auto nearest = nearest_name(verb_, verbs::verb_names());
      return input_error(fmt::format("--verb: found {}, expected one of {}{}", verb_,
                                     fmt::join(verbs::verb_names(), ", "),
                                     nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
    }
    run.verb = *verb;
    WHARF_TRY(read_loop(run.loop));
    if (tag_option_.given()) run.tag = tag_;
    auto sizes = message_sizes(run.verb, config.protocol);
    if (!sizes) return sizes.error();
    live::RivalRun beside{run.verb, sizes->front(), iterations_, warmup_, live_.busy_poll};
    if (rivals_.wanted()) {
      WHARF_TRY(rivals_.open(config.server, beside, run.loop.concurrency));
      if (!live_.busy_poll)
        console.remark(
            "ucx and libfabric poll without a pause: --busy-poll here and at the server compares alike");
    }

    std::vector<Row> rows;
    bool interrupted = false;
    for (const std::uint32_t size : *sizes) {
      live::VerbRun one = run;
      one.size = size;
      if (all_sizes_) {
        one.loop.operations = std::min(one.loop.operations, std::max<std::uint64_t>(kSweepBytes / size, 1));
      }
      config.program = one;
      auto measured = measure(console, config, fmt::format("{} {}", verb_, format_bytes(Bytes{size})));
      if (!measured && !rows.empty() && measured.error().kind == ErrorKind::kInput) {
        console.remark("the larger sizes were left out: " + measured.error().message);
        break;
      }
      if (!measured) return measured.error();
      interrupted = measured->interrupted;
      rows.push_back({size, *std::move(measured)});
      if (interrupted) break;
      if (!rivals_.wanted()) continue;
      beside.bytes = size;
      interrupted =
          !rivals_.measure(console, beside, rows.back().measurement.loop.latency.value_at_percentile(50));
      if (interrupted) break;
    }
    WHARF_TRY(print(console, config, run.loop.concurrency, rows, interrupted));
    WHARF_TRY(rivals_.result(console));
    return exit_code(console, rows, interrupted);
  }

  Result<ExitCode> run_workload(const Console& console, MeasurementConfig& config) {
    const auto kind = workload::parse_workload(workload_);
    if (!kind) {
      const auto nearest = nearest_name(workload_, workload::workload_names());
      return input_error(fmt::format("--workload: found {}, expected one of {}{}", workload_,
                                     fmt::join(workload::workload_names(), ", "),
                                     nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
    }
    live::WorkloadRun run;
    run.config = workload::default_config(*kind);
    run.parties = parties_;
    workload::LoopConfig& loop = workload::loop_config(run.config);
    if (iterations_option_.given()) loop.operations = iterations_;
    if (warmup_option_.given()) loop.warmup_operations = warmup_;
    if (concurrency_option_.given()) loop.concurrency = concurrency_;
    if (duration_option_.given()) WHARF_TRY(read_duration(loop));
    WHARF_TRY(apply_overrides(run.config));

    config.program = run;
    auto measured = measure(console, config, workload_);
    if (!measured) return measured.error();
    const bool interrupted = measured->interrupted;
    const std::vector<Row> rows{{0, *std::move(measured)}};
    WHARF_TRY(print(console, config, workload::loop_config(run.config).concurrency, rows, interrupted));
    return exit_code(console, rows, interrupted);
  }

  Result<void> apply_overrides(workload::WorkloadConfig& config) const {
    sim::ConfigDocument document;
    for (const std::string& assignment : overrides_) WHARF_TRY(document.add_override(assignment));
    sim::Binder binder(document);
    workload::bind_keys(config, binder);
    WHARF_TRY(binder.result());
    return binder.finish({});
  }

  Result<Measurement> measure(const Console& console, const MeasurementConfig& config, std::string what) {
    Progress progress(console, std::move(what));
    // A measurement that lasts a time has no number of operations to be a share of.
    const auto lasts = duration_option_.given() ? parse_time(duration_) : Result<TimePs>(kTimeZero);
    const double seconds = lasts ? as_nanoseconds(*lasts) / 1e9 : 0;
    const auto begin = std::chrono::steady_clock::now();
    return live::measure(
        config,
        [&progress, seconds, begin](double fraction, std::uint64_t operations) {
          const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
          progress.update(seconds > 0 ? taken.count() / seconds : fraction,
                          fmt::format("{} operations", operations));
        },
        interrupt_requested());
  }

  Result<void> read_duration(workload::LoopConfig& loop) const {
    auto duration = parse_time(duration_);
    if (!duration) return input_error("--duration: " + duration.error().message);
    if (*duration == kTimeZero) return input_error("--duration: found 0, expected a time such as 5s");
    loop.operations = 0;
    loop.duration = *duration;
    return {};
  }

  Result<void> read_loop(workload::LoopConfig& loop) const {
    loop.operations = iterations_;
    loop.warmup_operations = warmup_;
    loop.concurrency = concurrency_;
    if (duration_option_.given()) return read_duration(loop);
    return {};
  }

  /// The sizes to measure. A bare number counts bytes, as in other performance tools.
  Result<std::vector<std::uint32_t>> message_sizes(verbs::Verb verb, wire::Protocol protocol) const {
    if (all_sizes_) {
      if (verbs::is_atomic(verb))
        return input_error("--all-sizes: an atomic has one size, expected --size 8");
      std::uint64_t largest = kLargestSweepSize;
      if (verbs::consumes_receive_entry(verb))
        largest = std::min(largest, live::capabilities_of(protocol).max_send_bytes);
      std::vector<std::uint32_t> sizes;
      for (std::uint32_t size = kSmallestSweepSize; size <= largest; size *= 2) sizes.push_back(size);
      return sizes;
    }
    if (!size_option_.given()) return std::vector<std::uint32_t>{verbs::is_atomic(verb) ? 8U : 64U};
    const auto size = message_size();
    if (!size) return size.error();
    return std::vector<std::uint32_t>{*size};
  }

  Result<std::uint32_t> message_size() const {
    std::uint32_t bare = 0;
    const auto [end, status] = std::from_chars(size_.data(), size_.data() + size_.size(), bare);
    if (status == std::errc{} && end == size_.data() + size_.size()) return bare;
    auto size = parse_bytes(size_);
    if (!size) return input_error("--size: " + size.error().message);
    if (size->count > (std::uint64_t{1} << 30U)) {
      return input_error(fmt::format("--size: found {}, expected at most 1GiB", size_));
    }
    return static_cast<std::uint32_t>(size->count);
  }

  /// Two threads that never sleep on one CPU wait for each other a whole time slice long.
  void warn_about_cpus(const Console& console, const MeasurementConfig& config) const {
    const bool same_machine = config.server.shared() || config.server.endpoint.address >> 24U == 127;
    const int spinning = live_.busy_poll ? (same_machine ? 2 : 1) : 0;
    if (usable_cpus() < spinning) {
      console.remark(
          fmt::format("{} CPU for {} peers that poll busily: latencies will be those of the scheduler",
                      usable_cpus(), spinning));
    }
  }

  Result<void> print(const Console& console, const MeasurementConfig& config, std::uint32_t concurrency,
                     const std::vector<Row>& rows, bool interrupted) {
    using report::Align;
    report::TextTable table({{"operation"},
                             {"bytes", Align::kRight},
                             {"count", Align::kRight},
                             {"min us", Align::kRight},
                             {"median us", Align::kRight},
                             {"99% us", Align::kRight},
                             {"99.9% us", Align::kRight},
                             {"max us", Align::kRight},
                             {"messages per s", Align::kRight},
                             {"Gbit/s", Align::kRight}});
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      const workload::LoopResult& loop = row.measurement.loop;
      const Histogram& latency = loop.latency;
      const double rate = per_second(loop, loop.operations);
      const double bits = per_second(loop, loop.bytes) * 8;
      const std::string bytes = row.size == 0 ? "" : std::to_string(row.size);
      if (loop.operations == 0) {
        table.add_row({row.measurement.program, bytes, "0", "-", "-", "-", "-", "-", "-", "-"});
      } else {
        table.add_row({row.measurement.program, bytes, std::to_string(loop.operations),
                       fmt::format("{:.2f}", static_cast<double>(latency.min()) / 1e6),
                       fmt::format("{:.2f}", microseconds_at(latency, 50)),
                       fmt::format("{:.2f}", microseconds_at(latency, 99)),
                       fmt::format("{:.2f}", microseconds_at(latency, 99.9)),
                       fmt::format("{:.2f}", static_cast<double>(latency.max()) / 1e6),
                       fmt::format("{:.0f}", rate), fmt::format("{:.3f}", bits / 1e9)});
      }
      nlohmann::ordered_json entry{
          {"operation", row.measurement.program},
          {"bytes", row.size},
          {"iterations", loop.operations},
          {"latency_ns_min", as_nanoseconds(TimePs{latency.min()})},
          {"latency_ns_p50", as_nanoseconds(TimePs{latency.value_at_percentile(50)})},
          {"latency_ns_p99", as_nanoseconds(TimePs{latency.value_at_percentile(99)})},
          {"latency_ns_p999", as_nanoseconds(TimePs{latency.value_at_percentile(99.9)})},
          {"latency_ns_max", as_nanoseconds(TimePs{latency.max()})},
          {"messages_per_second", rate},
          {"bits_per_second", bits},
          {"checks", loop.verdict.checks},
          {"violations", loop.verdict.violations},
          {"datagrams_sent", row.measurement.counters.datagrams_sent},
          {"datagrams_received", row.measurement.counters.datagrams_received},
          {"injected_losses", row.measurement.counters.injected_losses},
          {"injected_duplicates", row.measurement.counters.injected_duplicates},
          {"datagrams_dropped", row.measurement.counters.dropped()},
          {"sealed", row.measurement.sealed}};
      for (const workload::NamedCount& count : row.measurement.counts)
        entry["counts"][std::string(count.name)] = count.value;
      if (loop.operations == 0) {
        for (auto& [key, value] : entry.items())
          if (key.starts_with("latency_ns") || key.ends_with("per_second")) value = nullptr;
      }
      if (rivals_.wanted()) entry["against"] = rivals_.json(row.size);
      list.push_back(std::move(entry));
    }
    console.print(nlohmann::ordered_json{{"server", live::format_place(config.server)},
                                         {"protocol", live::name(config.protocol)},
                                         {"congestion", congestion_of(config)},
                                         {"delivery", config.delivery.name},
                                         {"concurrency", concurrency},
                                         {"interrupted", interrupted},
                                         {"results", list}});
    const bool sealed =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.measurement.sealed; });
    std::string text = fmt::format("{} over {}{}, concurrency {}\n{}", live::format_place(config.server),
                                   live::name(config.protocol), sealed ? ", sealed" : "", concurrency,
                                   console.text_of(table));
    if (rivals_.wanted()) text += "\n" + console.text_of(rivals_.table()) + "\n";
    std::string notes;
    std::uint64_t checks = 0;
    for (const Row& row : rows) {
      checks += row.measurement.loop.verdict.checks;
      for (const workload::NamedCount& count : row.measurement.counts) {
        notes += fmt::format("{}: {}\n", count.name, count.value);
      }
    }
    notes += interrupted ? "interrupted: partial results, memory not read back\n"
                         : fmt::format("{} checks of the bytes\n", checks);
    console.print(text + notes);
    if (!html_.wanted()) return {};
    report::Page page(
        fmt::format("{} over {}", rows.front().measurement.program, live::name(config.protocol)));
    std::vector<std::string> wrong;
    for (const Row& row : rows) {
      for (std::string& failure : failures_of(row.measurement, interrupted))
        wrong.push_back(std::move(failure));
    }
    if (interrupted) page.verdict(false, "PARTIAL", "The measurement was interrupted.");
    if (!interrupted || !wrong.empty())
      add_verdict(page, wrong, fmt::format("{} checks of the bytes.", checks));
    page.facts({{"server", live::format_place(config.server)},
                {"protocol", std::string(live::name(config.protocol))},
                {"congestion control", std::string(congestion_of(config))},
                {"delivery", std::string(config.delivery.name)},
                {"in flight", fmt::format("{}", concurrency)}});
    page.section("Results");
    html_.add_plots(page, plots_of(rows), console);
    page.table(table);
    if (rivals_.wanted()) {
      page.section("Beside it");
      page.table(rivals_.table());
    }
    page.lines(notes);
    if (!overrides_.empty()) add_configuration(page, {"", overrides_, ""});
    return html_.finish(page, console, true);
  }

  /// Latency and rate by size; nothing for one size alone.
  std::vector<report::Plot> plots_of(const std::vector<Row>& rows) const {
    if (rows.size() < 2) return {};
    const auto by_size = [](const char* name, const char* title, const char* y_label) {
      constexpr auto kScale = report::AxisScale::kLogarithmic;
      return report::Plot{name, title, "bytes", y_label, report::PlotKind::kLines, kScale, kScale, {}};
    };
    report::Plot latency = by_size("perf_latency", "Latency by size", "latency, us");
    report::Plot rate = by_size("perf_rate", "Bandwidth by size", "Gbit/s");
    latency.series = {{"median", {}}, {"99%", {}}, {"99.9%", {}}};
    rate.series = {{"bandwidth", {}}};
    constexpr std::array<double, 3> kPercents{50, 99, 99.9};
    for (const Row& row : rows) {
      const auto size = static_cast<double>(row.size);
      const workload::LoopResult& loop = row.measurement.loop;
      for (std::size_t i = 0; i < kPercents.size(); ++i)
        latency.series[i].points.push_back({size, microseconds_at(loop.latency, kPercents[i]), ""});
      rate.series[0].points.push_back({size, per_second(loop, loop.bytes) * 8 / 1e9, ""});
    }
    rivals_.add_series(latency);
    return {latency, rate};
  }

  static std::string_view congestion_of(const MeasurementConfig& config) {
    return live::describe(config.protocol).congestion[config.congestion];
  }

  static ExitCode exit_code(const Console& console, const std::vector<Row>& rows, bool interrupted) {
    bool holds = true;
    for (const Row& row : rows) {
      for (const std::string& failure : failures_of(row.measurement, interrupted)) {
        holds = false;
        console.error(fmt::format("{}: {}", row.measurement.program, failure));
      }
    }
    if (!holds) return ExitCode::kJudgedFailed;
    return interrupted ? ExitCode::kInterrupted : ExitCode::kDone;
  }

  LiveOptions live_;
  PerftestMode perftest_;
  PerfRivals rivals_;
  HtmlPage html_;
  std::string host_;
  std::string verb_ = "write";
  std::string size_;
  std::string duration_;
  std::string workload_;
  std::vector<std::string> overrides_;
  std::uint64_t iterations_ = 10'000;
  std::uint64_t warmup_ = 100;
  std::uint32_t concurrency_ = 1;
  std::uint32_t parties_ = 1;
  std::uint64_t tag_ = 0;
  bool all_sizes_ = false;
  Option verb_option_;
  Option size_option_;
  Option iterations_option_;
  Option duration_option_;
  Option warmup_option_;
  Option concurrency_option_;
  Option all_sizes_option_;
  Option tag_option_;
};

}  // namespace

std::unique_ptr<Command> make_perf_command() { return std::make_unique<PerfCommand>(); }

}  // namespace wharf::cli
