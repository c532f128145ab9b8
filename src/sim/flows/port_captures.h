// SPDX-License-Identifier: Apache-2.0
// Captures of chosen ports while a run goes on: frames come from the partitions, slice by slice, and go to
// pcapng files in the order of time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fabric/captured_frames.h"
#include "sim/fabric/port_names.h"
#include "wire/pcapng_writer.h"

namespace wharf::sim {

/// Where what leaves a port is written; several ports may share a file.
struct PortCapture {
  PortId port = 0;
  std::string file;
};

class PortCaptures {
 public:
  /// Creates the files, or truncates them.
  static Result<PortCaptures> open(const std::vector<PortCapture>& captures, const PortNames& names);

  /// Takes in the frames of one partition, which are gone there afterwards.
  void take(CapturedFrames& frames);
  /// Writes every frame before `end`: all of them have been taken in.
  void write_until(TimePs end);
  /// Writes the rest and closes.
  Result<void> close();

 private:
  struct Frame {
    TimePs at;
    PortId port = 0;
    wire::LinkType link = wire::LinkType::kEthernet;
    std::vector<std::byte> bytes;
  };
  /// A port in one of the files; interfaces are made with the first frame, which says what link it is.
  struct Place {
    std::size_t file = 0;
    std::map<wire::LinkType, wire::CaptureInterface> interfaces{};
  };

  std::vector<wire::PcapngWriter> files_;
  std::multimap<PortId, Place> places_;
  std::map<PortId, std::string> names_;
  std::vector<Frame> waiting_;
};

}  // namespace wharf::sim
