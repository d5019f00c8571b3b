//! C++ demangling in the style of NVIDIA's device linker
#![forbid(unsafe_code)]
