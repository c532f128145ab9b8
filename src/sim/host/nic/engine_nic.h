// SPDX-License-Identifier: Apache-2.0
// A NIC around one protocol engine: turns events into the engine's inputs, and is the memory, the wire and
// the user of the engine's driver (engine/driver). A template, so that nothing is dispatched per call.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/contract.h"
#include "engine/driver/engine_driver.h"
#include "sim/host/nic/nic.h"

namespace wharf::sim {

/// The NIC of engine E. The engine is handed in ready-made.
template <engine::Engine E>
class EngineNic final : public Nic {
 public:
  EngineNic(Simulation& simulation, const HostConfig& config, Attachment attachment, const HostParts& parts,
            std::uint16_t host, std::unique_ptr<E> engine)
      : Nic(simulation, config, attachment, parts, host), engine_(std::move(engine)) {}

  E& engine() { return *engine_; }

  Result<engine::QueueId> create_queue(const engine::QueueConfig& config) override {
    return engine_->create_queue(simulation_.now(), config);
  }
  Result<void> destroy_queue(engine::QueueId queue) override {
    return engine_->destroy_queue(simulation_.now(), queue);
  }
  Result<verbs::SegmentToken> register_segment(const verbs::SegmentConfig& config) override {
    return engine_->register_segment(simulation_.now(), config);
  }
  Result<void> deregister_segment(verbs::SegmentToken token) override {
    return engine_->deregister_segment(simulation_.now(), token);
  }
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const override {
    return engine_->export_queue(queue);
  }
  Result<engine::PeerId> connect(engine::QueueId queue, std::span<const std::byte> blob) override {
    return engine_->connect(simulation_.now(), queue, blob);
  }
  Result<void> disconnect(engine::QueueId queue, engine::PeerId peer) override {
    return engine_->disconnect(simulation_.now(), queue, peer);
  }

  void handle(const Event& event) override {
    const TimePs now = event.time;
    switch (static_cast<EventKind>(event.kind)) {
      case kPostInHand:
      case kPostDoorbell:
      case kPostReceive:
        post(now, {event.argument, event.extra, event.kind, now});
        break;
      case kIssue:
        issue(now, event.argument);
        break;
      case kAccessBegin:
        begin_access(now, event.argument);
        break;
      case kAccessDone:
        finish_access(now, event.argument);
        break;
      case kWriteAccepted:
        engine_->access_done(now, accesses_[event.argument].access.id, {});
        break;
      case kWriteVisible:
        place_write(event.argument);
        return;  // Nothing for the engine.
      case kTimer:
        if (event.argument != timer_generation_) return;
        timer_at_ = kNever;
        if (engine_->deadline() <= now) engine_->expire(now);
        break;
      case kTransmitRoom:
        break;
      case kDelayedReceive: {
        const wire::Packet packet = delayed_->take();
        engine_->receive(now, kPort, packet);
        host_parts_.payloads.release(packet.payload.buffer);
        break;
      }
    }
    settle(now);
  }

  void receive(const wire::Packet& packet, TimePs arrival) override {
    const TimePs now = simulation_.now();
    const TimePs done = admit(now, packet, arrival);
    if (done > now || !delayed_->empty()) {
      host_parts_.payloads.retain(packet.payload.buffer);
      delayed_->push(done, packet);
      return;
    }
    engine_->receive(now, kPort, packet);
    settle(now);
  }

  void describe_waiting(std::vector<std::string>& lines) const override {
    engine_->describe_waiting(lines);
    describe_common(lines);
  }

 private:
  static constexpr std::uint32_t kPort = 0;

  void post(TimePs now, const WaitingPost& post) {
    const engine::QueueId queue = clients_[post.client].queue;
    for (const WaitingPost& earlier : waiting_posts_) {
      if (clients_[earlier.client].queue == queue) {
        waiting_posts_.push_back(post);
        return;
      }
    }
    if (!try_post(now, post)) waiting_posts_.push_back(post);
  }

  /// False when the queue is full.
  bool try_post(TimePs now, const WaitingPost& post) {
    const Client& client = clients_[post.client];
    engine::PostStatus status;
    if (post.kind == kPostReceive) {
      status = engine_->post_receive(now, client.queue, client.client->receive_request(post.slot));
    } else {
      const verbs::WorkRequest& request = client.client->request(post.slot);
      host_parts_.tracer.span(request.operation, trace::Stage::kSendQueueWait, post.since, now, host_);
      status = engine_->post(
          now, client.queue, request,
          post.kind == kPostInHand ? engine::Submission::kInHand : engine::Submission::kDoorbell);
    }
    if (status == engine::PostStatus::kQueueFull) return false;
    if (post.kind != kPostReceive) {
      host_parts_.tracer.rest(client.client->request(post.slot).operation, trace::Stage::kSendQueueWait, now);
    }
    client.client->posted(post.slot, status);
    return true;
  }

