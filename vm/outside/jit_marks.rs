//! Tells vm/outside/jit_code.c, while a block is being compiled, which code is of which
//! instruction. A part of YJIT's crate (patch 0017-jit_code). It emits no machine code.

use crate::backend::ir::Assembler;
use crate::codegen::JITState;
use crate::core::BlockId;
use crate::cruby::IseqPtr;

extern "C" {
    fn rb_heapprof_jit_mark(code: *const u8, iseq: IseqPtr, index: u32);
    fn rb_heapprof_jit_mark_returned(code: *const u8);
    fn rb_heapprof_jit_mark_end(code: *const u8);
}

/// The code that follows is of that instruction.
pub fn mark(asm: &mut Assembler, at: BlockId) {
    asm.pos_marker(move |code, cb| unsafe {
        rb_heapprof_jit_mark(code.raw_ptr(cb), at.iseq, at.idx.into())
    });
}

/// The code that follows is of the instruction that is being compiled.
pub fn mark_insn(jit: &JITState, asm: &mut Assembler) {
    mark(asm, BlockId { iseq: jit.get_iseq(), idx: jit.get_insn_idx() });
}

/// The code that follows runs when a callee has just returned: the frame has its pc.
pub fn mark_returned(asm: &mut Assembler) {
    asm.pos_marker(move |code, cb| unsafe { rb_heapprof_jit_mark_returned(code.raw_ptr(cb)) });
}

/// The block ends here.
pub fn mark_end(asm: &mut Assembler) {
    asm.pos_marker(move |code, cb| unsafe { rb_heapprof_jit_mark_end(code.raw_ptr(cb)) });
}
