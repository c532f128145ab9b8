// SPDX-License-Identifier: Apache-2.0
#include "live/udp/server.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "live/udp/control_channel.h"
#include "live/udp/live_protocol.h"
#include "live/udp/live_remote.h"
#include "live/udp/session.h"
#include "verbs/task.h"

namespace wharf::live {
namespace {

/// How often control connections are looked at.
constexpr TimePs kControlInterval = milliseconds(2);
/// A client that has not connected its queue by then is sent away.
constexpr TimePs kSetUpPatience = seconds(5);
/// Connections at once that are beyond the clients allowed, so that these can be told why they must go.
constexpr std::size_t kStrangersMax = 16;
/// Control messages of one client that are answered at a look, so that no client can keep the server busy.
constexpr int kMessagesPerLook = 8;
constexpr wire::HostAddress kServerNumber{0};
constexpr std::uint64_t kPageBytes = 4096;

/// Zeroed pages for the segment.
class ExposedMemory {
 public:
  static Result<ExposedMemory> create(std::uint64_t length) {
    void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return Error{ErrorKind::kEnvironment, fmt::format("the system gives no {} of memory: {}",
                                                        format_bytes(Bytes{length}), std::strerror(errno))};
    }
    return ExposedMemory({static_cast<std::byte*>(memory), length});
  }
  ExposedMemory(ExposedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  ExposedMemory& operator=(ExposedMemory&&) = delete;
  ~ExposedMemory() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit ExposedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

template <engine::Engine E>
class Server {
 public:
  Server(const ServerConfig& config, const ServerObserver& observer, ControlListener listener,
         UdpSocket socket, ExposedMemory exposed, std::unique_ptr<EngineMemory> memory,
         std::unique_ptr<E> engine)
      : config_(config),
        observer_(observer),
        listener_(std::move(listener)),
        exposed_(std::move(exposed)),
        memory_(std::move(memory)),
        host_(std::move(engine), kServerNumber, memory_->payloads, std::move(socket), clock_, config.seed,
              config.faults, config.protocol),
        slices_(config.clients_max, false) {}

  Result<ServerSummary> run(const std::atomic<bool>& stop) {
    verbs::SegmentConfig segment;
    segment.base = reinterpret_cast<std::uint64_t>(exposed_.bytes().data());
    segment.length = exposed_.bytes().size();
    segment.token_value = RandomStream(config_.seed, "live.segment").next_u32();
    auto token = host_.engine().register_segment(host_.now(), segment);
    if (!token) return token.error();
    segment_ = {segment.base, segment.length, *token, segment.rights};
    if (observer_.ready) observer_.ready({listener_.local(), host_.socket().local().port, exposed_.bytes()});

    IdlePolicy idle(config_.idle);
    TimePs next_look = kTimeZero;
    while (!stop.load(std::memory_order_relaxed)) {
      const bool worked = host_.step();
      if (host_.round_time() >= next_look) {
        next_look = host_.round_time() + kControlInterval;
        look_at_connections();
        if (config_.once && summary_.clients != 0 && sessions_.empty()) return finish(false);
      }
      if (worked) {
        idle.worked();
      } else {
        idle.idle(host_.round_time(), min(host_.deadline(), next_look), host_.socket().descriptor());
      }
    }
    return finish(true);
  }

 private:
  /// One client, from its connection to its end.
  struct Session {
    Session(ControlChannel channel_in, TimePs deadline_in)
        : channel(std::move(channel_in)), deadline(deadline_in) {}

    ControlChannel channel;
    TimePs deadline;  ///< Of the set-up; kNever once connected.
    std::optional<Hello> hello;
    wire::HostAddress number;
    std::uint32_t slice = 0;
    verbs::QueueId queue = 0;
    std::optional<LiveRemote<E>> remote;
    Report report;
    std::vector<verbs::Task<void>> receivers;
  };

  ServerSummary finish(bool stopped) {
    while (!sessions_.empty()) end(sessions_.size() - 1, "the server stops");
    summary_.counters = host_.counters();
    for (const MemoryUse& use : host_.engine().memory_use()) summary_.engine_bytes += use.bytes;
    summary_.stopped = stopped;
    return summary_;
  }

  void look_at_connections() {
    // First of all: below, queues go and new ones may get their numbers.
    engine::AsyncEvent event;
    while (host_.poll_event(event)) end_broken(event);
    for (ControlChannel& channel : listener_.accept()) {
      if (sessions_.size() >= slices_.size() + kStrangersMax) break;  // Closes it.
      sessions_.push_back(std::make_unique<Session>(std::move(channel), host_.round_time() + kSetUpPatience));
    }
    for (std::size_t index = 0; index < sessions_.size();) {
      const auto over = attend(*sessions_[index]);
      if (over) {
        end(index, *over);
      } else {
        ++index;
      }
    }
  }

  /// Reads what the client said; the reason if the session is over.
  std::optional<std::string> attend(Session& session) {
    for (int left = kMessagesPerLook; left > 0; --left) {
      auto bytes = session.channel.try_receive();
      if (!bytes)
        return bytes.error().kind == ErrorKind::kStalled ? "it closed the connection" : bytes.error().message;
      if (!*bytes) break;
      auto message = decode_session_message(**bytes);
      if (!message) return refuse(session, message.error());
      auto answer = answer_to(session, *message);
      if (!answer) return refuse(session, answer.error());
      if (!session.channel.send(encode(*answer), kTimeZero)) return "it closed the connection";
    }
    if (host_.round_time() >= session.deadline) return "it did not connect its queue in time";
    return std::nullopt;
  }

  std::string refuse(Session& session, const Error& error) {
    // Whether the client still reads this does not matter: it is sent away.
    static_cast<void>(session.channel.send(encode(Refusal{error.kind, error.message}), kTimeZero));
    return error.message;
  }

  Result<SessionMessage> answer_to(Session& session, const SessionMessage& message) {
    if (const auto* hello = std::get_if<Hello>(&message)) return welcome(session, *hello);
    if (const auto* connect = std::get_if<Connect>(&message)) return connected(session, *connect);
    if (std::holds_alternative<ReportRequest>(message) && session.remote)
      return SessionMessage(session.report);
    return input_error("a session message came out of turn");
  }

  Result<SessionMessage> welcome(Session& session, const Hello& hello) {
    if (session.hello) return input_error("a session message came out of turn");
    if (hello.protocol != config_.protocol) {
      return input_error(fmt::format("it serves {}, expected clients with --protocol {}, found {}",
                                     name(config_.protocol), name(config_.protocol), name(hello.protocol)));
    }
    const auto free_slice = std::find(slices_.begin(), slices_.end(), false);
    if (free_slice == slices_.end()) {
      return Error{
          ErrorKind::kEnvironment,
          fmt::format("it has {} clients already, the most that its --clients allows", slices_.size())};
    }
    if (std::uint64_t{hello.receive_entries} * hello.receive_bytes > slice_bytes()) {
      return input_error(fmt::format("{} receive entries of {} bytes do not fit in the {} of one client",
                                     hello.receive_entries, hello.receive_bytes,
                                     format_bytes(Bytes{slice_bytes()})));
    }
    engine::QueueConfig depths;
    depths.send_depth = hello.queue_depth;
    depths.receive_depth = std::bit_ceil(std::max(hello.receive_entries, 1U));
    auto queue = host_.engine().create_queue(host_.round_time(), depths);
    if (!queue) return queue.error();
    auto blob = host_.engine().export_queue(*queue);
    if (!blob) {
      host_.remove_queue(*queue);
      return blob.error();
    }
    *free_slice = true;
    session.hello = hello;
    session.number = next_number();
    session.slice = static_cast<std::uint32_t>(free_slice - slices_.begin());
    session.queue = *queue;

    Welcome welcome;
    welcome.server = kServerNumber;
    welcome.client = session.number;
    welcome.udp_port = host_.socket().local().port;
    welcome.mtu = std::min(hello.mtu, mtu_for_path(session.channel.path_mtu()));
    welcome.segment = segment_;
    welcome.slice_offset = session.slice * slice_bytes();
    welcome.slice_bytes = slice_bytes();
    welcome.queue = *std::move(blob);
    return SessionMessage(std::move(welcome));
  }

  Result<SessionMessage> connected(Session& session, const Connect& connect) {
    if (!session.hello || session.remote) return input_error("a session message came out of turn");
    // Or it could open, and spoil, the connection of another host.
    const auto exporter = exporter_of<E>(connect.queue);
    if (!exporter) return exporter.error();
    if (*exporter != session.number) {
      return input_error(
          fmt::format("the queue to connect is of host {}, expected host {}, as it was welcomed",
                      exporter->number, session.number.number));
    }
    auto peer = host_.engine().connect(host_.round_time(), session.queue, connect.queue);
    if (!peer) return peer.error();
    host_.add_peer(session.number, {session.channel.peer_address(), session.hello->udp_port});
    session.remote.emplace(host_, session.queue, *peer, verbs::RemoteSegment{});
    session.deadline = kNever;
    const std::uint64_t base = segment_.base + session.slice * slice_bytes();
    for (std::uint32_t entry = 0; entry < session.hello->receive_entries; ++entry) {
      session.receivers.push_back(
          keep_receiving(session, base + std::uint64_t{entry} * session.hello->receive_bytes));
      session.receivers.back().start();
    }
    host_.drain();
    ++summary_.clients;
    remark(fmt::format("client {} at {} came", session.number.number, place(session)));
    return SessionMessage(Connected{});
  }

  /// Keeps one receive entry at `address` posted. Ends with its queue.
  static verbs::Task<void> keep_receiving(Session& session, std::uint64_t address) {
    const std::uint32_t length = session.hello->receive_bytes;
    for (;;) {
      const verbs::Completion received = co_await session.remote->receive(address, length);
      if (!received.ok()) co_return;
      ++session.report.messages;
      session.report.bytes += received.length;
      if (session.hello->arrivals == ArrivalRule::kKeep) continue;
      const verbs::Completion sent = co_await session.remote->send(address, received.length);
      if (!sent.ok()) co_return;
    }
  }

  void end_broken(const engine::AsyncEvent& event) {
    for (std::size_t index = 0; index < sessions_.size(); ++index) {
      if (!sessions_[index]->remote || sessions_[index]->queue != event.queue) continue;
      if (event.kind == engine::AsyncEventKind::kReceiveLimit) return;
      end(index, event.kind == engine::AsyncEventKind::kPeerUnreachable ? "it does not answer any more"
                                                                        : "its queue failed");
      return;
    }
  }

  void end(std::size_t index, std::string_view why) {
    std::unique_ptr<Session> session = std::move(sessions_[index]);
    sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(index));
    if (session->hello) {
      // Receivers wait for completions of the queue: first the queue goes, then they.
      host_.remove_peer(session->number);
      host_.remove_queue(session->queue);
      slices_[session->slice] = false;
    }
    summary_.messages += session->report.messages;
    remark(session->remote ? fmt::format("client {} left: {}", session->number.number, why)
                           : fmt::format("a client at {} was sent away: {}", place(*session), why));
  }

  std::uint64_t slice_bytes() const { return segment_.length / slices_.size() / kPageBytes * kPageBytes; }

  /// Numbers go round: packets of a client that is gone must not reach the next one.
  wire::HostAddress next_number() {
    const auto taken = [this] {
      return std::any_of(sessions_.begin(), sessions_.end(),
                         [this](const auto& session) { return session->number.number == last_number_; });
    };
    do {
      last_number_ = last_number_ % (kHostNumbers - 1) + 1;
    } while (taken());
    return wire::HostAddress{last_number_};
  }

  static std::string place(const Session& session) {
    const std::uint32_t address = session.channel.peer_address();
    if (session.hello) return format_endpoint({address, session.hello->udp_port});
    const std::string endpoint = format_endpoint({address, 0});
    return endpoint.substr(0, endpoint.find(':'));
  }

  void remark(std::string_view text) {
    if (observer_.remark) observer_.remark(text);
  }

  const ServerConfig& config_;
  const ServerObserver& observer_;
  LiveClock clock_;
  ControlListener listener_;
  ExposedMemory exposed_;
  std::unique_ptr<EngineMemory> memory_;
  LiveHost<E> host_;
  verbs::RemoteSegment segment_;
  std::vector<bool> slices_;  ///< Which are taken.
  std::vector<std::unique_ptr<Session>> sessions_;
  std::uint32_t last_number_ = kServerNumber.number;
  ServerSummary summary_;
};

/// The protocol's packets go to the port of the control connection if that is free.
Result<UdpSocket> open_beside(const UdpEndpoint& control, bool any_port) {
  auto socket = UdpSocket::open(control);
  if (!socket && any_port) return UdpSocket::open({control.address, 0});
  return socket;
}

template <engine::Engine E>
Result<ServerSummary> serve_with(const ServerConfig& config, const ServerObserver& observer,
                                 const std::atomic<bool>& stop) {
  auto listener = ControlListener::open(config.listen);
  if (!listener) return listener.error();
  auto socket = open_beside(listener->local(), config.listen.port == 0);
  if (!socket) return socket.error();
  auto exposed = ExposedMemory::create(config.memory_bytes);
  if (!exposed) return exposed.error();
  auto memory = std::make_unique<EngineMemory>();
  auto engine = make_engine<E>(
      {.host = kServerNumber, .seed = config.seed, .unlimited_retries = config.unlimited_retries}, *memory);
  if (!engine) return engine.error();
  Server<E> server(config, observer, *std::move(listener), *std::move(socket), *std::move(exposed),
                   std::move(memory), *std::move(engine));
  return server.run(stop);
}

}  // namespace

Result<ServerSummary> serve(const ServerConfig& config, const ServerObserver& observer,
                            const std::atomic<bool>& stop) {
  if (config.clients_max == 0 || config.memory_bytes / kPageBytes < config.clients_max) {
    return input_error(
        fmt::format("{} of memory for {} clients, expected at least 4KiB for each of 1 or more",
                    format_bytes(Bytes{config.memory_bytes}), config.clients_max));
  }
  return with_engine_type(config.protocol, [&]<typename E>(std::type_identity<E>) {
    return serve_with<E>(config, observer, stop);
  });
}

}  // namespace wharf::live
