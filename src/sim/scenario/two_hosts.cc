// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/two_hosts.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <utility>

#include "base/check.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"
#include "engine/uet/uet_engine.h"
#include "sim/host/engine_nic.h"

namespace wharf::sim {
namespace {

/// Addresses that evicted RoCE context records may take: room for about a hundred thousand queue pairs.
constexpr std::uint64_t kRoceContextBytes = std::uint64_t{64} << 20U;

/// Bit per verb that a UB stack offers to programs: loads and stores belong to the load/store stack alone,
/// although every UB engine has them.
std::uint32_t verbs_of_ub(Stack stack) {
  std::uint32_t offered = supported_verbs<ub::UbEngine>();
  if (stack != Stack::kUbLoadStore) {
    offered &=
        ~(1U << static_cast<unsigned>(verbs::Verb::kLoad) | 1U << static_cast<unsigned>(verbs::Verb::kStore));
  }
  return offered;
}

/// Refuses a region that the machine that simulates does not give, now that it is about to be asked for.
/// Each is judged for itself: what is not touched is not backed, so that regions that exceed the machine's
/// memory together may still do.
Result<void> require_obtainable(Bytes length) {
  if (length.count == 0) return {};  // An empty mapping is refused, an empty region needs none.
  void* probe = ::mmap(nullptr, length.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe != MAP_FAILED) {
    ::munmap(probe, length.count);
    return {};
  }
  return Error{ErrorKind::kEnvironment, fmt::format("a simulated host needs {} of memory: {}",
                                                    format_bytes(length), std::strerror(errno))};
}

}  // namespace

/// A host's end of the link: what its NIC sends into, and where what arrives is handed over.
class TwoHosts::Plug final : public NicWire, public LinkReceiver {
 public:
  Plug(Nic& nic, LinkDirection& out) : nic_(nic), out_(out) {}
  wire::Packet& next_packet() override { return out_.next_packet(); }
  void send(TimePs head, TimePs tail) override { out_.send(head, tail, nic_.id()); }
  TimePs announce(const wire::Packet& packet) const override {
    nic_.prefetch(packet);
    return nic_.receive_latency(packet);
  }
  void receive(const wire::Packet& packet, TimePs arrival) override { nic_.receive(packet, arrival); }

