//! `.note.nv.tkinfo` and `.note.nv.cuinfo`.

use crate::session::Link;
use cubin::notes::{CudaInfo, FirstCudaInfo, ToolInfo};
use cubin::release::NoteArch;

/// The linker's own entry, then every input's entries as they are (not in relocatable outputs).
pub fn tool_note(link: Link<'_, '_>) -> Vec<u8> {
    let note = &link.options.note;
    let own = ToolInfo {
        version: if link.mode.rules.first_notes { link.mode.toolkit } else { 2 },
        object: &note.object_name,
        tool: &note.tool_name,
        tool_version: &note.version,
        build: &note.build,
        arguments: &note.command_line,
    };
    let mut out = Vec::new();
    // The note's strings are far below the 4 GB that its offsets can hold.
    own.write(&mut out).unwrap_or_default();
    if !link.mode.relocatable {
        for object in link.inputs.objects.iter() {
            out.extend_from_slice(object.tkinfo.unwrap_or_default());
        }
    }
    out
}

/// The virtual architecture that the file states.
pub fn virtual_arch(link: Link<'_, '_>) -> u32 {
    let mut inputs = link.inputs.objects.iter().filter_map(|o| o.virtual_sm);
    let target = link.options.target.number;
    match link.mode.rules.note_arch {
        NoteArch::Target => target,
        NoteArch::LastInput => inputs.next_back().map_or(target, |last| last.min(target)),
        _ => inputs.fold(target, u32::min),
    }
}

/// What the file was made for, and the toolkit.
pub fn cuda_note(link: Link<'_, '_>) -> Vec<u8> {
    let virtual_sm = virtual_arch(link);
    let mut out = Vec::new();
    if link.mode.rules.first_notes {
        let info = FirstCudaInfo {
            virtual_sm: virtual_sm as u16,
        };
        info.write(&mut out).unwrap_or_default();
        return out;
    }
    CudaInfo {
        version: 2,
        virtual_sm: virtual_sm as u16,
        toolkit: link.mode.toolkit,
    }
    .write(&mut out)
    .unwrap_or_default();
    out
}
