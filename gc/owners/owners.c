/* owners.c - the walk that finds who holds the known blocks of the allocator: the host of the
 * cloakroom asks each guest. Compiled inside gc.c.
 *
 * A block does not know its object. So the heap is walked (book/walk.h), and every object that
 * has blocks of its own is asked for their addresses (own.c), and so are the VM's own tables
 * (vm_tables.c). Then blocks may be left. For a snapshot that asks for suspicions, these are
 * looked for behind the structs of extensions' objects and in the variables of libraries
 * (reach.c).
 *
 * A walk is one pass over the heap or several. There is one pass at a time: a walk that begins
 * during a pass of another helps with that, and wants the next.
 *
 *     a step of each stage:  OBJECTS    the blocks of the objects on a page
 *                            FOREIGN    what the structs of extensions' objects on a page lead to
 *                            LIBRARIES  what a part of the data of a library leads to
 *                            OWN        what the VM's own objects on a page lead to
 *                            VM_DATA    what a part of the VM's own data leads to
 *                            LAST
 *
 * GCs may come in between, and need no pass to be thrown away. A block dies with its owner, and
 * an object that holds a block from the beginning of a pass to its end is found (book/walk.c,
 * I2). Missed are blocks that were born or have changed hands behind the place where the walk
 * was, and objects that a compaction has moved there. So after a GC one more pass adds what it
 * finds, and after compactions up to MOVED_AGAIN more. Each may overwrite what the one before
 * has found. If objects have been moved since an owner was seen, or have died, only the owner's
 * class is used, not its address (profiler/blocks.h).
 */
#include "gc/book/state.h"
#include "gc/book/track.h"
#include "iseq.h"
#include "variable.h"
#include "gc/book/walk.h"

HEAPPROF_COLD static void
forget_owners(void)
{
    rb_heapprof_gc_copy_rest();
    lock_blocks();
    rb_heapprof_blocks_forget_owners(&rb_heapprof.tables.blocks);
    unlock_blocks();
}

enum stage { NO_STAGE, OBJECTS, FOREIGN, LIBRARIES, OWN, VM_DATA, LAST };

enum { MOVED_AGAIN = 2 };

static struct {
    uint64_t   number;     /* of the pass under way, or of the last */
    enum stage stage;      /* NO_STAGE: no pass is under way */
    uintptr_t  page;       /* pages up to this address are done in this stage */
    size_t     library;    /* the next one */
    size_t     part;       /* the next part of its data */
    size_t     gc_count;   /* when the pass began */
    uint32_t   moves;      /* when the pass began */
    bool       moved;      /* objects were moved during the last pass that came to its end */
    bool       reached;    /* the next pass is to search, too */
} pass;

/* True if there are blocks without an owner that something might hold. No pointer leads to
 * memory that is only reported. */
HEAPPROF_COLD static bool
ownerless_p(void)
{
    const struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    uint32_t entry = 0;
    bool found = false;

    lock_blocks();
    while (!found && (entry = rb_heapprof_blocks_next(blocks, entry)) != 0) {
        uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);
        found = !blocks->owners[entry].object && !rb_heapprof_reported_block_p(address);
    }
    unlock_blocks();
    return found;
}

HEAPPROF_COLD static bool
step_page(void (*object_i)(VALUE object, size_t slot_bytes, void *data))
{
    const struct heap_page *page = walk_page_after(pass.page);

    if (!page) return false;
    if (pass.stage == OBJECTS) own_block(VM_HEAP_PAGES, page);
    walk_page(page, object_i, NULL);
    pass.page = (uintptr_t)page->body;
    return true;
}

HEAPPROF_COLD static bool
step_library(void)
{
    if (pass.library == reach.library_count) return false;
    if (pass.library != reach.vm_library && reach_library(pass.library, pass.part)) {
        pass.part++;
    }
    else {
        pass.part = 0;
        pass.library++;
    }
    return true;
}

/* Returns false if the stage has come to its end. */
HEAPPROF_COLD static bool
step_on(void)
{
    switch (pass.stage) {
      case OBJECTS: return step_page(own_blocks_of_i);
      case FOREIGN: return step_page(reach_foreign_i);
      case LIBRARIES: return step_library();
      case OWN: return step_page(reach_own_i);
      case VM_DATA: return reach_library(reach.vm_library, pass.part++);
      default: return false;
    }
}

HEAPPROF_COLD static enum stage
next_stage(void)
{
    if (!reach.wanted || reach.cut_short || pass.stage == LAST) return NO_STAGE;
    if (pass.stage == OBJECTS && !ownerless_p()) return NO_STAGE;
    return pass.stage + 1;
}

/* Returns false if that was the last step. */
HEAPPROF_COLD static bool
find_step_i(void *unused)
{
    if (reach_unread_p()) {
        reach_step();
    }
    else if (!step_on()) {
        pass.stage = next_stage();
        pass.page = pass.part = 0;
    }
    return pass.stage != NO_STAGE;
}

HEAPPROF_COLD static void
begin_pass(void)
{
    pass.number++;
    pass.stage = OBJECTS;
    pass.page = 0;
    pass.library = pass.part = 0;
    pass.gc_count = gc_count_now();
    pass.moves = rb_heapprof_gc_moves();
    own_vm_tables();
    reach_begin(pass.reached);
    pass.reached = false;
}

HEAPPROF_COLD static void
end_pass(void)
{
    pass.moved = pass.moves != rb_heapprof_gc_moves();
    reach_end();
}

/* A pass of this walk has come to its end. Returns true if the walk wants another. */
HEAPPROF_COLD static bool
want_another(struct heapprof_walk *walk, bool reached)
{
    unsigned int most = pass.moved ? MOVED_AGAIN : pass.gc_count != gc_count_now() ? 1 : 0;

    if (reached && !reach.wanted) most = walk->again + 1;
    if (walk->again >= most) return false;
    walk->again++;
    walk->pass = pass.number + 1;
    return true;
}

HEAPPROF_COLD bool
rb_heapprof_gc_find_owners(struct heapprof_walk *walk, bool reached)
{
    if (walk->pass == 0) {
        if (pass.stage == NO_STAGE) forget_owners();
        walk->pass = pass.number + 1;
    }
    if (pass.number < walk->pass && reached) pass.reached = true;
    if (pass.stage == NO_STAGE) {
        if (pass.number >= walk->pass) return want_another(walk, reached);
        begin_pass();
        return true;
    }
    if (rb_heapprof_gc_slice(find_step_i, NULL, walk->waited_ns)) return true;
    end_pass();
    return pass.number < walk->pass || want_another(walk, reached);
}

HEAPPROF_COLD bool
rb_heapprof_gc_owners_known_p(const struct heapprof_walk *walk, bool reached)
{
    return pass.stage == NO_STAGE && pass.number >= walk->pass && (reach.wanted || !reached);
}

HEAPPROF_COLD bool
rb_heapprof_gc_owners_complete_p(void)
{
    return reach.wanted && !reach.cut_short && !pass.moved;
}
