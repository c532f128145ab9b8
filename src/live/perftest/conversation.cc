// SPDX-License-Identifier: Apache-2.0
#include "live/perftest/conversation.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/bytes.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kPageBytes = 4096;
constexpr std::uint32_t kCacheLineBytes = 64;
/// More than any page that Linux lets a program choose without asking for huge ones.
constexpr std::uint32_t kRoundBytesMax = 1U << 20U;

std::array<std::byte, 4> word(std::uint32_t value) {
  std::array<std::byte, 4> bytes;
  store_be32(bytes.data(), value);
  return bytes;
}

Error closed() {
  return Error{ErrorKind::kStalled, "perftest's peer closed the connection before the exchange was complete"};
}

}  // namespace

Result<void> Conversation::write(std::span<const std::byte> bytes) {
  // One call: perftest takes each piece with one read.
  while (!bytes.empty()) {
    const ssize_t count = ::send(channel_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      WHARF_TRY(turn_());
    } else {
      return closed();
    }
  }
  return {};
}

Result<std::vector<std::byte>> Conversation::read(std::size_t length) {
  std::vector<std::byte> bytes(length);
  std::size_t taken = 0;
  while (taken < length) {
    const ssize_t count = ::recv(channel_.descriptor(), bytes.data() + taken, length - taken, MSG_DONTWAIT);
    if (count > 0) {
      taken += static_cast<std::size_t>(count);
    } else if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      WHARF_TRY(turn_());
    } else {
      return closed();
    }
  }
  return bytes;
}

Result<std::vector<std::byte>> Conversation::swap(std::span<const std::byte> ours) {
  if (side_ == Side::kClient) {
    WHARF_TRY(write(ours));
    return read(ours.size());
  }
  auto theirs = read(ours.size());
  if (!theirs) return theirs;
  WHARF_TRY(write(ours));
  return theirs;
}

Result<KeyMessage> Conversation::swap_keys(const KeyMessage& ours) {
  const auto theirs = swap(encode(ours));
  if (!theirs) return theirs.error();
  return decode_key_message(*theirs);
}

Result<Conversation::Opening> Conversation::open(std::uint32_t path_mtu) {
  const auto version = swap(encode_version());
  if (!version) return version.error();
  WHARF_TRY(check_version(*version));
  const auto page = swap(word(kPageBytes));
  if (!page) return page.error();
  Opening opening;
  opening.round_bytes = std::max(kPageBytes, load_be32(page->data()));
  if (opening.round_bytes > kRoundBytesMax)
    return input_error(fmt::format("perftest's peer sent a page of {} bytes, expected at most {}",
                                   opening.round_bytes, kRoundBytesMax));
  // How messages lie beside each other at the peer.
  WHARF_TRY(swap(word(kCacheLineBytes)));
  const auto mtu = swap(encode_path_mtu(path_mtu));
  if (!mtu) return mtu.error();
  const auto decoded = decode_path_mtu(*mtu);
  if (!decoded) return decoded.error();
  opening.path_mtu = std::min(path_mtu, *decoded);
  return opening;
}

void Conversation::say_done() {
  constexpr std::array<char, 5> kDone{'d', 'o', 'n', 'e', '\0'};
  (void)::send(channel_.descriptor(), kDone.data(), kDone.size(), MSG_NOSIGNAL);
}

}  // namespace wharf::live
