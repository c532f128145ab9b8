// SPDX-License-Identifier: Apache-2.0
#include "study/openurma/state_account.h"

#include <fmt/format.h>

#include <utility>

#include "engine/roce/state_report.h"
#include "engine/ub/state_report.h"
#include "study/openurma/live_state.h"

namespace wharf::study::openurma {
namespace {

/// Where the engines are measured.
constexpr std::uint32_t kLiveEndpoints = 64;
constexpr std::uint32_t kLiveHosts = 64;

template <typename Row>
StatePart part(std::string_view key, std::string title, const std::vector<Row>& rows, std::uint64_t bytes) {
  StatePart made{key, std::move(title), {}, bytes};
  for (const Row& row : rows) made.lines.push_back({row.record, row.bytes_each, row.count, row.bytes});
  return made;
}

Result<LiveStatePart> live_part(std::string_view key, std::string_view title, wire::Protocol protocol,
                                std::uint64_t accounting_bytes) {
  auto uses = measure_live_state(protocol, kLiveEndpoints, kLiveHosts);
  if (!uses) return uses.error();
  LiveStatePart made{key, fmt::format("{} live engine, {} x {}", title, kLiveEndpoints, kLiveHosts),
                     *std::move(uses), 0, accounting_bytes};
  for (const MemoryUse& use : made.uses) made.bytes += use.bytes;
  return made;
}

double times(std::uint64_t more, std::uint64_t less) {
  return static_cast<double>(more) / static_cast<double>(less);
}

}  // namespace

Result<StateAccount> state_account(std::uint64_t jetties, std::uint64_t hosts) {
  const ub::StateReport ub = ub::state_report(jetties, hosts);
  const roce::StateReport roce = roce::state_report(jetties, hosts);
  StateAccount account;
  account.parts = {
      part("ub", "UB context records", ub.ub, ub.ub_bytes),
      part("ub_full", "UB, every field of a jetty", ub.ub_full, ub.ub_full_bytes),
      part("roce", "RoCE context records", roce.roce, roce.roce_bytes),
      part("ub_beyond", "UB windows and queues beyond the records", ub.beyond, ub.beyond_bytes),
      part("roce_beyond", "RoCE windows and queues beyond the records", roce.beyond, roce.beyond_bytes)};
  account.live_endpoints = kLiveEndpoints;
  account.live_hosts = kLiveHosts;
  auto ub_live = live_part("ub_measured", "UB", wire::Protocol::kUb,
                           ub::state_report(kLiveEndpoints, kLiveHosts).ub_bytes);
  if (!ub_live) return ub_live.error();
  auto roce_live = live_part("roce_measured", "RoCE", wire::Protocol::kRoce,
                             roce::state_report(kLiveEndpoints, kLiveHosts).roce_bytes);
  if (!roce_live) return roce_live.error();
  account.sentences = {
      fmt::format("RoCE needs {:.1f} times the context bytes of UB ({:.1f} times with full jetties).",
                  times(roce.roce_bytes, ub.ub_bytes), times(roce.roce_bytes, ub.ub_full_bytes)),
      fmt::format(
          "Live engines were made, connected and used (every endpoint wrote to and read from every host, "
          "and the other way round), then each walked its containers: free places in pools count, payload "
          "buffers do not. At {} x {} the RoCE engine holds {:.1f} times what the UB engine holds.",
          kLiveEndpoints, kLiveHosts, times(roce_live->bytes, ub_live->bytes))};
  account.live.push_back(*std::move(ub_live));
  account.live.push_back(*std::move(roce_live));
  return account;
}

}  // namespace wharf::study::openurma
