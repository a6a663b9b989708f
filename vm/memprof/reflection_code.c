/* reflection_code.c - what only the VM sees of a running program: frames, environments with their
 * local variables, code, method entries, and the chain of classes in which constants are looked
 * up.
 *
 * An environment is the part of a frame that a Proc or Binding keeps. Both have their locals
 * below ep:
 *
 *     ... last argument or local | method or cref | outer environment | flags   <- ep
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "vm/memprof/reflection_code.h"
#include "vm/memprof/json.h"
#include "internal.h"
#include "internal/imemo.h"
#include "iseq.h"
#include "method.h"

static void
set_reference(VALUE hash, const char *key, VALUE object)
{
    if (object) rb_heapprof_reflection_set(hash, key, rb_heapprof_reflection_reference(object));
}

/* Sets the object of an environment, if it is in the heap. VM_ENV_ESCAPED_P may be asked only by
 * the running thread, as debug builds check. */
static void
set_scope(VALUE hash, const char *key, const VALUE *ep)
{
    if (VM_ENV_FLAGS(ep, VM_ENV_FLAG_ESCAPED)) set_reference(hash, key, ep[VM_ENV_DATA_INDEX_ENV]);
}

/* The local variables that have a name. */
static VALUE
variables(const rb_iseq_t *iseq, const VALUE *ep)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    VALUE hash = rb_hash_new();

    for (unsigned int i = 0; i < body->local_table_size; i++) {
        VALUE name = rb_heapprof_reflection_name(body->local_table[i]);
        if (NIL_P(name) || !rb_is_local_id(body->local_table[i])) continue;
        VALUE value = ep[-(long)(body->local_table_size - i) - VM_ENV_DATA_SIZE + 1];
        rb_hash_aset(hash, name, rb_heapprof_reflection_reference(value));
    }
    return hash;
}

/* ---- hidden objects ---- */

static void
set_env(VALUE hash, const rb_env_t *env)
{
    rb_heapprof_reflection_set(hash, "type", rb_str_new_cstr("scope"));
    if (!env->iseq) return;
    set_reference(hash, "node", (VALUE)env->iseq);
    rb_heapprof_reflection_set(hash, "variables", variables(env->iseq, env->ep));
    if (VM_ENV_LOCAL_P(env->ep)) {
        set_reference(hash, "cref", env->ep[VM_ENV_DATA_INDEX_ME_CREF]);
    }
    else {
        const VALUE *outer = VM_ENV_PREV_EP(env->ep);
        set_scope(hash, "outer", outer);
    }
}

static void
set_node(VALUE hash, const rb_iseq_t *iseq)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);

    rb_heapprof_reflection_set(hash, "type", rb_str_new_cstr("node"));
    if (!body || !RB_TYPE_P(body->location.label, T_STRING))
        return; /* the code is not complete yet */
    rb_heapprof_reflection_set_text(hash, "label", rb_iseq_label(iseq));
    rb_heapprof_reflection_set_text(hash, "path", rb_iseq_path(iseq));
    rb_heapprof_reflection_set(hash, "first_line", INT2NUM(body->location.first_lineno));
    set_reference(hash, "parent", (VALUE)body->parent_iseq);
}

static void
set_method(VALUE hash, const rb_method_entry_t *method)
{
    rb_heapprof_reflection_set(hash, "type", rb_str_new_cstr("method_entry"));
    VALUE name = rb_heapprof_reflection_name(method->called_id);
    if (!NIL_P(name)) rb_heapprof_reflection_set(hash, "name", name);
    set_reference(hash, "owner", method->owner);
    if (!method->def) return;
    if (method->def->type == VM_METHOD_TYPE_ISEQ)
        set_reference(hash, "node", (VALUE)method->def->body.iseq.iseqptr);
    if (method->def->type == VM_METHOD_TYPE_BMETHOD)
        set_reference(hash, "proc", method->def->body.bmethod.proc);
}

static void
set_cref(VALUE hash, const rb_cref_t *cref)
{
    rb_heapprof_reflection_set(hash, "type", rb_str_new_cstr("cref"));
    set_reference(hash, "module", cref->klass_or_self);
    set_reference(hash, "next", (VALUE)cref->next);
}

void
rb_heapprof_reflection_imemo_fields(VALUE hash, VALUE object)
{
    switch (imemo_type(object)) {
      case imemo_env:  set_env(hash, (const rb_env_t *)object); break;
      case imemo_iseq: set_node(hash, (const rb_iseq_t *)object); break;
      case imemo_ment: set_method(hash, (const rb_method_entry_t *)object); break;
      case imemo_cref: set_cref(hash, (const rb_cref_t *)object); break;
      default:
          rb_heapprof_reflection_set(hash, "type",
                                     rb_str_new_cstr(rb_imemo_name(imemo_type(object))));
          break;
    }
}

