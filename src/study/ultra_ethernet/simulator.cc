// SPDX-License-Identifier: Apache-2.0
// The UEC's public simulator (htsim) against runs with the profile of its rules, over its own matrices: times
// to 3 %, counts of packets to 10 %; and what each rule that is not the specification's changes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/fabric/topology_fat_tree.h"
#include "study/frame/fabric_batch.h"
#include "study/ultra_ethernet/ultra_ethernet.h"

namespace wharf::study::ultra_ethernet {
namespace {

constexpr sim::LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::uint64_t kBytes = 2'000'000;
constexpr double kTimes = 0.03;    ///< How near times have to be,
constexpr double kCounts = 0.10;   ///< and counts of packets,
constexpr double kOfNew = 0.001;   ///< or this part of the new packets, whichever is more.
constexpr double kUnknown = -1.0;  ///< No number was published.

/// perm_16n_16c_2MB.cm and perm_128n_128c_2MB.cm: to whom each host sends.
constexpr std::array<std::uint8_t, 16> kToOfSixteen{8, 4, 13, 10, 12, 15, 0, 9, 14, 7, 5, 3, 11, 6, 2, 1};
constexpr std::array<std::uint8_t, 128> kToOfHundred{
    90, 66,  23,  72,  3,   93,  70,  50,  115, 39,  110, 14,  120, 112, 10, 20, 0,   63,  105, 116, 58,  97,
    36, 69,  100, 84,  119, 52,  123, 4,   59,  41,  121, 40,  109, 46,  95, 21, 5,   65,  64,  74,  107, 87,
    18, 68,  37,  94,  7,   55,  91,  114, 86,  127, 26,  122, 30,  42,  53, 62, 108, 47,  99,  1,   111, 17,
    57, 81,  15,  44,  28,  2,   85,  80,  51,  126, 33,  60,  35,  92,  75, 48, 11,  88,  106, 56,  77,  8,
    25, 101, 113, 102, 96,  67,  124, 38,  6,   49,  22,  79,  125, 29,  76, 32, 73,  118, 78,  31,  71,  89,
    24, 43,  12,  103, 27,  117, 54,  98,  61,  16,  104, 13,  19,  9,   45, 82, 34,  83};
constexpr std::uint32_t kIncastReceiver = 33;

enum class Pattern : std::uint8_t { kOne, kSixteen, kHundred, kIncast };

/// A matrix and what the simulator gives for it, times in microseconds.
struct Reference {
  std::string_view name;
  Pattern pattern;
  bool receiver;  ///< RCCC; false: NSCC.
  double least, mean, most;
  double retransmitted, acks, nacks;
};

constexpr std::array<Reference, 7> kReferences{{
    {"one flow", Pattern::kOne, false, 176.2, 176.2, 176.2, 0, 124, 0},
    {"permutation of 16", Pattern::kSixteen, false, 188.0, 190.9, 194.0, 0, 2547, 0},
    {"permutation of 16", Pattern::kSixteen, true, 186.9, 190.8, 195.7, 3, 2911, 3},
    {"permutation of 128", Pattern::kHundred, false, 180.6, 192.6, 200.9, 0, 21372, 0},
    {"permutation of 128", Pattern::kHundred, true, 180.1, 192.0, 199.1, 7, 24283, 7},
    {"incast of 127", Pattern::kIncast, false, kUnknown, 20170, 21029, 72623, 62126, 72623},
    {"incast of 127", Pattern::kIncast, true, kUnknown, 20813, 20891, 6218, 20650, 6206},
}};

/// A rule of the simulator put back to the specification's.
struct Rule {
  std::string_view what;
  std::string_view key;
  std::size_t reference;  ///< Among kReferences: where it shows.
};
constexpr std::array<Rule, 9> kRules{{{"marks count the packet", "fabric.ecn_occupancy=with_packet", 1},
                                      {"path bits are fixed", "fabric.path_bits=fixed", 1},
                                      {"oblivious paths", "fabric.path_selection=oblivious", 1},
                                      {"SACK_BASE is tracked", "fabric.sack_base=track", 1},
                                      {"each SYN is answered", "fabric.ack_every_syn=true", 1},
                                      {"a probe of base RTT", "fabric.base_rtt_probe=true", 1},
                                      {"full grants when idle", "fabric.idle_grant=full", 2},
                                      {"NSCC by the text", "fabric.nscc_rules=specification", 5},
                                      {"credit asked for when dry", "fabric.credit_request=dry", 6}}};

template <std::size_t N>
void add_permutation(const std::array<std::uint8_t, N>& destinations, workload::FlowList& list) {
  for (std::uint32_t host = 0; host < N; ++host)
    list.flows.push_back({.source = host, .destination = destinations[host], .bytes = kBytes});
}

workload::FlowList flows_of(Pattern pattern) {
  workload::FlowList list;
  switch (pattern) {
    case Pattern::kOne:
      list.flows.push_back({.source = 0, .destination = 13, .bytes = kBytes});
      break;
    case Pattern::kSixteen:
      add_permutation(kToOfSixteen, list);
      break;
    case Pattern::kHundred:
      add_permutation(kToOfHundred, list);
      break;
    case Pattern::kIncast:
      for (std::uint32_t host = 0; host < 128; ++host) {
        if (host != kIncastReceiver)
          list.flows.push_back({.source = host, .destination = kIncastReceiver, .bytes = kBytes});
      }
      break;
  }
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) list.flows[i].id = i + 1;
  return list;
}

Result<FabricCase> case_of(const StudyContext& context, const Reference& reference,
                           std::vector<std::string> keys) {
  const bool small = reference.pattern == Pattern::kOne || reference.pattern == Pattern::kSixteen;
  const auto shape = sim::k_ary_shape(3, small ? 16 : 128, kLink, kTimeZero);
  if (!shape) return shape.error();
  auto topology = sim::fat_tree_of(*shape);
  if (!topology) return topology.error();
  workload::FlowList flows = flows_of(reference.pattern);
  flows.name = reference.name;
  keys.push_back(fmt::format("fabric.control={}", reference.receiver ? "receiver" : "sender"));
  // The published permutations of 128 hosts have twice as many paths as the others.
  if (reference.pattern == Pattern::kHundred) keys.push_back("fabric.paths=128");
  auto loaded = sim::load_fabric_settings({"htsim-uec", std::move(keys), context.profiles});
  if (!loaded) return loaded.error();
  auto run = sim::derive_fabric_run(loaded->settings, *topology, nullptr, flows);
  if (!run) return run.error();
  std::string name = flows.name;
  return FabricCase{std::move(name), *std::move(topology), std::move(flows), std::move(run->config)};
}

/// What one run gave.
struct Found {
  double least = 0;
  double mean = 0;
  double most = 0;
  sim::FabricTotals totals;
};

Found found_in(const FabricBatch& batch, std::size_t place) {
  std::vector<double> times = batch.times_ns(place);
  for (double& time : times) time /= 1000;
  return {*std::min_element(times.begin(), times.end()), mean_of(times), largest(times), batch[place].totals};
}

Json row_of(const Reference& reference, std::string_view rules, const Found& found) {
  const auto off = [](double ours, double theirs) -> Json {
    return theirs == kUnknown ? Json() : Json(deviation_percent(ours, theirs));
  };
  return {{"matrix", reference.name},
          {"control", reference.receiver ? "RCCC" : "NSCC"},
          {"rules", rules},
          {"mean_us", found.mean},
          {"last_us", found.most},
          {"min_percent", off(found.least, reference.least)},
          {"mean_percent", off(found.mean, reference.mean)},
          {"last_percent", off(found.most, reference.most)},
          {"retransmitted", found.totals.retransmitted},
          {"acks", found.totals.acknowledgements},
          {"nacks", found.totals.negative_acknowledgements}};
}

void judge(const Reference& reference, const Found& found, std::vector<Check>& checks) {
  const std::string run = fmt::format("{}, {}: ", reference.name, reference.receiver ? "RCCC" : "NSCC");
  const auto near = [&](const char* what, double ours, double theirs, double margin) {
    checks.push_back(between(run + what, ours, theirs - margin, theirs + margin));
  };
  if (reference.least != kUnknown) near("first, us", found.least, reference.least, kTimes * reference.least);
  near("mean, us", found.mean, reference.mean, kTimes * reference.mean);
  near("last, us", found.most, reference.most, kTimes * reference.most);
  const auto count = [&](const char* what, std::uint64_t ours, double theirs) {
    near(what, static_cast<double>(ours), theirs,
         std::max(kCounts * theirs, kOfNew * static_cast<double>(found.totals.new_packets)));
  };
  count("retransmitted", found.totals.retransmitted, reference.retransmitted);
  count("ACK", found.totals.acknowledgements, reference.acks);
  count("NACK", found.totals.negative_acknowledgements, reference.nacks);
}

}  // namespace

