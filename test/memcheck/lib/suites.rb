# frozen_string_literal: true

# suites.rb - the tests of MRI's own extensions, and of its core, as commands.
#
# Those that watch the size of the process (memory_leak) are left out: under memcheck it says something else.

SOURCES = File.expand_path(Dir[File.join(__dir__, "../../../build/src/ruby-[0-9]*")].first || abort("no sources: make tree"))

# What is tested, by name: files or directories below MRI's test/.
SUITES = {
  "cgi/escape" => %w[cgi/test_cgi_util.rb], "continuation" => %w[ruby/test_continuation.rb], "coverage" => %w[coverage],
  "date" => %w[date], "digest" => %w[digest], "erb/escape" => %w[erb], "etc, rbconfig/sizeof" => %w[etc test_rbconfig.rb],
  "fcntl, io" => %w[io socket/test_nonblock.rb], "fiddle" => %w[fiddle], "json" => %w[json], "monitor" => %w[monitor],
  "objspace" => %w[objspace], "openssl" => %w[openssl], "pathname" => %w[pathname], "psych" => %w[psych], "pty" => %w[test_pty.rb],
  "ripper" => %w[ripper], "socket" => %w[socket], "stringio" => %w[stringio], "strscan" => %w[strscan], "zlib" => %w[zlib],
  "those MRI tests itself with" => %w[-ext-]
}.freeze

# The same of MRI itself: those of its tests that do not take many minutes.
CORE_SUITES = %w[
  array autoload bignum class dir enumerator eval exception file hash io iseq lambda m17n marshal method module object pack parse proc range rational
  refinement regexp require settracefunc signal string struct symbol thread thread_queue time weakmap
].to_h { |name| ["core #{name}", ["ruby/test_#{name}.rb"]] }.freeze

# What runs a suite by that ruby, in SOURCES.
def suite_command(ruby, name)
  tests = SUITES.merge(CORE_SUITES).fetch(name).map { |path| "test/#{path}" }
  [ruby, "-W0", "test/runner.rb", "--ruby=#{ruby}", "--excludes-dir=test/.excludes", "--name=!/memory_leak/", "-q", "--tty=no", *tests]
end
