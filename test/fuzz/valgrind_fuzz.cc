// valgrind_fuzz.cc - any bytes as Valgrind's XML and log: read, joined with each other, and
// reported. What is kept is whole: each reference leads to what there is, and what is wrong is said
// in a line.

#include <cstring>
#include <string>

#include "fuzz.h"

extern "C" {
#include "memcheck/join.h"
#include "memcheck/report.h"
}

namespace {

FILE *
Open(std::string *bytes)
{
    FILE *file = fmemopen(bytes->data(), bytes->size(), "r");
    REQUIRE(file);
    return file;
}

bool
EvenP(const char *pid, void *)
{
    return pid[0] && (pid[strlen(pid) - 1] - '0') % 2 == 0;
}

void
CheckReferences(const memcheck_valgrind &found)
{
    for (uint32_t i = 0; i < found.error_count; i++) {
        const memcheck_error &error = found.errors[i];
        REQUIRE(error.document < found.document_count);
        REQUIRE(error.first_stack + error.stack_count <= found.stack_count);
        REQUIRE(error.first_ruby_frame + error.ruby_frame_count <= found.ruby_frame_count);
    }
    for (uint32_t i = 0; i < found.stack_count; i++) {
        REQUIRE(found.stacks[i].first_frame + found.stacks[i].frame_count <= found.frame_count);
    }
    for (uint32_t i = 0; i < found.document_count; i++) {
        REQUIRE(found.documents[i].parent == MEMCHECK_NO_DOCUMENT || found.documents[i].parent < i);
    }
}

void
ReportAs(memcheck_report *report, const memcheck_process &process)
{
    memcheck_question question = {};
    question.core = question.valgrind = question.generate = true;
    question.most = MEMCHECK_REACHABLE;
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    REQUIRE(report(out, &question, &process, 1));
    fclose(out);
    free(text);
}

void
JoinAndReport(memcheck_valgrind *found, const memcheck_block_list &list, uint32_t document)
{
    memcheck_process process = {};

    process.pid = process.program = "1";
    REQUIRE(memcheck_join(&process, found, document, &list));
    for (size_t i = 0; i < process.record_count; i++)
        REQUIRE(process.records[i].error->document == document);
    for (memcheck_report *report : { memcheck_text, memcheck_json, memcheck_junit, memcheck_sarif })
        ReportAs(report, process);
    memcheck_process_free(&process);
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string bytes(reinterpret_cast<const char *>(data), size);
    size_t cut = bytes.find("\n==");
    std::string xml_bytes = bytes.substr(0, cut),
                log_bytes = cut == std::string::npos ? "" : bytes.substr(cut + 1);
    FILE *xml = Open(&xml_bytes), *log = Open(&log_bytes);
    char error[MEMCHECK_VALGRIND_ERROR_MAX] = "";
    memcheck_valgrind found;
    memcheck_block_list list;

    memcheck_valgrind_init(&found);
    bool whole = memcheck_valgrind_read(&found, xml, EvenP, nullptr, error);
    REQUIRE(whole == (error[0] == '\0') && !strchr(error, '\n'));
    REQUIRE(memcheck_block_list_read(&list, log));
    CheckReferences(found);
    memcheck_valgrind_attribute(&found, "ruby");
    for (uint32_t i = 0; i < found.document_count && i < 4; i++) JoinAndReport(&found, list, i);
    memcheck_block_list_free(&list);
    memcheck_valgrind_free(&found);
    fclose(xml);
    fclose(log);
    return 0;
}
