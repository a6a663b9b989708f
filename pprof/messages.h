#ifndef HEAPPROF_PPROF_MESSAGES_H
#define HEAPPROF_PPROF_MESSAGES_H
/* The messages of pprof.proto as upb lays them out in memory: for each message a mini table, for
 * each field its offset. They are built from the descriptor set that the build made of pprof.proto.
 * upb's reflection would do the same with less code here. But its DefPool dereferences NULL when a
 * request for memory is refused. The functions used here report it.
 *
 * Private to writer.c, so the functions are in a header. A file that includes upb is linked with it
 * into one object that hides its symbols (scripts/plain.mk). There should be only one such file.
 */
#include "pprof_descriptor.h"

#include "ruby-upb.h"

#include "base/aside.h"

#include <stdlib.h>
#include <string.h>

#define HEAPPROF_PPROF_MESSAGES(M) \
    M(Profile) M(ValueType) M(Sample) M(Label) M(Mapping) M(Location) M(Line) M(Function)

#define HEAPPROF_PPROF_FIELDS(F) \
    F(Profile, sample_type) F(Profile, sample) F(Profile, mapping) F(Profile, location) \
    F(Profile, function) F(Profile, string_table) F(Profile, time_nanos) \
    F(Profile, duration_nanos) F(Profile, period_type) F(Profile, period) \
    F(Profile, comment) F(Profile, default_sample_type) F(ValueType, type) \
    F(ValueType, unit) F(Sample, location_id) F(Sample, value) F(Sample, label) \
    F(Label, key) F(Label, str) F(Label, num) F(Label, num_unit) F(Mapping, id) \
    F(Mapping, filename) F(Mapping, build_id) F(Mapping, has_functions) \
    F(Mapping, has_filenames) F(Mapping, has_line_numbers) F(Location, id) \
    F(Location, mapping_id) F(Location, line) F(Line, function_id) F(Line, line) \
    F(Function, id) F(Function, name) F(Function, filename) F(Function, start_line)

#define MESSAGE_NUMBER(message) message,
#define FIELD_NUMBER(message, field) message##_##field,
enum pprof_message {HEAPPROF_PPROF_MESSAGES(MESSAGE_NUMBER) MESSAGES_END};
enum field {HEAPPROF_PPROF_FIELDS(FIELD_NUMBER) FIELDS_END};

#define MESSAGE_NAME(message) #message,
#define FIELD_NAME(message, field) {message, #field},
static const char *const message_names[] = {HEAPPROF_PPROF_MESSAGES(MESSAGE_NAME)};
static const struct {enum pprof_message message; const char *name;} field_names[] = {
    HEAPPROF_PPROF_FIELDS(FIELD_NAME)
};

struct messages {
    upb_Arena           *arena;                  /* owns the tables */
    upb_MiniTable       *tables[MESSAGES_END];
    const upb_MiniTable *element_of[FIELDS_END]; /* tables of the messages that a field holds, if
                                                    it holds messages */
    size_t               offset_of[FIELDS_END];  /* in the message a field belongs to */
};

typedef google_protobuf_DescriptorProto message_descriptor;
typedef google_protobuf_FieldDescriptorProto field_descriptor;

#define descriptor_fields google_protobuf_DescriptorProto_field
#define field_type google_protobuf_FieldDescriptorProto_type
#define field_number google_protobuf_FieldDescriptorProto_number

/* ---- by name ---- */

static bool
name_p(upb_StringView name, const char *text)
{
    return name.size == strlen(text) && memcmp(name.data, text, name.size) == 0;
}

static enum pprof_message
find_message(upb_StringView name)
{
    enum pprof_message message = 0;

    while (message < MESSAGES_END && !name_p(name, message_names[message])) message++;
    return message;
}

/* Returns the message that a field holds: the part of its type's name after the last dot. */
static enum pprof_message
find_element(const field_descriptor *descriptor)
{
    upb_StringView name = google_protobuf_FieldDescriptorProto_type_name(descriptor);
    const char *end = name.data + name.size, *start = end;

    while (start > name.data && start[-1] != '.') start--;
    return find_message(upb_StringView_FromDataAndSize(start, (size_t)(end - start)));
}

static enum field
find_field(enum pprof_message message, const field_descriptor *descriptor)
{
    upb_StringView name = google_protobuf_FieldDescriptorProto_name(descriptor);
    enum field field = 0;

    while (field < FIELDS_END &&
           (field_names[field].message != message || !name_p(name, field_names[field].name))) {
        field++;
    }
    return field;
}

/* ---- mini tables ---- */

/* A field that is not repeated is absent when it is 0 or NULL. This holds for messages, too, so
 * no bit has to say which are there. */
