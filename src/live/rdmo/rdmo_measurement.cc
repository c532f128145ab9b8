// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/rdmo_measurement.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/native_append.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {
namespace {

/// A log holds this many bytes before it is begun anew.
constexpr std::uint64_t kLogBytes = 16U << 20U;

void run_worker(const RdmoMeasurementConfig& config, int report) {
  WorkerProcessConfig worker;
  worker.transports = config.transports;
  worker.worker.window = std::max<std::uint32_t>(config.window * 4, 256);
  auto process = WorkerProcess::create(worker);
  if (!process) ::_exit(4);
  const std::uint16_t port = (*process)->port();
  Child::report(report, &port, sizeof port);
  const std::atomic<bool> never{false};
  (*process)->run(never);
}

/// Takes messages and answers those that ask, by message 1.
class Sink : public MessageTaker {
 public:
  explicit Sink(const std::string& transports) : port_(UcxPort::create(transports, *this)) {}
  void run(int report) {
    if (!port_) ::_exit(4);
    const std::vector<std::byte>& address = (*port_)->address();
    const std::uint64_t length = address.size();
    Child::report(report, &length, sizeof length);
    Child::report(report, address.data(), address.size());
    const LiveClock clock;
    IdlePolicy idle{IdleConfig{}};
    for (;;) {
      if ((*port_)->progress()) {
        idle.worked();
      } else {
        idle.idle(clock.now(), clock.now() + microseconds(200), -1);  // Others are measured meanwhile.
      }
      std::uint64_t tag = 0;
      while ((*port_)->take_sent(tag)) {
      }
    }
  }

 private:
  rdmo::Taken take(ucp_ep_h reply, std::uint32_t, std::span<const std::byte> header,
                   const rdmo::Payload&) override {
    if (header.size() >= 12 && load_le32(header.data() + 12) == 1 && reply != nullptr)
      (*port_)->send(reply, 1, header.first(16), {}, 0, UcxPort::kNoTag);
    return rdmo::Taken::kDone;
  }
  Result<std::unique_ptr<UcxPort>> port_;
};

/// Bare active messages with the header of a published append.
class BareMessages : public MessageTaker {
 public:
  static Result<std::unique_ptr<BareMessages>> open(const RdmoMeasurementConfig& config,
                                                    std::span<const std::byte> sink) {
    auto made = std::unique_ptr<BareMessages>(new BareMessages);
    auto port = UcxPort::create(config.transports, *made);
    if (!port) return port.error();
    made->port_ = *std::move(port);
    auto endpoint = made->port_->connect(sink);
    if (!endpoint) return endpoint.error();
    made->endpoint_ = *endpoint;
    made->data_.resize(config.bytes);
    return made;
  }
  /// Sends until `end`; then waits until the last one was taken.
  std::uint64_t rate(const MeasuredTurn& turn, std::uint32_t window) {
    std::uint64_t sent = 0;
    std::uint32_t open = 0;
    while (turn.goes_on()) {
      for (; open < window; ++open, ++sent) send(0);
      port_->progress();
      open -= drain();
    }
    round_trip();
    return sent + 1;
  }
  void round_trip() {
    const std::uint64_t before = answers_;
    send(1);
    std::uint32_t empty = 0;
    while (answers_ == before) {
      if (port_->progress()) {
        empty = 0;
      } else if (++empty > 100) {
        ::sched_yield();
      }
      drain();
    }
  }

 private:
  void send(std::uint32_t asks) {
    std::array<std::byte, 40> header{};
    store_le32(header.data() + 12, asks);
    port_->send(endpoint_, 0, header, data_, UCP_AM_SEND_FLAG_REPLY, 0);
  }
  std::uint32_t drain() {
    std::uint32_t count = 0;
    for (std::uint64_t tag = 0; port_->take_sent(tag);) ++count;
    return count;
  }
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    ++answers_;
    return rdmo::Taken::kDone;
  }
  std::unique_ptr<UcxPort> port_;
  ucp_ep_h endpoint_ = nullptr;
  std::vector<std::byte> data_;
  std::uint64_t answers_ = 0;
};

/// Lets the target's side of emulated remote accesses run while one of them is measured.
class TargetThread {
 public:
  explicit TargetThread(RdmoTarget& target)
      : thread_([this, &target] {
          while (!end_.load(std::memory_order_relaxed)) target.progress();
        }) {}
  ~TargetThread() {
    end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> end_{false};
  std::thread thread_;
};

/// Appends through the worker; record n is filled with a byte that follows from n.
class WorkerAppends {
 public:
  static Result<std::unique_ptr<WorkerAppends>> open(const RdmoMeasurementConfig& config, RdmoTarget& target,
                                                     rdmo::Form form, std::uint32_t batch) {
    RdmoInitiatorConfig initiator;
    initiator.transports = config.transports;
    initiator.initiator.form = form;
    initiator.initiator.in_flight_max = config.window;
    initiator.initiator.batch_records_max = batch;
    initiator.initiator.batch_bytes_max = std::max(batch * config.bytes, config.bytes);
    auto made = RdmoInitiator::create(initiator);
    if (!made) return made.error();
    auto appends = std::unique_ptr<WorkerAppends>(new WorkerAppends(*std::move(made), target, config.bytes));
    auto queue = target.admit(appends->client_->address());
    if (!queue) return queue.error();
    std::optional<TargetThread> helper;
    if (!config.shared) helper.emplace(target);
    WHARF_TRY(appends->client_->connect(target.grant()));
    WHARF_TRY(appends->flush());
    return appends;
  }

