// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent/ddr_memory.h"

#include <bit>

namespace wharf::sim {

namespace {

std::uint32_t log2_of(std::uint32_t power) { return static_cast<std::uint32_t>(std::countr_zero(power)); }

}  // namespace

DdrMemory::DdrMemory(const DdrConfig& config)
    : config_(config),
      interleave_shift_(log2_of(config.interleave_bytes)),
      channel_bits_(log2_of(config.channels)),
      column_bits_(log2_of(config.row_bytes)),
      bank_bits_(log2_of(config.banks)),
      rank_bits_(log2_of(config.ranks)),
      channels_(config.channels),
      ranks_(std::size_t{config.channels} * config.ranks),
      banks_(std::size_t{config.channels} * config.ranks * config.banks) {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const std::int64_t turn = i % config.ranks + 1;
    ranks_[i].refresh_due = config.refi == kTimeZero ? kNever : config.refi * turn / config.ranks;
  }
}

TimePs DdrMemory::serve(TimePs ready, std::uint64_t address, bool is_write) {
  // But for the channel, an address is column, bank, rank and row, lowest first.
  const std::uint64_t low = address & ((std::uint64_t{1} << interleave_shift_) - 1);
  const std::uint64_t channel_at = channel_of(address);
  const std::uint64_t local = (address >> (interleave_shift_ + channel_bits_) << interleave_shift_) | low;
  const std::uint64_t bank_at = (local >> column_bits_) & (config_.banks - 1);
  const std::uint64_t rank_at = (local >> (column_bits_ + bank_bits_)) & (config_.ranks - 1);
  const std::uint64_t row = local >> (column_bits_ + bank_bits_ + rank_bits_);

  Channel& channel = channels_[channel_at];
  const std::uint64_t rank_index = (channel_at << rank_bits_) | rank_at;
  Rank& rank = ranks_[rank_index];
  Bank* const banks = &banks_[rank_index << bank_bits_];
  Bank& bank = banks[bank_at];

  if (ready >= rank.refresh_due) refresh(ready, rank, banks);
  if (bank.row == row) {
    ++counters_.row_hits;
  } else if (bank.row == kNoRow) {
    ++counters_.row_closed;
    activate(max(ready, bank.activate_from), rank, bank, row);
  } else {
    ++counters_.row_conflicts;
    const TimePs precharge = max(ready, bank.precharge_from);
    activate(max(precharge + config_.rp, bank.activate_from), rank, bank, row);
  }
  // The column command goes out so that its data find the bus free.
  TimePs column = max(ready, bank.column_from);
  if (!is_write) column = max(column, rank.read_from);
  TimePs data = max(column + config_.cl, channel.bus_free);
  if (is_write) data = max(data, channel.write_from);
  const TimePs end = data + config_.burst;
  channel.bus_free = end;
  if (is_write) {
    ++counters_.writes;
    rank.read_from = max(rank.read_from, end + config_.wtr);
    bank.precharge_from = max(bank.precharge_from, end + config_.wr);
    return end;
  }
  ++counters_.reads;
  channel.write_from = end + config_.rtw;
  bank.precharge_from = max(bank.precharge_from, data - config_.cl + config_.rtp);
  return end;
}

void DdrMemory::refresh(TimePs now, Rank& rank, Bank* banks) {
  // Those that fell due while nothing was asked of the rank have taken no time from anybody.
  const std::int64_t missed = (now - rank.refresh_due) / config_.refi;
  const TimePs due = rank.refresh_due + config_.refi * missed;
  counters_.refreshes += static_cast<std::uint64_t>(missed) + 1;
  rank.refresh_due = due + config_.refi;
  TimePs begin = due;
  for (std::uint32_t i = 0; i < config_.banks; ++i) {
    if (banks[i].row != kNoRow) begin = max(begin, banks[i].precharge_from + config_.rp);
    begin = max(begin, banks[i].activate_from);
  }
  for (std::uint32_t i = 0; i < config_.banks; ++i) {
    banks[i].row = kNoRow;
    banks[i].activate_from = begin + config_.rfc;
  }
}

TimePs DdrMemory::activate(TimePs from, Rank& rank, Bank& bank, std::uint64_t row) {
  const std::uint32_t last = (rank.next_activate + 3) % 4;
  if (rank.activated > 0) from = max(from, rank.activates[last] + config_.rrd);
  if (rank.activated == 4) from = max(from, rank.activates[rank.next_activate] + config_.faw);
  rank.activates[rank.next_activate] = from;
  rank.next_activate = (rank.next_activate + 1) % 4;
  if (rank.activated < 4) ++rank.activated;
  bank.row = row;
  bank.column_from = from + config_.rcd;
  bank.precharge_from = from + config_.ras;
  bank.activate_from = from + config_.ras + config_.rp;
  return from;
}

}  // namespace wharf::sim
