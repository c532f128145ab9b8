// SPDX-License-Identifier: Apache-2.0
// A host with an inside (cores, caches, memory, bus or PCIe, NIC), as it stands at a port of a fabric. It has
// an event loop of its own, so that it can be brought forward a whole turn while its state is in the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "sim/fabric/packet_host.h"
#include "sim/host/core/operation_log.h"
#include "sim/host/core/run_records.h"
#include "sim/host/host.h"
#include "sim/host/nic/network_port.h"
#include "sim/kernel/simulation.h"
#include "sim/world/nic_map.h"
#include "sim/world/world_endpoint.h"
#include "trace/tracer.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// How the programs of a world end.
struct ProgramEnd {
  /// Of worlds that stop at the very event with which the last program ends: their hosts are brought forward
  /// by one thread and share the tally.
  ProgramTally* shared = nullptr;
  bool* halted = nullptr;  ///< Set then.
};

/// The link behind a NIC's port, or the links behind its ports, which are alike.
class HostLink final : public LinkPace {
 public:
  /// `nics`: of a world where hosts have several, else null.
  HostLink(BitsPerSecond rate, const PacketCharge& charge, bool steady, std::uint32_t ports,
           const NicMap* nics = nullptr)
      : rate_(rate), charge_(charge), steady_(steady && ports == 1), ports_(ports), nics_(nics) {}

  TimePs sending_time(const wire::Packet& packet) const override {
    return picoseconds(
        static_cast<std::int64_t>(serialisation_ps(charged_bytes(packet, charge_), rate_.value)));
  }
  BitsPerSecond rate() const override { return rate_; }
  /// Nothing but the host's packets occupies it, and nothing holds it: no flow control, no change, no retry;
  /// and there is one.
  bool steady() const { return steady_; }
  std::uint32_t ports() const override { return ports_; }
  /// As bonded interfaces choose: by addresses and by what spreads packets over paths (the packet's entropy).
  /// Where the target has several NICs, a port that leads straight to the one of the packet.
  std::uint32_t port_of(const wire::Packet& packet) const override;

 private:
  BitsPerSecond rate_;
  PacketCharge charge_;
  bool steady_;
  std::uint32_t ports_;
  const NicMap* nics_;
};

/// What a full host is given; all of it outlives the host.
struct FullHostParts {
  std::uint32_t number = 0;
  PacketContext& context;
  std::uint64_t seed = 1;
  bool attribution = true;
  std::size_t record_limit = 100'000;
  std::size_t record_reserve = 0;
  ProgramEnd end;
  std::vector<HostLink> links;   ///< By NIC.
  const NicMap* nics = nullptr;  ///< Of a world where hosts have several.
  std::uint32_t cores = 1;
};

class FullHost final : public WorldEndpoint {
 public:
  static Result<std::unique_ptr<FullHost>> create(const HostConfig& config, const FullHostParts& parts);

  Host& host() { return *host_; }
  Simulation& simulation() { return simulation_; }
  trace::Tracer& tracer() { return tracer_; }
  RunRecords& records() { return records_; }
  OperationLog& log() { return log_; }
  wire::PayloadPool& payloads() { return context_.payloads; }
  Arena& arena() { return arena_; }

  /// After the NICs have been put in: connects each with its port.
  Result<void> attach();

  std::uint64_t events_executed() const { return simulation_.events_executed(); }
  std::uint64_t fingerprint() const { return simulation_.fingerprint(); }
  TimePs now() const { return simulation_.now(); }
  /// Its last program has ended the run.
  bool halted() const { return halted_; }
  /// When the last of its programs ended that has.
  TimePs ended_at() const { return ended_at_; }

  /// Programs that have not ended.
  std::size_t programs_running() const { return host_->programs_running(); }
  /// Before a run: counts the host among those whose programs are waited for.
  bool begin_run();

  // WorldEndpoint.
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed,
                wire::Packet& packet) override;
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) override;
  void expire(TimePs now) override;
  void refresh() override { note_deadline(); }
  /// A link that may be held is asked in the order of time: the host does not run ahead of it.
  void allow(TimePs until) override { allowed_ = steady_ ? until : kTimeZero; }
  void add_foreign(const trace::ForeignSpan& span) override { records_.add_foreign(span); }
  void close_accounts() override { records_.close(); }

  /// Who waits for what, one line each.
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  explicit FullHost(const FullHostParts& parts);
  void note_deadline() {
    deadline_ = halted_ ? kNever : simulation_.next_time();
    if (halted_) return;
    for (const std::unique_ptr<NetworkPort>& port : ports_) deadline_ = min(deadline_, port->ready_at());
  }
  void note_programs();

  PacketContext& context_;
  std::uint32_t number_;
  std::uint64_t seed_;
  ProgramEnd end_;
  std::vector<HostLink> links_;
  const NicMap* nics_;
  bool steady_;  ///< All links are.
  std::uint32_t cores_;
  Simulation simulation_;
  trace::Tracer tracer_;
  OperationLog log_;
  RunRecords records_;
  ProgramTally own_tally_;
  Arena arena_;
  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<NetworkPort>> ports_;  ///< By NIC.
  TimePs allowed_;                                   ///< Nothing arrives before.
  TimePs ended_at_;
  bool waited_for_ = false;
  bool halted_ = false;
};

}  // namespace wharf::sim
