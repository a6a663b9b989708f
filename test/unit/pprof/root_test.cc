// root_test.cc - stacks that begin with the value of a label, in files with any ids.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"
#include "test/unit/support/saved.h"

extern "C" {
#include "pprof/root.h"
}

namespace {

using Lines = std::vector<std::string>;

// Functions, locations and their ids: first, and one more for each.
ProfileBytes
Carts(uint64_t first)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(first, "load", "cart.rb", 3);
    bytes.Function(first - 1, "main", "main.rb", 1);
    bytes.Location(first, {{first, 5}});
    bytes.Location(first - 1, {{first - 1, 70}});
    std::string cart = bytes.Label("endpoint", "/cart"), pay = bytes.Label("endpoint", "/pay");
    bytes.Sample({first, first - 1}, {400}, bytes.Label("class", "String") + cart);
    bytes.Sample({first - 1}, {40}, pay + cart);
    bytes.Sample({first, first - 1}, {4}, bytes.NumberLabel("gc_age", 8, "gcs"));
    bytes.Sample({}, {2}, bytes.NumberLabel("gc_age", -1, ""));
    return bytes;
}

Lines
Rooted(const ProfileBytes &bytes, const char *key)
{
    Model model(bytes.All());
    std::string saved;
    EXPECT_TRUE(rb_heapprof_model_root(model.get(), key));
    EXPECT_EQ(HEAPPROF_SAVED, rb_heapprof_save(model.get(), TakeSaved, &saved));
    Model again(saved);
    EXPECT_EQ("", again.Error());
    EXPECT_EQ(model.Lines(), again.Lines());
    return model.Lines();
}

TEST(Root, TheFirstValueOfTheKeyIsTheOutermostFunction)
{
    for (uint64_t first : {uint64_t{2}, uint64_t{77}, UINT64_MAX}) {
        EXPECT_EQ((Lines{"load:5 main:70 /cart:0 | 400 | class=String endpoint=/cart",
                         "main:70 /pay:0 | 40 | endpoint=/pay endpoint=/cart",
                         "load:5 main:70 (none):0 | 4 | gc_age=8gcs", "(none):0 | 2 | gc_age=-1"}),
                  Rooted(Carts(first), "endpoint"));
    }
}

TEST(Root, ANumberHasItsUnit)
{
    EXPECT_EQ((Lines{"load:5 main:70 (none):0 | 400 | class=String endpoint=/cart",
                     "main:70 (none):0 | 40 | endpoint=/pay endpoint=/cart",
                     "load:5 main:70 8 gcs:0 | 4 | gc_age=8gcs", "-1:0 | 2 | gc_age=-1"}),
              Rooted(Carts(2), "gc_age"));
}

TEST(Root, EachValueIsOneFunction)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    for (int i = 0; i < 5000; i++)
        bytes.Sample({}, {i + 1}, bytes.Label("endpoint", "/" + std::to_string(i % 50)));
    Model model(bytes.All());
    ASSERT_TRUE(rb_heapprof_model_root(model.get(), "endpoint"));
    EXPECT_EQ(50u, rb_heapprof_model_functions(model.get()));
    EXPECT_EQ(50u, rb_heapprof_model_locations(model.get()));
    EXPECT_EQ(5000u, model->sample_count);
    EXPECT_EQ("/49:0 | 5000 | endpoint=/49", model.Lines().back());
}

TEST(Root, AFileWithoutSamplesStaysAsItIs)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    EXPECT_EQ(Lines{}, Rooted(bytes, "endpoint"));
}

} // namespace
