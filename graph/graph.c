/* graph.c - what is asked of a graph that has been loaded, and its end. */
#include "graph/graph.h"

const char *
graph_type(const struct graph *graph, uint32_t object)
{
    return graph_string(&graph->names, graph_layout(graph, object)->type);
}

/* Finds the element of an object. Elements begin with their object and are ordered by it.
 * Returns NULL if there is none. */
static const void *
element_of(const void *elements, uint32_t count, size_t element_bytes, uint32_t object)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const uint32_t *element = (const void *)((const char *)elements + middle * element_bytes);
        if (*element == object) return element;
        if (*element < object) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

uint32_t
graph_text(const struct graph *graph, uint32_t object)
{
    const struct graph_text *text =
        element_of(graph->texts, graph->text_count, sizeof(*graph->texts), object);

    return text ? text->string : 0;
}

const struct graph_sample *
graph_sample(const struct graph *graph, uint32_t object)
{
    return element_of(graph->samples, graph->sample_count, sizeof(*graph->samples), object);
}

uint32_t
graph_owner(const struct graph *graph, uint32_t mutex)
{
    const struct graph_owner *owner =
        element_of(graph->owners, graph->owner_count, sizeof(*graph->owners), mutex);

    return owner ? owner->owner : 0;
}

uint32_t
graph_module_name(const struct graph *graph, uint32_t object)
{
    uint32_t text;

    if (!graph_layout(graph, object)->module) return 0;
    text = graph_text(graph, object);
    return graph_string(&graph->names, text)[0] == '#' ? 0 : text; /* #<Class:0x...> */
}

uint32_t
graph_find(const struct graph *graph, uint64_t address)
{
    return graph_places_find(&graph->places, address);
}

/* ---- the end ---- */

void
graph_free(struct graph *graph)
{
    struct graph_space *space = &graph->space;

#define RELEASE(array) GRAPH_SPACE_RELEASE(space, graph->array, graph->array##_capacity)
    RELEASE(object_places);
    RELEASE(layouts);
    RELEASE(sizes);
    RELEASE(bits);
    RELEASE(lengths);
    RELEASE(slots);
    RELEASE(hashes);
    RELEASE(first);
    RELEASE(targets);
    RELEASE(labels);
    RELEASE(roots);
    RELEASE(texts);
    RELEASE(samples);
    RELEASE(owners);
    RELEASE(moves);
    RELEASE(layout_classes);
#undef RELEASE
    graph_names_free(&graph->names);
    graph_places_free(&graph->places);
    graph_space_free(space);
}