void
rb_heapprof_reflection_proc_fields(VALUE hash, VALUE proc)
{
    const rb_proc_t *of;
    GetProcPtr(proc, of);
    const VALUE *ep = vm_block_ep(&of->block);

    if (ep) set_scope(hash, "scope", ep);
    set_reference(hash, "node", (VALUE)rb_proc_get_iseq(proc, NULL));
}

/* ---- frames ---- */

/* Whether the frame runs code or a C function. A block written in C, a file that is being read,
 * and the outermost frame do not count. */
static bool
counts_p(const rb_control_frame_t *cfp)
{
    if (VM_FRAME_RUBYFRAME_P(cfp)) return cfp->pc != NULL;
    return cfp->ep && VM_FRAME_TYPE(cfp) == VM_FRAME_MAGIC_CFUNC && rb_vm_frame_method_entry(cfp);
}

/* The next frame that counts, from cfp outwards, or NULL. */
static const rb_control_frame_t *
counting(const rb_execution_context_t *ec, const rb_control_frame_t *cfp)
{
    while (RUBY_VM_VALID_CONTROL_FRAME_P(cfp, RUBY_VM_END_CONTROL_FRAME(ec))) {
        if (counts_p(cfp)) return cfp;
        cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    }
    return NULL;
}

static VALUE
label(const rb_control_frame_t *cfp)
{
    const rb_callable_method_entry_t *method = rb_vm_frame_method_entry(cfp);
    bool own = method && (!cfp->iseq || (method->def->type == VM_METHOD_TYPE_ISEQ &&
                                         method->def->body.iseq.iseqptr == cfp->iseq));
    return rb_profile_frame_full_label(own ? (VALUE)method : (VALUE)cfp->iseq);
}

static VALUE
frame_id(const rb_control_frame_t *cfp)
{
    return cfp ? rb_sprintf("frame:0x%"PRIxVALUE, (VALUE)cfp) : Qnil;
}

static VALUE
frame(const rb_control_frame_t *cfp, const rb_control_frame_t *previous)
{
    VALUE hash = rb_hash_new();

    rb_heapprof_reflection_set(hash, "_id", frame_id(cfp));
    rb_heapprof_reflection_set(hash, "type", rb_str_new_cstr("frame"));
    rb_heapprof_reflection_set_text(hash, "method", label(cfp));
    set_reference(hash, "self", cfp->self);
    if (cfp->iseq) {
        rb_heapprof_reflection_set_text(hash, "file", rb_iseq_path(cfp->iseq));
        rb_heapprof_reflection_set(hash, "line", INT2NUM(rb_vm_get_sourceline(cfp)));
        set_reference(hash, "node", (VALUE)cfp->iseq);
        rb_heapprof_reflection_set(hash, "variables", variables(cfp->iseq, cfp->ep));
        set_scope(hash, "scope", cfp->ep);
    }
    rb_heapprof_reflection_set(hash, "prev", frame_id(previous));
    return hash;
}

VALUE
rb_heapprof_reflection_frames(const rb_thread_t *thread)
{
    const rb_execution_context_t *ec = thread->ec;
    VALUE frames = rb_ary_new();
    if (!ec || !ec->cfp) return frames;

    for (const rb_control_frame_t *cfp = counting(ec, ec->cfp), *next; cfp; cfp = next) {
        next = counting(ec, RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp));
        rb_ary_push(frames, frame(cfp, next));
    }
    return frames;
}

/* ---- what a thread waits in ---- */

/* If Ruby code has called a C function, the slot beside its environment has its last argument, or
 * its receiver. */
static VALUE
last_argument(const rb_control_frame_t *cfp)
{
    const rb_control_frame_t *caller = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp);
    if (cfp->iseq || !VM_FRAME_RUBYFRAME_P(caller)) return Qnil;

    VALUE last = cfp->ep[-VM_ENV_DATA_SIZE];
    return last == cfp->self ? Qnil : last;
}

VALUE
rb_heapprof_reflection_innermost(const rb_thread_t *thread)
{
    const rb_execution_context_t *ec = thread->ec;
    const rb_control_frame_t *cfp = ec && ec->cfp ? counting(ec, ec->cfp) : NULL;
    if (!cfp) return Qnil;
    return rb_ary_new_from_args(3, label(cfp), cfp->self, last_argument(cfp));
}
