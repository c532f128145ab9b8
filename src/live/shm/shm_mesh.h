// SPDX-License-Identifier: Apache-2.0
// Frames between any processes of one user on one host, over rings in shared memory. Each end has a name of
// its own, so whoever knows it reaches it, as with a UDP socket; nobody is a server.
//
// A link carries frames one way. Who has something to send to an end connects to its name, makes the link and
// hands it over with its own name; the answer comes over a link that the other side makes the same way. So
// two that begin at the same time do not get into each other's way, and a name that is claimed is one where
// the claimant is reached (decision 0101).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "live/reactor/datagram_port.h"
#include "live/reactor/live_clock.h"
#include "live/shm/shared_link.h"
#include "live/shm/shm_rendezvous.h"

namespace wharf::live {

/// Ends are named by UdpEndpoint: an address of 1 to 65,535 and a port, both of which the program chooses.
class ShmMesh final : public DatagramPort {
 public:
  /// Links each way. What is for or from a further end is dropped.
  static constexpr std::size_t kLinksMost = 1024;
  /// Of these to, or from, one process: it may have several ends, but leaves room for others.
  static constexpr std::size_t kLinksOfProcessMost = 64;
  /// What is for an end that takes no link is dropped for so long before it is asked again.
  static constexpr TimePs kTurnedAway = milliseconds(100);
  /// Connections that have not handed over a link yet; one more ends the oldest.
  static constexpr std::size_t kNewcomersMost = 64;

  /// Takes the name. One that is taken is an environment error.
  static Result<std::unique_ptr<ShmMesh>> open(const UdpEndpoint& local);
  ~ShmMesh() override;
  /// The name in shm_rendezvous.h of an end.
  static std::string name_of(const UdpEndpoint& end);

  std::size_t receive() override;
  bool prepare_wait() override;
  void waited() override;
  std::optional<UdpEndpoint> next_gone() const override;
  void gone_is_known() override;
  void abandon() override;

  /// For pthread_atfork(), once for all: while a link is made or ended, abandon() would not find all that a
  /// child has of it, so nothing is forked then.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  bool short_of_room() const override { return newcomers_wait_; }

  std::size_t links() const { return inbound_.size() + outbound_.size(); }

 private:
  /// A descriptor that a forked child closes: its number stands in a place that is never moved.
  class Held {
   public:
    Held() = default;
    Held(std::atomic<int>* place, int number) : place_(place) { place_->store(number); }
    Held(Held&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
    Held& operator=(Held&& other) noexcept {
      std::swap(place_, other.place_);
      return *this;
    }
    ~Held() {
      if (place_ != nullptr) place_->store(-1);
    }

   private:
    std::atomic<int>* place_ = nullptr;
  };

  /// A link, and who is at its other end.
  struct Link {
    std::uint64_t tag = 0;  ///< What the system calls it when its doorbell rings.
    UdpEndpoint remote;
    pid_t process = 0;
    SharedLink shared;
    Held held;
    TimePs made_at;
    bool taken = false;    ///< From its reader, since the last receive().
    bool written = false;  ///< To its writer, in this batch.
    bool ended = false;    ///< The other side is gone: what is in the ring is the last.
    bool refused = false;  ///< Not even that is taken.
    bool proven = false;   ///< An inbound one: its process is the one that has the name.
    bool empty = false;    ///< Its ring was, when it was looked at last.
  };
  /// Memory for one Link.
  class LinkRoom {
   public:
    LinkRoom() : at_(::operator new(sizeof(Link))) {}
    LinkRoom(const LinkRoom&) = delete;
    LinkRoom& operator=(const LinkRoom&) = delete;
    ~LinkRoom() { ::operator delete(at_); }
    /// Whoever makes the Link has it from now on.
    void* take() { return std::exchange(at_, nullptr); }

   private:
    void* at_;
  };
  struct Newcomer {
    std::uint64_t tag = 0;
    ShmConnection connection;
    Held held;
  };

  ShmMesh(Descriptor waits, Descriptor nudge, ShmListener listener, const UdpEndpoint& local);
  std::size_t inbound_of(pid_t process) const;
  std::size_t outbound_of(pid_t process) const;
  void send_queued(std::size_t count) override;

  Held hold(int descriptor);
  bool watch(int descriptor, std::uint64_t tag, std::uint32_t events);
  void unwatch(int descriptor) const;
  /// Looks at what the system says of names, connections and doorbells. `strokes`: takes those of doorbells.
  void look(bool strokes);
  void take_newcomers();
  void take_link(std::uint64_t tag);
  /// The vector has room for one more.
  void adopt(const ShmConnection& from, const UdpEndpoint& remote, SharedLink shared, LinkRoom& room);
  void notice(Link& link, bool strokes);
  void end_inbound(Link& link);
  void wake_sleeper() const;
  Link* reach(const UdpEndpoint& to);
  void turned_away(const UdpEndpoint& by);
  Link* connect(const UdpEndpoint& to);
  Link* outbound(const UdpEndpoint& to) const;
  Link* inbound(const UdpEndpoint& from) const;
  void tell_gone(const UdpEndpoint& end);
  std::size_t take_frames();
  std::size_t take_from(Link& link, std::size_t at, std::size_t most);
  void remove_ended();
  void remove_inbound(std::size_t at);
  void remove_outbound(Link& link);

  Descriptor waits_;  ///< An epoll of everything.
  Descriptor nudge_;  ///< An eventfd: whoever waits shall look again.
  ShmListener listener_;
  std::unique_ptr<std::atomic<int>[]> held_;
  std::uint64_t next_tag_ = 2;
  std::vector<Newcomer> newcomers_;
  std::vector<std::unique_ptr<Link>> inbound_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Link>> outbound_;
  std::unordered_map<std::uint64_t, TimePs> turned_away_;  ///< Until when.
  LiveClock clock_;
  std::vector<UdpEndpoint> gone_;
  std::size_t next_ = 0;         ///< In inbound_: whose turn it is.
  std::size_t ending_ = 0;       ///< Of inbound_.
  bool newcomers_wait_ = false;  ///< There was no room for them.
  std::uint32_t calls_ = 0;      ///< Of receive().
  bool asleep_ = false;          ///< Somebody waits for descriptor().
};

}  // namespace wharf::live
