// SPDX-License-Identifier: Apache-2.0
// What the home and an I/O agent do in each state on each message and call that can meet them there, as text
// beside what is expected.
#include "sim/coherence/home.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/coherence/io_agent.h"
#include "sim/coherence/transition_test_support.h"

namespace wharf::sim {
namespace {

/// A home whose partners answer at once: owners with dirty bytes, sharers without, memory when it is asked.
class HomeRow {
 public:
  HomeRow()
      : home_(HomeConfig{.directory_sets = 1, .directory_ways = 1, .credits = {8, 8, 8}, .suppliers = 4}) {}

  void request(AgentId agent, MessageKind kind, LineNumber line = kLine) {
    Message out = message(kind);
    out.line = line;
    out.agent = agent;
    out.has_data = kind == kPutModified;
    home_.receive(out);
    settle();
  }
  /// What went out since the last call, and what the directory says.
  std::string outcome() {
    std::string text = std::move(text_);
    text_.clear();
    const std::uint32_t place = home_.directory().find(kLine);
    if (place == Directory::kNoPlace) return text + "none";
    return text + fmt::format("{} {:#x}", home_.directory().is_owned(place) ? "owned" : "shared",
                              home_.directory().holders(place));
  }
  bool owner_is_clean = false;

 private:
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      Message out;
      while (home_.next_response(out)) text_ += fmt::format("{} to {}, ", brief(out), out.agent);
      MemoryAccess access;
      while (home_.next_memory_access(access)) {
        text_ += access.is_write ? "write, " : "read, ";
        const LineBytes bytes{};
        home_.memory_done(access.line, access.is_write ? nullptr : &bytes);
        moved = true;
      }
      while (home_.next_snoop(out)) {
        text_ += fmt::format("{} to {}, ", brief(out), out.agent);
        answer(out);
        moved = true;
      }
    }
  }
  void answer(const Message& snoop) {
    Message out = snoop;
    out.wants_data = false;
    const bool is_fetch = snoop.kind != kInvalidate && snoop.kind != kSupply;
    const bool sends = is_fetch ? !owner_is_clean : snoop.wants_data || snoop.kind == kSupply;
    out.kind = sends ? kSnoopData : kSnoopAck;
    out.has_data = sends;
    out.is_dirty = sends && is_fetch;
    out.keeps_shared = snoop.kind == kFetchShared;
    home_.receive(out);
  }

  Home home_;
  std::string text_;
};