  void retry_posts(TimePs now) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_posts_.size(); ++i) {
      const WaitingPost post = waiting_posts_[i];
      bool behind = false;
      for (std::size_t earlier = 0; earlier < kept && !behind; ++earlier)
        behind = clients_[waiting_posts_[earlier].client].queue == clients_[post.client].queue;
      if (behind || !try_post(now, post)) waiting_posts_[kept++] = post;
    }
    waiting_posts_.resize(kept);
  }

  void issue(TimePs now, std::uint32_t tag) {
    const verbs::LoadStore& request = load_store_client_->load_store(tag);
    host_parts_.tracer.rest(request.operation, trace::Stage::kNicQueue, now);
    const engine::PostStatus status = engine_->issue(now, request);
    if (status == engine::PostStatus::kOk) return;
    if (status == engine::PostStatus::kQueueFull) {
      waiting_issues_.push_back(tag);
    } else {
      load_store_client_->refused(tag, status);
    }
  }

  void begin_access(TimePs now, std::uint32_t slot) {
    if (lines_ != nullptr) {
      const Begun begun = begin_on_lines(now, slot);
      if (begun == Begun::kDone) answer_now_.push_back({slot, engine::AccessStatus::kDone, true});
      if (begun == Begun::kFault) answer_now_.push_back({slot, engine::AccessStatus::kFault, true});
      return;
    }
    PendingAccess& pending = accesses_[slot];
    engine::Access& access = pending.access;
    const TimePs begin = port_.earliest(now, access);
    if (begin > now) {
      simulation_.schedule(begin, id(), id(), kAccessBegin, slot);
      return;
    }
    host_parts_.tracer.span(access.operation, trace::Stage::kOrderWait, pending.since, now, host_);
    const MemoryPort::Course course = port_.begin(now, access);
    pending.answered = false;
    if (course.visible > course.done) {
      // A posted write: once it is on its way the engine may forget it, the bytes follow.
      const bool writes =
          access.kind == engine::AccessKind::kWrite || access.kind == engine::AccessKind::kWriteContext;
      if (writes && !port_.is_mapped(access)) {
        answer_now_.push_back({slot, engine::AccessStatus::kFault, true});
        return;
      }
      keep_payload(access);
      pending.answered = true;
      simulation_.schedule(course.visible, id(), id(), kWriteVisible, slot);
      if (course.done > now) {
        simulation_.schedule(course.done, id(), id(), kWriteAccepted, slot);
      } else {
        answer_now_.push_back({slot, engine::AccessStatus::kDone, false});
      }
      return;
    }
    if (course.done == now) {
      answer_now_.push_back({slot, engine::AccessStatus::kDone, true});
      return;
    }
    simulation_.schedule(course.done, id(), id(), kAccessDone, slot);
  }

  void finish_access(TimePs now, std::uint32_t slot) {
    engine::AccessId access = 0;
    engine::AccessResult result;
    take_result(now, slot, access, result);
    engine_->access_done(now, access, result);
    host_parts_.payloads.release(result.data.buffer);
  }

  /// Ends the access in `slot`, which memory has performed.
  void take_result(TimePs now, std::uint32_t slot, engine::AccessId& access, engine::AccessResult& result) {
    result = accesses_[slot].on_lines ? lines_->take(slot) : port_.perform(accesses_[slot].access);
    access = accesses_[slot].access.id;
    // What it waits for next, if anything, is a place in the transmit pipeline.
    host_parts_.tracer.rest(
        accesses_[slot].access.operation,
        accesses_[slot].access.at_target ? trace::Stage::kNicQueue : trace::Stage::kSendQueueWait, now);
    accesses_.release(slot);
  }

  /// The bytes of a posted write reach memory.
  void place_write(std::uint32_t slot) {
    if (accesses_[slot].on_lines) {
      (void)lines_->take(slot);
      accesses_.release(slot);
      return;
    }
    const engine::Access& access = accesses_[slot].access;
    const engine::AccessResult result = port_.perform(access);
    // The engine has been told that it is done: whether it is mapped was asked when it began.
    WHARF_CHECK(result.status == engine::AccessStatus::kDone);
    host_parts_.payloads.release(access.data.buffer);
    accesses_.release(slot);
  }

  // --- What the engine's driver sees of the NIC: memory.

  struct NicMemory {
    EngineNic& nic;

    engine::Access& place() { return nic.accesses_[nic.spare_access_].access; }
    bool begin(TimePs now, engine::Access&, engine::AccessResult&) {
      const std::uint32_t slot = nic.spare_access_;
      nic.spare_access_ = nic.take_access_slot();
      nic.accesses_[slot].since = now;
      ++nic.counters_.accesses;
      nic.begin_access(now, slot);
      return false;
    }
    bool take_answer(TimePs now, engine::AccessId& access, engine::AccessResult& result) {
      return nic.take_immediate_answer(now, access, result);
    }
    void reclaim(engine::AccessResult& result) { nic.host_parts_.payloads.release(result.data.buffer); }
  };

  /// Answers that need no time: an input like any other, but not while outputs are being drained.
  bool take_immediate_answer(TimePs now, engine::AccessId& access, engine::AccessResult& result) {
    if (next_answer_ == answer_now_.size()) {
      answer_now_.clear();
      next_answer_ = 0;
      return false;
    }
    const Answer answer = answer_now_[next_answer_++];
    if (answer.status == engine::AccessStatus::kDone && answer.release) {
      take_result(now, answer.slot, access, result);
      return true;
    }
    access = accesses_[answer.slot].access.id;
    result.status = answer.status;
    if (answer.status == engine::AccessStatus::kFault) accesses_.release(answer.slot);
    return true;
  }

  // --- The wire.

  struct NicWirePort {
    EngineNic& nic;

    wire::TrafficClassMask open(TimePs now) { return nic.open_classes(now); }
    wire::Packet& place() { return nic.wire_->next_packet(); }
    void send(TimePs now, wire::Packet& packet) { nic.transmit_packet(now, packet); }
  };

  // --- The user.

  struct NicUser {
    EngineNic& nic;

    void completed(TimePs, const verbs::Completion& completion) {
      if (QueueClient* client = nic.client_of(completion.queue)) client->completed(completion);
    }
    void answered(TimePs, const verbs::LoadStoreResult& result) { nic.load_store_client_->answered(result); }
    void event(TimePs now, const engine::AsyncEvent& event) { nic.note(now, event); }
    bool gave(TimePs now, engine::Taken taken) { return nic.retry(now, taken); }
    void wake_at(TimePs now, TimePs deadline) { nic.arm_timer(now, deadline); }
  };

  /// What found its queue full is tried again when there may be room; true when there was any.
  bool retry(TimePs now, engine::Taken taken) {
    bool any = false;
    if (taken.completions && !waiting_posts_.empty()) {
      retry_posts(now);
      any = true;
    }
    if (taken.answers && !waiting_issues_.empty()) {
      retry_issues(now);
      any = true;
    }
    return any;
  }

  void settle(TimePs now) {
    NicMemory memory{*this};
    NicWirePort wire{*this};
    NicUser user{*this};
    engine::EngineDriver(*engine_, memory, wire, user).settle(now);
  }

  void retry_issues(TimePs now) {
    const std::size_t count = waiting_issues_.size();
    for (std::size_t i = 0; i < count; ++i)
      issue(now, waiting_issues_[i]);  // May append what is refused again.
    waiting_issues_.erase(waiting_issues_.begin(),
                          waiting_issues_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void arm_timer(TimePs now, TimePs engine_deadline) {
    // A deadline that moved back is noticed when the old one comes: timers mostly do, and then cost no event.
    const TimePs deadline = max(engine_deadline, now);
    if (deadline >= timer_at_) return;
    timer_at_ = deadline;
    simulation_.schedule(deadline, id(), id(), kTimer, ++timer_generation_);
  }

  struct Answer {
    std::uint32_t slot;
    engine::AccessStatus status;
    bool release;  ///< The access ends here; otherwise its bytes are still under way.
  };

  std::unique_ptr<E> engine_;
  std::vector<Answer> answer_now_;
  std::size_t next_answer_ = 0;  ///< Of `answer_now_`.
  TimePs timer_at_ = kNever;
  std::uint32_t timer_generation_ = 0;
};

}  // namespace wharf::sim
