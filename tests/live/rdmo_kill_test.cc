// SPDX-License-Identifier: Apache-2.0
// Sixteen clients append to one log through a worker over UCX while clients are killed, and while workers
// are: whoever owns the log and wrote none of it finds every record that was answered, whole, once, in its
// client's order. WHARF_RDMO_KILLS: clients killed; WHARF_RDMO_WORKER_KILLS: workers.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"
#include "tests/live/shared_board.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kClients = 16;
constexpr std::uint32_t kLives = 256;  ///< Of one client: each killed one is followed by another.
constexpr std::uint32_t kRecord = 64;
constexpr std::uint32_t kBurst = 8;                   ///< Appends between two flushes.
constexpr std::uint64_t kMemory = 64U << 20U;         ///< For the appends between some kills,
constexpr std::uint64_t kMemoryOfKill = 256U << 10U;  ///< and of each.

/// What all processes see.
struct Board {
  std::atomic<std::uint32_t> worker_port{0};
  std::atomic<std::uint32_t> target_port{0};
  std::atomic<bool> stop{false};    ///< Clients: append no more.
  std::atomic<bool> finish{false};  ///< Target: check.
  std::atomic<bool> full{false};
  std::atomic<std::uint64_t> memory{kMemory};
  struct Life {
    std::atomic<std::uint32_t> answered{0};  ///< Records, from the first one on.
    std::atomic<std::uint32_t> flushed{0};
  };
  std::array<std::array<Life, kLives>, kClients> lives;

  std::uint64_t answered() const {
    std::uint64_t sum = 0;
    for (const auto& client : lives)
      for (const Life& life : client) sum += life.answered.load();
    return sum;
  }
};

using Record = std::array<std::byte, kRecord>;

Record record_of(std::uint32_t client, std::uint32_t life, std::uint32_t number) {
  Record record;
  store_le32(record.data(), (client + 1) << 16U | life);
  store_le32(record.data() + 4, number);
  RandomStream bytes(std::uint64_t{client} << 48U | std::uint64_t{life} << 32U | number, "record");
  for (std::uint32_t i = 8; i < kRecord; i += 8) store_le64(record.data() + i, bytes.next_u64());
  return record;
}

