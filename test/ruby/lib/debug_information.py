# debug_information.py - what gdb says of each entry of the descriptor; test_descriptor.rb runs it:
#
#   gdb -batch -nx -x debug_information.py --args ruby ...
#
# Starts the program, or with $DESCRIPTOR_TARGET takes one that an emulator has prepared at that socket, reads the descriptor and its parts out of its memory, and writes one JSON object into
# the file that $DESCRIPTOR_OUT names: for each object its bytes, and by name what the debug information says:
# [form, offset, size] of a field, [form, address, size] of a global, [size] of a type, [value] of a constant,
# [address] of a part; null where it says nothing.
#
# Looked up in MRI's own file, not where the descriptor is compiled: there a type could be another.

import gdb
import json
import os
import struct

# A function at the end of each file; of vm.c, and of version.c for what vm.c does not know.
FUNCTIONS = {
    "": ["Init_VM", "ruby_show_version"],
    "iseq.c": ["Init_ISeq"],
    "symbol.c": ["rb_is_local_name"],
    "cont.c": ["ruby_Init_Continuation_body"],
    "thread.c": ["rb_ractor_interrupt_exec"],
    "gc.c": ["ruby_annotate_mmap"],
}
TYPE, FIELD, GLOBAL, CONSTANT, CONTRACT, PART = range(1, 7)
NONE, UNSIGNED, SIGNED, POINTER, BYTES, BITS = range(6)
HEADER = "=16sHHIII"
ENTRY = "=48sHHIq"


class File:
    """The scope of the file of MRI that a function is in."""

    def __init__(self, function):
        symbol = gdb.lookup_global_symbol(function)
        self.block = gdb.block_for_pc(int(symbol.value().address)).static_block
        self.line = "%s:%d" % (symbol.symtab.filename, symbol.line)

    def type(self, name):
        for spelling in ("struct " + name, name):
            try:
                return gdb.lookup_type(spelling, self.block).strip_typedefs()
            except gdb.error:
                continue
        raise gdb.error("no type " + name)

    def variable(self, name):
        name, *path = name.split(".")
        value = gdb.lookup_symbol(name, self.block)[0].value()
        for member in path:
            value = value[member]
        return value

    def constant(self, name):
        gdb.execute("list " + self.line, to_string=True)  # where macros are looked up
        text = gdb.execute("macro expand " + name, to_string=True).split("expands to: ")[1]
        return int(gdb.parse_and_eval(text).cast(gdb.lookup_type("long")))


def form(type):
    code = type.strip_typedefs().code
    if code == gdb.TYPE_CODE_PTR:
        return POINTER
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_FLT):
        return BYTES
    if code == gdb.TYPE_CODE_INT and type.strip_typedefs().is_signed:
        return SIGNED
    return UNSIGNED


def below(type):
    """The fields of what lies in it, each with its path and where it begins, in bits."""
    type = type.strip_typedefs()
    if type.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return
    for field in type.fields():
        name = [field.name] if field.name else []
        yield name, field.bitpos, field
        for path, bits, inner in below(field.type):
            yield name + path, field.bitpos + bits, inner


def field(type, name):
    """By its path; a shorter name is the last one of the only path that ends so."""
    path = name.split(".")
    all = list(below(type))
    found = [one for one in all if one[0] == path] or [one for one in all if one[0][-1:] == path]
    (_, bits, found_field), = found
    if found_field.bitsize:
        return [BITS, bits, found_field.bitsize]
    type = found_field.type
    return [form(type), bits // 8, type.sizeof]


def fact(file, kind, name):
    if kind == TYPE:
        return [file.type(name).sizeof]
    if kind == FIELD:
        type, path = name.split(".", 1)
        return field(file.type(type), path)
    if kind == PART:
        return [int(gdb.lookup_global_symbol("ruby_vm_descriptor_" + name[:-2]).value().address)]
    if kind == GLOBAL:
        value = file.variable(name)
        return [form(value.type), int(value.address), value.type.sizeof]
    return [file.constant(name)]


def first_fact(files, kind, name):
    """None where no debug information says anything."""
    for file in files:
        try:
            return fact(file, kind, name)
        except (gdb.error, AttributeError, ValueError):
            continue


def facts(files, object, kinds):
    return {name: first_fact(files, kind, name) for name, kind, _ in entries(object) if kind in kinds}


def entries(object):
    _, _, _, begin, size, _ = struct.unpack_from(HEADER, object)
    for place in range(begin, len(object), size):
        name, kind, _, _, number = struct.unpack_from(ENTRY, object, place)
        yield name.split(b"\0")[0].decode(), kind, number


def read(address):
    memory = gdb.selected_inferior().read_memory
    _, _, _, begin, size, count = struct.unpack(HEADER, memory(address, struct.calcsize(HEADER)))
    return bytes(memory(address, begin + size * count))


def read_all():
    """The main object has no name."""
    main = read(int(gdb.lookup_global_symbol("ruby_vm_descriptor").value().address))
    parts = {name: read(address) for name, kind, address in entries(main) if kind == PART}
    return {"": main, **parts}


def scopes():
    return {name: [File(function) for function in functions] for name, functions in FUNCTIONS.items()}


gdb.execute("set breakpoint pending off")
target = os.environ.get("DESCRIPTOR_TARGET")
if target:
    gdb.execute("target remote " + target, to_string=True)
gdb.execute("break main", to_string=True)
gdb.execute("continue" if target else "run", to_string=True)
files = scopes()
objects = read_all()
ruby = gdb.lookup_global_symbol("ruby_vm_descriptor").symtab.objfile.filename
# The parts first: gdb reads the files that have a name that it looks up, and when it has read descriptor.c, it takes the
# object of that for what MRI's files declare.
said = {name: facts(files[name], objects[name], (GLOBAL, PART)) for name in sorted(objects, reverse=True)}
gdb.execute("kill")
if ruby != gdb.current_progspace().filename:
    gdb.execute("file " + ruby)  # a shared library is gone when nothing runs
    files = scopes()
# Macros are those of the place that is listed only while nothing runs.
for name, object in objects.items():
    said[name].update(facts(files[name], object, (TYPE, FIELD, CONSTANT)))

with open(os.environ["DESCRIPTOR_OUT"], "w") as out:
    json.dump({name: {"object": object.hex(), "facts": said[name]} for name, object in objects.items()}, out)
