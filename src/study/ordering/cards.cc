// SPDX-License-Identifier: Apache-2.0
#include "study/ordering/cards.h"

#include <utility>

#include "sim/scenario/assembly.h"
#include "study/frame/runs.h"

namespace wharf::study {

Result<sim::TwoHostsConfig> card_config(const StudyContext& context, std::string_view profile,
                                        const std::vector<std::string>& keys) {
  auto scenario = load_request(context, {std::string(profile), "roce_bf", keys});
  if (!scenario) return scenario.error();
  sim::RunOptions options;
  options.attribution = false;
  return sim::two_hosts_config(scenario->config, options);
}

Result<Cards> plug_cards(const StudyContext& context, std::string_view profile,
                         const std::vector<std::string>& keys) {
  Cards cards;
  auto config = card_config(context, profile, keys);
  if (!config) return config.error();
  cards.config = *std::move(config);
  auto two = sim::TwoHosts::create(cards.config);
  if (!two) return two.error();
  cards.two = *std::move(two);
  return cards;
}

Result<verbs::RemoteSegment> expose(Cards& cards, std::uint64_t bytes, bool serial) {
  sim::Host& host = cards.two->host(1);
  verbs::SegmentConfig segment;
  segment.base = host.memory().allocate(Bytes{bytes});
  segment.length = bytes;
  if (serial) segment.read_order = verbs::AccessOrder::kAcquire;
  return host.expose(segment);
}

verbs::WorkRequest transfer(Cards& cards, verbs::Verb verb, std::uint32_t bytes) {
  verbs::WorkRequest request;
  request.verb = verb;
  request.length = bytes;
  request.local_count = 1;
  request.local[0] = {cards.two->host(0).memory().allocate(Bytes{bytes}), bytes};
  return request;
}

Result<void> add_threads(Cards& cards, const sim::CardLoad& load, std::uint32_t count) {
  for (std::uint32_t number = 0; number < count; ++number) {
    auto thread = sim::CardThread::create(*cards.two, cards.config, load, number);
    if (!thread) return thread.error();
    cards.threads.push_back(*std::move(thread));
  }
  return {};
}

double failures(const CardThreads& threads) {
  double sum = 0;
  for (const auto& thread : threads) sum += static_cast<double>(thread->failures());
  return sum;
}

}  // namespace wharf::study
