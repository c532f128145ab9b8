// SPDX-License-Identifier: Apache-2.0
// The way of MMIO operations from the cores to a device, without time: write-combining buffers, numbers, the
// reorder buffer, the link, and the device's registers. Apart from the world, whose host threads feed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/write_combining.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

/// One device and its registers. What leaves a core reaches the root complex at once, because when it leaves
/// is a choice already. Below the root complex writes stay in order (mmio_today, rob_root_complex) or pass
/// each other, but for uncached stores (mmio_unordered, rob_device); a load passes no write anywhere. Without
/// numbers, MMIO-Store and MMIO-Release are stores to write-combining memory, and a load makes its core wait.
/// Choice: credits come back at once; late ones only delay.
class LitmusMmioPath {
 public:
  LitmusMmioPath(const LitmusProgram& program, LitmusDesign design, std::uint32_t threads);

  // A core's side; `thread` counts host threads.
  /// The MMIO instruction `operation` could do something now.
  bool may_execute(const LitmusOperation& operation, const LitmusVariable& variable, std::uint32_t thread,
                   bool host_stores_drained) const;
  enum class Executed : std::uint8_t {
    kDone,
    kWaits,  ///< The core waits for the value.
    kAgain,  ///< Stores had to be sent off first; it is executed again when they have left.
  };
  Executed execute(const LitmusOperation& operation, const LitmusVariable& variable, std::uint32_t thread,
                   bool host_stores_drained, std::uint32_t tag);
  /// A fence or locked instruction could do something now.
  bool may_fence(std::uint32_t thread, const ordering::FenceSet& predecessors,
                 const ordering::FenceSet& successors) const {
    return (predecessors.device_output && combining_[thread].open_lines() > 0) ||
           is_fenced(thread, predecessors, successors);
  }
  /// What the sets ask for has happened, and the fence is behind `thread`: as far as they do, its loads have
  /// their values, its stores have left the core, and those with numbers, if memory comes behind the fence,
  /// the reorder buffer. If not, sends off what is combined.
  bool fence(std::uint32_t thread, const ordering::FenceSet& predecessors,
             const ordering::FenceSet& successors);
  /// The core has the value of a load.
  void loaded(std::uint32_t thread) { --loads_[thread]; }

  // Choices, counted from 0.
  std::uint32_t open_lines(std::uint32_t thread) const { return combining_[thread].open_lines(); }
  void close(std::uint32_t thread, std::uint32_t choice) { combining_[thread].close(choice); }
  std::uint32_t leaving(std::uint32_t thread) const { return combining_[thread].leaving_choices(); }
  bool may_leave(std::uint32_t thread, std::uint32_t choice) const;
  void leave(std::uint32_t thread, std::uint32_t choice);
  /// Operations on the link to the device, and loads on their way to the root complex.
  std::uint32_t moving() const { return static_cast<std::uint32_t>(moving_.size()); }
  bool may_move(std::uint32_t choice) const;
  /// The device that has a store now.
  std::optional<std::uint8_t> move(std::uint32_t choice);
  std::string describe_moving(std::uint32_t choice) const;

  /// An answered load.
  struct Answer {
    std::uint32_t thread = 0;
    std::uint32_t tag = 0;
    std::uint64_t value = 0;
    std::uint8_t device = 0;  ///< Which answers.
  };
  bool next_answer(Answer& out);

  /// Posted writes on the link to `device`, which keep their order there.
  std::uint32_t ordered_writes(std::uint8_t device) const;
  /// An uncached store of `thread` has not left its core: x86 lets no later store be seen before it ("Intel
  /// 64 and IA-32 Architectures Software Developer's Manual", volume 3A, 12.3 and 9.2.2).
  bool holds_stores(std::uint32_t thread) const { return combining_[thread].uncached_waiting() > 0; }

  // The device's own side.
  std::uint64_t word(std::uint64_t address) const;
  void set_word(std::uint64_t address, std::uint64_t value);

  bool is_finished() const;
  /// What the reorder buffer refused, or empty.
  const std::string& failure() const { return failure_; }
  void who_waits(std::vector<std::string>& lines) const;
  void append_state(std::vector<std::byte>& state) const;

 private:
  /// An operation on its way.
  struct Moving {
    bool at_root = false;  ///< Below the root complex.
    ordering::MmioOperation operation;
  };

  /// A load that has left its core and not reached its register.
  struct Loading {
    std::uint32_t thread = 0;
    std::uint32_t device = 0;
    std::uint64_t address = 0;
    bool operator==(const Loading&) const = default;
  };

  bool is_fenced(std::uint32_t thread, const ordering::FenceSet& predecessors,
                 const ordering::FenceSet& successors) const;
  ordering::MmioKind kind_of(const LitmusOperation& operation) const;
  bool keeps_writes_in_order() const {
    return design_ == LitmusDesign::kMmioToday || design_ == LitmusDesign::kRobRootComplex;
  }
  void at_root_complex(const ordering::MmioOperation& operation);
  bool is_held(const Moving& moving) const;
  bool has_room(const ordering::MmioOperation& operation) const;
  void into_buffer(const ordering::MmioOperation& operation);
  void at_device(const ordering::MmioOperation& operation);

  LitmusDesign design_;
  std::vector<ordering::WriteCombining> combining_;  ///< By host thread.
  std::vector<std::uint32_t> loads_;                 ///< Without a value, by host thread.
  std::vector<Loading> loading_;                     ///< What the device has not been asked for yet.
  std::optional<ordering::MmioSequencer> sequencer_;
  std::optional<ordering::MmioRob> rob_;
  std::vector<Moving> moving_;  ///< In the order in which they were sent.
  std::vector<Answer> answers_;
  std::vector<std::uint64_t> words_;  ///< The device's window.
  ordering::MmioNumbering numbering_;
  std::string failure_;
};

}  // namespace wharf::sim
