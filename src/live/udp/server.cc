// SPDX-License-Identifier: Apache-2.0
#include "live/udp/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "live/udp/control_channel.h"
#include "live/udp/entrance.h"
#include "live/udp/exposed_memory.h"
#include "live/udp/live_protocol.h"
#include "live/udp/metrics_file.h"
#include "live/udp/ordered_capture.h"
#include "live/udp/secret_source.h"
#include "live/udp/server_session.h"
#include "live/udp/slice_table.h"
#include "live/udp/turns.h"

namespace wharf::live {
namespace {

constexpr wire::HostAddress kServerNumber{0};

template <engine::Engine E>
class Server {
 public:
  Server(const ServerConfig& config, const ServerObserver& observer, ServerDoor door, ExposedMemory exposed,
         OrderedCapture capture, std::unique_ptr<EngineMemory> memory, std::unique_ptr<E> engine,
         std::uint32_t mtu)
      : config_(config),
        observer_(observer),
        entrance_(std::move(door.entrance)),
        mtu_(mtu),
        exposed_(std::move(exposed)),
        capture_(std::move(capture)),
        memory_(std::move(memory)),
        host_(std::move(engine), kServerNumber, memory_->payloads, std::move(door.port), clock_, config.seed,
              config.faults, capture_.current()),
        secrets_(config.secrets_seed, "live.secrets"),
        slices_(exposed_.bytes(), config.clients_max,
                config.shared_memory ? SliceContent::kKept : SliceContent::kZeros),
        metrics_(config.metrics) {}

  Result<ServerSummary> run(const std::atomic<bool>& stop) {
    if (metrics_.due(host_.now())) WHARF_TRY(metrics_.write(host_.now(), state()));
    if (observer_.ready) observer_.ready({entrance_->local(), host_.port().local().port, exposed_.bytes()});

    IdlePolicy idle(config_.idle);
    TimePs next_look = kTimeZero;
    while (!stop.load(std::memory_order_relaxed)) {
      const bool worked = host_.step();
      if (host_.round_time() >= next_look) {
        next_look = host_.round_time() + kControlInterval;
        look_at_connections();
        keep_capture();
        idle.set_awaited(!sessions_.empty());
        keep_metrics();
        if (config_.once && summary_.clients != 0 && clients() == 0) return finish(false);
      }
      if (worked) {
        idle.worked();
      } else {
        idle.idle(host_.round_time(), min(host_.deadline(), next_look), host_.port());
      }
    }
    return finish(true);
  }

 private:
  using Session = ServerSession<E>;
  using Sessions = std::vector<std::unique_ptr<Session>>;

  Result<ServerSummary> finish(bool stopped) {
    while (!sessions_.empty()) end(*sessions_.back(), "the server stops");
    summary_.counters = host_.counters();
    for (const MemoryUse& use : host_.engine().memory_use()) summary_.engine_bytes += use.bytes;
    summary_.payload_bytes = memory_->payloads.reserved_bytes();
    summary_.stopped = stopped;
    WHARF_TRY(capture_.close());
    return summary_;
  }

  /// A full disk is no reason to leave the clients alone.
  void keep_metrics() {
    if (!metrics_.due(host_.round_time())) return;
    const auto written = metrics_.write(host_.round_time(), state());
    if (!written && !metrics_failed_) remark(written.error().message);
    metrics_failed_ = !written;
  }
  void keep_capture() {
    if (capture_.ordered()) {
      const std::string done = capture_.obey(host_.round_time());
      host_.capture_into(capture_.current());
      remark(done);
    }
    capture_.keep(host_.round_time());
  }
  ServerState state() {
    ServerState out{
        .counters = host_.counters(),
        .protocol = LiveProtocol<E>::kDescription.name,
        .address = format_place(config_.listen.shared() ? config_.listen : Place(entrance_->local())),
        .process = static_cast<std::uint32_t>(::getpid()),
        .uptime = host_.round_time(),
        .capturing = capture_.current() != nullptr,
        .clients = clients(),
        .clients_max = config_.clients_max,
        .queues = clients(),
        .half_open = sessions_.size() - clients(),
        .clients_total = summary_.clients,
        .half_open_total = summary_.half_open,
        .keyless_total = summary_.keyless,
        .payload_bytes = memory_->payloads.reserved_bytes(),
        .engine = LiveProtocol<E>::counters(host_.engine()),
        .peers = {}};
    for (const auto& session : sessions_) {
      out.messages += session->arrived().messages;
      if (session->remote) out.peers.push_back(session->state(host_.activity(session->number)));
    }
    out.messages += summary_.messages;
    std::sort(out.peers.begin(), out.peers.end(),
              [](const PeerState& left, const PeerState& right) { return left.number < right.number; });
    for (const MemoryUse& use : host_.engine().memory_use()) out.engine_bytes += use.bytes;
    return out;
  }

