// SPDX-License-Identifier: Apache-2.0
// wharf state --jetties N --hosts M: bytes of NIC state, record by record.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "report/text_table.h"
#include "report/wrapped_text.h"
#include "study/openurma/state_account.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::ordered_json;

report::TextTable table_of(const std::string& title) {
  return report::TextTable({{title},
                            {"bytes each", report::Align::kRight},
                            {"count", report::Align::kRight},
                            {"bytes", report::Align::kRight}});
}

/// Records, as text and under their key of `document`.
std::string show(const study::openurma::StatePart& part, const Console& console, Json& document) {
  report::TextTable table = table_of(part.title);
  Json list = Json::array();
  for (const study::openurma::StateLine& line : part.lines) {
    table.add_row({std::string(line.record), std::to_string(line.bytes_each), std::to_string(line.count),
                   std::to_string(line.bytes)});
    list.push_back({{"record", line.record},
                    {"bytes_each", line.bytes_each},
                    {"count", line.count},
                    {"bytes", line.bytes}});
  }
  table.add_rule();
  table.add_row({"total", "", "", std::to_string(part.bytes)});
  document[std::string(part.key)] = {{"total_bytes", part.bytes}, {"records", list}};
  return console.text_of(table) + "\n";
}

/// An engine's own account, likewise.
std::string show(const study::openurma::LiveStatePart& part, const study::openurma::StateAccount& account,
                 const Console& console, Json& document) {
  report::TextTable table = table_of(part.title);
  Json list = Json::array();
  for (const MemoryUse& use : part.uses) {
    // Tables grow in steps, so that bytes each is an average; none of a kind that nothing has needed yet.
    const double each = use.count == 0 ? 0 : static_cast<double>(use.bytes) / static_cast<double>(use.count);
    table.add_row({std::string(use.object), fmt::format("{:.1f}", each), std::to_string(use.count),
                   std::to_string(use.bytes)});
    list.push_back(
        {{"object", use.object}, {"bytes_each", each}, {"count", use.count}, {"bytes", use.bytes}});
  }
  table.add_rule();
  table.add_row({"total", "", "", std::to_string(part.bytes)});
  table.add_row({"the paper's accounting", "", "", std::to_string(part.accounting_bytes)});
  document[std::string(part.key)] = {{"jetties", account.live_endpoints},
                                     {"hosts", account.live_hosts},
                                     {"total_bytes", part.bytes},
                                     {"accounting_bytes", part.accounting_bytes},
                                     {"objects", list}};
  return console.text_of(table) + "\n";
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
    app.add_option("--jetties", jetties_, "Jetties, or endpoints with queue pairs, 1 to 1048576")
        .type_name("N")
        .required()
        .range(std::uint64_t{1}, kMost);
    app.add_option("--hosts", hosts_, "Hosts that they talk to, 1 to 1048576")
        .type_name("N")
        .required()
        .range(std::uint64_t{1}, kMost);
  }
  Result<ExitCode> run(const Console& console) override {
    const auto account = study::openurma::state_account(jetties_, hosts_);
    if (!account) return account.error();
    Json document;
    document["jetties"] = jetties_;
    document["hosts"] = hosts_;
    std::string text;
    for (const auto& part : account->parts) text += show(part, console, document);
    for (const auto& part : account->live) text += show(part, *account, console, document);
    console.print(document);
    for (const std::string& sentence : account->sentences) text += report::in_lines(sentence);
    console.print(text);
    return ExitCode::kDone;
  }

 private:
  std::uint64_t jetties_ = 0;
  std::uint64_t hosts_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_state_command() { return std::make_unique<StateCommand>(); }

}  // namespace wharf::cli
