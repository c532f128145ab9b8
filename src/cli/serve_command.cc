// SPDX-License-Identifier: Apache-2.0
// wharf serve: exposes memory of this process to clients such as `wharf perf`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/capture_signals.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/live_options.h"
#include "live/secure/key.h"
#include "live/udp/live_protocol.h"
#include "live/udp/place.h"
#include "live/udp/server.h"
#include "live/udp/session.h"
#include "report/counted.h"
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

class ServeCommand : public Command {
 public:
  std::string_view name() const override { return "serve"; }
  std::string_view summary() const override {
    return "Expose memory to live clients over UDP or shared memory.";
  }
  std::string_view examples() const override {
    static const std::string kText = "  wharf serve\n" +
                                     protocol_examples("serve", &live::ProtocolDescription::serve_example) +
                                     "  wharf serve --metrics serve.prom\n"
                                     "  wharf serve --capture-on-signal serve.pcapng\n"
                                     "  wharf serve --listen shm:bench\n"
                                     "  wharf serve --make-psk bench.key\n"
                                     "  wharf serve --psk bench.key --encrypt\n"
                                     "  wharf serve --once --loss 5% --json\n";
    return kText;
  }
  void declare(Options& app) override {
    live_.declare(app);
    std::vector<std::string> ports;
    for (const live::ProtocolDescription& each : live::live_protocols())
      ports.push_back(fmt::format("{} for {}", each.port, each.name));
    app.add_option(
           "--listen", listen_,
           fmt::format("Address to listen on, with :PORT (0: any free one), {} by default; or shm:NAME: "
                       "shared memory, for processes of the same user on this machine",
                       fmt::join(ports, ", ")))
        .type_name("ADDRESS");
    app.add_option("--mtu", mtu_,
                   "Payload bytes of a packet at most, 256 to 4096; what the path takes by default")
        .type_name("N");
    app.add_option("--size", size_, "Memory to expose, 64MiB by default").type_name("SIZE");
    app.add_option("--clients", clients_,
                   "Clients at once, each with an equal part of the memory; 16 by default")
        .type_name("N")
        .range(1, 1024);
    app.add_option("--clients-per-address", clients_per_address_,
                   "Clients at once from one address; half of --clients by default, all of them from this "
                   "machine's own")
        .type_name("N")
        .range(1, 1024);
    app.add_option(
           "--idle-limit", idle_limit_,
           fmt::format("A client that is silent for so long leaves when another needs its place; {} by "
                       "default",
                       idle_limit_))
        .type_name("TIME");
    app.add_option(
           "--refusals", refusals_,
           fmt::format("How often a client may ask for what it has no right to, until it is sent away; {} by "
                       "default",
                       refusals_))
        .type_name("N");
    app.add_option("--metrics", metrics_, "Keep what is counted in a file, in the text format of Prometheus")
        .type_name("FILE");
    app.add_option(
           "--capture-on-signal", capture_on_signal_,
           "SIGUSR1 begins to write the datagrams to a pcapng file, SIGUSR2 ends it; where the file is "
           "there already, to FILE.1, FILE.2 and so on")
        .type_name("FILE")
        .not_empty()
        .excludes(app.option("--capture"));
    app.add_option("--make-psk", make_psk_,
                   "Write a new key for --psk to a new file that only its user may read, and serve nobody")
        .type_name("FILE")
        .not_empty();
    app.add_flag("--share-memory", share_memory_,
                 "Let every client reach all of the memory, not only its own part");
    app.add_flag("--once", once_, "End when the last client has left");
  }
  Result<ExitCode> run(const Console& console) override {
    if (!make_psk_.empty()) return make_key(console);
    live::ServerConfig config;
    WHARF_TRY(live_.read_into(config));
    auto listen = live::parse_place(listen_, live::describe(config.protocol).port);
    if (!listen) return input_error("--listen: " + listen.error().message);
    auto size = parse_bytes(size_);
    if (!size) return input_error("--size: " + size.error().message);
    config.listen = *listen;
    config.memory_bytes = size->count;
    if (mtu_ != 0 && (!std::has_single_bit(mtu_) || mtu_ < live::kMtuMin || mtu_ > live::kMtuMax)) {
      return input_error(fmt::format("--mtu: found {}, expected a power of two from {} to {}", mtu_,
                                     live::kMtuMin, live::kMtuMax));
    }
    config.mtu = mtu_;
    config.clients_max = clients_;
    config.shared_memory = share_memory_;
    config.once = once_;
    if (live_.seed != 0) config.secrets_seed = live_.seed;
    config.limits.per_address = clients_per_address_;
    config.limits.refused_accesses = refusals_;
    auto idle = parse_time(idle_limit_);
    if (!idle) return input_error("--idle-limit: " + idle.error().message);
    config.limits.idle = *idle;
    config.metrics = metrics_;
    if (!capture_on_signal_.empty()) {
      config.ordered_capture = capture_on_signal_;
      config.capture_orders = &take_capture_orders();
    }

    live::ServerObserver observer;
    observer.ready = [&](const live::ServerObserver::Ready& ready) { announce(console, config, ready); };
    observer.remark = [&console](std::string_view text) { console.remark(text); };
    auto summary = live::serve(config, observer, interrupt_requested());
    if (!summary) return summary.error();
    console.remark(fmt::format("{} served, {} datagrams received, {} sent",
                               report::counted(summary->clients, "client", "clients"),
                               summary->counters.datagrams_received, summary->counters.datagrams_sent));
    const std::string drops = live::describe_drops(summary->counters);
    if (!drops.empty()) console.remark(drops);
    return summary->stopped ? ExitCode::kInterrupted : ExitCode::kDone;
  }

