/* check.c - checking builds audit that what is written of an object is what MRI marks. Compiled
 * inside gc.c.
 *
 * For types whose marking functions are asked, this holds by itself (I2 of graph.c). The rest
 * are checked here, except in the child of a fork: marking a class frees what is void.
 *
 * A process checks all objects at its end. Perhaps nobody sees that it aborts. So with
 * RUBY_HEAPGRAPH_CHECK=FILE it adds a line to the file that says what it has checked, or what
 * is wrong (test/upstream/checked.rb).
 */
#include "gc/graph/form.h"
#include "os/file.h"
#include <fcntl.h>
#include <stdlib.h>

static void
graph_check_tell(const char *text)
{
    const char *path = getenv("RUBY_HEAPGRAPH_CHECK");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    if (fd < 0) return;
    rb_heapprof_file_write(fd, text, strlen(text));
    close(fd);
}

HEAPPROF_COLD static void
graph_check_failed(VALUE object, VALUE value, const char *what)
{
    char type[GRAPH_TYPE_BYTES], value_type[GRAPH_TYPE_BYTES], text[3 * GRAPH_TYPE_BYTES];

    graph_type_text(object, type);
    graph_type_text(value, value_type);
    snprintf(text, sizeof(text), "heapprof: heap graph of %d, broken: %s -> %s is %s\n",
             (int)getpid(), type, value_type, what);
    fputs(text, stderr);
    graph_check_tell(text);
    abort();
}

static void
graph_check_value(struct heapprof_graph *graph, VALUE object, VALUE value)
{
    if (RB_SPECIAL_CONST_P(value)) return;
    struct heapprof_graph_marked *marked = graph_find_marked(graph, value);
    if (marked) marked->labelled = true;
    else graph_check_failed(object, value, "written, and not marked");
}

static void
graph_check_object(struct heapprof_graph *graph, const struct graph_object *o)
{
    graph_ask_marking(graph, o->object);
    if (graph->writer.error != 0) return; /* without memory neither side is whole */
    for (size_t i = 0; i < o->fixed_count; i++) graph_check_value(graph, o->object, o->fixed[i]);
    for (size_t i = 0; i < o->tail_count; i++) graph_check_value(graph, o->object, o->tail[i]);
    for (size_t i = 0; i < graph->edge_count; i++) {
        if (graph->edges[i].kind != HEAPPROF_DUMP_WEAK)
            graph_check_value(graph, o->object, graph->edges[i].value);
    }
    for (size_t i = 0; i < graph->marked_count; i++) {
        if (!graph->marked[i].labelled)
            graph_check_failed(o->object, graph->marked[i].value, "marked, and not written");
    }
}

static void
graph_check(struct heapprof_graph *graph, const struct graph_object *o)
{
    if (HEAPPROF_CHECK && !graph_guard.on) graph_check_object(graph, o);
}

HEAPPROF_COLD void
rb_heapprof_gc_graph_checked(const struct heapprof_graph *graph)
{
    char text[128];

    snprintf(text, sizeof(text),
             "heap graph of %d: %" PRIu64 " objects, %" PRIu64 " references%s\n", (int)getpid(),
             graph->writer.objects, graph->writer.references,
             graph->writer.error ? ", and no memory for more" : "");
    graph_check_tell(text);
}
