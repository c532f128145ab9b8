// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_page.h"

#include <fmt/format.h>

#include "cli/run_text.h"
#include "trace/waterfall.h"

namespace wharf::cli {

void add_waterfall(report::Page& page, const sim::RunReport& report) {
  using report::Align;
  const sim::OperationEntry& entry = report.waterfall_operation;
  const auto since_begin = [&entry](TimePs time) { return as_nanoseconds(time - entry.begin); };
  std::vector<report::BarRow> rows;
  report::TextTable table({{"stage"},
                           {"begins, ns", Align::kRight},
                           {"on the critical path, ns", Align::kRight},
                           {"beside it, ns", Align::kRight},
                           {"what it is"}});
  const trace::WaterfallInput input{report.waterfall, entry.begin, entry.latency, report.places};
  for (const trace::WaterfallRow& row : trace::waterfall_rows(input)) {
    report::BarRow shown{row.name,
                         std::string(row.meaning),
                         fmt::format("{} ns", nanoseconds_text(as_nanoseconds(row.critical))),
                         {}};
    for (const auto& [begin, end] : row.beside)
      shown.bars.push_back({since_begin(begin), since_begin(end), false});
    for (const auto& [begin, end] : row.on_path)
      shown.bars.push_back({since_begin(begin), since_begin(end), true});
    rows.push_back(std::move(shown));
    table.add_row({row.name, nanoseconds_text(as_nanoseconds(row.start)),
                   nanoseconds_text(as_nanoseconds(row.critical)),
                   nanoseconds_text(as_nanoseconds(row.overlapped)), std::string(row.meaning)});
  }
  page.section("Results");
  page.remark(
      "Each row is a stage, from the first instant at the left to the completion at the right. Dark is on "
      "the "
      "critical path: the operation waits for it. Pale goes on beside. A pointer on a bar tells its times.");
  page.bars(rows, as_nanoseconds(entry.latency), "ns");
  page.table(table);
}

}  // namespace wharf::cli
