/* What every library says to people, and to its engine process. */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void say(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* Send or receive so many bytes; -1 if the other side is gone. */
static inline int transfer(int peer, void *data, size_t size, int is_out) {
  for (size_t done = 0; done < size;) {
    char *at = (char *)data + done;
    ssize_t n = is_out ? send(peer, at, size - done, MSG_NOSIGNAL) : recv(peer, at, size - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    done += n;
  }
  return 0;
}