  /// Appends until `end`, then flushes and checks.
  Result<std::uint64_t> rate(const MeasuredTurn& turn) {
    std::uint64_t total = 0;
    while (turn.goes_on()) {
      std::uint64_t posted = 0;
      const std::uint64_t most = (kLogBytes - 64) / bytes_;
      while (posted < most && turn.goes_on()) {
        const TimePs now = client_->now();  // As bare messages: the clock is read once for each window.
        while (posted < most && post(now, posted)) ++posted;
        if (client_->progress()) {
          empty_ = 0;
        } else if (++empty_ > 100) {
          ::sched_yield();  // The worker may need this processor.
        }
        WHARF_TRY(take());
      }
      WHARF_TRY(flush());
      WHARF_TRY(verify(posted));
      total += posted;
    }
    return total;
  }
  /// One append, and a fenced flush if it is published, to its end.
  Result<void> one() {
    if (full_ + bytes_ > kLogBytes / 2) {
      WHARF_TRY(flush());
      target_.reset();
      full_ = 0;
    }
    if (!post(client_->now(), 0)) return Error{ErrorKind::kStalled, "no room for one append"};
    full_ += bytes_;
    client_->engine().push(client_->now());
    if (published()) return flush();
    return wait();
  }
  bool published() const { return published_; }
  void set_published(bool published) { published_ = published; }
  Result<void> begin_anew() {
    WHARF_TRY(flush());
    target_.reset();
    full_ = 0;
    return {};
  }

 private:
  WorkerAppends(std::unique_ptr<RdmoInitiator> client, RdmoTarget& target, std::uint32_t bytes)
      : client_(std::move(client)), target_(target), bytes_(bytes), data_(std::size_t{256} * bytes) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<std::byte>(i / bytes);
  }
  bool post(TimePs now, std::uint64_t number) {
    rdmo::AppendRequest request;
    request.cell = client_->grant().cell;
    request.cell_key = request.data_key = client_->grant().key;
    request.data = std::span(data_).subspan(number % 256 * bytes_, bytes_);
    return client_->engine().append(now, request) == rdmo::Posted::kOk;
  }
  static Result<void> expect(const rdmo::Outcome& outcome) {
    if (outcome.status == wire::RdmoStatus::kDone) return {};
    return Error{ErrorKind::kEnvironment, fmt::format("the worker answers: {}", wire::name(outcome.status))};
  }
  Result<void> wait() {
    if (!client_->wait(outcome_)) return Error{ErrorKind::kEnvironment, "the worker is gone"};
    return expect(outcome_);
  }
  Result<void> take() {
    rdmo::Outcome outcome;
    while (client_->engine().poll(outcome)) WHARF_TRY(expect(outcome));
    return {};
  }
  Result<void> flush() {
    constexpr std::uint64_t kFlush = 1;
    while (client_->engine().flush(client_->now(), kFlush) != rdmo::Posted::kOk) {
      if (client_->engine().is_lost()) return Error{ErrorKind::kEnvironment, "the worker is gone"};
      client_->progress();
      WHARF_TRY(take());
    }
    for (;;) {
      WHARF_TRY(wait());
      if (outcome_.operation == wire::RdmoExtendedOperation::kFlush) return {};
    }
  }
  Result<void> verify(std::uint64_t records) {
    if (target_.tail() != 8 + records * bytes_)
      return Error{ErrorKind::kEnvironment,
                   fmt::format("the tail is {}, expected {}", target_.tail(), 8 + records * bytes_)};
    for (std::uint64_t i = 0; i < records; ++i) {
      if (std::memcmp(target_.memory().data() + 8 + i * bytes_, data_.data() + i % 256 * bytes_, bytes_) != 0)
        return Error{ErrorKind::kEnvironment, fmt::format("record {} differs", i)};
    }
    target_.reset();
    return {};
  }

