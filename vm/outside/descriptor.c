/* descriptor.c - a map of this ruby, for a reader that looks at its memory from outside.
 *
 * The map is exported data of the executable or of libruby. A reader finds it in a process by the
 * dynamic symbol table in memory, or in a core file by its magic number. No code here runs. The
 * map is not const, because default core files contain little except writable memory.
 *
 * Structures that are private to a file of MRI are described in a part: an object of the same
 * layout, which a line at the end of that file makes (0011-descriptor.patch; gc.c's, too).
 */
#include "ruby/ruby.h"
#include "gc/book/mri.h"
#include "internal/class.h"
#include "internal/hash.h"
#include "internal/imemo.h"
#include "internal/numeric.h"
#include "internal/string.h"
#include "iseq.h"
#include "method.h"
#include "ractor_core.h"
#include "symbol.h"
#include "version.h"
#include "vm_core.h"
#include "vm/labels/labels.h"
#include "vm/labels/tables.h"
#include "vm/outside/descriptor_labels.h"
#include "vm/outside/descriptor_list.h"
#include "vm/outside/descriptor_request.h"
#include "vm/outside/jit_code.h"
#include "vm/outside/request.h"
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