/// Ends the program when it never comes: a child has failed.
void wait_until(const auto& holds) {
  const timespec pause{0, 500'000};
  for (int tries = 0; !holds(); ++tries) {
    if (tries > 240'000) {
      ADD_FAILURE() << "what a child should have done did not come in two minutes";
      std::_Exit(1);
    }
    ::nanosleep(&pause, nullptr);
  }
}

void work(Board& board) {
  WorkerProcessConfig config;
  config.listen.port = 0;
  auto process = WorkerProcess::create(config);
  if (!process) return;
  board.worker_port = (*process)->port();
  const std::atomic<bool> never{false};
  (*process)->run(never);
}

/// Ends when its connection does, or when it is told to.
void append(Board& board, std::uint32_t client, std::uint32_t life) {
  RdmoInitiatorConfig config;
  config.initiator.time_max = seconds(60);
  auto met = RdmoInitiator::meet({"127.0.0.1", static_cast<std::uint16_t>(board.target_port.load())}, config);
  if (!met) return;
  RdmoInitiator& initiator = **met;
  Board::Life& mine = board.lives[client][life];
  std::array<Record, kBurst> records;
  for (std::uint32_t first = 0; !board.stop; first += kBurst) {
    for (std::uint32_t i = 0; i < kBurst; ++i) {
      records[i] = record_of(client, life, first + i);
      rdmo::AppendRequest request;
      request.cookie = first + i;
      request.cell = initiator.grant().cell;
      request.cell_key = request.data_key = initiator.grant().key;
      request.data = records[i];
      if (initiator.engine().append(initiator.now(), request) != rdmo::Posted::kOk) return;
    }
    if (initiator.engine().flush(initiator.now(), ~std::uint64_t{0}) != rdmo::Posted::kOk) return;
    for (std::uint32_t i = 0; i <= kBurst; ++i) {
      rdmo::Outcome outcome;
      if (!initiator.wait(outcome)) return;
      if (outcome.status == wire::RdmoStatus::kNoRoom) board.full = true;
      if (outcome.status != wire::RdmoStatus::kDone) return;
      if (outcome.cookie == mine.answered.load()) ++mine.answered;
    }
    mine.flushed = first + kBurst;
  }
}

struct Found {
  std::uint64_t records = 0;
  std::uint64_t holes = 0;
  std::array<char, 200> wrong{};  ///< Empty: nothing.
};

/// Reads the log to its tail.
Found read_log(const Board& board, const RdmoTarget& target, bool worker_died) {
  Found found;
  const auto wrong = [&](const std::string& what) {
    if (found.wrong[0] == '\0') what.copy(found.wrong.data(), found.wrong.size() - 1);
  };
  std::vector<std::array<std::uint32_t, kLives>> next(kClients);
  for (auto& each : next) each.fill(0);
  const std::uint64_t tail = target.tail();
  if (tail < 8 || tail > board.memory || (tail - 8) % kRecord != 0)
    wrong("the tail is " + std::to_string(tail));
  for (std::uint64_t at = 8; found.wrong[0] == '\0' && at < tail; at += kRecord) {
    const std::byte* record = target.memory().data() + at;
    const std::uint32_t who = load_le32(record);
    const std::uint32_t number = load_le32(record + 4);
    if (who == 0) {
      if (std::memcmp(record, Record{}.data(), kRecord) != 0) wrong("a torn hole at " + std::to_string(at));
      ++found.holes;
      continue;
    }
    const std::uint32_t client = (who >> 16U) - 1;
    const std::uint32_t life = who & 0xffffU;
    if (client >= kClients || life >= kLives || number != next[client][life]) {
      wrong("lost, doubled or out of order at " + std::to_string(at));
    } else if (std::memcmp(record, record_of(client, life, number).data(), kRecord) != 0) {
      wrong("torn at " + std::to_string(at));
    } else {
      ++next[client][life];
      ++found.records;
    }
  }
  for (std::uint32_t client = 0; client < kClients; ++client) {
    for (std::uint32_t life = 0; life < kLives; ++life) {
      const Board::Life& told = board.lives[client][life];
      const std::uint32_t least = worker_died ? told.flushed.load() : told.answered.load();
      if (next[client][life] < least)
        wrong("client " + std::to_string(client) + " was told of " + std::to_string(least) +
              " records, found " + std::to_string(next[client][life]));
    }
  }
  return found;
}

/// Owns the log, and reads it in the end, or when the worker has died.
void own(Board& board, int report) {
  Found found;
  RdmoTargetConfig config;
  config.worker.port = static_cast<std::uint16_t>(board.worker_port.load());
  config.bytes = board.memory;
  config.time_max = seconds(60);
  auto target = RdmoTarget::create(config);
  auto listener = StreamListener::listen({"127.0.0.1", 0});
  if (!target || !listener) return;
  board.target_port = listener->port();
  bool connected = true;
  while (!board.finish && connected) {
    (*target)->progress();
    static_cast<void>((*target)->meet(*listener));  // One that is killed meanwhile is nobody's fault.
    connected = (*target)->connected();
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
  if (connected && !(*target)->withdraw()) std::strcpy(found.wrong.data(), "the memory was not given back");
  if (found.wrong[0] == '\0') found = read_log(board, **target, !connected);
  Child::report(report, &found, sizeof found);
}

/// A worker, an owner and sixteen clients.
class Crowd {
 public:
  explicit Crowd(std::uint64_t memory = kMemory) {
    board->memory = memory;
    worker_.emplace(*Child::start([this](int) {
      ::dup2(said_, STDERR_FILENO);
      work(*board);
    }));
    wait_until([this] { return board->worker_port != 0; });
    owner_.emplace(*Child::start([this](int report) { own(*board, report); }));
    wait_until([this] { return board->target_port != 0; });
    for (std::uint32_t client = 0; client < kClients; ++client) begin(client);
  }
  /// Until so many more records were answered.
  void let_run(std::uint64_t records) const {
    const std::uint64_t goal = board->answered() + records;
    wait_until([&] { return board->answered() >= goal || board->full || worker_has_ended(); });
  }
  /// By itself.
  bool worker_has_ended() const {
    if (!worker_) return false;
    siginfo_t how{};
    return ::waitid(P_PID, static_cast<id_t>(worker_->process()), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           how.si_pid != 0;
  }
  /// What the worker wrote to its standard error.
  std::string said() const {
    std::string text(1U << 16U, '\0');
    const ssize_t length = ::pread(said_, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
  }
  ~Crowd() { ::close(said_); }
  Crowd(const Crowd&) = delete;
  /// kill -9; another one takes its place.
  void kill_client(std::uint32_t client) {
    if (++life_[client] >= kLives) return;
    clients_[client].reset();
    begin(client);
  }
  void kill_worker() { worker_.reset(); }
  /// What the owner finds when nobody appends any more, or when it has noticed that the worker is dead.
  Found end(bool worker_died) {
    board->stop = true;
    if (!worker_died) {
      for (auto& client : clients_) client.reset();  // In whatever they are doing.
      board->finish = true;
    }
    Found found;
    EXPECT_TRUE(owner_->read(&found, sizeof found)) << "the owner ended before it reported";
    return found;
  }

  test::SharedBoard<Board> board;

 private:
  void begin(std::uint32_t client) {
    clients_[client].emplace(*Child::start([this, client](int) { append(*board, client, life_[client]); }));
  }

  const int said_ = ::memfd_create("said", MFD_CLOEXEC);
  std::optional<Child> worker_;
  std::optional<Child> owner_;
  std::array<std::uint32_t, kClients> life_{};
  std::array<std::optional<Child>, kClients> clients_;
};

std::uint32_t kills(const char* variable, std::uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Lets `act` deal with a crowd, another one when UCX ended the worker: UCX 1.13 does, seldom, by an
/// assertion of its own in its TCP transport when peers are killed. Whatever else ends a worker is ours.
template <typename Act>
void with_crowd(std::uint64_t memory, const Act& act) {
  for (int tries = 1;; ++tries) {
    Crowd crowd(memory);
    act(crowd);
    if (!crowd.worker_has_ended()) return;
    const std::string said = crowd.said();
    ASSERT_NE(said.find("tcp_ep.c"), std::string::npos) << "the worker has ended by itself: " << said;
    ASSERT_LT(tries, 3) << "UCX ended three workers: " << said;
    std::fprintf(stderr, "UCX ended the worker by an assertion of its own; another crowd takes over\n");
  }
}

TEST(RdmoKills, OfClientsLeaveEveryAnsweredRecord) {
  const std::uint32_t count = kills("WHARF_RDMO_KILLS", 16);
  with_crowd(kMemory + count * kMemoryOfKill, [&](Crowd& crowd) {
    RandomStream draw(1, "kills");
    for (std::uint32_t i = 0; i < count; ++i) {
      crowd.let_run(100);
      crowd.kill_client(static_cast<std::uint32_t>(draw.below(kClients)));
    }
    crowd.let_run(200);
    if (crowd.worker_has_ended()) return;
    const Found found = crowd.end(false);
    EXPECT_STREQ(found.wrong.data(), "");
    EXPECT_GE(found.records, crowd.board->answered());
    EXPECT_FALSE(crowd.board->full) << "the last kills met nobody who appends";
    EXPECT_GE(found.records, 200U + 100U * count);
    RecordProperty("records", std::to_string(found.records));
    RecordProperty("holes", std::to_string(found.holes));
  });
}

TEST(RdmoKills, OfWorkersLeaveEveryFlushedRecord) {
  const std::uint32_t count = kills("WHARF_RDMO_WORKER_KILLS", 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    with_crowd(kMemory, [&](Crowd& crowd) {
      crowd.let_run(300 + 37 * (i % 10));
      if (crowd.worker_has_ended()) return;
      crowd.kill_worker();
      const Found found = crowd.end(true);
      EXPECT_STREQ(found.wrong.data(), "");
      EXPECT_GE(found.records, 100U);
    });
  }
}

}  // namespace
}  // namespace wharf::live