TEST(Transitions, Home) {
  const std::vector<std::pair<std::string, std::function<void(HomeRow&)>>> states = {
      {"none", [](HomeRow&) {}},
      {"shared by 1", [](HomeRow& row) { row.request(1, kGetTracked); }},
      {"shared by 0 and 2",
       [](HomeRow& row) {
         row.request(0, kGetTracked);
         row.request(2, kGetTracked);
       }},
      {"owned by 1", [](HomeRow& row) { row.request(1, kGetModified); }},
  };
  std::string text;
  for (const auto& [name, enter] : states) {
    for (MessageKind kind : {kGetShared, kGetTracked, kGetModified, kUpgrade, kWriteLine, kReadOnce,
                             kPutShared, kPutClean, kPutModified, kDropShared}) {
      HomeRow row;
      enter(row);
      row.outcome();
      row.request(0, kind);
      text += fmt::format("{} | {} | {}\n", name, name_of(kind), row.outcome());
    }
  }
  EXPECT_EQ(text, R"(none | GetShared | read, Data exclusive to 0, owned 0x1
none | GetTracked | read, Data shared to 0, shared 0x1
none | GetModified | read, Data modified to 0, owned 0x1
none | Upgrade | read, Data modified to 0, owned 0x1
none | WriteLine | Data modified without bytes to 0, owned 0x1
none | ReadOnce | read, Data once to 0, none
none | PutShared | PutDone to 0, none
none | PutClean | PutDone to 0, none
none | PutModified | PutDone to 0, none
none | DropShared | none
shared by 1 | GetShared | read, Data shared to 0, shared 0x3
shared by 1 | GetTracked | read, Data shared to 0, shared 0x3
shared by 1 | GetModified | read, Invalidate to 1, Data modified to 0, owned 0x1
shared by 1 | Upgrade | read, Invalidate to 1, Data modified to 0, owned 0x1
shared by 1 | WriteLine | Invalidate to 1, Data modified without bytes to 0, owned 0x1
shared by 1 | ReadOnce | read, Data once to 0, shared 0x2
shared by 1 | PutShared | PutDone to 0, shared 0x2
shared by 1 | PutClean | PutDone to 0, shared 0x2
shared by 1 | PutModified | PutDone to 0, shared 0x2
shared by 1 | DropShared | shared 0x2
shared by 0 and 2 | GetShared | Supply to 2, Data shared to 0, shared 0x5
shared by 0 and 2 | GetTracked | Supply to 2, Data shared to 0, shared 0x5
shared by 0 and 2 | GetModified | Invalidate wants to 2, Data modified to 0, owned 0x1
shared by 0 and 2 | Upgrade | Invalidate to 2, UpgradeDone to 0, owned 0x1
shared by 0 and 2 | WriteLine | Invalidate to 2, Data modified without bytes to 0, owned 0x1
shared by 0 and 2 | ReadOnce | Supply to 2, Data once to 0, shared 0x5
shared by 0 and 2 | PutShared | PutDone to 0, shared 0x4
shared by 0 and 2 | PutClean | PutDone to 0, shared 0x5
shared by 0 and 2 | PutModified | PutDone to 0, shared 0x5
shared by 0 and 2 | DropShared | shared 0x4
owned by 1 | GetShared | FetchShared to 1, Data shared to 0, write, shared 0x3
owned by 1 | GetTracked | FetchShared to 1, Data shared to 0, write, shared 0x3
owned by 1 | GetModified | FetchModified to 1, Data modified to 0, owned 0x1
owned by 1 | Upgrade | FetchModified to 1, Data modified to 0, owned 0x1
owned by 1 | WriteLine | FetchModified to 1, Data modified to 0, owned 0x1
owned by 1 | ReadOnce | FetchOnce to 1, Data once to 0, owned 0x2
owned by 1 | PutShared | PutDone to 0, owned 0x2
owned by 1 | PutClean | PutDone to 0, owned 0x2
owned by 1 | PutModified | PutDone to 0, owned 0x2
owned by 1 | DropShared | owned 0x2
)");
}

TEST(Transitions, HomeEndsOwnershipAndRecalls) {
  std::string text;
  const auto row_of = [&text](const char* name, const std::function<void(HomeRow&)>& act) {
    HomeRow row;
    act(row);
    text += fmt::format("{} | {}\n", name, row.outcome());
  };
  row_of("owner puts clean", [](HomeRow& row) {
    row.request(0, kGetShared);
    row.outcome();
    row.request(0, kPutClean);
  });
  row_of("owner puts modified", [](HomeRow& row) {
    row.request(0, kGetModified);
    row.outcome();
    row.request(0, kPutModified);
  });
  row_of("clean owner is fetched shared", [](HomeRow& row) {
    row.request(1, kGetShared);
    row.outcome();
    row.owner_is_clean = true;
    row.request(0, kGetShared);
  });
  row_of("clean owner is fetched modified", [](HomeRow& row) {
    row.request(1, kGetShared);
    row.outcome();
    row.owner_is_clean = true;
    row.request(0, kGetModified);
  });
  row_of("owned entry is recalled", [](HomeRow& row) {
    row.request(1, kGetModified);
    row.outcome();
    row.request(0, kGetShared, kLine + 1);
  });
  row_of("shared entry is recalled", [](HomeRow& row) {
    row.request(1, kGetTracked);
    row.request(2, kGetTracked);
    row.outcome();
    row.request(0, kGetShared, kLine + 1);
  });
  EXPECT_EQ(text, R"(owner puts clean | PutDone to 0, none
owner puts modified | PutDone to 0, write, none
clean owner is fetched shared | FetchShared to 1, read, Data shared to 0, shared 0x3
clean owner is fetched modified | FetchModified to 1, read, Data modified to 0, owned 0x1
owned entry is recalled | FetchModified to 1, write, read, Data exclusive to 0, none
shared entry is recalled | Invalidate to 1, Invalidate to 2, read, Data exclusive to 0, none
)");
}

// I/O agent.

class IoRow {
 public:
  IoRow()
      : agent_(0, IoAgentConfig{.operations = 4, .lines = 4, .credits = 8, .drops = DropNotice::kAnswered}) {}

