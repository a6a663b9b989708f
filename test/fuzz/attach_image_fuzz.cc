// attach_image_fuzz.cc - any bytes as a target's memory, and as a core file: images, layouts and
// what is looked up in them. Nothing may be read beyond a copy, nothing may take long, and what a
// layout says must be true of it.
//
// An input is pieces of memory, each with its address: those of a real program lead deep
// (test/fuzz/corpus/attach_image).

#include <cstring>
#include <string>

#include "test/unit/attach/memory.h"
#include "test/unit/support/elf_image.h"
#include "fuzz.h"

extern "C" {
#include "attach/image.h"
#include "attach/layout.h"
}

namespace {

const uint64_t kPage = 4096, kReadsMost = 400000, kBytesMost = UINT64_C(300) << 20;

void
CheckField(const attach_layout *layout, const std::string &name)
{
    attach_field field;
    uint32_t bytes = 0;

    if (!attach_layout_field(layout, name.c_str(), &field)) return;
    uint64_t end = static_cast<uint64_t>(field.offset) + field.size;
    if (field.form == HEAPPROF_DESCRIPTOR_BITS) end = (end + 7) / 8;
    REQUIRE(attach_layout_type(layout, name.substr(0, name.find('.')).c_str(), &bytes));
    REQUIRE(bytes == field.type_size && bytes <= ATTACH_LAYOUT_TYPE_MOST && end <= bytes);
    // A copy of just so many bytes, so that the sanitizer sees one more.
    std::vector<char> copy(bytes, '\xff');
    attach_field_get(&field, copy.data());
}

void
CheckGlobal(attach_target *target, const attach_layout *layout, const char *name)
{
    attach_global global;
    uint64_t value;

    if (!attach_layout_global(layout, name, &global)) return;
    REQUIRE(attach_target_mapped_p(target, global.address, global.size));
    attach_global_read(target, &global, &value);
}

// By the names that are in the memory itself.
void
CheckLayout(attach_target *target, uint64_t address, const attach_layout *layout)
{
    heapprof_descriptor header;
    heapprof_descriptor_entry entry;

    if (!attach_target_read(target, address, &header, sizeof(header))) return;
    for (uint64_t i = 0; i < header.entry_count; i++) {
        uint64_t at = address + header.header_size + i * header.entry_size;
        if (!attach_target_read(target, at, &entry, sizeof(entry))) return;
        entry.name[sizeof(entry.name) - 1] = '\0';
        CheckField(layout, entry.name);
        CheckGlobal(target, layout, entry.name);
    }
}

void
Check(attach_target *target)
{
    attach_image images[ATTACH_IMAGES_MOST];
    char error[ATTACH_TARGET_ERROR_MAX] = "";
    size_t count = attach_image_find(target, images, error);

    REQUIRE(count <= ATTACH_IMAGES_MOST && (count > 0 || strlen(error) > 0));
    for (size_t i = 0; i < count; i++) {
        attach_layout *layout = attach_layout_read(target, images[i].descriptor, error);
        if (layout) CheckLayout(target, images[i].descriptor, layout);
        else REQUIRE(!strchr(error, '\n') && strlen(error) > 0);
        attach_layout_free(layout);
    }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string whole(reinterpret_cast<const char *>(data), size);
    {
        FuzzedDataProvider input(data, size);
        Memory memory;
        memory.runs = input.ConsumeBool();
        uint64_t address = kPage * input.ConsumeIntegral<uint32_t>();
        for (int pieces = 1 + Below(&input, 4); pieces > 0 && input.remaining_bytes() > 0;
             pieces--) {
            bool file = input.ConsumeBool(), writable = input.ConsumeBool();
            std::string bytes = pieces == 1 ? input.ConsumeRemainingBytesAsString()
                                            : input.ConsumeRandomLengthString();
            memory.Put(address, bytes, writable, file ? "/file" : "");
            address += (bytes.size() + kPage - 1) / kPage * kPage + kPage * Below(&input, 4);
        }
        Check(memory.target());
        REQUIRE(memory.reads < kReadsMost && memory.bytes_read < kBytesMost);
    }
    MemoryFile file(whole);
    char error[ATTACH_TARGET_ERROR_MAX] = "";
    std::string path = "/proc/self/fd/" + std::to_string(file.fd());
    attach_target *core = attach_target_open_core(path.c_str(), error);
    if (!core) {
        REQUIRE(strlen(error) > 0);
        return 0;
    }
    REQUIRE(attach_target_threads(core));
    for (size_t i = 0; i < core->mapping_count; i++) {
        REQUIRE(core->mappings[i].start < core->mappings[i].end);
        REQUIRE(i == 0 || core->mappings[i - 1].end <= core->mappings[i].start);
        attach_target_path(core, &core->mappings[i]);
    }
    Check(core);
    file.Cut(size / 2);
    Check(core);
    attach_target_close(core);
    return 0;
}
