// model_memory_test.cc - reading, adding up, writing and showing profiles when memory runs out.
//
// The C library's allocation functions are replaced for this program by ones that refuse the
// request a test asks them to. Every request is refused once, in turn: then there is no result, an
// error says so where there is one, and nothing leaks.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "test/unit/support/refusing_malloc.h"

#include "test/unit/support/profile_bytes.h"

extern "C" {
#include "pprof/combine.h"
#include "pprof/save.h"
#include "report/export.h"
#include "report/groups.h"
#include "report/page_tables.h"
}

namespace {

std::string
SomeProfile(uint64_t shift)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    for (uint64_t i = 1; i <= 300; i++) {
        bytes.Function(i * shift, "function " + std::to_string(i), "/file" + std::to_string(i));
        bytes.Location(i * shift, {{i * shift, i}});
        bytes.Sample({ i * shift, shift }, { 1, 40 },
                     bytes.Label("class", "C" + std::to_string(i % 7)));
    }
    return bytes.All();
}

// Does it with each request refused in turn, until there is none left to refuse. It returns whether
// it is done.
void
RefuseEach(const std::function<bool()> &work)
{
    ASSERT_TRUE(work());
    for (long request = 0; request < 100000; request++) {
        blocks = 0;
        watching = true;
        requests_left = request;
        bool done = work();
        bool all_granted = requests_left >= 0;
        requests_left = -1;
        watching = false;
        ASSERT_EQ(0, blocks) << request;
        if (all_granted) {
            EXPECT_TRUE(done);
            return;
        }
        ASSERT_FALSE(done) << request;
    }
    FAIL() << "it never ends";
}

TEST(ModelMemory, Reading)
{
    std::string plain = SomeProfile(1000003), gzip = GzipOf(plain);
    for (const std::string &bytes : {plain, gzip}) {
        RefuseEach([&bytes] {
            char error[HEAPPROF_READER_ERROR_MAX] = "";
            heapprof_model *model =
                rb_heapprof_reader_read_bytes(bytes.data(), bytes.size(), error);
            bool told = model || strstr(error, "no memory");
            rb_heapprof_model_free(model);
            if (!told) abort();
            return model != nullptr;
        });
    }
}

TEST(ModelMemory, AddingUp)
{
    Model one(SomeProfile(1)), two(SomeProfile(7));
    const heapprof_model *models[] = {one.get(), two.get()};
    const char *names[] = {"one", "two"};
    int signs[] = {1, -1};
    RefuseEach([&] {
        char error[HEAPPROF_COMBINE_ERROR_MAX] = "";
        heapprof_model *sum = rb_heapprof_combine(models, signs, names, 2, error);
        bool told = sum || strstr(error, "no memory");
        rb_heapprof_model_free(sum);
        if (!told) abort();
        return sum != nullptr;
    });
}

bool
Take(void *, const void *, size_t)
{
    return true;
}

TEST(ModelMemory, Writing)
{
    Model model(SomeProfile(1));
    RefuseEach([&] {
        enum heapprof_save_result result = rb_heapprof_save(model.get(), Take, nullptr);
        if (result != HEAPPROF_SAVED && result != HEAPPROF_SAVE_NO_MEMORY) abort();
        return result == HEAPPROF_SAVED;
    });
}

TEST(ModelMemory, Groups)
{
    Model one(SomeProfile(1)), two(SomeProfile(7));
    const heapprof_model *models[] = {one.get(), two.get()};
    uint32_t types[] = {1, 1};
    for (report_group group : {REPORT_SITE, REPORT_FUNCTION, REPORT_CLASS, REPORT_APP}) {
        RefuseEach([&] {
            report_question question = {};
            question.group = group;
            report_groups groups;
            bool made = report_groups_make(&groups, &question, models, types, 2);
            report_groups_free(&groups);
            return made;
        });
    }
}

TEST(ModelMemory, PageTables)
{
    Model one(SomeProfile(1)), two(SomeProfile(7));
    uint32_t types[] = {0, 1};
    RefuseEach([&] {
        report_page_tables tables;
        report_page_tables_init(&tables, 2, nullptr);
        bool made = report_page_tables_add(&tables, one.get(), types, 1) &&
                    report_page_tables_add(&tables, two.get(), types, -1) &&
                    report_page_tables_fold(&tables, 10, 10);
        report_page_tables_free(&tables);
        return made;
    });
}

} // namespace
