# plain.mk - how the rooms of plain C are compiled, once for everybody who links them: MRI's own
# build (vm/heapprof.mk) and the unit tests (Makefile.in).
#
# The includer sets
#   PLAIN_SRC     the directory the rooms are in
#   PLAIN_OBJ     where the objects go, a directory a room
#   PLAIN_UPB     the unpacked upb (scripts/unpack-upb)
#   PLAIN_CC      compiler and flags: no include path of Ruby's, so that no room can reach up to it
#   PLAIN_SCRIPTS the scripts directory
#   PLAIN_ROOMS   the rooms, if not those that ruby is linked with
#   PROTOC, OBJCOPY, LD, and MRI's ECHO and Q: how to say what is done, and hide how
# and gets
#   PLAIN_OBJS      the objects to link, with -lz
#   PLAIN_UPB_SRCS  upb's own files, for a rule that unpacks them
#
# upb stays invisible: ruby is linked with -rdynamic and a gem may bring another upb, so the only
# file that includes upb is linked with it into one object whose other symbols are local.

PLAIN_ROOMS ?= base os pprof profiler
PLAIN_OBJS = $(patsubst $(PLAIN_SRC)/%.c,$(PLAIN_OBJ)/%.o, \
	$(foreach room,$(PLAIN_ROOMS),$(wildcard $(PLAIN_SRC)/$(room)/*.c $(PLAIN_SRC)/$(room)/*/*.c)))
PLAIN_UPB_SRCS = $(addprefix $(PLAIN_UPB)/,ruby-upb.c \
	$(addprefix third_party/utf8_range/,naive.c range2-neon.c range2-sse.c))
PLAIN_UPB_USER = pprof/writer
PLAIN_PARTS = $(addprefix $(PLAIN_OBJ)/parts/,$(notdir $(PLAIN_UPB_USER)).o \
	$(notdir $(PLAIN_UPB_SRCS:.c=.o)))
# A source archive (scripts/dist) has it beside the file that includes it.
PLAIN_READY_DESCRIPTOR = $(wildcard $(PLAIN_SRC)/pprof/pprof_descriptor.h)
PLAIN_DESCRIPTOR = $(or $(PLAIN_READY_DESCRIPTOR),$(PLAIN_OBJ)/parts/pprof_descriptor.h)
PLAIN_COMPILE = $(PLAIN_CC) -std=gnu99 -fvisibility=hidden -iquote $(PLAIN_SRC)
PLAIN_COMPILE_UPB = $(PLAIN_COMPILE) -I$(PLAIN_OBJ)/parts -isystem $(PLAIN_UPB) -fno-lto -DNDEBUG

$(filter-out $(PLAIN_OBJ)/$(PLAIN_UPB_USER).o,$(PLAIN_OBJS)): $(PLAIN_OBJ)/%.o: $(PLAIN_SRC)/%.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(PLAIN_COMPILE) -MMD -MP -c -o $@ $<

$(PLAIN_OBJ)/$(PLAIN_UPB_USER).o: $(PLAIN_PARTS)
	@mkdir -p $(@D)
	$(ECHO) linking $@
	$(Q) $(LD) -r -o $@.new $(PLAIN_PARTS)
	$(Q) $(OBJCOPY) --wildcard --keep-global-symbol='rb_heapprof_*' $@.new
	$(Q) mv $@.new $@

$(PLAIN_OBJ)/parts/$(notdir $(PLAIN_UPB_USER)).o: $(PLAIN_SRC)/$(PLAIN_UPB_USER).c \
		$(PLAIN_DESCRIPTOR)
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(PLAIN_COMPILE_UPB) -MMD -MP -c -o $@ $<

$(PLAIN_OBJ)/parts/ruby-upb.o: $(PLAIN_UPB)/ruby-upb.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(PLAIN_COMPILE_UPB) -w -c -o $@ $<

$(PLAIN_OBJ)/parts/%.o: $(PLAIN_UPB)/third_party/utf8_range/%.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(PLAIN_COMPILE_UPB) -w -c -o $@ $<

ifneq ($(PLAIN_DESCRIPTOR),$(PLAIN_READY_DESCRIPTOR))
$(PLAIN_DESCRIPTOR): $(PLAIN_SRC)/pprof/pprof.proto $(PLAIN_SCRIPTS)/descriptor
	@mkdir -p $(@D)
	$(ECHO) generating $@
	$(Q) $(PLAIN_SCRIPTS)/descriptor $(PROTOC) $< $@
endif

-include $(wildcard $(PLAIN_ROOMS:%=$(PLAIN_OBJ)/%/*.d) $(PLAIN_ROOMS:%=$(PLAIN_OBJ)/%/*/*.d) $(PLAIN_OBJ)/parts/*.d)
