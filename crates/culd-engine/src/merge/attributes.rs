//! Checks of function attributes that options enable.
//!
//! 1. `--cuda-api-version`: no function may use a newer interface; every record that does is an error.
//! 2. `--link-as-tools-patch`: every function must be compiled for that; the first one that is not ends the link.

use super::Merger;
use crate::diagnostics::{Code, Stop};
use crate::object::{Object, Role, text};
use cubin::nvinfo::{Record, records};

const CUDA_API_VERSION: u8 = 0x37;
const TOOLS_PATCH_FUNC: u8 = 0x4b;

/// Attributes of all functions of an object, each with its text section.
fn function_records<'d>(object: &Object<'d>) -> impl Iterator<Item = (u32, Record<'d>)> {
    let lists = object.sections.iter().filter(|s| s.role == Role::FunctionInfo);
    lists.flat_map(|s| records(s.data).flatten().map(|r| (s.info, r)))
}

impl<'d> Merger<'_, 'd, '_, '_> {
    pub(super) fn api_versions(&mut self, object: &Object<'d>) {
        let Some(limit) = self.options.api_version else { return };
        for (_, record) in function_records(object).filter(|(_, r)| r.attribute == CUDA_API_VERSION) {
            let version = record.payload.first_chunk().map_or(0, |&word| u32::from_le_bytes(word));
            if version > limit {
                self.out.error(Code::ApiVersionTooHigh {
                    file: object.name.into(),
                    version,
                    limit,
                });
            }
        }
    }

    pub(super) fn tools_patches(&mut self, object: &Object<'d>) -> Result<(), Stop> {
        if !self.options.tools_patch {
            return Ok(());
        }
        let mut marked: Vec<u32> = function_records(object)
            .filter(|(_, r)| r.attribute == TOOLS_PATCH_FUNC)
            .map(|(text, _)| text)
            .collect();
        marked.sort_unstable();
        let lacks = |index: &u32| {
            let section = object.symbol(*index).defined_in();
            section.is_some_and(|s| marked.binary_search(&s).is_err())
        };
        match object.function_order().iter().copied().find(lacks) {
            None => Ok(()),
            Some(index) => Err(self.out.fatal(Code::NotToolsPatch {
                function: text(object.symbol(index).name),
                file: object.name.into(),
                flag: self.mode.rules.tools_patch_flag,
            })),
        }
    }
}
