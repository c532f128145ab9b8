// SPDX-License-Identifier: Apache-2.0
// A question is one byte; every answer is a report: a version (4), the state (4), seven numbers (8 each), and
// the address as text. Connections end with the worker.
#include "live/rdmo/worker_roster.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

constexpr std::string_view kPrefix = "wharf-rdmo-worker-";
constexpr std::size_t kSuffix = 16;  ///< Hexadecimal digits.
constexpr int kAcceptsMost = 16;     ///< In one turn.
constexpr int kBacklog = 4096;       ///< Callers of a silent worker stay there.
constexpr std::byte kReport{1};
constexpr std::byte kStop{2};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kNumbers = 7;
constexpr std::size_t kFixedBytes = 8 + 8 * kNumbers;
constexpr std::size_t kMostBytes = kFixedBytes + 64;

using Packet = std::array<std::byte, kMostBytes>;

Error roster_error(const char* what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

std::array<std::uint64_t*, kNumbers> numbers_of(WorkerReport& report) {
  return {&report.seconds, &report.clients, &report.queues,  &report.appends,
          &report.records, &report.flushes, &report.scatters};
}

std::size_t encode(WorkerReport report, Packet& packet) {
  store_le32(packet.data(), kVersion);
  store_le32(packet.data() + 4, static_cast<std::uint32_t>(report.state));
  std::size_t at = 8;
  for (const std::uint64_t* each : numbers_of(report)) {
    store_le64(packet.data() + at, *each);
    at += 8;
  }
  const std::size_t length = std::min(report.address.size(), kMostBytes - kFixedBytes);
  std::memcpy(packet.data() + at, report.address.data(), length);
  return at + length;
}

bool decode(std::span<const std::byte> packet, WorkerReport& report) {
  if (packet.size() < kFixedBytes || load_le32(packet.data()) != kVersion) return false;
  const std::uint32_t state = load_le32(packet.data() + 4);
  if (state > static_cast<std::uint32_t>(WorkerState::kStopping)) return false;
  report.state = static_cast<WorkerState>(state);
  std::size_t at = 8;
  for (std::uint64_t* each : numbers_of(report)) {
    *each = load_le64(packet.data() + at);
    at += 8;
  }
  report.address.assign(reinterpret_cast<const char*>(packet.data() + at), packet.size() - at);
  // It goes to terminals and into documents.
  constexpr std::string_view kFit = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-[]%_";
  return report.address.find_first_not_of(kFit) == std::string::npos;
}

struct SocketName {
  explicit SocketName(std::string_view text) {
    address.sun_family = AF_UNIX;
    text.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length = 0;
};

/// Who is at the other end; nothing if that is another user.
std::optional<pid_t> own_process(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid())
    return std::nullopt;
  return peer.pid;
}

Descriptor local_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Names in the kernel's table. Connections of a socket have its name, too.
Result<std::set<std::string>> socket_names() {
  std::ifstream table("/proc/net/unix");
  if (!table) return roster_error("/proc/net/unix");
  std::set<std::string> names;
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.rfind(" @");
    if (at == std::string::npos) continue;
    const std::string found = line.substr(at + 2);
    if (found.size() == kPrefix.size() + kSuffix && found.starts_with(kPrefix) &&
        found.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string::npos)
      names.insert(found);
  }
  return names;
}

/// A signal that comes just before a wait does not end it: no wait is longer.
constexpr std::int64_t kWaitMostMs = 100;

/// How long somebody waits.
struct Patience {
  LiveClock clock;
  TimePs most;
  const std::atomic<bool>* interrupted = nullptr;
  bool over() const {
    return clock.now() >= most || (interrupted != nullptr && interrupted->load(std::memory_order_relaxed));
  }
  int wait_ms() const {
    const std::int64_t left = (most - clock.now()) / milliseconds(1) + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, kWaitMostMs));
  }
};

/// Waits for one packet; 0: the other end has gone, or nothing came.
std::size_t hear(const Descriptor& socket, Packet& packet, const Patience& patience, bool& gone) {
  gone = false;
  for (;;) {
    const ssize_t length = ::recv(socket.number(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (length > 0) return static_cast<std::size_t>(length);
    gone = length == 0 || (errno != EAGAIN && errno != EINTR);
    if (gone || patience.over()) return 0;
    pollfd one{socket.number(), POLLIN, 0};
    ::poll(&one, 1, patience.wait_ms());
  }
}

}  // namespace

const char* name(WorkerState state) {
  switch (state) {
    case WorkerState::kRunning:
      return "running";
    case WorkerState::kStopping:
      return "stopping";
    case WorkerState::kSilent:
      return "silent";
  }
  return "";
}

// --- A worker's end

Result<RosterEntry> RosterEntry::enter() {
  std::uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn))
    return roster_error("drawing a number");
  const SocketName name(fmt::format("{}{:016x}", kPrefix, drawn));
  RosterEntry made;
  made.listener_ = local_socket();
  if (!made.listener_.open() || ::bind(made.listener_.number(), name.get(), name.length) != 0 ||
      ::listen(made.listener_.number(), kBacklog) != 0)
    return roster_error("entering the list of workers");
  return made;
}

