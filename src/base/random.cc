// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include "base/check.h"
#include "base/deterministic_math.h"

namespace wharf {
namespace {

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32U); }

std::array<std::uint32_t, 4> philox_of(std::uint64_t low, std::uint64_t high, std::uint64_t key) {
  return philox4x32_10({low_half(low), high_half(low), low_half(high), high_half(high)},
                       {low_half(key), high_half(key)});
}

std::uint64_t join(std::uint32_t low, std::uint32_t high) { return low | (std::uint64_t{high} << 32U); }

/// Keys for naming differ from keys for drawing by this constant, so that names and draws never share a
/// block.
constexpr std::uint64_t kNamingTweak = 0x77686172662d6e61;

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_half(product1) ^ counter[1] ^ key[0], low_half(product1),
               high_half(product0) ^ counter[3] ^ key[1], low_half(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Probability Probability::from(double p) {
  WHARF_CHECK(p >= 0.0 && p <= 1.0);
  const double scaled = p * 0x1.0p64;
  if (scaled >= 0x1.0p64) return Probability{std::numeric_limits<std::uint64_t>::max()};
  if (p > 0.0 && scaled < 1.0) return Probability{1};
  return Probability{static_cast<std::uint64_t>(scaled)};
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) : key_(seed), stream_(name.size()) {
  // The name is absorbed eight bytes at a time, each step a Philox block under the key so far.
  for (std::size_t at = 0; at < name.size(); at += 8) {
    std::uint64_t chunk = 0;
    for (std::size_t i = at; i < name.size() && i < at + 8; ++i) {
      chunk |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * (i - at));
    }
    const auto mixed = philox_of(chunk, stream_, key_ ^ kNamingTweak);
    key_ = join(mixed[0], mixed[1]);
    stream_ = join(mixed[2], mixed[3]);
  }
}

RandomStream RandomStream::substream(std::uint64_t index) const {
  const auto mixed = philox_of(index, stream_, key_ ^ ~kNamingTweak);
  return RandomStream(join(mixed[0], mixed[1]), join(mixed[2], mixed[3]));
}

void RandomStream::refill() {
  buffer_ = philox_of(block_++, stream_, key_);
  used_ = 0;
}

std::uint64_t RandomStream::below(std::uint64_t n) {
  WHARF_CHECK(n > 0);
  // Lemire, "Fast random integer generation in an interval" (2019): multiply, reject the short first slice.
  if (n <= std::numeric_limits<std::uint32_t>::max()) {
    std::uint64_t product = std::uint64_t{next_u32()} * n;
    if (low_half(product) < n) {
      const auto n32 = static_cast<std::uint32_t>(n);
      const std::uint32_t reject_below = (0U - n32) % n32;
      while (low_half(product) < reject_below) product = std::uint64_t{next_u32()} * n;
    }
    return product >> 32U;
  }
  auto product = static_cast<unsigned __int128>(next_u64()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t reject_below = (0ULL - n) % n;
    while (static_cast<std::uint64_t>(product) < reject_below) {
      product = static_cast<unsigned __int128>(next_u64()) * n;
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

TimePs RandomStream::exponential(TimePs mean) {
  WHARF_CHECK(mean >= kTimeZero && mean <= seconds(100'000));
  // 1 - uniform01() lies in (0, 1], so the logarithm is finite and at least -36.8.
  const double value = -deterministic_log(1.0 - uniform01()) * static_cast<double>(mean.ps);
  return TimePs{static_cast<std::int64_t>(value + 0.5)};
}

}  // namespace wharf