  void read() { agent_.read(1, kLine, false); }
  void read_tracked() { agent_.read(2, kLine, true); }
  void own() { agent_.own(3, kLine, false); }
  void own_whole() { agent_.own(4, kLine, true); }
  void write() { agent_.perform_write(kLine, LineBytes{}, kWholeLineMask, false); }
  void write_and_keep() { agent_.perform_write(kLine, LineBytes{}, kWholeLineMask, true); }
  void release() { agent_.release(kLine); }
  void drop() { agent_.drop_tracking(kLine); }
  void receive(const Message& message) { agent_.receive(message); }
  const IoAgentStatistics& statistics() const { return agent_.statistics(); }
  /// What came out since the last call, and what is held.
  std::string outcome() {
    std::string text;
    IoEvent event;
    while (agent_.next_event(event)) {
      static constexpr std::array<std::string_view, 4> kNames = {"bytes", "owned", "invalidated",
                                                                 "downgraded"};
      text += kNames[static_cast<std::size_t>(event.kind)];
      text += event.is_tracked ? " tracked, " : ", ";
    }
    Message message;
    while (agent_.next_response(message)) text += brief(message) + ", ";
    while (agent_.next_request(message)) text += brief(message) + ", ";
    if (agent_.is_idle()) return text + "idle";
    return text + (agent_.is_owned(kLine) ? "holds" : "busy") +
           (agent_.is_tracked(kLine) ? " and tracks" : "");
  }

 private:
  IoAgent agent_;
};

