// SPDX-License-Identifier: Apache-2.0
// Two programs that share memory, one of which is killed wherever it is: the other's requests end, its other
// peers notice nothing, and nothing is left of the dead one.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "live/shm/shm_mesh.h"
#include "live/urma/identity.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

/// What the two programs tell each other.
struct Told {
  urma_rjetty_t jetty;
  urma_seg_t segment;
};

Told told_of(End& end) {
  urma_rjetty_t* jetty = nullptr;
  std::uint32_t length = 0;
  if (urma_get_rjetty(end.jetty, &jetty, &length) != URMA_SUCCESS) ::_exit(1);
  const Told told{*jetty, end.segment->seg};
  urma_put_rjetty(jetty);
  return told;
}

bool reach(End& end, Told told) {
  urma_token_t none{0};
  urma_token_t token{0xabcdef};
  end.target = urma_import_jetty(end.context, &told.jetty, &none);
  end.remote = urma_import_seg(end.context, &told.segment, &token, 0, {});
  return end.target != nullptr && end.remote != nullptr;
}

std::uint64_t kills() {
  const char* const given = std::getenv("WHARF_SHM_KILLS");
  return given == nullptr ? 50 : std::strtoull(given, nullptr, 10);
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Lines of a file of /proc that end with `word`, or with it in front of a mark.
std::size_t count_in(const char* file, const std::string& word) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);)
    count += line.ends_with(word) || line.ends_with(word + " (deleted)") ? 1 : 0;
  return count;
}

