// SPDX-License-Identifier: Apache-2.0
// wharf doctor: what works on this machine, tried rather than assumed.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.h"
#include "live/aperture/aperture.h"
#include "live/rivals/tool_process.h"
#include "report/text_table.h"
#include "sim/scenario/hardware_nic.h"
#include "wharf/data_folders.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

struct Finding {
  std::string what;
  bool works;
  bool needed;  ///< Without it the command fails with exit code 4.
  std::string detail;
};

/// Sends one datagram to itself over loopback.
Finding try_udp_loopback() {
  Finding finding{"UDP over loopback", false, true, "live commands can run"};
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (socket < 0) {
    finding.detail = fmt::format("no socket: {}", std::strerror(errno));
    return finding;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const timeval patience{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 'w';
  finding.works = ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                  ::sendto(socket, &byte, 1, 0, reinterpret_cast<sockaddr*>(&address), size) == 1 &&
                  ::recv(socket, &byte, 1, 0) == 1;
  if (!finding.works) finding.detail = fmt::format("live commands cannot run: {}", std::strerror(errno));
  ::close(socket);
  return finding;
}

Finding try_write(const fs::path& directory) {
  const fs::path probe = directory / fmt::format(".wharf-doctor-{}", ::getpid());
  Finding finding{fmt::format("writing to {}", directory.string()), false, true, "results can be stored"};
  {
    std::ofstream out(probe);
    out << "x";
    out.close();
    finding.works = static_cast<bool>(out);
  }
  std::error_code status;
  fs::remove(probe, status);
  if (!finding.works) finding.detail = "results need --out DIR in a writable place";
  return finding;
}

Finding find_program(const std::string& program, std::string with, std::string without) {
  Finding finding{program, false, false, std::move(without)};
  const std::string file = live::path_of(program);
  finding.works = !file.empty();
  if (finding.works) finding.detail = fmt::format("{} ({})", with, file);
  return finding;
}

/// It is found when wharf is built.
Finding find_ucx() {
#ifdef WHARF_HAS_UCX
  return {"UCX", true, false, "wharf rdmo runs over it"};
#else
  return {"UCX", false, false, "no wharf rdmo: apt install libucx-dev, and build wharf again"};
#endif
}

/// Loads it, as a run does.
Finding try_hardware() {
  const sim::HardwareSupport here = sim::hardware_support();
  return {"hardware NIC", here.works, false, here.sentence};
}

/// Asks for it, as an aperture does.
Finding try_faults() {
  const live::ApertureSupport here = live::aperture_support();
  return {"userfaultfd", here.mode != live::ApertureMode::kExplicit, false, here.sentence};
}

class DoctorCommand : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "Try what works on this machine."; }
  std::string_view examples() const override {
    return "  wharf doctor\n"
           "  wharf doctor --json\n";
  }
  void declare(Options&) override {}

  Result<ExitCode> run(const Console& console) override {
    std::vector<Finding> findings;
    const auto profiles = data_directory("profiles");
    findings.push_back(
        {"profiles", profiles.ok(), true, profiles ? profiles->string() : profiles.error().message});
    findings.push_back(try_write(fs::current_path()));
    findings.push_back(try_udp_loopback());
    const unsigned cores = std::thread::hardware_concurrency();
    findings.push_back({fmt::format("{} cores", cores), cores >= 2, false,
                        cores >= 2 ? "two live peers can spin at once"
                                   : "two live peers share one core: latencies will be long"});
    findings.push_back(try_faults());
    findings.push_back(find_ucx());
    findings.push_back(try_hardware());
    findings.push_back(
        find_program("tshark", "reads our captures", "captures cannot be cross-checked: apt install tshark"));
    findings.push_back(find_program("gnuplot", "draws the plots of reports",
                                    "reports have no plots: apt install gnuplot-nox"));
    findings.push_back(
        find_program("valgrind", "records memory traces", "no new memory traces: apt install valgrind"));

    report::TextTable table({{"what"}, {"works", report::Align::kLeft, true}, {"detail"}});
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    bool good = true;
    for (const Finding& finding : findings) {
      table.add_row({finding.what, finding.works ? "yes" : "no", finding.detail});
      list.push_back({{"what", finding.what},
                      {"works", finding.works},
                      {"needed", finding.needed},
                      {"detail", finding.detail}});
      good = good && (finding.works || !finding.needed);
    }
    console.print(std::string(version_text()) + "\n\n" + console.text_of(table));
    console.print(nlohmann::ordered_json{{"version", version()}, {"commit", commit()}, {"findings", list}});
    return good ? ExitCode::kDone : ExitCode::kEnvironment;
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace wharf::cli
