//! The link of a [`Linker`]: read, link, collect.

use super::linked::Usage;
use super::memory::{Inputs, Named, Source};
use super::{Diagnostic, Entry, LinkError, Linked, Linker};
use crate::cli::causes::Causes;
use cubin::release::{Form, Release, Version};
use culd_engine::{Identity, Input, KernelFilter, LinkOptions, Outcome, Severity, Status};
use culd_input::check::{self, Verdict};
use culd_input::detect::FileKind;
use culd_input::lto::{KeepRule, LtoOptions};
use culd_input::ptx::PtxasSearch;
use culd_input::{LoadOptions, Loaded, LoadedObject, Origin};
use culd_lto::{Compiler, Failure, Job, Search};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Linker {
    /// Reads one input.
    pub(super) fn read(&self, source: Source) -> Result<(Vec<LoadedObject>, Vec<Diagnostic>), LinkError> {
        if let Some((name, expected, found)) = source.wrong_kind() {
            return Err(LinkError::wrong_kind(name, expected, found));
        }
        if let Some(object) = self.sound_object(&source) {
            return Ok((vec![object], Vec::new()));
        }
        let needs_tools = !matches!(&source, Source::Memory { bytes, .. } if is_device_object(bytes));
        let inputs = [Named::of(&source)];
        let options = LoadOptions {
            host_info: false,
            // One input is not worth a pool of threads, which a process that forks would lose.
            threads: 1,
            ..self.load_options(needs_tools)
        };
        let (loaded, mut diagnostics) = load(&inputs, &options)?;
        // As nvlink, the engine leaves out what is damaged. Here somebody can still be told.
        if self.engine.identity == Identity::Nvlink {
            let count = diagnostics.len();
            diagnostics.extend(loaded.objects.iter().filter_map(damage));
            if diagnostics.len() > count {
                return Err(LinkError::new(diagnostics));
            }
        }
        Ok((loaded.objects, diagnostics))
    }

    /// A device object about which there is nothing to report: the common case of a small link, without the loader's tables.
    fn sound_object(&self, source: &Source) -> Option<LoadedObject> {
        let Source::Memory { name, bytes, .. } = source else { return None };
        if self.lto || !is_device_object(bytes) {
            return None;
        }
        let cubin = cubin::Cubin::parse(bytes).ok()?;
        let verdict = check::check_parsed(&cubin, name, self.engine.target, self.engine.release, check::ObjectSource::File);
        let is_trusted = self.engine.identity != Identity::Nvlink;
        if verdict != Verdict::Accept(Vec::new()) || !is_trusted && cubin::validate::validate(&cubin).is_err() {
            return None;
        }
        Some(LoadedObject {
            name: name.as_str().into(),
            bytes: bytes.clone(),
            origin: Origin::Binary,
        })
    }

    fn load_options(&self, needs_tools: bool) -> LoadOptions {
        let engine = &self.engine;
        LoadOptions {
            release: engine.release,
            libraries: self.libraries.clone(),
            library_directories: self.library_paths.clone(),
            strict_libraries: true,
            host_info: self.host_info && engine.kernels.is_none() && !engine.relocatable,
            suppress_arch_warning: self.suppress_arch_warning,
            warnings_as_errors: engine.warnings_as_errors,
            lto: self.lto.then(|| self.lto_options()),
            ptx: self.ptx.clone(),
            ptxas: match needs_tools {
                true => PtxasSearch::from_environment(self.ptxas.clone()),
                false => PtxasSearch::default(),
            },
            ptx_cache: self.ptx_cache.clone(),
            threads: engine.threads,
            ..LoadOptions::new(engine.target)
        }
    }

    fn lto_options(&self) -> LtoOptions {
        let library = Search::from_environment(self.nvjitlink.clone(), None).find();
        let names = |list: &[Vec<u8>]| list.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect();
        LtoOptions {
            compiler: Arc::new(InProcess { library }),
            relocatable: self.engine.relocatable,
            emit_ptx: false,
            force_partial: false,
            debug: self.engine.debug,
            fast_compile: None,
            split_compile: None,
            split_twice: false,
            nvvm: Vec::new(),
            uses: match (&self.engine.kernels, self.host_info) {
                (Some(filter), _) => KeepRule::Named {
                    kernels: names(&filter.external),
                    variables: names(&filter.external_constants),
                },
                (None, true) => KeepRule::Host,
                (None, false) => KeepRule::Unknown,
            },
        }
    }
}

/// Compiles LTO IR with the library loaded into this process.
#[derive(Debug)]
struct InProcess {
    library: Result<PathBuf, Vec<String>>,
}

impl Compiler for InProcess {
    fn compile(&self, job: &Job) -> Result<Vec<u8>, Failure> {
        match &self.library {
            Ok(library) => culd_lto::compile(library, job),
            Err(tried) => Err(Failure::Library(format!(
                "libnvJitLink.so.13 was not found{}",
                culd_base::tried(tried)
            ))),
        }
    }
}

fn is_device_object(bytes: &[u8]) -> bool {
    matches!(FileKind::of(bytes), FileKind::DeviceElf { .. })
}

/// What is wrong with the structure of an object.
fn damage(object: &LoadedObject) -> Option<Diagnostic> {
    let cubin = cubin::Cubin::parse(&object.bytes).map_err(|e| e.to_string());
    let checked = cubin.and_then(|cubin| cubin::validate::validate(&cubin).map_err(|e| e.to_string()));
    checked.err().map(|reason| Diagnostic::damaged(&object.name, &reason))
}

