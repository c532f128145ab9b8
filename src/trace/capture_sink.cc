// SPDX-License-Identifier: Apache-2.0
#include "trace/capture_sink.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "wire/protocol_traits.h"

namespace wharf::trace {

void CaptureSink::add_port(std::uint32_t host, std::uint32_t component, std::string name) {
  const bool fresh = ports_.try_emplace({host, component}, Port{std::move(name), {}}).second;
  WHARF_CHECK(fresh);
}

CaptureSink::Port* CaptureSink::find(std::uint32_t host, std::uint32_t component) {
  const auto known = ports_.find({host, component});
  if (known != ports_.end()) return &known->second;
  if (!everywhere_ || component != everywhere_->component) return nullptr;
  add_port(host, component, fmt::format("host{}{}", host, everywhere_->suffix));
  return &ports_.at({host, component});
}

wire::CaptureInterface CaptureSink::interface_of(Port& port, wire::LinkType link) {
  for (const auto& [known, interface] : port.interfaces) {
    if (known == link) return interface;
  }
  const wire::CaptureInterface interface = writer_.add_interface(port.name, link);
  port.interfaces.emplace_back(link, interface);
  return interface;
}

void CaptureSink::record(const TraceEvent& event) {
  if (event.packet == nullptr) return;
  Port* port = find(event.host, event.component);
  if (port == nullptr) return;
  // Not every protocol can say on the wire that a packet was trimmed.
  if (event.packet->trim != wire::TrimState::kWhole && !wire::tells_trims(event.packet->protocol)) {
    ++left_out_;
    return;
  }
  frame_.resize(wire::encoded_bytes(*event.packet, options_));
  frame_.resize(wire::encode(*event.packet, frame_, options_));
  writer_.write(interface_of(*port, wire::link_type(*event.packet)), event.begin, frame_);
}

}  // namespace wharf::trace
