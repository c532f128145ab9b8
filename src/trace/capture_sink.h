// SPDX-License-Identifier: Apache-2.0
// Writes the packets that pass chosen ports into a pcapng capture, as a network analyser at those ports
// would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/tracer.h"
#include "wire/frame.h"
#include "wire/pcapng_writer.h"

namespace wharf::trace {

class CaptureSink : public Sink {
 public:
  /// What a port shows: what leaves it and what arrives at it. Hand this to Tracer::attach().
  static constexpr std::uint32_t kMask = bit(EventKind::kPacketSent) | bit(EventKind::kPacketReceived);

  explicit CaptureSink(wire::PcapngWriter writer, wire::WireOptions options = {})
      : writer_(std::move(writer)), options_(options) {}

  /// Captures the packet events of `component` at `host` under `name`. Each port is added once, before the
  /// run.
  void add_port(std::uint32_t host, std::uint32_t component, std::string name);
  /// Captures the packet events of `component` at every host, under the host's name and `suffix`. Called
  /// once, before the run.
  void add_every_host(std::uint32_t component, std::string suffix) {
    everywhere_ = {component, std::move(suffix)};
  }

  void record(const TraceEvent& event) override;

  /// Ends the file; an Error of kind kEnvironment when it could not be written. Called once, last.
  Result<void> close() { return writer_.close(); }

  std::uint64_t frames() const { return writer_.frames(); }
  /// Trimmed packets, which no frame format can express.
  std::uint64_t left_out() const { return left_out_; }

 private:
  /// A port has an interface for each kind of link that its packets are for, described when the first one
  /// passes.
  struct Port {
    std::string name;
    std::vector<std::pair<wire::LinkType, wire::CaptureInterface>> interfaces;
  };
  struct EveryHost {
    std::uint32_t component = 0;
    std::string suffix;
  };
  /// Null: nobody wants what the component shows.
  Port* find(std::uint32_t host, std::uint32_t component);
  wire::CaptureInterface interface_of(Port& port, wire::LinkType link);

  wire::PcapngWriter writer_;
  wire::WireOptions options_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Port> ports_;  ///< By host and component.
  std::optional<EveryHost> everywhere_;
  std::vector<std::byte> frame_;  // Its capacity is kept from packet to packet.
  std::uint64_t left_out_ = 0;
};

}  // namespace wharf::trace
