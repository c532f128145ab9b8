// SPDX-License-Identifier: Apache-2.0
// The C interface: transport channels and addresses. The library makes one channel to each process by itself;
// programs that ask for handles get one that stands for it. The kernel has the say over the headers below:
// what a program sets must be what is, or it is told that it cannot be.
#include "live/urma/exported.h"
//
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "live/urma/identity.h"
#include "live/urma/library.h"
#include "live/urma/lives.h"

using namespace wharf::live::urma;

namespace {

/// Handles say whose they are: the peer's address, behind a mark.
constexpr std::uint64_t kHandleMark = std::uint64_t{0x7754} << 48U;

/// Bits of the attribute bitmap. [URMA API, urma_tp_attr_value]
constexpr unsigned kSourceAddress = 2;
constexpr unsigned kDestinationAddress = 3;
constexpr unsigned kVlanEnable = 7;
constexpr unsigned kDscp = 8;
constexpr unsigned kSpray = 15;

std::uint64_t handle_of(const urma_get_tp_cfg_t& cfg) {
  const auto address = address_of(cfg.peer_eid).value_or(0);
  return kHandleMark | (std::uint64_t{cfg.flag.value & 0x7U} << 32U) | address;
}

bool is_handle(std::uint64_t handle) { return (handle & (std::uint64_t{0xffff} << 48U)) == kHandleMark; }

/// The hardware address of the interface that has `address`; zeros for loopback and shared memory.
bool hardware_address(std::uint32_t address, std::uint8_t* mac) {
  if (is_shared_memory(address)) {
    std::memset(mac, 0, URMA_MAC_BYTES);
    return true;
  }
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return false;
  bool found = false;
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const ifaddrs* each = first; each != nullptr && !found && descriptor >= 0; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in own{};
    std::memcpy(&own, each->ifa_addr, sizeof own);
    if (ntohl(own.sin_addr.s_addr) != address) continue;
    ifreq request{};
    std::strncpy(request.ifr_name, each->ifa_name, IFNAMSIZ - 1);
    if (::ioctl(descriptor, SIOCGIFHWADDR, &request) != 0) break;
    std::memcpy(mac, request.ifr_hwaddr.sa_data, URMA_MAC_BYTES);
    found = true;
  }
  if (descriptor >= 0) ::close(descriptor);
  ::freeifaddrs(first);
  return found;
}

/// An IPv4 address as such, a place in shared memory as the IPv6 address that its EID is.
void put(std::uint32_t address, urma_net_addr_t& out) {
  if (is_shared_memory(address)) {
    const urma_eid_t eid = eid_of(address);
    out.sin_family = AF_INET6;
    std::memcpy(&out.in6, eid.raw, sizeof out.in6);
    out.prefix_len = 128;
    return;
  }
  out.sin_family = AF_INET;
  out.in4.s_addr = htonl(address);
  out.prefix_len = 32;
}

/// The EID of such an address; nothing for one that is neither.
std::optional<urma_eid_t> eid_at(const urma_net_addr_t& address) {
  if (address.sin_family == AF_INET) return mapped_eid(ntohl(address.in4.s_addr));
  urma_eid_t eid{};
  std::memcpy(eid.raw, &address.in6, sizeof eid.raw);
  if (address.sin_family != AF_INET6 || !is_shared_memory(address_of(eid).value_or(0))) return std::nullopt;
  return eid;
}

}  // namespace

extern "C" {

// The number of the channel is the library's own affair.
int urma_get_tpn(urma_jetty_t* jetty) { return tables().jettys.find(jetty) == nullptr ? -EINVAL : -ENOTSUP; }

int urma_modify_tp(urma_context_t* ctx, uint32_t, urma_tp_cfg_t*, urma_tp_attr_t*, urma_tp_attr_mask_t) {
  return tables().contexts.find(ctx) == nullptr ? -EINVAL : -ENOTSUP;
}

urma_status_t urma_get_tp_list(urma_context_t* ctx, urma_get_tp_cfg_t* cfg, uint32_t* tp_cnt,
                               urma_tp_info_t* tp_list) {
  const Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || cfg == nullptr || tp_cnt == nullptr || *tp_cnt == 0 || tp_list == nullptr) {
    return URMA_EINVAL;
  }
  if (!address_of(cfg->peer_eid) || address_of(cfg->local_eid) != context->interface->endpoint().address) {
    return URMA_EINVAL;
  }
  tp_list[0].tp_handle = handle_of(*cfg);
  *tp_cnt = 1;
  return URMA_SUCCESS;
}

urma_status_t urma_set_tp_attr(const urma_context_t* ctx, const uint64_t tp_handle, const uint8_t tp_attr_cnt,
                               const uint32_t tp_attr_bitmap, const urma_tp_attr_value_t* tp_attr) {
  const Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || !is_handle(tp_handle) || tp_attr == nullptr ||
      static_cast<int>(tp_attr_cnt) != __builtin_popcount(tp_attr_bitmap)) {
    return URMA_EINVAL;
  }
  const urma_eid_t own_eid = eid_of(context->interface->endpoint().address);
  const auto& own = own_eid.raw;
  const auto sets = [&](unsigned bit) { return (tp_attr_bitmap >> bit & 1U) != 0; };
  // An IPv4 address is written mapped, or in the first four bytes.
  const bool source =
      std::memcmp(own, tp_attr->sip, sizeof own) == 0 || std::memcmp(own + 12, tp_attr->sip, 4) == 0;
  if ((sets(kSourceAddress) && !source) || (sets(kVlanEnable) && tp_attr->vlan_en != 0) ||
      (sets(kDscp) && tp_attr->dscp != 0) || (sets(kSpray) && tp_attr->spray_en != 0)) {
    return URMA_FAIL;
  }
  return URMA_SUCCESS;
}

