// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 25: far memory reached line by line against far memory swapped in by pages (Infiniswap,
// Fastswap). The accesses are written as memory traces and replayed twice through the same machinery: by the
// paper's rules, which are keys of the serial profiles (one synchronous read of the whole window as one
// packet, no write-back, no caches in front of resident pages), and by mechanism (demanded page first,
// caches, packets).
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/line.h"
#include "base/random.h"
#include "base/zipf.h"
#include "report/plot.h"
#include "study/frame/three_steps.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBase = 0x1'0000'0000;  ///< Where the traces' data begins.
constexpr std::uint64_t kPage = 4096;
/// The published numbers of accesses.
constexpr std::uint64_t kZipfAccesses = 5000;
constexpr std::uint64_t kChaseAccesses = 2000;

/// Traces of one run of the study; the files go away with it.
class TraceDirectory {
 public:
  static Result<TraceDirectory> create() {
    std::error_code status;
    std::string pattern = (fs::temp_directory_path(status) / "wharf-traces-XXXXXX").string();
    if (status || ::mkdtemp(pattern.data()) == nullptr) {
      return Error{ErrorKind::kEnvironment, fmt::format("{}: cannot make a temporary directory", pattern)};
    }
    return TraceDirectory(pattern);
  }
  TraceDirectory(TraceDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TraceDirectory& operator=(TraceDirectory&&) = delete;
  ~TraceDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  /// Writes 8-byte loads as lackey text; returns the file's name.
  Result<std::string> write(std::string_view name, const std::vector<std::uint64_t>& offsets) const {
    std::string text;
    for (const std::uint64_t offset : offsets) text += fmt::format(" L {:08x},8\n", kBase + offset);
    const fs::path file = path_ / fmt::format("{}.lackey", name);
    WHARF_TRY(report::write_text_file(file, text));
    return file.string();
  }

 private:
  explicit TraceDirectory(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// Keys of one line each, the most popular first, so that popular keys share pages.
std::vector<std::uint64_t> zipf_offsets(std::uint64_t keys, double exponent) {
  const Zipf zipf(keys, exponent);
  RandomStream random(1, "study.far_memory.zipf");
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < kZipfAccesses; ++i) offsets.push_back(zipf(random) * kLineBytes);
  return offsets;
}

std::vector<std::uint64_t> scan_offsets(std::uint64_t bytes) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t at = 0; at < bytes; at += kLineBytes) offsets.push_back(at);
  return offsets;
}

/// The published chase: a random line of each page, page after page.
std::vector<std::uint64_t> page_chase_offsets() {
  RandomStream random(1, "study.far_memory.chase");
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t hop = 0; hop < kChaseAccesses; ++hop) {
    offsets.push_back(hop * kPage + random.below(kPage / kLineBytes) * kLineBytes);
  }
  return offsets;
}

/// A chase as pointers really lie: a random line of a random page.
std::vector<std::uint64_t> random_chase_offsets() {
  constexpr std::uint64_t kPages = 65536;
  RandomStream random(1, "study.far_memory.random_chase");
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t hop = 0; hop < kChaseAccesses; ++hop)
    offsets.push_back(random.below(kPages * kPage / kLineBytes) * kLineBytes);
  return offsets;
}

/// A way to far memory.
struct System {
  std::string_view name;      ///< Of rows.
  std::string_view artifact;  ///< Of series.
  std::string_view accounting_profile;
  std::string_view mechanism_profile;
  std::string_view stack;
};
constexpr std::array<System, 3> kSystems{{
    {"ub_ldst", "ub_loadstore", kAccounting, kMechanism, kUbLoadStore},
    {"infiniswap", "infiniswap", "infiniswap-serial", "infiniswap", kRoceDma},
    {"fastswap", "fastswap", "fastswap-serial", "fastswap", kRoceDma},
}};

/// Whether loads may overlap: those of a scan do not need one another.
enum class Overlap : std::uint8_t { kNone, kAll };

RunRequest replay(const System& system, bool mechanism, const std::string& trace, Overlap overlap) {
  return {std::string(mechanism ? system.mechanism_profile : system.accounting_profile),
          std::string(system.stack),
          {"run.workload=replay", "run.trace=" + trace, "run.remote=all",
           fmt::format("model.replay.overlap={}", overlap == Overlap::kAll ? "all" : "none")}};
}

