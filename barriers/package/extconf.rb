# frozen_string_literal: true

# extconf.rb - for `gem install heapprof-barriers`: builds the program by the gem's own Makefile. Nothing is loaded into ruby.

File.write("Makefile", <<~'MAKEFILE')
  all:
  	$(MAKE) -C ../.. heapprof-barriers
  install clean:
  	@true
  .PHONY: all install clean
MAKEFILE
