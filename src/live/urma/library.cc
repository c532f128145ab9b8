// SPDX-License-Identifier: Apache-2.0
#include "live/urma/library.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "live/shm/shm_mesh.h"
#include "live/udp/udp_socket.h"
#include "live/urma/guarded.h"
#include "live/urma/identity.h"

namespace wharf::live::urma {
namespace {

/// Ports that are tried before a process gives up finding one that is free at all its addresses.
constexpr int kPortAttempts = 64;
/// Names that are tried before it is believed that none can be had.
constexpr int kTrials = 3;
constexpr const char* kDefaultDevices = "lo,shm";

struct NetworkAddress {
  std::string interface;
  std::uint32_t address = 0;
};

std::vector<NetworkAddress> addresses_of_machine() {
  std::vector<NetworkAddress> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, each->ifa_addr, sizeof address);
    found.push_back({each->ifa_name, ntohl(address.sin_addr.s_addr)});
  }
  return found;
}

std::string name_of(std::uint32_t address, const std::vector<NetworkAddress>& machine) {
  if (is_shared_memory(address)) return address == 1 ? "ub_shm" : fmt::format("ub_shm_{}", address);
  for (const NetworkAddress& each : machine) {
    if (each.address == address) return "ub_" + each.interface;
  }
  return fmt::format("ub_{}_{}_{}_{}", address >> 24U, address >> 16U & 255U, address >> 8U & 255U,
                     address & 255U);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.emplace_back(text.substr(from, to == std::string_view::npos ? to : to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

/// "shm", "shm:PLACE" or an IPv4 address; nothing for another word.
std::optional<std::uint32_t> address_in(const std::string& word) {
  constexpr std::string_view kShm = "shm";
  if (word == kShm) return 1;
  if (word.starts_with("shm:")) {
    std::uint32_t place = 0;
    const char* const end = word.data() + word.size();
    const auto read = std::from_chars(word.data() + kShm.size() + 1, end, place);
    if (read.ec != std::errc{} || read.ptr != end || !is_shared_memory(place)) return std::nullopt;
    return place;
  }
  in_addr parsed{};
  if (::inet_pton(AF_INET, word.c_str(), &parsed) != 1) return std::nullopt;
  const std::uint32_t address = ntohl(parsed.s_addr);
  if (address == INADDR_ANY || is_shared_memory(address)) return std::nullopt;  // No host's.
  return address;
}

/// The end of this process at an address.
Result<std::unique_ptr<DatagramPort>> open_port(std::uint32_t address, std::uint16_t port) {
  if (!is_shared_memory(address)) {
    auto socket = UdpSocket::open({address, port}, {.trains = true});
    if (!socket) return socket.error();
    return std::unique_ptr<DatagramPort>(std::make_unique<UdpSocket>(*std::move(socket)));
  }
  // The system chooses among the ports of sockets alone.
  std::uint16_t chosen = port;
  while (chosen < kFirstPort) {
    if (::getrandom(&chosen, sizeof chosen, 0) != sizeof chosen)
      return Error{ErrorKind::kEnvironment, "random bytes cannot be had from the system"};
  }
  auto mesh = ShmMesh::open({address, chosen});
  if (!mesh) return mesh.error();
  return std::unique_ptr<DatagramPort>(*std::move(mesh));
}

}  // namespace

Result<std::vector<DeviceChoice>> parse_devices(std::string_view text) {
  const std::vector<NetworkAddress> machine = addresses_of_machine();
  std::vector<DeviceChoice> devices;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) continue;
    DeviceChoice device;
    const std::size_t equals = part.find('=');
    if (equals != std::string::npos) device.name = part.substr(0, equals);
    for (const std::string& word : split(equals == std::string::npos ? part : part.substr(equals + 1), '+')) {
      if (const auto address = address_in(word)) {
        device.addresses.push_back(*address);
        continue;
      }
      const std::size_t before = device.addresses.size();
      for (const NetworkAddress& each : machine) {
        if (each.interface == word) device.addresses.push_back(each.address);
      }
      if (device.addresses.size() == before) {
        return input_error(
            fmt::format("WHARF_URMA_DEVICES: found \"{}\", expected an IPv4 address, a network interface "
                        "that has one, shm, or "
                        "shm: and a number up to {}",
                        word, kShmPlacesMost));
      }
      if (device.name.empty()) device.name = "ub_" + word;
    }
    if (device.name.empty()) device.name = name_of(device.addresses.front(), machine);
    if (device.name.size() >= URMA_MAX_NAME) {
      return input_error(fmt::format("WHARF_URMA_DEVICES: the name {} has {} characters, expected at most {}",
                                     device.name, device.name.size(), URMA_MAX_NAME - 1));
    }
    const bool twice = std::any_of(devices.begin(), devices.end(),
                                   [&](const DeviceChoice& other) { return other.name == device.name; });
    if (twice) return input_error(fmt::format("WHARF_URMA_DEVICES: two devices are called {}", device.name));
    devices.push_back(std::move(device));
  }
  if (devices.empty()) return input_error("WHARF_URMA_DEVICES: found no device, expected at least one");
  return devices;
}

