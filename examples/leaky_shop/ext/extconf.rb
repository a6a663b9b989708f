require "mkmf"
create_makefile("thumbnail")