void RosterEntry::progress(const std::function<WorkerReport()>& report) {
  // Anybody on the machine may call, as fast as it likes: the rest waits for the next turn.
  for (int turn = 0; turn < kAcceptsMost; ++turn) {
    Descriptor caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.open()) break;
    if (own_process(caller)) callers_.push_back({std::move(caller)});
  }
  std::erase_if(callers_, [&](Caller& caller) { return !serve(caller, report); });
  // Who waits for the end is kept until then.
  for (auto at = callers_.begin(); callers_.size() > kCallersMost && at != callers_.end();)
    at = at->stops ? at + 1 : callers_.erase(at);
}

bool RosterEntry::serve(Caller& caller, const std::function<WorkerReport()>& report) {
  std::array<std::byte, 2> question{};
  const int socket = caller.socket.number();
  const ssize_t length = ::recv(socket, question.data(), question.size(), MSG_DONTWAIT);
  if (length < 0) return errno == EAGAIN || errno == EINTR;
  if (length != 1 || (question[0] != kReport && question[0] != kStop)) return false;
  if (question[0] == kStop) asked_to_stop_ = caller.stops = true;
  WorkerReport told = report();
  if (asked_to_stop_) told.state = WorkerState::kStopping;
  Packet packet{};
  const auto bytes = static_cast<ssize_t>(encode(std::move(told), packet));
  return ::send(socket, packet.data(), static_cast<std::size_t>(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) == bytes;
}

// --- Those who look

Result<std::vector<ListedWorker>> list_workers(TimePs most, const std::atomic<bool>* interrupted) {
  const auto names = socket_names();
  if (!names) return names.error();
  std::vector<ListedWorker> workers;
  for (const std::string& each : *names) {
    ListedWorker worker;
    worker.name_ = each;
    worker.connection_ = local_socket();
    if (!worker.connection_.open()) return roster_error("asking workers");
    const SocketName name(each);
    // Refused: it has ended since.
    if (::connect(worker.connection_.number(), name.get(), name.length) != 0) continue;
    const auto process = own_process(worker.connection_);
    if (!process) continue;
    worker.report_.process = static_cast<std::uint64_t>(*process);
    (void)::send(worker.connection_.number(), &kReport, sizeof kReport, MSG_DONTWAIT | MSG_NOSIGNAL);
    workers.push_back(std::move(worker));
  }
  const Patience patience{LiveClock(), most, interrupted};
  std::erase_if(workers, [&](ListedWorker& worker) {
    Packet packet{};
    bool gone = false;
    const std::size_t length = hear(worker.connection_, packet, patience, gone);
    if (gone) return true;
    // What makes no sense is another version's: it is there, and that is all that can be said.
    if (length > 0 && !decode(std::span(packet).first(length), worker.report_)) {
      const auto process = worker.report_.process;
      worker.report_ = {};
      worker.report_.process = process;
    }
    return false;
  });
  std::sort(workers.begin(), workers.end(), [](const ListedWorker& one, const ListedWorker& other) {
    return std::tie(one.report().address, one.report().process) <
           std::tie(other.report().address, other.report().process);
  });
  return workers;
}

Result<bool> ListedWorker::stop(TimePs most, const std::atomic<bool>* interrupted) {
  const ssize_t sent = ::send(connection_.number(), &kStop, sizeof kStop, MSG_DONTWAIT | MSG_NOSIGNAL);
  // Reset: it was killed with questions that it had not read.
  if (sent != 1 && errno != EPIPE && errno != ECONNRESET) return roster_error("stopping the worker");
  const Patience patience{LiveClock(), most, interrupted};
  bool gone = false;
  do {
    Packet packet{};
    hear(connection_, packet, patience, gone);
  } while (!gone && !patience.over());
  // That the connection has ended is not enough: the name goes with the process.
  for (const SocketName name(name_); gone;) {
    const Descriptor socket = local_socket();
    if (!socket.open()) return roster_error("asking workers");
    if (::connect(socket.number(), name.get(), name.length) != 0 && errno == ECONNREFUSED) return true;
    if (patience.over()) return false;
    ::poll(nullptr, 0, 1);
  }
  return false;
}

}  // namespace wharf::live
