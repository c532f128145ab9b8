// SPDX-License-Identifier: Apache-2.0
// Two processes: one that is killed, one that starts after it was imported, and what fork() leaves to a
// child.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "live/urma/identity.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

/// What a child tells its parent.
struct Told {
  urma_rjetty_t jetty;
  urma_seg_t segment;
};

class PeerLife : public UrmaTestEachWay {
 protected:
  /// Runs `act` in a child, which never returns to the test.
  template <typename Act>
  pid_t start(Act&& act) {
    EXPECT_EQ(::pipe(pipe_), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      act();
      ::_exit(0);
    }
    ::close(pipe_[1]);
    return child;
  }
  void tell(End& end) {
    urma_rjetty_t* jetty = nullptr;
    std::uint32_t length = 0;
    if (urma_get_rjetty(end.jetty, &jetty, &length) != URMA_SUCCESS) ::_exit(1);
    const Told told{*jetty, end.segment->seg};
    if (::write(pipe_[1], &told, sizeof told) != sizeof told) ::_exit(1);
  }
  Told hear() {
    Told told{};
    EXPECT_EQ(::read(pipe_[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
    ::close(pipe_[0]);
    return told;
  }
  static void reach(End& end, Told told) {
    urma_token_t none{0};
    urma_token_t token{0xabcdef};
    end.target = urma_import_jetty(end.context, &told.jetty, &none);
    end.remote = urma_import_seg(end.context, &told.segment, &token, 0, {});
    ASSERT_NE(end.target, nullptr);
    ASSERT_NE(end.remote, nullptr);
  }

  int pipe_[2] = {-1, -1};
};

INSTANTIATE_TEST_SUITE_P(EachWay, PeerLife, each_way(), way_name);

TEST_P(PeerLife, AKilledPeerEndsRequestsAndNothingElse) {
  End left;
  End beside;
  End other({.device = "right"});
  beside.reach(other);
  const pid_t child = start([&] {
    // The parent's objects are no objects here.
    int count = 0;
    if (urma_get_device_list(&count) != nullptr || urma_delete_context(left.context) != URMA_EINVAL)
      ::_exit(1);
    if (urma_init(nullptr) != URMA_SUCCESS) ::_exit(2);
    auto* const right = new End({.device = "right"});
    tell(*right);
    for (;;) ::pause();
  });
  const Told told = hear();
  EXPECT_NE(told.jetty.jetty_id.uasid, left.context->uasid);
  reach(left, told);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 64), left.far(0, 64)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (std::uint64_t at = 0; at < 4; ++at) {
    ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 64), left.far(0, 64), at), URMA_SUCCESS);
  }
  for (std::uint64_t at = 0; at < 4; ++at) {
    const urma_cr_t record = next_record(left.send_jfc);
    EXPECT_EQ(record.user_ctx, at);
    EXPECT_TRUE(record.status == URMA_CR_ACK_TIMEOUT_ERR || record.status == URMA_CR_WR_FLUSH_ERR)
        << record.status;
  }
  ASSERT_EQ(beside.post(URMA_OPC_WRITE, beside.local(0, 64), beside.far(0, 64)), URMA_SUCCESS);
  EXPECT_EQ(next_record(beside.send_jfc).status, URMA_CR_SUCCESS);
}

TEST_P(PeerLife, AnImportMayComeBeforeItsProcess) {
  // A UASID that a program chooses says the port; this one is most likely free.
  const std::uint32_t uasid = 0x310000U | (20000U + static_cast<std::uint32_t>(::getpid()) % 10000U);
  End left;
  const pid_t child = start([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    urma_init_attr_t attributes{0, uasid};
    if (urma_init(&attributes) != URMA_SUCCESS) ::_exit(2);
    auto* const right = new End({.device = "right"});
    if (right->receive(0, 64, 11) != URMA_SUCCESS) ::_exit(3);
    tell(*right);
    ::_exit(next_record(right->receive_jfc).user_ctx == 11 ? 0 : 4);
  });
  urma_rjetty_t later{};
  later.jetty_id.eid = eid_of(shares_memory() ? 2 : 0x7f000002);
  later.jetty_id.uasid = uasid;
  // The child's first queues: that of its context, of its JFR, of its jetty.
  later.jetty_id.id = left.jetty->jetty_id.id;
  later.trans_mode = URMA_TM_RM;
  later.type = URMA_JETTY;
  urma_token_t none{0};
  left.target = urma_import_jetty(left.context, &later, &none);
  ASSERT_NE(left.target, nullptr);
  const Told told = hear();
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  EXPECT_EQ(told.jetty.jetty_id.id, later.jetty_id.id);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace wharf::live::urma