Library& Library::get() {
  // Programs may call until the very end, and when there is no memory.
  alignas(Library) static std::byte place[sizeof(Library)];
  static Library* const library = ::new (place) Library;
  return *library;
}

Device* Library::find(const void* address) const {
  for (const auto& each : devices_) {
    if (&each->api == address) return each.get();
  }
  return nullptr;
}

/// An end at each address, all with the port that the UASID says.
urma_status_t Library::take_ports(std::uint32_t uasid) {
  std::uint8_t upper = 0;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    ports_.clear();
    std::uint32_t chosen = uasid;
    bool taken = true;
    bool in_use = false;
    for (const auto& device : devices_) {
      for (const std::uint32_t address : device->addresses) {
        if (ports_.contains(address)) continue;
        const std::uint16_t port = chosen == 0 ? std::uint16_t{0} : port_of(chosen);
        errno = 0;
        auto opened = open_port(address, port);
        if (!opened) {
          in_use = errno == EADDRINUSE;
          log(URMA_VLOG_LEVEL_ERR, "%s", opened.error().message.c_str());
          taken = false;
          break;
        }
        if (chosen == 0) {
          // The system's choice becomes the UASID; the upper bits tell processes with one port apart.
          if (::getrandom(&upper, sizeof upper, 0) != sizeof upper) return URMA_FAIL;
          chosen = (std::uint32_t{upper} << 16U) | (*opened)->local().port;
        }
        ports_.emplace(address, *std::move(opened));
      }
      if (!taken) break;
    }
    if (taken) {
      uasid_ = chosen;
      return URMA_SUCCESS;
    }
    if (!in_use || uasid != 0) {
      ports_.clear();
      return in_use ? URMA_EEXIST : URMA_FAIL;
    }
  }
  ports_.clear();
  return URMA_EAGAIN;
}

urma_status_t Library::init(std::uint32_t uasid) {
  const std::lock_guard lock(mutex_);
  if (ready_) return URMA_EEXIST;
  if (uasid > kUasidMask) return URMA_EINVAL;
  const urma_status_t status = guarded(urma_status_t{URMA_ENOMEM}, [&] { return start(uasid); });
  if (status != URMA_SUCCESS) {
    devices_.clear();
    ports_.clear();
  }
  return status;
}

urma_status_t Library::start(std::uint32_t uasid) {
  find_site();
  const char* const text = std::getenv("WHARF_URMA_DEVICES");
  auto chosen = parse_devices(text == nullptr ? kDefaultDevices : text);
  if (!chosen) {
    log(URMA_VLOG_LEVEL_ERR, "%s", chosen.error().message.c_str());
    return URMA_FAIL;
  }
  for (const DeviceChoice& each : *chosen) {
    auto device = std::make_unique<Device>();
    std::strncpy(device->api.name, each.name.c_str(), sizeof device->api.name - 1);
    device->api.type = URMA_TRANSPORT_UB;
    device->addresses = each.addresses;
    devices_.push_back(std::move(device));
  }
  // A program that has asked for nothing does without shared memory where the system forbids local sockets.
  if (text == nullptr) leave_out_shared_memory();
  const urma_status_t status = take_ports(uasid);
  if (status != URMA_SUCCESS) return status;
  if (!watches_forks_) {
    ::pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                     [] {
                       ShmMesh::after_fork_in_child();
                       get().forget_everything();
                     });
    watches_forks_ = true;
  }
  ready_ = true;
  return URMA_SUCCESS;
}

