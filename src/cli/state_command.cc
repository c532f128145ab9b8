// SPDX-License-Identifier: Apache-2.0
// wharf state --jetties N --hosts M: bytes of NIC state, record by record.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/engine_memory.h"
#include "engine/roce/state_report.h"
#include "engine/ub/state_report.h"
#include "report/text_table.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Where the engines are measured.
constexpr std::uint32_t kMeasuredEndpoints = 64;
constexpr std::uint32_t kMeasuredHosts = 64;

std::uint64_t total_of(const std::vector<MemoryUse>& uses) {
  std::uint64_t total = 0;
  for (const MemoryUse& use : uses) total += use.bytes;
  return total;
}

/// The engines' own account, as text and under `key` of `document`.
std::string measured_part(const char* key, const std::string& title, const std::vector<MemoryUse>& uses,
                          std::uint64_t accounting, Json& document) {
  report::TextTable table({{title},
                           {"bytes each", report::Align::kRight},
                           {"count", report::Align::kRight},
                           {"bytes", report::Align::kRight}});
  Json list = Json::array();
  const std::uint64_t total = total_of(uses);
  for (const MemoryUse& use : uses) {
    // Tables grow in steps, so that bytes each is an average; none of a kind that nothing has needed yet.
    const double each = use.count == 0 ? 0 : static_cast<double>(use.bytes) / static_cast<double>(use.count);
    table.add_row({std::string(use.object), fmt::format("{:.1f}", each), std::to_string(use.count),
                   std::to_string(use.bytes)});
    list.push_back(
        {{"object", use.object}, {"bytes_each", each}, {"count", use.count}, {"bytes", use.bytes}});
  }
  table.add_rule();
  table.add_row({"total", "", "", std::to_string(total)});
  table.add_row({"the paper's accounting", "", "", std::to_string(accounting)});
  document[key] = {{"jetties", kMeasuredEndpoints},
                   {"hosts", kMeasuredHosts},
                   {"total_bytes", total},
                   {"accounting_bytes", accounting},
                   {"objects", list}};
  return table.text() + "\n";
}

class StateCommand : public Command {
 public:
  std::string_view name() const override { return "state"; }
  std::string_view summary() const override {
    return "Show what a NIC has to remember for N jetties (or endpoints) that talk to M hosts.";
  }
  std::string_view examples() const override {
    return "  wharf state --jetties 1024 --hosts 1024\n"
           "  wharf state --jetties 8 --hosts 8 --json\n";
  }
  void declare(Options& app) override {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 20U;
    app.add_option("--jetties", jetties_, "Jetties, or endpoints of RoCE, 1 to 1048576")
        .type_name("N")
        .required()
        .range(std::uint64_t{1}, kMost);
    app.add_option("--hosts", hosts_, "Hosts that they talk to, 1 to 1048576")
        .type_name("N")
        .required()
        .range(std::uint64_t{1}, kMost);
  }
  Result<ExitCode> run(const Console& console) override {
    const ub::StateReport ub = ub::state_report(jetties_, hosts_);
    const roce::StateReport roce = roce::state_report(jetties_, hosts_);
    Json document;
    document["jetties"] = jetties_;
    document["hosts"] = hosts_;
    std::string text;
    const auto part = [&](const char* key, const std::string& title, const auto& rows, std::uint64_t total) {
      report::TextTable table({{title},
                               {"bytes each", report::Align::kRight},
                               {"count", report::Align::kRight},
                               {"bytes", report::Align::kRight}});
      Json list = Json::array();
      for (const auto& row : rows) {
        table.add_row({std::string(row.record), std::to_string(row.bytes_each), std::to_string(row.count),
                       std::to_string(row.bytes)});
        list.push_back({{"record", row.record},
                        {"bytes_each", row.bytes_each},
                        {"count", row.count},
                        {"bytes", row.bytes}});
      }
      table.add_rule();
      table.add_row({"total", "", "", std::to_string(total)});
      text += table.text() + "\n";
      document[key] = {{"total_bytes", total}, {"records", list}};
    };
    part("ub", "UB context records", ub.ub, ub.ub_bytes);
    part("ub_full", "UB, every field of a jetty", ub.ub_full, ub.ub_full_bytes);
    part("roce", "RoCE context records", roce.roce, roce.roce_bytes);
    part("ub_beyond", "UB windows and queues beyond the records", ub.beyond, ub.beyond_bytes);
    part("roce_beyond", "RoCE windows and queues beyond the records", roce.beyond, roce.beyond_bytes);
    auto ub_held = measure_engine_memory(wire::Protocol::kUb, kMeasuredEndpoints, kMeasuredHosts);
    if (!ub_held) return ub_held.error();
    auto roce_held = measure_engine_memory(wire::Protocol::kRoce, kMeasuredEndpoints, kMeasuredHosts);
    if (!roce_held) return roce_held.error();
    const std::string place = fmt::format("live engine, {} x {}", kMeasuredEndpoints, kMeasuredHosts);
    text += measured_part("ub_measured", "UB " + place, *ub_held,
                          ub::state_report(kMeasuredEndpoints, kMeasuredHosts).ub_bytes, document);
    text += measured_part("roce_measured", "RoCE " + place, *roce_held,
                          roce::state_report(kMeasuredEndpoints, kMeasuredHosts).roce_bytes, document);
    console.print(document);
    const auto times = [](std::uint64_t more, std::uint64_t less) {
      return static_cast<double>(more) / static_cast<double>(less);
    };
    console.print(
        text +
        fmt::format("RoCE needs {:.1f} times the context bytes of UB ({:.1f} times with full jetties).\n",
                    times(roce.roce_bytes, ub.ub_bytes), times(roce.roce_bytes, ub.ub_full_bytes)) +
        fmt::format(
            "Live engines were made, connected and used (every endpoint wrote to and read from every "
            "host, and the other\nway round), then each walked its containers: free places in pools "
            "count, payload buffers do not. At {} x {}\nthe RoCE engine holds {:.1f} times what the UB "
            "engine holds.\n",
            kMeasuredEndpoints, kMeasuredHosts, times(total_of(*roce_held), total_of(*ub_held))));
    return ExitCode::kDone;
  }

 private:
  std::uint64_t jetties_ = 0;
  std::uint64_t hosts_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_state_command() { return std::make_unique<StateCommand>(); }

}  // namespace wharf::cli
