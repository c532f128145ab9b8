// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/silent_connections.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace wharf::live {
namespace {

/// Whether it is a connection that was taken at `port`, and has brought no byte yet.
bool is_silent(int descriptor, std::uint16_t port) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0 || own.sin_family != AF_INET ||
      ntohs(own.sin_port) != port)
    return false;
  constexpr std::uint8_t kEstablished = 1;
  tcp_info info{};
  size = sizeof info;
  // A system that does not count bytes gives a shorter answer.
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received &&
         info.tcpi_state == kEstablished && info.tcpi_bytes_received == 0;
}

}  // namespace

Result<SilentConnections> SilentConnections::at(std::uint16_t port) {
  SilentConnections made;
  made.descriptors_.reset(::opendir("/proc/self/fd"));
  if (!made.descriptors_)
    return Error{ErrorKind::kEnvironment, fmt::format("/proc/self/fd: {}", std::strerror(errno))};
  made.port_ = port;
  return made;
}

std::size_t SilentConnections::look(TimePs now, TimePs patience) {
  if (now < next_) return 0;
  next_ = now + kLookEvery;
  std::map<ino_t, Silent> seen;
  ::rewinddir(descriptors_.get());
  while (const dirent* const entry = ::readdir(descriptors_.get())) {
    const int descriptor = std::atoi(entry->d_name);  // "." and "..": 0, which is no such connection.
    struct stat is {};
    if (!is_silent(descriptor, port_) || ::fstat(descriptor, &is) != 0) continue;
    const auto known = silent_.find(is.st_ino);
    seen[is.st_ino] = {descriptor, known == silent_.end() ? now : known->second.since};
  }
  silent_ = std::move(seen);
  std::size_t ended = 0;
  std::size_t left = silent_.size();
  const auto end = [&](const Silent& each) {
    // Not closed: the descriptor is UCX's.
    ::shutdown(each.descriptor, SHUT_RDWR);
    ++ended;
    --left;
  };
  for (auto at = silent_.begin(); at != silent_.end();) {
    if (now - at->second.since < patience) {
      ++at;
      continue;
    }
    end(at->second);
    at = silent_.erase(at);
  }
  while (left > kMost) {
    const auto oldest = std::min_element(silent_.begin(), silent_.end(), [](const auto& a, const auto& b) {
      return a.second.since < b.second.since;
    });
    end(oldest->second);
    silent_.erase(oldest);
  }
  return ended;
}

}  // namespace wharf::live
