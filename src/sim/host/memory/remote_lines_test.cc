// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/remote_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>

#include "base/line.h"
#include "base/random.h"

namespace wharf::sim {
namespace {

/// What a load/store port does with its lines, next to a model that only knows values: every hit must find
/// the value that was stored last, and every line that leaves dirty must carry it to the remote.
class Follower {
 public:
  Follower(const CacheHierarchyConfig& config, std::uint64_t seed)
      : caches_(CacheHierarchy::create(config).value()), lines_(caches_), random_(seed, "lines") {}

  void step() {
    // A few lines that hit, among so many that those which lie aside must be dropped from time to time.
    const LineNumber number = random_.below(2) == 0 ? random_.below(kLinesUsedOften) : random_.below(kLines);
    const std::uint64_t what = random_.below(100);
    if (what < 10) {
      access(number, random_.below(2) == 0);  // A local line.
    } else if (what < 12) {
      caches_.clean_all([&](LineNumber line) { write_back(line); });
    } else if (what < 25) {
      if (!pinned_.empty()) repeat_write_back(*pinned_.begin());
    } else {
      access(number | kRemoteLineBit, random_.below(3) == 0);
    }
  }
  std::uint32_t aside() const { return lines_.aside(); }
  int hits() const { return hits_; }
  int written() const { return written_; }

 private:
  static constexpr std::uint64_t kLines = 2000;
  static constexpr std::uint64_t kLinesUsedOften = 24;

  void access(LineNumber line, bool store) {
    const bool remote = (line & kRemoteLineBit) != 0;
    if (pinned_.contains(line) && !caches_.contains(line)) return;  // The port lets such a call wait.
    WriteBacks out;
    const CacheAccess access = caches_.access(line, store, out);
    if (access.needs_fill && !remote) caches_.fill(line, store, out);
    lines_.settle(out);
    if (remote && !access.needs_fill) {
      ++hits_;
      ASSERT_EQ(value(line), current_[line]);
      if (store) set(line, ++current_[line]);
    }
    send(out);
    if (!remote || !access.needs_fill) return;
    ASSERT_EQ(remote_[line], current_[line]) << "what was stored has been lost";
    WriteBacks displaced;
    caches_.fill(line, store, displaced);
    lines_.settle(displaced);
    set(line, store ? ++current_[line] : current_[line]);
    *lines_.find(line).token = token_of(line);
    send(displaced);
  }
  void send(const WriteBacks& out) {
    for (std::uint32_t i = 0; i < out.count; ++i) {
      if ((out.lines[i] & kRemoteLineBit) != 0) write_back(out.lines[i]);
    }
  }
  void write_back(LineNumber line) {
    if ((line & kRemoteLineBit) == 0) return;
    if (pinned_.contains(line) || random_.below(4) == 0) {
      pinned_.insert(line);
      lines_.pin(line);
      return;
    }
    store_remotely(line);
  }
  void repeat_write_back(LineNumber line) {
    pinned_.erase(line);
    store_remotely(line);
  }
  void store_remotely(LineNumber line) {
    ++written_;
    remote_[line] = value(line);
    ASSERT_EQ(remote_[line], current_[line]);
    ASSERT_EQ(lines_.find(line).token->value, token_of(line).value);
    lines_.release(line);
  }
  static verbs::SegmentToken token_of(LineNumber line) {
    return {1, static_cast<std::uint32_t>(line & 0xffffU) + 7};
  }
  /// The first eight bytes; the last eight repeat them, so that a torn copy shows.
  std::uint64_t value(LineNumber line) {
    const RemoteLines::Line found = lines_.find(line);
    if (found.bytes == nullptr) return ~std::uint64_t{0};
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, found.bytes->data(), 8);
    std::memcpy(&last, found.bytes->data() + kLineBytes - 8, 8);
    return first == last ? first : ~std::uint64_t{0} - 1;
  }
  void set(LineNumber line, std::uint64_t value) {
    const RemoteLines::Line found = lines_.find(line);
    ASSERT_NE(found.bytes, nullptr);
    std::memcpy(found.bytes->data(), &value, 8);
    std::memcpy(found.bytes->data() + kLineBytes - 8, &value, 8);
  }

  CacheHierarchy caches_;
  RemoteLines lines_;
  RandomStream random_;
  std::map<LineNumber, std::uint64_t> current_;
  std::map<LineNumber, std::uint64_t> remote_;
  std::set<LineNumber> pinned_;  ///< Lines whose write-back must be repeated.
  int hits_ = 0;
  int written_ = 0;
};

CacheHierarchyConfig shapes(CacheShape l1, CacheShape l2, CacheShape llc) {
  CacheHierarchyConfig config;
  config.l1.shape = l1;
  config.l2.shape = l2;
  config.llc.shape = llc;
  return config;
}

TEST(RemoteLines, KeepEveryValueWhateverTheCachesLookLike) {
  const std::map<std::string, CacheHierarchyConfig> cases{
      {"one level", shapes({8, 2}, {0, 0}, {0, 0})},
      {"two levels", shapes({8, 2}, {32, 4}, {0, 0})},
      {"three levels", shapes({4, 2}, {8, 4}, {32, 16})},
      {"last level direct-mapped and small", shapes({16, 4}, {4, 1}, {0, 0})},
      {"three levels, all direct-mapped", shapes({8, 1}, {8, 1}, {8, 1})},
      {"last level fully associative", shapes({8, 2}, {40, 40}, {0, 0})},
      {"first level larger than the last", shapes({40, 40}, {8, 2}, {0, 0})},
  };
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    Follower follower(config, 7);
    for (int i = 0; i < 30'000; ++i) {
      follower.step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(follower.hits(), 500);
    EXPECT_GT(follower.written(), 500);
    EXPECT_LE(follower.aside(), 400U);
  }
}

TEST(RemoteLines, ForgetWhatLeftTheCaches) {
  CacheHierarchy caches = CacheHierarchy::create(shapes({2, 2}, {4, 4}, {0, 0})).value();
  RemoteLines lines(caches);
  for (LineNumber line = 0; line < 10; ++line) {
    WriteBacks out;
    caches.fill(line | kRemoteLineBit, false, out);
    lines.settle(out);
    ASSERT_NE(lines.find(line | kRemoteLineBit).bytes, nullptr);
  }
  EXPECT_EQ(lines.find(0 | kRemoteLineBit).bytes, nullptr);
  EXPECT_EQ(lines.aside(), 0U);
}

}  // namespace
}  // namespace wharf::sim