TEST(Transitions, IoAgent) {
  using Act = std::function<void(IoRow&)>;
  using Event = std::pair<std::string, Act>;
  const auto got = [](const Message& message) {
    return Event{brief(message), [message](IoRow& row) { row.receive(message); }};
  };
  const auto after = [](std::vector<Act> acts) {
    return [acts](IoRow& row) {
      for (const Act& act : acts) act(row);
    };
  };
  Message no_bytes = data(Grant::kModified);
  no_bytes.has_data = false;
  Message put_shared_done = message(kPutDone);
  put_shared_done.answers = kPutShared;
  Message put_done = message(kPutDone);
  put_done.answers = kPutModified;
  const Act tracked = after({&IoRow::read_tracked, got(data(Grant::kShared)).second});
  const Act owned = after({&IoRow::own, got(data(Grant::kModified)).second});
  const Act tracked_owned = after({tracked, owned});
  const Event read{"read", &IoRow::read};
  const Event read_tracked{"tracked read", &IoRow::read_tracked};
  const Event own{"own", &IoRow::own};
  const Event drop{"drop", &IoRow::drop};
  const Event write{"write", &IoRow::write};
  const Event keep{"write and keep", &IoRow::write_and_keep};
  const Event release{"release", &IoRow::release};
  const std::vector<Event> snoops = {got(message(kFetchOnce)), got(message(kFetchShared)),
                                     got(message(kFetchModified))};
  const Event invalidate = got(message(kInvalidate));
  const auto with = [](std::vector<Event> events, const std::vector<Event>& more) {
    events.insert(events.end(), more.begin(), more.end());
    return events;
  };
  struct State {
    std::string name;
    Act enter;
    std::vector<Event> events;
  };
  const std::vector<State> states = {
      {"none", [](IoRow&) {}, {read, read_tracked, own, {"own whole", &IoRow::own_whole}, drop, invalidate}},
      {"tracked", tracked, {read, read_tracked, own, drop, invalidate, got(message(kSupply))}},
      {"dropped", after({tracked, &IoRow::drop}), {read_tracked, invalidate, got(put_shared_done)}},
      {"reading", &IoRow::read, {invalidate, own, got(data(Grant::kOnce))}},
      {"reading, tracked", &IoRow::read_tracked, {invalidate, drop, got(data(Grant::kShared))}},
      {"reading, invalidated", after({&IoRow::read_tracked, invalidate.second}), {got(data(Grant::kShared))}},
      {"owning", &IoRow::own, with({read, got(data(Grant::kModified))}, snoops)},
      {"owning, fetched",
       after({&IoRow::own, got(message(kFetchModified)).second}),
       {got(data(Grant::kModified))}},
      {"owning, tracked", after({tracked, &IoRow::own}), {invalidate, drop, got(data(Grant::kModified))}},
      {"owned", owned, with({read, read_tracked, own, write, keep, release}, snoops)},
      {"owned, tracked", tracked_owned, with({write, drop}, snoops)},
      {"owned, no bytes", after({&IoRow::own_whole, got(no_bytes).second}),
       with({read, write, release}, snoops)},
      {"going home", after({owned, &IoRow::write}), with({read, own, got(put_done)}, snoops)},
      {"going home, tracked", after({tracked_owned, &IoRow::write}),
       with({invalidate, drop, got(put_done)}, snoops)},
      {"taken", after({owned, &IoRow::write, got(message(kFetchModified)).second}), {read, got(put_done)}},
  };
  std::string text;
  for (const State& state : states) {
    for (const Event& event : state.events) {
      IoRow row;
      state.enter(row);
      row.outcome();
      event.second(row);
      text += fmt::format("{} | {} | {}\n", state.name, event.first, row.outcome());
    }
  }
  EXPECT_EQ(text, R"(none | read | ReadOnce, busy
none | tracked read | GetTracked, busy
none | own | GetModified, busy
none | own whole | WriteLine, busy
none | drop | idle
none | Invalidate | invalidated, SnoopAck, idle
tracked | read | ReadOnce, busy and tracks
tracked | tracked read | GetTracked, busy and tracks
tracked | own | GetModified, busy and tracks
tracked | drop | PutShared, idle
tracked | Invalidate | invalidated, SnoopAck, idle
tracked | Supply | SnoopAck keeps, busy and tracks
dropped | tracked read | GetTracked, busy
dropped | Invalidate | invalidated, SnoopAck, idle
dropped | PutDone | idle
reading | Invalidate | invalidated, SnoopAck, busy
reading | own | busy
reading | Data once | bytes, idle
reading, tracked | Invalidate | invalidated, SnoopAck, busy
reading, tracked | drop | PutShared, busy
reading, tracked | Data shared | bytes tracked, busy and tracks
reading, invalidated | Data shared | bytes, idle
owning | read | busy
owning | Data modified | owned, holds
owning | FetchOnce | busy
owning | FetchShared | busy
owning | FetchModified | busy
owning, fetched | Data modified | owned, invalidated, SnoopData dirty, idle
owning, tracked | Invalidate | invalidated, SnoopAck, busy
owning, tracked | drop | busy
owning, tracked | Data modified | owned, holds and tracks
owned | read | bytes, holds
owned | tracked read | bytes tracked, holds and tracks
owned | own | owned, holds
owned | write | PutModified, busy
owned | write and keep | holds
owned | release | PutModified, busy
owned | FetchOnce | SnoopData dirty, holds
owned | FetchShared | downgraded, SnoopData dirty, idle
owned | FetchModified | invalidated, SnoopData dirty, idle
owned, tracked | write | PutModified keeps, busy and tracks
owned, tracked | drop | holds
owned, tracked | FetchOnce | SnoopData dirty keeps, holds and tracks
owned, tracked | FetchShared | downgraded, SnoopData dirty keeps, busy and tracks
owned, tracked | FetchModified | invalidated, SnoopData dirty, idle
owned, no bytes | read | holds
owned, no bytes | write | PutModified, busy
owned, no bytes | release | PutClean, busy
owned, no bytes | FetchOnce | SnoopAck, holds
owned, no bytes | FetchShared | downgraded, SnoopAck, idle
owned, no bytes | FetchModified | invalidated, SnoopAck, idle
going home | read | busy
going home | own | busy
going home | PutDone | idle
going home | FetchOnce | SnoopData dirty, busy
going home | FetchShared | SnoopData dirty, busy
going home | FetchModified | SnoopData dirty, busy
going home, tracked | Invalidate | invalidated, SnoopAck, busy
going home, tracked | drop | PutShared, busy
going home, tracked | PutDone | busy and tracks
going home, tracked | FetchOnce | SnoopData dirty keeps, busy and tracks
going home, tracked | FetchShared | SnoopData dirty keeps, busy and tracks
going home, tracked | FetchModified | invalidated, SnoopData dirty, busy
taken | read | busy
taken | PutDone | idle
)");
}

// Order and capacity of the home.

