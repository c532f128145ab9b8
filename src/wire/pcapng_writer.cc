// SPDX-License-Identifier: Apache-2.0
#include "wire/pcapng_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace wharf::wire {
namespace {

constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d'0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kEnhancedPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b'3c4d;

constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionSectionApplication = 4;
constexpr std::uint16_t kOptionInterfaceName = 2;
constexpr std::uint16_t kOptionTimeResolution = 9;
constexpr std::byte kNanoseconds{9};

void append(std::vector<std::byte>& block, const void* bytes, std::size_t length) {
  const auto* const first = static_cast<const std::byte*>(bytes);
  block.insert(block.end(), first, first + length);
}
template <typename Number>
void append_number(std::vector<std::byte>& block, Number value) {
  append(block, &value, sizeof value);
}
void pad_to_word(std::vector<std::byte>& block) {
  while (block.size() % 4 != 0) block.push_back(std::byte{0});
}
std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

void PcapngWriter::begin_block(std::uint32_t type) {
  block_.clear();
  append_number(block_, type);
  append_number(block_, std::uint32_t{0});  // total length, set by end_block()
}

void PcapngWriter::end_block() {
  pad_to_word(block_);
  const auto length = static_cast<std::uint32_t>(block_.size() + 4);
  store_le32(block_.data() + 4, length);
  append_number(block_, length);
  if (buffered_ + block_.size() > kBufferBytes) flush();
  if (std::fwrite(block_.data(), 1, block_.size(), file_.get()) != block_.size()) failed_ = true;
  buffered_ += block_.size();
  if (buffered_ > kBufferBytes) flush();
}

void PcapngWriter::flush() {
  if (std::fflush(file_.get()) != 0) failed_ = true;
  buffered_ = 0;
}

void PcapngWriter::append_option(std::uint16_t code, std::span<const std::byte> value) {
  append_number(block_, code);
  append_number(block_, static_cast<std::uint16_t>(value.size()));
  append(block_, value.data(), value.size());
  pad_to_word(block_);
}

Result<PcapngWriter> PcapngWriter::create(const std::filesystem::path& path, std::int64_t epoch_seconds) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    return Error{ErrorKind::kEnvironment,
                 fmt::format("{}: cannot create the capture: {}", path.string(), std::strerror(errno))};
  PcapngWriter writer(file, path, epoch_seconds);
  writer.begin_block(kSectionHeaderBlock);
  append_number(writer.block_, kByteOrderMagic);
  append_number(writer.block_, std::uint16_t{1});
  append_number(writer.block_, std::uint16_t{0});
  append_number(writer.block_, std::int64_t{-1});  // section length not given
  writer.append_option(kOptionSectionApplication, text_bytes("wharf"));
  writer.append_option(kOptionEnd, {});
  writer.end_block();
  return writer;
}

CaptureInterface PcapngWriter::add_interface(std::string_view name, LinkType link) {
  begin_block(kInterfaceBlock);
  append_number(block_, static_cast<std::uint16_t>(link));
  append_number(block_, std::uint16_t{0});
  append_number(block_, std::uint32_t{0});  // no snap length
  append_option(kOptionInterfaceName, text_bytes(name));
  append_option(kOptionTimeResolution, {&kNanoseconds, 1});
  append_option(kOptionEnd, {});
  end_block();
  return interfaces_++;
}

void PcapngWriter::write(CaptureInterface interface, TimePs time, std::span<const std::byte> frame,
                         std::string_view comment) {
  WHARF_CHECK(interface < interfaces_ && time.ps >= 0);
  begin_block(kEnhancedPacketBlock);
  append_number(block_, interface);
  const auto stamp = static_cast<std::uint64_t>(epoch_seconds_ * 1'000'000'000 + time.ps / 1000);
  append_number(block_, static_cast<std::uint32_t>(stamp >> 32U));
  append_number(block_, static_cast<std::uint32_t>(stamp));
  append_number(block_, static_cast<std::uint32_t>(frame.size()));
  append_number(block_, static_cast<std::uint32_t>(frame.size()));
  append(block_, frame.data(), frame.size());
  pad_to_word(block_);
  if (!comment.empty()) {
    append_option(kOptionComment, text_bytes(comment.substr(0, 0xffff)));
    append_option(kOptionEnd, {});
  }
  end_block();
  ++frames_;
}

Result<void> PcapngWriter::close() {
  WHARF_CHECK(file_ != nullptr);
  if (std::fclose(file_.release()) != 0) failed_ = true;
  if (failed_)
    return Error{ErrorKind::kEnvironment, fmt::format("{}: the capture could not be written: {}",
                                                      path_.string(), std::strerror(errno))};
  return {};
}

}  // namespace wharf::wire
