// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/hardware_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "sim/scenario/scenario.h"

namespace wharf::sim {
namespace {

constexpr std::string_view kKey = "model.nic.implementation = \"rtl\"";

bool is_hardware(const HostSettings& host) { return host.host.nic.implementation == NicImplementation::kRtl; }

/// What the hardware of the protocol refuses by the keys of `host`; nothing else is wrong with them.
Result<void> check_settings(const HostSettings& host) {
  return visit_protocol(host.protocol(), [&]<typename P>(std::type_identity<P>) -> Result<void> {
    if constexpr (requires { typename P::Hardware; }) {
      const auto can = P::hardware_abilities(std::get<typename P::Settings>(host.protocols));
      if (!can) return can.error();
    }
    return {};
  });
}

bool has_hardware(wire::Protocol protocol) {
  return visit_protocol(protocol, [&]<typename P>(std::type_identity<P>) {
    return requires { typename P::Hardware; };
  });
}

/// The stacks that have hardware, as a sentence lists them.
std::string stacks_text() {
  std::string text;
  for (const StackTraits& stack : kStackTraits) {
    if (stack.load_store || !has_hardware(stack.protocol)) continue;
    text += fmt::format("{}\"{}\"", text.empty() ? "" : " or ", stack.name);
  }
  return text;
}

}  // namespace

HardwareSupport hardware_support() {
  HardwareSupport support;
  for (const StackTraits& stack : kStackTraits) {
    if (stack.load_store || !has_hardware(stack.protocol)) continue;
    visit_protocol(stack.protocol, [&]<typename P>(std::type_identity<P>) {
      if constexpr (requires { typename P::Hardware; }) {
        const std::string file = P::hardware_file();
        const auto can = P::hardware_abilities(typename P::Settings{});
        support.works = can.ok();
        std::error_code status;
        const std::string name = file.substr(file.rfind('/') + 1);
        if (can) {
          support.sentence = fmt::format("hosts of simulations can have the NIC of rtl/ ({})", name);
        } else if (std::filesystem::exists(file, status)) {
          support.sentence = can.error().message;
        } else {
          support.sentence = fmt::format("no {}: ./dev rtl nic builds {}", kKey, name);
        }
      }
    });
  }
  return support;
}

bool has_hardware_nic(const ScenarioConfig& config) {
  if (is_hardware(config)) return true;
  return std::any_of(config.groups.begin(), config.groups.end(),
                     [](const HostGroupSettings& group) { return is_hardware(group.settings); });
}

Result<void> check_hardware(const ConfigDocument& document, const HostSettings& host) {
  if (!is_hardware(host)) return {};
  if (traits(host.stack).load_store || !has_hardware(host.protocol()))
    return input_error(fmt::format("stack is \"{}\", expected {} with {}: rtl/ has no other NIC",
                                   name(host.stack), stacks_text(), kKey));
  if (host.nics.count > 1)
    return input_error(fmt::format("nics is {}, expected 1 with {}: the hardware has one channel to its peer",
                                   host.nics.count, kKey));
  if (host.submission != SubmissionPath::kBusStore)
    return input_error(
        fmt::format("submission is no store on the bus, expected \"bus_store\" with {}: the hardware "
                    "takes a whole request in its doorbell",
                    kKey));
  if (host.host.nic.rtl_cycle <= kTimeZero)
    return input_error(
        fmt::format("nic.rtl_cycle is {}, expected a time above 0", format_time(host.host.nic.rtl_cycle)));
  // Its default is the engine's, which goes back, too, where its peer does.
  for (const auto& [key, value] : document.values()) {
    if (key.starts_with("model.") && key.ends_with(".recovery") && value.layer >= kScenarioLayer &&
        value.text.find("selective") != std::string::npos)
      return input_error(
          fmt::format("{} is \"selective\", expected \"go_back_n\" with {}: the hardware has "
                      "nothing else",
                      key, kKey));
  }
  return check_settings(host);
}

Result<void> check_hardware_world(const ScenarioConfig& config,
                                  const std::vector<const HostSettings*>& by_host) {
  bool any = false;
  for (const HostSettings* host : by_host) any = any || is_hardware(host != nullptr ? *host : config);
  if (!any) return {};
  if (by_host.size() != 2)
    return input_error(
        fmt::format("nic.implementation is \"rtl\" in a world of {} hosts, expected two hosts: the "
                    "hardware has one channel, to one peer",
                    by_host.size()));
  for (const HostSettings* each : by_host) {
    const HostSettings& host = each != nullptr ? *each : config;
    // The peer of the hardware speaks as it does: one that is an engine can do more, and must not.
    WHARF_TRY(check_settings(host));
    if (traits(host.stack).load_store)
      return input_error(fmt::format("stack is \"{}\", expected {} for both hosts where one has {}",
                                     name(host.stack), stacks_text(), kKey));
  }
  return {};
}

}  // namespace wharf::sim
