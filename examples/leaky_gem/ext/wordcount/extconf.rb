require "mkmf"
create_makefile("wordcount")
