// SPDX-License-Identifier: Apache-2.0
// The bytes that an explorer takes for the state of a machine: those that will behave differently have
// different ones, and what has passed without a trace leaves none.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "sim/coherence/directory.h"
#include "sim/coherence/home.h"
#include "sim/coherence/io_agent.h"
#include "sim/coherence/private_cache.h"
#include "sim/coherence/transition_test_support.h"

namespace wharf::sim {
namespace {

template <typename Machine>
std::vector<std::byte> state_of(const Machine& machine) {
  std::vector<std::byte> state;
  machine.append_state(state);
  return state;
}

template <typename Machine>
struct Named {
  std::string name;
  std::function<void(Machine&)> enter;
};

template <typename Machine, typename Make>
void expect_all_differ(const Make& make, const std::vector<Named<Machine>>& states) {
  std::vector<std::vector<std::byte>> seen;
  for (const auto& state : states) {
    Machine machine = make();
    state.enter(machine);
    seen.push_back(state_of(machine));
    for (std::size_t other = 0; other + 1 < seen.size(); ++other)
      EXPECT_NE(seen[other], seen.back()) << states[other].name << " and " << state.name;
  }
}

Directory directory() { return Directory(2, 2); }

std::function<void(Directory&)> lists(LineNumber line, std::uint64_t holders, bool is_owned) {
  return [=](Directory& it) { it.set(it.insert(line), holders, is_owned); };
}

TEST(MachineState, DirectoriesThatDifferHaveOtherBytes) {
  expect_all_differ<Directory>(directory, {{"none", [](Directory&) {}},
                                           {"held by none", lists(5, 0, false)},
                                           {"shared by 0", lists(5, 1, false)},
                                           {"owned by 0", lists(5, 1, true)},
                                           {"shared by 1", lists(5, 2, false)},
                                           {"owned by 1", lists(5, 2, true)},
                                           {"another line", lists(7, 1, false)},
                                           {"the other set", lists(4, 1, false)},
                                           {"two lines",
                                            [](Directory& it) {
                                              lists(5, 1, false)(it);
                                              lists(7, 2, false)(it);
                                            }},
                                           {"two lines, the first used last", [](Directory& it) {
                                              lists(5, 1, false)(it);
                                              lists(7, 2, false)(it);
                                              it.touch(it.find(5));
                                            }}});
}

TEST(MachineState, ADirectoryForgetsWhatWasErased) {
  Directory fresh = directory();
  lists(7, 2, true)(fresh);
  lists(5, 1, false)(fresh);
  Directory old = directory();
  lists(9, 3, false)(old);
  lists(5, 1, false)(old);
  old.erase(old.find(9));
  lists(7, 2, true)(old);
  old.touch(old.find(5));
  EXPECT_EQ(state_of(fresh), state_of(old));
}

IoAgent io_agent() {
  return IoAgent(0, {.operations = 8, .lines = 4, .credits = 8, .drops = DropNotice::kPassing});
}

/// Takes what came out.
void drain(IoAgent& it) {
  IoEvent event;
  while (it.next_event(event)) {
  }
  Message out;
  while (it.next_response(out) || it.next_request(out)) {
  }
}

void gets(IoAgent& it, Grant grant, LineNumber line = kLine, bool with_bytes = true) {
  Message answer = data(grant);
  answer.line = line;
  answer.has_data = with_bytes;
  it.receive(answer);
  drain(it);
}

void tracks(IoAgent& it, LineNumber line) {
  it.read(1, line, true);
  drain(it);
  gets(it, Grant::kShared, line);
}

void owns(IoAgent& it) {
  it.own(1, kLine, false);
  drain(it);
  gets(it, Grant::kModified);
}

void goes_home(IoAgent& it) {
  owns(it);
  it.perform_write(kLine, LineBytes{}, kWholeLineMask, false);
  drain(it);
}

TEST(MachineState, IoAgentsThatDifferHaveOtherBytes) {
  const auto asks = [](IoTag tag, LineNumber line, bool is_tracked) {
    return [=](IoAgent& it) {
      it.read(tag, line, is_tracked);
      drain(it);
    };
  };
  expect_all_differ<IoAgent>(io_agent, {{"idle", [](IoAgent&) {}},
                                        {"reading", asks(1, kLine, false)},
                                        {"reading for another", asks(2, kLine, false)},
                                        {"reading another line", asks(1, kLine + 1, false)},
                                        {"reading, tracked", asks(1, kLine, true)},
                                        {"reading, invalidated",
                                         [&](IoAgent& it) {
                                           asks(1, kLine, true)(it);
                                           it.receive(message(kInvalidate));
                                           drain(it);
                                         }},
                                        {"reading twice",
                                         [&](IoAgent& it) {
                                           asks(1, kLine, false)(it);
                                           asks(2, kLine, false)(it);
                                         }},
                                        {"request not sent", [](IoAgent& it) { it.read(1, kLine, false); }},
                                        {"event not taken",
                                         [&](IoAgent& it) {
                                           asks(1, kLine, false)(it);
                                           it.receive(data(Grant::kOnce));
                                         }},
                                        {"tracked", [](IoAgent& it) { tracks(it, kLine); }},
                                        {"another line tracked", [](IoAgent& it) { tracks(it, kLine + 1); }},
                                        {"two lines tracked",
                                         [](IoAgent& it) {
                                           tracks(it, kLine);
                                           tracks(it, kLine + 1);
                                         }},
                                        {"owning",
                                         [](IoAgent& it) {
                                           it.own(1, kLine, false);
                                           drain(it);
                                         }},
                                        {"owning, fetched",
                                         [](IoAgent& it) {
                                           it.own(1, kLine, false);
                                           it.receive(message(kFetchShared));
                                           drain(it);
                                         }},
                                        {"owned", owns},
                                        {"owned twice",
                                         [](IoAgent& it) {
                                           owns(it);
                                           it.own(2, kLine, false);
                                           drain(it);
                                         }},
                                        {"owned with other bytes",
                                         [](IoAgent& it) {
                                           owns(it);
                                           LineBytes ones{};
                                           ones.fill(std::byte{1});
                                           it.perform_write(kLine, ones, kWholeLineMask, true);
                                         }},
                                        {"owned without bytes",
                                         [](IoAgent& it) {
                                           it.own(1, kLine, true);
                                           drain(it);
                                           gets(it, Grant::kModified, kLine, false);
                                         }},
                                        {"owned and tracked",
                                         [](IoAgent& it) {
                                           tracks(it, kLine);
                                           owns(it);
                                         }},
                                        {"going home", goes_home},
                                        {"going home and taken", [](IoAgent& it) {
                                           goes_home(it);
                                           it.receive(message(kFetchModified));
                                           drain(it);
                                         }}});
}

TEST(MachineState, AnIoAgentForgetsWhatHasEnded) {
  IoAgent fresh = io_agent();
  tracks(fresh, kLine);
  IoAgent old = io_agent();
  tracks(old, kLine + 2);  // In the place where `fresh` has its line.
  tracks(old, kLine);
  old.drop_tracking(kLine + 2);
  drain(old);
  EXPECT_EQ(state_of(fresh), state_of(old));
  // Where lines lie is no matter either.
  tracks(fresh, kLine + 1);
  IoAgent turned = io_agent();
  tracks(turned, kLine + 1);
  tracks(turned, kLine);
  EXPECT_EQ(state_of(fresh), state_of(turned));
}

TEST(MachineState, AnIoAgentForgetsThatATrackedLineWasWritten) {
  IoAgent fresh = io_agent();
  tracks(fresh, kLine);
  IoAgent old = io_agent();
  tracks(old, kLine);
  goes_home(old);
  Message done = message(kPutDone);
  done.answers = kPutModified;
  old.receive(done);
  drain(old);
  EXPECT_TRUE(old.is_tracked(kLine));
  EXPECT_EQ(state_of(fresh), state_of(old));
}

/// The home takes a request, and memory answers.
void serve(Home& it, AgentId agent, MessageKind kind, LineNumber line = kLine) {
  Message request = message(kind);
  request.line = line;
  request.agent = agent;
  it.receive(request);
  const LineBytes bytes{};
  for (MemoryAccess access; it.next_memory_access(access);)
    it.memory_done(access.line, access.is_write ? nullptr : &bytes);
  for (Message out; it.next_response(out);) {
  }
}

TEST(MachineState, HomesThatDifferHaveOtherBytes) {
  expect_all_differ<Home>(
      [] {
        return Home({.credits = {8, 8}});
      },
      {{"none", [](Home&) {}},
       {"shared by 0", [](Home& it) { serve(it, 0, kGetTracked); }},
       {"owned by 0", [](Home& it) { serve(it, 0, kGetModified); }},
       {"shared by 1", [](Home& it) { serve(it, 1, kGetTracked); }},
       {"owned by 1", [](Home& it) { serve(it, 1, kGetModified); }},
       {"another line", [](Home& it) { serve(it, 0, kGetTracked, kLine + 1); }},
       {"shared by both",
        [](Home& it) {
          serve(it, 0, kGetTracked);
          serve(it, 1, kGetTracked);
        }},
       {"waits for an owner",
        [](Home& it) {
          serve(it, 0, kGetModified);
          serve(it, 1, kGetTracked);
        }},
       {"another waits for an owner",
        [](Home& it) {
          serve(it, 0, kGetModified);
          serve(it, 1, kGetModified);
        }},
       {"one more behind it", [](Home& it) {
          serve(it, 0, kGetModified);
          serve(it, 1, kGetModified);
          serve(it, 1, kReadOnce);
        }}});
}

PrivateCache private_cache() {
  return PrivateCache(
      0, {.lines = {.level1_sets = 1, .level1_ways = 0, .level2_sets = 1, .level2_ways = 1}, .credits = 8});
}

// What waits for a line differs by all that it will do when the line is there.
TEST(MachineState, CachesWhoseAccessesWaitHaveOtherBytes) {
  const auto changes = [](AtomicOperation operation, std::uint64_t address = kAddress) {
    return [=](PrivateCache& it) {
      std::uint64_t old = 0;
      EXPECT_EQ(it.atomic(1, address, 8, operation, old), CacheOutcome::kPending);
    };
  };
  const auto stores = [](std::uint8_t value) {
    return [=](PrivateCache& it) {
      const std::array<std::byte, 8> bytes{std::byte{value}};
      EXPECT_EQ(it.store(1, kAddress, bytes), CacheOutcome::kPending);
    };
  };
  expect_all_differ<PrivateCache>(private_cache,
                                  {{"idle", [](PrivateCache&) {}},
                                   {"adds 1", changes({AtomicKind::kFetchAdd, 1, 0})},
                                   {"adds 2", changes({AtomicKind::kFetchAdd, 2, 0})},
                                   {"swaps 1", changes({AtomicKind::kSwap, 1, 0})},
                                   {"compares 0 and swaps 1", changes({AtomicKind::kCompareSwap, 1, 0})},
                                   {"compares 3 and swaps 1", changes({AtomicKind::kCompareSwap, 1, 3})},
                                   {"adds 1 elsewhere", changes({AtomicKind::kFetchAdd, 1, 0}, kAddress + 8)},
                                   {"stores 1", stores(1)},
                                   {"stores 2", stores(2)}});
}

// What stands in a cache's queues, of each alone: the request, the data's answer to the core, the answer to a
// snoop.
TEST(MachineState, CachesThatHaveSentOrNotHaveOtherBytes) {
  const auto load = [](PrivateCache& it) {
    std::array<std::byte, 8> value;
    EXPECT_EQ(it.load(1, kAddress, 8, value.data()), CacheOutcome::kPending);
  };
  const auto ask = [=](PrivateCache& it) {
    load(it);
    Message request;
    ASSERT_TRUE(it.next_request(request));
  };
  const auto fill = [=](PrivateCache& it) {
    ask(it);
    Message data;
    data.line = kAddress / kLineBytes;
    data.kind = MessageKind::kData;
    data.grant = Grant::kShared;
    data.has_data = true;
    it.receive(data);
  };
  const auto tell = [=](PrivateCache& it) {
    fill(it);
    CacheAnswer answer;
    ASSERT_TRUE(it.next_answer(answer));
  };
  const auto lose = [=](PrivateCache& it) {
    tell(it);
    Message snoop;
    snoop.line = kAddress / kLineBytes;
    snoop.kind = MessageKind::kInvalidate;
    it.receive(snoop);
  };
  const auto confess = [=](PrivateCache& it) {
    lose(it);
    Message response;
    ASSERT_TRUE(it.next_response(response));
  };
  expect_all_differ<PrivateCache>(private_cache, {{"idle", [](PrivateCache&) {}},
                                                  {"loads", load},
                                                  {"has asked", ask},
                                                  {"has the line", fill},
                                                  {"has told the core", tell},
                                                  {"has lost the line", lose}});
  PrivateCache done = private_cache();
  confess(done);
  PrivateCache waits = private_cache();
  lose(waits);
  EXPECT_NE(state_of(done), state_of(waits));
}

TEST(Messages, AreDescribedByWhatTheyCarry) {
  Message message;
  message.kind = MessageKind::kData;
  message.agent = 3;
  message.line = 42;
  message.grant = Grant::kExclusive;
  EXPECT_EQ(describe(message), "Data agent 3 line 42 exclusive");
  message.is_dirty = true;
  message.has_data = true;
  message.data[0] = std::byte{0xab};
  EXPECT_EQ(describe(message), "Data agent 3 line 42 exclusive dirty [ab...]");
  message = {};
  message.kind = MessageKind::kInvalidate;
  message.agent = 1;
  message.line = 2;
  message.wants_data = true;
  EXPECT_EQ(describe(message), "Invalidate agent 1 line 2 wants-data");
}

}  // namespace
}  // namespace wharf::sim
