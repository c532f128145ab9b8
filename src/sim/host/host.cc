// SPDX-License-Identifier: Apache-2.0
#include "sim/host/host.h"

#include <fmt/format.h>

#include <utility>

namespace wharf::sim {

namespace {

/// Bytes of one entry of the rings that a queue has in host memory.
constexpr std::uint64_t kRingEntryBytes = 64;

RandomStream host_stream(std::uint64_t seed, std::uint16_t number) {
  return RandomStream(seed, "host").substream(number);
}

}  // namespace

Host::Host(const HostConfig& config, std::uint16_t number, const RunShared& shared, CacheHierarchy caches)
    : config_(config),
      number_(number),
      shared_(shared),
      dram_(config.memory, config.time.rounding),
      bus_(config.bus, config.time.rounding),
      caches_(std::move(caches)),
      core_(shared.simulation, shared.programs),
      sim_core_(core_, memory_, dram_, caches_, config, host_stream(shared.seed, number)) {
  shared.simulation.add(core_, fmt::format("host{}.core", number));
}

Result<std::unique_ptr<Host>> Host::create(const HostConfig& config, std::uint16_t number,
                                           const RunShared& shared) {
  WHARF_TRY(validate(config));
  auto caches = CacheHierarchy::create(config.cache);
  if (!caches) return caches.error();
  return std::unique_ptr<Host>(new Host(config, number, shared, std::move(caches).value()));
}

Host::MoreCore::MoreCore(Host& host, std::uint32_t number)
    : caches(CacheHierarchy::beside(host.config_.cache, host.caches_)),
      core(host.shared_.simulation, host.shared_.programs),
      sim(core, host.memory_, host.dram_, caches, host.config_,
          RandomStream(host.shared_.seed, "host.core").substream(host.number_).substream(number)) {
  host.shared_.simulation.add(core, fmt::format("host{}.core{}", host.number_, number));
}

void Host::add_cores(std::uint32_t count) {
  for (std::uint32_t number = 1; number < count; ++number) more_cores_.emplace_back(*this, number);
}

void Host::install(std::unique_ptr<Nic> nic, Attachment attachment, SubmissionPath submission,
                   std::uint32_t supported) {
  const std::size_t number = nics_.size();
  nics_.push_back({std::move(nic), nullptr, {}});
  attachment_ = attachment;
  submission_ = submission;
  supported_ = supported;
  Nic& own = *nics_.back().nic;
  shared_.simulation.add(
      own, number == 0 ? fmt::format("host{}.nic", number_) : fmt::format("host{}.nic{}", number_, number));
  if (number > 0 || (supported >> static_cast<unsigned>(verbs::Verb::kLoad) & 1U) == 0) return;
  load_store_ = std::make_unique<LoadStorePort>(
      config_, LoadStoreParts{core_, caches_, bus_, dram_, own, shared_.payloads, shared_.records});
  own.connect_load_store(*load_store_);
  core_.connect(*load_store_);
  sim_core_.connect(*load_store_);
}

Result<void> Host::connect_memory() {
  if (config_.memory.system == MemorySystem::kFlat) return {};
  CoherentSetup setup = config_.coherent;
  if (attachment_ == Attachment::kOnChipBus) {
    // The NIC is one more agent of the bus: its requests cross that, not a link, and the queue stands at the
    // home.
    IoLinkConfig& link = setup.host.io_link;
    link.cycle = setup.host.coherence.cycle;
    link.width_bytes = setup.host.coherence.width_bytes;
    link.header_bytes = setup.host.coherence.header_cycles * setup.host.coherence.width_bytes;
    link.up = picoseconds(config_.bus.crossing.ps / 2);
    link.down = config_.bus.crossing - link.up;
    setup.host.root_complex.on_bus = true;
    setup.host.root_complex.lookup = kTimeZero;
    setup.host.root_complex.answer = kTimeZero;
  }
  const std::string prefix = fmt::format("host{}.", number_);
  // Each NIC has a link and an ordering queue of its own in front of the one home.
  auto made = CoherentHost::create(shared_.simulation, setup.host, core_count(), nic_count(),
                                   RandomStream(shared_.seed, "memory").substream(number_).next_u64(),
                                   &memory_, prefix);
  if (!made) return made.error();
  coherent_ = std::move(made).value();
  for (std::uint32_t nic = 0; nic < nic_count(); ++nic) {
    nics_[nic].nic->connect_lines(std::make_unique<LinePort>(
        shared_.simulation, coherent_->root_complex(nic), setup, number_, *nics_[nic].nic, memory_,
        shared_.payloads, nic == 0 ? prefix + "dma" : fmt::format("{}dma{}", prefix, nic)));
  }
  for (std::uint32_t core = 0; core < core_count(); ++core)
    this->core(core).connect(coherent_->core_cache(core));
  return {};
}

Result<verbs::RemoteSegment> Host::expose(const verbs::SegmentConfig& segment) {
  auto token = nic().register_segment(segment);
  if (!token) return token.error();
  for (std::size_t more = 1; more < nics_.size(); ++more) {
    auto own = nics_[more].nic->register_segment(segment);
    if (!own) return own.error();
    nics_[more].tokens.emplace(*token, *own);
  }
  return verbs::RemoteSegment{segment.base, segment.length, *token, segment.rights};
}

verbs::RemoteSegment Host::segment_at(std::uint32_t nic, const verbs::RemoteSegment& segment) const {
  verbs::RemoteSegment seen = segment;
  const auto own = nics_[nic].tokens.find(segment.token);
  if (own != nics_[nic].tokens.end()) seen.token = own->second;
  return seen;
}

Result<engine::QueueId> Host::create_queue(std::uint32_t depth, std::uint32_t nic) {
  engine::QueueConfig queue;
  queue.send_depth = depth;
  queue.receive_depth = depth;
  queue.send_ring = memory_.allocate(Bytes{depth * kRingEntryBytes});
  queue.receive_ring = memory_.allocate(Bytes{depth * kRingEntryBytes});
  queue.completion_ring = memory_.allocate(Bytes{2 * depth * kRingEntryBytes});
  return nics_[nic].nic->create_queue(queue);
}

SimRemote& Host::add_remote(engine::QueueId queue, engine::PeerId peer, const verbs::RemoteSegment& segment,
                            std::uint32_t nic, std::uint32_t core) {
  InstalledNic& own = nics_[nic];
  if (submission_ == SubmissionPath::kMmioStream && own.stream == nullptr) {
    RandomStream random = RandomStream(shared_.seed, "mmio_stream").substream(number_);
    if (nic > 0) random = random.substream(nic);
    own.stream = std::make_unique<MmioStream>(
        shared_.simulation, config_, own.nic->port(), random,
        nic == 0 ? fmt::format("host{}.stream", number_) : fmt::format("host{}.stream{}", number_, nic));
  }
  return remotes_.emplace_back(config_,
                               RemoteParts{this->core(core).hardware(), memory_, shared_.payloads, *own.nic,
                                           load_store_.get(), shared_.records, own.stream.get()},
                               attachment_, submission_, queue, peer, segment, supported_);
}

void Host::describe_waiting(std::vector<std::string>& lines) const {
  std::vector<std::string> own;
  for (const SimRemote& remote : remotes_) remote.describe_waiting(own);
  if (load_store_ != nullptr) load_store_->describe_waiting(own);
  for (const std::string& line : own) lines.push_back(fmt::format("host{}: {}", number_, line));
}

}  // namespace wharf::sim
