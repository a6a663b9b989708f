// query_fuzz.cc - any text as a query: it is refused with a column that it has, or each test leads
// to a later one; then it is asked of some objects, and its opposite holds for the others.

#include <memory>
#include <string>
#include <vector>

#include "fuzz.h"
#include "test/unit/graph/random.h"

extern "C" {
#include "graph/query.h"
}

namespace {

struct Subject {
    LoadedGraph loaded;
    graph_dominators dominators;

    explicit Subject(const std::string &bytes) : loaded(bytes, SIZE_MAX, GRAPH_LENGTHS)
    {
        REQUIRE(loaded.loaded && graph_dominators_find(&dominators, &loaded.graph, false));
    }
};

// Arrays with references to each other, some of a class.
const Subject &
Objects()
{
    static std::mt19937 random(1);
    static const Subject subject(FileOf(RandomShape(&random)));
    return subject;
}

class Query {
public:
    explicit Query(const std::string &expression)
    {
        // A block of just the size it may have: what lies behind it is AddressSanitizer's.
        std::vector<char> exact(expression.c_str(), expression.c_str() + expression.size() + 1);
        parsed = graph_query_parse(query.get(), exact.data(), error);
    }
    ~Query() { graph_query_free(query.get()); }

    std::unique_ptr<graph_query> query{new graph_query};
    bool parsed;
    char error[GRAPH_QUERY_ERROR_MAX];
};

void
RequireColumn(const std::string &expression, const char *error)
{
    unsigned column = 0;
    int used = 0;

    REQUIRE(memchr(error, '\0', GRAPH_QUERY_ERROR_MAX));
    REQUIRE(sscanf(error, "column %u: %n", &column, &used) == 1 && used > 0 && error[used]);
    REQUIRE(column >= 1 && column <= expression.size() + 1);
}

void
RequireForward(const graph_query &query)
{
    REQUIRE(query.count <= GRAPH_QUERY_TESTS_MOST);
    for (uint32_t i = 0; i < query.count; i++) {
        const graph_query_test &test = query.tests[i];
        for (uint32_t next : {test.holds, test.otherwise}) {
            REQUIRE(next == GRAPH_QUERY_YES || next == GRAPH_QUERY_NO ||
                    (next > i && next < query.count));
        }
        REQUIRE(test.text < GRAPH_QUERY_BYTES_MOST);
    }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string expression(reinterpret_cast<const char *>(data), size);
    expression = expression.c_str();
    // What an expression with repetitions costs, and one with back references, is the C library's.
    if (expression.find_first_of("{*+\\") != std::string::npos &&
        expression.find("=~") != std::string::npos)
        return 0;
    Query query(expression);

    if (!query.parsed) {
        RequireColumn(expression, query.error);
        return 0;
    }
    RequireForward(*query.query);
    Query opposite("not (" + expression + ")");
    if (!query.query->count || !opposite.parsed) return 0;
    const Subject &subject = Objects();
    REQUIRE(graph_query_bind(query.query.get(), &subject.loaded.graph, &subject.dominators));
    REQUIRE(graph_query_bind(opposite.query.get(), &subject.loaded.graph, &subject.dominators));
    for (uint32_t object = 1; object <= subject.loaded.graph.count; object++) {
        REQUIRE(graph_query_match(query.query.get(), object) !=
                graph_query_match(opposite.query.get(), object));
    }
    return 0;
}
