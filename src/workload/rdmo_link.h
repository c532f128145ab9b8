// SPDX-License-Identifier: Apache-2.0
// One end of a queue that carries active messages: receive entries that are posted again when their message
// is not needed any more, and hands that send.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ring.h"
#include "verbs/core.h"
#include "verbs/gate.h"
#include "workload/join.h"
#include "workload/rdmo_frame.h"

namespace wharf::workload {

/// Who uses a link; `link` is its number there.
class RdmoLinkUser {
 public:
  virtual ~RdmoLinkUser() = default;
  /// The message of `entry` is next. Its bytes stay until give_back(entry).
  virtual void arrived(std::uint32_t link, std::uint32_t entry) = 0;
  /// The message with that tag has been sent.
  virtual void sent(std::uint32_t link, RdmoFrameKind kind, std::uint32_t tag) = 0;
  virtual void failed(std::uint32_t link, verbs::CompletionStatus status) = 0;
};

struct RdmoLinkShape {
  std::uint32_t entries = 0;        ///< Receive entries.
  std::uint32_t hands = 0;          ///< Messages that are being sent.
  std::uint32_t waiting = 0;        ///< Messages that wait for a hand.
  std::uint32_t receive_bytes = 0;  ///< The longest message, each way.
  std::uint32_t send_bytes = 0;
};

template <verbs::RemoteMemory R, verbs::Core C>
class RdmoLink {
 public:
  RdmoLink(std::uint32_t number, R& remote, C& core, const RdmoLinkShape& shape, RdmoLinkUser& user)
      : number_(number),
        remote_(remote),
        core_(core),
        shape_(shape),
        user_(user),
        arrivals_(shape.entries),
        entries_(shape.entries),
        outgoing_(shape.waiting) {}

  void open(Join& join) {
    join_ = &join;
    join.spawn(core_, shape_.entries, [this](std::uint32_t entry) { return receive(entry); });
    join.spawn(core_, shape_.hands, [this](std::uint32_t) { return send(); });
  }
  /// `data` stays until sent(). A link that has failed sends nothing.
  void post(const RdmoFrame& frame) {
    if (closed_ || failed_) return;
    Outgoing& out = outgoing_.push_stale();
    out.frame = frame;
    out.frame.number = next_number_++;
    std::copy(frame.header.begin(), frame.header.end(), out.header.begin());
    to_send_.open();
  }
  /// Tells the other end that nothing more comes, and ends when that was sent.
  void say_bye(std::uint32_t entries) {
    for (std::uint32_t i = 0; i < entries; ++i) post({.kind = RdmoFrameKind::kBye});
    close();
  }
  RdmoFrame frame(std::uint32_t entry) const {
    RdmoFrame frame;
    decode(std::span<const std::byte>(core_.bytes(entries_[entry].local, Bytes{entries_[entry].length})),
           frame);
    return frame;
  }
  void give_back(std::uint32_t entry) { entries_[entry].free.open(); }
  R& remote() { return remote_; }
  bool has_failed() const { return failed_; }

 private:
  struct Entry {
    std::uint64_t local = 0;
    std::uint32_t length = 0;
    verbs::Gate free;
  };
  struct Outgoing {
    RdmoFrame frame;
    std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
  };

  verbs::Task<void> receive(std::uint32_t index) {
    Entry& entry = entries_[index];
    entry.local = core_.allocate(Bytes{shape_.receive_bytes});
    for (bool last = false; !last;) {
      const verbs::Completion got = co_await remote_.receive(entry.local, shape_.receive_bytes);
      if (!got.ok()) {
        fail(got.status);
        break;
      }
      entry.length = got.length;
      RdmoFrame frame;
      if (!decode(std::span<const std::byte>(core_.bytes(entry.local, Bytes{got.length})), frame)) {
        fail(verbs::CompletionStatus::kLocalLength);
        break;
      }
      if (!arrivals_.arrived(frame.number, index)) continue;
      last = frame.kind == RdmoFrameKind::kBye;
      for (std::uint32_t next = 0; arrivals_.next(next);) user_.arrived(number_, next);
      co_await entry.free.wait();
    }
    join_->leave();
  }
  verbs::Task<void> send() {
    const std::uint64_t local = core_.allocate(Bytes{shape_.send_bytes});
    for (;;) {
      co_await to_send_.wait();
      if (outgoing_.empty() || failed_) break;  // Closed.
      Outgoing& next = outgoing_.front();
      next.frame.header = std::span<const std::byte>(next.header).first(next.frame.header.size());
      const RdmoFrameKind kind = next.frame.kind;
      const std::uint32_t tag = next.frame.tag;
      const std::uint32_t length = encode(next.frame, core_.bytes(local, Bytes{shape_.send_bytes}));
      outgoing_.pop_front();
      const verbs::Completion sent = co_await remote_.send(local, length);
      if (!sent.ok()) {
        fail(sent.status);
      } else {
        user_.sent(number_, kind, tag);
      }
    }
    join_->leave();
  }
  void close() {
    if (closed_) return;
    closed_ = true;
    for (std::uint32_t hand = 0; hand < shape_.hands; ++hand) to_send_.open();
  }
  void fail(verbs::CompletionStatus status) {
    if (failed_) return;
    failed_ = true;
    user_.failed(number_, status);
    close();
  }

  const std::uint32_t number_;
  R& remote_;
  C& core_;
  const RdmoLinkShape shape_;
  RdmoLinkUser& user_;
  RdmoArrivals arrivals_;
  std::vector<Entry> entries_;
  Ring<Outgoing> outgoing_;
  verbs::Gate to_send_;
  Join* join_ = nullptr;
  std::uint32_t next_number_ = 0;
  bool closed_ = false;
  bool failed_ = false;
};

}  // namespace wharf::workload
