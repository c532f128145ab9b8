// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/session_core.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "live/reactor/idle_policy.h"
#include "live/udp/client.h"

namespace wharf::live {
namespace {

/// How often to look whether the server is still there.
constexpr TimePs kLookInterval = milliseconds(5);
constexpr TimePs kLongestSleep = milliseconds(20);
/// Before it sleeps: short, for the program's threads want the cores, too.
constexpr std::uint32_t kSpins = 100;
constexpr std::uint32_t kYields = 20;
constexpr std::uint32_t kQueueDepth = 128;

/// What the thread waits for: frames, calls and faults, as one port.
struct Ears {
  DatagramPort& port;
  int epoll;
  bool prepare_wait() { return port.prepare_wait(); }
  void waited() { port.waited(); }
  int descriptor() const { return epoll; }
};

Error no(const char* what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<void> listen(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) return no("epoll_ctl");
  return {};
}

}  // namespace

template <engine::Engine E>
class ApertureSession::Core::Turns : public PageLink {
 public:
  Turns(Core& core, std::unique_ptr<Client<E>> client, bool busy_poll)
      : core_(core), client_(std::move(client)) {
    idle_.busy_poll = busy_poll;
    idle_.spins = kSpins;
    idle_.yields = kYields;
    idle_.longest_sleep = kLongestSleep;
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() override = default;

  verbs::Task<bool> read(std::byte* into, std::uint64_t offset, std::uint32_t bytes) override {
    const verbs::Completion done =
        co_await client_->remote().read(reinterpret_cast<std::uint64_t>(into), target(offset), bytes);
    co_return took(done);
  }
  verbs::Task<bool> write(const std::byte* from, std::uint64_t offset, std::uint32_t bytes) override {
    const verbs::Completion done =
        co_await client_->remote().write(reinterpret_cast<std::uint64_t>(from), target(offset), bytes);
    co_return took(done);
  }

  void run() {
    IdlePolicy idle(idle_);
    Ears ears{client_->host().port(), core_.ears_};
    while (!core_.stop_.load(std::memory_order_acquire)) {
      bool worked = run_errands();
      TimePs deadline = kNever;
      const TimePs now = client_->host().now();
      for (std::size_t each = 0; each < pagers_.size();) {
        Pager& pager = *pagers_[each];
        worked |= pager.step(now);
        if (pager.ended()) {
          end(each);
          continue;
        }
        deadline = min(deadline, pager.deadline());
        ++each;
      }
      worked |= client_->host().step();
      if (now >= next_look_) look(now);
      // What has ended just now may let coroutines go on.
      for (const auto& pager : pagers_) worked |= pager->can_go_on();
      if (worked) {
        idle.worked();
      } else {
        idle.idle(now, min(client_->host().deadline(), deadline), ears);
      }
    }
  }

 private:
  verbs::RemoteAddress target(std::uint64_t offset) const {
    return client_->remote().segment().at(client_->slice_offset() + offset);
  }

  bool took(const verbs::Completion& done) {
    // Nobody answered, or this queue has come to an end, whatever the server does: it is of no use any more.
    if (done.status == verbs::CompletionStatus::kRetryExhausted ||
        done.status == verbs::CompletionStatus::kFlushed)
      lose_ = true;
    return done.ok();
  }

  bool run_errands() {
    if (lose_) lost();
    if (!core_.take(errands_)) return false;
    for (Errand& errand : errands_) {
      if (errand.attached) {
        if (core_.lost()) errand.attached->link_lost();
        pagers_.push_back(std::move(errand.attached));
      } else {
        errand.pager->start(std::move(errand.call));
      }
    }
    errands_.clear();
    return true;
  }

  void look(TimePs now) {
    next_look_ = now + kLookInterval;
    if (!core_.lost() && client_->peer_gone()) lost();
  }

  void lost() {
    lose_ = false;
    if (core_.lost()) return;
    core_.lost_.store(true, std::memory_order_release);
    for (const auto& pager : pagers_) pager->link_lost();
  }

  void end(std::size_t index) {
    const std::shared_ptr<ApertureCall> call = pagers_[index]->unmapping();
    pagers_.erase(pagers_.begin() + static_cast<std::ptrdiff_t>(index));
    call->finish();
  }

  Core& core_;
  // The coroutines of the pagers wait for operations of the client: it goes first, and nothing ends then.
  std::vector<std::unique_ptr<Pager>> pagers_;
  std::unique_ptr<Client<E>> client_;
  IdleConfig idle_;
  TimePs next_look_;
  bool lose_ = false;
  std::vector<Errand> errands_;
};

Result<std::shared_ptr<ApertureSession::Core>> ApertureSession::Core::open(
    const ApertureSessionSettings& settings, const Place& server, wire::Protocol protocol) {
  std::shared_ptr<Core> core(new Core);
  core->process_ = ::getpid();
  core->writable_ = settings.writable;
  WHARF_TRY(core->begin());
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string refusal;
  try {
    core->thread_ = std::make_unique<std::thread>(
        [&core = *core, settings, server, protocol] { core.run(settings, server, protocol); });
  } catch (const std::system_error& error) {
    refusal = error.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!refusal.empty())
    return Error{ErrorKind::kEnvironment, fmt::format("the system gives no thread: {}", refusal)};
  std::unique_lock lock(core->mutex_);
  core->changed_.wait(lock, [&] { return core->opened_.has_value(); });
  if (!core->opened_->ok()) return core->opened_->error();
  core->granted_ = **core->opened_;
  lock.unlock();
  return core;
}

Result<void> ApertureSession::Core::begin() {
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell_ < 0) return no("eventfd");
  ears_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (ears_ < 0) return no("epoll_create1");
  return listen(ears_, bell_);
}

bool ApertureSession::Core::ours() const { return ::getpid() == process_; }

ApertureSession::Core::~Core() {
  if (thread_ && !ours()) {
    static_cast<void>(thread_.release());  // Its thread is the parent's.
  } else if (thread_) {
    stop_.store(true, std::memory_order_release);
    give({});
    thread_->join();
  }
  if (ears_ >= 0) ::close(ears_);
  if (bell_ >= 0) ::close(bell_);
}

void ApertureSession::Core::opened(Result<Granted> granted) {
  const std::lock_guard lock(mutex_);
  opened_ = std::move(granted);
  changed_.notify_all();
}

void ApertureSession::Core::run(const ApertureSessionSettings& settings, const Place& server,
                                wire::Protocol protocol) {
  with_engine_type(protocol, [&]<typename E>(std::type_identity<E>) {
    const LiveClock clock;
    ClientConfig config;
    config.server = server;
    config.queue_depth = kQueueDepth;
    config.rights = verbs::kReadOnly;
    config.rights.remote_write = settings.writable;
    config.slice_key = settings.slice_key;
    config.patience = milliseconds(settings.patience_ms);
    auto client = Client<E>::open(config, clock);
    if (!client) return opened(client.error());
    if (const auto heard = listen(ears_, (*client)->host().port().descriptor()); !heard)
      return opened(heard.error());
    const Granted granted{(*client)->slice_bytes(), (*client)->slice_key()};
    Turns<E> turns(*this, *std::move(client), settings.busy_poll);
    link_ = &turns;
    opened(granted);
    turns.run();
  });
}

void ApertureSession::Core::give(Errand errand) {
  // The bell is rung and silenced with the errands: after them it would be heard for ever.
  const std::lock_guard lock(mutex_);
  errands_.push_back(std::move(errand));
  given_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  WHARF_CHECK(::write(bell_, &one, sizeof one) == sizeof one);
}

bool ApertureSession::Core::take(std::vector<Errand>& into) {
  if (!given_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  static_cast<void>(::read(bell_, &count, sizeof count));
  given_.store(false, std::memory_order_relaxed);
  into.swap(errands_);
  std::erase_if(into, [](const Errand& each) { return !each.pager && !each.attached; });
  return true;
}

Result<Pager*> ApertureSession::Core::attach(std::unique_ptr<Mapping> mapping, const ApertureSegment& segment,
                                             const ApertureOptions& options) {
  if (mapping->faults()) WHARF_TRY(listen(ears_, mapping->descriptor()));
  auto pager = std::make_unique<Pager>(*link_, std::move(mapping), segment, options);
  Pager* const out = pager.get();
  give({.attached = std::move(pager)});
  return out;
}

void ApertureSession::Core::submit(Pager* pager, std::shared_ptr<ApertureCall> call) {
  give({.pager = pager, .call = std::move(call)});
}

}  // namespace wharf::live
