//! Link-time optimization of what was folded.
//!
//! 1. Without modules there is nothing to optimize, which is worth a warning.
//! 2. All modules become one PTX text ([`crate::lto`]). It may be the output itself.
//! 3. A whole program is compiled and is the output; nothing is linked, and the device runtime library is left out.
//!    If ptxas refuses it because something is undefined, it is linked after all, as culd: the link names what is undefined and where.
//! 4. Anything else is compiled as one object that takes the place of the last module.

use crate::fold::{Compilation, CompilationKind, Ended, Fold, ItemContent, LinkItem, LoadedObject, LtoModule, Origin};
use crate::lto::{self, CommonLtoOptions, LtoOptions, Others};
use crate::message::{LoadCode, Message};
use crate::ptx::{self, CompileRequest, Compiled, PtxOptions, PtxasOutput};
use cubin::arch::Suffix;
use culd_base::KernelFilter;
use culd_base::Severity;
use culd_lto::{Failure, Job};
use std::time::Instant;

/// An output that needs no link.
#[derive(Debug)]
pub struct Finished {
    /// The output.
    pub bytes: Vec<u8>,
    /// A fatal message that follows although the output is good.
    pub trailing_error: Option<Message>,
}

/// Names of the result in messages and time tables.
const OBJECT_NAME: &str = "lto.cubin";
const PTX_NAME: &str = "lto.ptx";
/// How ptxas begins its complaint about a function or variable that a whole program does not define.
const UNDEFINED: &str = "Unresolved extern";

