// SPDX-License-Identifier: Apache-2.0
// Hosts that start one another: a burst of packets begins when one has arrived at its host, or when another
// host has told that its own has been answered.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "sim/fabric/fabric.h"

namespace wharf::sim {

class RelayHost {
 public:
  struct Body {
    std::uint32_t source = 0;
  };
  struct Options {
    std::uint32_t host = 0;
    std::uint32_t destination = 0;   ///< Of its bursts.
    std::uint32_t told = kNobody;    ///< Who is told that a burst has been answered.
    std::uint32_t packets = 8;       ///< Of a burst.
    std::uint32_t bursts_limit = 0;  ///< Bursts it sends at most.
    bool passes_on = false;          ///< A burst that has arrived starts one of its own.
    std::vector<TimePs> starts{};    ///< Of its first bursts.
  };
  static constexpr std::uint32_t kNobody = 0xffff'ffff;

  RelayHost(Options options, PartitionContext& context)
      : options_(std::move(options)), context_(&context), waiting_(options_.starts) {}

  /// To be told when that is heard.
  void start_at(TimePs at) { waiting_.push_back(at); }

  bool transmit(TimePs now, std::uint32_t /*port*/, ClassMask /*allowed*/, Body& body, PacketHead& head) {
    body = {options_.host};
    head.flow = options_.host;
    head.entropy = static_cast<std::uint16_t>(now.ps);
    head.flags = kHeadEcnCapable;
    if (!answers_.empty()) {
      head.destination = answers_.front();
      head.bytes = 64;
      head.traffic_class = 0;
      answers_.erase(answers_.begin());
      return true;
    }
    if (to_send_ == 0) return false;
    --to_send_;
    head.destination = options_.destination;
    head.bytes = 1500;
    head.traffic_class = 4;
    return true;
  }

  void receive(TimePs now, std::uint32_t /*port*/, Body& body, const PacketHead& head) {
    if (head.traffic_class == 0) {
      if (++answered_ % options_.packets != 0) return;
      ++context_->finished;
      ended.push_back(now);
      if (options_.told != kNobody) context_->told.push_back({now, options_.told});
      return;
    }
    answers_.push_back(body.source);
    if (++received_ % options_.packets != 0) return;
    arrived.push_back(now);
    if (!options_.passes_on) return;
    waiting_.push_back(now);
    context_->woken.push_back(options_.host);
  }

  void expire(TimePs now) {
    while (deadline() <= now) {
      waiting_.erase(std::min_element(waiting_.begin(), waiting_.end()));
      if (started.size() >= options_.bursts_limit) continue;
      started.push_back(now);
      to_send_ += options_.packets;
    }
  }
  TimePs deadline() const {
    return waiting_.empty() ? kNever : *std::min_element(waiting_.begin(), waiting_.end());
  }

  // When its bursts started, bursts of others had arrived here, and its own had been answered.
  std::vector<TimePs> started;
  std::vector<TimePs> arrived;
  std::vector<TimePs> ended;

 private:
  Options options_;
  PartitionContext* context_;
  std::vector<TimePs> waiting_;
  std::vector<std::uint32_t> answers_;
  std::uint32_t to_send_ = 0;
  std::uint32_t received_ = 0;
  std::uint32_t answered_ = 0;
};
static_assert(FabricHost<RelayHost>);

/// Such hosts on a fabric. A notice names the host that is to start.
class RelayFabric : public Fabric<RelayHost> {
 public:
  template <typename OptionsOf>
  RelayFabric(const Topology& topology, const FabricConfig& config, const OptionsOf& options,
              std::uint32_t threads)
      : Fabric(
            topology, config,
            [&](NodeId host, PartitionContext& context) {
              RelayHost::Options own = options(host);
              own.host = host;
              return RelayHost(own, context);
            },
            threads) {
    for (std::uint32_t i = 0; i < partition_count(); ++i) {
      listeners_.push_back(std::make_unique<Listener>(*this, i));
      context(i).listener = listeners_.back().get();
    }
  }

 private:
  class Listener : public NoticeListener {
   public:
    Listener(RelayFabric& fabric, std::uint32_t partition) : fabric_(&fabric), partition_(partition) {}
    void hear(const Notice& notice) override {
      if (fabric_->partition_of(notice.subject) != partition_) return;
      fabric_->host(notice.subject).start_at(notice.at);
      fabric_->context(partition_).woken.push_back(notice.subject);
    }

   private:
    RelayFabric* fabric_;
    std::uint32_t partition_;
  };

  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace wharf::sim
