//! A device linker for CUDA, as a library
#![forbid(unsafe_code)]
