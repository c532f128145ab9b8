// SPDX-License-Identifier: Apache-2.0
// The party that runs the RDMO worker, or the thread: one loop on one core takes messages in the order of
// their arrival, hands perform the accesses that it asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/line.h"
#include "base/slot_pool.h"
#include "workload/crew.h"
#include "workload/peers.h"
#include "workload/rdmo_brain.h"
#include "workload/rdmo_link.h"

namespace wharf::workload {

/// Memory is near when the worker runs at the target: then accesses are loads and stores of its core, a line
/// at a time and several lines at once, and data that a client only offers is read straight to its place.
/// Elsewhere they are reads and writes over `target`; that earlier writes are visible is known when a read
/// behind them is answered, since it pushes them through PCIe (PCIe Base 5.0 2.4.1).
template <typename R, typename C>
class RdmoHost final : public RdmoLinkUser {
 public:
  RdmoHost(const RdmoConfig& config, Party party, C& core, const Peers<R>& peers, R* target,
           RdmoResult& result)
      : config_(config),
        core_(core),
        target_(target),
        own_(peers.own + config.region_offset),
        result_(result),
        clients_(clients_of(config, party)),
        entries_(2 * rdmo_window(config)),
        memory_(memory_needed(config, party)),
        brain_(config, clients_, memory_, near(), core.random("rdmo.keys").next_u64()),
        open_(accesses_most()),
        pieces_(pieces_most()),
        ready_(std::size_t{clients_} * entries_),
        fetched_(std::size_t{clients_} * entries_, 0),
        offers_(std::size_t{clients_} * entries_) {
    const std::uint32_t longest =
        kRdmoFrameBytes + wire::kRdmoHeaderBytesMax + std::max(config.eager_most, 64U);
    const RdmoLinkShape shape{entries_, std::min(16U, rdmo_window(config)), 4 * entries_, longest,
                              kRdmoFrameBytes + wire::kRdmoHeaderBytesMax};
    std::uint32_t number = 0;
    for (std::size_t other = 0; other < peers.by_rank.size(); ++other) {
      if (peers.by_rank[other] != nullptr && other != 1)
        links_.emplace_back(number++, *peers.by_rank[other], core, shape, *this);
    }
    clients_left_ = number;
  }

  verbs::Task<void> run() {
    for (RdmoLink<R, C>& link : links_) link.open(join_);
    join_.spawn(core_, 1, [this](std::uint32_t) { return serve(); });
    join_.spawn(core_, kHands, [this](std::uint32_t) { return work(); });
    if (brain_.publishes()) join_.spawn(core_, 1, [this](std::uint32_t) { return tick(); });
    if (config_.load_percent != 0) join_.spawn(core_, 1, [this](std::uint32_t) { return disturb(); });
    if (config_.start_delay > kTimeZero) co_await core_.sleep(config_.start_delay);
    std::array<std::byte, 16> grant{};
    store_le64(grant.data(), brain_.key());
    store_le64(grant.data() + 8, kRdmoBase + kRdmoCell);
    for (RdmoLink<R, C>& link : links_) link.post({.kind = RdmoFrameKind::kGrant, .header = grant});
    co_await join_.all();
    brain_.count(result_);
  }

 private:
  static constexpr std::uint32_t kHands = 32;
  /// An access under way, in pieces.
  struct Open {
    rdmo::Access access;
    rdmo::AccessResult result;
    std::uint32_t left = 0;
  };
  struct Piece {
    std::uint32_t open = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  struct Offer {
    std::uint64_t place = 0;
    std::uint32_t tag = 0;
    bool open = false;
  };

  bool near() const { return target_ == nullptr; }
  std::uint32_t accesses_most() const { return RdmoBrain::accesses_most(config_, clients_); }
  std::size_t pieces_most() const {
    const std::uint64_t lines = near() ? std::max(config_.eager_most, config_.payload) / kLineBytes + 3 : 1;
    return std::size_t{accesses_most()} * lines;
  }
  std::uint64_t handle_of(std::uint32_t link, std::uint32_t entry) const {
    return std::uint64_t{link} * entries_ + entry;
  }

  // --- Links ---
  void arrived(std::uint32_t link, std::uint32_t entry) override {
    ready_.push_back(static_cast<std::uint32_t>(handle_of(link, entry)));
    to_serve_.open();
  }
  void sent(std::uint32_t, RdmoFrameKind, std::uint32_t) override {}
  void failed(std::uint32_t link, verbs::CompletionStatus status) override {
    if (result_.loop.errors++ == 0) result_.loop.first_error = status;
    brain_.lost(core_.now(), link);
    pump();
    leave();
  }
  void leave() {
    if (--clients_left_ > 0) return;
    to_serve_.open();
    for (std::uint32_t hand = 0; hand < kHands; ++hand) to_work_.open();
  }
  bool over() const { return clients_left_ == 0; }

