/* jit_code.c - keeps the marks that lead from compiled code to lines.
 *
 *   I1  The addresses of the marks ascend.
 *   I2  A mark differs in its line from the one before it, unless a chunk begins with it.
 *   I3  A reader that sees a count sees that many marks.
 */
#include "vm/outside/jit_code.h"

#include "ruby/ruby.h"
#include "iseq.h"
#include "vm_core.h"
#include "heapprof/base/mem.h"

struct heapprof_jit_code rb_heapprof_jit_code;

static struct heapprof_mem memory;

/* What the last mark is of; NULL: not known, or of no instruction. */
static struct {
    const rb_iseq_t *iseq;
    unsigned int line;
} last;

void
rb_heapprof_jit_reserved(const void *code, size_t bytes)
{
    rb_heapprof_mem_init(&memory, bytes);
    rb_heapprof_jit_code.code_bytes = bytes;
    rb_heapprof_jit_code.code = (uintptr_t)code;
}

static struct heapprof_jit_mark *
last_mark(struct heapprof_jit_code *jit)
{
    return jit->mark_count ? &jit->marks[jit->mark_count - 1] : NULL;
}

static void
set_count(struct heapprof_jit_code *jit, size_t count)
{
    __atomic_store_n(&jit->mark_count, count, __ATOMIC_RELEASE);
}

/* Without memory the code from here on is of nothing that is known. */
static void
append(struct heapprof_jit_code *jit, uintptr_t code, uintptr_t pc)
{
    size_t count = jit->mark_count;

    if (HEAPPROF_MEM_GROW(&memory, jit->marks, jit->mark_capacity, count + 1)) {
        jit->marks[count] = (struct heapprof_jit_mark){ .code = code, .pc = pc };
        set_count(jit, count + 1);
    }
    else if (count) {
        last_mark(jit)->pc = HEAPPROF_JIT_NOTHING;
    }
}

static uintptr_t
chunk_of(uintptr_t code)
{
    return code - (code - rb_heapprof_jit_code.code) % HEAPPROF_JIT_CHUNK_BYTES;
}

static void
forget_overwritten(struct heapprof_jit_code *jit, uintptr_t code)
{
    size_t count = jit->mark_count;

    while (count && jit->marks[count - 1].code >= code) count--;
    if (count == jit->mark_count) return;
    set_count(jit, count);
    last.iseq = NULL;
}

/* A block that does not fit into its page goes on at the beginning of another one. */
static void
follow_to_next_chunk(struct heapprof_jit_code *jit, uintptr_t code)
{
    const struct heapprof_jit_mark *mark = last_mark(jit);
    uintptr_t chunk = chunk_of(code);

    if (mark && mark->pc && mark->code < chunk && chunk < code) append(jit, chunk, mark->pc);
}

/* iseq: NULL if the code is of no instruction. */
static void
mark_code(uintptr_t code, uintptr_t pc, const rb_iseq_t *iseq, unsigned int line)
{
    struct heapprof_jit_code *jit = &rb_heapprof_jit_code;

    forget_overwritten(jit, code);
    follow_to_next_chunk(jit, code);
    const struct heapprof_jit_mark *mark = last_mark(jit);
    bool same = mark && mark->code >= chunk_of(code) &&
                (iseq ? iseq == last.iseq && line == last.line : mark->pc == pc);
    if (same) return;
    append(jit, code, pc);
    last.iseq = iseq;
    last.line = line;
}

void
rb_heapprof_jit_mark(const void *code, const rb_iseq_t *iseq, unsigned int index)
{
    const VALUE *behind = ISEQ_BODY(iseq)->iseq_encoded + index + 1;

    mark_code((uintptr_t)code, (uintptr_t)behind, iseq, rb_iseq_line_no(iseq, index));
}

void
rb_heapprof_jit_mark_returned(const void *code)
{
    mark_code((uintptr_t)code, HEAPPROF_JIT_RETURNED, NULL, 0);
}

void
rb_heapprof_jit_mark_end(const void *code)
{
    mark_code((uintptr_t)code, HEAPPROF_JIT_NOTHING, NULL, 0);
}
