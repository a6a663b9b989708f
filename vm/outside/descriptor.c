/* descriptor.c - where things are in this ruby, for who reads its memory from outside.
 *
 * The object is exported data of the executable or of libruby: a reader finds it in the process by the
 * dynamic symbol table in memory, or by its magic in a core. Nothing here runs. It is not const:
 * default core files hold what is writable and little else.
 *
 * What is private to a file of MRI stands in a part, an object of the same layout, which a line at the end
 * of that file makes (0011-descriptor.patch; gc.c's, too).
 */
#include "ruby/ruby.h"
#include "gc/book/mri.h"
#include "internal/class.h"
#include "internal/imemo.h"
#include "internal/string.h"
#include "iseq.h"
#include "method.h"
#include "ractor_core.h"
#include "symbol.h"
#include "version.h"
#include "vm_core.h"
#include "vm/outside/descriptor_list.h"
#include "vm/run/flush.h"
#include "vm/names/generation.h"
#include "vm/graph/graph.h"
#include "vm/graph/graph_signal.h"
#include "vm/graph/graph_write.h"

extern struct heapprof_descriptor ruby_vm_descriptor_iseq;
extern struct heapprof_descriptor ruby_vm_descriptor_symbol;
extern struct heapprof_descriptor ruby_vm_descriptor_cont;
extern struct heapprof_descriptor ruby_vm_descriptor_thread;
extern struct heapprof_descriptor ruby_vm_descriptor_gc;

RUBY_SYMBOL_EXPORT_BEGIN

HEAPPROF_DESCRIPTOR_DEFINE(ruby_vm_descriptor, HEAPPROF_DESCRIPTOR_VM)

RUBY_SYMBOL_EXPORT_END
