// SPDX-License-Identifier: Apache-2.0
// wharf rdmo: a worker near memory, a target that grants some, single operations by hand, and a measurement.
#include <fmt/format.h>

#include <cstdio>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/memory_check.h"
#include "cli/rdmo_workers.h"
#include "report/counted.h"
#include "report/text_table.h"
#include "wharf/schema_version.h"
#ifdef WHARF_HAS_UCX
#include <time.h>

#include "live/rdmo/background_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/rdmo_measurement.h"
#include "live/rdmo/rdmo_workload.h"
#include "live/rdmo/worker_process.h"
#endif

namespace wharf::cli {
namespace {

#ifdef WHARF_HAS_UCX
/// The bytes of a scatter's payload with one entry.
std::vector<std::byte> scatter_payload(std::uint64_t address, std::uint64_t key, const std::string& text) {
  std::vector<std::byte> bytes(wire::kRdmoEntryBytes + text.size());
  wire::encode(wire::RdmoEntry{address, key, static_cast<std::uint16_t>(text.size())}, bytes.data());
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(),
              bytes.data() + wire::kRdmoEntryBytes);
  return bytes;
}
#endif

class RdmoCommand : public Command {
 public:
  std::string_view name() const override { return "rdmo"; }
  std::string_view summary() const override {
    return "Append, flush and scatter by a worker near the memory.";
  }
  std::string_view examples() const override {
    return "  wharf rdmo worker\n"
           "  wharf rdmo start\n"
           "  wharf rdmo list\n"
           "  wharf rdmo stop\n"
           "  wharf rdmo target --size 1MiB\n"
           "  wharf rdmo call append 'a record' --to 127.0.0.1\n"
           "  wharf rdmo call flush --to 127.0.0.1 --form published\n"
           "  wharf rdmo call append 'a record' --worker 127.0.0.1 --grant @log.grant\n"
           "  wharf rdmo bench --size 64B\n"
           "  wharf rdmo bench --workload queue --clients 4\n";
  }

