// SPDX-License-Identifier: Apache-2.0
// Mixed operations between two engines under loss, duplication, reordering and corruption, and the checker
// that judges them from outside: it knows what each address must hold, and never asks the engines.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "tests/chaos/chaos_options.h"
#include "tests/chaos/chaos_records.h"
#include "tests/support/engine_pair.h"
#include "verbs/completion.h"
#include "verbs/verb.h"
#include "verbs/work_request.h"
#include "wire/payload.h"

namespace wharf::test {

/// One run. `E` satisfies engine::Engine.
template <typename E>
class ChaosWorld {
 public:
  ChaosWorld(ChaosOptions options, const typename EnginePair<E>::MakeEngine& make)
      : options_(std::move(options)), random_(options_.seed, "chaos.operations"), pair_(options_.pair, make) {
    pair_.on_completion = [this](std::uint32_t host, const verbs::Completion& completion) {
      take(host, completion);
    };
    for (std::uint32_t host = 0; host < 2; ++host) {
      const std::uint64_t base = options_.pair.memory_base;
      token_[host] = pair_.engine(host)
                         .register_segment(pair_.now(), {.base = base, .length = options_.pair.memory_bytes})
                         .value();
      for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
        Endpoint endpoint;
        endpoint.queue = pair_.engine(host).create_queue(pair_.now(), options_.queue_config).value();
        endpoints_[host].push_back(endpoint);
      }
    }
    for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
      const auto blob0 = pair_.engine(0).export_queue(endpoints_[0][queue].queue).value();
      const auto blob1 = pair_.engine(1).export_queue(endpoints_[1][queue].queue).value();
      endpoints_[0][queue].peer =
          pair_.engine(0).connect(pair_.now(), endpoints_[0][queue].queue, blob1).value();
      endpoints_[1][queue].peer =
          pair_.engine(1).connect(pair_.now(), endpoints_[1][queue].queue, blob0).value();
    }
    lay_out_memory();
  }

  /// Everything completes, and memory holds what it must. An empty text is success.
  std::string run() {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
        for (std::uint32_t count = 0; count < kReceives; ++count) post_receive(host, queue);
      }
    }
    post_more();
    const RunEnd end = pair_.run_until([this] { return !failure_.empty() || finished(); }, seconds(2000));
    if (failure_.empty() && end != RunEnd::kDone) {
      fail(std::string(end == RunEnd::kIdle ? "stalled" : "did not finish") + ":\n" + pair_.waiting_report());
    }
    if (failure_.empty() && pair_.run_until_idle(seconds(4000)) != RunEnd::kDone) fail("never comes to rest");
    if (failure_.empty()) check_memory();
    if (failure_.empty()) check_buffers();
    return failure_;
  }

  EnginePair<E>& pair() { return pair_; }
  std::uint64_t errors() const { return errors_; }
  std::uint64_t successes() const { return successes_; }

 private:
  static constexpr std::uint32_t kReceives = 16;
  static constexpr std::uint32_t kCounters = 4;
  using Cell = ChaosCell;
  using Operation = ChaosOperation;
  using Message = ChaosMessage;
  using Endpoint = ChaosEndpoint;
  using Counter = ChaosCounter;
  using Word = ChaosWord;

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what + " at " + std::to_string(pair_.now().ps / 1000) + " ns";
  }

  void lay_out_memory() {
    std::uint64_t at = options_.pair.memory_base;
    const std::uint64_t cell_bytes = (options_.longest + 63ULL) / 64 * 64;
    const std::uint64_t end = at + options_.pair.memory_bytes;
    for (std::uint32_t index = 0; index < kCounters; ++index, at += 8) {
      for (auto& counters : counters_) counters.emplace_back().address = at;
    }
    for (std::uint32_t index = 0; index < 16; ++index, at += 8) {
      for (auto& words : words_) words.emplace_back().address = at;
    }
    at = (at + 63) / 64 * 64;
    for (; at + cell_bytes <= end && cells_[0].size() < 512; at += cell_bytes) {
      for (auto& cells : cells_) cells.emplace_back().address = at;
    }
    WHARF_CHECK(cells_[0].size() >=
                64 + std::size_t{options_.queues} * (kReceives + 2 * options_.concurrency));
  }

  std::uint32_t take_cell(std::uint32_t host) {
    for (;;) {
      const auto index = static_cast<std::uint32_t>(random_.below(cells_[host].size()));
      Cell& cell = cells_[host][index];
      if (cell.busy || cell.doubtful) continue;
      cell.busy = true;
      return index;
    }
  }
  std::span<std::byte> bytes(std::uint32_t host, const Cell& cell, std::uint32_t length) {
    return pair_.memory(host).at(cell.address, length);
  }
  void write_pattern(std::uint32_t host, std::uint32_t index, std::uint32_t pattern, std::uint32_t length) {
    Cell& cell = cells_[host][index];
    wire::fill(wire::pattern_payload(pattern, 0, length), bytes(host, cell, length));
    cell.pattern = pattern;
    cell.length = length;
  }
  bool holds(std::uint32_t host, const Cell& cell, std::uint32_t pattern, std::uint32_t length) {
    return wire::payload_equal(wire::pattern_payload(pattern, 0, length),
                               wire::bytes_payload(bytes(host, cell, length)));
  }

  void post_receive(std::uint32_t host, std::uint32_t queue) {
    Endpoint& endpoint = endpoints_[host][queue];
    const std::uint32_t index = take_cell(host);
    verbs::ReceiveRequest request;
    request.id = ++last_id_;
    split(host, index, options_.longest, request.local, request.local_count);
    endpoint.receives[request.id] = index;
    if (pair_.post_receive(host, endpoint.queue, request) != engine::PostStatus::kOk) {
      endpoint.receives.erase(request.id);
      cells_[host][index].busy = false;
    }
  }

  /// Describes `length` bytes of a cell as one to three pieces.
  void split(std::uint32_t host, std::uint32_t index, std::uint32_t length,
             std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries>& local, std::uint8_t& count) {
    std::uint64_t address = cells_[host][index].address;
    std::uint32_t left = length;
    const auto pieces = static_cast<std::uint8_t>(1 + random_.below(3));
    for (count = 0; count + 1 < pieces; ++count) {
      const auto part = static_cast<std::uint32_t>(random_.below(std::uint64_t{left} + 1));
      local[count] = {address, part};
      address += part;
      left -= part;
    }
    local[count++] = {address, left};
  }

  void post_more() {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
        Endpoint& endpoint = endpoints_[host][queue];
        while (!endpoint.broken && endpoint.posted < options_.operations &&
               endpoint.outstanding < options_.concurrency && failure_.empty()) {
          if (!post_one(host, queue)) break;
        }
      }
    }
  }

  bool post_one(std::uint32_t host, std::uint32_t queue) {
    Endpoint& endpoint = endpoints_[host][queue];
    Operation operation;
    operation.host = host;
    operation.queue = queue;
    operation.verb = options_.verbs[random_.below(options_.verbs.size())];
    operation.pattern = ++last_pattern_;
    verbs::WorkRequest request;
    request.id = ++last_id_;
    request.verb = operation.verb;
    request.peer = endpoint.peer;
    request.fence = random_.below(8) == 0;
    request.immediate = random_.next_u32();
    const std::uint32_t other = 1 - host;
    if (options_.order_tags) {
      request.order = static_cast<verbs::OrderTag>(random_.below(3));
      request.completion_in_order = random_.below(4) != 0;
    }
    if (operation.verb == verbs::Verb::kSendInvalidate) {
      request.invalidate =
          pair_.engine(other)
              .register_segment(pair_.now(),
                                {.base = options_.pair.memory_base, .length = 64, .token_value = 5})
              .value();
      operation.revoked = request.invalidate;
    }
    if (verbs::is_atomic(operation.verb)) {
      if (!prepare_atomic(operation, request)) return true;
    } else {
      const bool tiny = random_.below(3) == 0;
      operation.length = static_cast<std::uint32_t>(random_.below((tiny ? 64 : options_.longest) + 1ULL));
      request.length = operation.length;
      operation.local = take_cell(host);
      split(host, operation.local, operation.length, request.local, request.local_count);
      if (verbs::carries_payload(operation.verb)) {
        write_pattern(host, operation.local, operation.pattern, operation.length);
      }
      if (!verbs::is_send(operation.verb)) {
        operation.remote = take_cell(other);
        Cell& cell = cells_[other][operation.remote];
        if (operation.verb == verbs::Verb::kRead && cell.length < operation.length) {
          write_pattern(other, operation.remote, ++last_pattern_, operation.length);
        }
        request.remote = {cell.address, token_[other]};
      }
      if (operation.verb == verbs::Verb::kWriteNotify) {
        operation.notify = take_cell(other);
        operation.immediate = request.immediate;
        request.notify = {cells_[other][operation.notify].address, token_[other]};
      }
    }
    operations_[request.id] = operation;
    if (verbs::consumes_receive_entry(operation.verb)) {
      endpoint.sent.push_back({.pattern = operation.pattern,
                               .length = operation.length,
                               .immediate = request.immediate,
                               .verb = operation.verb});
      message_of_[request.id] = endpoint.sent.size() - 1;
    }
    ++endpoint.posted;
    ++endpoint.outstanding;
    const bool doorbell = options_.doorbells && random_.below(4) != 0;
    const engine::PostStatus status =
        pair_.post(host, endpoint.queue, request,
                   doorbell ? engine::Submission::kDoorbell : engine::Submission::kInHand);
    if (status == engine::PostStatus::kOk) return true;
    // Only a queue that has failed may refuse.
    if (!options_.may_fail || status != engine::PostStatus::kBadQueue) {
      fail("post refused: " + std::string(engine::name(status)));
      return false;
    }
    endpoint.broken = true;
    forget(request.id);
    return false;
  }

  /// Takes back an operation that was refused when it was posted.
  void forget(std::uint64_t id) {
    Operation& operation = operations_[id];
    Endpoint& endpoint = endpoints_[operation.host][operation.queue];
    if (operation.local != kNoCell) cells_[operation.host][operation.local].busy = false;
    if (operation.remote != kNoCell) cells_[1 - operation.host][operation.remote].busy = false;
    if (operation.notify != kNoCell) cells_[1 - operation.host][operation.notify].busy = false;
    if (is_word_operation(operation.verb)) words_[1 - operation.host][operation.word].busy = false;
    if (verbs::consumes_receive_entry(operation.verb)) endpoint.sent.pop_back();
    --endpoint.outstanding;
    operations_.erase(id);
  }

  bool prepare_atomic(Operation& operation, verbs::WorkRequest& request) {
    const std::uint32_t other = 1 - operation.host;
    request.width = 8;
    request.length = 8;
    if (is_word_operation(operation.verb)) {
      operation.word = random_.below(words_[other].size());
      Word& word = words_[other][operation.word];
      if (word.busy || word.doubtful) return false;
      word.busy = true;
      operation.compare = random_.below(2) == 0 ? word.value : word.value + 1;
      operation.operand = random_.next_u64();
      request.remote = {word.address, token_[other]};
    } else {
      operation.word = random_.below(counters_[other].size());
      operation.operand = 1;
      request.remote = {counters_[other][operation.word].address, token_[other]};
    }
    request.operand[0] = operation.operand;
    request.compare[0] = operation.compare;
    if (operation.verb != verbs::Verb::kAtomicStore && options_.longest >= 8 && random_.below(2) == 0) {
      operation.local = take_cell(operation.host);
      request.local_count = 1;
      request.local[0] = {cells_[operation.host][operation.local].address, 8};
    }
    return true;
  }

  void take(std::uint32_t host, const verbs::Completion& completion) {
    if (!failure_.empty()) return;
    if (completion.kind == verbs::CompletionKind::kReceive) {
      take_receive(host, completion);
      return;
    }
    const auto found = operations_.find(completion.id);
    if (found == operations_.end()) return fail("completion of an unknown request");
    Operation& operation = found->second;
    if (operation.done) return fail("request " + std::to_string(completion.id) + " completed twice");
    if (operation.host != host) return fail("completion at the wrong host");
    operation.done = true;
    Endpoint& endpoint = endpoints_[host][operation.queue];
    --endpoint.outstanding;
    if (completion.ok()) {
      ++successes_;
      succeed(operation, completion);
    } else {
      ++errors_;
      if (!options_.may_fail) {
        return fail(std::string(verbs::name(operation.verb)) + " ended with " +
                    std::string(verbs::name(completion.status)));
      }
      using verbs::CompletionStatus;
      if (completion.status != CompletionStatus::kRetryExhausted &&
          completion.status != CompletionStatus::kReceiverNotReady &&
          completion.status != CompletionStatus::kFlushed) {
        return fail("unexpected error " + std::string(verbs::name(completion.status)));
      }
      endpoint.broken = true;
      doubt(completion.id, operation);
    }
    post_more();
  }

  void succeed(Operation& operation, const verbs::Completion& completion) {
    const std::uint32_t other = 1 - operation.host;
    const std::string verb(verbs::name(operation.verb));
    if (completion.verb != operation.verb) return fail("completion of another verb");
    if (completion.length != (verbs::is_atomic(operation.verb) ? 8 : operation.length)) {
      return fail(verb + " completed with a wrong length");
    }
    if (verbs::is_write(operation.verb)) {
      Cell& cell = cells_[other][operation.remote];
      if (!holds(other, cell, operation.pattern, operation.length)) return fail(verb + " left wrong bytes");
      if (cell.length <= operation.length) {
        cell.pattern = operation.pattern;
        cell.length = operation.length;
      } else {
        cell.length = 0;  // Two patterns now; the next use begins anew.
      }
      if (operation.length > 0) {
        cell.pattern = operation.pattern;
        cell.length = operation.length;
      }
    } else if (operation.verb == verbs::Verb::kRead) {
      const Cell& remote = cells_[other][operation.remote];
      Cell& local = cells_[operation.host][operation.local];
      if (!holds(operation.host, local, remote.pattern, operation.length))
        return fail("read returned wrong bytes");
      local.pattern = remote.pattern;
      local.length = operation.length;
    } else if (is_word_operation(operation.verb)) {
      Word& word = words_[other][operation.word];
      const bool tells = operation.verb != verbs::Verb::kAtomicStore;
      if (tells && completion.atomic_result[0] != word.value) return fail(verb + " returned a wrong value");
      word.value = after(operation, word.value);
      word.busy = false;
    } else if (operation.verb == verbs::Verb::kFetchAdd) {
      Counter& counter = counters_[other][operation.word];
      ++counter.added;
      if (++counter.seen[completion.atomic_result[0]] > 1) return fail("fetch_add saw a value twice");
    }
    if (operation.verb == verbs::Verb::kSendInvalidate &&
        pair_.engine(other).deregister_segment(pair_.now(), operation.revoked).ok()) {
      return fail("an invalidated token still stands");
    }
    if (operation.notify != kNoCell) {
      Cell& cell = cells_[other][operation.notify];
      if (pair_.memory(other).load64(cell.address) != operation.immediate)
        return fail("notify data is missing");
      cell.length = 0;
      cell.busy = false;
    }
    const bool has_result = verbs::is_atomic(operation.verb) && operation.verb != verbs::Verb::kAtomicStore;
    if (has_result && operation.local != kNoCell) {
      Cell& local = cells_[operation.host][operation.local];
      if (pair_.memory(operation.host).load64(local.address) != completion.atomic_result[0]) {
        return fail("an atomic's result is missing in memory");
      }
      local.length = 0;
    }
    if (operation.local != kNoCell) cells_[operation.host][operation.local].busy = false;
    if (operation.remote != kNoCell) cells_[other][operation.remote].busy = false;
  }

  /// The operation failed: it may or may not have happened.
  void doubt(std::uint64_t id, Operation& operation) {
    const std::uint32_t other = 1 - operation.host;
    if (operation.remote != kNoCell) cells_[other][operation.remote].doubtful = true;
    if (operation.local != kNoCell) cells_[operation.host][operation.local].doubtful = true;
    if (operation.notify != kNoCell) cells_[other][operation.notify].doubtful = true;
    if (is_word_operation(operation.verb)) words_[other][operation.word].doubtful = true;
    if (operation.verb == verbs::Verb::kFetchAdd) ++counters_[other][operation.word].doubtful;
    if (verbs::consumes_receive_entry(operation.verb)) {
      endpoints_[operation.host][operation.queue].sent[message_of_[id]].certain = false;
    }
  }

  /// Whether what the verb brings takes a receive entry.
  bool takes_receive(verbs::Verb verb) {
    return verbs::consumes_receive_entry(verb) &&
           (verb != verbs::Verb::kWriteImm || pair_.engine(0).capabilities().write_imm_takes_receive);
  }

  /// A write with immediate data that took no receive entry.
  void take_notice(Endpoint& sender, const verbs::Completion& completion) {
    if (!completion.ok() || completion.id != 0) return fail("a write_imm took a receive entry");
    for (Message& message : sender.sent) {
      if (message.arrived || message.verb != completion.verb || message.length != completion.length ||
          message.immediate != completion.immediate)
        continue;
      message.arrived = true;
      return;
    }
    fail("a write_imm arrived that nobody sent");
  }

  void take_receive(std::uint32_t host, const verbs::Completion& completion) {
    std::uint32_t queue = 0;
    while (queue < options_.queues && endpoints_[host][queue].queue != completion.queue) ++queue;
    if (queue == options_.queues) return fail("receive completion of an unknown queue");
    Endpoint& endpoint = endpoints_[host][queue];
    if (completion.verb == verbs::Verb::kWriteImm && !takes_receive(completion.verb))
      return take_notice(endpoints_[1 - host][queue], completion);
    const auto found = endpoint.receives.find(completion.id);
    if (found == endpoint.receives.end()) return fail("receive entry completed twice, or never posted");
    const std::uint32_t index = found->second;
    endpoint.receives.erase(found);
    Cell& cell = cells_[host][index];
    if (!completion.ok()) {
      if (!options_.may_fail) {
        return fail("receive ended with " + std::string(verbs::name(completion.status)));
      }
      cell.doubtful = true;
      endpoint.broken = true;
      return;
    }
    // A Send with invalidate tells the token that it ended instead.
    const bool tells_immediate = completion.has_immediate && completion.verb != verbs::Verb::kSendInvalidate;
    std::vector<Message>& sent = endpoints_[1 - host][queue].sent;
    Message* message = nullptr;
    if (options_.ordered_sends) {
      while (endpoint.next_message < sent.size() && !takes_receive(sent[endpoint.next_message].verb))
        ++endpoint.next_message;
      if (endpoint.next_message == sent.size()) return fail("a message arrived that nobody sent");
      message = &sent[endpoint.next_message++];
    } else {
      for (Message& candidate : sent) {
        const bool fits =
            !candidate.arrived && candidate.verb == completion.verb &&
            (candidate.verb == verbs::Verb::kWriteImm || candidate.length == completion.length) &&
            (!tells_immediate || static_cast<std::uint32_t>(candidate.immediate) ==
                                     static_cast<std::uint32_t>(completion.immediate)) &&
            (candidate.verb == verbs::Verb::kWriteImm ||
             holds(host, cell, candidate.pattern, candidate.length));
        if (fits) {
          message = &candidate;
          break;
        }
      }
      if (message == nullptr) {
        return fail("a " + std::string(verbs::name(completion.verb)) + " of " +
                    std::to_string(completion.length) + " bytes arrived that nobody sent");
      }
    }
    if (message->arrived) return fail("a message arrived twice");
    message->arrived = true;
    // What a receive completion says about the length of a write with immediate is the protocol's own affair.
    const bool lengths_agree =
        message->verb == verbs::Verb::kWriteImm || message->length == completion.length;
    if (message->verb != completion.verb || !lengths_agree) {
      return fail("a message arrived as another, or out of order");
    }
    if (tells_immediate &&
        static_cast<std::uint32_t>(message->immediate) != static_cast<std::uint32_t>(completion.immediate)) {
      return fail("a message arrived with a wrong immediate");
    }
    if (verbs::is_send(message->verb) && !holds(host, cell, message->pattern, message->length)) {
      return fail("a message arrived with wrong bytes");
    }
    if (verbs::is_send(message->verb)) {
      cell.pattern = message->pattern;
      cell.length = message->length;
    }
    cell.busy = false;
    post_receive(host, queue);
  }

  bool finished() const {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (const Endpoint& endpoint : endpoints_[host]) {
        if (endpoint.outstanding > 0 || (!endpoint.broken && endpoint.posted < options_.operations))
          return false;
      }
    }
    return true;
  }

  /// Whether what arrived for a failed message was `message`: without order, nothing tells messages of the
  /// same content apart. Each arrival serves once.
  bool stands_for_another(Endpoint& endpoint, const Message& message) const {
    if (options_.ordered_sends) return false;
    for (Message& other : endpoint.sent) {
      if (other.certain || !other.arrived || other.verb != message.verb || other.length != message.length) {
        continue;
      }
      if (message.verb != verbs::Verb::kSend &&
          static_cast<std::uint32_t>(other.immediate) != static_cast<std::uint32_t>(message.immediate)) {
        continue;
      }
      if (!wire::payload_equal(wire::pattern_payload(other.pattern, 0, other.length),
                               wire::pattern_payload(message.pattern, 0, message.length))) {
        continue;
      }
      other.arrived = false;
      return true;
    }
    return false;
  }

  void check_memory() {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (const Cell& cell : cells_[host]) {
        if (cell.busy || cell.doubtful || cell.length == 0) continue;
        if (!holds(host, cell, cell.pattern, cell.length))
          return fail("memory changed after it was acknowledged");
      }
      for (const Counter& counter : counters_[host]) {
        const std::uint64_t value = pair_.memory(host).load64(counter.address);
        if (value < counter.added || value > counter.added + counter.doubtful)
          return fail("a counter is wrong");
      }
      for (const Word& word : words_[host]) {
        if (!word.doubtful && pair_.memory(host).load64(word.address) != word.value) {
          return fail("a compare_swap word is wrong");
        }
      }
      for (Endpoint& endpoint : endpoints_[host]) {
        for (const Message& message : endpoint.sent) {
          if (message.certain && !message.arrived && !stands_for_another(endpoint, message)) {
            return fail("an acknowledged message never arrived");
          }
        }
      }
    }
  }

  void check_buffers() {
    const std::uint32_t held = pair_.pool().in_use();
    if (held == 0) return;
    const std::string text = std::to_string(held) + " payload buffers leaked";
    if (!options_.may_fail || !options_.keeps_behind_gaps) {
      return fail(text + ":\n" + pair_.waiting_report());
    }
    for (std::uint32_t host = 0; host < 2; ++host) pair_.host(host).engine.reset();
    if (pair_.pool().in_use() != 0) fail(text + ", and the engines do not give them back when they end");
  }

  ChaosOptions options_;
  RandomStream random_;
  EnginePair<E> pair_;
  verbs::SegmentToken token_[2];
  std::vector<Endpoint> endpoints_[2];
  std::vector<Cell> cells_[2];
  std::vector<Counter> counters_[2];
  std::vector<Word> words_[2];
  std::map<std::uint64_t, Operation> operations_;
  std::map<std::uint64_t, std::size_t> message_of_;
  std::uint64_t last_id_ = 0;
  std::uint32_t last_pattern_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t successes_ = 0;
  std::string failure_;
};

}  // namespace wharf::test