/// The program that is killed: it writes to the other, reads and adds there, and sends, without an end.
[[noreturn]] void work(const Told& other, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that fails leaves nobody behind.
  if (urma_init(nullptr) != URMA_SUCCESS) ::_exit(2);
  auto* const right = new End({.device = "right", .bytes = 1U << 16U});
  const Told told = told_of(*right);
  if (!reach(*right, other) || ::write(pipe, &told, sizeof told) != sizeof told) ::_exit(3);
  for (std::uint64_t turn = 0;; ++turn) {
    const urma_opcode_t verb = turn % 3 == 0 ? URMA_OPC_WRITE : turn % 3 == 1 ? URMA_OPC_READ : URMA_OPC_SEND;
    const urma_sge_t there = verb == URMA_OPC_SEND ? urma_sge_t{} : right->far(0, 9'000);
    right->post(verb, right->local(0, verb == URMA_OPC_SEND ? 64 : 9'000), there);
    urma_cr_t record{};
    urma_poll_jfc(right->send_jfc, 1, &record);
  }
}

class ShmKill : public UrmaTest {
 protected:
  ShmKill() : UrmaTest(kShmDevices) {}
};

TEST_F(ShmKill, EachWayReachesItsOwnKindAlone) {
  End left;
  urma_token_t token{0xabcdef};
  urma_seg_t segment = left.segment->seg;
  segment.ubva.eid = mapped_eid(0x7f000001);
  EXPECT_EQ(urma_import_seg(left.context, &segment, &token, 0, {}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  urma_rjetty_t jetty = told_of(left).jetty;
  jetty.jetty_id.eid = mapped_eid(0x7f000001);
  EXPECT_EQ(urma_import_jetty(left.context, &jetty, &token), nullptr);
  EXPECT_EQ(errno, EINVAL);
  segment.ubva.eid = left.context->eid;
  segment.ubva.eid.raw[1] ^= 1U;  // Of another host.
  EXPECT_EQ(urma_import_seg(left.context, &segment, &token, 0, {}), nullptr);
  urma_net_addr_t address{};
  EXPECT_EQ(urma_get_ip_by_eid(left.context, &left.context->eid, &address), URMA_SUCCESS);
  urma_eid_t eid{};
  EXPECT_EQ(urma_get_eid_by_ip(left.context, &address, &eid), URMA_SUCCESS);
  EXPECT_EQ(std::memcmp(&eid, &left.context->eid, sizeof eid), 0);
  EXPECT_EQ(urma_get_device_by_eid(eid, URMA_TRANSPORT_UB), left.context->dev);
}

TEST_F(ShmKill, OneOfTwoProgramsWhereverItIs) {
  End beside;
  End other({.device = "right"});
  beside.reach(other);
  RandomStream random(3, "kills");
  const auto write_beside = [&] {
    ASSERT_EQ(beside.post(URMA_OPC_WRITE, beside.local(0, 64), beside.far(0, 64)), URMA_SUCCESS);
    ASSERT_EQ(next_record(beside.send_jfc).status, URMA_CR_SUCCESS);
  };
  write_beside();
  const std::size_t descriptors_before = descriptors();
  const std::size_t maps_before = count_in("/proc/self/maps", "wharf_link");
  const std::string name = "@wharf/" + std::to_string(::geteuid()) + "/";
  std::uint64_t failed = 0;
  std::uint64_t slow = 0;
  for (std::uint64_t kill = 0; kill < kills(); ++kill) {
    End left({.bytes = 1U << 16U});
    for (std::uint64_t each = 0; each < 64; ++each) ASSERT_EQ(left.receive(0, 64, each), URMA_SUCCESS);
    const Told own = told_of(left);
    int pipe[2] = {-1, -1};
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) work(own, pipe[1]);
    ::close(pipe[1]);
    const auto shoot = [&] {
      ASSERT_EQ(::kill(child, SIGKILL), 0);
      ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    };
    const bool early = random.below(5) == 0;
    if (early) ::usleep(static_cast<useconds_t>(random.below(10'000)));
    Told told{};
    std::uint64_t open = 0;
    if (early) shoot();
    const bool heard = ::read(pipe[0], &told, sizeof told) == sizeof told;
    ::close(pipe[0]);
    if (!early) {
      ASSERT_TRUE(heard);
      ASSERT_TRUE(reach(left, told));
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random.below(6'000));
      do {
        const urma_opcode_t verb = random.below(2) == 0 ? URMA_OPC_WRITE : URMA_OPC_READ;
        if (open < 16) {
          ASSERT_EQ(left.post(verb, left.local(0, 9'000), left.far(0, 9'000)), URMA_SUCCESS);
          ++open;
        }
        urma_cr_t record{};
        if (urma_poll_jfc(left.send_jfc, 1, &record) == 1) {
          ASSERT_EQ(record.status, URMA_CR_SUCCESS);
          --open;
        }
      } while (std::chrono::steady_clock::now() < end);
      shoot();
    }
    const auto shot = std::chrono::steady_clock::now();
    for (bool first = true; open != 0; --open) {
      const urma_cr_t record = next_record(left.send_jfc);
      if (record.status == URMA_CR_SUCCESS && first) continue;
      // The first was with the transport; others may have been behind it.
      EXPECT_TRUE(record.status == URMA_CR_ACK_TIMEOUT_ERR ||
                  (!first && record.status == URMA_CR_WR_FLUSH_ERR))
          << record.status << " after kill " << kill;
      if (first) {
        ++failed;
        slow += std::chrono::steady_clock::now() - shot > std::chrono::milliseconds(500) ? 1 : 0;
      }
      first = false;
    }
    write_beside();
    ASSERT_FALSE(HasFatalFailure());
    if (!heard) continue;
    for (const std::uint32_t place : {1U, 2U}) {
      const UdpEndpoint dead{place, port_of(told.jetty.jetty_id.uasid)};
      EXPECT_EQ(count_in("/proc/net/unix", name + ShmMesh::name_of(dead)), 0U);
    }
  }
  EXPECT_NE(failed, 0U) << "no request was under way at any of the kills";
  EXPECT_LE(slow, failed / 2)
      << "a death is known at once, not when the retries of about a second are exhausted";
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (descriptors() > descriptors_before && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_EQ(descriptors(), descriptors_before);
  EXPECT_EQ(count_in("/proc/self/maps", "wharf_link"), maps_before);
}

}  // namespace
}  // namespace wharf::live::urma
