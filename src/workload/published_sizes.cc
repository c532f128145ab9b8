// SPDX-License-Identifier: Apache-2.0
// The published distributions of flow sizes, as points of their cumulative curves. Those of papers are in the
// form that simulation studies since pFabric (SIGCOMM 2013) share.
#include <algorithm>
#include <array>

#include "workload/size_distribution.h"

namespace wharf::workload {
namespace {

/// Bytes, and thousandths of a percent of the flows that are not larger.
struct Row {
  std::uint64_t bytes;
  std::uint64_t share;
};

constexpr std::array<Row, 12> kWebSearch{{{0, 0},
                                          {10'000, 15'000},
                                          {20'000, 20'000},
                                          {30'000, 30'000},
                                          {50'000, 40'000},
                                          {80'000, 53'000},
                                          {200'000, 60'000},
                                          {1'000'000, 70'000},
                                          {2'000'000, 80'000},
                                          {5'000'000, 90'000},
                                          {10'000'000, 97'000},
                                          {30'000'000, 100'000}}};
constexpr std::array<Row, 13> kDataMining{{{0, 0},
                                           {180, 10'000},
                                           {216, 20'000},
                                           {560, 30'000},
                                           {900, 40'000},
                                           {1'100, 50'000},
                                           {1'870, 60'000},
                                           {3'160, 70'000},
                                           {10'000, 80'000},
                                           {400'000, 90'000},
                                           {3'160'000, 95'000},
                                           {100'000'000, 98'000},
                                           {1'000'000'000, 100'000}}};
constexpr std::array<Row, 20> kHadoop{{{0, 0},
                                       {100, 1'000},
                                       {200, 2'000},
                                       {300, 5'000},
                                       {350, 15'000},
                                       {400, 20'000},
                                       {500, 30'000},
                                       {600, 40'000},
                                       {700, 50'000},
                                       {1'000, 60'000},
                                       {2'000, 67'000},
                                       {7'000, 70'000},
                                       {30'000, 72'000},
                                       {50'000, 82'000},
                                       {80'000, 87'000},
                                       {120'000, 90'000},
                                       {300'000, 95'000},
                                       {1'000'000, 97'500},
                                       {2'000'000, 99'000},
                                       {10'000'000, 100'000}}};
constexpr std::array<Row, 9> kStorage{{{0, 0},
                                       {4'000, 22'930},
                                       {8'000, 69'210},
                                       {16'000, 80'610},
                                       {32'000, 90'470},
                                       {64'000, 93'530},
                                       {128'000, 96'770},
                                       {256'000, 97'530},
                                       {2'000'000, 100'000}}};

constexpr std::array<PublishedSizes, 4> kPublished{
    {{"web_search", "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, Figure 4"},
     {"data_mining", "Greenberg et al., VL2, SIGCOMM 2009, Figure 2"},
     {"hadoop",
      "Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015; points of HPCC, SIGCOMM "
      "2019"},
     {"storage", "AliStorage2019, published with HPCC (Li et al., SIGCOMM 2019)"}}};

std::span<const Row> rows_of(std::string_view name) {
  if (name == "web_search") return kWebSearch;
  if (name == "data_mining") return kDataMining;
  if (name == "hadoop") return kHadoop;
  if (name == "storage") return kStorage;
  return {};
}

}  // namespace

std::span<const PublishedSizes> published_sizes() { return kPublished; }

std::optional<SizeDistribution> published_distribution(std::string_view name) {
  const std::span<const Row> rows = rows_of(name);
  if (rows.empty()) return std::nullopt;
  std::vector<SizeDistribution::Point> points;
  for (const Row& row : rows) points.push_back({row.bytes, row.share * (SizeDistribution::kAll / 100'000)});
  return SizeDistribution(std::move(points));
}

}  // namespace wharf::workload
