/* environment.c - what the process was started with: its variables, its directory, its name. */
#include "ruby/ruby.h"
#include "vm/run/environment.h"
#include "vm_core.h"
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[PATH_MAX]; /* "": not known; written once, at boot */

void
rb_heapprof_environment_begin(void)
{
    if (!getcwd(directory, sizeof(directory))) directory[0] = '\0';
}

/* A program that runs with rights its caller lacks (setuid, setgid, file capabilities) writes no
 * file on request of its caller. */
const char *
rb_heapprof_environment_setting(const char *name)
{
    if (getuid() != geteuid() || getgid() != getegid()) return NULL;
#ifdef __linux__
    return secure_getenv(name);
#else
    return getenv(name);
#endif
}

const char *
rb_heapprof_environment_directory(void)
{
    return directory;
}

const char *
rb_heapprof_environment_program(void)
{
    VALUE program = GET_VM()->progname;
    return RB_TYPE_P(program, T_STRING) ? RSTRING_PTR(program) : "ruby";
}

void
rb_heapprof_environment_name(char *name, size_t size)
{
    const char *program = rb_heapprof_environment_program();
    const char *slash = strrchr(program, '/');

    snprintf(name, size, "%s", slash ? slash + 1 : program);
}
