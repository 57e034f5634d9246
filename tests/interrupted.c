/* Calls of Python functions, counted; at two of them the whole group of processes gets a signal.
 *
 * A profiler in Python is no way to send it: its handler would raise in the profiler, which is then
 * never called again. The handler of a signal that is sent here runs in the function that is called.
 */

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int (*profiler)(void *, void *, int, void *);
extern void PyEval_SetProfile(profiler, void *);
#define CALL 0 /* PyTrace_CALL */

/* What is left in a file, however the process ends: "lld" for Python's struct. */
struct left {
    long calls;
    long sent;
    double first_s; /* on the monotonic clock */
};

static volatile struct left *left;
static long first, second;
static int number;
static pid_t leader;

static void send(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (left->sent++ == 0)
        left->first_s = now.tv_sec + now.tv_nsec * 1e-9;
    killpg(0, number);
}

static int count(void *self, void *frame, int what, void *argument)
{
    if (what != CALL || getpid() != leader)
        return 0;
    left->calls++;
    if (left->calls == first || left->calls == second)
        send();
    return 0;
}

/* 0, or -1 where there is no such file; a call that is below 0 never comes. */
int start_counting(const char *path, int signal_number, long first_call, long second_call)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    void *memory;

    if (file < 0 || ftruncate(file, sizeof *left) < 0)
        return -1;
    memory = mmap(0, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return -1;
    left = memory;
    number = signal_number;
    first = first_call;
    second = second_call;
    leader = getpid();
    PyEval_SetProfile(count, 0);
    return 0;
}
