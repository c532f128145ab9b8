// SPDX-License-Identifier: Apache-2.0
// What a private cache does in each state on each message and access that can meet it there, as text beside
// what is expected.
#include "sim/coherence/private_cache.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/coherence/transition_test_support.h"

namespace wharf::sim {
namespace {

class CacheRow {
 public:
  CacheRow() : cache_(0, config()) {}

  void load() { (void)cache_.load(1, kAddress, 8, value_); }
  void store() { (void)cache_.store(2, kAddress, value_); }
  void load_uncached() { (void)cache_.load_uncached(3, kAddress, 8, value_); }
  void flush() { (void)cache_.flush(4, kLine); }
  void receive(const Message& message) { cache_.receive(message); }
  /// What came out since the last call, and the state.
  std::string outcome() {
    std::string text;
    Message message;
    while (cache_.next_response(message)) text += brief(message) + ", ";
    while (cache_.next_request(message)) text += brief(message) + ", ";
    CacheAnswer answer;
    while (cache_.next_answer(answer)) text += fmt::format("answer {}, ", answer.ticket);
    return text + std::string(cache_.state_name(kLine));
  }

 private:
  static PrivateCacheConfig config() {
    return {.lines = {.level1_sets = 1, .level1_ways = 0, .level2_sets = 1, .level2_ways = 1}, .credits = 8};
  }