 private:
  Nic& nic_;
  LinkDirection& out_;
};

TwoHosts::TwoHosts(const TwoHostsConfig& config)
    : config_(config),
      log_(config.record_limit, config.record_reserve),
      records_(tracer_, log_, config.attribution) {}

TwoHosts::~TwoHosts() = default;

Result<std::unique_ptr<TwoHosts>> TwoHosts::create(const TwoHostsConfig& config) {
  WHARF_TRY(validate(config.link));
  auto two = std::unique_ptr<TwoHosts>(new TwoHosts(config));
  // Components are numbered in this order: core and NIC of each host, then the link's directions, then what
  // stands before memory.
  for (std::size_t index = 0; index < 2; ++index) {
    auto host = Host::create(
        config.host, static_cast<std::uint16_t>(index),
        {two->simulation_, two->tracer_, two->payloads_, two->records_, two->programs_, config.seed});
    if (!host) return host.error();
    two->hosts_[index] = std::move(host).value();
    WHARF_TRY(two->install_nic(index));
  }
  LinkConfig link = config.link;
  link.rounding = config.host.time.rounding;
  const RandomStream random(config.seed, "link");
  for (std::size_t from = 0; from < 2; ++from) {
    two->links_[from] =
        std::make_unique<LinkDirection>(two->simulation_, link, random.substream(from), two->payloads_,
                                        two->tracer_, static_cast<std::uint16_t>(from));
    two->simulation_.add(*two->links_[from], fmt::format("link{}{}", from, 1 - from));
    WHARF_CHECK(two->links_[from]->id().value == link_component(static_cast<std::uint32_t>(from)));
  }
  for (std::size_t index = 0; index < 2; ++index) {
    Nic& nic = two->hosts_[index]->nic();
    two->plugs_[index] = std::make_unique<Plug>(nic, *two->links_[index]);
    nic.connect_wire(*two->plugs_[index]);
  }
  for (std::size_t from = 0; from < 2; ++from) two->links_[from]->connect(*two->plugs_[1 - from]);
  for (const auto& host : two->hosts_) WHARF_TRY(host->connect_memory());
  return two;
}

template <typename E>
Result<void> TwoHosts::install_engine(std::size_t index, Result<E> engine, std::uint32_t verbs) {
  if (!engine) return engine.error();
  Host& host = *hosts_[index];
  const StackTraits& usual = traits(config_.stack);
  const Attachment place = config_.attachment.value_or(usual.attachment);
  host.install(std::make_unique<EngineNic<E>>(simulation_, config_.host, place, host.parts(),
                                              static_cast<std::uint16_t>(index),
                                              std::make_unique<E>(std::move(engine).value())),
               place, config_.submission.value_or(usual.submission), verbs);
  return {};
}

Result<void> TwoHosts::install_nic(std::size_t index) {
  switch (protocol_of(config_.stack)) {
    case wire::Protocol::kUb:
      return install_ub(index);
    case wire::Protocol::kRoce:
      return install_roce(index);
    case wire::Protocol::kUet:
      return install_uet(index);
  }
  WHARF_UNREACHABLE();
}

Result<void> TwoHosts::install_ub(std::size_t index) {
  ub::UbConfig engine = config_.ub;
  engine.host = {static_cast<std::uint16_t>(index)};
  engine.tracer = &tracer_;
  if (engine.context_cache_entries > 0)
    engine.context_region = hosts_[index]->memory().allocate(Bytes{ub::context_region_bytes(engine)});
  return install_engine(index, ub::UbEngine::create(engine, payloads_, arena_), verbs_of_ub(config_.stack));
}

Result<void> TwoHosts::install_roce(std::size_t index) {
  roce::RoceConfig engine = config_.roce;
  engine.host = {static_cast<std::uint16_t>(index)};
  engine.seed = config_.seed;
  engine.tracer = &tracer_;
  if (engine.queue_cache_entries > 0 || engine.key_cache_entries > 0)
    engine.context_base = hosts_[index]->memory().allocate(Bytes{kRoceContextBytes});
  return install_engine(index, roce::RoceEngine::create(engine, payloads_, arena_),
                        supported_verbs<roce::RoceEngine>());
}

Result<void> TwoHosts::install_uet(std::size_t index) {
  uet::UetConfig engine = config_.uet;
  engine.host = {static_cast<std::uint16_t>(index)};
  engine.seed = config_.seed * hosts_.size() + index;
  engine.tracer = &tracer_;
  return install_engine(index, uet::UetEngine::create(engine, payloads_, arena_),
                        supported_verbs<uet::UetEngine>());
}

template <typename E>
E* TwoHosts::engine_of(std::size_t index, wire::Protocol protocol) {
  if (protocol_of(config_.stack) != protocol) return nullptr;
  return &static_cast<EngineNic<E>&>(hosts_[index]->nic()).engine();
}

ub::UbEngine* TwoHosts::ub_engine(std::size_t index) {
  return engine_of<ub::UbEngine>(index, wire::Protocol::kUb);
}

roce::RoceEngine* TwoHosts::roce_engine(std::size_t index) {
  return engine_of<roce::RoceEngine>(index, wire::Protocol::kRoce);
}

uet::UetEngine* TwoHosts::uet_engine(std::size_t index) {
  return engine_of<uet::UetEngine>(index, wire::Protocol::kUet);
}

Result<verbs::RemoteSegment> TwoHosts::expose(std::size_t index, Bytes length, verbs::AccessRights rights,
                                              verbs::AccessOrder read_order) {
  Host& host = *hosts_[index];
  WHARF_TRY(require_obtainable(length));
  return host.expose({.base = host.memory().allocate(length),
                      .length = length.count,
                      .rights = rights,
                      .read_order = read_order});
}

Result<verbs::RemoteSegment> TwoHosts::expose_pattern(std::size_t index, Bytes length, std::uint32_t pattern,
                                                      verbs::AccessRights rights) {
  Host& host = *hosts_[index];
  return host.expose(
      {.base = host.memory().allocate_pattern(length, pattern), .length = length.count, .rights = rights});
}

Result<RemotePair> TwoHosts::connect(const verbs::RemoteSegment& near_segment,
                                     const verbs::RemoteSegment& far_segment, std::uint32_t depth) {
  std::array<engine::QueueId, 2> queues{};
  std::array<engine::ExchangeBlob, 2> blobs;
  for (std::size_t index = 0; index < 2; ++index) {
    auto queue = hosts_[index]->create_queue(depth);
    if (!queue) return queue.error();
    queues[index] = *queue;
    auto blob = hosts_[index]->nic().export_queue(*queue);
    if (!blob) return blob.error();
    blobs[index] = std::move(blob).value();
  }
  std::array<engine::PeerId, 2> peers{};
  for (std::size_t index = 0; index < 2; ++index) {
    auto peer = hosts_[index]->nic().connect(queues[index], blobs[1 - index]);
    if (!peer) return peer.error();
    peers[index] = *peer;
  }
  return RemotePair{&hosts_[0]->add_remote(queues[0], peers[0], near_segment),
                    &hosts_[1]->add_remote(queues[1], peers[1], far_segment)};
}

std::vector<std::string> TwoHosts::describe_waiting() const {
  std::vector<std::string> lines;
  for (const auto& host : hosts_) host->describe_waiting(lines);
  for (std::string& line : simulation_.stall_report().waiting) lines.push_back(std::move(line));
  return lines;
}

}  // namespace wharf::sim
