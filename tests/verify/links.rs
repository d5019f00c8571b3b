//! The recorded links as values: nvlink's file, its inputs and the options, for links of device objects.

use culd_engine::{Arch, Identity, KernelFilter, LinkOptions};
use culd_tests::fixture::Fixture;
use std::path::Path;

/// A recorded link that made a file.
pub struct Link {
    /// Name of the fixture and arguments.
    pub name: String,
    /// Name and contents of every input.
    pub inputs: Vec<(String, Vec<u8>)>,
    /// What nvlink wrote.
    pub image: Vec<u8>,
    pub options: LinkOptions<'static>,
}

impl Link {
    /// What `--verify` finds in an image made from these inputs.
    pub fn problems(&self, image: &[u8]) -> Vec<culd_engine::verify::Problem> {
        let inputs: Vec<culd_engine::Input<'_>> = self.inputs.iter().map(|(name, data)| culd_engine::Input { name, data }).collect();
        culd_engine::verify::check(image, &inputs, &self.options)
    }
}

/// All links whose inputs are device objects, and how many others there are.
pub fn recorded() -> (Vec<Link>, usize) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files: Vec<_> = std::fs::read_dir(fixtures).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "fixture"));
    files.sort();
    let (mut links, mut others) = (Vec::new(), 0);
    for file in files {
        let fixture = Fixture::decode(&std::fs::read(&file).unwrap()).unwrap();
        let case = file.file_stem().unwrap().to_string_lossy().into_owned();
        for (i, recorded) in fixture.links.iter().enumerate() {
            if recorded.outcome.exit != 0 || recorded.outcome.files.is_empty() {
                continue;
            }
            match link(&fixture, i, &case) {
                Some(link) => links.push(link),
                None => others += 1,
            }
        }
    }
    (links, others)
}

fn list(text: &str) -> Vec<Vec<u8>> {
    text.split(',').map(|p| p.as_bytes().to_vec()).collect()
}

fn link(fixture: &Fixture, number: usize, case: &str) -> Option<Link> {
    let recorded = fixture.links.get(number)?;
    let find = |name: &str| {
        let earlier = fixture.links.iter().take(number).rev().find_map(|l| l.outcome.files.get(name));
        earlier.or_else(|| fixture.inputs.get(name)).cloned()
    };
    let mut options = LinkOptions::new(Arch::parse("sm_90")?);
    options.identity = Identity::Nvlink;
    let (mut inputs, mut image) = (Vec::new(), None);
    let mut words = recorded.args.split_whitespace().map(|w| w.trim_matches('\''));
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        match flag {
            "-arch" => options.target = Arch::parse(value)?,
            "-o" => image = recorded.outcome.files.get(words.next()?).cloned(),
            "-r" => options.relocatable = true,
            "-g" => options.debug = true,
            "--preserve-relocs" => options.preserve_relocs = true,
            "--kernels-used" | "--variables-used" => {
                let filter = options.kernels.get_or_insert_with(KernelFilter::default);
                if flag == "--kernels-used" {
                    filter.external = list(value);
                    filter.internal = list(value);
                }
            }
            "-use-host-info" | "--use-host-info" | "--uidx-file" => return None,
            _ if flag.starts_with('-') => {}
            _ if word.ends_with(".o") || word.ends_with(".a") => return None,
            _ => match find(word) {
                Some(bytes) if bytes.starts_with(b"\x7fELF") => inputs.push((word.to_string(), bytes)),
                _ => continue,
            },
        }
    }
    Some(Link {
        name: format!("{case} {}: {}", number + 1, recorded.args),
        inputs,
        image: image.filter(|i| i.starts_with(b"\x7fELF"))?,
        options,
    })
}
