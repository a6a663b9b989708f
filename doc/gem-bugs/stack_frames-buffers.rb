# frozen_string_literal: true

# stack_frames 0.1.4 on any Ruby:
#   heapprof memcheck -- ruby stack_frames-buffers.rb
#   definitely lost: buffer_allocate (stack_frames.so)
# The free function of a StackFrames::Buffer frees its three arrays, and not the struct that points to them: 40 bytes for each buffer.
# stack_frames-buffers.patch frees it, too.

require "stack_frames/stack_frames"

100.times { StackFrames::Buffer.new(10).capture }