  PrivateCache cache_;
  std::byte value_[8] = {};
};

using CacheEvent = std::pair<std::string, std::function<void(CacheRow&)>>;

CacheEvent arrives(const Message& message) {
  return {brief(message), [message](CacheRow& row) { row.receive(message); }};
}

struct CacheState {
  std::string name;
  std::function<void(CacheRow&)> enter;
  std::vector<CacheEvent> events;
};

std::vector<CacheState> cache_states() {
  const CacheEvent load = {"load", &CacheRow::load};
  const CacheEvent store = {"store", &CacheRow::store};
  const CacheEvent flush = {"flush", &CacheRow::flush};
  const CacheEvent invalidate = arrives(message(kInvalidate));
  const CacheEvent invalidate_wants = arrives(message(kInvalidate, true));
  const CacheEvent supply = arrives(message(kSupply));
  const CacheEvent once = arrives(message(kFetchOnce));
  const CacheEvent shared = arrives(message(kFetchShared));
  const CacheEvent modified = arrives(message(kFetchModified));
  const CacheEvent done = arrives(message(kPutDone));
  const auto get = [](Grant grant) {
    return [grant](CacheRow& row) {
      grant == Grant::kModified ? row.store() : row.load();
      row.receive(data(grant));
    };
  };
  const auto put = [get](Grant grant) {
    return [get, grant](CacheRow& row) {
      get(grant)(row);
      row.flush();
    };
  };
  const auto overtaken = [](CacheRow& row) {
    row.load();
    row.receive(message(kInvalidate));
  };
  const auto upgrading = [get](CacheRow& row) {
    get(Grant::kShared)(row);
    row.store();
  };
  const auto waiting = [put](CacheRow& row) {
    put(Grant::kModified)(row);
    row.load();
  };
  const auto taken = [put](CacheRow& row) {
    put(Grant::kModified)(row);
    row.receive(message(kFetchModified));
  };
  return {
      {"I",
       [](CacheRow&) {},
       {load, store, {"uncached load", &CacheRow::load_uncached}, flush, invalidate, supply}},
      {"S", get(Grant::kShared), {load, store, flush, invalidate, invalidate_wants, supply}},
      {"E", get(Grant::kExclusive), {load, store, flush, once, shared, modified}},
      {"M", get(Grant::kModified), {load, store, flush, once, shared, modified}},
      {"IS",
       &CacheRow::load,
       {load, store, flush, invalidate, supply, once, shared, modified, arrives(data(Grant::kShared)),
        arrives(data(Grant::kExclusive))}},
      {"ISI", overtaken, {load, flush, supply, arrives(data(Grant::kShared))}},
      {"IM",
       &CacheRow::store,
       {load, flush, invalidate, supply, once, shared, modified, arrives(data(Grant::kModified))}},
      {"SM",
       upgrading,
       {load, flush, invalidate, invalidate_wants, supply, once, shared, modified,
        arrives(message(kUpgradeDone))}},
      {"IO", &CacheRow::load_uncached, {load, store, flush, invalidate, supply, arrives(data(Grant::kOnce))}},
      {"WP", waiting, {load, flush, once, shared, modified, done}},
      {"PS", put(Grant::kShared), {load, flush, invalidate, invalidate_wants, supply, done}},
      {"PE", put(Grant::kExclusive), {once, shared, modified, done}},
      {"PM", put(Grant::kModified), {once, shared, modified, done}},
      {"T", taken, {load, invalidate, supply, done}},
  };
}

TEST(Transitions, PrivateCache) {
  std::string text;
  for (const CacheState& state : cache_states()) {
    for (const CacheEvent& event : state.events) {
      CacheRow row;
      state.enter(row);
      row.outcome();
      event.second(row);
      text += fmt::format("{} | {} | {}\n", state.name, event.first, row.outcome());
    }
  }
  EXPECT_EQ(text, R"(I | load | GetShared, IS
I | store | GetModified, IM
I | uncached load | ReadOnce, IO
I | flush | I
I | Invalidate | SnoopAck, I
I | Supply | SnoopAck, I
S | load | S
S | store | Upgrade, SM
S | flush | PutShared, PS
S | Invalidate | SnoopAck, I
S | Invalidate wants | SnoopData, I
S | Supply | SnoopData keeps, S
E | load | E
E | store | M
E | flush | PutClean, PE
E | FetchOnce | SnoopData keeps, E
E | FetchShared | SnoopData keeps, S
E | FetchModified | SnoopData, I
M | load | M
M | store | M
M | flush | PutModified, PM
M | FetchOnce | SnoopData dirty keeps, M
M | FetchShared | SnoopData dirty keeps, S
M | FetchModified | SnoopData dirty, I
IS | load | IS
IS | store | IS
IS | flush | IS
IS | Invalidate | SnoopAck, ISI
IS | Supply | SnoopAck keeps, IS
IS | FetchOnce | IS
IS | FetchShared | IS
IS | FetchModified | IS
IS | Data shared | answer 1, S
IS | Data exclusive | answer 1, E
ISI | load | ISI
ISI | flush | ISI
ISI | Supply | SnoopAck keeps, ISI
ISI | Data shared | answer 1, I
IM | load | IM
IM | flush | IM
IM | Invalidate | SnoopAck, IM
IM | Supply | SnoopAck keeps, IM
IM | FetchOnce | IM
IM | FetchShared | IM
IM | FetchModified | IM
IM | Data modified | answer 2, M
SM | load | SM
SM | flush | SM
SM | Invalidate | SnoopAck, IM
SM | Invalidate wants | SnoopData, IM
SM | Supply | SnoopData keeps, SM
SM | FetchOnce | SM
SM | FetchShared | SM
SM | FetchModified | SM
SM | UpgradeDone | answer 2, M
IO | load | IO
IO | store | IO
IO | flush | IO
IO | Invalidate | SnoopAck, IO
IO | Supply | SnoopAck keeps, IO
IO | Data once | answer 3, I
WP | load | WP
WP | flush | WP
WP | FetchOnce | SnoopData dirty, WP
WP | FetchShared | SnoopData dirty, WP
WP | FetchModified | SnoopData dirty, WP
WP | PutDone | GetShared, answer 4, IS
PS | load | WP
PS | flush | PS
PS | Invalidate | SnoopAck, T
PS | Invalidate wants | SnoopData, T
PS | Supply | SnoopData, PS
PS | PutDone | answer 4, I
PE | FetchOnce | SnoopData, PE
PE | FetchShared | SnoopData, T
PE | FetchModified | SnoopData, T
PE | PutDone | answer 4, I
PM | FetchOnce | SnoopData dirty, PM
PM | FetchShared | SnoopData dirty, T
PM | FetchModified | SnoopData dirty, T
PM | PutDone | answer 4, I
T | load | WP
T | Invalidate | SnoopAck, T
T | Supply | SnoopAck, T
T | PutDone | answer 4, I
)");
}

/// Fetches that overtook the bytes are answered when these are there and used.
TEST(Transitions, PrivateCacheAnswersADeferredFetchAfterItsAccesses) {
  std::string text;
  for (MessageKind snoop : {kFetchOnce, kFetchShared, kFetchModified}) {
    for (Grant grant : {Grant::kExclusive, Grant::kModified}) {
      CacheRow row;
      grant == Grant::kModified ? row.store() : row.load();
      row.receive(message(snoop));
      row.outcome();
      row.receive(data(grant));
      text += fmt::format("{} before {} | {}\n", name_of(snoop), name_of(grant), row.outcome());
    }
  }
  EXPECT_EQ(text, R"(FetchOnce before exclusive | SnoopData keeps, answer 1, E
FetchOnce before modified | SnoopData dirty keeps, answer 2, M
FetchShared before exclusive | SnoopData keeps, answer 1, S
FetchShared before modified | SnoopData dirty keeps, answer 2, S
FetchModified before exclusive | SnoopData, answer 1, I
FetchModified before modified | SnoopData dirty, answer 2, I
)");
}

// Capacity, order and levels.

Message grant_of(LineNumber line, Grant grant) {
  Message out = data(grant);
  out.line = line;
  return out;
}

/// Loads that miss get their line at once.
CacheOutcome load_now(PrivateCache& cache, LineNumber line) {
  std::byte value[8];
  const CacheOutcome outcome = cache.load(line, line * kLineBytes, 8, value);
  if (outcome != CacheOutcome::kPending) return outcome;
  for (Message out; cache.next_request(out);) {
    Message answer = grant_of(out.line, Grant::kShared);
    if (is_put(out.kind)) answer.kind = kPutDone;
    cache.receive(answer);
  }
  CacheAnswer answer;
  while (cache.next_answer(answer)) {
  }
  return outcome;
}

TEST(PrivateCache, LevelOneIsAPartOfLevelTwoAndTheLeastRecentlyUsedLineLeaves) {
  PrivateCache cache(0, {.lines = {.level1_sets = 1, .level1_ways = 1, .level2_sets = 1, .level2_ways = 2}});
  EXPECT_EQ(load_now(cache, 1), CacheOutcome::kPending);
  EXPECT_EQ(load_now(cache, 1), CacheOutcome::kLevel1);
  EXPECT_EQ(load_now(cache, 2), CacheOutcome::kPending);
  EXPECT_EQ(load_now(cache, 1), CacheOutcome::kLevel2);
  EXPECT_EQ(load_now(cache, 1), CacheOutcome::kLevel1);
  EXPECT_EQ(load_now(cache, 3), CacheOutcome::kPending);
  EXPECT_EQ(cache.state(2), CopyState::kInvalid);
  EXPECT_EQ(load_now(cache, 1), CacheOutcome::kLevel2);
  EXPECT_EQ(load_now(cache, 3), CacheOutcome::kLevel2);
  EXPECT_EQ(cache.statistics().level1_hits, 2u);
  EXPECT_EQ(cache.statistics().evictions, 1u);
}

TEST(PrivateCache, SaysWhichCopyAnInputCost) {
  PrivateCache cache(0, {.lines = {.level1_sets = 1, .level1_ways = 0, .level2_sets = 1, .level2_ways = 1}});
  load_now(cache, kLine);
  EXPECT_FALSE(cache.lost_copy().has_value());
  cache.receive(message(kInvalidate));
  EXPECT_EQ(cache.lost_copy(), std::optional<LineNumber>(kLine));
  load_now(cache, 1);
  std::byte value[8];
  EXPECT_EQ(cache.load(9, 2 * kLineBytes, 8, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.lost_copy(), std::optional<LineNumber>(1));
}

TEST(PrivateCache, RefusesWhatItHasNoPlaceFor) {
  PrivateCache cache(0, {.lines = {.level1_sets = 1, .level1_ways = 0, .level2_sets = 1, .level2_ways = 2},
                         .misses = 2,
                         .targets = 2,
                         .evictions = 1});
  std::byte value[8] = {};
  EXPECT_EQ(cache.load(1, 1 * kLineBytes, 8, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.load(2, 1 * kLineBytes, 8, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.load(3, 1 * kLineBytes, 8, value), CacheOutcome::kRefused);  // No target is left.
  EXPECT_EQ(cache.store(4, 2 * kLineBytes, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.load(5, 3 * kLineBytes, 8, value), CacheOutcome::kRefused);  // No register is left.
  EXPECT_EQ(cache.flush(6, 1), CacheOutcome::kRefused);                        // Accesses are pending.
  Message request;
  while (cache.next_request(request)) {
  }
  cache.receive(grant_of(1, Grant::kShared));
  cache.receive(grant_of(2, Grant::kModified));
  EXPECT_EQ(cache.load(7, 3 * kLineBytes, 8, value), CacheOutcome::kPending);  // Evicts line 1.
  EXPECT_EQ(cache.load(8, 4 * kLineBytes, 8, value), CacheOutcome::kRefused);  // No eviction slot is left.
  Message done = message(kPutDone);
  done.line = 1;
  cache.receive(done);
  EXPECT_EQ(cache.load(9, 4 * kLineBytes, 8, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.statistics().refusals, 4u);
}

TEST(PrivateCache, RequestsWaitForCredits) {
  PrivateCache cache(0, {.lines = {}, .credits = 1});
  std::byte value[8] = {};
  EXPECT_EQ(cache.load(1, 1 * kLineBytes, 8, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.load(2, 2 * kLineBytes, 8, value), CacheOutcome::kPending);
  Message out;
  EXPECT_TRUE(cache.next_request(out));
  EXPECT_EQ(out.line, 1u);
  EXPECT_FALSE(cache.next_request(out));
  cache.receive(grant_of(1, Grant::kShared));
  EXPECT_TRUE(cache.next_request(out));
  EXPECT_EQ(out.line, 2u);
}

TEST(PrivateCache, AccessesToALineAreDoneInOrder) {
  PrivateCache cache(0, PrivateCacheConfig{});
  std::byte value[8] = {std::byte{7}};
  std::uint64_t old = 0;
  EXPECT_EQ(cache.load(1, kAddress, 8, value), CacheOutcome::kPending);
  value[0] = std::byte{7};
  EXPECT_EQ(cache.store(2, kAddress, value), CacheOutcome::kPending);
  EXPECT_EQ(cache.atomic(3, kAddress, 8, {AtomicKind::kFetchAdd, 5, 0}, old), CacheOutcome::kPending);
  EXPECT_EQ(cache.load(4, kAddress, 8, value), CacheOutcome::kPending);
  cache.receive(data(Grant::kExclusive));
  CacheAnswer answer;
  for (const auto& [ticket, found] : {std::pair(1, 0), {2, 0}, {3, 7}, {4, 12}}) {
    ASSERT_TRUE(cache.next_answer(answer));
    EXPECT_EQ(answer.ticket, static_cast<Ticket>(ticket));
    EXPECT_EQ(answer.bytes[0], static_cast<std::byte>(found));
  }
  EXPECT_EQ(cache.atomic(5, kAddress, 8, {AtomicKind::kCompareSwap, 1, 12}, old), CacheOutcome::kLevel1);
  EXPECT_EQ(old, 12u);
}

}  // namespace
}  // namespace wharf::sim
