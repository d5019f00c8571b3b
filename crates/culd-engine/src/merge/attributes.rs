//! Checks of function attributes that options enable.
//!
//! 1. `--cuda-api-version`: no function may use a newer interface; every record that does is an error.
//! 2. `--link-as-tools-patch`: every function must be compiled for that; the first one that is not ends the link.
//!
//! And one that later releases always make: functions compiled with a sanitizer (`-Xptxas -sanitize=memcheck`) are of one toolkit. Observed: weak copies
//! that lost do not count, and every other function of a file with another toolkit than that of the first one is an error.

use super::Merger;
use crate::diagnostics::{Code, Stop};
use crate::ids::ObjectId;
use crate::object::{Object, Role, text};
use crate::options::Identity;
use cubin::consts::STB_WEAK;
use cubin::nvinfo::{Record, records};

const CUDA_API_VERSION: u8 = 0x37;
const TOOLS_PATCH_FUNC: u8 = 0x4b;
const SANITIZE: u8 = 0x5c;

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

    /// Errors about functions that other toolkits compiled with a sanitizer, in link order.
    pub(super) fn sanitizer_mismatches(&self) -> Vec<(ObjectId, Code)> {
        let objects = &self.inputs.objects;
        let mut toolkits = objects.iter().map(|o| o.toolkit);
        let first = toolkits.next();
        if !self.mode.rules.compares_sanitizers || toolkits.all(|t| Some(t) == first) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        let mut known = None;
        for object in objects.iter() {
            let sanitized = function_records(object).filter(|(_, r)| r.attribute == SANITIZE);
            let mut texts: Vec<u32> = sanitized.map(|(text, _)| text).collect();
            texts.sort_unstable();
            let counts = |index: &&u32| {
                let symbol = object.symbol(**index);
                let is_sanitized = symbol.defined_in().is_some_and(|s| texts.binary_search(&s).is_ok());
                is_sanitized && (symbol.bind != STB_WEAK || self.resolved.took(object.symbol_ref(**index)))
            };
            let taken = if texts.is_empty() {
                0
            } else {
                object.function_order().iter().filter(counts).count()
            };
            if taken == 0 {
                continue;
            }
            let first = *known.get_or_insert(object.toolkit);
            if first == object.toolkit {
                continue;
            }
            // nvlink quirk: it reports the file once for each function.
            let repeats = if self.options.identity == Identity::Nvlink { taken } else { 1 };
            let error = || Code::SanitizerMismatch {
                file: object.name.into(),
                toolkit: object.toolkit,
                first,
            };
            errors.extend((0..repeats).map(|_| (object.id, error())));
        }
        errors
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
