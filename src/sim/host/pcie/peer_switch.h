// SPDX-License-Identifier: Apache-2.0
// A switch between the ports of one device and two destinations, the host and a peer device: with one queue
// for both, in which a slow destination holds up the other, or with a queue for each (virtual output queues).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "sim/host/config/coherent_config.h"
#include "sim/host/pcie/device_link.h"
#include "sim/host/pcie/request_sink.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// From when on a peer device is busy with a request.
enum class PeerBusyFrom : std::uint8_t {
  kArrival,    ///< From its arrival: the next one waits at the door.
  kDeparture,  ///< From its departure at the switch: nothing is sent to a device that has not answered.
};

/// A device that serves reads of its own memory, one at a time: what it reads is zero.
class PeerDevice final : public Component, public RequestSink {
 public:
  /// Adds itself to the simulation.
  PeerDevice(Simulation& simulation, const IoLinkConfig& link, TimePs service, PeerBusyFrom busy_from,
             std::string name);

  void connect(IoDevice& device) override { device_ = &device; }
  bool can_submit(ordering::Kind kind) override;
  void submit(TimePs now, const ordering::Request& request) override;
  TimePs link_free() const override { return link_.up_free(); }
  void handle(const Event& event) override;

 private:
  enum EventKind : std::uint16_t { kFree, kAnswer };

  Simulation& simulation_;
  TimePs service_;
  PeerBusyFrom busy_from_;
  DeviceLink link_;
  IoDevice* device_ = nullptr;
  SlotPool<ordering::Response> responses_;
  TimePs free_from_;
  bool busy_ = false;
  bool refused_ = false;
};

struct PeerSwitchConfig {
  bool virtual_output_queues = true;
  std::uint32_t entries = 32;  ///< Of the shared queue, or of each queue.
};

/// The switch. A request that can go on at once does; others queue. A port whose request finds no place is
/// told when there is one, ports in turn.
class PeerSwitch final : public Component, public IoDevice {
 public:
  /// Adds itself to the simulation. `destinations` outlive it.
  PeerSwitch(Simulation& simulation, const PeerSwitchConfig& config, std::vector<RequestSink*> destinations,
             std::string name);

  /// A port of the device whose requests all go to one destination. Lives as long as the switch.
  RequestSink& add_port(std::uint32_t destination);

  void answered(TimePs now, const ordering::Response& response) override;
  void credits_back(TimePs now) override { forward(now); }
  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  class Port final : public RequestSink {
   public:
    Port(PeerSwitch& owner, std::uint32_t number, std::uint32_t destination)
        : owner_(owner), number_(number), destination_(destination) {}
    void connect(IoDevice& device) override { device_ = &device; }
    bool can_submit(ordering::Kind) override { return owner_.has_place(number_, destination_); }
    void submit(TimePs now, const ordering::Request& request) override {
      owner_.enter(now, number_, destination_, request);
    }
    TimePs link_free() const override { return kTimeZero; }

   private:
    friend class PeerSwitch;
    PeerSwitch& owner_;
    std::uint32_t number_;
    std::uint32_t destination_;
    IoDevice* device_ = nullptr;
    bool refused_ = false;
  };
  struct Waiting {
    std::uint32_t destination = 0;
    ordering::Request request;
  };

  bool has_place(std::uint32_t port, std::uint32_t destination);
  void enter(TimePs now, std::uint32_t port, std::uint32_t destination, const ordering::Request& request);
  void forward(TimePs now);
  bool forward_one(TimePs now, Ring<Waiting>& queue);
  void wake_at(TimePs at);
  void tell_one(TimePs now);

  Simulation& simulation_;
  PeerSwitchConfig config_;
  std::vector<RequestSink*> destinations_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<Ring<Waiting>> queues_;  ///< One, or one per destination.
  std::uint32_t next_told_ = 0;
  TimePs wake_ = kNever;
  bool forwarding_ = false;
};

}  // namespace wharf::sim