  /// Sessions whose queue is connected.
  std::size_t clients() const {
    return static_cast<std::size_t>(
        std::count_if(sessions_.begin(), sessions_.end(), [](const auto& each) { return each->remote; }));
  }

  void look_at_connections() {
    // First of all: below, queues go and new ones may get their numbers.
    engine::AsyncEvent event;
    while (host_.poll_event(event)) end_broken(event);
    for (std::size_t left = kAcceptsPerLook; left > 0; --left) {
      auto channel = entrance_->accept();
      if (!channel) break;
      admit(*std::move(channel));
    }
    find_readable();
    // Those that are gone come before those that ask: what they held is free.
    for (std::size_t index = sessions_.size(); index-- > 0;) {
      Session& session = *sessions_[index];
      if (session.closed) {
        end(session, "it closed the connection");
      } else if (host_.round_time() >= session.deadline) {
        send_away(session, {ErrorKind::kStalled, "it did not connect its queue in time"});
      } else if (session.remote &&
                 host_.activity(session.number).refused_accesses > config_.limits.refused_accesses) {
        send_away(session,
                  {ErrorKind::kInput, fmt::format("it asked more than {} times for what it has no right to",
                                                  config_.limits.refused_accesses)});
      } else if (session.remote && session.doorkeeper.seals_packets() &&
                 host_.seal(session.number)->over(config_.seal_limits)) {
        send_away(session, {ErrorKind::kStalled, "its keys have served long enough, expected a new session"});
      }
    }
    attend_in_turn();
  }

  void admit(ControlChannel channel) {
    if (sessions_.size() - clients() >= kHalfOpenMax) {
      const auto oldest = std::min_element(
          sessions_.begin(), sessions_.end(),
          [](const auto& left, const auto& right) { return left->deadline < right->deadline; });
      send_away(**oldest, {ErrorKind::kEnvironment, "too many others connect at the same time"});
    }
    sessions_.push_back(
        std::make_unique<Session>(std::move(channel), host_.round_time() + config_.set_up_patience));
  }

