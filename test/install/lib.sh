# lib.sh - what the tests of installation share; sourced, never run. Sets $top, and $tmp, which is
# removed at the end.

top=$(cd -P "$(dirname "$0")/../.." && pwd)
name=${0##*/}
mkdir -p "$top/build/tmp"
tmp=$(mktemp -d "$top/build/tmp/install-$name.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

die() {
    echo "check-$name: $*" >&2
    exit 1
}

say() {
    echo "check-$name: $*"
}

# logged COMMAND...: quiet, but for the end of what a failure said.
logged() {
    "$@" >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log" >&2; die "failed: $*"; }
}

# use BIN: a program profiled, a gem of C built, by the ruby in that directory; with nothing else of
# ruby's in the environment.
use() {
    say "using $1/ruby"
    mkdir "$tmp/use"
    (
        cd "$tmp/use"
        export PATH=$1:$PATH
        unset RUBYOPT RUBYLIB GEM_HOME GEM_PATH RUBY_HEAPPROF
        [ "$(ruby -e 'puts RbConfig.ruby')" = "$1/ruby" ] || die "RbConfig.ruby is $(ruby -e 'puts RbConfig.ruby')"
        ! command -v rustc >/dev/null || [ "$(ruby --yjit -e 'p RubyVM::YJIT.enabled?')" = true ] || die 'no YJIT'
        profiled "$1"
        extension
    )
}

profiled() {
    printf 'def keep = Array.new(10_000) { Object.new }\n$kept = keep\n' >kept.rb
    RUBY_HEAPPROF=interval=1,out=kept.pb.gz ruby kept.rb
    heapprof top kept.pb.gz --by inuse_objects --group function --focus keep >top || die 'heapprof top failed'
    grep -q '10,000 .*Class#new' top || die "expected 10,000 objects of Class#new below keep, got: $(cat top)"
    heapprof view kept.pb.gz -o kept.html >view.log 2>&1 || die "heapprof view: $(tail -n 1 view.log)"
    grep -q 'heapprof top' "${1%/bin}/share/man/man1/heapprof.1" || die 'no man page of heapprof'
}

# An extension that uses our header, by way of a gem that is built and installed.
extension() {
    mkdir -p gem/ext
    cat >gem/ext/extconf.rb <<'RUBY'
require "mkmf"
have_header("ruby/heapprof.h") && have_func("rb_heapprof_running_p", "ruby/heapprof.h") or abort "no rb_heapprof"
create_makefile("asks")
RUBY
    cat >gem/ext/asks.c <<'C'
#include <ruby.h>
#include <ruby/heapprof.h>

static VALUE
running_p(VALUE self)
{
    return rb_heapprof_running_p() ? Qtrue : Qfalse;
}

void
Init_asks(void)
{
    rb_define_global_function("heapprof_running?", running_p, 0);
}
C
    cat >gem/asks.gemspec <<'RUBY'
Gem::Specification.new("asks", "1.0") do |gem|
  gem.summary = "asks whether the profiler runs"
  gem.authors = ["heapprof"]
  gem.files = ["ext/extconf.rb", "ext/asks.c"]
  gem.extensions = ["ext/extconf.rb"]
end
RUBY
    export GEM_HOME=$PWD/gems
    (cd gem && logged gem build asks.gemspec && logged gem install --local --no-document asks-1.0.gem)
    [ "$(RUBY_HEAPPROF=1,out=asks.pb.gz ruby -rasks -e 'p heapprof_running?')" = true ] ||
        die 'the extension does not see the profiler run'
    [ "$(ruby -rasks -e 'p heapprof_running?')" = false ] || die 'the extension sees it run when it does not'
}
