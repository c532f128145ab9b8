// SPDX-License-Identifier: Apache-2.0
// Timing of DRAM by its commands: channels, ranks, banks, open rows and refresh. Contents live in HostMemory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/host/config/coherent_config.h"

namespace wharf::sim {

struct DdrCounters {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t row_hits = 0;
  std::uint64_t row_closed = 0;     ///< The bank had no open row.
  std::uint64_t row_conflicts = 0;  ///< The bank had another row open.
  std::uint64_t refreshes = 0;
};

/// The DRAM of a host behind its controllers (memory_controller.h). Calls of a channel come with
/// non-decreasing times.
///
/// Choice: each channel serves lines in the order of the calls; their commands overlap as far as banks and
/// the data bus allow. Rows stay open. Refreshes of a rank are due every refi, those of different ranks of a
/// channel apart by equal parts of it, and are made up for when the rank is next used.
class DdrMemory {
 public:
  /// `config` must pass validate().
  explicit DdrMemory(const DdrConfig& config);

  /// A line at `address` (a multiple of 64) whose commands may go out from `ready` on. Returns when its data
  /// have crossed the data bus.
  TimePs serve(TimePs ready, std::uint64_t address, bool is_write);

  /// Channel bits lie right above the interleave.
  std::uint32_t channel_of(std::uint64_t address) const {
    return static_cast<std::uint32_t>(address >> interleave_shift_) & (config_.channels - 1);
  }
  /// When the data bus of a channel has carried all that was asked for.
  TimePs bus_free(std::uint32_t channel) const { return channels_[channel].bus_free; }
  const DdrCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint64_t kNoRow = ~std::uint64_t{0};
  struct Bank {
    std::uint64_t row = kNoRow;
    TimePs activate_from;   ///< The earliest next activate.
    TimePs precharge_from;  ///< The earliest precharge of the open row.
    TimePs column_from;     ///< The earliest read or write of the open row.
  };
  struct Rank {
    std::array<TimePs, 4> activates{};  ///< The last four, in turn.
    std::uint32_t next_activate = 0;
    TimePs read_from;  ///< After the last write.
    TimePs refresh_due;
    std::uint32_t activated = 0;  ///< How many of `activates` mean something.
  };
  struct Channel {
    TimePs bus_free;    ///< The data bus.
    TimePs write_from;  ///< The earliest write data after the last read data.
  };

  void refresh(TimePs now, Rank& rank, Bank* banks);
  TimePs activate(TimePs from, Rank& rank, Bank& bank, std::uint64_t row);

  DdrConfig config_;
  std::uint32_t interleave_shift_;
  std::uint32_t channel_bits_;
  std::uint32_t column_bits_;
  std::uint32_t bank_bits_;
  std::uint32_t rank_bits_;
  std::vector<Channel> channels_;
  std::vector<Rank> ranks_;  ///< By channel, then rank.
  std::vector<Bank> banks_;  ///< By channel, rank, bank.
  DdrCounters counters_;
};

}  // namespace wharf::sim
