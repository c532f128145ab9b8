// SPDX-License-Identifier: Apache-2.0
#include "python/columns.h"

#include <pybind11/numpy.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "verbs/completion.h"
#include "verbs/verb.h"

namespace wharf::python {
namespace {

namespace py = pybind11;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// One value for each index below `count`.
template <typename T, typename Value>
py::array_t<T> column(std::size_t count, const Value& value) {
  py::array_t<T> array(static_cast<py::ssize_t>(count));
  auto places = array.template mutable_unchecked<1>();
  for (std::size_t i = 0; i < count; ++i) places(static_cast<py::ssize_t>(i)) = static_cast<T>(value(i));
  return array;
}

/// One word for each index below `count`, numbered in the order of their first occurrence.
template <typename Word>
py::tuple words(std::size_t count, const Word& word) {
  std::vector<std::string_view> known;
  std::size_t last = 0;  // Neighbours are mostly alike.
  py::array_t<std::int32_t> numbers = column<std::int32_t>(count, [&](std::size_t i) {
    const std::string_view each = word(i);
    if (last < known.size() && known[last] == each) return last;
    for (last = 0; last < known.size(); ++last) {
      if (known[last] == each) return last;
    }
    known.push_back(each);
    return last;
  });
  py::list list;
  for (const std::string_view each : known) list.append(py::str(each.data(), each.size()));
  return py::make_tuple(std::move(numbers), std::move(list));
}

double nanoseconds(TimePs time) { return time == kNever ? kNothing : as_nanoseconds(time); }

}  // namespace

py::dict operation_columns(const sim::RunReport& report) {
  const auto& entries = report.log.entries();
  const std::size_t count = entries.size();
  py::dict columns;
  columns["operation"] = column<std::int64_t>(count, [](std::size_t i) { return i; });
  columns["host"] = column<std::uint16_t>(count, [&](std::size_t i) { return entries[i].host; });
  columns["verb"] = words(count, [&](std::size_t i) { return verbs::name(entries[i].verb); });
  columns["bytes"] = column<std::int64_t>(count, [&](std::size_t i) { return entries[i].bytes; });
  columns["begin_ns"] =
      column<double>(count, [&](std::size_t i) { return as_nanoseconds(entries[i].begin); });
  columns["latency_ns"] =
      column<double>(count, [&](std::size_t i) { return as_nanoseconds(entries[i].latency); });
  columns["remote"] = column<std::uint8_t>(count, [&](std::size_t i) { return entries[i].remote ? 1 : 0; });
  columns["status"] = words(count, [&](std::size_t i) { return verbs::name(entries[i].status); });
  return columns;
}

py::dict program_columns(const sim::RunReport& report) {
  const auto& records = report.program_log;
  const std::size_t count = records.size();
  py::dict columns;
  columns["operation"] = column<std::int64_t>(count, [](std::size_t i) { return i; });
  columns["name"] = words(count, [&](std::size_t i) { return records[i].name; });
  columns["worker"] = column<std::int64_t>(count, [&](std::size_t i) { return records[i].worker; });
  columns["bytes"] = column<std::int64_t>(count, [&](std::size_t i) { return records[i].bytes; });
  columns["arrived_ns"] =
      column<double>(count, [&](std::size_t i) { return as_nanoseconds(records[i].arrived); });
  columns["started_ns"] =
      column<double>(count, [&](std::size_t i) { return as_nanoseconds(records[i].started); });
  columns["ended_ns"] =
      column<double>(count, [&](std::size_t i) { return as_nanoseconds(records[i].ended); });
  columns["status"] = words(count, [&](std::size_t i) { return verbs::name(records[i].status); });
  return columns;
}

py::dict flow_columns(const FlowsRun& run) {
  const auto& flows = run.inputs.flows.flows;
  const auto& records = run.report.records;
  const std::size_t count = flows.size();
  const auto took = [&](std::size_t i) { return records[i].end - records[i].start; };
  const auto ended = [&](std::size_t i) { return records[i].end != kNever; };
  py::dict columns;
  columns["flow"] = column<std::int64_t>(count, [&](std::size_t i) { return flows[i].id; });
  columns["src"] = column<std::int64_t>(count, [&](std::size_t i) { return flows[i].source; });
  columns["dst"] = column<std::int64_t>(count, [&](std::size_t i) { return flows[i].destination; });
  columns["bytes"] = column<std::int64_t>(count, [&](std::size_t i) { return flows[i].bytes; });
  columns["op"] = words(count, [&](std::size_t i) { return verbs::name(flows[i].verb); });
  columns["start_ns"] = column<double>(count, [&](std::size_t i) { return nanoseconds(records[i].start); });
  columns["end_ns"] = column<double>(count, [&](std::size_t i) { return nanoseconds(records[i].end); });
  columns["fct_ns"] =
      column<double>(count, [&](std::size_t i) { return ended(i) ? as_nanoseconds(took(i)) : kNothing; });
  columns["ideal_ns"] = column<double>(count, [&](std::size_t i) { return as_nanoseconds(run.ideal[i]); });
  columns["slowdown"] = column<double>(count, [&](std::size_t i) {
    return ended(i) ? static_cast<double>(took(i).ps) / static_cast<double>(run.ideal[i].ps) : kNothing;
  });
  columns["status"] = words(count, [&](std::size_t i) {
    if (records[i].start == kNever) return std::string_view("not_started");
    return ended(i) ? verbs::name(records[i].status) : std::string_view("running");
  });
  columns["retransmitted"] =
      column<std::int64_t>(count, [&](std::size_t i) { return records[i].retransmissions(); });
  columns["trimmed"] = column<std::int64_t>(count, [&](std::size_t i) { return records[i].trims(); });
  return columns;
}

}  // namespace wharf::python
