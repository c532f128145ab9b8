// SPDX-License-Identifier: Apache-2.0
// What stands at a port of a world: a full host, or a thin endpoint that makes traffic. One virtual call per
// packet and turn; the fabric is compiled once for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/time.h"
#include "sim/world/nic_map.h"
#include "trace/attribution.h"
#include "wire/packet.h"

namespace wharf::sim {

class WorldEndpoint {
 public:
  WorldEndpoint() = default;
  WorldEndpoint(const WorldEndpoint&) = delete;
  WorldEndpoint& operator=(const WorldEndpoint&) = delete;
  virtual ~WorldEndpoint() = default;

  // As FabricHost and PacketEndpoint have them.
  virtual bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed,
                        wire::Packet& packet) = 0;
  virtual void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) = 0;
  virtual void expire(TimePs now) = 0;
  virtual void refresh() {}
  virtual void sample(TimePs now) { (void)now; }
  virtual void allow(TimePs until) { (void)until; }
  virtual void add_foreign(const trace::ForeignSpan& span) { (void)span; }
  virtual void close_accounts() {}

  TimePs deadline() const { return deadline_; }
  /// When the last byte of the packet that transmit() gave last is there.
  TimePs whole_at() const { return whole_at_; }

 protected:
  TimePs deadline_ = kNever;
  TimePs whole_at_;
};

/// Owns one; satisfies PacketEndpoint.
class WorldEndpointHandle {
 public:
  /// `nics`: of a world where hosts have several, else null.
  WorldEndpointHandle(std::unique_ptr<WorldEndpoint> endpoint, const NicMap* nics)
      : endpoint_(std::move(endpoint)), nics_(nics) {}

  /// Where `packet` goes, which leaves by `port`: host, and port there.
  std::uint32_t host_of(const wire::Packet& packet) const {
    const std::uint32_t address = packet.destination.number;
    return nics_ == nullptr ? address : nics_->host_of(address);
  }
  std::uint32_t arrival_port(const wire::Packet& packet, std::uint32_t port) const {
    return nics_ == nullptr ? port : nics_->arrival_port(packet, port);
  }

  WorldEndpoint& operator*() { return *endpoint_; }

  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& packet) {
    return endpoint_->transmit(now, port, allowed, packet);
  }
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) {
    endpoint_->receive(now, port, packet);
  }
  void expire(TimePs now) { endpoint_->expire(now); }
  void refresh() { endpoint_->refresh(); }
  void sample(TimePs now) { endpoint_->sample(now); }
  void allow(TimePs until) { endpoint_->allow(until); }
  void add_foreign(const trace::ForeignSpan& span) { endpoint_->add_foreign(span); }
  void close_accounts() { endpoint_->close_accounts(); }
  TimePs deadline() const { return endpoint_->deadline(); }
  TimePs whole_at() const { return endpoint_->whole_at(); }

 private:
  std::unique_ptr<WorldEndpoint> endpoint_;
  const NicMap* nics_;
};

}  // namespace wharf::sim
