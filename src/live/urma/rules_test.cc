// SPDX-License-Identifier: Apache-2.0
// Rules of the C interface that a program relies on when things change under it: which process a UASID means,
// what a queue that stands still does with what waits, rebinding, and who may end a segment.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>

#include <csignal>
#include <fstream>
#include <memory>

#include "live/urma/identity.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class Rules : public UrmaTestEachWay {
 protected:
  static urma_target_jetty_t* import(End& end, End& other, std::uint32_t other_bits = 0) {
    urma_rjetty_t* rjetty = nullptr;
    std::uint32_t length = 0;
    EXPECT_EQ(urma_get_rjetty(other.jetty, &rjetty, &length), URMA_SUCCESS);
    rjetty->jetty_id.uasid ^= other_bits;
    urma_token_t none{0};
    urma_target_jetty_t* const made = urma_import_jetty(end.context, rjetty, &none);
    urma_put_rjetty(rjetty);
    return made;
  }
  static urma_status_t write_to(End& end, urma_target_jetty_t* target, std::uint64_t user_ctx) {
    urma_target_jetty_t* const own = end.target;
    end.target = target;
    const urma_status_t status = end.post(URMA_OPC_WRITE, end.local(0, 8), end.far(0, 8), user_ctx);
    end.target = own;
    return status;
  }
  static void modify(End& end, urma_jetty_state_t state) {
    urma_jetty_attr_t attr{JETTY_STATE, 0, state};
    EXPECT_EQ(urma_modify_jetty(end.jetty, &attr), URMA_SUCCESS);
  }
  /// No record for longer than anything waits for a process.
  static void expect_silence(urma_jfc_t* jfc) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(1800);
    urma_cr_t record{};
    while (std::chrono::steady_clock::now() < limit) {
      ASSERT_EQ(urma_poll_jfc(jfc, 1, &record), 0) << record.user_ctx << " status " << record.status;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(EachWay, Rules, each_way(), way_name);

// The port is the same, the process is another.
TEST_P(Rules, AProcessThatTookAPortOverIsNotTheOneThatHadIt) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_target_jetty_t* const gone = import(left, right, 0x010000);
  ASSERT_NE(gone, nullptr);
  left.memory[0] = std::byte{7};
  ASSERT_EQ(write_to(left, left.target, 1), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  left.memory[0] = std::byte{9};
  ASSERT_EQ(write_to(left, gone, 2), URMA_SUCCESS);
  const urma_cr_t record = next_record(left.send_jfc);
  EXPECT_EQ(record.user_ctx, 2u);
  EXPECT_EQ(record.status, URMA_CR_ACK_TIMEOUT_ERR);
  EXPECT_EQ(right.memory[0], std::byte{7});
  EXPECT_EQ(urma_unimport_jetty(gone), URMA_SUCCESS);
}

// [URMA API, bind] A target that was left while a request was under way is left when that has ended.
TEST_P(Rules, AJettyIsBoundAnewWhileARequestIsOutstanding) {
  End first({.device = "right", .mode = URMA_TM_RC});
  End second({.device = "right", .mode = URMA_TM_RC});
  End left({.mode = URMA_TM_RC});
  left.reach(first);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 1), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 2), URMA_SUCCESS);
  ASSERT_EQ(urma_unbind_jetty(left.jetty), URMA_SUCCESS);
  urma_target_jetty_t* const was = left.target;
  urma_target_seg_t* const segment = left.remote;
  left.target = nullptr;
  left.remote = nullptr;
  left.reach(second);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 3), URMA_SUCCESS);
  ASSERT_EQ(first.receive(0, 64, 11), URMA_SUCCESS);
  for (std::uint64_t id = 2; id <= 3; ++id) {
    const urma_cr_t record = next_record(left.send_jfc);
    EXPECT_EQ(record.user_ctx, id);
    EXPECT_EQ(record.status, URMA_CR_SUCCESS);
  }
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 4), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(urma_unimport_jetty(was), URMA_SUCCESS);
  EXPECT_EQ(urma_unimport_seg(segment), URMA_SUCCESS);
}

TEST_P(Rules, AJettyIsNotBoundToAGroup) {
  End right({.device = "right", .mode = URMA_TM_RC});
  End left({.mode = URMA_TM_RC});
  urma_rjetty_t rjetty{};
  rjetty.jetty_id = right.jetty->jetty_id;
  rjetty.jetty_id.id = 1;
  rjetty.trans_mode = URMA_TM_RC;
  rjetty.type = URMA_JETTY_GROUP;
  urma_token_t none{0};
  left.target = urma_import_jetty(left.context, &rjetty, &none);
  ASSERT_NE(left.target, nullptr);
  EXPECT_EQ(urma_bind_jetty(left.jetty, left.target), URMA_EINVAL);
}

