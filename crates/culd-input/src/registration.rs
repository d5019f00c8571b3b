//! `--register-link-binaries`: the list of module ids that the host's registration code is made from.
//!
//! 1. One id per object, in link order. A host object has its own (`__nv_module_id`, up to the NUL), also when it has no code for the target.
//! 2. Everything else that is linked is named by its absolute path with every character outside `[A-Za-z0-9]` replaced by `_`.
//! 3. After link-time optimization of a whole program the last object comes first; modules in files of their own have no id.
//! 4. An object made by `ld -r` has several ids: the first takes its place, the others of all objects follow at the end, last first.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ids to register.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Register {
    ids: Vec<Id>,
    further: Vec<Vec<u8>>,
    current_dir: PathBuf,
    /// nvlink quirk: an existing file is left as it is, because the device runtime was offered and not needed.
    pub keep_existing: bool,
}

/// The first id of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Id {
    /// Its own.
    Own(Vec<u8>),
    /// Made from its name. Few links ask for it, so it is made when it is needed.
    Path(Arc<str>),
}

impl Register {
    /// No ids yet; names are relative to this directory.
    pub(crate) fn new(current_dir: PathBuf) -> Self {
        Register {
            current_dir,
            ..Register::default()
        }
    }

    /// Adds the ids of one object.
    pub(crate) fn add(&mut self, ids: ModuleIds) {
        self.ids.push(Id::Own(ids.first));
        self.further.extend(ids.further);
    }

    /// Adds an object that is known by its name (`archive:member` for members).
    pub(crate) fn add_path(&mut self, name: Arc<str>) {
        self.ids.push(Id::Path(name));
    }

    /// Turns the order around.
    pub(crate) fn reverse(&mut self) {
        self.ids.reverse();
    }

    /// All ids in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let first = self.ids.iter().map(|id| match id {
            Id::Own(id) => Cow::from(id),
            Id::Path(name) => Cow::from(id_of_path(name, &self.current_dir)),
        });
        first.chain(self.further.iter().rev().map(Cow::from))
    }

    /// The file's text.
    pub fn text(&self) -> Vec<u8> {
        let count = self.ids.len() + self.further.len();
        let mut text = format!("#define NUM_PRELINKED_OBJECTS {count}\n").into_bytes();
        for id in self.ids() {
            text.extend(b"DEFINE_REGISTER_FUNC(");
            text.extend_from_slice(&id);
            text.extend(b")\n");
        }
        text
    }
}

/// The ids of one object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ModuleIds {
    /// Takes the place of the object.
    pub first: Vec<u8>,
    /// Appended at the end of the list.
    pub further: Vec<Vec<u8>>,
}

impl ModuleIds {
    /// The ids in a `__nv_module_id` section: the first up to its NUL, then every further run of bytes.
    pub fn of_section(section: &[u8]) -> Self {
        let mut parts = section.split(|&b| b == 0);
        ModuleIds {
            first: parts.next().unwrap_or_default().to_vec(),
            further: parts.filter(|p| !p.is_empty()).map(<[u8]>::to_vec).collect(),
        }
    }
}

/// The id made from a path (`archive:member` for members).
fn id_of_path(name: &str, current_dir: &Path) -> Vec<u8> {
    let full = if name.starts_with('/') {
        Cow::from(name)
    } else {
        Cow::from(format!("{}/{name}", current_dir.to_string_lossy()))
    };
    full.bytes().map(|b| if b.is_ascii_alphanumeric() { b } else { b'_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_ids_follow_in_reverse() {
        let mut register = Register::default();
        register.add(ModuleIds::of_section(b"c\0\0\0a\0b\0"));
        register.add(ModuleIds::of_section(b"k\0d"));
        let text = String::from_utf8_lossy(&register.text()).into_owned();
        let expected: String = ["c", "k", "d", "b", "a"].map(|id| format!("DEFINE_REGISTER_FUNC({id})\n")).concat();
        assert_eq!(text, format!("#define NUM_PRELINKED_OBJECTS 5\n{expected}"));
    }

    #[test]
    fn paths_become_identifiers() {
        let id = |name| String::from_utf8_lossy(&id_of_path(name, Path::new("/tmp/w"))).into_owned();
        assert_eq!(id("./mx.d/../a.cubin"), "_tmp_w___mx_d____a_cubin");
        assert_eq!(id("/x/libnm.a:no-mod.o"), "_x_libnm_a_no_mod_o");
    }

    #[test]
    fn no_objects_is_one_line() {
        assert_eq!(Register::default().text(), b"#define NUM_PRELINKED_OBJECTS 0\n");
    }
}
