// SPDX-License-Identifier: Apache-2.0
// The closed set of controllers as one type: what a protocol keeps per channel when a configuration chooses
// the controller. One dispatch per call, no heap. A new controller adds itself to the two lists here.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/caqm.h"
#include "engine/congestion/constant_window.h"
#include "engine/congestion/controller.h"
#include "engine/congestion/dcqcn.h"
#include "engine/congestion/nscc.h"
#include "engine/congestion/swift.h"

namespace wharf::congestion {

/// Chooses a controller and its parameters.
using ControllerConfig =
    std::variant<ConstantWindowConfig, DcqcnConfig, CaqmConfig, LdcpConfig, SwiftConfig, NsccConfig>;

class AnyController {
 public:
  /// Refuses what the chosen controller's check() refuses; the sentence names the key, not its place. The
  /// controller may refer to `config`, which outlives it at the same address.
  static Result<AnyController> create(const ControllerConfig& config) {
    return std::visit(
        [](const auto& chosen) -> Result<AnyController> {
          WHARF_TRY(check(chosen));
          return AnyController(make(chosen));
        },
        config);
  }
  static Result<AnyController> create(ControllerConfig&&) = delete;

  PacketRequest on_send(TimePs now, const Departure& departure) {
    return std::visit([&](auto& controller) { return controller.on_send(now, departure); }, controller_);
  }
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement) {
    std::visit([&](auto& controller) { controller.on_acknowledgement(now, acknowledgement); }, controller_);
  }
  void on_loss(TimePs now, const Loss& loss) {
    std::visit([&](auto& controller) { controller.on_loss(now, loss); }, controller_);
  }
  void expire(TimePs now) {
    std::visit([&](auto& controller) { controller.expire(now); }, controller_);
  }

  bool permits(std::uint64_t window_bytes) const {
    return std::visit([&](const auto& controller) { return controller.permits(window_bytes); }, controller_);
  }
  /// The most window bytes of a packet that permits() lets leave: what it says of all sizes until the next
  /// input. Negative: not even a packet that counts nothing.
  std::int64_t room() const {
    return std::visit([](const auto& controller) { return controller.room(); }, controller_);
  }
  /// on_send(), and room() after it. Quick for what most runs choose: no table of calls.
  [[gnu::always_inline]] PacketRequest on_send(TimePs now, const Departure& departure, std::int64_t& room) {
    if (auto* constant = std::get_if<ConstantWindow>(&controller_)) {
      const PacketRequest request = constant->on_send(now, departure);
      room = constant->room();
      return request;
    }
    if (auto* nscc = std::get_if<NsccSender>(&controller_)) {
      const PacketRequest request = nscc->on_send(now, departure);
      room = nscc->room();
      return request;
    }
    const PacketRequest request = on_send(now, departure);
    room = this->room();
    return request;
  }
  TimePs next_send() const {
    return std::visit([](const auto& controller) { return controller.next_send(); }, controller_);
  }
  TimePs deadline() const {
    return std::visit([](const auto& controller) { return controller.deadline(); }, controller_);
  }

  /// Window in bytes, for traces; the largest number for controllers without one.
  std::uint64_t window() const {
    return std::visit(
        [](const auto& controller) -> std::uint64_t {
          if constexpr (requires { controller.window(); }) {
            return controller.window();
          } else {
            return std::numeric_limits<std::uint64_t>::max();
          }
        },
        controller_);
  }

  /// The chosen controller as itself, for observers that know it; null when another was chosen.
  template <typename C>
  const C* as() const {
    return std::get_if<C>(&controller_);
  }

 private:
  using Alternatives =
      std::variant<ConstantWindow, DcqcnSender, CaqmSender, LdcpSender, SwiftSender, NsccSender>;
  static_assert(std::variant_size_v<Alternatives> == std::variant_size_v<ControllerConfig>);

  static ConstantWindow make(const ConstantWindowConfig& config) { return ConstantWindow(config); }
  static DcqcnSender make(const DcqcnConfig& config) { return DcqcnSender(config); }
  static CaqmSender make(const CaqmConfig& config) { return CaqmSender(config); }
  static LdcpSender make(const LdcpConfig& config) { return LdcpSender(config); }
  static SwiftSender make(const SwiftConfig& config) { return SwiftSender(config); }
  static NsccSender make(const NsccConfig& config) { return NsccSender(config); }

  explicit AnyController(Alternatives controller) : controller_(std::move(controller)) {}

  Alternatives controller_;
};
static_assert(Controller<AnyController>);
static_assert(std::is_trivially_copyable_v<AnyController>, "it lives in channel records");

}  // namespace wharf::congestion