Message request_of(AgentId agent, MessageKind kind, LineNumber line) {
  Message out = message(kind);
  out.line = line;
  out.agent = agent;
  return out;
}

/// Memory answers everything that it was asked.
void serve_memory(Home& home) {
  const LineBytes bytes{};
  for (MemoryAccess access; home.next_memory_access(access);) {
    home.memory_done(access.line, access.is_write ? nullptr : &bytes);
  }
}

// Spurious is the invalidation of a line that the agent neither tracks nor reads.
TEST(IoAgent, AnInvalidationOfATrackedLineIsNotSpurious) {
  IoRow row;
  row.receive(message(kInvalidate));
  EXPECT_EQ(row.statistics().spurious_invalidations, 1U);
  row.read_tracked();
  row.receive(data(Grant::kShared));
  row.receive(message(kInvalidate));
  EXPECT_EQ(row.statistics().invalidations, 1U);
  EXPECT_EQ(row.statistics().spurious_invalidations, 1U);
  EXPECT_EQ(row.statistics().flight_invalidations, 0U);
}

TEST(Home, RequestsOfALineAreServedInOrderOfArrival) {
  Home home({.credits = {2, 2, 2}});
  home.receive(request_of(0, kGetTracked, kLine));
  home.receive(request_of(1, kGetTracked, kLine));
  home.receive(request_of(2, kGetModified, kLine));
  home.receive(request_of(0, kReadOnce, kLine + 1));
  Message out;
  MemoryAccess access;
  EXPECT_TRUE(home.next_memory_access(access));
  EXPECT_TRUE(home.next_memory_access(access));
  EXPECT_FALSE(home.next_memory_access(access));  // One access per line.
  const LineBytes bytes{};
  home.memory_done(kLine, &bytes);
  EXPECT_TRUE(home.next_response(out));
  EXPECT_EQ(out.agent, 0);
  serve_memory(home);
  EXPECT_TRUE(home.next_response(out));
  EXPECT_EQ(out.agent, 1);
  EXPECT_FALSE(home.next_response(out));
  // The writer waits for both copies.
  for (AgentId agent : {AgentId{0}, AgentId{1}}) {
    EXPECT_TRUE(home.next_snoop(out));
    EXPECT_EQ(out.agent, agent);
  }
  home.receive(request_of(1, kSnoopAck, kLine));
  EXPECT_FALSE(home.next_response(out));
  home.receive(request_of(0, kSnoopAck, kLine));
  EXPECT_TRUE(home.next_response(out));
  EXPECT_EQ(out.agent, 2);
  EXPECT_EQ(home.statistics().queued, 2u);
}

TEST(Home, AnswersBeforeItWritesBackWhileThereAreSpareSlots) {
  for (std::uint32_t places : {0U, 1U}) {
    Home home({.credits = {2, 2}, .write_back_places = places});
    home.receive(request_of(0, kWriteLine, kLine));
    Message out;
    EXPECT_TRUE(home.next_response(out));
    Message put = request_of(0, kPutModified, kLine);
    put.has_data = true;
    home.receive(put);
    EXPECT_EQ(home.next_response(out), places == 1);
    serve_memory(home);
    EXPECT_EQ(home.next_response(out), places == 0);
    EXPECT_TRUE(home.is_idle());
  }
}

/// A line that is never left alone loses its directory entry to one that waits for it.
TEST(Home, ABusyLineDoesNotKeepItsEntryForEver) {
  Home home({.directory_sets = 1, .directory_ways = 1, .credits = {4, 4}});
  home.receive(request_of(0, kGetTracked, 1));
  home.receive(request_of(1, kGetTracked, 2));
  home.receive(request_of(0, kGetTracked, 1));
  home.receive(request_of(0, kGetTracked, 1));
  serve_memory(home);
  Message out;
  EXPECT_TRUE(home.next_response(out));
  EXPECT_FALSE(home.next_response(out));
  EXPECT_TRUE(home.next_snoop(out));
  EXPECT_EQ(out.kind, kInvalidate);
  EXPECT_EQ(out.line, 1u);
  home.receive(request_of(0, kSnoopAck, 1));
  serve_memory(home);
  EXPECT_TRUE(home.next_response(out));
  EXPECT_EQ(out.line, 2u);
  EXPECT_EQ(home.statistics().way_waits, 2u);
}

}  // namespace
}  // namespace wharf::sim
