// SPDX-License-Identifier: Apache-2.0
// The ports of the hardware NIC (rtl/ub_nic/README.md) as C++ values, and what a loadable module that holds
// one shows. Apart so that neither side includes the other: the program needs no Verilator, the module no
// engine.
#pragma once

#include <array>
#include <cstdint>

namespace wharf::hardware {

/// Of this file: a module that was built against another one is refused.
inline constexpr std::uint32_t kModelVersion = 1;

/// The parameters that the module was built with.
struct NicSizes {
  std::uint32_t jetties = 0, queue_depth = 0, receive_depth = 0, segments = 0;
  std::uint32_t mtu = 0, window = 0, responses = 0, completions = 0;
};

/// Wide ports are words, the lowest first; wharf_pkg.sv says what their bits are.
struct NicInputs {
  std::array<std::uint32_t, 7> route{};
  std::uint64_t ring_line = 0;
  bool open_valid = false, open_value = false, segment_valid = false, consumed = false;
  std::uint32_t open_jetty = 0, open_token = 0, segment_index = 0;
  std::array<std::uint32_t, 5> segment{};
  bool doorbell_valid = false, post_valid = false;
  std::uint32_t doorbell_jetty = 0, post_jetty = 0;
  std::array<std::uint32_t, 15> doorbell{};
  std::array<std::uint32_t, 4> post{};
  bool tx_ready = false, rx_valid = false, rx_last = false;
  std::uint32_t rx_bytes = 0;
  std::array<std::uint32_t, 16> rx_data{};
  bool memory_ready = false, answer_valid = false, answer_tag = false;
  std::array<std::uint32_t, 16> answer_data{};
};

struct NicOutputs {
  bool doorbell_ready = false, doorbell_refused = false, post_ready = false, post_refused = false;
  bool tx_valid = false, tx_last = false, memory_valid = false, failed = false;
  /// Something inside waits for nothing but time: packets for their time-out, or requests until the peer may
  /// be ready.
  bool counts_time = false;
  std::uint32_t tx_bytes = 0;
  std::array<std::uint32_t, 16> tx_data{};
  std::array<std::uint32_t, 20> memory{};
  std::array<std::uint32_t, 17> counters{};  ///< nic_counters_t, its last field first.
};

/// One NIC. A cycle is settle(), which shows outputs for these inputs, then tick(), the rising edge.
class NicModel {
 public:
  NicModel() = default;
  NicModel(const NicModel&) = delete;
  NicModel& operator=(const NicModel&) = delete;
  virtual ~NicModel() = default;
  /// One cycle with the reset up.
  virtual void reset() = 0;
  virtual void settle(const NicInputs& inputs, NicOutputs& outputs) = 0;
  virtual void tick() = 0;
};

/// What a module shows: the function kModuleEntry, `const NicModule* ()`.
struct NicModule {
  std::uint32_t version = 0;
  NicSizes sizes;
  NicModel* (*make)() = nullptr;
  void (*drop)(NicModel*) = nullptr;
};
inline constexpr const char* kModuleEntry = "wharf_ub_nic_module";

}  // namespace wharf::hardware
