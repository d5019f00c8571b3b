//! Link-time optimization: what the compiler is told, and what its PTX means for the link.
//!
//! 1. Every module of a host object or fatbin brings the options it was compiled with. Those that change results must be the same in all;
//!    a limit for registers or line information in some of them applies to all (`settle`).
//! 2. Options of the compiler, in nvlink's order (`compiler_options`): whether the result is a whole program or will be linked with other
//!    code, and what the host refers to; everything else may be removed.
//! 3. The PTX is a whole program unless other code takes part or it is incomplete without the device runtime library
//!    (`is_incomplete`).

use crate::message::LoadCode;
use cubin::driver::is_driver_function;
use culd_base::KernelFilter;
use culd_lto::Compiler;
use std::sync::Arc;

/// Settings of link-time optimization.
#[derive(Debug, Clone)]
pub struct LtoOptions {
    /// The compiler.
    pub compiler: Arc<dyn Compiler>,
    /// The output is linked again (`-r`).
    pub relocatable: bool,
    /// The PTX is the output.
    pub emit_ptx: bool,
    /// `--force-partial-lto`: the result is linked even when it is complete.
    pub force_partial: bool,
    /// `-g`.
    pub debug: bool,
    /// `--Ofast-compile`, unless it is 0.
    pub fast_compile: Option<String>,
    /// `--split-compile` or, with true, `--split-compile-extended`.
    pub split_compile: Option<(i32, bool)>,
    /// Both of them were given, which is worth a word.
    pub split_twice: bool,
    /// `-Xnvvm`.
    pub nvvm: Vec<String>,
    /// Symbols that the optimizer must keep.
    pub uses: KeepRule,
}

/// How it is known what must stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepRule {
    /// By the lists in host objects.
    Host,
    /// Not at all (`--ignore-host-info`).
    Unknown,
    /// By name (`--kernels-used`, `--variables-used`).
    Named {
        /// Patterns of kernels.
        kernels: Vec<String>,
        /// Patterns of variables.
        variables: Vec<String>,
    },
}

/// Options that all modules are compiled with.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CommonLtoOptions {
    pub(crate) max_registers: Option<u32>,
    pub(crate) line_info: bool,
    /// `-ftz=0` and others that change results, under the names that the compiler has for them.
    values: Vec<String>,
}

/// Options that change results: the name in modules, in messages, and for the compiler.
const VALUES: [(&str, &str, &str); 4] = [
    ("-ftz=", "-ftz", "-ftz="),
    ("-prec_div=", "-prec-div", "-prec-div="),
    ("-prec_sqrt=", "-prec-sqrt", "-prec-sqrt="),
    ("-fmad=", "-fmad", "-fma="),
];

/// The value of an option in the option string of a module.
fn value<'m>(options: &'m str, name: &str) -> Option<&'m str> {
    options.split_whitespace().find_map(|word| word.strip_prefix(name))
}

fn registers(options: &str) -> Option<u32> {
    let mut words = options.split_whitespace();
    words.find(|word| *word == "-maxreg")?;
    words.next()?.parse().ok()
}

/// Agrees on the options of all modules that have any; `max_registers` is that of the command line. Also what there is to say; the error is
/// fatal.
pub(crate) fn settle(modules: &[String], max_registers: Option<u32>) -> Result<(CommonLtoOptions, Vec<LoadCode>), LoadCode> {
    let mut settled = CommonLtoOptions::default();
    let mut said = Vec::new();
    for (name, option, passed) in VALUES {
        let mut values = modules.iter().filter_map(|m| value(m, name));
        if let Some(first) = values.next() {
            if values.any(|other| other != first) {
                return Err(LoadCode::LtoOptionsDiffer { option });
            }
            settled.values.push(format!("{passed}{first}"));
        }
    }
    let lined = modules
        .iter()
        .filter(|m| m.split_whitespace().any(|w| w == "-generate-line-info"))
        .count();
    settled.line_info = lined > 0;
    if lined > 0 && lined < modules.len() {
        said.push(LoadCode::LtoOptionMissing {
            option: "-lineinfo",
            value: String::new(),
        });
    }
    settled.max_registers = max_registers;
    if max_registers.is_none() {
        let option = "-maxrregcount";
        let limits: Vec<Option<u32>> = modules.iter().map(|m| registers(m)).collect();
        let mut known = limits.iter().flatten();
        if let Some(&first) = known.next() {
            if known.any(|other| *other != first) {
                return Err(LoadCode::LtoOptionsDiffer { option });
            }
            settled.max_registers = Some(first);
            if limits.contains(&None) {
                let value = format!("={first}");
                said.push(LoadCode::LtoOptionMissing { option, value });
            }
        }
    }
    Ok((settled, said))
}

