# ring0.mk - how ring 0 is compiled, once for everybody who links it: MRI's own build
# (vm/heapprof.mk) and the unit tests (Makefile.in).
#
# The includer sets
#   RING0_SRC     this directory
#   RING0_OBJ     where the objects go
#   RING0_UPB     the unpacked upb (scripts/unpack-upb)
#   RING0_CC      compiler and flags: no include path of Ruby's, so that ring 0 cannot reach up
#   RING0_SCRIPTS the scripts directory
#   PROTOC, OBJCOPY, LD, and MRI's ECHO and Q: how to say what is done, and hide how
# and gets
#   RING0_OBJS      the objects to link, with -lz
#   RING0_UPB_SRCS  upb's own files, for a rule that unpacks them
#
# upb stays invisible: ruby is linked with -rdynamic and a gem may bring another upb, so pprof.c,
# the only file that includes upb, is linked with it into one object whose other symbols are local.

RING0_OBJS = $(patsubst $(RING0_SRC)/%.c,$(RING0_OBJ)/%.o,$(wildcard $(RING0_SRC)/*.c))
RING0_UPB_SRCS = $(addprefix $(RING0_UPB)/,ruby-upb.c \
	$(addprefix third_party/utf8_range/,naive.c range2-neon.c range2-sse.c))
RING0_PARTS = $(addprefix $(RING0_OBJ)/parts/,pprof.o $(notdir $(RING0_UPB_SRCS:.c=.o)))
RING0_COMPILE = $(RING0_CC) -std=gnu99 -fvisibility=hidden -iquote $(RING0_SRC)
RING0_COMPILE_UPB = $(RING0_COMPILE) -I$(RING0_OBJ) -isystem $(RING0_UPB) -fno-lto -DNDEBUG

$(RING0_OBJ)/%.o: $(RING0_SRC)/%.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(RING0_COMPILE) -MMD -MP -c -o $@ $<

$(RING0_OBJ)/pprof.o: $(RING0_PARTS)
	$(ECHO) linking $@
	$(Q) $(LD) -r -o $@.new $(RING0_PARTS)
	$(Q) $(OBJCOPY) --wildcard --keep-global-symbol='rb_heapprof_*' $@.new
	$(Q) mv $@.new $@

$(RING0_OBJ)/parts/pprof.o: $(RING0_SRC)/pprof.c $(RING0_OBJ)/pprof_descriptor.h
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(RING0_COMPILE_UPB) -MMD -MP -c -o $@ $<

$(RING0_OBJ)/parts/ruby-upb.o: $(RING0_UPB)/ruby-upb.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(RING0_COMPILE_UPB) -w -c -o $@ $<

$(RING0_OBJ)/parts/%.o: $(RING0_UPB)/third_party/utf8_range/%.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(RING0_COMPILE_UPB) -w -c -o $@ $<

$(RING0_OBJ)/pprof_descriptor.h: $(RING0_SRC)/pprof.proto $(RING0_SCRIPTS)/descriptor
	@mkdir -p $(@D)
	$(ECHO) generating $@
	$(Q) $(RING0_SCRIPTS)/descriptor $(PROTOC) $< $@

-include $(wildcard $(RING0_OBJ)/*.d $(RING0_OBJ)/parts/*.d)
