// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/config.h"

#include <array>
#include <bit>
#include <string>
#include <variant>

#include "base/check.h"

namespace wharf::roce {
namespace {

constexpr std::array<std::uint32_t, 31> kCreditTable{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

Result<void> in_range(const char* key, std::uint64_t value, std::uint64_t lowest, std::uint64_t highest) {
  if (value >= lowest && value <= highest) return {};
  return input_error(std::string("roce.") + key + " is " + std::to_string(value) + ", expected " +
                     std::to_string(lowest) + " to " + std::to_string(highest));
}

Result<void> power_of_two(const char* key, std::uint64_t value) {
  if (std::has_single_bit(value) && value <= 65536) return {};
  return input_error(std::string("roce.") + key + " is " + std::to_string(value) +
                     ", expected a power of two up to 65536");
}

/// [decision 0045] Which controllers find in RoCE what they need.
Result<void> check_congestion(const congestion::ControllerConfig& config) {
  if (!std::holds_alternative<congestion::DcqcnConfig>(config) &&
      !std::holds_alternative<congestion::SwiftConfig>(config) &&
      !std::holds_alternative<congestion::ConstantWindowConfig>(config)) {
    return input_error(
        "roce.congestion is a controller whose signals RoCE does not carry, expected DCQCN, Swift, a "
        "constant "
        "window or none");
  }
  if (const auto made = congestion::AnyController::create(config); !made.ok()) {
    return input_error("roce.congestion." + made.error().message);
  }
  return {};
}

}  // namespace

Result<void> check(const RoceConfig& config) {
  if (!std::has_single_bit(config.path_mtu) || config.path_mtu < 256 || config.path_mtu > kAccountingMtu) {
    return input_error("roce.path_mtu is " + std::to_string(config.path_mtu) +
                       ", expected 256, 512, 1024, 2048 or 4096, or up to 32768 in accounting profiles");
  }
  WHARF_TRY(in_range("starting_psn", config.starting_psn.value_or(0), 0, wire::kPsnMask));
  WHARF_TRY(in_range("window_packets", config.window_packets, 1, 1U << 20U));
  WHARF_TRY(in_range("ack_timeout", config.ack_timeout, 0, 31));
  WHARF_TRY(in_range("retry_count", config.retry_count, 0, 7));
  WHARF_TRY(in_range("rnr_retry", config.rnr_retry, 0, 7));
  WHARF_TRY(in_range("backoff_limit", config.backoff_limit, 0, 16));
  WHARF_TRY(in_range("min_rnr_timer", config.min_rnr_timer, 0, 31));
  if (config.timeout_floor < kTimeZero || config.timeout_floor > ack_timeout_duration(config.ack_timeout)) {
    return input_error("roce.timeout_floor is " + std::to_string(config.timeout_floor.ps) +
                       " ps, expected 0 to the time of ack_timeout");
  }
  if (config.congestion) WHARF_TRY(check_congestion(*config.congestion));
  if (config.min_time_between_cnps < kTimeZero || config.min_time_between_cnps > seconds(1)) {
    return input_error("roce.min_time_between_cnps is " + std::to_string(config.min_time_between_cnps.ps) +
                       " ps, expected 0 to 1 s");
  }
  WHARF_TRY(in_range("max_read_atomic", config.max_read_atomic, 1, 128));
  WHARF_TRY(in_range("fetch_batch", config.fetch_batch, 1, 64));
  WHARF_TRY(in_range("fetches_in_flight", config.fetches_in_flight, 1, 16));
  WHARF_TRY(in_range("access_slots", config.access_slots, 64, 1U << 20U));
  WHARF_TRY(in_range("queue_cache_entries", config.queue_cache_entries, 0, 1U << 20U));
  WHARF_TRY(in_range("key_cache_entries", config.key_cache_entries, 0, 1U << 20U));
  WHARF_TRY(in_range("deferred_packets", config.deferred_packets, 1, 1U << 20U));
  WHARF_TRY(power_of_two("transmit_ahead", config.transmit_ahead));
  return power_of_two("responses_ahead", config.responses_ahead);
}

Result<void> check(const QueueChanges& changes) {
  WHARF_TRY(in_range("min_rnr_timer", changes.min_rnr_timer.value_or(0), 0, 31));
  WHARF_TRY(in_range("ack_timeout", changes.ack_timeout.value_or(0), 0, 31));
  WHARF_TRY(in_range("retry_count", changes.retry_count.value_or(0), 0, 7));
  WHARF_TRY(in_range("rnr_retry", changes.rnr_retry.value_or(0), 0, 7));
  return in_range("max_read_atomic", changes.max_read_atomic.value_or(1), 1, 128);
}

const char* name(Service service) {
  switch (service) {
    case Service::kReliable:
      return "rc";
    case Service::kUnreliable:
      return "uc";
    case Service::kDatagram:
      return "ud";
  }
  WHARF_UNREACHABLE();
}

const char* name(LossRecovery recovery) {
  return recovery == LossRecovery::kGoBackN ? "Go-Back-N" : "selective repeat";
}

std::optional<Service> service_of(engine::ServiceMode mode) {
  switch (mode) {
    case engine::ServiceMode::kDefault:
      return Service::kReliable;
    case engine::ServiceMode::kUnreliable:
      return Service::kUnreliable;
    case engine::ServiceMode::kUnordered:
      return Service::kDatagram;
    case engine::ServiceMode::kOrderedByInitiator:
    case engine::ServiceMode::kOrderedByTarget:
    case engine::ServiceMode::kOrderedByTransport:
      return std::nullopt;
  }
  WHARF_UNREACHABLE();
}

bool supports(Service service, verbs::Verb verb) {
  constexpr auto bit = [](verbs::Verb each) { return 1U << static_cast<unsigned>(each); };
  constexpr std::uint32_t kDatagram = bit(verbs::Verb::kSend) | bit(verbs::Verb::kSendImm);
  constexpr std::uint32_t kUnreliable = kDatagram | bit(verbs::Verb::kWrite) | bit(verbs::Verb::kWriteImm);
  constexpr std::uint32_t kReliable = kUnreliable | bit(verbs::Verb::kSendInvalidate) |
                                      bit(verbs::Verb::kRead) | bit(verbs::Verb::kCompareSwap) |
                                      bit(verbs::Verb::kFetchAdd);
  const std::uint32_t taken = service == Service::kReliable     ? kReliable
                              : service == Service::kUnreliable ? kUnreliable
                                                                : kDatagram;
  return (taken >> static_cast<unsigned>(verb) & 1U) != 0;
}

std::uint32_t credits_of_code(std::uint8_t code) { return kCreditTable[code]; }

std::uint8_t credit_code_for(std::uint32_t entries) {
  std::uint8_t code = 0;
  while (code + 1U < kCreditTable.size() && kCreditTable[code + 1U] <= entries) ++code;
  return code;
}

}  // namespace wharf::roce
