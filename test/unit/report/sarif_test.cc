// sarif_test.cc - parts of SARIF, byte for byte.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

extern "C" {
#include "report/sarif.h"
}

namespace {

std::string
Location(const report_sarif_place &place)
{
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    report_json json = {};
    json.out = out;
    report_sarif_location(&json, &place);
    fclose(out);
    std::string all(text, size);
    free(text);
    return all;
}

report_sarif_place
Place(const char *file, int64_t line)
{
    report_sarif_place place = {};
    place.file = file;
    place.line = line;
    return place;
}

std::string
Uri(const std::string &uri)
{
    return "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"" + uri +
           "\"},\"region\":{\"startLine\":3}}}";
}

TEST(Sarif, AFileIsAUri)
{
    EXPECT_EQ(Uri("file:///app/a-b_c.~.rb"), Location(Place("/app/a-b_c.~.rb", 3)));
    EXPECT_EQ(Uri("lib/a%20%25%C3%A9%3A%3C.c"), Location(Place("lib/a %\xc3\xa9:<.c", 3)));
}

TEST(Sarif, AFileWithoutALineOrLongerThanAnyIsLeftOut)
{
    EXPECT_EQ("{}", Location(Place("/a", 0)));
    EXPECT_EQ("{}", Location(Place(std::string(4097, 'a').c_str(), 3)));
    EXPECT_EQ(Uri("file://" + std::string("/") + std::string(4095, 'a')),
              Location(Place(("/" + std::string(4095, 'a')).c_str(), 3)));
}

TEST(Sarif, APlaceHasColumnFunctionAndMessage)
{
    report_sarif_place place = Place("a.c", 3);
    place.column = 4;
    place.function = "A#b";
    place.message = "in this macro";
    EXPECT_EQ("{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"a.c\"},\"region\":{"
              "\"startLine\":3,\"startColumn\":4}},"
              "\"logicalLocations\":[{\"fullyQualifiedName\":\"A#b\"}],\"message\":{\"text\":\"in "
              "this macro\"}}",
              Location(place));
}

} // namespace