Result<StudyResult> reference_simulator(const StudyContext& context) {
  FabricBatch batch(context);
  for (const Reference& reference : kReferences) {
    auto made = case_of(context, reference, {});
    if (!made) return made.error();
    batch.add(*std::move(made));
  }
  for (const Rule& rule : kRules) {
    auto made = case_of(context, kReferences[rule.reference], {std::string(rule.key)});
    if (!made) return made.error();
    batch.add(*std::move(made));
  }
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {{"matrix", "matrix", 0},       {"control", "CC", 0},
                    {"rules", "rules", 0},         {"mean_us", "mean us", 1},
                    {"last_us", "last us", 1},     {"min_percent", "first %", 1},
                    {"mean_percent", "mean %", 1}, {"last_percent", "last %", 1},
                    {"retransmitted", "again", 0}, {"acks", "ACK", 0},
                    {"nacks", "NACK", 0}};
  std::size_t place = 0;
  for (const Reference& reference : kReferences) {
    const Found found = found_in(batch, place++);
    result.rows.push_back(row_of(reference, "the simulator's", found));
    judge(reference, found, result.checks);
  }
  for (const Rule& rule : kRules)
    result.rows.push_back(row_of(kReferences[rule.reference], rule.what, found_in(batch, place++)));
  result.sentences.push_back(
      "Three of the simulator's rules are inferred from its numbers alone: that what stays behind a packet "
      "decides about its mark, that entropy values get new upper bits for each round of the paths, and that "
      "a source that wants no credit gets some for a packet at a time, at half the pace.");
  result.checks.push_back(batch.integrity());
  return result;
}

}  // namespace wharf::study::ultra_ethernet
