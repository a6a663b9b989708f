/* redirect.c - writes a jump where a function begins.
 *
 *     x86-64    endbr64 ; jmp rel32         5 bytes, 2 GB far
 *     AArch64   bti c   ; b imm26           4 bytes, 128 MB far
 *
 * The first instruction may be there for indirect calls, on machines that check where these
 * arrive. It stays. The code is made writable for a moment, so its page becomes this process's
 * own. */
#include "os/redirect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)

# define JUMP_BYTES 5

static unsigned char *
behind_landing(unsigned char *code)
{
    static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

    return memcmp(code, endbr64, sizeof(endbr64)) == 0 ? code + sizeof(endbr64) : code;
}

static bool
encode_jump(unsigned char *jump, const unsigned char *place, const unsigned char *to)
{
    intptr_t distance = (intptr_t)((uintptr_t)to - (uintptr_t)place) - JUMP_BYTES;
    int32_t near = (int32_t)distance;

    jump[0] = 0xe9;
    memcpy(jump + 1, &near, sizeof(near));
    return near == distance;
}

#elif defined(__aarch64__)

# define JUMP_BYTES 4

static unsigned char *
behind_landing(unsigned char *code)
{
    static const unsigned char bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };

    return memcmp(code, bti_c, sizeof(bti_c)) == 0 ? code + sizeof(bti_c) : code;
}

static bool
encode_jump(unsigned char *jump, const unsigned char *place, const unsigned char *to)
{
    intptr_t distance = (intptr_t)((uintptr_t)to - (uintptr_t)place) / 4;
    uint32_t branch = UINT32_C(0x14000000) | ((uint32_t)distance & 0x3ffffff);

    memcpy(jump, &branch, sizeof(branch));
    return distance >= -(1 << 25) && distance < (1 << 25);
}

#else

# define JUMP_BYTES 0

static unsigned char *
behind_landing(unsigned char *code)
{
    return code;
}

static bool
encode_jump(unsigned char *jump, const unsigned char *place, const unsigned char *to)
{
    return false;
}

#endif

/* The page stays executable meanwhile: the code that writes may lie on the same page. */
static bool
write_code(unsigned char *place, const unsigned char *bytes)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)place & ~(page_bytes - 1);
    size_t size = (uintptr_t)place + JUMP_BYTES - begin;

    if (mprotect((void *)begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
    memcpy(place, bytes, JUMP_BYTES);
    __builtin___clear_cache((char *)place, (char *)place + JUMP_BYTES);
    mprotect((void *)begin, size, PROT_READ | PROT_EXEC);
    return true;
}

const char *
rb_heapprof_redirect(struct heapprof_redirect *redirect, heapprof_code *from, heapprof_code *to)
{
    unsigned char jump[HEAPPROF_REDIRECT_BYTES] = {0};
    unsigned char *place = behind_landing((unsigned char *)(uintptr_t)from);

    if (JUMP_BYTES == 0) return "this machine's code is not known here";
    if (!encode_jump(jump, place, (unsigned char *)(uintptr_t)to))
        return "the two functions are too far apart";
    memcpy(redirect->was, place, JUMP_BYTES);
    if (!write_code(place, jump)) return "the system lets no process change its own code";
    redirect->place = place;
    return NULL;
}

void
rb_heapprof_redirect_undo(struct heapprof_redirect *redirect)
{
    if (redirect->place) write_code(redirect->place, redirect->was);
    redirect->place = NULL;
}
