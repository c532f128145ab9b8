// SPDX-License-Identifier: Apache-2.0
// What a start of the library says when it cannot be, and what the child of a fork has of the parent's.
// [docs/liburma.md, results]
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

urma_status_t start(const char* devices, std::uint32_t uasid) {
  ::setenv("WHARF_URMA_DEVICES", devices, 1);
  urma_init_attr_t attributes{};
  attributes.uasid = uasid;
  return urma_init(&attributes);
}

int descriptors() {
  DIR* const listed = ::opendir("/proc/self/fd");
  if (listed == nullptr) return -1;
  int count = 0;
  while (::readdir(listed) != nullptr) ++count;
  ::closedir(listed);
  return count;
}

// 192.0.2.1 is of no machine. [RFC 5737]
TEST(Start, SaysWhetherAPortIsTaken) {
  for (const std::uint32_t uasid : {0U, 0x420000U | 20321U}) {
    EXPECT_EQ(start("x=192.0.2.1", uasid), URMA_FAIL) << "another port would be no better";
    EXPECT_NE(start("x=0.0.0.0", uasid), URMA_SUCCESS) << "it has no EID";
  }
  for (const char* devices : {"x=127.0.0.1", "x=shm:77"}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::uint32_t uasid = 0;
      if (start(devices, 0) != URMA_SUCCESS || urma_get_uasid(&uasid) != URMA_SUCCESS) ::_exit(1);
      if (::write(pipe[1], &uasid, sizeof uasid) != sizeof uasid) ::_exit(2);
      for (;;) ::pause();
    }
    std::uint32_t taken = 0;
    ASSERT_EQ(::read(pipe[0], &taken, sizeof taken), static_cast<ssize_t>(sizeof taken));
    EXPECT_EQ(start(devices, taken), URMA_EEXIST) << devices;
    EXPECT_EQ(start(devices, 0), URMA_SUCCESS) << devices;
    EXPECT_EQ(urma_uninit(), URMA_SUCCESS);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
}

TEST(Fork, LeavesTheChildNoDescriptors) {
  const int before = descriptors();
  for (const char* devices : {kUdpDevices, kShmDevices}) {
    ASSERT_EQ(start(devices, 0), URMA_SUCCESS);
    {
      End left({.events = true});
      End right({.device = "right", .events = true});
      left.reach(right);
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
      EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
      urma_notifier_t* const notifier = urma_create_notifier(left.context);
      ASSERT_NE(notifier, nullptr);
      const pid_t child = ::fork();
      if (child == 0) ::_exit(descriptors() - before);
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << devices << ": " << WEXITSTATUS(status) << " too many";
      // The parent has all of them.
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
      EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
      EXPECT_EQ(urma_delete_notifier(notifier), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_uninit(), URMA_SUCCESS);
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace wharf::live::urma
