// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/host_list.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <optional>

namespace wharf::sim {
namespace {

std::optional<std::uint32_t> number(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> hosts(count);
  std::iota(hosts.begin(), hosts.end(), first);
  return hosts;
}

}  // namespace

Result<std::vector<std::uint32_t>> hosts_of(std::string_view text, std::string_view key,
                                            const WorldRoles& roles) {
  if (text == kClients) return range(0, roles.clients);
  if (text == kServers) return range(roles.first_server(), roles.servers);
  if (text == kAllHosts) return range(0, roles.hosts);
  std::vector<std::uint32_t> hosts;
  std::vector<bool> listed(roles.hosts);
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first > *last)
      return input_error(
          fmt::format("{} is \"{}\", expected \"clients\", \"servers\", \"all\" or hosts such as "
                      "\"0-7,12\"",
                      key, text));
    if (*last >= roles.hosts)
      return input_error(
          fmt::format("{} names host {}, expected hosts from 0 to {}", key, *last, roles.hosts - 1));
    for (std::uint32_t host = *first; host <= *last; ++host) {
      if (listed[host])
        return input_error(fmt::format("{} names host {} twice, expected each host once", key, host));
      listed[host] = true;
      hosts.push_back(host);
    }
    if (comma == std::string_view::npos) return hosts;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace wharf::sim
