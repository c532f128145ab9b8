// SPDX-License-Identifier: Apache-2.0
// What a process has once: its UASID, its devices, and an interface for each address that it uses.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "live/urma/objects.h"

namespace wharf::live::urma {

/// Limits that the device attributes tell, and that calls keep.
inline constexpr std::uint32_t kJfcDepthMost = 65536;
inline constexpr std::uint32_t kQueueDepthMost = 32768;
inline constexpr std::uint32_t kInlineMost = 4096;
inline constexpr std::uint32_t kSendMost = 65536;
inline constexpr std::uint32_t kMessageMost = 1U << 31U;
inline constexpr std::uint32_t kGroupMembersMost = 32;

/// One device as WHARF_URMA_DEVICES names it.
struct DeviceChoice {
  std::string name;
  std::vector<std::uint32_t> addresses;
};

/// Reads "NAME=ADDRESS[+ADDRESS...]", "ADDRESS", the name of a network interface or "shm[:PLACE]", separated
/// by commas. Without a name a device is called ub_ and the name of its interface, ub_shm or ub_shm_PLACE.
Result<std::vector<DeviceChoice>> parse_devices(std::string_view text);

class Library {
 public:
  static Library& get();

  urma_status_t init(std::uint32_t uasid);
  urma_status_t uninit();

  bool ready() const { return ready_; }
  std::uint32_t uasid() const { return uasid_; }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  /// The device at `address`, or null.
  Device* find(const void* address) const;
  /// The interface of one of our addresses; null when it cannot be had.
  Interface* interface(std::uint32_t address);
  std::mutex& mutex() { return mutex_; }

 private:
  urma_status_t start(std::uint32_t uasid);
  void leave_out_shared_memory();  ///< If the system gives none.
  urma_status_t take_ports(std::uint32_t uasid);
  void before_fork();
  void after_fork_in_parent();
  void forget_everything();  ///< In the child of a fork.

  std::mutex mutex_;
  bool ready_ = false;
  bool watches_forks_ = false;
  std::uint32_t uasid_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::map<std::uint32_t, std::unique_ptr<DatagramPort>> ports_;  ///< Bound, and not yet used.
  std::map<std::uint32_t, std::unique_ptr<Interface>> interfaces_;
};

/// The provider's table that urma_context_t::ops points to.
urma_ops_t& provider_ops();
/// What a device can do.
void fill(const Device& device, urma_device_attr_t& out);

/// Writes a line for the program's log function, if its level is wanted.
[[gnu::format(printf, 2, 3)]] void log(urma_vlog_level_t level, const char* format, ...);

}  // namespace wharf::live::urma
