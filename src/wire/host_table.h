// SPDX-License-Identifier: Apache-2.0
// Who is host number n: the table that every host of a group has, so that both ends of a packet know each
// other by number, whoever spoke first. address_plan.h is the table of hosts whose addresses follow from
// their numbers; this one is for hosts whose addresses are given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/host_address.h"
#include "wire/ipv6.h"

namespace wharf::wire {

/// One host. The address is an IPv6 one, or an IPv4 one mapped into it (::ffff:a.b.c.d), which is what RoCE
/// calls a GID and UB an EID.
struct HostRecord {
  HostAddress host;
  Ipv6Address address{};
  std::uint16_t port = 0;  ///< UDP port of the protocol there; 0: the protocol's own.
  bool operator==(const HostRecord&) const = default;
};

class HostTable {
 public:
  /// Refuses a number, or an address and port, that is in the table.
  Result<void> add(const HostRecord& record);
  const HostRecord* find(HostAddress host) const;
  /// The host with that address and port, or kNoHost.
  HostAddress find(const Ipv6Address& address, std::uint16_t port) const;
  /// In the order of numbers.
  const std::vector<HostRecord>& records() const { return by_number_; }

 private:
  std::vector<HostRecord> by_number_;
  std::vector<HostRecord> by_address_;
};

/// "10.0.0.7", "fd00::7"; nothing for other text.
std::optional<Ipv6Address> parse_ip_address(std::string_view text);
/// IPv4 where it is mapped.
std::string to_text(const Ipv6Address& address);

/// Lines "number address [port]"; empty lines and what follows # do not count. The error names the line.
Result<HostTable> parse_host_table(std::string_view text);

}  // namespace wharf::wire