  std::unique_ptr<RdmoInitiator> client_;
  rdmo::Outcome outcome_;
  RdmoTarget& target_;
  std::uint32_t bytes_;
  std::vector<std::byte> data_;
  std::uint64_t full_ = 0;
  std::uint32_t empty_ = 0;
  bool published_ = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

Result<std::vector<RdmoRate>> measure_rdmo(const RdmoMeasurementConfig& config,
                                           const std::atomic<bool>& stop) {
  // Processes first: a process that has opened UCX cannot be forked.
  auto worker = Child::start([&](int report) { run_worker(config, report); });
  if (!worker) return worker.error();
  auto sink = Child::start([&](int report) { Sink(config.transports).run(report); });
  if (!sink) return sink.error();
  std::uint16_t port = 0;
  std::uint64_t length = 0;
  if (!worker->read(&port, sizeof port)) return Error{ErrorKind::kEnvironment, "the worker did not start"};
  if (!sink->read(&length, sizeof length)) return Error{ErrorKind::kEnvironment, "the sink did not start"};
  std::vector<std::byte> address(length);
  sink->read(address.data(), length);

  RdmoTargetConfig target_config;
  target_config.worker.port = port;
  target_config.transports = config.transports;
  target_config.client = 1;
  target_config.shared = config.shared;
  target_config.bytes = kLogBytes;
  auto target = RdmoTarget::create(target_config);
  if (!target) return target.error();
  // The two-step has memory as UCX likes it best: with posix in the transports, it needs no target's help.
  auto beside = UcxMemory::allocate((*target)->port(), kLogBytes);
  if (!beside) return beside.error();
  auto bare = BareMessages::open(config, address);
  if (!bare) return bare.error();
  auto published = WorkerAppends::open(config, **target, rdmo::Form::kPublished, 1);
  if (!published) return published.error();
  (*published)->set_published(true);
  auto single = WorkerAppends::open(config, **target, rdmo::Form::kExtended, 1);
  if (!single) return single.error();
  auto batched = WorkerAppends::open(config, **target, rdmo::Form::kExtended, config.batch);
  if (!batched) return batched.error();
  std::unique_ptr<NativeAppends> native;
  {
    TargetThread helper(**target);
    auto made =
        NativeAppends::open(config.transports, (*target)->ucx_address(), beside->key(),
                            reinterpret_cast<std::uint64_t>(beside->bytes().data()), kLogBytes, config.bytes);
    if (!made) return made.error();
    native = *std::move(made);
  }

  const LiveClock clock;
  using Count = Result<std::uint64_t>;
  struct Kind {
    std::string what;
    std::function<Count(const MeasuredTurn&)> rate;
    std::function<Result<void>()> one;
    bool helped = false;
    std::vector<double> rates;
    std::vector<double> latencies;
  };
  std::vector<Kind> kinds;
  kinds.push_back({"bare active messages",
                   [&](const MeasuredTurn& turn) { return Count((*bare)->rate(turn, config.window)); },
                   [&]() -> Result<void> {
                     (*bare)->round_trip();
                     return {};
                   },
                   false,
                   {},
                   {}});
  kinds.push_back({"published append",
                   [&](const MeasuredTurn& turn) { return (*published)->rate(turn); },
                   [&] { return (*published)->one(); },
                   false,
                   {},
                   {}});
  kinds.push_back({"extended append",
                   [&](const MeasuredTurn& turn) { return (*single)->rate(turn); },
                   [&] { return (*single)->one(); },
                   false,
                   {},
                   {}});
  kinds.push_back({fmt::format("extended append, batches of {}", config.batch),
                   [&](const MeasuredTurn& turn) { return (*batched)->rate(turn); },
                   {},
                   false,
                   {},
                   {}});
  kinds.push_back({"two-step, one at a time (N1)",
                   [&](const MeasuredTurn& turn) { return Count(native->blocking(turn)); },
                   {},
                   true,
                   {},
                   {}});
  kinds.push_back({fmt::format("two-step, {} chains (N2)", config.window),
                   [&](const MeasuredTurn& turn) { return Count(native->chains(turn, config.window)); },
                   {},
                   true,
                   {},
                   {}});
  kinds.push_back({fmt::format("two-step, one step for {} puts (N3)", config.batch),
                   [&](const MeasuredTurn& turn) { return Count(native->reserved(turn, config.batch)); },
                   {},
                   true,
                   {},
                   {}});
  for (std::uint32_t round = 0; round < config.rounds && !stop.load(); ++round) {
    for (Kind& kind : kinds) {
      if (stop.load()) break;
      std::optional<TargetThread> helper;
      if (kind.helped || !config.shared) helper.emplace(**target);
      const TimePs begin = clock.now();
      auto count = kind.rate({clock, begin + config.turn, stop});
      if (!count) return count.error();
      kind.rates.push_back(static_cast<double>(*count) * 1e12 /
                           static_cast<double>((clock.now() - begin).ps));
      if (!kind.one) continue;
      const MeasuredTurn single_turn{clock, clock.now() + config.turn, stop};
      for (TimePs at = clock.now(); single_turn.goes_on(); at = clock.now()) {
        WHARF_TRY(kind.one());
        kind.latencies.push_back(as_nanoseconds(clock.now() - at));
      }
      for (auto* appends : {published->get(), single->get()}) WHARF_TRY(appends->begin_anew());
    }
  }
  std::vector<RdmoRate> rates;
  for (Kind& kind : kinds) rates.push_back({kind.what, median(kind.rates), median(kind.latencies)});
  return rates;
}

}  // namespace wharf::live
