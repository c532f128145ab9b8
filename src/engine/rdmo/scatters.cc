// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/scatters.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace wharf::rdmo {
namespace {

wire::RdmoEntryReader entries_of(const Request& request) {
  return wire::RdmoEntryReader(
      std::span(request.payload.data + request.offset, request.payload.length - request.offset));
}

}  // namespace

void Scatters::start(std::uint32_t index) {
  Request& request = core_.requests[index];
  if (request.payload.data != nullptr || request.payload.length == 0) return begin(index);
  // Its list of places is in the payload, so that has to be here first.
  request.fetching = true;
  ++core_.counters.payload_fetches;
  core_.ask_sender(index);
  core_.ask(Purpose::kFetch, index);
}

void Scatters::fetched(std::uint32_t index, const AccessResult& result) {
  Request& request = core_.requests[index];
  request.fetching = false;
  core_.sender_answered(index);
  const std::uint32_t client = core_.connections[request.connection].client;
  if (core_.clients[client].state == ClientState::kLost) return core_.finish(index, RdmoStatus::kTargetLost);
  if (result.status != AccessStatus::kDone) return core_.finish(index, RdmoStatus::kSenderLost);
  request.payload.data = result.data;
  begin(index);
}

RdmoStatus Scatters::validate(const Request& request) const {
  const std::uint32_t client = core_.connections[request.connection].client;
  wire::RdmoEntryReader reader = entries_of(request);
  wire::RdmoEntry entry;
  std::span<const std::byte> data;
  std::uint64_t count = 0;
  RdmoStatus status = RdmoStatus::kDone;
  while (reader.next(entry, data)) {
    ++count;
    const std::uint32_t region = core_.find_region(entry.key, client);
    if (status != RdmoStatus::kDone) continue;
    if (region == kNoSlot) {
      status = RdmoStatus::kBadKey;
    } else if (!WorkerCore::contains(core_.regions[region], entry.address, entry.length)) {
      status = RdmoStatus::kBadAddress;
    }
  }
  return reader.whole() && count == request.count ? status : RdmoStatus::kMalformed;
}

void Scatters::begin(std::uint32_t index) {
  const Request& request = core_.requests[index];
  const RdmoStatus status = validate(request);
  if (status != RdmoStatus::kDone) return core_.finish(index, status);
  // From here on every region that it names stays until the scatter has ended.
  wire::RdmoEntryReader reader = entries_of(request);
  wire::RdmoEntry entry;
  std::span<const std::byte> data;
  while (reader.next(entry, data)) core_.use_region(*core_.region_by_key.find(entry.key));
  ++core_.counters.scatters;
  go_on(index);
}

void Scatters::go_on(std::uint32_t index) {
  Request& request = core_.requests[index];
  const std::uint32_t client = core_.connections[request.connection].client;
  if (core_.clients[client].state == ClientState::kLost) request.status = RdmoStatus::kTargetLost;
  wire::RdmoEntryReader reader = entries_of(request);
  wire::RdmoEntry entry;
  std::span<const std::byte> data;
  while (core_.has_free_write() && reader.next(entry, data)) {
    request.offset += wire::kRdmoEntryBytes + entry.length;
    const std::uint32_t region = *core_.region_by_key.find(entry.key);
    if (entry.length == 0 || request.status != RdmoStatus::kDone) {
      core_.leave_region(region);
      continue;
    }
    const std::uint32_t write_index = core_.writes.acquire();
    Write& write = core_.writes[write_index];
    write = {};
    write.region = region;
    write.place = entry.address;
    write.length = entry.length;
    write.data = data.data();
    write.parts = 1;
    write.requests.head = index;  // One request, which many writes name.
    ++request.pieces;
    core_.counters.bytes += entry.length;
    ++core_.counters.data_writes;
    write.groups = core_.ask_target(Purpose::kWriteFirst, write_index, client);
  }
  if (request.offset < request.payload.length) {
    starved_.push(core_.requests, index, &Request::next);
  } else {
    end_if_done(index);
  }
}

void Scatters::written(std::uint32_t write_index, AccessStatus status) {
  Write& write = core_.writes[write_index];
  const std::uint32_t index = write.requests.head;
  Request& request = core_.requests[index];
  const std::uint32_t client = core_.connections[request.connection].client;
  core_.target_answered(client, write.groups);
  if (!core_.regions[write.region].direct) core_.clients[client].unordered = true;
  if (status != AccessStatus::kDone) {
    request.status =
        status == AccessStatus::kTargetLost ? RdmoStatus::kTargetLost : RdmoStatus::kMemoryFailed;
  }
  core_.leave_region(write.region);
  core_.writes.release(write_index);
  --request.pieces;
  if (request.offset >= request.payload.length) end_if_done(index);
}

void Scatters::end_if_done(std::uint32_t index) {
  const Request& request = core_.requests[index];
  if (request.pieces == 0) core_.finish(index, request.status);
}

void Scatters::retry_starved() {
  while (!starved_.empty() && core_.has_free_write()) {
    go_on(starved_.pop(core_.requests, &Request::next));
  }
}

}  // namespace wharf::rdmo