// [URMA API, drain order] What waits for its process is suspended like the rest, and given back.
TEST_P(Rules, WhatWaitsForAProcessStandsStillWithItsQueue) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  ASSERT_EQ(write_to(left, late, 5), URMA_SUCCESS);
  modify(left, URMA_JETTY_STATE_SUSPENDED);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_WR_SUSPEND_DONE);
  expect_silence(left.send_jfc);
  urma_cr_t record{};
  ASSERT_EQ(urma_flush_jetty(left.jetty, 1, &record), 1);
  EXPECT_EQ(record.user_ctx, 5u);
  EXPECT_EQ(record.status, URMA_CR_WR_UNHANDLED);
  modify(left, URMA_JETTY_STATE_READY);
  ASSERT_EQ(write_to(left, left.target, 6), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
}

// The queue fails by itself: what waited is flushed before the mark, and nothing of it comes after a reset.
TEST_P(Rules, WhatWaitsForAProcessIsFlushedBeforeTheMark) {
  End left({.rnr_retry = 1});
  End right({.device = "right"});
  left.reach(right);
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 1), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 2), URMA_SUCCESS);
  ASSERT_EQ(write_to(left, late, 3), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_RNR_RETRY_CNT_EXC_ERR);
  const urma_cr_t flushed = next_record(left.send_jfc);
  EXPECT_EQ(flushed.user_ctx, 3u);
  EXPECT_EQ(flushed.status, URMA_CR_WR_FLUSH_ERR);
  if (flushed.flag.bs.flush_err_done == 0) {
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_WR_FLUSH_ERR_DONE);
  }
  modify(left, URMA_JETTY_STATE_RESET);
  modify(left, URMA_JETTY_STATE_READY);
  expect_silence(left.send_jfc);
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
}

// The older request is at the engine, the younger waits here.
TEST_P(Rules, AFailedQueueFlushesInPostingOrder) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 1), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 2), URMA_SUCCESS);
  ASSERT_EQ(write_to(left, late, 3), URMA_SUCCESS);
  modify(left, URMA_JETTY_STATE_ERROR);
  const urma_cr_t older = next_record(left.send_jfc);
  EXPECT_EQ(older.user_ctx, 2u);
  EXPECT_EQ(older.flag.bs.flush_err_done, 0u);
  const urma_cr_t younger = next_record(left.send_jfc);
  EXPECT_EQ(younger.user_ctx, 3u);
  EXPECT_EQ(younger.status, URMA_CR_WR_FLUSH_ERR);
  EXPECT_EQ(younger.flag.bs.flush_err_done, 1u);
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
}

