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

void Host::install(std::unique_ptr<Nic> nic, Attachment attachment, SubmissionPath submission,
                   std::uint32_t supported) {
  nic_ = std::move(nic);
  attachment_ = attachment;
  submission_ = submission;
  supported_ = supported;
  shared_.simulation.add(*nic_, fmt::format("host{}.nic", number_));
  if ((supported >> static_cast<unsigned>(verbs::Verb::kLoad) & 1U) == 0) return;
  load_store_ = std::make_unique<LoadStorePort>(
      config_, LoadStoreParts{core_, caches_, bus_, dram_, *nic_, shared_.payloads, shared_.records});
  nic_->connect_load_store(*load_store_);
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
    setup.host.root_complex.lookup = kTimeZero;
    setup.host.root_complex.answer = kTimeZero;
  }
  const std::string prefix = fmt::format("host{}.", number_);
  auto made = CoherentHost::create(shared_.simulation, setup.host, 1, 1,
                                   RandomStream(shared_.seed, "memory").substream(number_).next_u64(),
                                   &memory_, prefix);
  if (!made) return made.error();
  coherent_ = std::move(made).value();
  nic_->connect_lines(std::make_unique<LinePort>(shared_.simulation, coherent_->root_complex(), setup,
                                                 number_, *nic_, memory_, shared_.payloads, prefix + "dma"));
  sim_core_.connect(coherent_->core_cache(0));
  return {};
}

Result<verbs::RemoteSegment> Host::expose(const verbs::SegmentConfig& segment) {
  auto token = nic_->register_segment(segment);
  if (!token) return token.error();
  return verbs::RemoteSegment{segment.base, segment.length, *token, segment.rights};
}

Result<engine::QueueId> Host::create_queue(std::uint32_t depth) {
  engine::QueueConfig queue;
  queue.send_depth = depth;
  queue.receive_depth = depth;
  queue.send_ring = memory_.allocate(Bytes{depth * kRingEntryBytes});
  queue.receive_ring = memory_.allocate(Bytes{depth * kRingEntryBytes});
  queue.completion_ring = memory_.allocate(Bytes{2 * depth * kRingEntryBytes});
  return nic_->create_queue(queue);
}

SimRemote& Host::add_remote(engine::QueueId queue, engine::PeerId peer, const verbs::RemoteSegment& segment) {
  if (submission_ == SubmissionPath::kMmioStream && stream_ == nullptr) {
    stream_ = std::make_unique<MmioStream>(shared_.simulation, config_, nic_->port(),
                                           RandomStream(shared_.seed, "mmio_stream").substream(number_),
                                           fmt::format("host{}.stream", number_));
  }
  return remotes_.emplace_back(
      config_,
      RemoteParts{core_, memory_, shared_.payloads, *nic_, load_store_.get(), shared_.records, stream_.get()},
      attachment_, submission_, queue, peer, segment, supported_);
}

void Host::describe_waiting(std::vector<std::string>& lines) const {
  std::vector<std::string> own;
  for (const SimRemote& remote : remotes_) remote.describe_waiting(own);
  if (load_store_ != nullptr) load_store_->describe_waiting(own);
  for (const std::string& line : own) lines.push_back(fmt::format("host{}: {}", number_, line));
}

}  // namespace wharf::sim