  /// The loop of the worker's core.
  verbs::Task<void> serve() {
    std::vector<std::uint32_t> byes(links_.size(), 0);
    for (;;) {
      co_await to_serve_.wait();
      if (ready_.empty()) break;
      const std::uint32_t handle = ready_.front();
      ready_.pop_front();
      const std::uint32_t number = handle / entries_;
      const std::uint32_t entry = handle % entries_;
      RdmoLink<R, C>& link = links_[number];
      const RdmoFrame frame = link.frame(entry);
      if (frame.kind == RdmoFrameKind::kBye) {
        link.give_back(entry);
        if (++byes[number] == entries_ && !link.has_failed()) {
          link.say_bye(entries_);
          leave();
        }
        continue;
      }
      const bool offered = frame.kind == RdmoFrameKind::kOffer;
      const std::uint32_t lines =
          offered ? 0 : static_cast<std::uint32_t>((frame.length + kLineBytes - 1) / kLineBytes);
      const TimePs time = config_.request_time + config_.line_time * lines;
      if (time > kTimeZero) co_await core_.compute(time);
      ++result_.messages;
      offers_[handle] = {frame.offer, frame.tag, offered};
      const rdmo::Payload payload{offered || frame.length == 0 ? nullptr : frame.data.data(), frame.length,
                                  handle};
      rdmo::Taken taken = brain_.receive(core_.now(), number, frame.message_id, frame.header, payload);
      while (taken == rdmo::Taken::kNoRoom) {
        pump();
        co_await core_.sleep(config_.retry_wait + nanoseconds(1));
        taken = brain_.receive(core_.now(), number, frame.message_id, frame.header, payload);
      }
      if (taken == rdmo::Taken::kDone) release(handle);
      pump();
    }
    join_.leave();
  }
  void release(std::uint32_t handle) {
    RdmoLink<R, C>& link = links_[handle / entries_];
    if (offers_[handle].open) link.post({.kind = RdmoFrameKind::kTaken, .tag = offers_[handle].tag});
    offers_[handle].open = false;
    link.give_back(handle % entries_);
  }
  /// Takes from the outputs until all are empty.
  void pump() {
    if (pumping_) return;
    pumping_ = true;
    for (bool more = true; more;) {
      more = false;
      for (rdmo::Access access; brain_.next_access(access); more = true) begin(access);
      for (rdmo::Message message; brain_.next_message(message); more = true)
        links_[message.peer].post(
            {.kind = RdmoFrameKind::kMessage,
             .message_id = static_cast<std::uint8_t>(message.message_id),
             .header = std::span<const std::byte>(message.header).first(message.length)});
      for (std::uint64_t handle = 0; brain_.next_release(handle); more = true)
        release(static_cast<std::uint32_t>(handle));
      brain_.act(core_.now());
    }
    pumping_ = false;
  }

  // --- Memory ---
  void begin(const rdmo::Access& access) {
    const std::uint32_t index = open_.acquire();
    WHARF_CHECK(index != kNoSlot);
    open_[index] = {access, {}, 0};
    const bool bytes = access.kind == rdmo::AccessKind::kFill ||
                       (access.kind == rdmo::AccessKind::kWrite && access.data != nullptr);
    const std::uint32_t step = near() && bytes ? static_cast<std::uint32_t>(kLineBytes) : access.length;
    std::uint32_t offset = 0;
    do {
      // Near, a piece is what lies in one line.
      const std::uint32_t room =
          near() && bytes ? step - static_cast<std::uint32_t>((access.address + offset) % kLineBytes)
                          : access.length;
      const std::uint32_t length = std::min(room, access.length - offset);
      ++open_[index].left;
      pieces_.push_back({index, offset, length});
      offset += length;
    } while (offset < access.length);
    const std::uint32_t count = open_[index].left;
    for (std::uint32_t i = 0; i < count; ++i) to_work_.open();
  }
  std::uint64_t local_of(const rdmo::Access& access) const { return own_ + (access.address - kRdmoBase); }
  verbs::RemoteAddress remote_of(std::uint64_t address) const {
    return target_->segment().at(config_.region_offset + (address - kRdmoBase));
  }