double number(const sim::RunReport& report, std::initializer_list<const char*> path) {
  const Json* at = &report.replay;
  for (const char* key : path) {
    const auto next = at->find(key);
    if (next == at->end()) return 0;
    at = &*next;
  }
  return at->get<double>();
}

double access_mean_ns(const sim::RunReport& report) {
  return number(report, {"time_ns"}) / number(report, {"accesses"});
}

/// One experiment: a trace, and the published series that it belongs to.
struct Experiment {
  std::string part;    ///< Of rows: "zipf keys", ...
  std::string series;  ///< Reference series, with the system's name in place of {}; empty: not published.
  std::string x;
  double x_number;
  double accesses;
  bool drawn;  ///< Random draws decide; another generator gives another number.
  Overlap mechanism_overlap;
  std::string trace;
};

struct Runs {
  std::size_t accounting;
  std::size_t mechanism;
};

/// The tolerance of the accounting: 1 %, and three standard deviations of the number of misses where draws
/// decide.
double tolerance_ns(const Experiment& experiment, double published, double hit_ns, double miss_ns) {
  double tolerance = published * 0.01;
  if (experiment.drawn) {
    const double misses = std::max(0.0, (published - hit_ns) / (miss_ns - hit_ns)) * experiment.accesses;
    tolerance += 3 * std::sqrt(misses) * miss_ns / experiment.accesses;
  }
  return tolerance;
}

/// What an access costs by the paper's rules.
struct SerialCosts {
  double hit_ns;
  double miss_ns;
};

/// What one system did in one experiment.
struct Outcome {
  const sim::RunReport& serial;
  const sim::RunReport& real;
  double accounting_ns;
  double mechanism_ns;
  std::optional<double> paper;
  std::string what;  ///< For checks.
};

// Declared for the mechanism. Zipf at 64 K keys: what is left of the mean without the misses of the
// accounting, at the mechanism's own cost of a miss, is an access that finds its line or page: from a hit in
// the first cache to local memory behind all of them. A Fastswap fault, in the median, is its kernel time and
// one READ of a page (within 10 %), because the demanded page comes first. Scan of 1 MiB: loads at one miss
// over those outstanding (up to 15 % more); Fastswap, where the loads wait for one another: each line at the
// cost of local memory behind the caches, and per window of 512 lines one fault and at most one trap for each
// of the seven pages that follow.
constexpr double kFaultTolerance = 0.10;
constexpr double kOverlapMargin = 0.15;
constexpr double kMissTolerance = 0.001;

/// Draws or walks the accesses of every experiment, and leaves each trace in `traces`.
Result<std::vector<Experiment>> write_experiments(const TraceDirectory& traces) {
  std::vector<Experiment> experiments;
  const auto add = [&](Experiment experiment, const std::vector<std::uint64_t>& offsets) -> Result<void> {
    experiment.accesses = static_cast<double>(offsets.size());
    auto file = traces.write(fmt::format("{}", experiments.size()), offsets);
    if (!file) return file.error();
    experiment.trace = *file;
    experiments.push_back(std::move(experiment));
    return {};
  };
  for (const std::uint64_t keys : {1024U, 4096U, 16384U, 65536U, 262144U, 1048576U}) {
    WHARF_TRY(add({"zipf keys", "zipf0.99 keys {} mean_ns", fmt::format("{}", keys),
                   static_cast<double>(keys), 0, true, Overlap::kNone, ""},
                  zipf_offsets(keys, 0.99)));
  }
  for (const double skew : {0.5, 0.7, 0.9, 1.1, 1.3}) {
    WHARF_TRY(add({"zipf skew", "zipf skew 64K keys {} mean_ns", fmt::format("{}", skew), skew, 0, true,
                   Overlap::kNone, ""},
                  zipf_offsets(65536, skew)));
  }
  for (const std::uint64_t bytes : {4096U, 65536U, 1048576U}) {
    WHARF_TRY(add({"scan", "seq_scan {} mean_ns", fmt::format("{}", bytes), static_cast<double>(bytes), 0,
                   false, Overlap::kNone, ""},
                  scan_offsets(bytes)));
  }
  WHARF_TRY(add({"scan, loads overlap", "", "1048576", 1048576, 0, false, Overlap::kAll, ""},
                scan_offsets(1048576)));
  WHARF_TRY(add({"page chase", "ptr_chase {} mean_ns", "cold", 0, 0, false, Overlap::kNone, ""},
                page_chase_offsets()));
  WHARF_TRY(add({"random chase", "", "cold", 0, 0, true, Overlap::kNone, ""}, random_chase_offsets()));
  return experiments;
}

