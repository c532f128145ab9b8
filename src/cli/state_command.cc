// SPDX-License-Identifier: Apache-2.0
// wharf state --jetties N --hosts M: bytes of NIC state, record by record.
#include <fmt/format.h>

#include "cli/command.h"
#include "engine/roce/state_report.h"
#include "engine/ub/state_report.h"
#include "report/text_table.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::ordered_json;

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
  void declare(CLI::App& app) override {
    const auto range = CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U);
    app.add_option("--jetties", jetties_, "Jetties, or endpoints of RoCE")->required()->check(range);
    app.add_option("--hosts", hosts_, "Hosts that they talk to")->required()->check(range);
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
    console.print(document);
    console.print(
        text +
        fmt::format("RoCE needs {:.1f} times the context bytes of UB ({:.1f} times with full jetties).\n",
                    static_cast<double>(roce.roce_bytes) / static_cast<double>(ub.ub_bytes),
                    static_cast<double>(roce.roce_bytes) / static_cast<double>(ub.ub_full_bytes)));
    return ExitCode::kDone;
  }

 private:
  std::uint64_t jetties_ = 0;
  std::uint64_t hosts_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_state_command() { return std::make_unique<StateCommand>(); }

}  // namespace wharf::cli
