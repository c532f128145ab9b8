// SPDX-License-Identifier: Apache-2.0
// A Verilated module with its clock and reset. Apart so that no harness toggles a clock by hand.
#pragma once

#include <cstdint>
#include <memory>

#include "verilated.h"

namespace wharf::rtl {

/// Owns a model `Model` with the ports clk_i and rst_i. One cycle of a harness is: set inputs, settle(), look
/// at outputs and at what is handed over, tick().
template <typename Model>
class Clocked {
 public:
  /// Registers and memories without a reset hold anything at first.
  Clocked() {
    context_.randReset(2);
    context_.randSeed(1);
    model_ = std::make_unique<Model>(&context_);
  }
  ~Clocked() { model_->final(); }
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;

  Model* operator->() { return model_.get(); }
  Model& operator*() { return *model_; }

  /// Outputs follow inputs within the cycle.
  void settle() {
    model_->clk_i = 0;
    model_->eval();
  }
  /// The rising edge: registers take what settle() has shown.
  void tick() {
    model_->clk_i = 1;
    model_->eval();
    ++cycles_;
  }
  /// One cycle with the reset up.
  void reset() {
    model_->rst_i = 1;
    settle();
    tick();
    model_->rst_i = 0;
  }
  std::uint64_t cycles() const { return cycles_; }

 private:
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::uint64_t cycles_ = 0;
};

}  // namespace wharf::rtl