  void declare(Options& app) override {
    worker_ = app.add_nested("worker", "Serve targets and initiators until interrupted");
    start_ = app.add_nested("start", "Start a worker in the background; it is ready when this ends");
    for (Options* each : {&worker_, &start_}) {
      each->add_option("--listen", listen_, "Address for targets, with :PORT; 127.0.0.1:18516 by default")
          .type_name("ADDRESS");
      each->add_option("--layout", layout_, "Published layout: shipped, or guide with its 16-bit keys")
          .type_name("NAME")
          .one_of({"shipped", "guide"});
      each->add_option("--transports", transports_,
                       "UCX transports; tcp,self by default. Add posix for initiators that you trust")
          .type_name("LIST");
      each->add_option("--connect", connect_,
                       "Also let initiators connect by this address, with :PORT (18517 by default), if they "
                       "know a target's key")
          .type_name("ADDRESS");
      each->add_flag("--once", once_, "End when the last target has left");
    }
    workers_.declare(app);

    target_ = app.add_nested("target", "Grant memory with a log in it, and print what is appended");
    target_.add_option("--worker", worker_at_, "Where the worker listens; 127.0.0.1:18516 by default")
        .type_name("ADDRESS");
    target_.add_option("--listen", listen_, "Address for initiators, with :PORT; 127.0.0.1:18515 by default")
        .type_name("ADDRESS");
    target_.add_option("--size", size_, "Memory to grant, 1MiB by default").type_name("SIZE");
    target_.add_option("--id", id_, "Its id at the worker, 0 by default").type_name("N");
    target_.add_option("--transports", transports_, "UCX transports; tcp,self by default").type_name("LIST");
    target_.add_flag("--show-grant", show_grant_, "Print what `call --grant` needs; --json has it always");
    target_.add_flag("--unshared", unshared_, "Do not share the memory with a worker of this machine");

    call_ = app.add_nested("call", "Do one operation: append TEXT, flush, or scatter TEXT");
    call_.add_option("operation", operation_, "append, flush or scatter")
        .type_name("OPERATION")
        .required()
        .one_of({"append", "flush", "scatter"});
    text_option_ = call_.add_option("text", text_, "What to append or scatter").type_name("TEXT");
    to_option_ = call_.add_option("--to", to_, "Where the target listens; 127.0.0.1:18515 by default")
                     .type_name("ADDRESS");
    call_
        .add_option("--worker", worker_at_,
                    "Connect to a worker that has --connect, with --grant, and not through the target; "
                    "127.0.0.1:18517 by default")
        .type_name("ADDRESS");
    grant_option_ =
        call_
            .add_option("--grant", grant_,
                        "What the target shows under --show-grant. Others see it in the list of processes: "
                        "@FILE reads it from a file, such as @log.grant, and @- from standard input")
            .type_name("KEY:CELL:ID");
    call_.add_option("--form", form_, "published or extended; extended by default")
        .type_name("NAME")
        .one_of({"published", "extended"});
    expected_option_ =
        call_.add_option("--expect", expected_, "append: only if the log has so many bytes").type_name("N");
    at_option_ =
        call_.add_option("--at", at_, "scatter: offset in the target's memory, 8 by default").type_name("N");
    call_.add_option("--transports", transports_, "UCX transports; tcp,self by default").type_name("LIST");

    bench_ = app.add_nested("bench", "Measure appends beside bare messages and the two-step, in one run");
    bench_.add_option("--size", size_, "Bytes of a record, 64B by default").type_name("SIZE");
    bench_.add_option("--window", window_, "Messages in flight, 1 to 4096; 16 by default")
        .type_name("N")
        .range(1, 4096);
    bench_.add_option("--batch", batch_, "Records of a batch, 1 to 4096; 16 by default")
        .type_name("N")
        .range(1, 4096);
    bench_.add_option("--rounds", rounds_, "Rounds, of which medians are shown, 1 to 1000; 3 by default")
        .type_name("N")
        .range(1, 1000);
    bench_.add_option("--duration", duration_, "Of each kind in each round, 500ms by default")
        .type_name("TIME");
    bench_.add_option("--transports", transports_, "UCX transports; tcp,self by default").type_name("LIST");
    bench_.add_flag("--unshared", unshared_,
                    "The target's memory is not shared with the worker: UCX carries it");
    workload_option_ =
        bench_.add_option("--workload", workload_, "Instead: run a use of the worker and check all it leaves")
            .type_name("USE")
            .one_of({"append", "log", "queue", "scatter", "write_ahead"});
    bench_.add_option("--form", form_, "--workload: published or extended; extended by default")
        .type_name("NAME")
        .one_of({"published", "extended"});
    bench_.add_option("--clients", clients_, "--workload: clients that write, 1 to 256; 4 by default")
        .type_name("N")
        .range(1, 256);
    bench_
        .add_option("--operations", operations_,
                    "--workload: of each client, 1 to 100000000; 10000 by default")
        .type_name("N")
        .range(1, 100'000'000);
    bench_.add_option("--seed", seed_, "--workload: of the records, 1 by default").type_name("N");
  }

  Result<ExitCode> run(const Console& console) override {
#ifdef WHARF_HAS_UCX
    if (worker_.given()) return run_worker(console);
    if (start_.given()) return run_start(console);
    if (workers_.given()) return workers_.run(console);
    if (target_.given()) return run_target(console);
    if (call_.given()) return run_call(console);
    return workload_option_.given() ? run_workload(console) : run_bench(console);
#else
    static_cast<void>(console);
    return Error{ErrorKind::kEnvironment,
                 "rdmo: this wharf was built without UCX; install UCX 1.13 or newer (Debian: libucx-dev) and "
                 "build again"};
#endif
  }

 private:
#ifdef WHARF_HAS_UCX
  /// One line of either kind, at once: others wait for it.
  static void show_line(const Console& console, const nlohmann::ordered_json& document,
                        const std::string& text) {
    console.write(console.json ? versioned(document).dump() + "\n" : text);
    std::fflush(console.out);
  }
  static void show(const Console& console, const nlohmann::ordered_json& document, const std::string& text) {
    console.print(document);
    console.print(text);
  }
  /// `more`: what there is to know besides, and what it is called.
  static void announce(const Console& console, const std::string& what, const std::string& address,
                       const std::pair<std::string, std::string>& more, bool says_more) {
    nlohmann::ordered_json document{{"ready", true}, { "address", address }};
    std::string text = fmt::format("{} ready at {}\n", what, address);
    if (!more.second.empty()) document[more.first] = more.second;
    if (says_more) text += fmt::format("{} {}\n", more.first, more.second);
    show_line(console, document, text);
  }

