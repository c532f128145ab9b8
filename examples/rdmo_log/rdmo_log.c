// SPDX-License-Identifier: Apache-2.0
// A shared log. `rdmo_log own` owns it and prints what appears; `rdmo_log add TEXT...` appends a record for
// each TEXT. Between them stands a worker: `wharf rdmo worker`, or `rdmo_log work`.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wharf/rdmo.h>

static volatile sig_atomic_t stopped;
static wharf_rdmo_worker* worker;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
  if (worker != NULL) wharf_rdmo_worker_stop(worker);
}

static int fail(const char* what) {
  fprintf(stderr, "rdmo_log: %s: %s\n", what, wharf_rdmo_error());
  return EXIT_FAILURE;
}

static int work(void) {
  wharf_rdmo_worker_config config = WHARF_RDMO_WORKER_CONFIG;
  config.listen = getenv("RDMO_WORKER");
  config.once = 1;
  if (wharf_rdmo_worker_open(&config, &worker) != WHARF_RDMO_OK) return fail("worker");
  printf("worker at port %u\n", (unsigned)wharf_rdmo_worker_port(worker));
  fflush(stdout);
  const int result = wharf_rdmo_worker_run(worker) == WHARF_RDMO_OK ? EXIT_SUCCESS : fail("worker");
  wharf_rdmo_worker* const closing = worker;
  worker = NULL;  // A signal that comes now finds none.
  wharf_rdmo_worker_close(closing);
  return result;
}

/* Prints what has come to the log since `shown`; returns the new end. */
static uint64_t show(const wharf_rdmo_target* target, const char* memory, uint64_t shown) {
  const uint64_t tail = wharf_rdmo_target_tail(target);
  if (tail > shown) {
    fwrite(memory + shown, 1, (size_t)(tail - shown), stdout);
    fflush(stdout);
  }
  return tail > shown ? tail : shown;
}

static int own(void) {
  wharf_rdmo_target_config config = WHARF_RDMO_TARGET_CONFIG;
  config.worker = getenv("RDMO_WORKER");
  config.listen = getenv("RDMO_TARGET");
  wharf_rdmo_target* target = NULL;
  if (wharf_rdmo_target_open(&config, &target) != WHARF_RDMO_OK) return fail("target");
  printf("target at port %u\n", (unsigned)wharf_rdmo_target_port(target));
  fflush(stdout);
  const char* memory = wharf_rdmo_target_memory(target, NULL);
  uint64_t shown = WHARF_RDMO_FIRST;
  int result = EXIT_SUCCESS;
  while (!stopped) {
    const int done = wharf_rdmo_target_progress(target);
    if (done == WHARF_RDMO_LOST) {
      result = fail("target");
      break;
    }
    if (done != WHARF_RDMO_OK) fail("an initiator");
    shown = show(target, memory, shown);
    const struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
  }
  show(target, memory, shown);  /* What came before the signal. */
  wharf_rdmo_target_close(target);
  return result;
}

// guide: begin
static int add(int count, char** texts) {
  wharf_rdmo_initiator_config config = WHARF_RDMO_INITIATOR_CONFIG;
  config.target = getenv("RDMO_TARGET");
  wharf_rdmo_initiator* initiator = NULL;
  if (wharf_rdmo_initiator_open(&config, &initiator) != WHARF_RDMO_OK) return fail("initiator");
  int result = EXIT_SUCCESS;
  int under_way = 0;
  wharf_rdmo_outcome outcome;
  for (int i = 0; i < count || under_way > 0;) {
    if (i < count) {
      // The text is argv's, which outlives the append.
      const int taken = wharf_rdmo_append(initiator, texts[i], strlen(texts[i]), 0, 0, (uint64_t)i);
      if (taken == WHARF_RDMO_OK) {
        ++i;
        ++under_way;
        continue;
      }
      if (taken != WHARF_RDMO_FULL) {
        result = fail("append");
        break;
      }
    }
    if (wharf_rdmo_wait(initiator, &outcome) == 0) break;
    --under_way;
    printf("record %llu: %s, at %llu\n", (unsigned long long)outcome.cookie,
           wharf_rdmo_status_name(outcome.status), (unsigned long long)outcome.place);
    if (outcome.status != WHARF_RDMO_DONE) result = EXIT_FAILURE;
  }
  // The log shows them when this is done.
  if (wharf_rdmo_flush(initiator, 0) != WHARF_RDMO_OK) {
    result = fail("flush");
  } else if (wharf_rdmo_wait(initiator, &outcome) == 0 || outcome.status != WHARF_RDMO_DONE) {
    fprintf(stderr, "rdmo_log: flush: %s\n", wharf_rdmo_status_name(outcome.status));
    result = EXIT_FAILURE;
  }
  wharf_rdmo_initiator_close(initiator);
  return result;
}
// guide: end

int main(int count, char** words) {
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  if (count == 2 && strcmp(words[1], "work") == 0) return work();
  if (count == 2 && strcmp(words[1], "own") == 0) return own();
  if (count > 2 && strcmp(words[1], "add") == 0) return add(count - 2, words + 2);
  fprintf(stderr, "usage: rdmo_log work | own | add TEXT...\n");
  return 2;
}
