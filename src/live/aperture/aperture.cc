// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/aperture.h"

#include <fmt/format.h>

#include <bit>
#include <mutex>
#include <utility>

#include "base/nearest_name.h"
#include "live/aperture/session_core.h"

namespace wharf::live {
namespace {

constexpr std::uint64_t kFewestPages = 8;
constexpr std::uint64_t kMostPages = 0xffff'ffff;
constexpr std::uint32_t kLargestGrain = 4096;  // No page is smaller.
/// A window is one READ, behind which a page that somebody waits for must not wait long.
constexpr std::uint32_t kLongestReadAhead = 1024;
constexpr std::uint32_t kLongestInterval = 86'400'000;  // A day.

ApertureOutcome outcome_of(const Error& error) {
  const ApertureStatus status = error.kind == ErrorKind::kEnvironment ? ApertureStatus::kEnvironment
                                : error.kind == ErrorKind::kStalled   ? ApertureStatus::kStalled
                                                                      : ApertureStatus::kInput;
  return {status, error.message};
}

ApertureOutcome refused(std::string message) { return {ApertureStatus::kInput, std::move(message)}; }

/// What is wrong with the options themselves; empty: nothing.
std::string complaint(const ApertureOptions& options) {
  if (options.mode > ApertureMode::kExplicit)
    return fmt::format("options: found mode {}, expected kAllFaults, kUserFaults or kExplicit",
                       static_cast<unsigned>(options.mode));
  if (options.write_back > ApertureWriteBack::kPeriodic)
    return fmt::format("options: found write-back {}, expected kOnPublish, kOnEviction or kPeriodic",
                       static_cast<unsigned>(options.write_back));
  if (options.pages_max < kFewestPages)
    return fmt::format("options: found {} pages at most, expected {} or more", options.pages_max,
                       kFewestPages);
  if (options.pages_max > kMostPages)
    return fmt::format("options: found {} pages at most, expected {} or fewer", options.pages_max,
                       kMostPages);
  if (options.read_ahead_pages > kLongestReadAhead)
    return fmt::format("options: found a read-ahead of {} pages, expected {} or fewer",
                       options.read_ahead_pages, kLongestReadAhead);
  if (!std::has_single_bit(options.grain) || options.grain > kLargestGrain)
    return fmt::format("options: found a grain of {}, expected a power of two up to {}", options.grain,
                       kLargestGrain);
  if (options.write_back != ApertureWriteBack::kPeriodic) return {};
  if (options.write_back_interval_ms == 0)
    return "options: found a write-back every 0 ms, expected 1 ms or more";
  if (options.write_back_interval_ms > kLongestInterval)
    return fmt::format("options: found a write-back every {} ms, expected {} ms or fewer",
                       options.write_back_interval_ms, kLongestInterval);
  return {};
}

constexpr const char* kForked =
    "the aperture and its session belong to the process that opened them, not to its child";

}  // namespace

ApertureSession::ApertureSession(std::shared_ptr<Core> core) : core_(std::move(core)) {}
ApertureSession::~ApertureSession() = default;
std::uint64_t ApertureSession::bytes() const { return core_->granted().bytes; }
bool ApertureSession::writable() const { return core_->writable(); }
std::uint64_t ApertureSession::slice_key() const { return core_->granted().slice_key; }
bool ApertureSession::lost() const { return core_->lost(); }

std::unique_ptr<ApertureSession> ApertureSession::open(const ApertureSessionSettings& settings,
                                                       ApertureOutcome& outcome) {
  outcome = {};
  wire::Protocol protocol = live_protocols().front().protocol;
  if (!settings.protocol.empty()) {
    const auto named = parse_protocol(settings.protocol);
    if (!named) {
      const auto nearest = nearest_name(settings.protocol, protocol_names());
      outcome = refused(fmt::format("protocol: found \"{}\", expected one of {}{}", settings.protocol,
                                    fmt::join(protocol_names(), ", "),
                                    nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
      return nullptr;
    }
    protocol = *named;
  }
  if (settings.patience_ms == 0) {
    outcome = refused("patience_ms: found 0, expected 1 or more");
    return nullptr;
  }
  const auto place = parse_place(settings.server, describe(protocol).port);
  auto core = place ? Core::open(settings, *place, protocol) : Result<std::shared_ptr<Core>>(place.error());
  if (!core) {
    outcome = outcome_of(core.error());
    return nullptr;
  }
  return std::unique_ptr<ApertureSession>(new ApertureSession(*std::move(core)));
}

class Aperture::Inside {
 public:
  std::shared_ptr<ApertureSession::Core> core;
  ApertureSegment segment;
  std::byte* base = nullptr;
  std::uint64_t page_bytes = 0;
  ApertureMode mode = ApertureMode::kExplicit;
  bool writable = false;

  ApertureOutcome call(ApertureCall::Kind kind, std::uint64_t offset, std::uint64_t bytes, bool store = false,
                       bool wait = true) {
    if (offset > segment.bytes || bytes > segment.bytes - offset) {
      return refused(
          fmt::format("found {} bytes at offset {}, expected a range inside the aperture's {} bytes", bytes,
                      offset, segment.bytes));
    }
    if (!core->ours()) return refused(kForked);
    if (bytes == 0 && kind != ApertureCall::Kind::kCount) return {};
    auto call = std::make_shared<ApertureCall>();
    call->kind = kind;
    call->from = offset;
    call->to = offset + bytes;
    call->store = store;
    {
      const std::lock_guard lock(mutex_);
      if (pager_ == nullptr) return refused("the aperture is unmapped");
      core->submit(pager_, call);
      if (kind == ApertureCall::Kind::kUnmap) pager_ = nullptr;
    }
    if (!wait) return {};
    call->wait();
    const std::lock_guard lock(mutex_);
    last_ = call->counters;
    return call->outcome;
  }
  void attach(Pager* pager) { pager_ = pager; }
  ApertureCounters last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  Pager* pager_ = nullptr;
  ApertureCounters last_;
};

Aperture::Aperture(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Aperture::~Aperture() { static_cast<void>(unmap()); }

std::unique_ptr<Aperture> Aperture::map(ApertureSession& session, const ApertureSegment& segment,
                                        const ApertureOptions& options, ApertureOutcome& outcome) {
  outcome = {};
  const std::uint64_t granted = session.bytes();
  if (segment.bytes == 0) {
    outcome = refused(fmt::format("segment: found no bytes, expected 1 to {}", granted));
  } else if (segment.offset > granted || segment.bytes > granted - segment.offset) {
    outcome =
        refused(fmt::format("segment: found {} bytes at offset {}, expected a part of the session's {} bytes",
                            segment.bytes, segment.offset, granted));
  } else if (segment.offset % 8 != 0) {
    outcome = refused(fmt::format("segment: found offset {}, expected a multiple of 8, for example {}",
                                  segment.offset, segment.offset / 8 * 8));
  } else if (options.writable && !session.writable()) {
    outcome = refused(
        "options: found a writable aperture, expected writable = false: the session asked for the "
        "right to read alone");
  } else if (std::string wrong = complaint(options); !wrong.empty()) {
    outcome = refused(std::move(wrong));
  } else if (!session.core_->ours()) {
    outcome = refused(kForked);
  } else if (session.lost()) {
    outcome = {ApertureStatus::kStalled, "the server is gone"};
  }
  if (!outcome) return nullptr;
  const std::uint64_t page = Mapping::system_page_bytes();
  auto mapping = Mapping::create((segment.bytes + page - 1) / page, options.writable, options.mode,
                                 options.write_protect);
  if (!mapping) {
    outcome = outcome_of(mapping.error());
    return nullptr;
  }
  auto inside = std::make_unique<Inside>();
  inside->core = session.core_;
  inside->segment = segment;
  inside->base = (*mapping)->base();
  inside->page_bytes = page;
  inside->mode = (*mapping)->mode();
  inside->writable = options.writable;
  const auto pager = session.core_->attach(*std::move(mapping), segment, options);
  if (!pager) {
    outcome = outcome_of(pager.error());
    return nullptr;
  }
  inside->attach(*pager);
  return std::unique_ptr<Aperture>(new Aperture(std::move(inside)));
}

std::byte* Aperture::data() const { return inside_->base; }
std::uint64_t Aperture::size() const { return inside_->segment.bytes; }
std::uint64_t Aperture::page_bytes() const { return inside_->page_bytes; }
ApertureMode Aperture::mode() const { return inside_->mode; }

ApertureOutcome Aperture::publish(std::uint64_t offset, std::uint64_t bytes) {
  return inside_->call(ApertureCall::Kind::kPublish, offset, bytes);
}
ApertureOutcome Aperture::refresh(std::uint64_t offset, std::uint64_t bytes) {
  return inside_->call(ApertureCall::Kind::kRefresh, offset, bytes);
}
ApertureOutcome Aperture::discard(std::uint64_t offset, std::uint64_t bytes) {
  return inside_->call(ApertureCall::Kind::kDiscard, offset, bytes);
}
ApertureOutcome Aperture::prefetch(std::uint64_t offset, std::uint64_t bytes) {
  return inside_->call(ApertureCall::Kind::kPrefetch, offset, bytes, false, false);
}
ApertureOutcome Aperture::fetch(std::uint64_t offset, std::uint64_t bytes, ApertureAccess access) {
  const bool store = access == ApertureAccess::kStore;
  if (store && !inside_->writable) {
    return refused(
        "fetch: found an access for stores, expected ApertureAccess::kLoad: the aperture is not writable");
  }
  return inside_->call(ApertureCall::Kind::kFetch, offset, bytes, store);
}
ApertureOutcome Aperture::release(std::uint64_t offset, std::uint64_t bytes) {
  return inside_->call(ApertureCall::Kind::kRelease, offset, bytes);
}
ApertureCounters Aperture::counters() const {
  static_cast<void>(inside_->call(ApertureCall::Kind::kCount, 0, 0));
  return inside_->last();
}
ApertureOutcome Aperture::unmap() {
  return inside_->call(ApertureCall::Kind::kUnmap, 0, inside_->segment.bytes);
}

}  // namespace wharf::live
