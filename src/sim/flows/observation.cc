// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace wharf::sim {
namespace {

/// Bytes over a time, in Gb/s.
double gbps(std::uint64_t bytes, TimePs time) {
  return time > kTimeZero ? static_cast<double>(bytes) * 8e3 / static_cast<double>(time.ps) : 0;
}

/// A time, or an empty field.
std::string optional_ns(TimePs time) {
  return time == kNever ? std::string() : fmt::format("{:.3f}", as_nanoseconds(time));
}

}  // namespace

std::string goodput_csv(const ObservedRun& seen) {
  std::string out = "time_ns,delivered_bytes,goodput_gbps\n";
  DeliverySample before{};
  for (const DeliverySample& sample : seen.deliveries) {
    fmt::format_to(std::back_inserter(out), "{:.3f},{},{:.3f}\n", as_nanoseconds(sample.at), sample.bytes,
                   gbps(sample.bytes - before.bytes, sample.at - before.at));
    before = sample;
  }
  return out;
}

std::string port_series_csv(const std::vector<OccupancySample>& samples, const PortNames& names) {
  std::string out = "time_ns,port,queued_bytes,sent_bytes,sent_gbps,paused_queues\n";
  std::map<PortId, OccupancySample> before;
  for (const OccupancySample& sample : samples) {
    OccupancySample& last = before[sample.port];
    fmt::format_to(std::back_inserter(out), "{:.3f},{},{},{},{:.3f},{}\n", as_nanoseconds(sample.at),
                   names[sample.port], sample.queued_bytes, sample.sent_bytes,
                   gbps(sample.sent_bytes - last.sent_bytes, sample.at - last.at), sample.paused);
    last = sample;
  }
  return out;
}

std::string fullest_csv(const std::vector<OccupancySample>& samples, const PortNames& names) {
  std::string out = "time_ns,rank,port,queued_bytes\n";
  std::uint32_t rank = 0;
  TimePs at = kNever;
  for (const OccupancySample& sample : samples) {
    rank = sample.at == at ? rank + 1 : 1;
    at = sample.at;
    fmt::format_to(std::back_inserter(out), "{:.3f},{},{},{}\n", as_nanoseconds(sample.at), rank,
                   names[sample.port], sample.queued_bytes);
  }
  return out;
}

std::string pauses_csv(const std::vector<PauseRecord>& pauses, const PortNames& names) {
  struct Pause {
    PortId port;
    std::uint8_t queue;
    TimePs begin, end;
  };
  std::vector<Pause> rows;
  std::map<std::pair<PortId, std::uint8_t>, std::size_t> open;
  for (const PauseRecord& record : pauses) {
    const auto key = std::pair(record.port, record.queue);
    const auto at = open.find(key);
    // A pause that repeats the one in force changes nothing.
    if (record.paused && at == open.end()) {
      open[key] = rows.size();
      rows.push_back({record.port, record.queue, record.at, kNever});
    } else if (!record.paused && at != open.end()) {
      rows[at->second].end = record.at;
      open.erase(at);
    }
  }
  std::string out = "port,queue,begin_ns,end_ns,duration_ns\n";
  for (const Pause& row : rows) {
    fmt::format_to(std::back_inserter(out), "{},{},{:.3f},{},{}\n", names[row.port], row.queue,
                   as_nanoseconds(row.begin), optional_ns(row.end),
                   optional_ns(row.end == kNever ? kNever : row.end - row.begin));
  }
  return out;
}

std::string flow_series_csv(const std::vector<FlowSample>& samples, const workload::FlowList& list) {
  std::string out =
      "time_ns,flow,delivered_bytes,goodput_gbps,window_bytes,rate_gbps,in_flight_packets,rtt_ns,"
      "base_rtt_ns,retransmitted,trimmed\n";
  std::map<std::uint32_t, FlowSample> before;
  for (const FlowSample& sample : samples) {
    FlowSample& last = before[sample.flow];
    fmt::format_to(std::back_inserter(out), "{:.3f},{},{},{:.3f},{},{},{},{},{},{},{}\n",
                   as_nanoseconds(sample.at), list.flows[sample.flow].id, sample.delivered_bytes,
                   gbps(sample.delivered_bytes - last.delivered_bytes, sample.at - last.at),
                   sample.trace.window == kNoWindow ? std::string() : std::to_string(sample.trace.window),
                   sample.trace.rate.value == 0
                       ? std::string()
                       : fmt::format("{:.3f}", static_cast<double>(sample.trace.rate.value) / 1e9),
                   sample.trace.in_flight, optional_ns(sample.trace.round_trip),
                   optional_ns(sample.trace.base_round_trip), sample.retransmitted, sample.trimmed);
    last = sample;
  }
  return out;
}

std::string paths_csv(const std::vector<PathUse>& paths, const workload::FlowList& list) {
  std::string out = "flow,entropy,packets,bytes,trimmed\n";
  for (const PathUse& path : paths) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{}\n", list.flows[path.flow].id, path.entropy,
                   path.packets, path.bytes, path.trimmed);
  }
  return out;
}

std::vector<BitsPerSecond> mean_rates(const Topology& topology, const std::vector<LinkChange>& changes,
                                      TimePs until) {
  std::vector<BitsPerSecond> means;
  for (const TopologyPort& port : topology.ports()) means.push_back(port.rate);
  std::map<PortId, std::vector<LinkChange>> changed;
  for (const LinkChange& change : changes) {
    if (change.rate.value != 0 && change.at < until) changed[change.port].push_back(change);
  }
  for (auto& [port, list] : changed) {
    std::stable_sort(list.begin(), list.end(),
                     [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
    unsigned __int128 sum = 0;  // Of rates times picoseconds.
    std::uint64_t rate = means[port].value;
    TimePs since;
    const auto add = [&](TimePs to) {
      sum += static_cast<unsigned __int128>(rate) * static_cast<std::uint64_t>((to - since).ps);
      since = to;
    };
    for (const LinkChange& change : list) {
      add(change.at);
      rate = change.rate.value;
    }
    add(until);
    means[port].value = static_cast<std::uint64_t>(sum / static_cast<std::uint64_t>(until.ps));
  }
  return means;
}

std::string ports_csv(const std::vector<PortTotals>& totals, const PortNames& names, TimePs simulated) {
  std::string out = "port,rate_gbps,packets,bytes,load,marked,trimmed,dropped,lost,pause_frames,paused_ns\n";
  for (PortId id = 0; id < totals.size(); ++id) {
    const PortTotals& port = totals[id];
    const double rate = static_cast<double>(port.rate.value) / 1e9;
    fmt::format_to(std::back_inserter(out), "{},{:.3f},{},{},{:.4f},{},{},{},{},{},{:.3f}\n", names[id], rate,
                   port.packets, port.bytes, gbps(port.bytes, simulated) / rate, port.counters.marked,
                   port.counters.trimmed, port.counters.dropped_full + port.counters.dropped_no_route,
                   port.counters.lost + port.counters.damaged, port.counters.pause_frames,
                   static_cast<double>(port.counters.paused_ps) / 1e3);
  }
  return out;
}

}  // namespace wharf::sim
