//! Files that are opened after libraries were searched and before inputs are read.
//!
//! 1. The time table is started.
//! 2. Link-time optimization needs its library.
//! 3. The index of unified functions and variables, whose shape is checked at once.
//! 4. The file for `.nv.host`.

use crate::cli::hiargs::LinkPlan;
use crate::cli::messages::CliMessage;
use crate::cli::{lto, os, side_outputs};

/// What was read.
#[derive(Debug)]
pub struct AuxInputs {
    /// `--uidx-file`.
    pub unified_index: Option<Vec<u8>>,
    /// `--nv-host`.
    pub host_data: Option<Vec<u8>>,
}

impl AuxInputs {
    /// Opens everything that the plan names.
    pub fn open(plan: &LinkPlan) -> Result<Self, CliMessage> {
        if let Some(file) = &plan.side.time {
            side_outputs::start_time_table(file)?;
        }
        if let Some(lto) = &plan.lto {
            lto::library(lto, plan.options.identity)?;
        }
        let unified_index = plan.side.unified_index.as_deref().map(read).transpose()?;
        if let Some(index) = &unified_index {
            check_index(index)?;
        }
        let host_data = plan.side.host.as_deref().map(read).transpose()?;
        Ok(AuxInputs { unified_index, host_data })
    }
}

/// Reads a whole file that must not be empty.
fn read(file: &[u8]) -> Result<Vec<u8>, CliMessage> {
    let path = os::path(file);
    if path.is_dir() {
        // nvlink quirk: it asks for the size of a directory and allocates that much.
        return Err(CliMessage::Directory(file.to_vec()));
    }
    match std::fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Err(CliMessage::EmptyFile(file.to_vec())),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(CliMessage::InputFile(file.to_vec())),
    }
}

/// Size of an index file's header.
const INDEX_HEADER: u64 = 48;

/// Checks the shape of an index file: magic, version, two counts, and exactly as many records.
fn check_index(bytes: &[u8]) -> Result<(), CliMessage> {
    if !bytes.starts_with(b"\x7fUFTINDX") {
        return Err(CliMessage::NotIndex);
    }
    let shape = || {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let version = u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?);
        let (functions, data) = (word(24)?, word(40)?);
        // Version 2 has 16 bytes more for each function, after all records.
        let function = if version < 2 { 24 } else { 40 };
        functions
            .checked_mul(function)?
            .checked_add(data.checked_mul(24)?)?
            .checked_add(INDEX_HEADER)
    };
    match shape() {
        Some(size) if size == bytes.len() as u64 => Ok(()),
        _ => Err(CliMessage::MalformedIndex),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index with room for `room` bytes of records.
    fn index(version: u8, functions: u8, room: usize) -> Vec<u8> {
        let mut bytes = b"\x7fUFTINDX".to_vec();
        bytes.resize(INDEX_HEADER as usize + room, 0);
        bytes[8] = version;
        bytes[24] = functions;
        bytes
    }

    #[test]
    fn index_files_have_exactly_their_records() {
        assert_eq!(check_index(&index(1, 2, 48)), Ok(()));
        assert_eq!(check_index(&index(2, 3, 120)), Ok(()));
        let mut both = index(2, 3, 120 + 24);
        both[40] = 1;
        assert_eq!(check_index(&both), Ok(()));
        assert_eq!(check_index(&index(1, 2, 49)), Err(CliMessage::MalformedIndex));
        assert_eq!(check_index(&index(2, 2, 48)), Err(CliMessage::MalformedIndex));
        assert_eq!(check_index(b"\x7fUFTINDX\x01"), Err(CliMessage::MalformedIndex));
        assert_eq!(check_index(b"\x7fELF"), Err(CliMessage::NotIndex));
        let mut huge = index(1, 0, 0);
        huge[24..32].fill(0xff);
        assert_eq!(check_index(&huge), Err(CliMessage::MalformedIndex));
    }
}
