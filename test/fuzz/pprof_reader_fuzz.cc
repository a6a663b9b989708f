// pprof_reader_fuzz.cc - any bytes as a profile. The reader the tests trust is to read it or
// to throw, and to follow every reference of what it has read.
//
// What it reads is checked by what makes the writer's parts possible (pprof/writer.h): messages
// laid end to end are one message, whose fields follow each other.

#include <optional>
#include <stdexcept>
#include <string>

#include "fuzz.h"
#include "test/unit/support/pprof_reader.h"

namespace {

template <typename Readable>
std::optional<Readable>
Read(const std::string &bytes)
{
    try {
        return Readable(bytes);
    }
    catch (const std::out_of_range &) {
    }
    catch (const std::runtime_error &) {
    }
    return {};
}

template <typename Fields>
Fields
Joined(Fields fields, const Fields &more)
{
    for (const auto &field : more) {
        auto &elements = fields[field.first];
        elements.insert(elements.end(), field.second.begin(), field.second.end());
    }
    return fields;
}

void
TestParts(const std::string &first, const std::string &second)
{
    std::optional<Message> one = Read<Message>(first), other = Read<Message>(second);
    std::optional<Message> both = Read<Message>(first + second);

    if (!one) return;
    REQUIRE(both.has_value() == other.has_value());
    if (!both) return;
    REQUIRE(both->numbers == Joined(one->numbers, other->numbers));
    REQUIRE(both->blocks == Joined(one->blocks, other->blocks));
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    size_t cut = input.ConsumeIntegralInRange<size_t>(0, size);
    std::string bytes = input.ConsumeRemainingBytesAsString();

    cut = std::min(cut, bytes.size());
    TestParts(bytes.substr(0, cut), bytes.substr(cut));
    std::optional<Profile> profile = Read<Profile>(bytes);
    if (!profile) return 0;
    for (const Profile::Sample &sample : profile->samples) {
        try {
            profile->Frames(sample);
        }
        catch (const std::out_of_range &) {
        }
    }
    return 0;
}