impl Fold<'_> {
    /// Optimizes the modules.
    pub(crate) fn optimize(&mut self, lto: &LtoOptions) -> Result<Option<Finished>, Ended> {
        let is_module = |item: &LinkItem| matches!(item.content, ItemContent::Module(_));
        let Some(last) = self.items.iter().rposition(is_module) else {
            self.say(Message {
                severity: Severity::Warning,
                code: LoadCode::NoLtoObjects,
            })?;
            return Ok(None);
        };
        let mut modules = Vec::new();
        for item in self.items.iter_mut().filter(|item| is_module(item)) {
            if let ItemContent::Module(module) = std::mem::replace(&mut item.content, ItemContent::Nothing) {
                modules.push(module);
            }
        }
        let own = self.items.iter().filter(|item| item.object().is_some());
        let others = Others {
            runtime: own.clone().any(|item| item.has_runtime_name),
            objects: own.clone().any(|item| !item.has_runtime_name),
        };
        let settled = self.settle(&modules)?;
        if lto.split_twice {
            self.say(Message {
                severity: Severity::Info,
                code: LoadCode::SplitTwice,
            })?;
        }
        let hosts = modules.iter().any(|m| m.from_host);
        let ptx = self.compile_modules(lto, modules, &settled, others)?;
        if lto.emit_ptx {
            return Ok(Some(Finished {
                bytes: ptx,
                trailing_error: None,
            }));
        }
        // nvlink quirk: it links with the library only what came from host objects.
        let may_call = others.runtime && (hosts || !self.options.is_nvlink());
        let is_linked = lto.is_partial(others) || (may_call && lto::is_incomplete(&ptx));
        let (bytes, is_linked) = self.assemble_as(&ptx, lto, &settled, is_linked)?;
        if !is_linked {
            // nvlink quirk: it makes the output and then misses the library.
            let misses = self.options.is_nvlink() && hosts && !others.runtime;
            let trailing_error = misses.then(|| Message::fatal(LoadCode::ExpectedRuntime));
            return Ok(Some(Finished { bytes, trailing_error }));
        }
        self.is_optimized = !lto.is_partial(others);
        if let Some(item) = self.items.get_mut(last) {
            item.content = ItemContent::Object(LoadedObject {
                name: OBJECT_NAME.into(),
                bytes: bytes.into(),
                origin: Origin::Ptx,
            });
        }
        Ok(None)
    }

    fn settle(&mut self, modules: &[LtoModule]) -> Result<CommonLtoOptions, Ended> {
        let options: Vec<String> = modules.iter().filter_map(|m| m.options.clone()).collect();
        match lto::settle(&options, self.options.ptx.max_registers) {
            Ok((settled, said)) => {
                for code in said {
                    self.say(Message {
                        severity: Severity::Info,
                        code,
                    })?;
                }
                Ok(settled)
            }
            Err(code) => Err(self.end(code)),
        }
    }

    /// Ends the load.
    fn end(&mut self, code: LoadCode) -> Ended {
        self.messages.push(Message::fatal(code));
        self.has_errors = true;
        Ended
    }

    fn compile_modules(
        &mut self,
        lto: &LtoOptions,
        modules: Vec<LtoModule>,
        settled: &CommonLtoOptions,
        others: Others,
    ) -> Result<Vec<u8>, Ended> {
        let known: Option<&KernelFilter> = self.host_info.patterns();
        let target = self.options.target;
        let mut job = Job {
            arch: format!("sm_{}", target.number),
            options: lto::compiler_options(lto, settled, others, known),
            modules: modules.into_iter().map(|m| m.module).collect(),
        };
        let start = Instant::now();
        let mut made = lto.compiler.compile(&job);
        if matches!(made, Err(Failure::Refused(_))) && target.suffix != Suffix::None {
            // The result is that of the number alone, as in nvlink; but nvJitLink requires the suffix for modules that were compiled for one architecture.
            job.arch = target.to_string();
            made = lto.compiler.compile(&job);
        }
        self.compilations.push(Compilation {
            what: CompilationKind::Modules,
            name: "lto.nvvm".to_owned(),
            time: start.elapsed(),
        });
        made.map_err(|failure| {
            let reason = match failure {
                Failure::Refused(log) if self.options.is_nvlink() => {
                    let Some((text, error)) = lto::compiler_log(&log) else {
                        return self.end(LoadCode::NvvmError);
                    };
                    let text = format!("{text}{error}");
                    self.messages.push(Message {
                        severity: Severity::Info,
                        code: LoadCode::Nvvm { text },
                    });
                    return self.end(LoadCode::JitFailed);
                }
                other => other.to_string(),
            };
            let reason = reason.trim().to_owned();
            self.end(LoadCode::LtoFailed { reason })
        })
    }

    /// Makes an object to be linked or a whole program; true when it is to be linked.
    fn assemble_as(&mut self, ptx: &[u8], lto: &LtoOptions, settled: &CommonLtoOptions, is_linked: bool) -> Result<(Vec<u8>, bool), Ended> {
        if is_linked {
            return Ok((self.assemble(ptx, lto, settled, PtxasOutput::Object)?, true));
        }
        let (before, had_errors) = (self.messages.len(), self.has_errors);
        let failed = match self.assemble(ptx, lto, settled, PtxasOutput::Program) {
            Ok(bytes) => return Ok((bytes, false)),
            Err(ended) => ended,
        };
        let is_undefined = |m: &Message| matches!(&m.code, LoadCode::Ptxas { line } if line.contains(UNDEFINED));
        let said = self.messages.get(before..).unwrap_or_default();
        if self.options.is_nvlink() || !said.iter().any(is_undefined) {
            return Err(failed);
        }
        let said = self.messages.split_off(before);
        match self.assemble(ptx, lto, settled, PtxasOutput::Object) {
            Ok(bytes) => {
                self.has_errors = had_errors;
                Ok((bytes, true))
            }
            Err(ended) => {
                self.messages.truncate(before);
                self.messages.extend(said);
                Err(ended)
            }
        }
    }

    /// Runs ptxas.
    fn assemble(&mut self, ptx: &[u8], lto: &LtoOptions, settled: &CommonLtoOptions, makes: PtxasOutput) -> Result<Vec<u8>, Ended> {
        let fast = lto.fast_compile.iter().map(|level| format!("-Ofc={level}"));
        let options = PtxOptions {
            extra: fast.chain(self.options.ptx.extra.iter().cloned()).collect(),
            max_registers: settled.max_registers,
            debug: self.options.ptx.debug,
        };
        let ptxas = match self.options.ptxas.find() {
            Ok(ptxas) => ptxas,
            Err(tried) => {
                let file = PTX_NAME.to_owned();
                return Err(self.end(LoadCode::NoPtxas { file, tried }));
            }
        };
        let made = ptx::compile(&CompileRequest {
            ptxas: &ptxas,
            text: ptx,
            entry_options: b"",
            target: self.options.target,
            options: &options,
            makes,
        });
        let Compiled { object, messages, time } = match made {
            Ok(compiled) => compiled,
            Err(error) => {
                let reason = format!("cannot run '{}': {error}", ptxas.display());
                return Err(self.end(LoadCode::LtoFailed { reason }));
            }
        };
        self.messages.extend(messages.into_iter().map(|line| Message {
            severity: Severity::Info,
            code: LoadCode::Ptxas { line },
        }));
        self.compilations.push(Compilation {
            what: CompilationKind::Optimized,
            name: PTX_NAME.to_owned(),
            time,
        });
        match object {
            Some(object) => Ok(object),
            None if self.options.is_nvlink() => Err(self.end(LoadCode::FatbinaryError)),
            None => {
                let reason = "ptxas refused the optimized PTX".to_owned();
                Err(self.end(LoadCode::LtoFailed { reason }))
            }
        }
    }
}
