// SPDX-License-Identifier: Apache-2.0
#include "live/udp/place.h"

#include "live/shm/shm_rendezvous.h"
#include "live/udp/udp_socket.h"

namespace wharf::live {

std::string format_place(const Place& place) {
  return place.shared() ? "shm:" + place.name : format_endpoint(place.endpoint);
}

Result<Place> parse_place(const std::string& text, std::uint16_t port) {
  if (names_shared_memory(text)) {
    auto name = parse_shm_name(text);
    if (!name) return name.error();
    return Place::in_shared_memory(*std::move(name));
  }
  auto endpoint = parse_endpoint(text, port);
  if (!endpoint) return endpoint.error();
  return Place(*endpoint);
}

}  // namespace wharf::live
