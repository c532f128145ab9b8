// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/stack_abilities.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/arena.h"
#include "base/line.h"
#include "sim/protocols/protocols.h"
#include "verbs/verb.h"
#include "wire/payload_pool.h"

namespace wharf::sim {
namespace {

using engine::Capabilities;

/// Of the engines that `host` would have: what one of them says.
Result<Capabilities> capabilities_of(const HostSettings& host, const LinkConfig& link) {
  return visit_protocol(host.protocol(), [&]<typename P>(std::type_identity<P>) -> Result<Capabilities> {
    if (host.host.nic.implementation == NicImplementation::kRtl) {
      if constexpr (requires { typename P::Hardware; })
        return P::hardware_abilities(std::get<typename P::Settings>(host.protocols));
    }
    wire::PayloadPool payloads;
    Arena arena;
    typename P::Engines engines;
    const auto config = P::derive(std::get<typename P::Settings>(host.protocols), link, host.host);
    const auto engine = engines.make(P::thin(config, 0, 2, 1), 0, payloads, arena);
    if (!engine) return engine.error();
    return engine->capabilities();
  });
}

/// Bytes of what `program` repeats with each of its verbs: an operand of an atomic, or its longest message.
std::uint64_t bytes_of(const workload::WorkloadConfig& program, verbs::Verb verb) {
  if (const auto* loop = std::get_if<workload::VerbLoopConfig>(&program);
      loop != nullptr && verb == loop->verb)
    return loop->payload;
  if (const auto* ping_pong = std::get_if<workload::PingPongConfig>(&program)) return ping_pong->payload;
  if (const auto* appends = std::get_if<workload::RdmoConfig>(&program)) {
    const std::uint64_t records = std::uint64_t{appends->batch} * appends->payload;
    if (verbs::is_send(verb))
      return workload::kRdmoFrameBytes + wire::kRdmoHeaderBytesMax + std::max(appends->eager_most, 64U);
    return verbs::is_atomic(verb) ? 8 : records;
  }
  return 8;  // Words, and messages that tell something.
}

/// "4 or 8", the operands of `verb` in bytes.
std::string widths_text(const Capabilities& can, verbs::Verb verb) {
  std::vector<std::uint32_t> widths;
  for (const std::uint32_t width : {4U, 8U, 16U}) {
    if (can.supports(verb, width)) widths.push_back(width);
  }
  return fmt::format("{}", fmt::join(widths, " or "));
}

/// What to take instead of `verb`.
std::string others_text(const Capabilities& can, verbs::Verb verb) {
  if (verbs::is_load_store(verb)) {
    for (const StackTraits& stack : kStackTraits) {
      if (stack.load_store) return fmt::format("model.stack = \"{}\"", stack.name);
    }
  }
  std::vector<std::string_view> others;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto other = static_cast<verbs::Verb>(number);
    if (verbs::is_atomic(other) && can.supports(other)) others.push_back(verbs::name(other));
  }
  if (!verbs::is_atomic(verb) || others.empty()) return "another stack or verb";
  return fmt::format("another stack, or a verb of this one: {}", fmt::join(others, ", "));
}

/// Whether the writers of `program` may store to different words of one line.
bool shares_lines(const workload::WorkloadConfig& program) {
  const auto* blocks = std::get_if<workload::BulkWriteConfig>(&program);
  return blocks == nullptr || blocks->payload % kLineBytes != 0 || blocks->region_offset % kLineBytes != 0;
}

bool stores_through_caches(const workload::WorkloadConfig& program, const HostSettings& host) {
  if (!traits(host.stack).load_store || host.host.cache.write_policy == WritePolicy::kUncached) return false;
  const std::vector<verbs::Verb> needed = workload::verbs_needed(program, true);
  return std::find(needed.begin(), needed.end(), verbs::Verb::kStore) != needed.end();
}

}  // namespace

Result<void> check_shared_lines(const workload::WorkloadConfig& program, std::string_view section,
                                std::span<const HostSettings* const> clients) {
  if (clients.size() < 2 || !shares_lines(program)) return {};
  for (const HostSettings* host : clients) {
    if (!stores_through_caches(program, *host)) continue;
    return input_error(fmt::format(
        "{}.workload = \"{}\" stores to lines that {} hosts share, and model.cache.write_policy is \"{}\": "
        "no "
        "cache of mapped remote memory knows of another's stores, expected model.cache.write_policy = "
        "\"uncached\", or one client host",
        section, workload::name(workload::kind_of(program)), clients.size(),
        host->host.cache.write_policy == WritePolicy::kWriteBack ? "write_back" : "write_through"));
  }
  return {};
}

Result<void> check_abilities(const workload::WorkloadConfig& program, std::string_view section,
                             const HostSettings& host, const LinkConfig& link) {
  const auto can = capabilities_of(host, link);
  if (!can) return can.error();
  if (const auto* loop = std::get_if<workload::VerbLoopConfig>(&program);
      loop != nullptr && workload::is_tagged(*loop) && !can->tagged) {
    return input_error(
        fmt::format("{}.tags is {}, expected 0: model.stack = \"{}\" matches no messages by tags", section,
                    loop->tags, name(host.stack)));
  }
  const bool load_store = traits(host.stack).load_store;
  const std::string_view workload = workload::name(workload::kind_of(program));
  for (const verbs::Verb verb : workload::verbs_needed(program, load_store)) {
    if (verb == verbs::Verb::kSendInvalidate) {
      return input_error(
          fmt::format("{}.verb is send_invalidate, expected another verb: the program has no segment that "
                      "its messages could "
                      "revoke",
                      section));
    }
    const bool has = verbs::is_load_store(verb) ? load_store : can->supports(verb);
    if (!has) {
      return input_error(fmt::format(
          "{}.workload = \"{}\" needs {}, which model.stack = \"{}\" does not have as it is set, expected {}",
          section, workload, verbs::name(verb), name(host.stack), others_text(*can, verb)));
    }
    const std::uint64_t bytes = bytes_of(program, verb);
    if (verbs::is_atomic(verb) && !can->supports(verb, static_cast<std::uint32_t>(bytes))) {
      return input_error(fmt::format(
          "{}.payload is {}, expected {}: so many bytes has an operand of {} over model.stack = \"{}\" as it "
          "is set",
          section, format_bytes(Bytes{bytes}), widths_text(*can, verb), verbs::name(verb), name(host.stack)));
    }
    const std::uint64_t most = verbs::is_send(verb) ? can->max_send_bytes : can->max_message_bytes;
    if (!verbs::is_atomic(verb) && bytes > most) {
      return input_error(fmt::format(
          "{}.payload is {}, expected at most {}: so long is a {} over model.stack = \"{}\" as it is set",
          section, format_bytes(Bytes{bytes}), format_bytes(Bytes{most}), verbs::name(verb),
          name(host.stack)));
    }
  }
  return {};
}

}  // namespace wharf::sim
