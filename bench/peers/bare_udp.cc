// SPDX-License-Identifier: Apache-2.0
// What `tools/compare_peers` measures of the system itself: datagrams of 64 bytes that go to another process
// and back, both ends asking their sockets without pause. It prints the median round trip in microseconds.
//
//   bare_udp serve PORT           answers until it has seen no datagram for a second
//   bare_udp ask PORT ROUNDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kPatienceAtFirst = std::chrono::seconds(10);
constexpr std::size_t kBytes = 64;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

/// False when no datagram came in time.
bool take(int descriptor, char* buffer, sockaddr_in* from, Clock::duration patience) {
  const auto end = Clock::now() + patience;
  socklen_t length = sizeof *from;
  while (::recvfrom(descriptor, buffer, kBytes, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(from), &length) <
         0) {
    if (Clock::now() > end) return false;
  }
  return true;
}

void give(int descriptor, const char* buffer, const sockaddr_in& to) {
  ::sendto(descriptor, buffer, kBytes, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

int serve(int descriptor, int port) {
  const sockaddr_in own = loopback(port);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    std::perror("bare_udp: bind");
    return 4;
  }
  char buffer[kBytes];
  sockaddr_in from{};
  if (!take(descriptor, buffer, &from, kPatienceAtFirst)) return 1;
  do {
    give(descriptor, buffer, from);
  } while (take(descriptor, buffer, &from, kPatience));
  return 0;
}

int ask(int descriptor, int port, long rounds) {
  const sockaddr_in server = loopback(port);
  char buffer[kBytes] = {};
  sockaddr_in from{};
  std::vector<double> trips;
  for (long round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    give(descriptor, buffer, server);
    if (!take(descriptor, buffer, &from, kPatience)) {
      std::fprintf(stderr, "bare_udp: no answer from port %d\n", port);
      return 1;
    }
    trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(trips.begin(), trips.begin() + trips.size() / 2, trips.end());
  std::printf("%.3f\n", trips[trips.size() / 2]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool serves = argc == 3 && std::strcmp(argv[1], "serve") == 0;
  const long rounds = argc == 4 && std::strcmp(argv[1], "ask") == 0 ? std::atol(argv[3]) : 0;
  if (!serves && rounds <= 0) {
    std::fprintf(stderr, "bare_udp: expected serve PORT, or ask PORT ROUNDS\n");
    return 2;
  }
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (descriptor < 0) {
    std::perror("bare_udp: socket");
    return 4;
  }
  return serves ? serve(descriptor, std::atoi(argv[2])) : ask(descriptor, std::atoi(argv[2]), rounds);
}