/// What other code a link has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Others {
    /// The device runtime library takes part.
    pub(crate) runtime: bool,
    /// Other device objects take part.
    pub(crate) objects: bool,
}

impl LtoOptions {
    /// True when the result is linked even if it is complete.
    pub(crate) fn is_partial(&self, others: Others) -> bool {
        others.objects || self.relocatable || self.force_partial
    }
}

/// The compiler's options; `host`: the lists of host objects, when they are known.
pub(crate) fn compiler_options(lto: &LtoOptions, settled: &CommonLtoOptions, others: Others, host: Option<&KernelFilter>) -> Vec<String> {
    let partial = lto.is_partial(others);
    let mut options = Vec::new();
    if let Some((threads, extended)) = lto.split_compile {
        let name = if extended { "-split-compile-extended" } else { "-split-compile" };
        options.push(format!("{name}={threads}"));
    }
    options.extend(lto.fast_compile.iter().map(|level| format!("-Ofast-compile={level}")));
    let mut flag = |is_given: bool, name: &str| options.extend(is_given.then(|| name.to_owned()));
    flag(settled.line_info, "-generate-line-info");
    if let Some(count) = settled.max_registers {
        flag(true, &format!("-maxreg={count}"));
    }
    flag(partial || others.runtime, "--device-c");
    flag(partial, "--force-device-c");
    flag(lto.debug, "-g");
    flag(lto.uses != KeepRule::Unknown && !partial, "-has-global-host-info");
    options.extend(lto.nvvm.iter().cloned());
    if !lto.nvvm.is_empty() {
        // The user's own values go first; the modules' values replace those that are not given.
        let is_given = |v: &String| {
            let name = v.split('=').next().unwrap_or_default();
            lto.nvvm.iter().any(|o| o.split('=').next() == Some(name))
        };
        options.extend(settled.values.iter().filter(|v| !is_given(v)).cloned());
    }
    if !partial {
        options.extend(references(&lto.uses, host));
    }
    options
}

/// What the host refers to, list by list.
fn references(uses: &KeepRule, host: Option<&KernelFilter>) -> Vec<String> {
    let written = |(name, list): (&str, Vec<String>)| (!list.is_empty()).then(|| format!("-host-ref-{name}={}", list.join(",")));
    // The list is written from its end.
    let backwards = |list: &[Vec<u8>]| list.iter().rev().map(|p| String::from_utf8_lossy(p).into_owned()).collect();
    match (uses, host) {
        (KeepRule::Unknown, _) | (KeepRule::Host, None) => Vec::new(),
        (KeepRule::Host, Some(host)) => [
            ("ek", &host.external),
            ("ik", &host.internal),
            ("ec", &host.external_constants),
            ("ic", &host.internal_constants),
            ("eg", &host.external_variables),
            ("ig", &host.internal_variables),
        ]
        .into_iter()
        .filter_map(|(name, list)| written((name, backwards(list))))
        .collect(),
        (KeepRule::Named { kernels, variables }, _) => [
            ("ek", kernels),
            ("ik", kernels),
            ("ec", variables),
            ("ic", variables),
            ("eg", variables),
            ("ig", variables),
        ]
        .into_iter()
        .filter_map(|(name, list)| written((name, list.clone())))
        .collect(),
    }
}

/// What libnvvm said about modules that do not compile and the name of its error, from the log of nvJitLink; `None` for any other failure.
///
/// 1. Release 13.0: the error is the first line, `ERROR in nvvmCompileProgram: NAME`.
/// 2. Later releases: it is the last line, `ERROR NAME (9) in nvvmCompileProgram callback`.
pub(crate) fn compiler_log(log: &str) -> Option<(&str, &str)> {
    let (first, rest) = log.split_once('\n')?;
    if let Some(name) = first.strip_prefix("ERROR in nvvmCompileProgram: ") {
        return Some((rest, name));
    }
    let (text, last) = log.rsplit_once("ERROR ").filter(|(text, _)| text.ends_with('\n'))?;
    let (name, place) = last.split_once(' ')?;
    place.contains(" in nvvmCompileProgram").then_some((text, name))
}

/// True when PTX is not a program by itself: it has no kernel, or calls what is elsewhere.
pub(crate) fn is_incomplete(ptx: &[u8]) -> bool {
    let mut words = ptx.split(|b| b.is_ascii_whitespace());
    !words.any(|word| word == b".entry") || calls_out(ptx)
}