  Result<live::WorkerProcessConfig> worker_config() const {
    live::WorkerProcessConfig config;
    auto listen = live::parse_stream_address(listen_, live::kRdmoWorkerPort);
    if (!listen) return input_error("--listen: " + listen.error().message);
    config.listen = *listen;
    config.transports = transports_;
    config.once = once_;
    if (!connect_.empty()) {
      auto connect = live::parse_stream_address(connect_, live::kRdmoConnectPort);
      if (!connect) return input_error("--connect: " + connect.error().message);
      config.connect = *connect;
      if (layout_ == "guide")
        return input_error(
            "--connect: found --layout guide, whose keys of 16 bits anybody guesses; expected "
            "--layout shipped");
    }
    config.listed = true;
    if (layout_ == "guide") config.worker.layout = wire::RdmoLayout::kGuide;
    return config;
  }
  static std::string address_of(const live::WorkerProcessConfig& config, const live::WorkerProcess& process) {
    return fmt::format("{}:{}", config.listen.host, process.port());
  }
  /// Empty: initiators are let in by targets alone.
  static std::string connect_of(const live::WorkerProcessConfig& config, const live::WorkerProcess& process) {
    return config.connect ? fmt::format("{}:{}", config.connect->host, process.connect_port()) : "";
  }

  Result<ExitCode> run_start(const Console& console) const {
    const auto config = worker_config();
    if (!config) return config.error();
    const auto started = live::start_in_background([&](const live::SayReady& ready) -> Result<void> {
      auto process = live::WorkerProcess::create(*config);
      if (!process) return process.error();
      ready(address_of(*config, **process) + " " + connect_of(*config, **process));
      (*process)->run(interrupt_requested());
      return {};
    });
    if (!started) return started.error();
    const std::size_t end = started->told.find(' ');
    const std::string address = started->told.substr(0, end);
    const std::string connect = started->told.substr(end + 1);
    nlohmann::ordered_json document{{"ready", true}, {"address", address}, { "process", started->process }};
    std::string text = fmt::format("worker ready at {}, process {}\n", address, started->process);
    if (!connect.empty()) {
      document["connect"] = connect;
      text += fmt::format("connect {}\n", connect);
    }
    show(console, document, text);
    return ExitCode::kDone;
  }

  Result<ExitCode> run_worker(const Console& console) {
    const auto config = worker_config();
    if (!config) return config.error();
    auto process = live::WorkerProcess::create(*config);
    if (!process) return process.error();
    const std::string connect = connect_of(*config, **process);
    announce(console, "worker", address_of(*config, **process), {"connect", connect}, !connect.empty());
    (*process)->run(interrupt_requested());
    const rdmo::WorkerCounters& counters = (*process)->counters();
    console.remark(fmt::format("{} records in {} appends, {} flushes, {} scatters", counters.records,
                               counters.appends, counters.flushes, counters.scatters));
    const live::ProcessRefusals& refused = (*process)->refusals();
    if (refused.addresses + refused.keys + refused.memories + refused.floods + refused.unread +
            refused.strangers + refused.silent >
        0)
      console.remark(fmt::format(
          "refused: {} addresses, {} keys, {} shared memories; cut off: {} that flooded, {} "
          "that read no answers, {} that joined no target, {} that said nothing",
          refused.addresses.load(), refused.keys.load(), refused.memories.load(), refused.floods.load(),
          refused.unread.load(), refused.strangers.load(), refused.silent.load()));
    return interrupt_requested() ? ExitCode::kInterrupted : ExitCode::kDone;
  }

  Result<ExitCode> run_target(const Console& console) {
    live::RdmoTargetConfig config;
    auto worker = live::parse_stream_address(worker_at_, live::kRdmoWorkerPort);
    if (!worker) return input_error("--worker: " + worker.error().message);
    auto listen = live::parse_stream_address(listen_, live::kRdmoTargetPort);
    if (!listen) return input_error("--listen: " + listen.error().message);
    auto size = parse_bytes(size_.empty() ? "1MiB" : size_);
    if (!size) return input_error("--size: " + size.error().message);
    config.worker = *worker;
    config.transports = transports_;
    config.client = id_;
    config.bytes = size->count;
    config.shared = !unshared_;
    auto target = live::RdmoTarget::create(config);
    if (!target) return target.error();
    auto listener = live::StreamListener::listen(*listen);
    if (!listener) return listener.error();
    const std::string address = fmt::format("{}:{}", listen->host, listener->port());
    announce(console, "target", address, {"grant", live::format_grant((*target)->grant())}, show_grant_);
    return follow(console, **target, *listener);
  }

