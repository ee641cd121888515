/* The window: pages that cannot be written for a while, as they are moved to another place.
 *
 * Who writes to them waits in a handler of SIGSEGV and tries again.  A thread may come to the
 * handler after the window was closed, when the system has stopped it between the fault and the
 * signal: so the handler stays, and what the program wants to do with SIGSEGV is kept here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shim.h"

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

typedef int SigAction(int, const struct sigaction *, struct sigaction *);
static _Atomic uint64_t start, end, windows; /* the one that is open, if `end`; how many there were */
static struct sigaction theirs;              /* what the program wants, once ours is there */
static atomic_int is_ours;
static atomic_flag is_held = ATOMIC_FLAG_INIT; /* `theirs` */
static __thread struct { uint64_t at, windows; } late __attribute__((tls_model("initial-exec")));

static int real_action(int number, const struct sigaction *wanted, struct sigaction *old) {
  REAL(sigaction);
  return real(number, wanted, old);
}

static int real_mask(int how, const sigset_t *set, sigset_t *old) {
  REAL(pthread_sigmask);
  return real(how, set, old);
}

/* What is wanted of SIGSEGV, read and written; no signal of this thread comes between. */
static void exchange(const struct sigaction *wanted, struct sigaction *old) {
  sigset_t all, before;
  struct sigaction now;
  sigfillset(&all);
  real_mask(SIG_BLOCK, &all, &before);
  while (atomic_flag_test_and_set(&is_held)) sched_yield();
  now = theirs;
  if (wanted) theirs = *wanted;
  atomic_flag_clear(&is_held);
  real_mask(SIG_SETMASK, &before, 0);
  if (old) *old = now;
}

static void end_by(int number, const siginfo_t *info) {
  struct sigaction none = {.sa_handler = SIG_DFL};
  real_action(number, &none, 0);
  atomic_store(&is_ours, 0);
  if (info->si_code <= 0) raise(number); /* a fault happens again */
}

/* As the system would call the program's own handler. */
static void pass_on(int number, siginfo_t *info, void *context) {
  const struct sigaction none = {.sa_handler = SIG_DFL};
  struct sigaction a;
  sigset_t before;
  exchange(0, &a);
  if (!(a.sa_flags & SA_SIGINFO) && a.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (!(a.sa_flags & SA_SIGINFO) && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN)) {
    end_by(number, info);
    return;
  }
  if (a.sa_flags & (int)SA_RESETHAND) exchange(&none, 0);
  if (!(a.sa_flags & SA_NODEFER)) sigaddset(&a.sa_mask, number);
  real_mask(SIG_BLOCK, &a.sa_mask, &before);
  if (a.sa_flags & SA_SIGINFO) a.sa_sigaction(number, info, context);
  else a.sa_handler(number);
  real_mask(SIG_SETMASK, &before, 0);
}

static void handle(int number, siginfo_t *info, void *context) {
  int error = errno;
  uint64_t at = (uint64_t)(uintptr_t)info->si_addr, count = atomic_load(&windows);
  if (info->si_code > 0) {
    if (at >= atomic_load(&start) && at < atomic_load(&end)) {
      while (at >= atomic_load(&start) && at < atomic_load(&end)) sched_yield();
      errno = error;
      return;
    }
    if (late.at != at || late.windows != count) { /* it may be open no longer: try again, once */
      late.at = at, late.windows = count;
      errno = error;
      return;
    }
    late.at = 0;
  }
  pass_on(number, info, context);
  errno = error;
}

void open_window(uint64_t at, uint64_t size) {
  struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK}, found;
  atomic_fetch_add(&windows, 1);
  atomic_store(&start, at);
  atomic_store(&end, at + size);
  if (!real_action(SIGSEGV, &ours, &found) && found.sa_sigaction != handle) exchange(&found, 0);
  atomic_store(&is_ours, 1);
}

void close_window(void) {
  atomic_store(&end, 0);
  atomic_store(&start, 0);
}

/* ---- what programs call */

EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *old) {
  if (number != SIGSEGV || !atomic_load(&is_ours)) return real_action(number, wanted, old);
  exchange(wanted, old);
  return 0;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
  REAL(signal);
  if (number != SIGSEGV || !atomic_load(&is_ours)) return real(number, handler);
  struct sigaction wanted = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  exchange(&wanted, &old);
  return old.sa_handler;
}

/* A thread that blocks SIGSEGV would be ended by its first write to such pages. */
static int mask_without(int (*set_mask)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *old) {
  sigset_t fewer;
  if (!set || how == SIG_UNBLOCK) return set_mask(how, set, old);
  fewer = *set;
  sigdelset(&fewer, SIGSEGV);
  return set_mask(how, &fewer, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return mask_without(real_mask, how, set, old); }

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  REAL(sigprocmask);
  return mask_without(real, how, set, old);
}
