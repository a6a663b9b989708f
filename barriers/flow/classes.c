/* classes.c - calls that return a class which C defines: the GC neither frees nor moves it,
 * whatever becomes of its name.
 *
 *     rb_struct_define_under(module, "Point", "x", "y", NULL)
 *     rb_path2class("Process::Status")
 *     rb_const_get(rb_mProcess, rb_intern("Status"))
 *
 * A class that is written in Ruby may move, and goes when nothing has its name any more. */
#include "barriers/flow/classes.h"

#include <stdio.h>
#include <string.h>

#include "barriers/known.h"

#define PATH_MOST 200

/* Those of Ruby, and of the extensions that come with it. */
static const char *const of_c[] = {
    "ArgumentError", "Array", "BasicObject", "BasicSocket", "BigDecimal", "Binding", "Class",
    "ClosedQueueError", "Comparable", "Complex", "ConditionVariable", "Data", "Date", "DateTime",
    "Digest", "Dir", "EOFError", "Encoding", "Encoding::CompatibilityError", "Encoding::Converter",
    "Encoding::ConverterNotFoundError", "Encoding::InvalidByteSequenceError",
    "Encoding::UndefinedConversionError", "EncodingError", "Enumerable", "Enumerator",
    "Enumerator::ArithmeticSequence", "Enumerator::Chain", "Enumerator::Lazy",
    "Enumerator::Product", "Exception", "FalseClass", "Fiber", "FiberError", "File",
    "File::Constants", "File::Stat", "Float", "FloatDomainError", "FrozenError", "GC",
    "GC::Profiler", "Hash", "IO", "IO::Buffer", "IO::Buffer::AllocationError",
    "IO::Buffer::InvalidatedError", "IO::Buffer::LockedError", "IO::Buffer::MaskError",
    "IO::TimeoutError", "IO::WaitReadable", "IO::WaitWritable", "IOError", "IPSocket", "IndexError",
    "Integer", "Interrupt", "Kernel", "KeyError", "LoadError", "LocalJumpError", "Marshal",
    "MatchData", "Math", "Math::DomainError", "Method", "Module", "Monitor", "Mutex", "NameError",
    "NilClass", "NoMatchingPatternError", "NoMatchingPatternKeyError", "NoMemoryError",
    "NoMethodError", "NotImplementedError", "Numeric", "Object", "ObjectSpace",
    "ObjectSpace::WeakKeyMap", "ObjectSpace::WeakMap", "Pathname", "Proc", "Process",
    "Process::GID", "Process::Status", "Process::Sys", "Process::Tms", "Process::UID", "Queue",
    "Ractor", "Ractor::ClosedError", "Ractor::Error", "Ractor::IsolationError",
    "Ractor::MovedError", "Ractor::MovedObject", "Ractor::RemoteError", "Ractor::UnsafeError",
    "Random", "Random::Base", "Range", "RangeError", "Rational", "Refinement", "Regexp",
    "Regexp::TimeoutError", "RegexpError", "RuntimeError", "ScriptError", "SecurityError", "Signal",
    "SignalException", "SizedQueue", "Socket", "SocketError", "StandardError", "StopIteration",
    "String", "StringIO", "StringScanner", "Struct", "Symbol", "SyntaxError", "SystemCallError",
    "SystemExit", "SystemStackError", "TCPServer", "TCPSocket", "Thread", "Thread::Backtrace",
    "Thread::Backtrace::Location", "Thread::ConditionVariable", "Thread::Mutex", "Thread::Queue",
    "Thread::SizedQueue", "ThreadError", "ThreadGroup", "Time", "TracePoint", "TrueClass",
    "TypeError", "UDPSocket", "UNIXServer", "UNIXSocket", "UnboundMethod", "UncaughtThrowError",
    "Warning", "ZeroDivisionError", "Zlib", "Zlib::Deflate", "Zlib::Error", "Zlib::GzipFile",
    "Zlib::GzipReader", "Zlib::GzipWriter", "Zlib::Inflate",
};

static bool
of_c_p(const char *path)
{
    if (!strncmp(path, "Errno::", strlen("Errno::"))) return true;
    for (size_t i = 0; i < sizeof(of_c) / sizeof(of_c[0]); i++) {
        if (!strcmp(of_c[i], path)) return true;
    }
    return false;
}

/* The first string in an expression. Returns "" if the expression has no string. */
static const char *
text_in(const struct wb_node *node)
{
    const char *text = node->kind == WB_STRING ? node->name : "";

    for (node = node->child; node && !*text; node = node->next) text = text_in(node);
    return text;
}

/* Sets the path of what is looked up in a module. Of a module only the variable's name is known, as
 * rb_mProcess: Ruby's own have such names, and extensions follow them. */
static bool
path_in(const struct wb_node *module, const struct wb_node *name, char *path)
{
    const struct wb_node *of = wb_without_casts(module);
    const char *within = of->kind == WB_VARIABLE ? of->variable->name : "";

    if (strncmp(within, "rb_c", 4) && strncmp(within, "rb_m", 4)) return false;
    within += 4;
    if (!strcmp(within, "Object") || !strcmp(within, "Kernel")) within = "";
    return snprintf(path, PATH_MOST, "%s%s%s", within, *within ? "::" : "", text_in(name)) <
           PATH_MOST;
}

bool
wb_returns_class_of_c_p(const struct wb_node *call)
{
    static const char *const defining[] = {
        "rb_data_define", "rb_define_class", "rb_define_class_id_under", "rb_define_class_under",
        "rb_define_module", "rb_define_module_id_under", "rb_define_module_under",
        "rb_struct_define_under", "rb_struct_define_without_accessor_under",
    };
    static const char *const naming[] = {"rb_struct_define", "rb_struct_define_without_accessor"};
    static const char *const getting[] = {"rb_const_get", "rb_const_get_at", "rb_const_get_from"};
    const struct wb_node *first = call->child, *second = first ? first->next : NULL;
    char path[PATH_MOST];

    if (WB_ONE_OF_P(call->function, defining)) return true;
    if (!first) return false;
    if (WB_ONE_OF_P(call->function, naming)) return *text_in(first); /* not of one without a name */
    if (!strcmp(call->function->name, "rb_path2class")) return of_c_p(text_in(first));
    return second && WB_ONE_OF_P(call->function, getting) && path_in(first, second, path) &&
           of_c_p(path);
}