static uint64_t
field_modifiers(const field_descriptor *descriptor)
{
    if (google_protobuf_FieldDescriptorProto_label(descriptor) != kUpb_Label_Repeated) {
        return kUpb_FieldModifier_IsProto3Singular;
    }
    if (!upb_IsTypePackable(field_type(descriptor))) return kUpb_FieldModifier_IsRepeated;
    return kUpb_FieldModifier_IsRepeated | kUpb_FieldModifier_IsPacked;
}

static void *
arena_memory(upb_alloc *alloc, void *block, size_t old_bytes, size_t bytes)
{
    (void)alloc, (void)old_bytes;
    if (bytes > 0) return rb_heapprof_aside_realloc(block, bytes);
    rb_heapprof_aside_free(block);
    return NULL;
}

/* Returns NULL if there is no memory. */
static upb_Arena *
new_arena(void)
{
    static upb_alloc alloc = { arena_memory };
    return upb_Arena_Init(NULL, 0, &alloc);
}

/* upb works the layout out in scratch space. If it grew that space and memory were refused, it
 * would lose the space. So there is enough from the start. */
static upb_MiniTable *
make_table(const char *fields, size_t length, upb_Arena *arena)
{
    size_t size = 1024;
    void *scratch = rb_heapprof_aside_alloc(size);
    upb_Status status;

    if (!scratch) return NULL;
    upb_Status_Clear(&status);
    upb_MiniTable *table = upb_MiniTable_BuildWithBuf(
        fields, length, kUpb_MiniTablePlatform_Native, arena, &scratch, &size, &status);
    rb_heapprof_aside_free(scratch);
    return table;
}

static upb_MiniTable *
build_table(const message_descriptor *descriptor, upb_Arena *arena)
{
    char text[512]; /* upb's own notation for a message's fields */
    upb_MtDataEncoder encoder = {.end = text + sizeof(text)};
    uint64_t modifiers =
        kUpb_MessageModifier_ValidateUtf8 | kUpb_MessageModifier_DefaultIsPacked;
    char *end = upb_MtDataEncoder_StartMessage(&encoder, text, modifiers);
    size_t count;
    const field_descriptor *const *fields = descriptor_fields(descriptor, &count);

    for (size_t i = 0; end && i < count; i++) {
        end = upb_MtDataEncoder_PutField(&encoder, end, field_type(fields[i]),
                                         field_number(fields[i]), field_modifiers(fields[i]));
    }
    return end ? make_table(text, (size_t)(end - text), arena) : NULL;
}

/* Notes where a field is, and links it to the table of the messages it holds. */
static bool
link_field(struct messages *messages, enum pprof_message message,
           const field_descriptor *descriptor)
{
    upb_MiniTable *table = messages->tables[message];
    const upb_MiniTable_Field *layout =
        upb_MiniTable_FindFieldByNumber(table, field_number(descriptor));
    enum field field = find_field(message, descriptor);

    if (field == FIELDS_END) return false;
    messages->offset_of[field] = layout->offset;
    if (field_type(descriptor) == kUpb_FieldType_Message) {
        upb_MiniTable *element = messages->tables[find_element(descriptor)];
        messages->element_of[field] = element;
        upb_MiniTable_SetSubMessage(table, (upb_MiniTable_Field *)layout, element);
    }
    return true;
}

static bool
link_message(struct messages *messages, const message_descriptor *descriptor)
{
    enum pprof_message message = find_message(google_protobuf_DescriptorProto_name(descriptor));
    size_t count;
    const field_descriptor *const *fields = descriptor_fields(descriptor, &count);

    for (size_t i = 0; i < count; i++) {
        if (!link_field(messages, message, fields[i])) return false;
    }
    return true;
}

/* ---- lifecycle ---- */

/* Returns false if there is no memory. The caller calls messages_free either way. */
static bool
messages_load(struct messages *messages)
{
    const char *bytes = (const char *)heapprof_pprof_descriptor;
    size_t size = sizeof(heapprof_pprof_descriptor), count;
    upb_Arena *arena = messages->arena = new_arena();
    google_protobuf_FileDescriptorSet *set =
        arena ? google_protobuf_FileDescriptorSet_parse(bytes, size, arena) : NULL;

    if (!set) return false;
    const message_descriptor *const *descriptors = google_protobuf_FileDescriptorProto_message_type(
        google_protobuf_FileDescriptorSet_file(set, &count)[0], &count);
    for (size_t i = 0; i < count; i++) {
        enum pprof_message message =
            find_message(google_protobuf_DescriptorProto_name(descriptors[i]));
        if (message == MESSAGES_END) return false;
        messages->tables[message] = build_table(descriptors[i], arena);
        if (!messages->tables[message]) return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!link_message(messages, descriptors[i])) return false;
    }
    return true;
}

static void
messages_free(struct messages *messages)
{
    if (messages->arena) upb_Arena_Free(messages->arena);
}

#endif
