/* subject.c - a program that says where its structures are, as ruby does: what
 * test/unit/attach_*_test.cc read. Compiled by them in many ways, as a program or
 * (SUBJECT_PART=1, =2) as the two halves of one with a library.
 *
 * Says "ready" and what its thing's address is, then does as it is told, a letter a command,
 * until its stdin ends. */
#include <stddef.h>
#include <stdint.h>

#include "base/descriptor.h"

#ifndef SUBJECT_PART
# define SUBJECT_PART 0
#endif

int subject_main(int argc, char **argv);

#if SUBJECT_PART != 1
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct thing {
    int32_t  number;
    uint16_t small;
    void    *pointer;
    unsigned low : 3, high : 9;
    char     text[10];
};

static struct thing thing = { -7, 40000, &thing, 5, 300, "a thing" };
struct thing *the_thing;
static int64_t hidden = -5;

#define HEADER(entries) {HEAPPROF_DESCRIPTOR_MAGIC, HEAPPROF_DESCRIPTOR_FORMAT, sizeof(void *), \
    sizeof(struct heapprof_descriptor), sizeof(struct heapprof_descriptor_entry), (entries)}
#define FIELD(member, form) \
    {"thing." #member, HEAPPROF_DESCRIPTOR_FIELD, HEAPPROF_DESCRIPTOR_##form, \
    sizeof(((struct thing *)0)->member), {offsetof(struct thing, member)}}

static struct {
    struct heapprof_descriptor header;
    struct heapprof_descriptor_entry entries[1];
} part = {HEADER(1), {
    {"hidden", HEAPPROF_DESCRIPTOR_GLOBAL, HEAPPROF_DESCRIPTOR_SIGNED, 8, {.address = &hidden}}
}};

__attribute__((visibility("default"))) struct {
    struct heapprof_descriptor header;
    struct heapprof_descriptor_entry entries[8];
} ruby_vm_descriptor = {
    HEADER(8),
    { { "thing", HEAPPROF_DESCRIPTOR_TYPE, HEAPPROF_DESCRIPTOR_NONE, sizeof(struct thing), { 0 } },
      FIELD(number, SIGNED),
      FIELD(small, UNSIGNED),
      FIELD(pointer, POINTER),
      FIELD(text, BYTES),
      { "the_thing",
        HEAPPROF_DESCRIPTOR_GLOBAL,
        HEAPPROF_DESCRIPTOR_POINTER,
        sizeof(void *),
        { .address = &the_thing } },
      { "things", HEAPPROF_DESCRIPTOR_CONTRACT, HEAPPROF_DESCRIPTOR_NONE, 0, { 1 } },
      { "subject.c", HEAPPROF_DESCRIPTOR_PART, HEAPPROF_DESCRIPTOR_NONE, 0, { .address = &part } } }
};

/* ---- as it is told ---- */

static volatile unsigned long turns;

static void *
spin(void *nothing)
{
    for (;;) turns++;
    return nothing;
}

static void *
nap(void *nothing)
{
    const struct timespec long_time = { .tv_sec = 1000 };
    nanosleep(&long_time, NULL);
    return nothing;
}

static void *
end_soon(void *nothing)
{
    const struct timespec short_time = { .tv_nsec = 2000000 };
    nanosleep(&short_time, NULL);
    return nothing;
}

/* Threads that come and go without an end. */
static void *
breed(void *nothing)
{
    pthread_t threads[8];

    for (;;) {
        int count = 0;
        while (count < 8 && pthread_create(&threads[count], NULL, end_soon, NULL) == 0) count++;
        while (count > 0) pthread_join(threads[--count], NULL);
    }
    return nothing;
}

static void *
replace(void *arguments)
{
    execv("/proc/self/exe", arguments);
    abort();
}

/* The one that calls it waits in the kernel until its child has ended. */
static void *
wait_for_child(void *nothing)
{
    if (vfork() == 0) {
        for (;;) pause();
    }
    return nothing;
}

static volatile sig_atomic_t signals;

static void
count(int signal)
{
    (void)signal;
    signals++;
}

static void
start_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0) abort();
}

static void
obey(char command, char **argv)
{
    switch (command) {
      case 's': start_thread(spin, NULL); break;
      case 'n': start_thread(nap, NULL); break;
      case 'b': start_thread(breed, NULL); break;
      case 'v': start_thread(wait_for_child, NULL); break;
      case 'x': replace(argv); break;
      case 'e': start_thread(replace, argv); return;
      case 'u': unlink(argv[0]); break;
      case 'c': printf("%d\n", (int)signals); break;
      case 't': printf("%lu\n", turns); break;
    }
    printf("done %c\n", command);
    fflush(stdout);
}

int
subject_main(int argc, char **argv)
{
    (void)argc;
    the_thing = &thing;
    signal(SIGUSR1, count);
    printf("ready %p\n", (void *)the_thing);
    fflush(stdout);
    for (;;) {
        char command;
        ssize_t got = read(STDIN_FILENO, &command, 1);
        if (got == 0) return 0;
        if (got == 1) obey(command, argv);
    }
}
#endif

#if SUBJECT_PART != 2
int
main(int argc, char **argv)
{
    return subject_main(argc, argv);
}
#endif
