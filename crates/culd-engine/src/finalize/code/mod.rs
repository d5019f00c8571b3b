//! The code of a link with Mercury: what happens to the SASS that the compiler made.
//!
//! 1. [`sources`]: what belongs to each code section of the inputs: attributes, parameters, branch targets.
//! 2. [`offsets`]: which SASS instruction belongs to which Mercury instruction.
//! 3. [`exits`]: fences before `EXIT`. [`debug_code`]: code without a schedule. [`stubs`]: the table of unified functions.
//!    [`inner`]: calls of functions inside of a kernel, where instructions moved.
//! 4. [`first_form`]: capsules of CUDA 12.8. [`older`]: code of toolkits before the release. [`waits`]: code of later ones.
//! 5. [`functions`]: the SASS of each function, rewritten where a final link rewrites it, with the resolved values in it and in the capsule.
//! 6. [`jump`]: jump tables as offsets in SASS.

mod capsules;
pub(crate) mod copies;
pub(crate) mod debug_code;
pub(crate) mod exits;
mod first_form;
pub(crate) mod function;
pub(crate) mod functions;
mod inner;
pub(crate) mod jump;
pub(crate) mod offsets;
mod older;
pub(crate) mod sources;
pub(crate) mod stubs;
mod waits;
