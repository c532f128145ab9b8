// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/card_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kEntryBytes = 64;
constexpr std::uint32_t kDoorbellBytes = 8;

}  // namespace

CardThread::CardThread(TwoHosts& two, const TwoHostsConfig& config, const CardLoad& load,
                       std::uint32_t number)
    : two_(two),
      nic_(two.host(0).nic()),
      config_(config.host),
      load_(load),
      random_(RandomStream(config.seed, "card threads").substream(number)) {
  const CoreConfig& core = config_.core;
  WHARF_CHECK(!load_.steps.empty());
  const std::size_t size = load_.steps.front().size();
  WHARF_CHECK(size > 0 && (!load_.blue_flame || size == 1));
  call_time_ = core.library_post + core.work_request_build * static_cast<std::int64_t>(size);
  poll_time_ = core.poll_host_memory + core.library_poll;
  requests_.resize(2 * size * load_.calls * load_.batches_ahead);
  for (const verbs::WorkRequest& request : load_.steps.front())
    signaled_ += request.signaled ? load_.calls : 0;
  WHARF_CHECK(signaled_ > 0);
}

Result<std::unique_ptr<CardThread>> CardThread::create(TwoHosts& two, const TwoHostsConfig& config,
                                                       const CardLoad& load, std::uint32_t number) {
  auto thread = std::unique_ptr<CardThread>(new CardThread(two, config, load, number));
  const auto depth = std::bit_ceil(static_cast<std::uint32_t>(thread->requests_.size()));
  std::array<engine::QueueId, 2> queues{};
  std::array<engine::ExchangeBlob, 2> blobs;
  for (std::size_t host = 0; host < 2; ++host) {
    auto queue = two.host(host).create_queue(depth);
    if (!queue) return queue.error();
    queues[host] = *queue;
    auto blob = two.host(host).nic().export_queue(*queue);
    if (!blob) return blob.error();
    blobs[host] = *std::move(blob);
  }
  for (std::size_t host = 0; host < 2; ++host) {
    auto peer = two.host(host).nic().connect(queues[host], blobs[1 - host]);
    if (!peer) return peer.error();
  }
  thread->client_ = thread->nic_.attach(queues[0], *thread);
  two.simulation(0).add(*thread, fmt::format("thread{}", number));
  return thread;
}

void CardThread::start(TimePs at) { two_.simulation(0).schedule(at, id(), id(), kBatch, 0); }

void CardThread::handle(const Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case kBatch:
      if (posted_batches_ == 0) begin_ = event.time;
      begin_batch(event.time);
      break;
    case kCalled:
      ring(event.time);
      break;
    case kPolled:
      if (++polled_ < signaled_) {
        poll(event.time, id());
      } else {
        end_batch(event.time);
      }
      break;
  }
}

void CardThread::begin_batch(TimePs now) {
  batch_begin_ = now;
  calls_ = 0;
  two_.simulation(0).schedule(now + call_time_, id(), id(), kCalled, 0);
}

/// The call's entries are written: the card is told.
void CardThread::ring(TimePs now) {
  const std::uint32_t inlined = load_.inline_payload ? step().front().length : 0;
  const TimePs reached = load_.blue_flame
                             ? nic_.port().submit(now, SubmissionPath::kBlueFlame, kEntryBytes + inlined)
                             : nic_.port().submit(now, SubmissionPath::kDoorbell, kDoorbellBytes);
  const std::uint64_t item = load_.items == 1 ? 0 : random_.below(load_.items);
  for (std::uint32_t i = 0; i < step().size(); ++i) post(i, reached, item);
  if (++calls_ < load_.calls) {
    two_.simulation(0).schedule(now + call_time_, id(), id(), kCalled, 0);
    return;
  }
  ++posted_batches_;
  if (posted_batches_ < load_.batches && posted_batches_ - finished_ < load_.batches_ahead) {
    begin_batch(now);
  } else {
    poll(now, id());
  }
}

void CardThread::post(std::uint32_t index, TimePs reached, std::uint64_t item) {
  const std::uint32_t slot = next_request_;
  next_request_ = (next_request_ + 1) % static_cast<std::uint32_t>(requests_.size());
  verbs::WorkRequest& request = requests_[slot];
  request = step()[index];
  request.id = slot;
  request.remote = load_.segment.at(item * load_.item_stride);
  if (load_.inline_payload) {
    const auto data = two_.host(0).memory().read(request.local[0].address, request.length, two_.payloads());
    WHARF_CHECK(data.has_value());
    request.inline_data = *data;
  }
  // A queue pair takes one request per gate time.
  gate_free_ = max(reached, gate_free_) + config_.nic.order_gate;
  nic_.submit(gate_free_, id(), client_, slot,
              load_.blue_flame ? engine::Submission::kInHand : engine::Submission::kDoorbell);
}

void CardThread::posted(std::uint32_t slot, engine::PostStatus status) {
  verbs::WorkRequest& request = requests_[slot];
  two_.payloads().release(request.inline_data.buffer);
  request.inline_data = {};
  if (status != engine::PostStatus::kOk) ++failures_;
}

void CardThread::completed(const verbs::Completion& completion) {
  if (!completion.ok()) ++failures_;
  ++arrived_;
  if (std::exchange(polls_, false)) poll(two_.simulation(0).now(), nic_.id());
}

void CardThread::poll(TimePs now, ComponentId source) {
  if (arrived_ == 0) {
    polls_ = true;
    return;
  }
  --arrived_;
  two_.simulation(0).schedule(now + poll_time_, id(), source, kPolled, 0);
}

void CardThread::end_batch(TimePs now) {
  if (load_.batches_ahead == 1) latencies_.push_back(now - batch_begin_);
  polled_ = 0;
  const TimePs worked = now + load_.work * load_.calls;
  ends_.push_back(worked);
  if (++finished_ == load_.batches) return;
  if (posted_batches_ < load_.batches) {
    two_.simulation(0).schedule(worked, id(), id(), kBatch, 0);
  } else {
    poll(now, id());
  }
}

double CardThread::batches_done(TimePs at) const {
  const auto under_way = std::upper_bound(ends_.begin(), ends_.end(), at);
  const auto done = static_cast<double>(under_way - ends_.begin());
  const TimePs since = under_way == ends_.begin() ? begin_ : *(under_way - 1);
  if (under_way == ends_.end() || at <= since) return done;
  return done + static_cast<double>((at - since).ps) / static_cast<double>((*under_way - since).ps);
}

double million_batches_per_second(const std::vector<std::unique_ptr<CardThread>>& threads) {
  TimePs begin;
  TimePs end = kNever;
  for (const auto& thread : threads) {
    begin = max(begin, thread->begin());
    end = min(end, thread->end());
  }
  double batches = 0;
  for (const auto& thread : threads) batches += thread->batches_done(end) - thread->batches_done(begin);
  return batches / static_cast<double>((end - begin).ps) * 1e6;
}

Result<void> run_threads(TwoHosts& two, const std::vector<std::unique_ptr<CardThread>>& threads) {
  constexpr TimePs kStagger = nanoseconds(300);
  TimePs at = two.now();
  for (const auto& thread : threads) {
    thread->start(at);
    at += kStagger;
  }
  two.run(at + seconds(10));
  for (const auto& thread : threads) {
    if (thread->is_done()) continue;
    std::string text = "a thread that posts to a network card did not come to its end";
    for (const std::string& line : two.describe_waiting()) text += "; " + line;
    return Error{ErrorKind::kStalled, text};
  }
  return {};
}

}  // namespace wharf::sim
