// SPDX-License-Identifier: Apache-2.0
#include "wire/host_table.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

namespace wharf::wire {
namespace {

bool number_before(const HostRecord& a, HostAddress b) { return a.host < b; }
bool address_before(const HostRecord& a, const std::tuple<Ipv6Address, std::uint16_t>& b) {
  return std::tie(a.address, a.port) < b;
}

/// The next word of `line`, which it is taken from.
std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<HostRecord> parse_line(std::string_view line, int number) {
  HostRecord record;
  const std::string_view host = take_word(line);
  const std::string_view address = take_word(line);
  const std::string_view port = take_word(line);
  if (!parse_number(host, record.host.number) || record.host == kNoHost) {
    return input_error(fmt::format("line {}: found \"{}\", expected a host number", number, host));
  }
  const std::optional<Ipv6Address> parsed = parse_ip_address(address);
  if (!parsed) {
    return input_error(
        fmt::format("line {}: found \"{}\", expected an IPv4 or IPv6 address", number, address));
  }
  record.address = *parsed;
  if (!port.empty() && !parse_number(port, record.port)) {
    return input_error(fmt::format("line {}: found \"{}\", expected a port up to 65535", number, port));
  }
  if (const std::string_view more = take_word(line); !more.empty()) {
    return input_error(fmt::format("line {}: found \"{}\" behind the port, expected nothing", number, more));
  }
  return record;
}

}  // namespace

Result<void> HostTable::add(const HostRecord& record) {
  const auto place = std::lower_bound(by_number_.begin(), by_number_.end(), record.host, number_before);
  if (place != by_number_.end() && place->host == record.host) {
    return input_error(
        fmt::format("host {} is in the table already, at {}", record.host.number, to_text(place->address)));
  }
  const auto where = std::lower_bound(by_address_.begin(), by_address_.end(),
                                      std::tuple{record.address, record.port}, address_before);
  if (where != by_address_.end() && where->address == record.address && where->port == record.port) {
    return input_error(fmt::format("address {} port {} is in the table already, of host {}",
                                   to_text(record.address), record.port, where->host.number));
  }
  by_number_.insert(place, record);
  by_address_.insert(where, record);
  return {};
}

const HostRecord* HostTable::find(HostAddress host) const {
  const auto place = std::lower_bound(by_number_.begin(), by_number_.end(), host, number_before);
  return place != by_number_.end() && place->host == host ? &*place : nullptr;
}

HostAddress HostTable::find(const Ipv6Address& address, std::uint16_t port) const {
  const auto place =
      std::lower_bound(by_address_.begin(), by_address_.end(), std::tuple{address, port}, address_before);
  return place != by_address_.end() && place->address == address && place->port == port ? place->host
                                                                                        : kNoHost;
}

std::optional<Ipv6Address> parse_ip_address(std::string_view text) {
  const std::string copy(text);
  Ipv6Address address{};
  if (inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  std::array<std::uint8_t, 4> four{};
  if (inet_pton(AF_INET, copy.c_str(), four.data()) != 1) return std::nullopt;
  address = {};
  address[10] = address[11] = 0xff;
  std::copy(four.begin(), four.end(), address.begin() + 12);
  return address;
}

std::string to_text(const Ipv6Address& address) {
  const bool mapped =
      std::all_of(address.begin(), address.begin() + 10, [](auto byte) { return byte == 0; }) &&
      address[10] == 0xff && address[11] == 0xff;
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(mapped ? AF_INET : AF_INET6, address.data() + (mapped ? 12 : 0), text.data(), text.size());
  return text.data();
}

Result<HostTable> parse_host_table(std::string_view text) {
  HostTable table;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<HostRecord> record = parse_line(line, number);
    if (!record.ok()) return record.error();
    if (const Result<void> added = table.add(*record); !added.ok()) {
      return input_error(fmt::format("line {}: {}", number, added.error().message));
    }
  }
  return table;
}

}  // namespace wharf::wire
