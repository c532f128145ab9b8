// SPDX-License-Identifier: Apache-2.0
// Loads and stores of other hosts: replay record, access check, memory, answer. [UB-Base 2.0.1 8.3]
#include <algorithm>
#include <bit>

#include "engine/ub/byte_enables.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/load_store.h"

namespace wharf::ub {
namespace {

bool is_store(wire::TaOpcode opcode) {
  return opcode == wire::TaOpcode::kWrite || opcode == wire::TaOpcode::kWriteByteEnable ||
         opcode == wire::TaOpcode::kWriteback || opcode == wire::TaOpcode::kWritebackByteEnable;
}

/// Whether the headers and the data of a request agree.
bool well_formed(const wire::Packet& packet) {
  const wire::TaOpcode opcode = packet.ub.request.opcode;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  if (!wire::compact_access(maetah.address, maetah.length)) return false;
  if (!is_store(opcode)) return packet.payload.length == 0;
  if (!has_byte_enables(opcode)) return packet.payload.length == maetah.length;
  return packet.payload.length == wire::byte_enable_bytes(maetah.length) + maetah.length;
}

}  // namespace

bool ReplayRecord::reach(std::uint16_t tassn) {
  if (static_cast<std::uint16_t>(tassn - next_) >= kTassnSpan) return remembers(tassn);
  // What enters the window has not been seen.
  const auto end = static_cast<std::uint16_t>(tassn + 1U);
  for (; next_ != end; ++next_) set(next_, kUnseen);
  return true;
}

ReplayRecord::Entry ReplayRecord::begin(std::uint16_t tassn, std::uint8_t& status) {
  if (!reach(tassn)) return Entry::kTooOld;
  const std::uint8_t known = get(tassn);
  if (known >= kExecuted) {
    status = known - kExecuted;
    return Entry::kDone;
  }
  if (known == kRunning) return Entry::kInProgress;
  if (known == kBarred) return Entry::kTooOld;
  set(tassn, kRunning);
  return Entry::kNew;
}

void ReplayRecord::end(std::uint16_t tassn, std::uint8_t status) {
  if (!remembers(tassn)) return;
  set(tassn, kExecuted | (status & 7U));
}

void LoadStorePath::receive_request(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  if (!well_formed(packet)) {
    ++parts_.counters.dropped_malformed;
    return;
  }
  if (services_.in_use() >= parts_.config.load_store_services) {
    ++parts_.counters.dropped_no_room;
    return;
  }
  const wire::TaOpcode opcode = packet.ub.request.opcode;
  std::uint8_t status = 0;
  bool replay = false;
  ReplayRecord& record = paths_[channel]->replay;
  if (!is_store(opcode)) {
    // Executing a load again, or late, does no harm; but its number has been given out.
    record.reach(packet.ub.request.tassn);
  } else {
    switch (record.begin(packet.ub.request.tassn, status)) {
      case ReplayRecord::Entry::kNew:
        break;
      case ReplayRecord::Entry::kDone:
        ++parts_.counters.load_store_replays;
        replay = true;
        break;
      case ReplayRecord::Entry::kInProgress:
      case ReplayRecord::Entry::kTooOld:
        ++parts_.counters.duplicates;
        return;
    }
  }
  const std::uint32_t index = services_.acquire();
  Service& service = services_[index];
  // Field by field, but for the generation, which goes on.
  service.channel = channel;
  service.request = packet.ub.request;
  service.extension = packet.ub.extension;
  service.data = {};
  service.accesses_open = 0;
  service.status = 0;
  service.poison = false;
  service.operation = packet.operation;
  if (replay) {
    service.status = status;
    responses_.push_back(index);
    parts_.attention |= kUrgent;
    return;
  }
  service.data = packet.payload;
  parts_.payloads.retain(service.data.buffer);
  step_service(index);
  static_cast<void>(now);
}

void LoadStorePath::resume_service(std::uint32_t index, std::uint32_t generation) {
  WHARF_CHECK(services_.is_used(index) && services_[index].generation == generation);
  step_service(index);
}

void LoadStorePath::step_service(std::uint32_t index) {
  Service& service = services_[index];
  const wire::Maetah& maetah = service.extension.maetah;
  const wire::TaOpcode opcode = service.request.opcode;
  if (opcode == wire::TaOpcode::kPrefetch) {  // A hint that never fails. Choice: nothing is warmed up.
    finish_service(index);
    return;
  }
  // Choice: nothing but loads and stores; atomics could run twice, for there is no PSN that filters
  // repetitions.
  if (opcode != wire::TaOpcode::kRead && !is_store(opcode)) {
    ++parts_.counters.refused_opcode;
    service.status = static_cast<std::uint8_t>(wire::UbResponseStatus::kError);
    finish_service(index);
    return;
  }
  const std::uint32_t number = parts_.segments.find(maetah.token_id);
  const ContextKey key{ContextKind::kMr, number};
  if (number != kNoSlot && !parts_.contexts.acquire(key)) {
    parts_.contexts.defer(
        key, {.step = DeferredStep::kLoadStoreService, .object = index, .generation = service.generation},
        service.operation, true);
    return;
  }
  const std::uint32_t value = service.request.token_value_present ? service.extension.token_value : 0;
  const Right right = is_store(opcode) ? Right::kWrite : Right::kRead;
  if (number == kNoSlot || SegmentTable::check(parts_.segments.record(number), maetah.token_id, value, right,
                                               maetah.address, maetah.length) != Grant::kGranted) {
    ++parts_.counters.refused_access;
    service.status = static_cast<std::uint8_t>(wire::UbResponseStatus::kError);
    finish_service(index);
    return;
  }
  if (service.request.poison) {
    service.poison = true;
    finish_service(index);
    return;
  }
  const MrRecord& record = parts_.segments.record(number);
  service.space = parts_.segments.space_of(record);
  if (!is_store(opcode)) {
    request(index, engine::AccessKind::kRead, maetah.address, maetah.length, {},
            SegmentTable::read_order(record));
  } else if (has_byte_enables(opcode)) {
    write_enabled(index, SegmentTable::write_order(record));
  } else {
    request(index, engine::AccessKind::kWrite, maetah.address, maetah.length, service.data,
            SegmentTable::write_order(record));
  }
}

void LoadStorePath::write_enabled(std::uint32_t index, verbs::AccessOrder order) {
  const wire::Maetah maetah = services_[index].extension.maetah;
  const wire::Payload data = services_[index].data;
  each_enabled_run(data, maetah.length, [&](std::uint32_t offset, const wire::Payload& run) {
    request(index, engine::AccessKind::kWrite, maetah.address + offset, run.length, run, order);
  });
  if (services_[index].accesses_open == 0) finish_service(index);
}

void LoadStorePath::request(std::uint32_t index, engine::AccessKind kind, std::uint64_t address,
                            std::uint32_t length, const wire::Payload& data, verbs::AccessOrder order) {
  Service& service = services_[index];
  ++service.accesses_open;
  engine::Access& access = parts_.accesses.request(
      kind, {.owner = AccessOwner::kLoadStore, .object = index, .generation = service.generation});
  access.order = order;
  access.space = service.space;
  access.at_target = true;
  access.stream = (service.channel + 1ULL) << 20U;
  access.address = address;
  access.length = length;
  access.data = data;
  access.operation = service.operation;
}

void LoadStorePath::service_done(const PendingAccess& owner, const engine::AccessResult& result) {
  Service& service = services_[owner.object];
  if (result.status == engine::AccessStatus::kPoison) {
    service.poison = true;
  } else if (result.status == engine::AccessStatus::kFault) {
    service.status = static_cast<std::uint8_t>(wire::UbResponseStatus::kPageFault);
  } else if (!is_store(service.request.opcode)) {
    service.data = result.data;
    parts_.payloads.retain(service.data.buffer);
  }
  if (--service.accesses_open == 0) finish_service(owner.object);
}

void LoadStorePath::finish_service(std::uint32_t index) {
  Service& service = services_[index];
  const bool store = is_store(service.request.opcode);
  if (store) {
    const auto status =
        service.poison ? static_cast<std::uint8_t>(wire::UbResponseStatus::kError) : service.status;
    paths_[service.channel]->replay.end(service.request.tassn, status);
  }
  if (store || service.status != 0 || service.poison) {
    parts_.payloads.release(service.data.buffer);
    service.data = {};
  }
  responses_.push_back(index);
  parts_.attention |= kUrgent;
}

bool LoadStorePath::transmit_response(wire::Packet& out) {
  if (responses_.empty()) return false;
  const std::uint32_t index = responses_.front();
  responses_.pop_front();
  Service& service = services_[index];
  address_packet(parts_.tp.channel(service.channel).remote, out);
  out.operation = service.operation;
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = service.request.opcode == wire::TaOpcode::kRead ? wire::TaOpcode::kReadResponse
                                                                  : wire::TaOpcode::kTaack;
  header.tassn = service.request.tassn;
  header.status = static_cast<wire::UbResponseStatus>(service.status);
  header.poison = service.poison;
  set_header_bytes(header.opcode, false, out);
  out.payload = service.data;  // The reference goes out with the packet.
  ++service.generation;
  services_.release(index);
  ++parts_.counters.packets_sent;
  return true;
}

}  // namespace wharf::ub
