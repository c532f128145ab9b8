// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/peer_reads.h"

namespace wharf::sim {

void PeerReads::start(TimePs now) {
  begin_ = now;
  batch(now);
  if (!peer_stream_) return;
  for (std::uint64_t i = 0; i < config_.batch; ++i) read(now, *peer_stream_, config_.peer_address);
}

void PeerReads::dma_done(TimePs now, std::uint32_t stream, std::uint64_t,
                         const std::array<std::uint64_t, 2>&) {
  if (stream != host_stream_) {
    if (host_reads_ < config_.reads) {
      ++peer_reads_;
      read(now, *peer_stream_, config_.peer_address);
    }
    return;
  }
  ++host_reads_;
  last_ = now;
  if (host_reads_ == issued_ && issued_ < config_.reads)
    simulation_.schedule(now + config_.pause, id(), id(), 0, 0);
  if (host_reads_ == config_.reads) simulation_.stop();
}

void PeerReads::batch(TimePs now) {
  for (std::uint64_t i = 0; i < config_.batch && issued_ < config_.reads; ++i, ++issued_)
    read(now, host_stream_, config_.host_address);
}

void PeerReads::read(TimePs now, std::uint32_t stream, std::uint64_t address) {
  DmaAccess access;
  access.address = address;
  access.length = config_.bytes;
  engine_.start(now, stream, access);
}

}  // namespace wharf::sim
