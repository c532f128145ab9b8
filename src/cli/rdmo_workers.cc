// SPDX-License-Identifier: Apache-2.0
#include "cli/rdmo_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/interrupt.h"
#include "report/counted.h"
#include "report/text_table.h"
#ifdef WHARF_HAS_UCX
#include "live/rdmo/client.h"
#include "live/rdmo/worker_roster.h"
#endif

namespace wharf::cli {

void RdmoWorkers::declare(Options& app) {
  list_ = app.add_nested("list", "List the workers of yours that run on this machine");
  list_
      .add_option("--patience", list_patience_,
                  "Wait so long for the answer of each, 1s by default; one without is silent")
      .type_name("TIME");
  stop_ = app.add_nested("stop", "Stop a worker in order, and wait until it has ended");
  address_option_ = stop_.add_option("address", address_, "Where it listens; not needed when only one runs")
                        .type_name("ADDRESS");
  Option all = stop_.add_flag("--all", all_, "Every one");
  all.excludes(address_option_);
  stop_
      .add_option("--patience", patience_,
                  "Wait so long for the answer of each, and for its end; 10s by default")
      .type_name("TIME");
}

#ifdef WHARF_HAS_UCX
namespace {

using live::ListedWorker;
using live::WorkerReport;
using live::WorkerState;

/// A silent one has not said where it listens.
std::string address_of(const WorkerReport& report) { return report.address.empty() ? "?" : report.address; }

nlohmann::ordered_json describe(const WorkerReport& report) {
  nlohmann::ordered_json entry{{"process", report.process}, {"state", live::name(report.state)}};
  if (report.state == WorkerState::kSilent) return entry;
  entry["address"] = report.address;
  entry["seconds"] = report.seconds;
  entry["clients"] = report.clients;
  entry["queues"] = report.queues;
  entry["appends"] = report.appends;
  entry["records"] = report.records;
  entry["flushes"] = report.flushes;
  entry["scatters"] = report.scatters;
  return entry;
}

std::string names_of(const std::vector<ListedWorker>& workers) {
  std::string text;
  for (const ListedWorker& each : workers) {
    if (!text.empty()) text += ", ";
    const WorkerReport& report = each.report();
    text += report.address.empty() ? fmt::format("a silent one, process {}", report.process) : report.address;
  }
  return text;
}

ExitCode interrupted(const Console& console, const std::string& what) {
  console.error("interrupted; " + what);
  return ExitCode::kInterrupted;
}

}  // namespace

Result<ExitCode> RdmoWorkers::run(const Console& console) const {
  return list_.given() ? run_list(console) : run_stop(console);
}

Result<ExitCode> RdmoWorkers::run_list(const Console& console) const {
  const auto patience = parse_time(list_patience_);
  if (!patience) return input_error("--patience: " + patience.error().message);
  const auto workers = live::list_workers(*patience, &interrupt_requested());
  if (!workers) return workers.error();
  if (interrupt_requested()) return interrupted(console, "not every worker was asked");
  using report::Align;
  report::TextTable table({{"worker"},
                           {"process", Align::kRight},
                           {"state"},
                           {"clients", Align::kRight},
                           {"queues", Align::kRight},
                           {"appends", Align::kRight},
                           {"records", Align::kRight},
                           {"flushes", Align::kRight},
                           {"scatters", Align::kRight}});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ListedWorker& each : *workers) {
    const WorkerReport& report = each.report();
    list.push_back(describe(report));
    std::vector<std::string> row{address_of(report), std::to_string(report.process),
                                 live::name(report.state)};
    if (report.state != WorkerState::kSilent) {
      for (const std::uint64_t number :
           {report.clients, report.queues, report.appends, report.records, report.flushes, report.scatters})
        row.push_back(std::to_string(number));
    }
    table.add_row(row);
  }
  console.print(nlohmann::ordered_json{{"workers", list}});
  console.print(workers->empty() ? "no worker of yours runs on this machine\n" : console.text_of(table));
  return ExitCode::kDone;
}

Result<ExitCode> RdmoWorkers::run_stop(const Console& console) const {
  const auto patience = parse_time(patience_);
  if (!patience) return input_error("--patience: " + patience.error().message);
  std::string wanted;
  if (address_option_.given()) {
    const auto address = live::parse_stream_address(address_, live::kRdmoWorkerPort);
    if (!address) return input_error("address: " + address.error().message);
    wanted = fmt::format("{}:{}", address->host, address->port);
  }
  auto found = live::list_workers(*patience, &interrupt_requested());
  if (!found) return found.error();
  if (interrupt_requested()) return interrupted(console, "no worker was asked to stop");
  std::vector<ListedWorker> workers = *std::move(found);
  const std::string running = names_of(workers);
  if (!wanted.empty())
    std::erase_if(workers, [&](const ListedWorker& each) { return each.report().address != wanted; });
  if (workers.empty() && !all_) {
    const std::string which = wanted.empty() ? "no worker of yours runs on this machine"
                                             : fmt::format("no worker of yours listens at {}", wanted);
    return Error{ErrorKind::kEnvironment, running.empty()
                                              ? fmt::format("rdmo stop: {}", which)
                                              : fmt::format("rdmo stop: {}, found {}", which, running)};
  }
  if (workers.size() > 1 && !all_ && wanted.empty())
    return input_error(fmt::format("address: found none and {} workers, expected one of {}, or --all",
                                   workers.size(), running));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  std::string left;
  for (ListedWorker& each : workers) {
    if (interrupt_requested()) break;
    const auto stopped = each.stop(*patience, &interrupt_requested());
    const bool has_ended = stopped && *stopped;
    nlohmann::ordered_json entry = describe(each.report());
    entry["state"] = has_ended ? "idle" : "stopping";
    list.push_back(entry);
    const std::string who = fmt::format("{}, process {}", address_of(each.report()), each.report().process);
    if (has_ended) {
      text += fmt::format("worker at {}, has ended\n", who);
    } else {
      left += (left.empty() ? "" : "; ") + who + (stopped ? "" : " (" + stopped.error().message + ")");
    }
  }
  console.print(nlohmann::ordered_json{{"stopped", list}});
  console.print(workers.empty() ? "no worker of yours runs on this machine\n" : text);
  if (interrupt_requested()) {
    const std::size_t asked = list.size();
    return interrupted(console, left.empty() && asked == workers.size()
                                    ? std::string("every worker has ended")
                                    : fmt::format("{} of {} were asked to stop{}", asked,
                                                  report::counted(workers.size(), "worker", "workers"),
                                                  left.empty() ? "" : ", not known to have ended: " + left));
  }
  if (!left.empty())
    return Error{ErrorKind::kStalled,
                 fmt::format("rdmo stop: no end within {} of the worker at {}", patience_, left)};
  return ExitCode::kDone;
}
#else
Result<ExitCode> RdmoWorkers::run(const Console&) const {
  return Error{ErrorKind::kEnvironment, "rdmo: this wharf was built without UCX"};
}
#endif

}  // namespace wharf::cli