urma_status_t urma_get_tp_attr(const urma_context_t* ctx, const uint64_t tp_handle, uint8_t* tp_attr_cnt,
                               uint32_t* tp_attr_bitmap, urma_tp_attr_value_t* tp_attr) {
  const Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || !is_handle(tp_handle) || tp_attr_cnt == nullptr || tp_attr_bitmap == nullptr ||
      tp_attr == nullptr) {
    return URMA_EINVAL;
  }
  *tp_attr = {};
  const urma_eid_t source = eid_of(context->interface->endpoint().address);
  const urma_eid_t destination = eid_of(static_cast<std::uint32_t>(tp_handle));
  std::memcpy(tp_attr->sip, source.raw, sizeof tp_attr->sip);
  std::memcpy(tp_attr->dip, destination.raw, sizeof tp_attr->dip);
  *tp_attr_bitmap = (1U << kSourceAddress) | (1U << kDestinationAddress);
  *tp_attr_cnt = 2;
  return URMA_SUCCESS;
}

urma_net_addr_info_t* urma_get_net_addr_list(urma_context_t* ctx, uint32_t* cnt) {
  const Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || cnt == nullptr) return refuse<urma_net_addr_info_t>(EINVAL);
  const auto& addresses = context->device->addresses;
  auto* const list =
      static_cast<urma_net_addr_info_t*>(std::calloc(addresses.size(), sizeof(urma_net_addr_info_t)));
  if (list == nullptr) return refuse<urma_net_addr_info_t>(ENOMEM);
  for (std::uint32_t at = 0; at < addresses.size(); ++at) {
    list[at].index = at;
    put(addresses[at], list[at].netaddr);
    (void)hardware_address(addresses[at], list[at].netaddr.mac);
  }
  *cnt = static_cast<uint32_t>(addresses.size());
  return list;
}
void urma_free_net_addr_list(urma_net_addr_info_t* net_addr_list) { std::free(net_addr_list); }

urma_status_t urma_get_eid_by_ip(const urma_context_t* ctx, const urma_net_addr_t* net_addr,
                                 urma_eid_t* eid) {
  if (tables().contexts.find(ctx) == nullptr || net_addr == nullptr || eid == nullptr) return URMA_EINVAL;
  const auto found = eid_at(*net_addr);
  if (!found) return URMA_FAIL;
  *eid = *found;
  return URMA_SUCCESS;
}

urma_status_t urma_get_ip_by_eid(const urma_context_t* ctx, const urma_eid_t* eid,
                                 urma_net_addr_t* net_addr) {
  if (tables().contexts.find(ctx) == nullptr || net_addr == nullptr || eid == nullptr) return URMA_EINVAL;
  const auto address = address_of(*eid);
  if (!address) return URMA_FAIL;
  *net_addr = {};
  put(*address, *net_addr);
  return URMA_SUCCESS;
}

urma_status_t urma_get_smac(const urma_context_t* ctx, uint8_t* mac) {
  const Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || mac == nullptr) return URMA_EINVAL;
  return hardware_address(context->interface->endpoint().address, mac) ? URMA_SUCCESS : URMA_FAIL;
}

// The kernel finds the next hop's address when a datagram leaves; it is not known to the library.
urma_status_t urma_get_dmac(const urma_context_t* ctx, const urma_net_addr_t* net_addr, uint8_t* mac) {
  if (tables().contexts.find(ctx) == nullptr || net_addr == nullptr || mac == nullptr) return URMA_EINVAL;
  const auto eid = eid_at(*net_addr);
  const auto address = eid ? address_of(*eid) : std::nullopt;
  return address && hardware_address(*address, mac) ? URMA_SUCCESS : URMA_FAIL;
}

void urma_u32_to_eid(uint32_t ipv4, urma_eid_t* eid) {
  if (eid != nullptr) *eid = mapped_eid(ipv4);
}

int urma_str_to_eid(const char* buf, urma_eid_t* eid) {
  if (buf == nullptr || eid == nullptr || buf[0] == 0) return -EINVAL;
  in6_addr six{};
  in_addr four{};
  if (::inet_pton(AF_INET6, buf, &six) == 1) {
    std::memcpy(eid->raw, &six, sizeof eid->raw);
    return 0;
  }
  if (::inet_pton(AF_INET, buf, &four) == 1) {
    *eid = mapped_eid(ntohl(four.s_addr));
    return 0;
  }
  char* end = nullptr;
  errno = 0;
  const unsigned long number = std::strtoul(buf, &end, 0);
  if (errno != 0 || *end != 0 || number > 0xffff'ffffUL) return -EINVAL;
  *eid = mapped_eid(static_cast<std::uint32_t>(number));
  return 0;
}

}  // extern "C"