  /// Asks the system which clients have said something or are gone.
  void find_readable() {
    waits_.clear();
    for (const auto& session : sessions_) {
      waits_.push_back({session->channel.descriptor(), POLLIN | POLLRDHUP, 0});
    }
    if (::poll(waits_.data(), waits_.size(), 0) < 0) {
      for (pollfd& wait : waits_) wait.revents = 0;  // Interrupted: at the next look.
    }
    for (std::size_t index = 0; index < sessions_.size(); ++index) {
      const auto events = static_cast<unsigned>(waits_[index].revents);
      sessions_[index]->closed = (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
      sessions_[index]->readable = (events & POLLIN) != 0;
    }
  }

  /// Takes a message of each session that has sent one, up to kMessagesPerLook; the others are first next
  /// time.
  void attend_in_turn() {
    const std::size_t first =
        take_turns(sessions_, kMessagesPerLook, [](const auto& session) { return session->readable; });
    turns_.clear();
    for (std::size_t index = first; index < sessions_.size(); ++index)
      turns_.push_back(sessions_[index].get());
    for (Session* session : turns_) {
      // An idle one may have left its place to one before it.
      const bool here = std::any_of(sessions_.begin(), sessions_.end(),
                                    [session](const auto& each) { return each.get() == session; });
      const auto over = here ? attend(*session) : std::nullopt;
      if (over) end(*session, *over);
    }
  }

  /// Reads one message, if it is there whole, and answers it; the reason if the session is over.
  std::optional<std::string> attend(Session& session) {
    auto bytes = session.channel.try_receive();
    if (!bytes) return refuse(session, bytes.error());
    if (!*bytes) return std::nullopt;
    session.last_message = host_.round_time();
    if (session.doorkeeper.wants(config_.psk, **bytes)) {
      const auto shown = session.doorkeeper.answer(session.channel, config_.psk, config_.protocol,
                                                   config_.seal_packets, **bytes);
      if (shown) return std::nullopt;
      ++summary_.keyless;
      return refuse(session, shown.error());
    }
    auto message = decode_session_message(**bytes);
    if (!message) return refuse(session, message.error());
    auto answer = answer_to(session, *message);
    if (!answer) return refuse(session, answer.error());
    const auto sent = session.channel.send(encode(*answer), kTimeZero);
    if (!sent) return sent.error().message;
    return std::nullopt;
  }

  std::string refuse(Session& session, const Error& error) {
    // Whether the client still reads this does not matter: it is sent away.
    static_cast<void>(session.channel.send(encode(Refusal{error.kind, error.message}), kTimeZero));
    return error.message;
  }
  void send_away(Session& session, const Error& error) { end(session, refuse(session, error)); }

  Result<SessionMessage> answer_to(Session& session, const SessionMessage& message) {
    if (const auto* hello = std::get_if<Hello>(&message)) return welcome(session, *hello);
    if (const auto* connect = std::get_if<Connect>(&message)) return connected(session, *connect);
    if (std::holds_alternative<ReportRequest>(message) && session.remote)
      return SessionMessage(session.arrived());
    return input_error("a session message came out of turn");
  }

  /// Whether one more from `address` can be a client, if need be in the place of one that is idle.
  Result<void> check_room(std::uint32_t address) const {
    if (clients() >= config_.clients_max && idlest() == nullptr) {
      return Error{
          ErrorKind::kEnvironment,
          fmt::format("it has {} clients already, the most that its --clients allows", config_.clients_max)};
    }
    if (clients_of(address) >= most_from(address) && idlest_of(address) == nullptr) {
      return Error{ErrorKind::kEnvironment, fmt::format("it has {} clients of this address already, the most "
                                                        "that its --clients-per-address allows",
                                                        most_from(address))};
    }
    return {};
  }
  std::size_t clients_of(std::uint32_t address) const {
    return static_cast<std::size_t>(std::count_if(
        sessions_.begin(), sessions_.end(),
        [address](const auto& each) { return each->remote && each->channel.peer_address() == address; }));
  }
  std::uint32_t most_from(std::uint32_t address) const {
    if (config_.limits.per_address != 0) return config_.limits.per_address;
    const bool loopback = address >> 24U == 127;
    return loopback ? config_.clients_max : std::max(config_.clients_max / 2, 1U);
  }
  TimePs last_heard(const Session& session) const {
    return max(session.last_message, host_.activity(session.number).last_heard);
  }
  /// The client that has said nothing for the longest time, if that is longer than it may.
  template <typename Among>
  Session* idlest(Among among) const {
    Session* found = nullptr;
    for (const auto& each : sessions_) {
      if (!each->remote || !among(*each) || host_.round_time() - last_heard(*each) < config_.limits.idle)
        continue;
      if (found == nullptr || last_heard(*each) < last_heard(*found)) found = each.get();
    }
    return found;
  }
  Session* idlest() const {
    return idlest([](const Session&) { return true; });
  }
  Session* idlest_of(std::uint32_t address) const {
    return idlest([address](const Session& each) { return each.channel.peer_address() == address; });
  }
  /// Ends the idle client in whose place one of `address` comes, if it needs one. check_room() was asked.
  void make_room(std::uint32_t address) {
    Session* const over = clients_of(address) >= most_from(address) ? idlest_of(address)
                          : clients() >= config_.clients_max        ? idlest()
                                                                    : nullptr;
    if (over == nullptr) return;
    send_away(*over, {ErrorKind::kStalled, fmt::format("it said nothing for {} and another needs its place",
                                                       format_time(config_.limits.idle))});
  }

  Result<SessionMessage> welcome(Session& session, const Hello& hello) {
    if (session.hello) return input_error("a session message came out of turn");
    if (hello.protocol != config_.protocol) {
      return input_error(fmt::format("it serves {}, expected clients with --protocol {}, found {}",
                                     name(config_.protocol), name(config_.protocol), name(hello.protocol)));
    }
    WHARF_TRY(check_room(session.channel.peer_address()));
    if (std::uint64_t{hello.receive_entries} * hello.receive_bytes > slices_.slice_bytes()) {
      return input_error(fmt::format("{} receive entries of {} bytes do not fit in the {} of one client",
                                     hello.receive_entries, hello.receive_bytes,
                                     format_bytes(Bytes{slices_.slice_bytes()})));
    }
    if (hello.tagged && !host_.engine().capabilities().tagged)
      return input_error(fmt::format("{} has no tags, expected clients without", name(config_.protocol)));
    Welcome welcome;
    const std::uint32_t around = session.doorkeeper.seals_packets() ? kSealBytes : 0;
    welcome.mtu = std::min({hello.mtu, mtu_for_path(session.channel.path_mtu(), around), mtu_});
    if (welcome.mtu < mtu_ && !LiveProtocol<E>::kDescription.mtu_per_peer) {
      return input_error(
          fmt::format("its packets hold {} bytes for every client, those of the path to this "
                      "one at most {}; start it with --mtu {}",
                      mtu_, welcome.mtu, welcome.mtu));
    }
    session.number = offer_number();
    session.hello = hello;
    welcome.server = kServerNumber;
    welcome.client = session.number;
    return SessionMessage(welcome);
  }

  Result<SessionMessage> connected(Session& session, const Connect& connect) {
    if (!session.hello || session.remote) return input_error("a session message came out of turn");
    const UdpEndpoint endpoint{session.channel.peer_address(), session.hello->udp_port};
    WHARF_TRY(check_identity(session, connect, endpoint));
    WHARF_TRY(check_room(session.channel.peer_address()));
    make_room(session.channel.peer_address());
    spend(session.number);
    auto secrets = SessionSecrets::draw(session.number, secrets_);
    if (!secrets) return secrets.error();
    session.secrets = *secrets;
    WHARF_TRY(take_slice(session));
    Connected answer;
    WHARF_TRY(open_queue(session, answer));
    auto peer = host_.engine().connect(host_.round_time(), *session.queue, connect.queue);
    if (!peer) return peer.error();
    WHARF_TRY(expose(session, answer));
    answer.udp_port = host_.port().local().port;
    host_.add_peer(session.number, endpoint, SessionNames{session.secrets, *session.queue, *session.token},
                   session.doorkeeper.packet_seal());
    session.last_message = host_.round_time();
    session.remote.emplace(host_, *session.queue, *peer, verbs::RemoteSegment{});
    session.deadline = kNever;
    const std::uint64_t base = answer.segment.base + answer.slice_offset;
    for (std::uint32_t entry = 0; entry < session.hello->receive_entries; ++entry) {
      session.receivers.push_back(
          keep_receiving(session, base + std::uint64_t{entry} * session.hello->receive_bytes));
      session.receivers.back().start();
    }
    host_.drain();
    ++summary_.clients;
    remark(fmt::format("client {} at {} came", session.number.number, session.place()));
    return SessionMessage(std::move(answer));
  }

  Result<void> take_slice(Session& session) {
    if (session.hello->slice_key != 0) {
      session.slice = slices_.share(session.hello->slice_key);
      if (!session.slice) return input_error("no client has the slice whose key was given");
      return {};
    }
    auto key = secrets_.next();
    if (!key) return key.error();
    session.slice = slices_.take(*key | 1U);  // 0 asks for a slice of one's own.
    WHARF_CHECK(session.slice);               // There is one for each client.
    return {};
  }

  /// A session that could speak for another one would share, and spoil, its connection.
  Result<void> check_identity(const Session& session, const Connect& connect, const UdpEndpoint& endpoint) {
    const auto exporter = LiveProtocol<E>::exporter(connect.queue);
    if (!exporter) return exporter.error();
    if (*exporter != session.number) {
      return input_error(
          fmt::format("the queue to connect is of host {}, expected host {}, as it was welcomed",
                      exporter->number, session.number.number));
    }
    const std::uint16_t given = session.channel.given_port();
    if (given != 0 && endpoint.port != given) {
      return input_error(
          fmt::format("port {} is not the client's, expected {}, as it was told", endpoint.port, given));
    }
    if (host_.reaches(endpoint) ||
        (endpoint.address == session.channel.local_address() && endpoint.port == host_.port().local().port)) {
      return input_error(fmt::format("UDP {} is in use by another, expected the client's own socket",
                                     format_endpoint(endpoint)));
    }
    return {};
  }

  Result<void> open_queue(Session& session, Connected& answer) {
    engine::QueueConfig config;
    config.send_depth = session.hello->queue_depth;
    config.receive_depth = std::bit_ceil(std::max(session.hello->receive_entries, 1U));
    auto queue = LiveProtocol<E>::create_queue(host_.engine(), host_.round_time(), config, session.secrets);
    if (!queue) return queue.error();
    session.queue = *queue;
    host_.count_unasked(*queue, session.unasked);
    auto blob = host_.engine().export_queue(*queue);
    if (!blob) return blob.error();
    answer.queue = *std::move(blob);
    return {};
  }

  /// Registers what the session may use: its slice, or all of the memory if that is shared.
  Result<void> expose(Session& session, Connected& answer) {
    verbs::SegmentConfig config;
    config.base = reinterpret_cast<std::uint64_t>(exposed_.bytes().data());
    config.length = exposed_.bytes().size();
    answer.slice_offset = slices_.offset(*session.slice);
    answer.slice_bytes = slices_.slice_bytes();
    answer.slice_key = slices_.key(*session.slice);
    if (!config_.shared_memory) {
      config.base += std::exchange(answer.slice_offset, 0);
      config.length = answer.slice_bytes;
    }
    config.rights = session.hello->rights;
    auto token = LiveProtocol<E>::expose(host_.engine(), host_.round_time(), config, session.secrets);
    if (!token) return token.error();
    session.token = *token;
    answer.segment = {config.base, config.length, *token, config.rights};
    return {};
  }

  /// Keeps one receive entry at `address` posted. Ends with its queue.
  static verbs::Task<void> keep_receiving(Session& session, std::uint64_t address) {
    verbs::ReceiveRequest entry;
    entry.local_count = 1;
    entry.local[0] = {address, session.hello->receive_bytes};
    entry.tagged = session.hello->tagged;
    entry.tag = session.hello->tag;
    for (;;) {
      const verbs::Completion received = co_await session.remote->receive(entry);
      if (!received.ok()) co_return;
      ++session.report.messages;
      session.report.bytes += received.length;
      if (session.hello->arrivals == ArrivalRule::kKeep) continue;
      ++session.answering;
      const verbs::Completion sent = co_await session.remote->send(address, received.length);
      --session.answering;
      if (!sent.ok()) co_return;
    }
  }

  void end_broken(const engine::AsyncEvent& event) {
    for (const auto& session : sessions_) {
      if (!session->remote || session->queue != event.queue) continue;
      end(*session, event.kind == engine::AsyncEventKind::kPeerUnreachable ? "it does not answer any more"
                                                                           : "its queue failed");
      return;
    }
  }

  void end(Session& over, std::string_view why) {
    const auto at = std::find_if(sessions_.begin(), sessions_.end(),
                                 [&over](const auto& session) { return session.get() == &over; });
    const std::unique_ptr<Session> session = std::move(*at);
    sessions_.erase(at);
    if (session->token) {
      // A client may have revoked it itself (Send with Invalidate).
      static_cast<void>(host_.engine().deregister_segment(host_.round_time(), *session->token));
    }
    if (session->queue) {
      // Receivers wait for completions of the queue: first the queue goes, then they.
      host_.remove_peer(session->number);
      host_.remove_queue(*session->queue);
    }
    if (session->slice) slices_.leave(*session->slice);
    entrance_->left(session->channel);
    summary_.messages += session->arrived().messages;
    summary_.half_open += session->remote ? 0U : 1U;
    remark(session->remote ? fmt::format("client {} left: {}", session->number.number, why)
                           : fmt::format("a client at {} was sent away: {}", session->place(), why));
  }

  /// A number that no session has. Numbers go round, so that packets of a client that is gone do not reach
  /// the next one; an offer alone spends none.
  wire::HostAddress offer_number() const {
    const auto taken = [this](wire::HostAddress number) {
      return std::any_of(sessions_.begin(), sessions_.end(), [number](const auto& session) {
        return session->hello && session->number == number;
      });
    };
    wire::HostAddress number{last_number_};
    do {
      number.number = number.number % (kHostNumbers - 1) + 1;
    } while (taken(number));
    return number;
  }
  void spend(wire::HostAddress number) {
    constexpr std::uint32_t kNumbers = kHostNumbers - 1;
    const std::uint32_t ahead = (number.number + kNumbers - last_number_) % kNumbers;
    if (ahead < kNumbers / 2) last_number_ = number.number;  // Else others have connected meanwhile.
  }

  void remark(std::string_view text) {
    if (observer_.remark) observer_.remark(text);
  }

  const ServerConfig& config_;
  const ServerObserver& observer_;
  LiveClock clock_;
  std::unique_ptr<ServerEntrance> entrance_;
  std::uint32_t mtu_;  ///< Payload bytes of a packet at most.
  ExposedMemory exposed_;
  OrderedCapture capture_;
  std::unique_ptr<EngineMemory> memory_;
  LiveHost<E> host_;
  SecretSource secrets_;
  SliceTable slices_;
  MetricsFile metrics_;
  bool metrics_failed_ = false;  ///< At the last try.
  Sessions sessions_;            ///< Those that wait longest for an answer first.
  std::vector<Session*> turns_;  ///< Of this look.
  std::vector<pollfd> waits_;
  std::uint32_t last_number_ = kServerNumber.number;
  ServerSummary summary_;
};

template <engine::Engine E>
Result<ServerSummary> serve_with(const ServerConfig& config, const ServerObserver& observer,
                                 const std::atomic<bool>& stop) {
  using Protocol = LiveProtocol<E>;
  auto door = open_door(config.listen, Protocol::kDescription);
  if (!door) return door.error();
  auto exposed = ExposedMemory::create(config.memory_bytes);
  if (!exposed) return exposed.error();
  auto capture = LiveCapture::create(config.capture);
  if (!capture) return capture.error();
  auto memory = std::make_unique<EngineMemory>();
  const std::uint32_t mtu = config.mtu != 0 ? config.mtu
                            : Protocol::kDescription.mtu_per_peer
                                ? kMtuMax
                                : mtu_for_path(door->entrance->path_bytes(), config.psk ? kSealBytes : 0);
  auto engine = Protocol::make({.host = kServerNumber,
                                .mtu = mtu,
                                .seed = config.seed,
                                .repetition = config.repetition,
                                .unlimited_retries = config.unlimited_retries,
                                .congestion = config.congestion,
                                .delivery = config.delivery},
                               *memory);
  if (!engine) return engine.error();
  Server<E> server(config, observer, *std::move(door), *std::move(exposed),
                   {*std::move(capture), config.ordered_capture, config.capture_orders}, std::move(memory),
                   *std::move(engine), mtu);
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
  if (config.capture_orders != nullptr) WHARF_TRY(check_capture_folder(config.ordered_capture));
  WHARF_TRY(check_key(config.psk, config.seal_packets, config.listen));
  return with_engine_type(config.protocol, [&]<typename E>(std::type_identity<E>) {
    return serve_with<E>(config, observer, stop);
  });
}

}  // namespace wharf::live
