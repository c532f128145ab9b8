// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "cli/interrupt.h"

namespace wharf::cli {
namespace {

// The pipe is full, so that the write has not begun when the interrupt comes: the system then writes nothing.
TEST(Console, AnInterruptCutsNoWriteShort) {
  install_interrupt_handler();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::FILE* const out = ::fdopen(ends[1], "w");
  Console console;
  console.out = out;
  const std::string text(1 << 20, 'x');
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  std::size_t filled = 0;
  while (::write(ends[1], "y", 1) == 1) ++filled;
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
  const pthread_t writer = ::pthread_self();
  std::size_t read = 0;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::pthread_kill(writer, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::array<char, 65536> some{};
    for (;;) {
      const ssize_t count = ::read(ends[0], some.data(), some.size());
      if (count <= 0) return;
      read += static_cast<std::size_t>(count);
    }
  });
  console.write(text);
  std::fclose(out);
  reader.join();
  ::close(ends[0]);
  EXPECT_TRUE(interrupt_requested());
  EXPECT_EQ(console.write_error, 0);
  EXPECT_EQ(read, filled + text.size());
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace wharf::cli
