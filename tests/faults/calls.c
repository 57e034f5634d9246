/* Preloaded into a process: counts its calls that change files under one folder, and lets one of
 * them fail, or end the process as a kill would. Python's own and SQLite's calls both come here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT, KILL_BEFORE, KILL_AFTER, KILL_HALFWAY, FAIL, FULL };

static char root[PATH_MAX];
static long at, seen;
static int mode, armed, fired;

void arm(const char *folder, long number, int what) {
    strncpy(root, folder, sizeof root - 1);
    at = number;
    seen = 0;
    fired = 0;
    mode = what;
    armed = 1;
}

long calls_seen(void) { return seen; }
int has_fired(void) { return fired; }

static int inside(const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int inside_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int inside_at(int folder, const char *path) {
    return path[0] == '/' || folder == AT_FDCWD ? inside(path) : inside_fd(folder);
}

/* Whether this call is the one; it says what to do then. A disk that is full stays so. */
static int due(int counts, int grows) {
    if (!armed || !counts) return COUNT;
    seen++;
    if (mode == FULL) {
        if (seen < at || !grows) return COUNT;
        fired = 1;
        return FULL;
    }
    if (seen != at || mode == COUNT) return COUNT;
    fired = 1;
    return mode;
}

static void killed(void) { _exit(137); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define INJECTED(inside, grows, call, half)                  \
    int what = due(inside, grows);                           \
    if (what == KILL_HALFWAY) { half; killed(); }            \
    if (what == KILL_BEFORE) killed();                       \
    if (what == FAIL) { errno = EIO; return -1; }            \
    if (what == FULL) { errno = ENOSPC; return -1; }         \
    __auto_type result = call;                               \
    if (what == KILL_AFTER) killed();                        \
    return result;

ssize_t write(int fd, const void *from, size_t count) {
    INJECTED(armed && inside_fd(fd), 1, REAL(write)(fd, from, count), REAL(write)(fd, from, count / 2))
}
ssize_t pwrite(int fd, const void *from, size_t count, off_t place) {
    INJECTED(armed && inside_fd(fd), 1, REAL(pwrite)(fd, from, count, place),
             REAL(pwrite)(fd, from, count / 2, place))
}
ssize_t pwrite64(int fd, const void *from, size_t count, off64_t place) {
    INJECTED(armed && inside_fd(fd), 1, REAL(pwrite64)(fd, from, count, place),
             REAL(pwrite64)(fd, from, count / 2, place))
}
int fsync(int fd) { INJECTED(armed && inside_fd(fd), 0, REAL(fsync)(fd), ) }
int fdatasync(int fd) { INJECTED(armed && inside_fd(fd), 0, REAL(fdatasync)(fd), ) }
int ftruncate(int fd, off_t size) {
    INJECTED(armed && inside_fd(fd), 0, REAL(ftruncate)(fd, size), )
}
int ftruncate64(int fd, off64_t size) {
    INJECTED(armed && inside_fd(fd), 0, REAL(ftruncate64)(fd, size), )
}
int rename(const char *from, const char *to) { INJECTED(inside(to), 0, REAL(rename)(from, to), ) }
int unlink(const char *path) { INJECTED(inside(path), 0, REAL(unlink)(path), ) }
int unlinkat(int folder, const char *path, int flags) {
    INJECTED(inside_at(folder, path), 0, REAL(unlinkat)(folder, path, flags), )
}
int rmdir(const char *path) { INJECTED(inside(path), 0, REAL(rmdir)(path), ) }
int mkdir(const char *path, mode_t rights) {
    INJECTED(inside(path), 1, REAL(mkdir)(path, rights), )
}

#define OPENED(name)                                                               \
    int name(const char *path, int flags, ...) {                                   \
        va_list rest;                                                              \
        va_start(rest, flags);                                                     \
        mode_t rights = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                \
        va_end(rest);                                                              \
        INJECTED((flags & O_CREAT) && inside(path), 1, REAL(name)(path, flags, rights), ) \
    }
OPENED(open)
OPENED(open64)