// [URMA API, LOCAL_ONLY] No peer has any right to it, that of ending it neither.
TEST_P(Rules, ASegmentWithoutRemoteRightsIsNotRevokedByAPeer) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  right.reach(left);
  std::vector<std::byte> own(4096);
  urma_seg_cfg_t cfg{};
  cfg.va = reinterpret_cast<std::uint64_t>(own.data());
  cfg.len = own.size();
  cfg.flag.bs.token_policy = URMA_TOKEN_NONE;
  cfg.flag.bs.access = URMA_ACCESS_LOCAL_ONLY;
  urma_target_seg_t* const local = urma_register_seg(right.context, &cfg);
  ASSERT_NE(local, nullptr);
  urma_seg_t told = local->seg;
  urma_token_t none{0};
  urma_target_seg_t* const far = urma_import_seg(left.context, &told, &none, 0, {});
  ASSERT_NE(far, nullptr);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  urma_sge_t here = left.local(0, 8);
  urma_jfs_wr_t wr{};
  wr.opcode = URMA_OPC_SEND_INVALIDATE;
  wr.flag.bs.complete_enable = 1;
  wr.tjetty = left.target;
  wr.send.src = {&here, 1};
  wr.send.tseg = far;
  urma_jfs_wr_t* bad = nullptr;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_ACCESS_ABORT_ERR);
  const urma_sge_t piece{cfg.va, 64, local, nullptr};
  ASSERT_EQ(right.post(URMA_OPC_WRITE, piece, right.far(0, 64)), URMA_SUCCESS);
  EXPECT_EQ(next_record(right.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(urma_unimport_seg(far), URMA_SUCCESS);
  EXPECT_EQ(urma_unregister_seg(local), URMA_SUCCESS);
}

// More than an engine's own completion queue holds, in one event: the process of the target dies. Over UDP
// the same comes after a while.
TEST_P(Rules, EveryRequestEndsWithARecordHoweverManyEndAtOnce) {
  if (!shares_memory()) GTEST_SKIP() << "the engine test UbKeptRecords has it at once";
  constexpr std::uint32_t kDepth = 32768;
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (urma_init(nullptr) != URMA_SUCCESS) ::_exit(1);
    auto* const right = new End({.device = "right"});
    urma_rjetty_t* jetty = nullptr;
    std::uint32_t length = 0;
    if (urma_get_rjetty(right->jetty, &jetty, &length) != URMA_SUCCESS) ::_exit(2);
    if (::write(pipe[1], jetty, sizeof *jetty) != sizeof *jetty) ::_exit(3);
    for (;;) ::pause();
  }
  urma_rjetty_t told{};
  ASSERT_EQ(::read(pipe[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
  ::close(pipe[0]);
  ::close(pipe[1]);
  std::vector<std::unique_ptr<End>> ends;
  for (int at = 0; at < 3; ++at) {
    ends.push_back(std::make_unique<End>(EndConfig{.send_depth = kDepth, .jfc_depth = 65536}));
    urma_token_t none{0};
    ends.back()->target = urma_import_jetty(ends.back()->context, &told, &none);
    ASSERT_NE(ends.back()->target, nullptr);
  }
  for (const auto& end : ends) {
    for (std::uint32_t at = 0; at < kDepth; ++at)
      ASSERT_EQ(end->post(URMA_OPC_SEND, end->local(0, 8), {}, at), URMA_SUCCESS);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (const auto& end : ends) {
    for (std::uint32_t at = 0; at < kDepth; ++at) {
      const urma_cr_t record = next_record(end->send_jfc);
      ASSERT_EQ(record.user_ctx, at);
      ASSERT_NE(record.status, URMA_CR_SUCCESS);
      ASSERT_FALSE(HasFailure());
    }
  }
}

// A program that waits for its signals with sigwait() blocks them in its own threads.
TEST_P(Rules, ThreadsOfTheLibraryTakeNoSignals) {
  End left;
  int others = 0;
  DIR* const tasks = ::opendir("/proc/self/task");
  ASSERT_NE(tasks, nullptr);
  while (const dirent* const each = ::readdir(tasks)) {
    const int task = std::atoi(each->d_name);
    if (task == 0 || task == ::getpid()) continue;
    ++others;
    std::ifstream status("/proc/self/task/" + std::string(each->d_name) + "/status");
    std::string line;
    while (std::getline(status, line) && line.rfind("SigBlk:", 0) != 0) {
    }
    const std::uint64_t blocked = std::strtoull(line.c_str() + 7, nullptr, 16);
    for (const int number : {SIGUSR1, SIGINT, SIGTERM, SIGCHLD, SIGALRM})
      EXPECT_NE(blocked >> (number - 1) & 1U, 0u) << "thread " << task << " takes signal " << number;
  }
  ::closedir(tasks);
  EXPECT_GT(others, 0);
  sigset_t own;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &own), 0);
  EXPECT_EQ(sigismember(&own, SIGUSR1), 0);
}

TEST_P(Rules, AStateThatDoesNotExistIsRefused) {
  End left;
  urma_jfr_attr_t attr{JFR_STATE, 0, URMA_JFR_STATE_ERROR};
  ASSERT_EQ(urma_modify_jfr(left.jfr, &attr), URMA_SUCCESS);
  attr.state = URMA_JFR_STATE_RESET;
  ASSERT_EQ(urma_modify_jfr(left.jfr, &attr), URMA_SUCCESS);
  const std::uint32_t none = 5;
  std::memcpy(&attr.state, &none, sizeof none);
  EXPECT_EQ(urma_modify_jfr(left.jfr, &attr), URMA_EINVAL);
  urma_jfr_cfg_t cfg{};
  ASSERT_EQ(urma_query_jfr(left.jfr, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(attr.state, URMA_JFR_STATE_RESET);
}

TEST_P(Rules, InlineDataAndOperandsHaveAnAddress) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_jfs_wr_flag_t flag{};
  flag.bs.inline_flag = 1;
  EXPECT_EQ(left.post(URMA_OPC_WRITE, {0, 8, nullptr, nullptr}, left.far(0, 8), 1, flag), URMA_EINVAL);
  urma_sge_t here = left.local(0, 16);
  urma_sge_t there = left.far(0, 16);
  urma_jfs_wr_t wr{};
  wr.opcode = URMA_OPC_CAS;
  wr.tjetty = left.target;
  wr.cas.dst = &there;
  wr.cas.src = &here;
  urma_jfs_wr_t* bad = nullptr;
  EXPECT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_EINVAL);
}

}  // namespace
}  // namespace wharf::live::urma
