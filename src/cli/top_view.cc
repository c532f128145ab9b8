// SPDX-License-Identifier: Apache-2.0
#include "cli/top_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "report/counted.h"
#include "report/text_table.h"
#include "report/wrapped_text.h"

namespace wharf::cli {
namespace {

using live::MetricsChange;
using live::MetricsReading;
using live::NamedReading;
using live::PeerReading;
using live::TrafficReading;
using Json = nlohmann::ordered_json;

/// Why datagrams were dropped, by one reason.
std::uint64_t dropped_for(const MetricsReading& reading, const std::string& reason) {
  const auto at = std::find_if(reading.dropped.begin(), reading.dropped.end(),
                               [&reason](const NamedReading& each) { return each.name == reason; });
  return at == reading.dropped.end() ? 0 : at->value;
}

std::string shown(const std::optional<double>& rate) { return rate ? short_number(*rate) : "-"; }

std::string shown(const std::optional<std::uint64_t>& count) {
  return count ? fmt::format("{}", *count) : "-";
}

/// "3s", "4m05s", "2h07m", "3d04h"
std::string shown_duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string drops_sentence(const MetricsChange& change) {
  std::vector<std::string> parts;
  for (const NamedReading& each : change.later().dropped) {
    if (each.value == 0) continue;
    const auto rate = change.rate([&each](const MetricsReading& of) { return dropped_for(of, each.name); });
    parts.push_back(
        fmt::format("{} {}{}", each.value, each.name,
                    rate && *rate > 0 ? fmt::format(" ({} a second)", short_number(*rate)) : std::string()));
  }
  return parts.empty() ? "dropped: nothing" : fmt::format("dropped: {}", fmt::join(parts, ", "));
}

/// The columns that a process has as well as its peers.
constexpr std::array<std::uint64_t TrafficReading::*, 5> kTraffic{
    &TrafficReading::datagrams_received, &TrafficReading::bytes_received, &TrafficReading::datagrams_sent,
    &TrafficReading::bytes_sent, &TrafficReading::messages};
/// Those of peers alone.
constexpr std::array<std::uint64_t PeerReading::*, 3> kOfPeer{
    &PeerReading::retransmissions, &PeerReading::duplicates, &PeerReading::dropped};

report::TextTable empty_table() {
  using report::Align;
  return report::TextTable({{"peer"},
                            {"address"},
                            {"in /s", Align::kRight},
                            {"in B/s", Align::kRight},
                            {"out /s", Align::kRight},
                            {"out B/s", Align::kRight},
                            {"msgs /s", Align::kRight},
                            {"again /s", Align::kRight},
                            {"twice /s", Align::kRight},
                            {"drops /s", Align::kRight},
                            {"open", Align::kRight}});
}

std::vector<std::string> row_of_all(const MetricsChange& change) {
  std::vector<std::string> row{"all", ""};
  for (const auto member : kTraffic)
    row.push_back(shown(change.rate([member](const MetricsReading& of) { return of.traffic.*member; })));
  for (const auto member : {&PeerReading::retransmissions, &PeerReading::duplicates}) {
    double sum = 0;
    for (const PeerReading& peer : change.later().peers)
      sum += change.rate(peer, [member](const PeerReading& of) { return of.*member; }).value_or(0);
    row.push_back(change.seconds() > 0 ? short_number(sum) : "-");
  }
  row.push_back(shown(change.rate([](const MetricsReading& of) { return of.dropped_in_all(); })));
  std::optional<std::uint64_t> outstanding;
  for (const PeerReading& peer : change.later().peers) {
    if (peer.outstanding) outstanding = outstanding.value_or(0) + *peer.outstanding;
  }
  row.push_back(shown(outstanding));
  return row;
}

std::vector<std::string> row_of(const PeerReading& peer, const MetricsChange& change) {
  std::vector<std::string> row{fmt::format("{}", peer.number), peer.address};
  for (const auto member : kTraffic) {
    const bool known = member != &TrafficReading::messages || peer.counts_messages;
    const auto rate = change.rate(peer, [member](const PeerReading& of) { return of.traffic.*member; });
    row.push_back(known ? shown(rate) : "-");
  }
  for (const auto member : kOfPeer)
    row.push_back(shown(change.rate(peer, [member](const PeerReading& of) { return of.*member; })));
  row.push_back(shown(peer.outstanding));
  return row;
}

/// Datagrams of the last second, or of all time while that is not known.
double busyness(const PeerReading& peer, const MetricsChange& change) {
  const auto datagrams = [](const PeerReading& of) {
    return of.traffic.datagrams_received + of.traffic.datagrams_sent;
  };
  return change.rate(peer, datagrams).value_or(static_cast<double>(datagrams(peer)));
}

Json number_or_null(const std::optional<double>& rate) { return rate ? Json(*rate) : Json(nullptr); }

/// `rate_of(member)`: by how much it grows in a second.
template <typename RateOf>
Json traffic_document(const TrafficReading& traffic, RateOf rate_of) {
  const auto direction = [&](std::uint64_t TrafficReading::*packets, std::uint64_t TrafficReading::*bytes) {
    return Json{{"packets", traffic.*packets},
                {"bytes", traffic.*bytes},
                {"packets_per_second", number_or_null(rate_of(packets))},
                {"bytes_per_second", number_or_null(rate_of(bytes))}};
  };
  return {{"received", direction(&TrafficReading::datagrams_received, &TrafficReading::bytes_received)},
          {"sent", direction(&TrafficReading::datagrams_sent, &TrafficReading::bytes_sent)},
          {"messages", traffic.messages},
          {"messages_per_second", number_or_null(rate_of(&TrafficReading::messages))},
          {"accesses_refused", traffic.refused}};
}

Json peer_document(const PeerReading& peer, const MetricsChange& change) {
  Json out{{"peer", peer.number}, {"address", peer.address}};
  out["queue"] = peer.queue ? Json(*peer.queue) : Json(nullptr);
  out.update(traffic_document(peer.traffic, [&](std::uint64_t TrafficReading::*member) {
    return change.rate(peer, [member](const PeerReading& of) { return of.traffic.*member; });
  }));
  const auto counted = [&](const char* name, std::uint64_t PeerReading::*member) {
    out[name] = peer.*member;
    out[fmt::format("{}_per_second", name)] =
        number_or_null(change.rate(peer, [member](const PeerReading& of) { return of.*member; }));
  };
  counted("retransmissions", &PeerReading::retransmissions);
  counted("duplicates", &PeerReading::duplicates);
  counted("dropped", &PeerReading::dropped);
  if (!peer.counts_messages) out["messages"] = out["messages_per_second"] = nullptr;
  out["outstanding"] = peer.outstanding ? Json(*peer.outstanding) : Json(nullptr);
  return out;
}

}  // namespace

std::string short_number(double value) {
  constexpr std::array<const char*, 6> kUnits{"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  // What would be rounded to a fourth digit takes the next unit.
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string number = fmt::format("{:.{}f}", value, digits);
  if (unit == 0 && number.find('.') != std::string::npos) {
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
  }
  return number + kUnits[unit];
}

std::string process_text(std::string_view file, const MetricsChange& change, std::size_t columns,
                         std::size_t peers_max) {
  const MetricsReading& now = change.later();
  std::string text;
  const auto say = [&](const std::string& sentence) {
    for (const std::string& line : report::wrap(sentence, columns)) text += line + "\n";
  };
  say(fmt::format("{}: {} at {}, process {}, up {}, written {:.1f} s ago{}", file, now.protocol, now.address,
                  now.process, shown_duration(now.uptime_seconds), now.age_seconds,
                  now.capturing ? ", capturing" : ""));
  const auto completions = change.rate([](const MetricsReading& of) { return of.completions; });
  say(fmt::format("{} of {}, {}, {} operations of its own a second, {} refused",
                  report::counted(now.clients, "client", "clients"), now.clients_limit,
                  report::counted(now.queues, "queue", "queues"), shown(completions),
                  report::counted(now.traffic.refused, "access", "accesses")));
  say(drops_sentence(change));

  std::vector<const PeerReading*> peers;
  for (const PeerReading& peer : now.peers) peers.push_back(&peer);
  std::stable_sort(peers.begin(), peers.end(), [&change](const PeerReading* left, const PeerReading* right) {
    return busyness(*left, change) > busyness(*right, change);
  });
  report::TextTable table = empty_table();
  table.add_row(row_of_all(change));
  for (std::size_t at = 0; at < std::min(peers.size(), peers_max); ++at)
    table.add_row(row_of(*peers[at], change));
  text += table.text(columns);
  if (peers.size() > peers_max) say(fmt::format("and {} more", peers.size() - peers_max));
  return text;
}

Json process_document(std::string_view file, const MetricsChange& change) {
  const MetricsReading& now = change.later();
  Json out{{"file", file},
           {"protocol", now.protocol},
           {"address", now.address},
           {"process", now.process},
           {"uptime_seconds", now.uptime_seconds},
           {"age_seconds", now.age_seconds},
           {"interval_seconds", change.seconds() > 0 ? Json(change.seconds()) : Json(nullptr)},
           {"capturing", now.capturing},
           {"clients", now.clients},
           {"clients_limit", now.clients_limit},
           {"queues", now.queues}};
  out.update(traffic_document(now.traffic, [&](std::uint64_t TrafficReading::*member) {
    return change.rate([member](const MetricsReading& of) { return of.traffic.*member; });
  }));
  out["operations"] = now.completions;
  out["operations_per_second"] =
      number_or_null(change.rate([](const MetricsReading& of) { return of.completions; }));
  Json dropped = Json::array();
  for (const NamedReading& each : now.dropped) {
    const auto rate = change.rate([&each](const MetricsReading& of) { return dropped_for(of, each.name); });
    dropped.push_back(
        {{"reason", each.name}, {"packets", each.value}, {"packets_per_second", number_or_null(rate)}});
  }
  out["dropped"] = std::move(dropped);
  Json engine = Json::object();
  for (const NamedReading& each : now.engine) engine[each.name] = each.value;
  out["engine"] = std::move(engine);
  Json peers = Json::array();
  for (const PeerReading& peer : now.peers) peers.push_back(peer_document(peer, change));
  out["peers"] = std::move(peers);
  return out;
}

}  // namespace wharf::cli