/// True when PTX declares a function that neither it nor the driver has.
fn calls_out(ptx: &[u8]) -> bool {
    let declarations = ptx
        .split(|&b| b == b'\n')
        .filter_map(|line| line.trim_ascii_start().strip_prefix(b".extern .func"));
    declarations.into_iter().any(|rest| {
        // After the parameter for the result, if there is one.
        let name = match rest.iter().position(|&b| b == b')') {
            Some(end) if rest.trim_ascii_start().starts_with(b"(") => rest.get(end + 1..).unwrap_or_default(),
            _ => rest,
        };
        let name = name.trim_ascii_start();
        let end = name
            .iter()
            .position(|&b| b == b'(' || b == b';' || b.is_ascii_whitespace())
            .unwrap_or(name.len());
        !is_driver_function(name.get(..end).unwrap_or_default())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use culd_lto::{Failure, Job};

    #[derive(Debug)]
    struct NeverCalled;
    impl Compiler for NeverCalled {
        fn compile(&self, _: &Job) -> Result<Vec<u8>, Failure> {
            Err(Failure::Library("none".into()))
        }
    }

    fn plain() -> LtoOptions {
        LtoOptions {
            compiler: Arc::new(NeverCalled),
            relocatable: false,
            emit_ptx: false,
            force_partial: false,
            debug: false,
            fast_compile: None,
            split_compile: None,
            split_twice: false,
            nvvm: Vec::new(),
            uses: KeepRule::Host,
        }
    }

    fn modules(list: &[&str]) -> Vec<String> {
        list.iter().map(|m| (*m).to_owned()).collect()
    }

    #[test]
    fn options_of_modules_must_agree() {
        let same = "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ";
        let (settled, said) = settle(&modules(&[same, same]), None).unwrap();
        assert_eq!((settled.values.len(), said.len(), settled.max_registers), (4, 0, None));
        let differs = settle(&modules(&[same, "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=0 "]), None);
        assert_eq!(differs, Err(LoadCode::LtoOptionsDiffer { option: "-fmad" }));
        let limits = modules(&["-maxreg 40 -ftz=0", "-generate-line-info -ftz=0"]);
        let (settled, said) = settle(&limits, None).unwrap();
        assert_eq!((settled.max_registers, settled.line_info), (Some(40), true));
        let said: Vec<String> = said.iter().map(LoadCode::to_string).collect();
        assert!(
            said[0].ends_with("with '-lineinfo'") && said[1].ends_with("with '-maxrregcount=40'"),
            "{said:?}"
        );
        assert_eq!(settle(&limits, Some(32)).unwrap().0.max_registers, Some(32));
        let two = settle(&modules(&["-maxreg 40", "-maxreg 50"]), None);
        assert_eq!(two, Err(LoadCode::LtoOptionsDiffer { option: "-maxrregcount" }));
    }

    #[test]
    fn the_compiler_is_told_what_stays() {
        let host = KernelFilter {
            external: vec![b"a*".to_vec(), b"b*".to_vec()],
            external_variables: vec![b"g".to_vec()],
            ..KernelFilter::default()
        };
        let whole = compiler_options(&plain(), &CommonLtoOptions::default(), Others::default(), Some(&host));
        assert_eq!(whole, ["-has-global-host-info", "-host-ref-ek=b*,a*", "-host-ref-eg=g"]);
        let others = Others {
            objects: true,
            ..Others::default()
        };
        let partial = compiler_options(&plain(), &CommonLtoOptions::default(), others, Some(&host));
        assert_eq!(partial, ["--device-c", "--force-device-c"]);
    }

    #[test]
    fn the_log_of_the_compiler_is_found() {
        let log = "ERROR in nvvmCompileProgram: NVVM_ERROR_COMPILATION\na.o: link error\n\n";
        assert_eq!(compiler_log(log), Some(("a.o: link error\n\n", "NVVM_ERROR_COMPILATION")));
        let log = "a.o: link error\n\nERROR NVVM_ERROR_COMPILATION (9) in nvvmCompileProgram callback\n";
        assert_eq!(compiler_log(log), Some(("a.o: link error\n\n", "NVVM_ERROR_COMPILATION")));
        assert_eq!(compiler_log("ERROR 1: bad input\n"), None);
    }

    #[test]
    fn only_foreign_functions_call_for_a_link() {
        assert!(!calls_out(
            b".version 9.0\n.extern .func  (.param .b32 func_retval0) vprintf\n(\n)\n;\n.extern .func free\n(\n"
        ));
        assert!(!calls_out(b".extern .global .align 4 .u32 ev;\n"));
        assert!(calls_out(b".extern .func  (.param .b32 func_retval0) _Z1fi\n"));
        assert!(calls_out(b".extern .func f(.param .b32 p);"));
        assert!(is_incomplete(b".visible .func f()\n") && !is_incomplete(b".visible .entry k(\n"));
    }
}
