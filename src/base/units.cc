// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

#include "base/nearest_name.h"
#include "base/unit_hint.h"

namespace wharf {
namespace {

using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  std::uint64_t scale;  ///< In picoseconds, bytes or bits per second.
};

constexpr std::array kTimeUnits{Unit{"s", 1'000'000'000'000}, Unit{"ms", 1'000'000'000},
                                Unit{"us", 1'000'000}, Unit{"ns", 1'000}, Unit{"ps", 1}};
constexpr std::array kByteUnits{Unit{"B", 1},
                                Unit{"KiB", 1ULL << 10U},
                                Unit{"MiB", 1ULL << 20U},
                                Unit{"GiB", 1ULL << 30U},
                                Unit{"TiB", 1ULL << 40U},
                                Unit{"KB", 1'000},
                                Unit{"MB", 1'000'000},
                                Unit{"GB", 1'000'000'000},
                                Unit{"TB", 1'000'000'000'000}};
constexpr std::array kRateUnits{Unit{"Tbps", 1'000'000'000'000}, Unit{"Gbps", 1'000'000'000},
                                Unit{"Mbps", 1'000'000}, Unit{"kbps", 1'000}, Unit{"bps", 1}};

/// What a kind of quantity is called in a refusal.
struct Quantity {
  std::string_view name;      ///< "a time"
  std::string_view examples;  ///< "\"100ns\" or \"1.5us\""
  std::string_view whole;     ///< "a whole number of picoseconds"
  std::span<const Unit> units;
  std::uint64_t limit;
};

constexpr Quantity kTime{"a time", "\"100ns\" or \"1.5us\"", "a whole number of picoseconds", kTimeUnits,
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 1};
constexpr Quantity kSize{"a size", "\"64B\" or \"64KiB\"", "a whole number of bytes", kByteUnits,
                         std::numeric_limits<std::uint64_t>::max()};
constexpr Quantity kRate{"a rate", "\"400Gbps\" or \"82.4Gbps\"", "a whole number of bits per second",
                         kRateUnits, std::numeric_limits<std::uint64_t>::max()};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string unit_list(std::span<const Unit> units) {
  std::string list;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i != 0) list += i + 1 == units.size() ? " or " : ", ";
    list += units[i].name;
  }
  return list;
}

/// Digits, optionally a point and digits, then a unit; the product must be a whole number up to the limit.
Result<std::uint64_t> parse_quantity(std::string_view text, const Quantity& quantity) {
  Wide digits = 0;
  Wide divisor = 1;
  std::size_t at = 0;
  std::size_t digit_count = 0;
  bool fraction = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !fraction && digit_count > 0) {
      fraction = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    if (++digit_count > 24) {
      return input_error(fmt::format("\"{}\" has too many digits for {}; expected, for example, {}", text,
                                     quantity.name, quantity.examples));
    }
    digits = digits * 10 + static_cast<unsigned>(text[at] - '0');
    if (fraction) divisor *= 10;
  }
  if (digit_count == 0 || text[at - 1] == '.') {
    return input_error(
        fmt::format("\"{}\" is not {}; expected, for example, {}", text, quantity.name, quantity.examples));
  }
  const std::string_view unit_name = text.substr(at);
  if (unit_name.empty()) {
    return input_error(fmt::format("\"{}\" has no unit; expected {} with {}", text, quantity.name,
                                   unit_list(quantity.units)));
  }
  std::optional<std::uint64_t> scale;
  for (const Unit& unit : quantity.units) {
    if (unit.name == unit_name) scale = unit.scale;
  }
  if (!scale) {
    std::array<std::string_view, 16> names;
    std::size_t count = 0;
    for (const Unit& unit : quantity.units) names[count++] = unit.name;
    const auto nearest = nearest_name(unit_name, std::span(names).first(count));
    return input_error(fmt::format("\"{}\" has the unknown unit \"{}\"; expected {}{}", text, unit_name,
                                   unit_list(quantity.units),
                                   nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : ""));
  }
  // At most 24 digits times 10^12 stays below 2^128.
  const Wide product = digits * *scale;
  if (product % divisor != 0) {
    return input_error(fmt::format("\"{}\" is not {}", text, quantity.whole));
  }
  if (product / divisor > quantity.limit) {
    return input_error(fmt::format("\"{}\" is too large for {}; at most {}{} fits", text, quantity.name,
                                   quantity.limit / *scale, unit_name));
  }
  return static_cast<std::uint64_t>(product / divisor);
}

std::string hint(std::string_view text, std::span<const Unit> units) {
  const std::size_t at = std::min(text.find_first_not_of("0123456789."), text.size());
  if (at == 0 || at == text.size()) return {};
  std::array<std::string_view, 16> names;
  std::size_t count = 0;
  for (const Unit& unit : units) names[count++] = unit.name;
  const auto nearest = nearest_name(text.substr(at), std::span(names).first(count));
  return nearest ? fmt::format("; did you mean \"{}{}\"?", text.substr(0, at), *nearest) : std::string();
}

/// The decimal form of count / scale, without trailing zeros. `scale` is a power of ten.
std::string decimal(std::uint64_t count, std::uint64_t scale) {
  std::string text = fmt::format("{}", count / scale);
  std::uint64_t rest = count % scale;
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    scale /= 10;
    text += static_cast<char>('0' + rest / scale);
    rest %= scale;
  }
  return text;
}

}  // namespace

std::string time_hint(std::string_view text) { return hint(text, kTimeUnits); }
std::string bytes_hint(std::string_view text) { return hint(text, kByteUnits); }
std::string rate_hint(std::string_view text) { return hint(text, kRateUnits); }

TimePs transfer_time(Bytes size, BitsPerSecond rate) {
  if (rate.value == 0) return kTimeZero;
  constexpr std::uint64_t kPsPerSecondAndBitsPerByte = 8'000'000'000'000;
  // Packets fit in 64-bit arithmetic, which is several times faster than the 128-bit division below.
  constexpr std::uint64_t kNarrowLimit =
      std::numeric_limits<std::uint64_t>::max() / kPsPerSecondAndBitsPerByte;
  if (size.count < kNarrowLimit) {
    const std::uint64_t product = size.count * kPsPerSecondAndBitsPerByte;
    const std::uint64_t quotient = product / rate.value;
    const std::uint64_t rounded = quotient + (quotient * rate.value != product ? 1 : 0);
    if (rounded < static_cast<std::uint64_t>(kNever.ps)) return TimePs{static_cast<std::int64_t>(rounded)};
    return kNever;
  }
  const Wide rounded = (Wide{size.count} * kPsPerSecondAndBitsPerByte + rate.value - 1) / rate.value;
  if (rounded >= static_cast<std::uint64_t>(kNever.ps)) return kNever;
  return TimePs{static_cast<std::int64_t>(rounded)};
}

Result<TimePs> parse_time(std::string_view text) {
  auto count = parse_quantity(text, kTime);
  if (!count) return count.error();
  return TimePs{static_cast<std::int64_t>(*count)};
}

Result<Bytes> parse_bytes(std::string_view text) {
  auto count = parse_quantity(text, kSize);
  if (!count) return count.error();
  return Bytes{*count};
}

Result<BitsPerSecond> parse_rate(std::string_view text) {
  auto count = parse_quantity(text, kRate);
  if (!count) return count.error();
  return BitsPerSecond{*count};
}

Result<double> parse_probability(std::string_view text) {
  std::string_view number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), value);
  const double limit = percent ? 100.0 : 1.0;
  if (number.empty() || !is_digit(number.front()) || code != std::errc{} ||
      end != number.data() + number.size() || !(value >= 0.0 && value <= limit)) {
    return input_error(fmt::format(
        "\"{}\" is not a probability; expected 0 to 1 or 0% to 100%, for example \"0.05\" or \"5%\"", text));
  }
  return percent ? value / 100.0 : value;
}

std::string format_time(TimePs time) {
  if (time == kNever) return "never";
  if (time.ps == 0) return "0ns";
  // Unsigned negation is exact for the most negative count too.
  const auto magnitude =
      time.ps < 0 ? 0 - static_cast<std::uint64_t>(time.ps) : static_cast<std::uint64_t>(time.ps);
  std::string best;
  for (const Unit& unit : kTimeUnits) {
    if (magnitude < unit.scale) continue;
    std::string candidate = decimal(magnitude, unit.scale) + std::string(unit.name);
    if (best.empty() || candidate.size() < best.size()) best = std::move(candidate);
  }
  return time.ps < 0 ? "-" + best : best;
}

std::string format_bytes(Bytes size) {
  if (size.count == 0) return "0B";
  const Unit* best = kByteUnits.data();
  for (const Unit& unit : std::span(kByteUnits).first(5)) {
    if (size.count % unit.scale == 0) best = &unit;
  }
  return fmt::format("{}{}", size.count / best->scale, best->name);
}

std::string format_rate(BitsPerSecond rate) {
  if (rate.value == 0) return "0bps";
  for (const Unit& unit : kRateUnits) {
    // "Short" is at most three decimals.
    const bool is_short = unit.scale == 1 || rate.value % (unit.scale / 1'000) == 0;
    if (rate.value >= unit.scale && is_short) return decimal(rate.value, unit.scale) + std::string(unit.name);
  }
  return fmt::format("{}bps", rate.value);
}

}  // namespace wharf
