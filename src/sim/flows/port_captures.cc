// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/port_captures.h"

#include <algorithm>
#include <utility>

namespace wharf::sim {

Result<PortCaptures> PortCaptures::open(const std::vector<PortCapture>& captures, const PortNames& names) {
  PortCaptures made;
  std::map<std::string, std::size_t> known;
  for (const PortCapture& capture : captures) {
    const auto [at, fresh] = known.try_emplace(capture.file, made.files_.size());
    if (fresh) {
      auto writer = wire::PcapngWriter::create(capture.file);
      if (!writer) return writer.error();
      made.files_.push_back(*std::move(writer));
    }
    made.places_.emplace(capture.port, Place{.file = at->second});
    made.names_[capture.port] = names[capture.port];
  }
  return made;
}

void PortCaptures::take(CapturedFrames& frames) {
  for (const CapturedFrames::Frame& frame : frames.frames()) {
    const auto bytes = frames.bytes(frame);
    waiting_.push_back({frame.at, frame.port, frame.link, {bytes.begin(), bytes.end()}});
  }
  frames.clear();
}

void PortCaptures::write_until(TimePs end) {
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Frame& a, const Frame& b) {
    return a.at != b.at ? a.at < b.at : a.port < b.port;
  });
  const auto later =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const Frame& frame) { return frame.at >= end; });
  for (auto frame = waiting_.begin(); frame != later; ++frame) {
    const auto [first, last] = places_.equal_range(frame->port);
    for (auto place = first; place != last; ++place) {
      wire::PcapngWriter& file = files_[place->second.file];
      const auto [at, fresh] = place->second.interfaces.try_emplace(frame->link, 0);
      if (fresh) at->second = file.add_interface(names_[frame->port], frame->link);
      file.write(at->second, frame->at, frame->bytes);
    }
  }
  waiting_.erase(waiting_.begin(), later);
}

Result<void> PortCaptures::close() {
  write_until(kNever);
  for (wire::PcapngWriter& file : files_) WHARF_TRY(file.close());
  return {};
}

}  // namespace wharf::sim