  /// Lets initiators in and prints what the log shows, as it grows.
  static Result<ExitCode> follow(const Console& console, live::RdmoTarget& target,
                                 live::StreamListener& listener) {
    std::uint64_t shown = 8;
    while (!interrupt_requested()) {
      target.progress();
      if (!target.connected()) return Error{ErrorKind::kEnvironment, "the worker is gone"};
      const auto met = target.meet(listener);
      if (!met) console.remark("an initiator was not let in: " + met.error().message);
      const std::uint64_t tail = target.tail();
      if (tail > shown && tail <= target.memory().size()) {
        const auto* first = reinterpret_cast<const char*>(target.memory().data() + shown);
        const std::string text(first, tail - shown);
        show_line(console,
                  nlohmann::ordered_json{{"at", shown - 8},
                                         { "text",
                                           text }},
                  fmt::format("{:>8}  {}\n", shown - 8, text));
        shown = tail;
      }
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
    return ExitCode::kInterrupted;
  }

  /// By the network address of the worker, without the target.
  Result<std::unique_ptr<live::RdmoInitiator>> join(const live::RdmoInitiatorConfig& config) const {
    const auto worker = live::parse_stream_address(worker_at_, live::kRdmoConnectPort);
    if (!worker) return input_error("--worker: " + worker.error().message);
    const auto grant =
        grant_.starts_with('@') ? live::read_grant(grant_.substr(1)) : live::parse_grant(grant_);
    if (!grant) return input_error("--grant: " + grant.error().message);
    return live::RdmoInitiator::join(*worker, *grant, config);
  }

  /// Until the worker lets it in, nothing is left behind: an interrupt ends it at once.
  Result<std::unique_ptr<live::RdmoInitiator>> enter(const live::StreamAddress& target,
                                                     const live::RdmoInitiatorConfig& config) const {
    end_at_interrupt("wharf: interrupted before the worker had let the call in\n");
    auto entered = grant_option_.given() ? join(config) : live::RdmoInitiator::meet(target, config);
    end_at_interrupt(nullptr);
    return entered;
  }

  Result<ExitCode> run_call(const Console& console) {
    auto to = live::parse_stream_address(to_, live::kRdmoTargetPort);
    if (!to) return input_error("--to: " + to.error().message);
    live::RdmoInitiatorConfig config;
    config.transports = transports_;
    config.initiator.form = form_ == "published" ? rdmo::Form::kPublished : rdmo::Form::kExtended;
    if (expected_option_.given() && config.initiator.form == rdmo::Form::kPublished)
      return input_error("--expect: the published form has no condition, expected --form extended");
    if (!worker_at_.empty() && !grant_option_.given())
      return input_error("--worker: a worker lets in who has a --grant; expected both, or --to alone");
    if (grant_option_.given() && to_option_.given())
      return input_error(
          fmt::format("--to: found {} and --grant, which connects to a worker and not through the target; "
                      "expected --worker with --grant, or --to alone",
                      to_));
    if (operation_ == "flush" && text_option_.given())
      return input_error(fmt::format("text: flush takes none, found {}", text_));
    if (operation_ != "flush" && !text_option_.given())
      return Error{ErrorKind::kUsage, fmt::format("wharf rdmo call {}: TEXT is required", operation_)};
    if (operation_ != "scatter" && at_option_.given())
      return input_error(fmt::format("--at: {} has no offset, expected scatter", operation_));
    if (operation_ != "append" && expected_option_.given())
      return input_error(fmt::format("--expect: {} has no condition, expected append", operation_));
    if (operation_ == "scatter" && text_.size() > wire::kRdmoEntryDataMax)
      return input_error(
          fmt::format("text: found {} bytes, expected at most {}", text_.size(), wire::kRdmoEntryDataMax));
    auto met = enter(*to, config);
    if (!met) return met.error();
    live::RdmoInitiator& initiator = **met;
    const live::RdmoGrant& grant = initiator.grant();
    const auto* bytes = reinterpret_cast<const std::byte*>(text_.data());
    std::vector<std::byte> payload;
    rdmo::Posted posted = rdmo::Posted::kOk;
    if (operation_ == "append") {
      rdmo::AppendRequest request;
      request.cell = grant.cell;
      request.cell_key = request.data_key = grant.key;
      request.data = {bytes, text_.size()};
      request.compare = expected_option_.given();
      request.expected = grant.cell + 8 + expected_;
      posted = initiator.engine().append(initiator.now(), request);
    } else if (operation_ == "scatter") {
      payload = scatter_payload(grant.cell + at_, grant.key, text_);
      posted = initiator.engine().scatter(initiator.now(), 0, payload, 1);
    }
    if (posted != rdmo::Posted::kOk) return input_error("the form has no such operation");
    rdmo::Outcome first;
    if (operation_ != "flush" && !initiator.wait(first, &interrupt_requested()))
      return ExitCode::kInterrupted;
    rdmo::Outcome outcome = first;
    if (first.status == wire::RdmoStatus::kDone) {
      // What is not flushed may not be shown yet.
      if (initiator.engine().flush(initiator.now(), 1) != rdmo::Posted::kOk) {
        outcome.status = wire::RdmoStatus::kConnectionLost;
      } else if (!initiator.wait(outcome, &interrupt_requested())) {
        return ExitCode::kInterrupted;
      }
    }
    const bool placed = operation_ == "append" && config.initiator.form == rdmo::Form::kExtended;
    nlohmann::ordered_json document{{"operation", operation_}, { "status", wire::name(outcome.status) }};
    std::string text = fmt::format("{}: {}", operation_, wire::name(outcome.status));
    if (placed && first.place >= grant.cell + 8) {
      document["place"] = first.place - grant.cell - 8;
      text += fmt::format(", at {}", first.place - grant.cell - 8);
    }
    show(console, document, text + "\n");
    return outcome.status == wire::RdmoStatus::kDone ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

  Result<ExitCode> run_workload(const Console& console) {
    live::RdmoWorkloadConfig config;
    workload::RdmoConfig& program = config.program;
    auto size = parse_bytes(size_.empty() ? "64B" : size_);
    if (!size) return input_error("--size: " + size.error().message);
    if (size->count > 65536)
      return input_error(fmt::format("--size: found {}, expected at most 64KiB", size_));
    for (const auto& use : workload::kRdmoUses) {
      if (use.name == workload_) program.use = use.value;
    }
    const bool published = form_ == "published";
    program.messages = published ? workload::RdmoMessages::kPublished : workload::RdmoMessages::kExtended;
    program.payload = static_cast<std::uint32_t>(size->count);
    program.batch = published || program.use == workload::RdmoUse::kWriteAhead ? 1 : batch_;
    program.eager_most = 1U << 20U;  // UCX decides for itself.
    program.queue_bytes = std::max<std::uint64_t>(1024, std::uint64_t{program.batch} * 16) * program.payload;
    program.loop.concurrency = window_;
    program.loop.operations = operations_;
    program.rows = std::max(1024U, 4 * program.batch * window_ * clients_);
    config.clients = clients_;
    config.seed = seed_;
    config.transports = transports_;
    WHARF_TRY(check_workload_memory(program));
    auto done = live::run_rdmo_workload(config, interrupt_requested());
    if (!done && interrupt_requested()) {
      console.error(fmt::format("interrupted; {} was not checked to its end", workload_));
      return ExitCode::kInterrupted;
    }
    if (!done) return done.error();
    const bool whole = done->verdict.holds();
    const double rate = done->seconds > 0 ? static_cast<double>(done->records) / done->seconds : 0;
    const std::string verdict = workload::describe(done->verdict);
    show(console,
         nlohmann::ordered_json{{"workload", workload_},
                                {"clients", clients_},
                                {"records", done->records},
                                {"records_per_second", rate},
                                {"latency_ns_p50", done->latency_ns_p50},
                                {"latency_ns_p99", done->latency_ns_p99},
                                {"flushes", done->flushes},
                                {"retries", done->retries},
                                {"read_records", done->read_records},
                                {"checks", done->verdict.checks},
                                { "verdict",
                                  whole ? "" : verdict }},
         fmt::format("{}: {}, {} records of {} B, {:.0f} per second\n"
                     "operations: median {:.1f} us, 99 % within {:.1f} us; {} flushes, {} found no room\n"
                     "{}\n",
                     workload_, report::counted(clients_, "client", "clients"), done->records,
                     program.payload, rate, done->latency_ns_p50 / 1e3, done->latency_ns_p99 / 1e3,
                     done->flushes, done->retries,
                     whole ? fmt::format("all whole: {} checks", done->verdict.checks) : verdict));
    return whole ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

  /// The target's memory, and its copy for the verdict.
  Result<void> check_workload_memory(const workload::RdmoConfig& program) const {
    const workload::Party party{0, clients_ + 1 + workload::readers_of(program)};
    const std::uint64_t needed = 2 * workload::memory_needed(program, party);
    return require_room(needed, needed, fmt::format("rdmo bench --workload {}", workload_),
                        "fewer --operations or --clients, or a smaller --size");
  }

  Result<ExitCode> run_bench(const Console& console) {
    live::RdmoMeasurementConfig config;
    auto size = parse_bytes(size_.empty() ? "64B" : size_);
    if (!size) return input_error("--size: " + size.error().message);
    if (size->count == 0 || size->count > 65536)
      return input_error(fmt::format("--size: found {}, expected 1B to 64KiB", size_));
    auto duration = parse_time(duration_);
    if (!duration) return input_error("--duration: " + duration.error().message);
    config.bytes = static_cast<std::uint32_t>(size->count);
    config.window = window_;
    config.batch = batch_;
    config.rounds = rounds_;
    config.turn = *duration;
    config.transports = transports_;
    config.shared = !unshared_;
    auto rates = live::measure_rdmo(config, interrupt_requested());
    if (!rates) return rates.error();
    const bool interrupted = interrupt_requested();
    report::TextTable table({{"appends"},
                             {"per second", report::Align::kRight},
                             {"to bare", report::Align::kRight},
                             { "one at a time, median us",
                               report::Align::kRight }});
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const double bare = rates->front().appends_per_second;
    for (const live::RdmoRate& rate : *rates) {
      const bool timed = rate.latency_ns_p50 > 0;
      // An interrupt came before its turn.
      const bool measured = rate.appends_per_second > 0;
      table.add_row({rate.what, measured ? fmt::format("{:.0f}", rate.appends_per_second) : "-",
                     measured && bare > 0 ? fmt::format("{:.2f}", rate.appends_per_second / bare) : "-",
                     timed ? fmt::format("{:.2f}", rate.latency_ns_p50 / 1e3) : ""});
      nlohmann::ordered_json entry{{"what", rate.what}, { "appends_per_second", rate.appends_per_second }};
      if (!measured) entry["appends_per_second"] = nullptr;
      if (timed) entry["latency_ns_p50"] = rate.latency_ns_p50;
      list.push_back(entry);
    }
    show(console,
         nlohmann::ordered_json{{"bytes", config.bytes},
                                {"transports", transports_},
                                {"interrupted", interrupted},
                                { "results",
                                  list }},
         fmt::format("{} B records, client to worker over {}, worker to target {}\n{}{}", config.bytes,
                     transports_, unshared_ ? "by UCX" : "in shared memory", console.text_of(table),
                     interrupted ? "interrupted: partial results\n" : ""));
    return interrupted ? ExitCode::kInterrupted : ExitCode::kDone;
  }
#endif

  Options worker_;
  Options start_;
  RdmoWorkers workers_;
  Options target_;
  Options call_;
  Options bench_;
  Option text_option_;
  Option at_option_;
  Option expected_option_;
  Option workload_option_;
  std::string listen_;
  std::string worker_at_;
  std::string to_;
  std::string size_;
  std::string text_;
  std::string operation_;
  std::string layout_ = "shipped";
  std::string form_ = "extended";
  std::string duration_ = "500ms";
  std::string transports_ = "tcp,self";
  std::string workload_;
  std::uint64_t id_ = 0;
  std::uint64_t operations_ = 10000;
  std::uint64_t seed_ = 1;
  std::uint32_t clients_ = 4;
  std::uint64_t expected_ = 0;
  std::uint64_t at_ = 8;
  std::uint32_t window_ = 16;
  std::uint32_t batch_ = 16;
  std::uint32_t rounds_ = 3;
  Option grant_option_;
  Option to_option_;
  std::string grant_;
  std::string connect_;
  bool show_grant_ = false;
  bool once_ = false;
  bool unshared_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rdmo_command() { return std::make_unique<RdmoCommand>(); }

}  // namespace wharf::cli
