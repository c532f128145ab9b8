// SPDX-License-Identifier: Apache-2.0
#include "cli/run_files.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/fabric/link_faults.h"
#include "sim/host/nic/network_port.h"
#include "trace/capture_sink.h"
#include "trace/timeline_sink.h"
#include "verbs/verb.h"
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

constexpr Bytes kTimelineBudget = mebibytes(64);
/// Each packet once, as it leaves its sender; what the link then loses is in the capture too.
constexpr std::uint32_t kCaptureMask = bit(trace::EventKind::kPacketSent);

std::string_view verb_name(std::uint64_t verb) { return verbs::name(static_cast<verbs::Verb>(verb)); }
std::string_view status_name(std::uint64_t status) {
  return verbs::name(static_cast<verbs::CompletionStatus>(status));
}

std::string_view drop_reason_name(std::uint64_t reason) {
  switch (static_cast<sim::LinkLoss>(reason)) {
    case sim::LinkLoss::kLost:
      return "lost";
    case sim::LinkLoss::kFrameCheck:
      return "frame_check";
    case sim::LinkLoss::kDecoder:
      return "decoder";
  }
  return "unknown";
}
std::string_view async_event_name(std::uint64_t kind) {
  if (kind > static_cast<std::uint64_t>(engine::AsyncEventKind::kReceiveLimit)) return "unknown";
  return engine::name(static_cast<engine::AsyncEventKind>(kind));
}

std::string operations_csv(const sim::RunReport& report) {
  std::string out = "operation,host,verb,bytes,begin_ns,latency_ns,remote,status\n";
  std::size_t number = 0;
  for (const sim::OperationEntry& entry : report.log.entries()) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{:.3f},{:.3f},{},{}\n", number++, entry.host,
                   verbs::name(entry.verb), entry.bytes, as_nanoseconds(entry.begin),
                   as_nanoseconds(entry.latency), entry.remote ? 1 : 0, verbs::name(entry.status));
  }
  return out;
}

std::string program_csv(const sim::RunReport& report) {
  std::string out = "operation,name,worker,bytes,arrived_ns,started_ns,ended_ns,status\n";
  std::size_t number = 0;
  for (const verbs::OperationRecord& record : report.program_log) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{:.3f},{:.3f},{:.3f},{}\n", number++, record.name,
                   record.worker, record.bytes, as_nanoseconds(record.arrived),
                   as_nanoseconds(record.started), as_nanoseconds(record.ended), verbs::name(record.status));
  }
  return out;
}

}  // namespace

struct RunFiles::Streams {
  /// One sink for the run that feeds the two that write files.
  class Fork : public trace::Sink {
   public:
    std::optional<trace::CaptureSink> capture;
    std::optional<trace::TimelineSink> timeline;

    void record(const trace::TraceEvent& event) override {
      if (capture && (bit(event.kind) & kCaptureMask) != 0) capture->record(event);
      if (timeline && (bit(event.kind) & trace::TimelineSink::kMask) != 0) timeline->record(event);
    }
  };

  Fork fork;
  std::ofstream timeline_file;
};

RunFiles::RunFiles() : streams_(std::make_unique<Streams>()) {}
RunFiles::~RunFiles() = default;

Result<void> RunFiles::open(const report::ResultDirectory& directory, bool capture, bool timeline) {
  if (capture) {
    auto writer = wire::PcapngWriter::create(directory.file("capture.pcapng"));
    if (!writer) return writer.error();
    streams_->fork.capture.emplace(*std::move(writer));
    streams_->fork.capture->add_every_host(sim::NetworkPort::kComponent, " out");
  }
  if (timeline) {
    streams_->timeline_file.open(directory.file("timeline.pftrace"), std::ios::binary);
    streams_->fork.timeline.emplace(streams_->timeline_file, kTimelineBudget,
                                    trace::ValueNames{.verb = verb_name,
                                                      .status = status_name,
                                                      .drop_reason = drop_reason_name,
                                                      .async_event = async_event_name});
  }
  return {};
}

trace::Sink* RunFiles::sink() { return mask() == 0 ? nullptr : &streams_->fork; }

std::uint32_t RunFiles::mask() const {
  return (streams_->fork.capture ? kCaptureMask : 0U) |
         (streams_->fork.timeline ? trace::TimelineSink::kMask : 0U);
}

Result<void> RunFiles::finish(const report::ResultDirectory& directory, const sim::Scenario& scenario,
                              const sim::RunReport& report, const nlohmann::ordered_json& summary) {
  if (streams_->fork.capture) WHARF_TRY(streams_->fork.capture->close());
  if (streams_->fork.timeline) WHARF_TRY(streams_->fork.timeline->finish());
  streams_->timeline_file.close();
  WHARF_TRY(directory.write("summary.json", versioned(summary).dump(2) + "\n"));
  WHARF_TRY(directory.write("operations.csv", operations_csv(report)));
  WHARF_TRY(directory.write("program.csv", program_csv(report)));
  if (report.network) {
    for (const sim::ObservedFile& file : sim::files_of(*report.network, {}))
      WHARF_TRY(directory.write(file.name, file.text));
  }
  return directory.write("config.effective.toml", scenario.effective);
}

}  // namespace wharf::cli