  verbs::Task<void> work() {
    const std::uint64_t room = core_.allocate(Bytes{std::max({config_.eager_most, config_.payload, 64U})});
    for (;;) {
      co_await to_work_.wait();
      if (pieces_.empty()) break;
      const Piece piece = pieces_.front();
      pieces_.pop_front();
      const rdmo::Access access = open_[piece.open].access;
      rdmo::AccessResult& result = open_[piece.open].result;
      verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
      bool of_sender = false;
      const bool from_sender = access.kind == rdmo::AccessKind::kFetch ||
                               (access.kind == rdmo::AccessKind::kWrite && access.data == nullptr);
      if (from_sender) {
        const auto handle = static_cast<std::uint32_t>(access.payload);
        std::uint64_t to = near() ? local_of(access) : room;
        if (access.kind == rdmo::AccessKind::kFetch) {
          if (fetched_[handle] == 0)
            fetched_[handle] = core_.allocate(Bytes{std::max(config_.eager_most, config_.payload)});
          to = fetched_[handle];
        }
        R& client = links_[handle / entries_].remote();
        const verbs::Completion read =
            co_await client.read(to, client.segment().at(offers_[handle].place), access.length);
        status = read.status;
        of_sender = true;
        result.data = core_.bytes(to, Bytes{access.length}).data();
      }
      if (status == verbs::CompletionStatus::kSuccess && near()) {
        const std::uint64_t at =
            access.kind == rdmo::AccessKind::kFetch ? 0 : local_of(access) + piece.offset;
        switch (access.kind) {
          case rdmo::AccessKind::kRead:
            for (std::uint32_t word = 0; word < access.length / 8; ++word)
              result.words[word] = co_await core_.load(at + 8 * word, 8);
            break;
          case rdmo::AccessKind::kWrite:
          case rdmo::AccessKind::kFill:
            if (from_sender) break;
            for (std::uint32_t done = 0; done < piece.length; done += 8) {
              const bool zero = access.kind == rdmo::AccessKind::kFill;
              co_await core_.store(at + done, 8, zero ? 0 : load_le64(access.data + piece.offset + done));
            }
            break;
          case rdmo::AccessKind::kWriteCell:
            co_await core_.store(at, 8, access.value);
            break;
          case rdmo::AccessKind::kCompareSwap:
            result.words[0] = co_await core_.compare_swap(at, access.compare, access.value);
            break;
          case rdmo::AccessKind::kOrder:
            co_await core_.fence();
            break;
          case rdmo::AccessKind::kFetch:
            break;
        }
      } else if (status == verbs::CompletionStatus::kSuccess && access.kind != rdmo::AccessKind::kFetch) {
        of_sender = false;
        const std::span<std::byte> bytes = core_.bytes(room, Bytes{std::max(access.length, 32U)});
        switch (access.kind) {
          case rdmo::AccessKind::kRead: {
            const verbs::Completion read =
                co_await target_->read(room, remote_of(access.address), access.length);
            status = read.status;
            for (std::uint32_t word = 0; word < access.length / 8; ++word)
              result.words[word] = load_le64(bytes.data() + 8 * word);
            break;
          }
          case rdmo::AccessKind::kWrite:
          case rdmo::AccessKind::kFill:
          case rdmo::AccessKind::kWriteCell: {
            if (access.kind == rdmo::AccessKind::kWriteCell) {
              store_le64(bytes.data(), access.value);
            } else if (access.kind == rdmo::AccessKind::kFill) {
              std::fill_n(bytes.begin(), access.length, std::byte{0});
            } else if (!from_sender) {
              std::copy_n(access.data, access.length, bytes.begin());
            }
            const std::uint32_t length = access.kind == rdmo::AccessKind::kWriteCell ? 8 : access.length;
            const verbs::Completion written =
                co_await target_->write(room, remote_of(access.address), length);
            status = written.status;
            break;
          }
          case rdmo::AccessKind::kCompareSwap: {
            const verbs::Completion swapped =
                co_await target_->compare_swap(remote_of(access.address), access.compare, access.value);
            status = swapped.status;
            result.words[0] = swapped.atomic_result[0];
            break;
          }
          case rdmo::AccessKind::kOrder: {
            const verbs::Completion read = co_await target_->read(room, remote_of(kRdmoBase), 8);
            status = read.status;
            break;
          }
          case rdmo::AccessKind::kFetch:
            break;
        }
      }
      if (status != verbs::CompletionStatus::kSuccess) {
        result.status = of_sender ? rdmo::AccessStatus::kSenderLost : rdmo::AccessStatus::kMemoryFailed;
        if (!of_sender && result_.loop.errors++ == 0) result_.loop.first_error = status;
      }
      if (--open_[piece.open].left > 0) continue;
      const rdmo::AccessResult answer = result;
      open_.release(piece.open);
      brain_.access_done(core_.now(), access.id, answer);
      pump();
    }
    join_.leave();
  }

  /// Lets the worker look at the time, for tails that it writes back by itself.
  verbs::Task<void> tick() {
    while (!over()) {
      co_await core_.sleep(config_.publish_delay);
      brain_.expire(core_.now());
      pump();
    }
    join_.leave();
  }
  /// Other work on the same core, in bursts whose pauses are drawn.
  verbs::Task<void> disturb() {
    RandomStream random = core_.random("rdmo.load");
    const TimePs pause = config_.load_burst * (100 - config_.load_percent) / config_.load_percent;
    while (!over()) {
      co_await core_.sleep(random.exponential(pause));
      co_await core_.compute(config_.load_burst);
    }
    join_.leave();
  }

  const RdmoConfig& config_;
  C& core_;
  R* const target_;
  const std::uint64_t own_;
  RdmoResult& result_;
  const std::uint32_t clients_;
  const std::uint32_t entries_;
  const std::uint64_t memory_;
  RdmoBrain brain_;
  std::deque<RdmoLink<R, C>> links_;
  SlotPool<Open> open_;
  Ring<Piece> pieces_;
  Ring<std::uint32_t> ready_;
  std::vector<std::uint64_t> fetched_;
  std::vector<Offer> offers_;
  verbs::Gate to_serve_;
  verbs::Gate to_work_;
  Join join_;
  std::uint32_t clients_left_ = 0;
  bool pumping_ = false;
};

}  // namespace wharf::workload