 private:
  Result<ExitCode> make_key(const Console& console) const {
    WHARF_TRY(live::make_key_file(make_psk_));
    if (console.json) {
      console.print(nlohmann::ordered_json{{"made", make_psk_}});
    } else {
      console.print(
          fmt::format("{} holds a new key: give both sides a copy, and each --psk FILE\n", make_psk_));
    }
    return ExitCode::kDone;
  }

  /// One line, at once: others wait for it.
  static void announce(const Console& console, const live::ServerConfig& config,
                       const live::ServerObserver::Ready& ready) {
    const bool shared = config.listen.shared();
    const std::string endpoint = live::format_place(shared ? config.listen : live::Place(ready.control));
    if (console.json) {
      nlohmann::ordered_json document{
          {"ready", true}, {"protocol", live::name(config.protocol)}, {"address", endpoint}};
      if (!shared) {
        document["port"] = ready.control.port;
        document["udp_port"] = ready.udp_port;
      }
      document["memory_bytes"] = ready.memory.size();
      document["authenticated"] = config.psk.has_value();
      document["sealed"] = config.seal_packets;
      const std::string line = versioned(document).dump() + "\n";
      console.write(line);
    } else {
      const std::string line =
          fmt::format("ready: {} of memory over {} at {}; try `wharf perf {} --protocol {}{}`\n",
                      format_bytes(Bytes{ready.memory.size()}), live::name(config.protocol), endpoint,
                      endpoint, live::name(config.protocol), config.psk ? " --psk FILE" : "");
      console.print(line);
    }
    std::fflush(console.out);
  }

  LiveOptions live_;
  std::string listen_ = "127.0.0.1";
  std::string size_ = "64MiB";
  std::uint32_t mtu_ = 0;
  std::uint32_t clients_ = 16;
  std::uint32_t clients_per_address_ = 0;
  std::uint64_t refusals_ = live::ClientLimits{}.refused_accesses;
  std::string idle_limit_ = format_time(live::ClientLimits{}.idle);
  std::string metrics_;
  std::string capture_on_signal_;
  std::string make_psk_;
  bool share_memory_ = false;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace wharf::cli
