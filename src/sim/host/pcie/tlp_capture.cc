// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/tlp_capture.h"

#include <fmt/format.h>

#include "base/check.h"
#include "wire/tlp_codec.h"

namespace wharf::sim {

Result<std::unique_ptr<TlpCapture>> TlpCapture::create(const std::filesystem::path& file,
                                                       std::string_view device, wire::TlpOrderingForm form) {
  auto writer = wire::PcapngWriter::create(file);
  if (!writer) return writer.error();
  std::unique_ptr<TlpCapture> made(new TlpCapture(*std::move(writer), file, form));
  made->interfaces_[kUp] =
      made->writer_.add_interface(fmt::format("{} to host", device), wire::LinkType::kPcieTlp);
  made->interfaces_[kDown] =
      made->writer_.add_interface(fmt::format("host to {}", device), wire::LinkType::kPcieTlp);
  for (Ring<Packet>& ring : made->waiting_) ring.reserve(64);
  made->returning_.reserve(64);
  return made;
}

void TlpCapture::requested(TimePs now, TimePs at, const ordering::Request& request) {
  std::uint16_t tag = 0;
  while (!returning_.empty() && returning_.front().first <= at) {
    free_tags_.insert(returning_.front().second);
    returning_.pop_front();
  }
  if (!request.is_posted()) {
    if (free_tags_.empty() && tags_ > wire::kTlpTagMask) {
      ++without_tag_;
      return;
    }
    if (free_tags_.empty()) free_tags_.insert(tags_++);
    tag = *free_tags_.begin();
  }
  TlpOperands operands;
  wire::Tlp tlp;
  if (!request_tlp(request, form_, tag, operands, tlp)) {
    ++unknown_atomics_;
    return;
  }
  keep(now, at, kUp, tlp);
  if (request.is_posted()) return;
  free_tags_.erase(tag);
  tlp.payload = {};
  const bool is_new = unanswered_.emplace(Name{request.tag, request.line}, tlp).second;
  WHARF_CHECK(is_new);
}

void TlpCapture::answered(TimePs now, TimePs at, TimePs arrives, const ordering::Response& response) {
  const auto request = unanswered_.find(Name{response.tag, response.line});
  if (request == unanswered_.end()) return;  // It could not be written, which close() says.
  TlpOperands operands;
  keep(now, at, kDown, response_tlp(response, request->second, operands));
  if (returning_.full()) returning_.reserve(2 * returning_.capacity());
  returning_.push_back({arrives, request->second.tag});
  unanswered_.erase(request);
}

void TlpCapture::keep(TimePs now, TimePs at, std::size_t direction, const wire::Tlp& tlp) {
  write_before(now);
  Ring<Packet>& waiting = waiting_[direction];
  if (waiting.full()) waiting.reserve(2 * waiting.capacity());
  Packet packet{at, std::vector<std::byte>(wire::tlp_bytes(tlp))};
  encode_tlp(tlp, packet.bytes);
  waiting.push_back(std::move(packet));
}

/// Nothing that is still to come enters the link before `end`.
void TlpCapture::write_before(TimePs end) {
  for (;;) {
    const bool up_first = !waiting_[kUp].empty() &&
                          (waiting_[kDown].empty() || waiting_[kUp].front().at <= waiting_[kDown].front().at);
    const std::size_t direction = up_first ? kUp : kDown;
    Ring<Packet>& waiting = waiting_[direction];
    if (waiting.empty() || waiting.front().at >= end) return;
    writer_.write(interfaces_[direction], waiting.front().at, waiting.front().bytes);
    waiting.pop_front();
  }
}

Result<void> TlpCapture::close() {
  write_before(kNever);
  WHARF_TRY(writer_.close());
  if (without_tag_ > 0)
    return input_error(
        fmt::format("{}: {} requests found all 1024 tags of PCIe in use, expected fewer at once "
                    "(io_link.non_posted_credits, root_complex.entries)",
                    file_.string(), without_tag_));
  if (unknown_atomics_ > 0)
    return input_error(
        fmt::format("{}: {} atomics that PCIe has no packet for, expected fetch-and-add, swap or "
                    "compare-and-swap",
                    file_.string(), unknown_atomics_));
  return {};
}

}  // namespace wharf::sim