class Figure25 {
 public:
  explicit Figure25(const StudyContext& context) : context_(context), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  Result<void> judge_system(std::size_t system);
  Result<Outcome> outcome_of(std::size_t system, std::size_t experiment) const;
  /// The accounting against the published number, where there is one.
  void judge_accounting(const System& system, const Experiment& experiment, const Outcome& outcome,
                        double hit_ns, double cold_ns);
  Result<void> judge_mechanism(std::size_t system, const Experiment& experiment, const Outcome& outcome,
                               const SerialCosts& costs);
  Result<void> judge_fastswap_scan(const System& system, const Outcome& outcome);
  void add_row(const System& system, const Experiment& experiment, const Outcome& outcome);
  void draw(std::size_t system, const Experiment& experiment, const Outcome& outcome);

  const StudyContext& context_;
  ReferenceTable published_;
  RunBatch batch_;
  std::optional<TraceDirectory> traces_;
  std::vector<Experiment> experiments_;
  std::vector<Runs> runs_;  ///< By experiment and system.
  Plot keys_plot_{"keys",           "Zipf 0.99, mean per access", "keys of 64 B",          "ns",
                  PlotKind::kLines, AxisScale::kLogarithmic,      AxisScale::kLogarithmic, {}};
  Plot skew_plot_{"skew",           "64 K keys, mean per access", "Zipf exponent",         "ns",
                  PlotKind::kLines, AxisScale::kFitting,          AxisScale::kLogarithmic, {}};
  std::size_t page_read_ = 0;  ///< A READ of one page, by mechanism.
  // For the sentences.
  double fastswap_fault_ = 0;
  double published_fault_ = 0;
  std::uint32_t fastswap_window_ = 0;
  double scan_load_ = 0;
  double scan_fastswap_ = 0;
  std::array<double, kSystems.size()> random_chase_{};
  std::array<double, kSystems.size()> page_chase_{};
};

