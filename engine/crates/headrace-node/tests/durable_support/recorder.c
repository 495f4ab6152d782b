/* Preloaded into a program: writes down what it makes durable and what it gives a name to, in order, and does it.
 * With DURABLE_END=n the program ends at once, as by a crash, before it does the n-th of these. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void step(void) {
    static int steps;
    const char *end = getenv("DURABLE_END");
    if (end && ++steps == atoi(end))
        _exit(9);
}

static void note(const char *what, const char *path) {
    int log = open(getenv("DURABLE_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    dprintf(log, "%s %s\n", what, path);
    close(log);
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    step();
    int result = real(file);
    if (result == 0 && length > 0) {
        path[length] = 0;
        note("sync", path);
    }
    return result;
}

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    step();
    int result = real(from, to);
    if (result == 0) {
        note("from", from);
        note("name", to);
    }
    return result;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    int (*real)(int, const char *, int, const char *, int) = (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    step();
    int result = real(from_folder, from, to_folder, to, flags);
    if (result == 0) {
        note("from", from);
        note("name", to);
    }
    return result;
}

int unlink(const char *path) {
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    step();
    return real(path);
}
