# program.mk - how heapprof is linked and installed, once for the two who do it: this repository's
# Makefile, and MRI's make in a source archive (scripts/dist), where there is no Makefile of ours.
#
# After plain.mk, of whose objects it is made. The includer sets
#   CLI_PROGRAM   the file
#   CLI_LINK      compiler and flags that link it
#   CLI_EMULATOR  what runs it here, if that has to be told
#   CLI_PAGE      .../page.html, the page of `heapprof view`, which is linked in (scripts/page)
#   CLI_BIN, CLI_SHARE   where it and its documents are installed
# and gets
#   programs             both of them
#   BARRIERS_PROGRAM     heapprof-barriers beside it; nothing where there is no libclang
#   install-program

CLI_PAGE_OBJ = $(dir $(CLI_PROGRAM))page.o

# What `heapprof watch`, `serve` and `memcheck --engine=valgrind` need becomes part of the program: ncurses, libevent, expat.
# Without one of them that command says so.
CLI_TRY = $(shell echo 'int main(void) { return 0; }' | \
	$(CC) -include $(1) -x c -o /dev/null - $(2) >/dev/null 2>&1 && echo $(2))
CLI_CURSES := $(call CLI_TRY,curses.h,-l:libncursesw.a -l:libtinfo.a)
CLI_EVENT := $(call CLI_TRY,event2/http.h,-l:libevent.a)
CLI_EXPAT := $(call CLI_TRY,expat.h,-l:libexpat.a -lm)

# What depends on these is compiled again when one has come or gone.
CLI_FOUND = $(PLAIN_OBJ)/cli/found
CLI_USERS = $(foreach part,serve/server live/screen,$(PLAIN_OBJ)/cli/$(part).o) \
	$(foreach part,file reader xml messages,$(PLAIN_OBJ)/memcheck/valgrind/$(part).o)

$(CLI_FOUND): FORCE
	@mkdir -p $(@D)
	@echo '$(CLI_CURSES) $(CLI_EVENT) $(CLI_EXPAT)' | cmp -s - $@ || \
		echo '$(CLI_CURSES) $(CLI_EVENT) $(CLI_EXPAT)' >$@

FORCE:

$(CLI_USERS): $(CLI_FOUND)
$(PLAIN_OBJ)/cli/serve/server.o: PLAIN_CC += $(if $(CLI_EVENT),-DHEAPPROF_EVENT)
$(foreach part,file reader xml messages,$(PLAIN_OBJ)/memcheck/valgrind/$(part).o): PLAIN_CC += $(if $(CLI_EXPAT),-DHEAPPROF_EXPAT)
$(PLAIN_OBJ)/cli/live/screen.o: PLAIN_CC += $(if $(CLI_CURSES),-DHEAPPROF_CURSES)

$(CLI_PROGRAM): $(PLAIN_OBJS) $(CLI_PAGE_OBJ)
	@mkdir -p $(@D)
	$(ECHO) linking $@
	$(Q) $(CLI_LINK) -o $@ $(PLAIN_OBJS) $(CLI_PAGE_OBJ) -lz -lm $(CLI_CURSES) $(CLI_EVENT) $(CLI_EXPAT)

# What `heapprof barriers` runs. Debian has libclang below a directory of its version: the newest one is taken.
CLI_CLANG := $(patsubst %/include/clang-c/Index.h,%,$(shell \
	ls /usr/lib/llvm-*/include/clang-c/Index.h 2>/dev/null | sort -V | tail -n 1))
BARRIERS_PROGRAM = $(if $(CLI_CLANG),$(CLI_PROGRAM)-barriers)
BARRIERS_OBJS = $(patsubst $(PLAIN_SRC)/%.c,$(PLAIN_OBJ)/%.o,$(wildcard $(PLAIN_SRC)/barriers/*.c $(PLAIN_SRC)/barriers/*/*.c))
BARRIERS_ROOMS = $(filter $(foreach room,base pprof report,$(PLAIN_OBJ)/$(room)/%),$(PLAIN_OBJS))

$(BARRIERS_OBJS): $(PLAIN_OBJ)/%.o: $(PLAIN_SRC)/%.c
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(PLAIN_COMPILE) -isystem $(CLI_CLANG)/include -MMD -MP -c -o $@ $<

$(CLI_PROGRAM)-barriers: $(BARRIERS_OBJS) $(BARRIERS_ROOMS)
	@mkdir -p $(@D)
	$(ECHO) linking $@
	$(Q) $(CLI_LINK) -o $@ $^ -L$(CLI_CLANG)/lib -lclang -lz -lm

-include $(wildcard $(BARRIERS_OBJS:.o=.d))

programs: $(CLI_PROGRAM) $(BARRIERS_PROGRAM)

# The symbols are named after the file as it is given.
$(CLI_PAGE_OBJ): $(CLI_PAGE)
	@mkdir -p $(@D)
	$(Q) cd $(<D) && $(LD) -r -b binary -z noexecstack -o $(abspath $@) $(<F)

# With what it makes of its own tables of commands.
install-program: $(CLI_PROGRAM) $(BARRIERS_PROGRAM)
	@mkdir -p $(CLI_BIN) $(CLI_SHARE)/man/man1 $(CLI_SHARE)/bash-completion/completions \
		$(CLI_SHARE)/zsh/site-functions $(CLI_SHARE)/fish/vendor_completions.d
	$(Q) cp $(CLI_PROGRAM) $(CLI_BIN)/heapprof.new
	$(Q) mv $(CLI_BIN)/heapprof.new $(CLI_BIN)/heapprof
	$(Q) $(if $(BARRIERS_PROGRAM),cp $(BARRIERS_PROGRAM) $(CLI_BIN)/heapprof-barriers)
	$(Q) $(CLI_EMULATOR) $(CLI_PROGRAM) help --man >$(CLI_SHARE)/man/man1/heapprof.1
	$(Q) $(CLI_EMULATOR) $(CLI_PROGRAM) help --completion=bash >$(CLI_SHARE)/bash-completion/completions/heapprof
	$(Q) $(CLI_EMULATOR) $(CLI_PROGRAM) help --completion=zsh >$(CLI_SHARE)/zsh/site-functions/_heapprof
	$(Q) $(CLI_EMULATOR) $(CLI_PROGRAM) help --completion=fish >$(CLI_SHARE)/fish/vendor_completions.d/heapprof.fish

.PHONY: programs install-program FORCE
