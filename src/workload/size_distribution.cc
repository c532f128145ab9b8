// SPDX-License-Identifier: Apache-2.0
#include "workload/size_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text_lines.h"
#include "workload/flow_list.h"

namespace wharf::workload {
namespace {

using Wide = unsigned __int128;
using Point = SizeDistribution::Point;

constexpr std::string_view kHeader = "size_bytes,cumulative";

/// A share with at most nine decimals, in billionths; nothing for any other text and above 1.
std::optional<std::uint64_t> share_of(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot < text.size() ? text.substr(dot + 1) : std::string_view();
  if (whole != "0" && whole != "1") return std::nullopt;
  if (decimals.size() > 9 || (dot < text.size() && decimals.empty())) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const char digit = i < decimals.size() ? decimals[i] : '0';
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  if (whole == "1") value += SizeDistribution::kAll;
  if (value > SizeDistribution::kAll) return std::nullopt;
  return value;
}

/// A share as a table would say it.
std::string share_text(std::uint64_t share) {
  std::string text = fmt::format("{}.{:09}", share / SizeDistribution::kAll, share % SizeDistribution::kAll);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Result<Point> read_row(const TextLines& lines, const Point* before) {
  if (lines.size() > 2) return lines.refuse_token(lines[2], "two fields, " + std::string(kHeader));
  const auto bytes = lines.integer(lines[0], "a size in bytes", 0, kFlowBytesMax);
  if (!bytes) return bytes.error();
  if (before != nullptr && *bytes <= before->bytes)
    return lines.refuse_token(lines[0],
                              fmt::format("a size above {}, that of the row before", before->bytes));
  if (lines.size() < 2) return lines.refuse_end("found no cumulative share, expected one from 0 to 1");
  const auto share = share_of(lines[1].text);
  if (!share)
    return lines.refuse_token(lines[1], "a share from 0 to 1 with at most nine decimals, such as 0.15");
  if (*bytes == 0 && *share != 0) return lines.refuse_token(lines[1], "0, as no flow has 0 bytes");
  if (before != nullptr && *share < before->cumulative)
    return lines.refuse_token(
        lines[1], fmt::format("at least {}, that of the row before", share_text(before->cumulative)));
  return Point{*bytes, *share};
}

}  // namespace

SizeDistribution::SizeDistribution(std::vector<Point> points) : points_(std::move(points)) {
  WHARF_CHECK(!points_.empty() && points_.back().cumulative == kAll);
  WHARF_CHECK(points_.back().bytes <= kFlowBytesMax);
  // The first point's share has just its size; below any other point lies a straight line.
  Point before{points_.front().bytes, 0};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    WHARF_CHECK(point.cumulative >= before.cumulative && (i == 0 || point.bytes > before.bytes));
    WHARF_CHECK(point.bytes > 0 || point.cumulative == 0);
    twice_mean_ += (point.cumulative - before.cumulative) * (point.bytes + before.bytes);
    before = point;
  }
}

std::uint64_t SizeDistribution::draw(RandomStream& random) const {
  const std::uint64_t share = random.below(kAll) + 1;
  const auto at =
      std::lower_bound(points_.begin(), points_.end(), share,
                       [](const Point& point, std::uint64_t value) { return point.cumulative < value; });
  if (at == points_.begin()) return at->bytes;
  const Point& before = *(at - 1);
  const std::uint64_t width = at->cumulative - before.cumulative;
  const Wide rise = Wide(at->bytes - before.bytes) * (share - before.cumulative);
  return before.bytes + static_cast<std::uint64_t>((rise + width - 1) / width);
}

TimePs SizeDistribution::mean_interval(BitsPerSecond rate, std::uint32_t load_ppm) const {
  WHARF_CHECK(rate.value > 0 && load_ppm > 0);
  // Mean bytes times 8e12 bits and picoseconds times 1e6, over rate and load; the mean has 2e9 below it.
  const Wide time = Wide(twice_mean_) * 4'000'000'000U / (Wide(rate.value) * load_ppm);
  if (time >= static_cast<std::uint64_t>(kNever.ps)) return kNever;
  return TimePs{static_cast<std::int64_t>(time)};
}

Result<SizeDistribution> read_size_distribution(std::string_view text, const std::string& name) {
  TextLines lines(text, name, ',');
  if (!lines.next() || lines.line().empty())
    return input_error(fmt::format("{}:1:1: found no first line, expected {}", name, kHeader));
  if (lines.line() != kHeader)
    return lines.refuse_token({lines.line(), 1}, fmt::format("the first line {}", kHeader), {kHeader});
  std::vector<Point> points;
  while (lines.next()) {
    if (lines.blank()) continue;
    auto row = read_row(lines, points.empty() ? nullptr : &points.back());
    if (!row) return row.error();
    points.push_back(*row);
  }
  if (points.empty()) return lines.refuse_end("found no rows, expected at least one that ends with 1");
  if (points.back().cumulative != SizeDistribution::kAll)
    return lines.refuse_end(fmt::format("found {} as the last cumulative share, expected 1",
                                        share_text(points.back().cumulative)));
  return SizeDistribution(std::move(points));
}

}  // namespace wharf::workload
