# auto_compact.rb - what RUBYOPT has every ruby of a run require: each major GC moves objects.
#
# btest's driver is the BASERUBY, not the ruby that is tested.

GC.auto_compact = true if RUBY_VERSION.start_with?("3.4.")
