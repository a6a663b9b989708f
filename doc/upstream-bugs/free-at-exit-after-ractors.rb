# frozen_string_literal: true

# free-at-exit-after-ractors.rb - with RUBY_FREE_AT_EXIT=1 a debug build of a program that has had
# a second Ractor aborts at exit, each time: ractor_free:r == ruby_single_main_ractor. Nothing is
# wrong in a release build, which has no such assertion.
#
# Cause: at exit ractor_free (ractor.c) asserts that a Ractor that still has its allocation cache is
# ruby_single_main_ractor, which is NULL from the second Ractor's birth on. r == the VM's
# ractor.main_ractor is what was meant.
#
#     RUBY_FREE_AT_EXIT=1 ruby --disable-gems free-at-exit-after-ractors.rb     # cppflags=-DRUBY_DEBUG=1

Warning[:experimental] = false
Ractor.new { }.take
puts "aborts at exit, if this build has assertions"
