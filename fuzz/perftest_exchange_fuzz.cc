// SPDX-License-Identifier: Apache-2.0
// A peer that says anything in the exchange of perftest, to either side of it. The conversation must end, in
// few turns once the peer has said all it will say; what it takes must be what the peer said, and what a
// decoder takes must encode to the same bytes.
// LINK: wharf_live_perftest
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "live/perftest/conversation.h"
#include "live/perftest/key_message.h"

namespace {

using namespace wharf;        // NOLINT: one file, one purpose.
using namespace wharf::live;  // NOLINT

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kOwnMtu = 2048;
constexpr std::size_t kOpening = kVersionBytes + 4 + 4 + kMtuBytes;

void check_decoders(std::span<const std::byte> bytes) {
  if (const auto key = decode_key_message(bytes); key.ok()) {
    const KeyBytes again = encode(*key);
    WHARF_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
    if (const auto address = address_of(key->gid); address.ok()) WHARF_CHECK(gid_of(*address) == key->gid);
  }
  if (const auto mtu = decode_path_mtu(bytes); mtu.ok()) {
    const auto again = encode_path_mtu(*mtu);
    WHARF_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  if (check_version(bytes).ok()) WHARF_CHECK(bytes.size() == kVersionBytes && bytes[0] >= std::byte{'0'});
}

/// Both ends of a connection on this machine.
struct Ends {
  std::optional<ControlChannel> ours;
  std::optional<ControlChannel> theirs;
};

Ends connect() {
  static ControlListener listener = ControlListener::open({kLoopback, 0}).value();
  Ends ends;
  ends.theirs.emplace(ControlChannel::connect(listener.local(), seconds(5)).value());
  while (!ends.ours) {
    if (auto channel = listener.accept()) ends.ours.emplace(*std::move(channel));
  }
  return ends;
}

void say(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  // A copy of its own, so that reading past the end is seen. The first byte chooses.
  const std::vector<std::byte> said(first + 1, first + size);
  check_decoders(said);
  const bool closes = (data[0] & 2U) != 0;
  const auto side = (data[0] & 1U) != 0 ? Conversation::Side::kServer : Conversation::Side::kClient;

  Ends ends = connect();
  say(ends.theirs->descriptor(), said);
  if (closes) ends.theirs.reset();
  int turns = 0;
  Conversation conversation(*std::move(ends.ours), side, [&turns]() -> Result<void> {
    WHARF_CHECK(turns < 100);
    if (++turns == 100) return Error{ErrorKind::kStalled, "the peer says no more"};
    return {};
  });
  const auto opening = conversation.open(kOwnMtu);
  if (!opening.ok()) return 0;
  WHARF_CHECK(said.size() >= kOpening);
  WHARF_CHECK(check_version({said.data(), kVersionBytes}).ok());
  WHARF_CHECK(std::has_single_bit(opening->path_mtu) && opening->path_mtu >= 256);
  WHARF_CHECK(opening->path_mtu <= kOwnMtu && opening->round_bytes <= 1U << 20U);
  WHARF_CHECK(opening->round_bytes == std::max(4096U, load_be32(said.data() + kVersionBytes)));
  const auto theirs = decode_path_mtu({said.data() + kOpening - kMtuBytes, kMtuBytes});
  WHARF_CHECK(theirs.ok() && opening->path_mtu == std::min(kOwnMtu, *theirs));
  for (std::size_t at = kOpening;; at += kKeyMessageBytes) {
    KeyMessage own;
    own.queue_number = 17;
    const auto key = conversation.swap_keys(own);
    if (!key.ok()) break;
    WHARF_CHECK(at + kKeyMessageBytes <= said.size());
    const KeyBytes again = encode(*key);
    WHARF_CHECK(std::equal(again.begin(), again.end(), said.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  conversation.say_done();
  return 0;
}
