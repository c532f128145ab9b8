// SPDX-License-Identifier: Apache-2.0
// A capture of a device's link: every request, posted write and completion as a transaction layer packet in a
// pcapng file that `wharf dissect` reads (docs/protocol/pcie-tlp.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/line.h"
#include "base/result.h"
#include "base/ring.h"
#include "sim/host/pcie/device_link.h"
#include "wire/pcapng_writer.h"

namespace wharf::sim {

/// One interface for each direction; packets in the order in which they enter the link, stamped with that
/// time. Requests whose completion has not arrived have a tag each, the lowest that is free.
class TlpCapture final : public LinkObserver {
 public:
  /// Creates the file, or truncates it. `device` names the interfaces. `form` says what the ordering bits
  /// mean on this link.
  static Result<std::unique_ptr<TlpCapture>> create(const std::filesystem::path& file,
                                                    std::string_view device, wire::TlpOrderingForm form);

  void requested(TimePs now, TimePs at, const ordering::Request& request) override;
  void answered(TimePs now, TimePs at, TimePs arrives, const ordering::Response& response) override;

  /// Writes what is left and closes. Fails when the file cannot be written, when there was an atomic that
  /// PCIe has not, or when more requests waited at a time than 10 bits can name: such a capture is not whole.
  Result<void> close();

 private:
  struct Packet {
    TimePs at;
    std::vector<std::byte> bytes;
  };
  /// What names a request until it is answered.
  using Name = std::pair<std::uint32_t, LineNumber>;
  static constexpr std::size_t kUp = 0;
  static constexpr std::size_t kDown = 1;

  TlpCapture(wire::PcapngWriter writer, std::filesystem::path file, wire::TlpOrderingForm form)
      : writer_(std::move(writer)), file_(std::move(file)), form_(form) {}
  void keep(TimePs now, TimePs at, std::size_t direction, const wire::Tlp& tlp);
  void write_before(TimePs end);

  wire::PcapngWriter writer_;
  std::filesystem::path file_;
  wire::TlpOrderingForm form_;
  std::array<wire::CaptureInterface, 2> interfaces_{};
  std::array<Ring<Packet>, 2> waiting_;  ///< A completion is known before it enters the link.
  std::map<Name, wire::Tlp> unanswered_;
  std::set<std::uint16_t> free_tags_;  ///< Of those below `tags_`.
  /// Tags whose completion is on the link, and when the device has it.
  Ring<std::pair<TimePs, std::uint16_t>> returning_;
  std::uint16_t tags_ = 0;
  std::uint64_t without_tag_ = 0;
  std::uint64_t unknown_atomics_ = 0;
};

}  // namespace wharf::sim