/// Reads inputs through the loader.
fn load(inputs: &[Named], options: &LoadOptions) -> Result<(Loaded, Vec<Diagnostic>), LinkError> {
    let paths: Vec<&Path> = inputs.iter().map(Named::name).collect();
    let outcome = culd_input::load(&paths, options, &Inputs(inputs));
    let target = options.target.to_string();
    let mut diagnostics: Vec<Diagnostic> = outcome.messages().map(|m| Diagnostic::of_loader(m, &target)).collect();
    match outcome.loaded {
        Some(loaded) => Ok((loaded, diagnostics)),
        None => {
            diagnostics.extend(outcome.passed_over.iter().map(|m| Diagnostic::of_loader(m, &target)));
            Err(LinkError::new(diagnostics))
        }
    }
}

/// Reads and links everything.
pub(super) fn link(linker: &Linker) -> Result<Linked, LinkError> {
    let target = linker.engine.target;
    let links = |r: &Release| target.is_in(r.toolkit);
    // culd links for architectures that CUDA 13 dropped, but not under a name that CUDA 13 replaced.
    let is_nvlink = linker.engine.identity == Identity::Nvlink;
    let by_name = || (target.is_renamed() || is_nvlink && target.is_before_turing()).then(|| Version::default().release);
    if let Some(release) = linker.engine.release.or_else(by_name).filter(|r| !links(r)) {
        return Err(LinkError::not_in_release(target, release));
    }
    let all_loaded = linker.libraries.is_empty() && linker.entries.iter().all(|e| matches!(e, Entry::Loaded(_)));
    if all_loaded {
        let objects = linker.entries.iter().flat_map(|entry| match entry {
            Entry::Loaded(objects) => objects.as_slice(),
            Entry::Pending(_) => &[],
        });
        return link_objects(linker, objects.collect(), None, Vec::new());
    }
    let wrong = linker.entries.iter().find_map(|entry| match entry {
        Entry::Pending(source) => source.wrong_kind(),
        Entry::Loaded(_) => None,
    });
    if let Some((name, expected, found)) = wrong {
        return Err(LinkError::wrong_kind(name, expected, found));
    }
    let inputs: Vec<Named> = linker.entries.iter().flat_map(Named::all).collect();
    let (loaded, diagnostics) = load(&inputs, &linker.load_options(true))?;
    if let Some(finished) = loaded.finished {
        return Ok(Linked::finished(linker, finished.bytes, diagnostics));
    }
    let early = loaded.is_optimized;
    let by_host = loaded.kernels.map(|filter| KernelFilter { early, ..filter });
    link_objects(linker, loaded.objects.iter().collect(), by_host, diagnostics)
}

/// Links device objects.
fn link_objects(
    linker: &Linker,
    objects: Vec<&LoadedObject>,
    by_host: Option<KernelFilter>,
    mut diagnostics: Vec<Diagnostic>,
) -> Result<Linked, LinkError> {
    let inputs: Vec<Input<'_>> = objects
        .iter()
        .map(|object| Input {
            name: &object.name,
            data: &object.bytes,
        })
        .collect();
    let mut options: LinkOptions<'_> = linker.engine.clone();
    options.unified_index = linker.index.as_deref();
    options.kernels = options.kernels.or(by_host);
    if options.identity == Identity::Nvlink && options.release.is_none() {
        options.release = newest_release(&inputs);
    }
    let outcome = culd_engine::link(&inputs, &options);
    let usage = outcome.explained.usage.as_ref().map(Usage::new).unwrap_or_default();
    let causes = Causes::new(&outcome.messages, inputs.iter().map(|i| (i.name, i.data)), None);
    diagnostics.extend(outcome.messages.iter().map(|d| Diagnostic::of_engine(d, &causes)));
    let lines = nvlink_lines(&outcome);
    match (outcome.status, outcome.image) {
        (Status::Success, Some(image)) => Ok(Linked::new(linker, image, usage, &objects, diagnostics).with_lines(lines)),
        _ => {
            if !diagnostics.iter().any(|d| d.severity >= Severity::Error) {
                diagnostics.push(Diagnostic::internal("the link made no image"));
            }
            Err(LinkError::new(diagnostics).with_lines(lines))
        }
    }
}

/// Messages and use of resources in nvlink's order and words.
fn nvlink_lines(outcome: &Outcome) -> Vec<(Severity, String)> {
    let usage = outcome.explained.usage.as_ref();
    let before = usage.map_or(outcome.messages.len(), |u| u.after).min(outcome.messages.len());
    let (first, rest) = outcome.messages.split_at(before);
    let line = |d: &culd_engine::Diagnostic| (d.severity, d.code.to_string());
    let used = usage.map(|u| u.lines()).unwrap_or_default();
    let used = used.into_iter().map(|text| (Severity::Info, text));
    first.iter().map(line).chain(used).chain(rest.iter().map(line)).collect()
}

/// The release of the newest input.
fn newest_release(inputs: &[Input<'_>]) -> Option<&'static Release> {
    let toolkit = |input: &Input<'_>| {
        let cubin = cubin::Cubin::parse(input.data).ok()?;
        Some(culd_base::admission::toolkit(&cubin).unwrap_or(0))
    };
    let newest = inputs.iter().filter_map(toolkit).max()?;
    Some(Release::with_form(newest, Form::Cuda13))
}
