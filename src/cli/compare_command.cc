// SPDX-License-Identifier: Apache-2.0
// wharf compare DIR DIR: are two results the same, within tolerances?
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "report/compare.h"
#include "report/text_table.h"

namespace wharf::cli {
namespace {

class CompareCommand : public Command {
 public:
  std::string_view name() const override { return "compare"; }
  std::string_view summary() const override { return "Compare two result directories, with tolerances."; }
  std::string_view examples() const override {
    return "  wharf run fetch-64-bytes --out out/structs\n"
           "  wharf run fetch-64-bytes --wire bytes --out out/bytes\n"
           "  wharf compare out/structs out/bytes\n"
           "  wharf compare out/structs out/bytes --relative 0.01\n";
  }
  void declare(Options& app) override {
    app.add_option("first", first_, "A result directory").type_name("DIR").required();
    app.add_option("second", second_, "Another one").type_name("DIR").required();
    app.add_option("--relative", tolerance_.relative,
                   "Allowed difference as a share of the larger value, such as 0.01")
        .type_name("SHARE")
        .range(0.0, 1.0);
    app.add_option("--absolute", tolerance_.absolute, "Allowed difference in the value's own unit")
        .type_name("X")
        .not_negative();
    app.add_option("--limit", limit_, "Differences shown, 20 by default").type_name("N").positive();
  }
  Result<ExitCode> run(const Console& console) override {
    auto compared = report::compare_results(first_, second_, tolerance_, limit_);
    if (!compared) return compared.error();
    report::TextTable table(
        {{"file"}, {"value"}, {"first", report::Align::kRight}, {"second", report::Align::kRight}});
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const report::Difference& difference : compared->differences) {
      table.add_row({difference.file, difference.what, difference.first, difference.second});
      list.push_back({{"file", difference.file},
                      {"value", difference.what},
                      {"first", difference.first},
                      {"second", difference.second}});
    }
    console.print(nlohmann::ordered_json{
        {"values", compared->values}, {"different", compared->different}, {"differences", list}});
    if (compared->different != 0) console.print(console.text_of(table));
    const std::string verdict =
        fmt::format("{} values compared, {} different{}", compared->values, compared->different,
                    compared->different > limit_ ? fmt::format(", the first {} shown", limit_) : "");
    console.print(
        console.painted(compared->different == 0 ? report::Tone::kGood : report::Tone::kBad, verdict) + "\n");
    return compared->different == 0 ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

 private:
  std::string first_;
  std::string second_;
  report::Tolerance tolerance_;
  std::size_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace wharf::cli
