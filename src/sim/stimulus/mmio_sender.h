// SPDX-License-Identifier: Apache-2.0
// A core that stores message after message to a device, as fast as its path takes them: what the studies of
// MMIO run. They differ in what they make of what arrives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/ordering/mmio_operation.h"
#include "sim/host/pcie/mmio_path.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// What is stored.
struct MmioMessages {
  wharf::ordering::MmioKind kind = wharf::ordering::MmioKind::kWriteCombiningStore;
  std::uint64_t bytes = 0;            ///< In all.
  std::uint64_t window = 256 << 10U;  ///< Addresses wrap.
  std::uint32_t piece = 64;           ///< Bytes of a store, which divide `message`; at most a line.
  std::uint32_t message = 64;         ///< Bytes.
  bool is_fenced = false;             ///< A fence behind each message.
  bool ends_with_release = false;     ///< Its last piece is an MMIO-Release.
};

/// `mmio_arrived` is the study's. The first piece is stored `step` after the start, `step` being what storing
/// one takes; behind a fence the instruction itself comes first.
class MmioSender : public Component, public MmioClient {
 public:
  /// Adds itself to the simulation.
  MmioSender(Simulation& simulation, MmioPath& path, const MmioMessages& messages, TimePs step, TimePs fence)
      : simulation_(simulation), path_(path), messages_(messages), step_(step), fence_(fence) {
    simulation.add(*this, "core");
    path.connect(*this);
    wake(simulation.now() + step);
  }

  void handle(const Event& event) override {
    awake_ = false;
    store_next(event.time);
  }
  void mmio_ready(TimePs now) override {
    // A store that was refused is tried at once; behind a fence, the next one has yet to be stored.
    wake(std::exchange(waits_for_fence_, false) ? now + fence_ + step_ : now);
  }

 private:
  void wake(TimePs at) {
    if (!std::exchange(awake_, true)) simulation_.schedule(at, id(), id(), 0, 0);
  }
  void store_next(TimePs now) {
    if (waits_for_fence_ || sent_ == messages_.bytes) return;
    const bool ends = (sent_ + messages_.piece) % messages_.message == 0;
    const bool releases = ends && messages_.ends_with_release;
    const std::array<std::byte, 64> line{};
    const auto store =
        wharf::ordering::mmio_store(releases ? wharf::ordering::MmioKind::kRelease : messages_.kind,
                                    sent_ % messages_.window, std::span(line).first(messages_.piece));
    if (!path_.store(now, store)) return;
    sent_ += messages_.piece;
    if (ends && messages_.is_fenced) {
      waits_for_fence_ = true;
      path_.fence(now);
    } else {
      wake(now + step_);
    }
  }

  Simulation& simulation_;
  MmioPath& path_;
  MmioMessages messages_;
  TimePs step_;
  TimePs fence_;
  std::uint64_t sent_ = 0;
  bool waits_for_fence_ = false;
  bool awake_ = false;
};

}  // namespace wharf::sim
