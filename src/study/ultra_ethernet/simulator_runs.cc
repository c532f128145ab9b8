// SPDX-License-Identifier: Apache-2.0
#include "study/ultra_ethernet/simulator_runs.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>

#include "sim/fabric/topology_fat_tree.h"
#include "sim/fabric/topology_file.h"
#include "workload/connection_matrix.h"

namespace wharf::study::ultra_ethernet {
namespace {

constexpr sim::LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::string_view kGenerated = "generated 3-tier";

Result<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorKind::kEnvironment, path.string() + " cannot be read"};
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

/// A table whose first line names its columns.
class NamedTable {
 public:
  static Result<NamedTable> read(const std::filesystem::path& path) {
    auto text = text_of(path);
    if (!text) return text.error();
    NamedTable table;
    std::stringstream stream(*text);
    std::string line;
    std::getline(stream, line);
    table.columns_ = fields_of(line);
    for (int number = 2; std::getline(stream, line); ++number) {
      table.rows_.push_back(fields_of(line));
      if (table.rows_.back().size() != table.columns_.size()) {
        return input_error(fmt::format("{}:{}: found {} fields, expected {}", path.string(), number,
                                       table.rows_.back().size(), table.columns_.size()));
      }
    }
    return table;
  }

  std::size_t rows() const { return rows_.size(); }
  std::string text(std::size_t row, std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? "" : rows_[row][static_cast<std::size_t>(found - columns_.begin())];
  }
  /// kNotPublished where there is none.
  double number(std::size_t row, std::string_view column) const {
    const std::string field = text(row, column);
    double value = kNotPublished;
    std::from_chars(field.data(), field.data() + field.size(), value);
    return value;
  }

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Adds one seed to the mean of those before it.
void add(double& mean, double value, std::size_t seeds) {
  if (value == kNotPublished) return;
  const auto before = static_cast<double>(seeds - 1);
  mean = (mean == kNotPublished ? value : (mean * before + value) / (before + 1));
}

std::string stem(const std::string& file) { return file.substr(0, file.rfind('.')); }

}  // namespace

std::string SimulatorRun::name() const {
  std::string text = fmt::format("{}, {}", stem(matrix), mode);
  if (!topology.empty()) text += ", " + stem(topology);
  if (seeds.size() > 1) text += fmt::format(", {} seeds", seeds.size());
  return text;
}

Result<std::vector<std::string>> SimulatorRun::keys() const {
  std::vector<std::string> keys{fmt::format("fabric.control={}", receiver() ? "receiver" : "sender")};
  // Speeds that a topology file gives are not asked for again; the rules of windows follow the file.
  std::stringstream words(mode.substr(mode.find(' ') == std::string::npos ? mode.size() : mode.find(' ')));
  for (std::string word; words >> word;) {
    while (!word.empty() && (word.front() == '(' || word.back() == ')'))
      word = word.front() == '(' ? word.substr(1) : word.substr(0, word.size() - 1);
    const auto next = [&words] {
      std::string value;
      words >> value;
      while (!value.empty() && value.back() == ')') value.pop_back();
      return value;
    };
    if (word == "paths") {
      keys.push_back("fabric.paths=" + next());
    } else if (word == "failed") {
      keys.push_back("fabric.slow_links=" + next());
    } else if (word == "queue") {
      keys.push_back("fabric.queue_packets=" + next());
      keys.insert(keys.end(), {"fabric.ecn_low_packets=5", "fabric.ecn_high_packets=19"});
    } else if (word == "oblivious") {
      keys.emplace_back("fabric.path_selection=oblivious");
    } else if (word == "no") {
      next();
      keys.emplace_back("fabric.trimming=false");
    } else if (word == "sleek") {
      keys.emplace_back("fabric.sleek=true");
    } else {
      return input_error(
          fmt::format("{}: found the word {}, expected an option that README.md lists", mode, word));
    }
  }
  return keys;
}

Result<std::vector<SimulatorRun>> simulator_runs(const StudyContext& context) {
  std::vector<SimulatorRun> runs;
  for (const char* file : {"results.csv", "results-seeds.csv"}) {
    const auto table = NamedTable::read(context.reference / "ultra_ethernet" / file);
    if (!table) return table.error();
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
    for (std::size_t row = 0; row < table->rows(); ++row) {
      const std::string topology = table->text(row, "topology");
      const auto key = std::tuple(table->text(row, "matrix"), topology, table->text(row, "mode"));
      const auto [place, fresh] = places.emplace(key, runs.size());
      if (fresh) {
        runs.push_back({.matrix = std::get<0>(key),
                        .topology = topology == kGenerated ? "" : topology,
                        .mode = std::get<2>(key)});
      }
      SimulatorRun& run = runs[place->second];
      const std::string seed = table->text(row, "seed");
      run.seeds.push_back(seed.empty() ? 13 : std::stoull(seed));
      const std::size_t count = run.seeds.size();
      add(run.least, table->number(row, "fct_us_min"), count);
      add(run.mean, table->number(row, "fct_us_mean"), count);
      add(run.p99, table->number(row, "fct_us_p99"), count);
      add(run.most, table->number(row, "fct_us_max"), count);
      if (run.most == kNotPublished) add(run.most, table->number(row, "last_finish_us"), count);
      for (const auto& [mean, column] :
           {std::pair(&run.retransmitted, "rtx"), std::pair(&run.acknowledgements, "ack"),
            std::pair(&run.negative_acknowledgements, "nack")}) {
        if (count == 1) *mean = kNotPublished;
        add(*mean, table->number(row, column), count);
      }
    }
  }
  return runs;
}

Result<FabricCase> simulator_case(const StudyContext& context, const SimulatorRun& run, std::uint64_t seed,
                                  const std::vector<std::string>& further) {
  const std::filesystem::path folder = context.reference / "ultra_ethernet";
  const auto matrix = text_of(folder / run.matrix);
  if (!matrix) return matrix.error();
  auto flows = workload::read_connection_matrix(*matrix, run.matrix, {});
  if (!flows) return flows.error();
  sim::TopologyFile network;
  if (run.topology.empty()) {
    const auto shape = sim::k_ary_shape(3, flows->hosts, kLink, kTimeZero);
    if (!shape) return shape.error();
    auto tree = sim::fat_tree_of(*shape);
    if (!tree) return tree.error();
    network.topology = *std::move(tree);
    network.fat_tree = *shape;
  } else {
    const auto text = text_of(folder / run.topology);
    if (!text) return text.error();
    auto read = sim::read_topology(*text, run.topology);
    if (!read) return read.error();
    network = *std::move(read);
  }
  auto keys = run.keys();
  if (!keys) return keys.error();
  keys->push_back(fmt::format("run.seed={}", seed));
  keys->insert(keys->end(), further.begin(), further.end());
  auto loaded = load_keys(context, "htsim-uec", *std::move(keys));
  if (!loaded) return loaded.error();
  flows->share_connections(loaded->settings.shared_connections());
  const sim::FatTreeShape* shape = network.fat_tree ? &*network.fat_tree : nullptr;
  auto derived = sim::derive_fabric_run(loaded->settings, network.topology, shape, *flows);
  if (!derived) return derived.error();
  return FabricCase{run.name(), std::move(network.topology), *std::move(flows), std::move(derived->config)};
}

}  // namespace wharf::study::ultra_ethernet
