//! `.note.nv.tkinfo` and `.note.nv.cuinfo`.

use crate::layout::Context;
use cubin::notes::{CudaInfo, ToolInfo};

/// The linker's own entry, then every input's entries as they are (not in relocatable outputs).
pub fn tool_note(context: Context<'_, '_>) -> Vec<u8> {
    let note = &context.options.note;
    let own = ToolInfo {
        version: 2,
        object: &note.object_name,
        tool: &note.tool_name,
        tool_version: &note.version,
        build: &note.build,
        arguments: &note.command_line,
    };
    let mut out = Vec::new();
    // The note's strings are far below the 4 GB that its offsets can hold.
    own.write(&mut out).unwrap_or_default();
    if !context.mode.relocatable {
        for object in context.inputs.objects.iter() {
            out.extend_from_slice(object.tkinfo.unwrap_or_default());
        }
    }
    out
}

/// Virtual architecture: the smallest of target and inputs.
pub fn virtual_arch(context: Context<'_, '_>) -> u32 {
    let inputs = context.inputs.objects.iter().filter_map(|o| o.virtual_sm);
    inputs.fold(context.options.target.number, u32::min)
}

/// What the file was made for, and the toolkit.
pub fn cuda_note(context: Context<'_, '_>) -> Vec<u8> {
    let virtual_sm = virtual_arch(context);
    let mut out = Vec::new();
    CudaInfo {
        version: 2,
        virtual_sm: virtual_sm as u16,
        toolkit: context.mode.toolkit,
    }
    .write(&mut out)
    .unwrap_or_default();
    out
}
