// SPDX-License-Identifier: Apache-2.0
// The module that `wharf run` loads for hosts whose NIC is the hardware: the Verilated wharf_ub_nic_host
// behind engine/ub/hardware/nic_model.h.
#include <cstddef>
#include <memory>

#include "Vwharf_ub_nic_host.h"
#include "engine/ub/hardware/nic_model.h"
#include "verilated.h"

namespace wharf::hardware {
namespace {

/// The parameters of wharf_ub_nic_host.sv.
constexpr NicSizes kSizes{.jetties = 64,
                          .queue_depth = 64,
                          .receive_depth = 64,
                          .segments = 64,
                          .mtu = 4096,
                          .window = 64,
                          .responses = 64,
                          .completions = 4096};

template <typename Port, std::size_t Words>
void drive(Port& port, const std::array<std::uint32_t, Words>& words) {
  for (std::size_t i = 0; i < Words; ++i) port[i] = words[i];
}
template <typename Port, std::size_t Words>
void sample(const Port& port, std::array<std::uint32_t, Words>& words) {
  for (std::size_t i = 0; i < Words; ++i) words[i] = port[i];
}

class VerilatedNic final : public NicModel {
 public:
  /// Memories without a reset hold anything at first, the same in every run.
  VerilatedNic() {
    context_.randReset(2);
    context_.randSeed(1);
    model_ = std::make_unique<Vwharf_ub_nic_host>(&context_);
  }
  ~VerilatedNic() override { model_->final(); }

  void reset() override {
    model_->rst_i = 1;
    NicInputs inputs;
    NicOutputs outputs;
    settle(inputs, outputs);
    tick();
    model_->rst_i = 0;
  }

  void settle(const NicInputs& in, NicOutputs& out) override {
    Vwharf_ub_nic_host& nic = *model_;
    drive(nic.route_i, in.route);
    nic.ring_i = in.ring_line;
    nic.open_valid_i = in.open_valid;
    nic.open_value_i = in.open_value;
    nic.open_jetty_i = static_cast<std::uint8_t>(in.open_jetty);
    nic.open_token_i = in.open_token;
    nic.segment_valid_i = in.segment_valid;
    nic.segment_index_i = static_cast<std::uint8_t>(in.segment_index);
    drive(nic.segment_i, in.segment);
    nic.consumed_i = in.consumed;
    nic.doorbell_valid_i = in.doorbell_valid;
    nic.doorbell_jetty_i = in.doorbell_jetty;
    drive(nic.doorbell_i, in.doorbell);
    nic.post_valid_i = in.post_valid;
    nic.post_jetty_i = in.post_jetty;
    drive(nic.post_i, in.post);
    nic.tx_ready_i = in.tx_ready;
    nic.rx_valid_i = in.rx_valid;
    nic.rx_bytes_i = static_cast<std::uint8_t>(in.rx_bytes);
    nic.rx_last_i = in.rx_last;
    drive(nic.rx_data_i, in.rx_data);
    nic.memory_ready_i = in.memory_ready;
    nic.answer_valid_i = in.answer_valid;
    nic.answer_tag_i = in.answer_tag;
    drive(nic.answer_data_i, in.answer_data);
    nic.clk_i = 0;
    nic.eval();
    out.doorbell_ready = nic.doorbell_ready_o;
    out.doorbell_refused = nic.doorbell_refused_o;
    out.post_ready = nic.post_ready_o;
    out.post_refused = nic.post_refused_o;
    out.tx_valid = nic.tx_valid_o;
    out.tx_last = nic.tx_last_o;
    out.tx_bytes = nic.tx_bytes_o;
    out.memory_valid = nic.memory_valid_o;
    out.failed = nic.failed_o;
    out.counts_time = nic.counts_time_o;
    if (out.tx_valid) sample(nic.tx_data_o, out.tx_data);
    if (out.memory_valid) sample(nic.memory_o, out.memory);
    sample(nic.counters_o, out.counters);
  }

  void tick() override {
    model_->clk_i = 1;
    model_->eval();
  }

 private:
  VerilatedContext context_;
  std::unique_ptr<Vwharf_ub_nic_host> model_;
};

constexpr NicModule kModule{.version = kModelVersion,
                            .sizes = kSizes,
                            .make = []() -> NicModel* { return new VerilatedNic; },
                            .drop = [](NicModel* model) { delete model; }};

}  // namespace
}  // namespace wharf::hardware

extern "C" [[gnu::visibility("default")]] const wharf::hardware::NicModule* wharf_ub_nic_module() {
  return &wharf::hardware::kModule;
}
