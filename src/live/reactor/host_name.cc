// SPDX-License-Identifier: Apache-2.0
#include "live/reactor/host_name.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

namespace wharf::live {
namespace {

constexpr std::size_t kNameMost = 253;

/// Letters, digits, dots and hyphens, and a letter among them: what is never meant as an address.
bool is_name(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto allowed = [letter](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  return !text.empty() && text.size() <= kNameMost && text.front() != '-' && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), allowed) && std::any_of(text.begin(), text.end(), letter);
}

}  // namespace

Result<std::uint32_t> find_host(const std::string& host) {
  in_addr address{};
  if (::inet_pton(AF_INET, host.c_str(), &address) == 1) return ntohl(address.s_addr);
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1)
    return input_error(
        fmt::format("\"{}\" is an IPv6 address, expected one of IPv4, which is all that runs live", host));
  if (!is_name(host))
    return input_error(fmt::format(
        "\"{}\" is no IPv4 address and no name, expected one such as 127.0.0.1 or localhost", host));
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(first, &::freeaddrinfo);
  if (status != 0 || first == nullptr)
    return input_error(fmt::format("\"{}\" has no IPv4 address that the system knows: {}", host,
                                   status == 0 ? "none found" : ::gai_strerror(status)));
  return ntohl(reinterpret_cast<const sockaddr_in*>(first->ai_addr)->sin_addr.s_addr);
}

}  // namespace wharf::live
