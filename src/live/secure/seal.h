// SPDX-License-Identifier: Apache-2.0
// Frames sealed with ChaCha20-Poly1305 [RFC 8439]: nobody without the key reads or changes one, and each is
// taken once. A sealed frame is its number (64 bits, big-endian), the ciphertext, and 16 bytes of tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "live/secure/key.h"
#include "live/secure/replay_window.h"

namespace wharf::live {

/// What a seal adds to a frame, and how much of it stands before the frame's own bytes.
inline constexpr std::uint32_t kSealHeadBytes = 8;
inline constexpr std::uint32_t kSealTagBytes = 16;
inline constexpr std::uint32_t kSealBytes = kSealHeadBytes + kSealTagBytes;

/// Why a sealed frame was not taken.
enum class SealDrop : std::uint8_t {
  kNone,
  kShort,     ///< No longer than a seal.
  kBadSeal,   ///< Changed on its way, of another key, or not sealed at all.
  kReplayed,  ///< Its number has come before, or is too old to know.
};
inline constexpr std::size_t kSealDropCount = static_cast<std::size_t>(SealDrop::kReplayed) + 1;
/// A short lower-case phrase such as "bad seal".
std::string_view seal_drop_text(SealDrop reason);

/// When a session ends because of its seals.
struct SealLimits {
  /// Frames of one direction. Numbers never come near their end at 2^64.
  std::uint64_t frames = std::uint64_t{1} << 48U;
  /// Bad seals, of which each is a chance to guess. [RFC 9001 6.6]
  std::uint64_t forgeries = std::uint64_t{1} << 36U;
};

/// One direction of a session, at its beginning.
class Sealer {
 public:
  /// Behind every SealLimits::frames that anybody sets: nothing is sealed any more.
  static constexpr std::uint64_t kLastNumber = std::uint64_t{1} << 56U;

  explicit Sealer(const Key& key, std::uint64_t first = 0) : key_(key), next_(first) {}

  bool spent() const { return next_ > kLastNumber; }
  /// How many frames have been sealed.
  std::uint64_t next() const { return next_; }
  /// Seals in place the `length` bytes that stand kSealHeadBytes behind the beginning of `room`, which has
  /// room for the seal; how many bytes it has become. Not when spent().
  std::size_t seal(std::span<std::byte> room, std::size_t length);

 private:
  Key key_;
  std::uint64_t next_;
};

/// One direction of a session, at its end.
class Opener {
 public:
  explicit Opener(const Key& key) : key_(key) {}

  /// Writes what `frame` holds to `plain`, which has frame.size() - kSealBytes bytes and does not overlap
  /// with it. What is there after another answer than kNone means nothing.
  SealDrop open(std::span<const std::byte> frame, std::span<std::byte> plain);
  /// One more than the highest number that has come.
  std::uint64_t next() const { return window_.next(); }
  std::uint64_t forgeries() const { return forgeries_; }

 private:
  Key key_;
  ReplayWindow window_;
  std::uint64_t forgeries_ = 0;
};

/// Both directions of the packets of a session, at one of its ends.
struct PacketSeal {
  PacketSeal(const Key& outgoing, const Key& incoming) : out(outgoing), in(incoming) {}

  bool over(const SealLimits& limits) const {
    return out.next() > limits.frames || in.next() > limits.frames || in.forgeries() > limits.forgeries;
  }

  Sealer out;
  Opener in;
};

/// Messages of a stream, which come whole and in order or not at all: their numbers are counted, not sent.
class MessageSeal {
 public:
  MessageSeal(const Key& outgoing, const Key& incoming) : out_(outgoing), in_(incoming) {}

  std::vector<std::byte> seal(std::span<const std::byte> message);
  /// Nothing when it is not the next message of the other end.
  std::optional<std::vector<std::byte>> open(std::span<const std::byte> sealed);

 private:
  Key out_;
  Key in_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace wharf::live