Result<void> Figure25::run() {
  auto published = reference(context_, "F25_far_memory.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  auto traces = TraceDirectory::create();
  if (!traces) return traces.error();
  traces_.emplace(*std::move(traces));
  auto experiments = write_experiments(*traces_);
  if (!experiments) return experiments.error();
  experiments_ = *std::move(experiments);
  for (const Experiment& experiment : experiments_) {
    for (const System& system : kSystems) {
      runs_.push_back({batch_.add(replay(system, false, experiment.trace, Overlap::kNone)),
                       batch_.add(replay(system, true, experiment.trace, experiment.mechanism_overlap))});
      batch_.compare(runs_.back().accounting, runs_.back().mechanism);
    }
  }
  VerbRun page{kMechanism, kRoceDma, "read", kPage};
  page_read_ = batch_.add(request(page));
  return batch_.run();
}

Result<void> Figure25::judge() {
  result.columns = {{"experiment", "experiment", 0},
                    {"x", "x", 0},
                    {"system", "system", 0},
                    {"paper_ns", "published ns", 1},
                    {"accounting_ns", "accounting ns", 1},
                    {"mechanism_ns", "mechanism ns", 1},
                    {"mechanism_miss_p50_ns", "miss p50", 0},
                    {"mechanism_miss_p99_ns", "miss p99", 0},
                    {"mechanism_deviation_percent", "off by %", 1}};
  for (std::size_t system = 0; system < kSystems.size(); ++system) WHARF_TRY(judge_system(system));
  result.plots = {keys_plot_, skew_plot_};
  return {};
}

Result<void> Figure25::judge_system(std::size_t s) {
  const System& system = kSystems[s];
  const auto cold = published_.at(fmt::format("ptr_chase {} p99_ns", system.artifact), "cold");
  if (!cold) return cold.error();
  const auto machine =
      load_request(context_, {std::string(system.accounting_profile), std::string(system.stack), {}});
  if (!machine) return machine.error();
  const sim::HostConfig& host = machine->config.host;
  const bool paged = machine->config.replay.far_memory == sim::FarMemory::kPaged;
  // What an access costs that finds its page, or its line.
  const double hit_ns = as_nanoseconds(paged ? host.memory.load_latency : host.cache.l1.latency);
  if (system.name == "fastswap") {
    published_fault_ = *cold;
    fastswap_window_ = machine->config.replay.paging.window_pages;
  }
  for (Plot* plot : {&keys_plot_, &skew_plot_}) {
    plot->series.push_back(published_series(system.name));
    plot->series.push_back(mechanism_series(system.name));
  }
  for (std::size_t e = 0; e < experiments_.size(); ++e) {
    const auto outcome = outcome_of(s, e);
    if (!outcome) return outcome.error();
    judge_accounting(system, experiments_[e], *outcome, hit_ns, *cold);
    add_row(system, experiments_[e], *outcome);
    draw(s, experiments_[e], *outcome);
    WHARF_TRY(judge_mechanism(s, experiments_[e], *outcome, {hit_ns, *cold}));
  }
  return {};
}

Result<Outcome> Figure25::outcome_of(std::size_t s, std::size_t e) const {
  const Experiment& experiment = experiments_[e];
  const Runs& runs = runs_[e * kSystems.size() + s];
  const sim::RunReport& serial = batch_[runs.accounting];
  const sim::RunReport& real = batch_[runs.mechanism];
  Outcome outcome{serial,
                  real,
                  access_mean_ns(serial),
                  access_mean_ns(real),
                  std::nullopt,
                  fmt::format("{} {}, {}", experiment.part, experiment.x, kSystems[s].name)};
  if (experiment.series.empty()) return outcome;
  const auto value =
      published_.at(fmt::format(fmt::runtime(experiment.series), kSystems[s].artifact), experiment.x);
  if (!value) return value.error();
  outcome.paper = *value;
  return outcome;
}

void Figure25::judge_accounting(const System& system, const Experiment& experiment, const Outcome& outcome,
                                double hit_ns, double cold_ns) {
  if (outcome.paper) {
    const double margin = tolerance_ns(experiment, *outcome.paper, hit_ns, cold_ns);
    result.checks.push_back({CheckKind::kAccounting, outcome.what, outcome.accounting_ns,
                             *outcome.paper - margin, *outcome.paper + margin});
  }
  if (experiment.part == "page chase") {
    result.checks.push_back(within(fmt::format("{} miss of a cold page", system.name),
                                   number(outcome.serial, {"miss_latency_ns", "mean"}), cold_ns,
                                   kMissTolerance));
  }
}

void Figure25::add_row(const System& system, const Experiment& experiment, const Outcome& outcome) {
  Json row{{"experiment", experiment.part},
           {"x", experiment.x},
           {"system", system.name},
           {"paper_ns", json_or_null(outcome.paper)},
           {"accounting_ns", outcome.accounting_ns},
           {"mechanism_ns", outcome.mechanism_ns},
           {"mechanism_miss_p50_ns", number(outcome.real, {"miss_latency_ns", "p50"})},
           {"mechanism_miss_p99_ns", number(outcome.real, {"miss_latency_ns", "p99"})},
           {"mechanism_deviation_percent", nullptr}};
  if (outcome.paper)
    row["mechanism_deviation_percent"] = deviation_percent(outcome.mechanism_ns, *outcome.paper);
  result.rows.push_back(std::move(row));
}

void Figure25::draw(std::size_t s, const Experiment& experiment, const Outcome& outcome) {
  if (experiment.part != "zipf keys" && experiment.part != "zipf skew") return;
  Plot& plot = experiment.part == "zipf keys" ? keys_plot_ : skew_plot_;
  plot.series[2 * s].points.push_back({experiment.x_number, *outcome.paper, ""});
  plot.series[2 * s + 1].points.push_back({experiment.x_number, outcome.mechanism_ns, ""});
}

Result<void> Figure25::judge_mechanism(std::size_t s, const Experiment& experiment, const Outcome& outcome,
                                       const SerialCosts& costs) {
  const System& system = kSystems[s];
  const bool fastswap = system.name == "fastswap";
  const double miss = number(outcome.real, {"miss_latency_ns", "p50"});
  if (experiment.part == "zipf keys" && experiment.x == "65536") {
    const auto mechanism =
        load_request(context_, {std::string(system.mechanism_profile), std::string(system.stack), {}});
    if (!mechanism) return mechanism.error();
    const sim::HostConfig& host = mechanism->config.host;
    const double missing = (outcome.accounting_ns - costs.hit_ns) / (costs.miss_ns - costs.hit_ns);
    result.checks.push_back(between(outcome.what + ": an access that does not miss, ns",
                                    (outcome.mechanism_ns - missing * miss) / (1 - missing),
                                    as_nanoseconds(host.cache.l1.latency),
                                    as_nanoseconds(host.memory.load_latency + host.cache.llc.latency)));
    if (fastswap) {
      fastswap_fault_ = miss;
      const double fault =
          as_nanoseconds(mechanism->config.replay.paging.fault_cost) + mean_ns(batch_[page_read_]);
      result.checks.push_back(between("fastswap: median fault over its parts", miss / fault,
                                      1 - kFaultTolerance, 1 + kFaultTolerance));
    }
  }
  if (experiment.part == "scan, loads overlap" && s == 0) {
    scan_load_ = outcome.mechanism_ns;
    const auto machine = load_request(context_, {std::string(kMechanism), "", {}});
    if (!machine) return machine.error();
    const double share = miss / machine->config.host.core.outstanding_misses;
    result.checks.push_back(between(outcome.what, scan_load_, share, share * (1 + kOverlapMargin)));
  }
  if (experiment.part == "scan, loads overlap" && fastswap) scan_fastswap_ = outcome.mechanism_ns;
  if (experiment.part == "scan" && experiment.x == "1048576" && fastswap)
    WHARF_TRY(judge_fastswap_scan(system, outcome));
  if (experiment.part == "page chase") page_chase_[s] = outcome.mechanism_ns;
  if (experiment.part == "random chase") random_chase_[s] = outcome.mechanism_ns;
  return {};
}

Result<void> Figure25::judge_fastswap_scan(const System& system, const Outcome& outcome) {
  const auto mechanism =
      load_request(context_, {std::string(system.mechanism_profile), std::string(system.stack), {}});
  if (!mechanism) return mechanism.error();
  const sim::PagingConfig& paging = mechanism->config.replay.paging;
  const double lines = static_cast<double>(paging.window_pages) * kPage / kLineBytes;
  const double traps = as_nanoseconds(paging.fault_cost) * (paging.window_pages - 1);
  const double line_ns =
      as_nanoseconds(mechanism->config.host.memory.load_latency + mechanism->config.host.cache.llc.latency);
  const double fault = as_nanoseconds(paging.fault_cost) + mean_ns(batch_[page_read_]);
  result.checks.push_back(between(outcome.what, outcome.mechanism_ns,
                                  line_ns + fault * (1 - kFaultTolerance) / lines,
                                  line_ns + (fault * (1 + kFaultTolerance) + traps) / lines));
  return {};
}

Result<void> Figure25::tell() {
  const auto scan_published = published_.at("seq_scan ub_loadstore mean_ns", "1048576");
  if (!scan_published) return scan_published.error();
  result.sentences = {
      "The accounting is a replay like the mechanism's, under the rules below: each fault reads its whole "
      "window in one "
      "synchronous RDMA READ whose answer is one packet, and every access of a resident page pays local "
      "memory.",
      fmt::format("Published, a Fastswap fault waits for all {} pages ({:.1f} us); when the demanded page "
                  "comes first the "
                  "program goes on after {:.1f} us in the median. Published, a scan by loads costs {:.0f} ns "
                  "per line, one "
                  "round trip each; with the core's misses in flight together it costs {:.0f} ns (Fastswap "
                  "{:.0f} ns).",
                  fastswap_window_, published_fault_ / 1e3, fastswap_fault_ / 1e3, *scan_published,
                  scan_load_, scan_fastswap_),
      fmt::format("The published pointer chase walks the pages in order, which lets Fastswap prefetch "
                  "({:.0f} ns per hop by "
                  "mechanism); a chase over random pages costs it {:.0f} ns, Infiniswap {:.0f} ns and loads "
                  "{:.0f} ns.",
                  page_chase_[2], random_chase_[2], random_chase_[1], random_chase_[0]),
      "Loads wait for one another except where the row says that they overlap; nothing writes, in the "
      "published runs or here, so paging.write_back is a rule without influence."};
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure25(const StudyContext& context) { return in_three_steps<Figure25>(context); }

}  // namespace wharf::study::openurma