void Library::leave_out_shared_memory() {
  std::erase_if(devices_, [](const std::unique_ptr<Device>& device) {
    const std::uint32_t address = device->addresses.front();
    if (!is_shared_memory(address)) return false;
    Result<std::unique_ptr<DatagramPort>> trial = open_port(address, 0);
    // The name that was drawn may be taken.
    for (int attempt = 1; !trial && attempt < kTrials; ++attempt) trial = open_port(address, 0);
    if (!trial)
      log(URMA_VLOG_LEVEL_WARNING, "there is no device %s: %s", device->api.name,
          trial.error().message.c_str());
    return !trial;
  });
}

urma_status_t Library::uninit() {
  const std::lock_guard lock(mutex_);
  if (!ready_) return URMA_EINVAL;
  bool used = false;
  tables().contexts.for_each([&](Context&) { used = true; });
  if (used) return URMA_FAIL;
  interfaces_.clear();
  ports_.clear();
  devices_.clear();
  uasid_ = 0;
  ready_ = false;
  return URMA_SUCCESS;
}

Interface* Library::interface(std::uint32_t address) {
  const auto found = interfaces_.find(address);
  if (found != interfaces_.end()) return found->second.get();
  const auto bound = ports_.find(address);
  // One that an earlier attempt without memory lost is bound again.
  auto port = bound != ports_.end() ? Result<std::unique_ptr<DatagramPort>>(std::move(bound->second))
                                    : open_port(address, port_of(uasid_));
  if (bound != ports_.end()) ports_.erase(bound);
  if (!port) {
    log(URMA_VLOG_LEVEL_ERR, "%s", port.error().message.c_str());
    return nullptr;
  }
  auto made = Interface::open(*std::move(port), uasid_);
  if (!made) {
    log(URMA_VLOG_LEVEL_ERR, "%s", made.error().message.c_str());
    return nullptr;
  }
  return (interfaces_[address] = std::move(*made)).get();
}

/// What the child will walk through stands still: devices, ports, interfaces, and which objects there are.
void Library::before_fork() {
  mutex_.lock();
  tables().lock_for_fork();
  ShmMesh::before_fork();
}

void Library::after_fork_in_parent() {
  ShmMesh::after_fork_in_parent();
  tables().unlock_after_fork();
  mutex_.unlock();
}

// The parent goes on with its sockets and thread; the child has neither, and starts with urma_init(). What
// belonged to the parent is left where it is: a lock of it may be held by a thread that the child does not
// have.
void Library::forget_everything() {
  for (auto& [address, each] : interfaces_) each.release()->abandon();
  interfaces_.clear();
  ports_.clear();
  for (auto& device : devices_) static_cast<void>(device.release());
  devices_.clear();
  Tables& all = tables();
  // Descriptors of the parent's objects, which nobody here could close.
  all.contexts.each_forgotten([](const Context& each) { ::close(each.api.async_fd); });
  all.jfces.each_forgotten([](const Jfce& each) { ::close(each.api.fd); });
  all.notifiers.each_forgotten([](const Notifier& each) { ::close(each.api.fd); });
  all.contexts.forget();
  all.jfces.forget();
  all.jfcs.forget();
  all.jfss.forget();
  all.jfrs.forget();
  all.jettys.forget();
  all.groups.forget();
  all.targets.forget();
  all.token_ids.forget();
  all.segments.forget();
  all.notifiers.forget();
  new (&mutex_) std::mutex;
  ready_ = false;
  uasid_ = 0;
}

}  // namespace wharf::live::urma
