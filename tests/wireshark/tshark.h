// SPDX-License-Identifier: Apache-2.0
// What Wireshark shows of frames, with the dissectors of src/wire/wireshark and none of the user's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "wire/link_type.h"

namespace wharf::wire {

struct SampleFrame {
  std::vector<std::byte> bytes;
  LinkType link = LinkType::kEthernet;
};

/// A field in the tree of a frame.
struct ShownField {
  std::string name;  ///< "ub.rtph.psn".
  std::string text;  ///< "PSN: 2748", without the bits before it.
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

struct ShownFrame {
  std::vector<ShownField> fields;  ///< Those of ub, uet and tlp.
  std::string refused;             ///< Why the dissector refuses the frame, or empty.
  std::string protocol;            ///< The columns.
  std::string info;
};

/// Why nothing can be compared on this machine; empty when it can.
std::string reason_to_skip();

/// Writes a capture with one interface for each kind of link.
void write_capture(const std::filesystem::path& path, const std::vector<SampleFrame>& frames);

/// What tshark prints about `capture`, errors included.
std::string tshark(const std::filesystem::path& capture, const std::string& arguments);

/// The frames as Wireshark shows them.
std::vector<ShownFrame> shown_frames(const std::filesystem::path& capture);

/// A folder of this process's own, gone at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace wharf::wire
